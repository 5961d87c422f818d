"""What the languages share: text that is alike in all of them, with a mark where each says something of its own.

Receipts are a megabyte in each language, and nearly all of it is numbers, keys and markup. So they are made once, with
marks, and a voice (`Voice.spoken`) puts its words in place of the marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from templates import formats, printed
from templates.html import plain, safe
from templates.labels import LANGUAGES
from templates.quantity import FAMILIES, LINES, Absence, Constant, Kind, Operation, Quantity, Sampled
from templates.truth import Claim

if TYPE_CHECKING:
    from templates.voice import Voice

MARK = "\x7f"
"""Stands on both sides of a mark's number. No text from data has it: `plain` keeps only what can be printed."""

Saying = Callable[["Voice"], str]
"""What a voice puts in the place of a mark: HTML."""

_TAG = re.compile("<[^>]*>")
_SYMBOLS = {"*": " × ", "/": " ÷ ", "-": " − ", "+": " + "}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


class Shared:
    """Marks, and the formulas and titles of one edition's facts with marks in them."""

    def __init__(self) -> None:
        self.sayings: list[Saying] = []
        """By the number of the mark."""
        self._marks: dict[Hashable, str] = {}
        self.words: dict[str, dict[str, str]] = {}
        """What stands in the place of each mark, by language and number; alike on every page."""
        self.titles: dict[str, dict[str, str]] = {}
        """What links to facts say of them, by language and name."""
        self.openings: dict[tuple[str, str], dict[str, str]] = {}
        """Tags that link to facts, by language and place of the receipts, and by name."""
        self.groups: dict[str, str] = {}
        """Headings of groups by path, where a page has them."""
        self.colon = self.mark("colon", lambda voice: voice.colon)
        self.comma = self.mark("comma", lambda voice: voice.comma)
        self.semicolon = self.mark("semicolon", lambda voice: voice.semicolon)
        opening = self.mark("opening", lambda voice: voice.brackets[0])
        self.brackets = opening, self.mark("closing", lambda voice: voice.brackets[1])
        # A fact lives as long as its edition. It is printed many times, and formulas share their operands.
        self._values: dict[tuple[int, bool], str] = {}
        self._titles: dict[str, str] = {}
        self._references: dict[tuple[int, bool], str] = {}
        self._qualifieds: dict[int, str] = {}
        self._formulas: dict[tuple[int, bool], tuple[Operation, str]] = {}
        """With the operation itself: it is kept, so that no other takes its identity."""

    def mark(self, key: Hashable, say: Saying) -> str:
        """The mark for what `say` gives; one key is always the same text."""
        if key not in self._marks:
            self._marks[key] = f"{MARK}{len(self.sayings)}{MARK}"
            self.sayings.append(say)
        return self._marks[key]

    def word(self, section: str, name: str) -> str:
        """An entry of labels.toml."""
        return self._label(safe, section, name)

    def plain(self, section: str, name: str) -> str:
        """The same where Markdown would read its signs."""
        return self._label(plain, section, name)

    def text(self, section: str, name: str) -> str:
        """The same as it stands there, where it may hold markup."""
        return self._label(str, section, name)

    def _label(self, treat: Callable[[str], str], section: str, name: str) -> str:
        key = treat, section, name
        if key not in self._marks:
            self.mark(key, lambda voice: treat(voice.labels.get(section, name)))
        return self._marks[key]

    def filled(self, section: str, name: str, **words: str) -> str:
        """The same with its braces filled with shared text."""

        def say(voice: Voice) -> str:
            return voice.labels.filled(section, name, **{word: voice.spoken(text) for word, text in words.items()})

        return self.mark((section, name, *words.values()), say)

    def number(self, value: float, *, significant: int | None = None) -> str:
        """A number without a unit."""
        return formats.number(value, LANGUAGES[0], significant=significant)

    def quantity(self, value: float, unit: str, *, significant: int) -> str:
        """A number that is no fact, with its unit."""
        if formats.alike(unit):
            return safe(formats.quantity(value, unit, LANGUAGES[0], significant=significant))

        def say(voice: Voice) -> str:
            return safe(formats.quantity(value, unit, voice.language, significant=significant))

        return self.mark(("quantity", value, unit, significant), say)

    def date(self, iso: str) -> str:
        """The day of a date or time."""
        return self.mark(("date", iso), lambda voice: voice.date(iso))

    # Facts

    def value(self, quantity: Quantity, *, unit: bool = True) -> str:
        """The number, with its unit; the marker for unmeasured where there is none."""
        if not quantity.name:
            return self._value(quantity, unit)
        known = (id(quantity), unit)
        if known not in self._values:
            self._values[known] = self._value(quantity, unit)
        return self._values[known]

    def _value(self, quantity: Quantity, unit: bool) -> str:
        if quantity.value is None:
            return self.word(*absent(quantity))
        if formats.alike(quantity.shown_in) or not unit:
            return safe(printed.value(quantity, LANGUAGES[0], unit=unit))
        key = ("value", quantity.value, quantity.shown_in, printed.digits(quantity))
        return self.mark(key, lambda voice: safe(printed.value(quantity, voice.language)))

    def exact(self, quantity: Quantity) -> str:
        """The value of what is no fact."""
        if quantity.value is None or formats.alike(quantity.shown_in):
            return safe(printed.exact(quantity, LANGUAGES[0])) if quantity.measured else self.value(quantity)
        key = ("exact", quantity.value, quantity.shown_in, isinstance(quantity.origin, Constant))
        return self.mark(key, lambda voice: safe(printed.exact(quantity, voice.language)))

    def interval(self, quantity: Quantity) -> str:
        """Both ends of a quantity's interval, with four figures."""
        said, _ = printed.said(quantity)
        low, high = self.number(said.low, significant=4), self.number(said.high, significant=4)
        if formats.alike(said.shown_in):
            return f"{low} … {high}{safe(printed.unit(quantity, LANGUAGES[0]))}"
        unit = self.mark(("unit", quantity.name), lambda voice: safe(printed.unit(quantity, voice.language)))
        return f"{low} … {high}{unit}"

    def label(self, quantity: Quantity) -> str:
        """The name of a fact."""
        section, name = entry(quantity)
        return self.word(section, name) if section else safe(name)

    def title(self, quantity: Quantity) -> str:
        """One line on where the number comes from."""
        if quantity.name not in self._titles:
            self._titles[quantity.name] = self._title(quantity)
        return self._titles[quantity.name]

    def _title(self, quantity: Quantity) -> str:
        kind = self.word("kind", quantity.kind.value)
        if quantity.value is None:
            return f"{kind}{self.colon}{self.absent(quantity.absences)}"
        if quantity.doubts:
            kind = f"{kind}{self.comma}{self.word('verdict', 'suspect')}"
        if isinstance(quantity.origin, Operation):
            return f"{kind}{self.colon}{_TAG.sub('', self.formula(quantity, values=True))}"
        return self.semicolon.join([kind, *(self.word("rule", rule) for rule in quantity.doubts)])

    def absent(self, absences: tuple[Absence, ...]) -> str:
        """Why something is missing, in words."""
        return self.word("reason", absences[0].reason) if absences else ""

    # Formulas

    def formula(self, quantity: Quantity, *, values: bool) -> str:
        """The formula that made a quantity, with names or with values; each operand that is a fact is linked."""
        if isinstance(quantity.origin, Operation):
            return self._operation(quantity.origin, values)
        return self._operand(quantity, values)

    def _operation(self, origin: Operation, values: bool) -> str:
        known = (id(origin), values)
        if known not in self._formulas:
            self._formulas[known] = origin, self._joined(origin, values)
        return self._formulas[known][1]

    def _joined(self, origin: Operation, values: bool) -> str:
        if origin.symbol in LINES:
            said = [self._operand(operand, values) for operand in origin.operands]
            points = [f"{x} → {y}" for x, y in zip(said[::2], said[1::2], strict=True)]
            return f"{origin.symbol}({', '.join(points if values else points[:1])})"
        if not values and operands_alike(origin):
            operands = [self._qualified(operand) for operand in origin.operands]
        else:
            operands = [self._operand(operand, values) for operand in origin.operands]
        if origin.symbol in FAMILIES:
            members = operands if values else list(dict.fromkeys(operands))
            return f"{origin.symbol}({', '.join(members)})"
        left, right = operands
        if _needs_brackets(origin.symbol, origin.operands[0], 0):
            left = f"({left})"
        if _needs_brackets(origin.symbol, origin.operands[1], 1):
            right = f"({right})"
        return f"{left}{_SYMBOLS[origin.symbol]}{right}"

    def _operand(self, quantity: Quantity, values: bool) -> str:
        if quantity.name:
            return self._reference(quantity, values)
        if isinstance(quantity.origin, Operation):
            return self._operation(quantity.origin, values)
        return self.exact(quantity) if values else self.constant(quantity.origin)

    def _reference(self, quantity: Quantity, values: bool) -> str:
        """A fact within a formula, linked."""
        known = (id(quantity), values)
        if known not in self._references:
            text = self.value(quantity) if values else self.label(quantity)
            self._references[known] = f'<a href="#{quantity.name}">{text}</a>'
        return self._references[known]

    def _qualified(self, quantity: Quantity) -> str:
        """A fact's label with the group it belongs to, where two operands are named alike."""
        if id(quantity) not in self._qualifieds:
            group = quantity.name.rpartition(".")[0]
            text = f"{self.label(quantity)} [{self.groups.get(group, group)}]"
            self._qualifieds[id(quantity)] = f'<a href="#{quantity.name}">{text}</a>'
        return self._qualifieds[id(quantity)]

    def constant(self, origin: Constant | Sampled) -> str:
        """The name of an operand that is no fact."""
        if isinstance(origin, Sampled):
            return plain(origin.key)
        if origin.label.startswith("evidence."):
            return plain(origin.source)
        section, _, name = origin.label.rpartition(".")
        return self.plain(section or "constant", name)


