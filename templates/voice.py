"""A voice: says facts, claims and names in one language, each linked to its receipt, and data never as markup."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from measure import models
from measure.results import Run
from templates import formats, particles
from templates.html import element, marked, safe
from templates.labels import Labels
from templates.quantity import FAMILIES, LINES, Absence, Constant, Digits, Kind, Operation, Origin, Quantity, Sampled
from templates.truth import Claim

RECEIPTS = "receipts/"
"""Where an article page finds its receipts."""

PUBLISHED_DIGITS = 6
"""A reported value with at most this many significant digits is printed as it was published."""

LONG_MS = 999.5
"""From here on milliseconds are said as seconds."""

COMMAS = {"zh": "，"}
COLONS = {"zh": "："}

_MARKDOWN = re.compile(r"[\\`*_\[\]<>&\"'|{}#!~^$@]")
_JOINERS = "\u200c\u200d"
"""Not printed, but without them Persian, the scripts of India and many emoji fall apart."""
_LEFTWARDS = ("R", "AL", "AN")
_ISOLATE = "\u2068\u2069"
_DASH = re.compile(r"(–|~|～| to )")
_SYMBOLS = {"*": " × ", "/": " ÷ ", "-": " − ", "+": " + "}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


@lru_cache(maxsize=4096)
def plain(text: str) -> Markup:
    """Text from data, safe in Markdown and HTML alike: what could be markup becomes a character reference.

    Text that is written from right to left is isolated, so that what stands around it keeps its order.
    """
    line = re.sub(r"\s+", " ", "".join(c if c.isprintable() or c in _JOINERS else " " for c in text))
    escaped = _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", line)
    safe = re.sub(r"^[-+=:]|^\d+(?=[.)])", lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", escaped)
    leftwards = not line.isascii() and any(unicodedata.bidirectional(c) in _LEFTWARDS for c in line)
    return Markup(f"{_ISOLATE[0]}{safe}{_ISOLATE[1]}" if leftwards else safe)


class Voice:
    """One language, and where the receipts are from the page that speaks."""

    def __init__(self, language: str, receipts: str = RECEIPTS) -> None:
        self.language = language
        self.labels = Labels(language)
        self.receipts = receipts
        self._titles: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        """Headings of groups by path, where a page has them."""
        self.colon = COLONS.get(language, ": ")
        self.comma = COMMAS.get(language, ", ")
        self._values: dict[tuple[int, bool], str] = {}
        self._references: dict[tuple[int, bool], Markup] = {}
        self._formulas: dict[int, Markup] = {}
        self._qualifieds: dict[int, Markup] = {}

    def on(self, receipts: str) -> Voice:
        """The same language on a page elsewhere; what does not depend on the place is made once for both."""
        other = Voice(self.language, receipts)
        other._values, other._references, other._formulas = self._values, self._references, self._formulas
        return other

    # Facts

    def value(self, quantity: Quantity, *, unit: bool = True) -> str:
        """The number as text, with its unit; the marker for unmeasured where there is none."""
        if quantity.value is None:
            never = any(absence.reason == "never_crosses" for absence in quantity.absences)
            return self.labels.get("outcome", "never") if never else self.labels.get("kind", Kind.UNMEASURED)
        if not quantity.name:
            return self._value(quantity, unit)
        # A fact lives as long as its edition and is printed many times: in the text, in tables, in formulas.
        known = (id(quantity), unit)
        if known not in self._values:
            self._values[known] = self._value(quantity, unit)
        return self._values[known]

    def _value(self, quantity: Quantity, unit: bool) -> str:
        if unit and quantity.shown_in == "ms" and (quantity.value or 0.0) >= LONG_MS:
            return self._printed(quantity.to("s"), Digits(None, 3))
        return self._printed(quantity, shown_digits(quantity), unit)

    def _printed(self, quantity: Quantity, digits: Digits, unit: bool = True) -> str:
        spelled = {"tok/s/req": "tok/s"}.get(quantity.shown_in, quantity.shown_in) if unit else "1"
        return formats.quantity(
            quantity.value or 0.0,
            spelled,
            self.language,
            decimals=digits.decimals,
            significant=digits.significant,
        )

    def fact(self, quantity: Quantity, *, unit: bool = True) -> Markup:
        """The number, linked to its receipt, its kind told by class and title."""
        return self._linked(quantity, _classes(quantity), self.value(quantity, unit=unit))

    def bare(self, quantity: Quantity) -> Markup:
        """The number without its unit, for a table whose head tells it."""
        return self.fact(quantity, unit=False)

    def span(self, low: Quantity, high: Quantity) -> Markup:
        """A range of two facts, each linked; one fact where both print alike or one is unmeasured."""
        if low.value is None or high.value is None or self.value(low) == self.value(high):
            return self.fact(high)
        first, last = (low, high) if low.value <= high.value else (high, low)
        digits = shown_digits(last)
        printed = formats.span(
            first.value or 0.0,
            last.value or 0.0,
            last.shown_in,
            self.language,
            decimals=digits.decimals,
            significant=digits.significant,
        )
        start, dash, end = _DASH.split(printed, maxsplit=1) if _DASH.search(printed) else ("", "", printed)
        if start and shown_digits(first) != digits:
            start = self.value(first, unit=False)  # what needs more digits than the other end keeps them
        ends = [(first, start), (last, end)] if start else [(last, end)]
        said = [self._linked(quantity, _classes(quantity), text) for quantity, text in ends]
        return Markup(html.escape(dash)).join(said)

    def _linked(self, quantity: Quantity, classes: str, text: str) -> Markup:
        address = f"{self.receipts}#{quantity.name}"
        if quantity.name not in self._titles:
            self._titles[quantity.name] = self.title(quantity)
        return marked(
            f'<a class="{classes}" href="{address}" title="{safe(self._titles[quantity.name])}">{safe(text)}</a>'
        )

    @property
    def said(self) -> set[str]:
        """Names of the facts that were printed."""
        return set(self._titles)

    def title(self, quantity: Quantity) -> str:
        """One line on where the number comes from."""
        kind = self.labels.get("kind", quantity.kind.value)
        if quantity.value is None:
            return f"{kind}{self.colon}{self.absent(quantity.absences)}"
        if quantity.doubts:
            kind = f"{kind}{self.comma}{self.labels.get('verdict', 'suspect')}"
        if isinstance(quantity.origin, Operation):
            return f"{kind}{self.colon}{Markup(self.formula(quantity, values=True)).striptags()}"
        return "; ".join([kind, *(self.labels.get("rule", rule) for rule in quantity.doubts)])

    def absent(self, absences: tuple[Absence, ...]) -> str:
        """Why something is missing, in words."""
        reasons = dict.fromkeys(self.labels.get("reason", absence.reason) for absence in absences[:1])
        return "; ".join(reasons)

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
        operands = [self._operand(operand, values) for operand in origin.operands]
        if origin.symbol in LINES:
            points = [f"{x} → {y}" for x, y in zip(operands[::2], operands[1::2], strict=True)]
            return marked(f"{origin.symbol}({', '.join(points if values else points[:1])})")
        if not values and operands_alike(origin):
            operands = [self._qualified(operand) for operand in origin.operands]
        if origin.symbol in FAMILIES:
            members = operands if values else list(dict.fromkeys(operands))
            return marked(f"{origin.symbol}({', '.join(members)})")
        left, right = (
            f"({text})" if self._needs_brackets(origin.symbol, operand, position) else text
            for position, (operand, text) in enumerate(zip(origin.operands, operands, strict=True))
        )
        return marked(f"{left}{_SYMBOLS[origin.symbol]}{right}")

    @staticmethod
    def _needs_brackets(symbol: str, operand: Quantity, position: int) -> bool:
        if operand.name or not isinstance(operand.origin, Operation) or operand.origin.symbol not in _RANK:
            return False
        inner, outer = _RANK[operand.origin.symbol], _RANK[symbol]
        return inner < outer or (inner == outer and position == 1)

    def _operand(self, quantity: Quantity, values: bool) -> Markup:
        if quantity.name:
            return self._reference(quantity, values)
        if isinstance(quantity.origin, Operation):
            return self._operation(quantity.origin, values)
        if values:
            return Markup(html.escape(self.exact(quantity)))
        return self.constant(quantity.origin)

    def _reference(self, quantity: Quantity, values: bool) -> Markup:
        """A fact within a formula, linked; made once, since formulas share their operands."""
        known = (id(quantity), values)
        if known not in self._references:
            text = self.value(quantity) if values else self.label(quantity)
            self._references[known] = marked(f'<a href="#{quantity.name}">{safe(text)}</a>')
        return self._references[known]

    def _qualified(self, quantity: Quantity) -> Markup:
        """A fact's label with the group it belongs to, where two operands are named alike."""
        if id(quantity) not in self._qualifieds:
            group = quantity.name.rpartition(".")[0]
            text = safe(f"{self.label(quantity)} [{self.groups.get(group, group)}]")
            self._qualifieds[id(quantity)] = marked(f'<a href="#{quantity.name}">{text}</a>')
        return self._qualifieds[id(quantity)]

    def exact(self, quantity: Quantity) -> str:
        """The value of what is no fact: a constant with all its digits, a result with four."""
        if quantity.value is None:
            return self.value(quantity)
        return self._printed(quantity, Digits(None, None if isinstance(quantity.origin, Constant) else 4))

    def interval(self, quantity: Quantity) -> str:
        """Both ends of a quantity's interval, with four figures."""
        ends = (formats.number(end, self.language, significant=4) for end in (quantity.low, quantity.high))
        return " … ".join(ends) + self.value(quantity).removeprefix(self.value(quantity, unit=False))

    def label(self, quantity: Quantity) -> str:
        """The name of a fact in this language."""
        group, _, name = quantity.name.rpartition(".")
        if group == "evidence" and isinstance(quantity.origin, Constant):
            return quantity.origin.source
        section = "threshold" if group == "threshold" else "fact"
        return self.labels.get(section, name)

    def constant(self, origin: Constant | Sampled) -> Markup:
        """The name of an operand that is no fact."""
        if isinstance(origin, Sampled):
            return plain(origin.key)
        if origin.label.startswith("evidence."):
            return plain(origin.source)
        section, _, name = origin.label.rpartition(".")
        return plain(self.labels.get(section or "constant", name))

    def described(self, quantity: Quantity) -> dict[str, Any]:
        """A fact as plain data: value or reason, unit, formula with names and with values, inputs."""
        operands = quantity.origin.operands if isinstance(quantity.origin, Operation) else ()
        calculated = bool(operands)
        return {
            "text": html.unescape(self.value(quantity)),
            "value": quantity.value,
            "low": _finite(quantity.low),
            "high": _finite(quantity.high),
            "unit": quantity.shown_in,
            "kind": quantity.kind.value,
            "reason": self.absent(quantity.absences) if quantity.value is None else None,
            "missing": [absence.what for absence in quantity.absences],
            "formula": self.formula(quantity, values=False).striptags() if calculated else None,
            "with_values": self.formula(quantity, values=True).striptags() if calculated else None,
            "inputs": [operand.name for operand in _leaves(quantity.origin)],
            "sample": quantity.origin.key if isinstance(quantity.origin, Sampled) else None,
            "doubts": list(quantity.doubts),
        }

    # Claims

    def claim(self, claim: Claim) -> Markup:
        """How a claim came out, linked to its receipt."""
        text = self.outcome(claim)
        address = f"{self.receipts}#claim.{claim.name}"
        return element("a", text, class_=f"claim {claim.outcome.value}", href=address)

    def outcome(self, claim: Claim) -> str:
        """The outcome in words, and how many members it rests on where some could not be judged."""
        text = self.labels.get("outcome", claim.outcome.value)
        counted, total = claim.truth.counted, claim.truth.total
        if not 0 < counted < total:
            return text
        return f"{text}{self.comma}{self.labels.filled('outcome', 'counted', counted=counted, total=total)}"

    def why(self, claim: Claim) -> str:
        """Why a claim cannot be decided, as a clause."""
        if claim.truth.absences:
            return self.absent(claim.truth.absences)
        return self.labels.get("reason", "straddles")

    # Names

    def machine(self, run: Run) -> Markup:
        """The machine of a run: a reported one by its label, an executed one by its own name."""
        if self.labels.has("machine", run.id) and run.kind == "reported":
            return Markup(html.escape(self.labels.get("machine", run.id)))
        return element("span", plain(run.machine.name), translate="no")

    def machines(self, runs: list[Run]) -> Markup:
        """The machines of several runs, each once."""
        named = list(dict.fromkeys(self.machine(run) for run in runs))
        return Markup({"zh": "；"}.get(self.language, "; ")).join(named)

    def model(self, subject: str, engine: str = "") -> Markup:
        """A model and its precision as a reader knows them, and the engine where several ran."""
        name, _, precision = subject.rpartition("-")
        known = models.models().get(name)
        title = plain(f"{known.title if known else name} {precision}")
        return title + self.comma + self.engine(engine) if engine else title

    def model_name(self, name: str) -> Markup:
        """A model without its precision."""
        known = models.models().get(name)
        return plain(known.title if known else name)

    def engine(self, engine: str) -> Markup:
        if self.labels.has("engine", engine):
            return Markup(html.escape(self.labels.get("engine", engine)))
        return plain(engine)

    def particle(self, text: str | Markup | Quantity, pair: str) -> Markup:
        """Korean: what is said, and the particle that fits how it is read aloud."""
        said = self.fact(text) if isinstance(text, Quantity) else text if isinstance(text, Markup) else plain(text)
        return said + particles.particle(html.unescape(said.striptags()), pair)

    def number(self, value: float) -> str:
        return formats.number(value, self.language)

    def date(self, iso: str) -> str:
        return formats.date(iso, self.language)


