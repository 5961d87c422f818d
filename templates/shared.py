"""What the languages share: text that is alike in all of them, with a mark where each says something of its own.

Receipts are a megabyte in each language, and nearly all of it is numbers, keys and markup. So they are made once, with
marks, and a voice (`Voice.spoken`) puts its words in place of the marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from markupsafe import Markup

from templates import formats, printed
from templates.html import marked, plain, safe
from templates.labels import LANGUAGES
from templates.quantity import Absence, Constant, Kind, Operation, Quantity, Sampled
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
        self._marks: dict[Hashable, Markup] = {}
        self.groups: dict[str, Markup] = {}
        """Headings of groups by path, where a page has them."""
        # A fact lives as long as its edition, and formulas share their operands.
        self._references: dict[tuple[int, bool], Markup] = {}
        self._formulas: dict[int, Markup] = {}

    def mark(self, key: Hashable, say: Saying) -> Markup:
        """The mark for what `say` gives; one key is always the same text."""
        if key not in self._marks:
            self._marks[key] = marked(f"{MARK}{len(self.sayings)}{MARK}")
            self.sayings.append(say)
        return self._marks[key]

    def word(self, section: str, name: str) -> Markup:
        """An entry of labels.toml."""
        return self.mark((section, name), lambda voice: safe(voice.labels.get(section, name)))

    def plain(self, section: str, name: str) -> Markup:
        """The same where Markdown would read its signs."""
        return self.mark(("plain", section, name), lambda voice: plain(voice.labels.get(section, name)))

    def number(self, value: float, *, significant: int | None = None) -> str:
        """A number without a unit."""
        return formats.number(value, LANGUAGES[0], significant=significant)

    def date(self, iso: str) -> Markup:
        """The day of a date or time."""
        return self.mark(("date", iso), lambda voice: voice.date(iso))

    # Facts

    def value(self, quantity: Quantity) -> str:
        """The number with its unit."""
        if quantity.value is None:
            return self.word(*absent(quantity))
        if formats.alike(quantity.shown_in):
            return safe(printed.value(quantity, LANGUAGES[0]))
        key = ("value", quantity.value, quantity.shown_in, printed.digits(quantity))
        return self.mark(key, lambda voice: safe(printed.value(quantity, voice.language)))

    def exact(self, quantity: Quantity) -> str:
        """The value of what is no fact."""
        if quantity.value is None or formats.alike(quantity.shown_in):
            return safe(printed.exact(quantity, LANGUAGES[0])) if quantity.measured else self.value(quantity)
        key = ("exact", quantity.value, quantity.shown_in, isinstance(quantity.origin, Constant))
        return self.mark(key, lambda voice: safe(printed.exact(quantity, voice.language)))

    def interval(self, quantity: Quantity) -> str:
        """Both ends of a quantity's interval."""
        if formats.alike(quantity.shown_in):
            return safe(printed.interval(quantity, LANGUAGES[0]))
        return self.mark(("interval", quantity.name), lambda voice: safe(printed.interval(quantity, voice.language)))

    def label(self, quantity: Quantity) -> str:
        """The name of a fact."""
        source = cited(quantity)
        return safe(source) if source else self.word(*entry(quantity))

    def title(self, quantity: Quantity) -> str:
        """One line on where the number comes from."""
        kind = self.word("kind", quantity.kind.value)
        if quantity.value is None:
            return f"{kind}{self.colon}{self.absent(quantity.absences)}"
        if quantity.doubts:
            kind = marked(f"{kind}{self.comma}{self.word('verdict', 'suspect')}")
        if isinstance(quantity.origin, Operation):
            return f"{kind}{self.colon}{_TAG.sub('', self.formula(quantity, values=True))}"
        return "; ".join([kind, *(self.word("rule", rule) for rule in quantity.doubts)])

    def absent(self, absences: tuple[Absence, ...]) -> str:
        """Why something is missing, in words."""
        return self.word("reason", absences[0].reason) if absences else ""

    @property
    def colon(self) -> Markup:
        return self.mark("colon", lambda voice: voice.colon)

    @property
    def comma(self) -> Markup:
        return self.mark("comma", lambda voice: voice.comma)

    # Formulas

    def formula(self, quantity: Quantity, *, values: bool) -> Markup:
        """The formula that made a quantity, with names or with values; each operand that is a fact is linked."""
        origin = quantity.origin
        if not isinstance(origin, Operation):
            return self._operand(quantity, values)
        if not (values and quantity.name):
            return self._operation(origin, values)
        # With values, a fact's formula stands in its receipt and in the title of each of its numbers.
        if id(quantity) not in self._formulas:
            self._formulas[id(quantity)] = self._operation(origin, values)
        return self._formulas[id(quantity)]

    def _operation(self, origin: Operation, values: bool) -> Markup:
        if not values and operands_alike(origin):
            operands = [self._qualified(operand) for operand in origin.operands]
        else:
            operands = [self._operand(operand, values) for operand in origin.operands]
        if origin.symbol in ("max", "min"):
            members = operands if values else list(dict.fromkeys(operands))
            return marked(f"{origin.symbol}({', '.join(members)})")
        left, right = (
            f"({text})" if _needs_brackets(origin.symbol, operand, position) else text
            for position, (operand, text) in enumerate(zip(origin.operands, operands, strict=True))
        )
        return marked(f"{left}{_SYMBOLS[origin.symbol]}{right}")

    def _operand(self, quantity: Quantity, values: bool) -> Markup:
        if quantity.name:
            return self._reference(quantity, values)
        if isinstance(quantity.origin, Operation):
            return self._operation(quantity.origin, values)
        return marked(self.exact(quantity)) if values else self.constant(quantity.origin)

    def _reference(self, quantity: Quantity, values: bool) -> Markup:
        """A fact within a formula, linked."""
        known = (id(quantity), values)
        if known not in self._references:
            text = self.value(quantity) if values else self.label(quantity)
            self._references[known] = marked(f'<a href="#{quantity.name}">{text}</a>')
        return self._references[known]

    def _qualified(self, quantity: Quantity) -> Markup:
        """A fact's label with the group it belongs to, where two operands are named alike."""
        group = quantity.name.rpartition(".")[0]
        return marked(f'<a href="#{quantity.name}">{self.label(quantity)} [{self.groups.get(group, group)}]</a>')

    def constant(self, origin: Constant | Sampled) -> Markup:
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
    """The entry of labels.toml that names a fact."""
    group, _, name = quantity.name.rpartition(".")
    return "threshold" if group == "threshold" else "fact", name


def cited(quantity: Quantity) -> str:
    """The source that names a fact of the evidence; empty for any other fact."""
    evidence = quantity.name.startswith("evidence.") and isinstance(quantity.origin, Constant)
    return quantity.origin.source if evidence and isinstance(quantity.origin, Constant) else ""


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