def absent(quantity: Quantity) -> tuple[str, str]:
    """The entry of labels.toml that stands in the place of a value that is not there."""
    never = any(absence.reason == "never_crosses" for absence in quantity.absences)
    return ("outcome", "never") if never else ("kind", Kind.UNMEASURED)


def entry(quantity: Quantity) -> tuple[str, str]:
    """The entry of labels.toml that names a fact, as section and name; without section, its name itself."""
    group, _, name = quantity.name.rpartition(".")
    if group == "evidence" and isinstance(quantity.origin, Constant):
        return "", quantity.origin.source
    return "threshold" if group == "threshold" else "fact", name


def undecided(claim: Claim) -> tuple[str, str]:
    """The entry of labels.toml that says why a claim cannot be decided."""
    return "reason", claim.truth.absences[0].reason if claim.truth.absences else "straddles"


def operands_alike(origin: Operation) -> bool:
    """Whether the operands are facts of the same name in different groups."""
    names = {operand.name for operand in origin.operands}
    return all(names) and len({name.rpartition(".")[2] for name in names}) < len(names)


def _needs_brackets(symbol: str, operand: Quantity, position: int) -> bool:
    if operand.name or not isinstance(operand.origin, Operation) or operand.origin.symbol not in _RANK:
        return False
    inner, outer = _RANK[operand.origin.symbol], _RANK[symbol]
    return inner < outer or (inner == outer and position == 1)