def operands_alike(origin: Operation) -> bool:
    """Whether the operands are facts of the same name in different groups."""
    names = {operand.name for operand in origin.operands}
    return all(names) and len({name.rpartition(".")[2] for name in names}) < len(names)


def _classes(quantity: Quantity) -> str:
    """Classes that tell a fact's kind, and whether a sample underneath is suspect."""
    return f"fact {quantity.kind.value}{' doubted' if quantity.doubts else ''}"


def _leaves(origin: Origin) -> Iterator[Quantity]:
    """The facts that a formula names, unnamed intermediate results opened."""
    for operand in origin.operands if isinstance(origin, Operation) else ():
        if operand.name:
            yield operand
        else:
            yield from _leaves(operand.origin)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def shown_digits(quantity: Quantity) -> Digits:
    """Digits to print: as published where a reported figure is short, one figure where places would print a zero."""
    value, digits = quantity.value or 0.0, quantity.digits
    if digits.decimals is not None:
        vanishes = value != 0 and abs(value) < 10**-digits.decimals
        return Digits(None, 1) if vanishes else digits
    if quantity.kind is Kind.REPORTED and not isinstance(quantity.origin, Operation) and quantity.shown_in != "param":
        published = len(f"{value:.12g}".replace(".", "").lstrip("-0"))
        if published <= PUBLISHED_DIGITS:
            return Digits(None, max(2, published))
    return digits
