"""A voice: says facts, claims and names in one language, each linked to its receipt, and data never as markup."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from measure import models
from measure.results import Run
from templates import formats, particles, printed
from templates.html import element, joined, marked, plain, safe
from templates.labels import Labels
from templates.quantity import Absence, Operation, Origin, Quantity, Sampled
from templates.shared import MARK, Shared, entry, undecided
from templates.truth import Claim

RECEIPTS = "receipts/"
"""Where an article page finds its receipts."""

COMMAS = {"zh": "，"}
COLONS = {"zh": "："}
SEMICOLONS = {"zh": "；"}
BRACKETS = {"zh": ("（", "）")}

_DASH = re.compile(r"(–|~|～| to )")


class Voice:
    """One language, and where the receipts are from the page that speaks."""

    def __init__(self, language: str, receipts: str = RECEIPTS, shared: Shared | None = None) -> None:
        self.language = language
        self.labels = Labels(language)
        self.receipts = receipts
        self.shared = shared or Shared()
        """What is said of an edition's facts in every language."""
        self.colon = COLONS.get(language, ": ")
        self.comma = COMMAS.get(language, ", ")
        self.semicolon = SEMICOLONS.get(language, "; ")
        self.brackets = BRACKETS.get(language, (" (", ")"))
        self._said: set[str] = set()
        self._facts: dict[tuple[int, bool], Markup] = {}
        """What was said of facts, by their identity: they live as long as their edition, which `shared` is of."""
        self._titles = self.shared.titles.setdefault(language, {})
        self._openings = self.shared.openings.setdefault((language, receipts), {})
        self._words = self.shared.words.setdefault(language, _Words(self))

    def on(self, receipts: str) -> Voice:
        """The same language on a page elsewhere."""
        return Voice(self.language, receipts, self.shared)

    # Facts

    def value(self, quantity: Quantity, *, unit: bool = True) -> str:
        """The number as text, with its unit; the marker for unmeasured where there is none."""
        return html.unescape(self._value(quantity, unit))

    def _value(self, quantity: Quantity, unit: bool = True) -> str:
        """The same as HTML."""
        text = self.shared.value(quantity, unit=unit)
        return self.spoken(text) if MARK in text else text

    def fact(self, quantity: Quantity, *, unit: bool = True) -> Markup:
        """The number, linked to its receipt, its kind told by class and title."""
        known = (id(quantity), unit)
        if known in self._facts:
            return self._facts[known]
        linked = self._linked(quantity, self._value(quantity, unit))
        if quantity.name:
            self._facts[known] = linked
        return linked

    def bare(self, quantity: Quantity) -> Markup:
        """The number without its unit, for a table whose head tells it."""
        return self.fact(quantity, unit=False)

    def span(self, low: Quantity, high: Quantity) -> Markup:
        """A range of two facts, each linked; one fact where both print alike or one is unmeasured."""
        if low.value is None or high.value is None or self.value(low) == self.value(high):
            return self.fact(high)
        first, last = (low, high) if low.value <= high.value else (high, low)
        digits = printed.digits(last)
        both = formats.span(
            first.value or 0.0,
            last.value or 0.0,
            last.shown_in,
            self.language,
            decimals=digits.decimals,
            significant=digits.significant,
        )
        start, dash, end = _DASH.split(both, maxsplit=1) if _DASH.search(both) else ("", "", both)
        if start and printed.digits(first) != digits:
            # What needs more digits than the other end keeps them, and in Chinese its sign.
            start = self.value(first, unit=start.endswith(tuple(formats.CLOSE)))
        ends = [(first, start), (last, end)] if start else [(last, end)]
        said = [self._linked(quantity, safe(text)) for quantity, text in ends]
        return Markup(html.escape(dash)).join(said)

    def reach(self, quantities: list[Quantity]) -> Markup:
        """The range over those that are measured, both ends linked; the first where none is."""
        measured = [quantity for quantity in quantities if quantity.measured]
        if not measured:
            return self.fact(quantities[0])
        ordered = sorted(measured, key=lambda quantity: quantity.value or 0.0)
        return self.span(ordered[0], ordered[-1])

    def address(self, quantity: Quantity) -> str:
        """Where a fact's receipt is. Who asks links it, so the fact counts as printed."""
        self._said.add(quantity.name)
        return f"{self.receipts}#{quantity.name}"

    def _linked(self, quantity: Quantity, text: str) -> Markup:
        if not quantity.name:
            return marked(text)  # no fact, so without a receipt
        self._said.add(quantity.name)
        opening = self._openings.get(quantity.name) or self._opening(quantity)
        return marked(f"{opening}{text}</a>")

    def _opening(self, quantity: Quantity) -> str:
        """The tag before a linked number; made once for all pages from which the receipts are at the same place."""
        name = quantity.name
        if name not in self._titles:
            self._titles[name] = self.title(quantity)
        tag = f'<a class="{classes(quantity)}" href="{self.address(quantity)}" title="{self._titles[name]}">'
        self._openings[name] = tag
        return tag

    @property
    def said(self) -> set[str]:
        """Names of the facts that were printed."""
        return set(self._said)

    def spoken(self, text: str) -> str:
        """Shared text with this voice's words in place of its marks."""
        return self.joined(text.split(MARK))

    def joined(self, parts: list[str]) -> str:
        """The same of text that is split at its marks already."""
        said = parts.copy()
        said[1::2] = map(self._words.__getitem__, parts[1::2])
        return "".join(said)

    def title(self, quantity: Quantity) -> str:
        """One line on where the number comes from, as HTML; its spaces may break."""
        return self.spoken(self.shared.title(quantity)).replace(formats.NO_BREAK_SPACE, " ")

    def absent(self, absences: tuple[Absence, ...]) -> str:
        """Why something is missing, in words."""
        return self.labels.get("reason", absences[0].reason) if absences else ""

    def formula(self, quantity: Quantity, *, values: bool) -> Markup:
        """The formula that made a quantity, with names or with values; each operand that is a fact is linked."""
        return marked(self.spoken(self.shared.formula(quantity, values=values)))

    def label(self, quantity: Quantity) -> str:
        """The name of a fact in this language."""
        section, name = entry(quantity)
        return self.labels.get(section, name) if section else name

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
            "inputs": [operand.name for operand in leaves(quantity.origin)],
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
        """The outcome in words, what is suspect in it, and on how many members it rests where some were not judged."""
        text = self.labels.get("outcome", claim.outcome.value)
        if claim.doubted:
            text = f"{text}{self.comma}{self.labels.get('verdict', 'suspect')}"
        counted, total = claim.truth.counted, claim.truth.total
        if not 0 < counted < total:
            return text
        return f"{text}{self.comma}{self.labels.filled('outcome', 'counted', counted=counted, total=total)}"

    def why(self, claim: Claim) -> str:
        """Why a claim cannot be decided, as a clause."""
        return self.labels.get(*undecided(claim))

    # Names

    def machine(self, run: Run) -> Markup:
        """The machine of a run: a reported one by its label, an executed one by its own name."""
        if self.labels.has("machine", run.id) and run.kind == "reported":
            return Markup(html.escape(self.labels.get("machine", run.id)))
        return element("span", plain(run.machine.name), translate="no")

    def of_run(self, name: Markup, run: Run) -> Markup:
        """A name, and in small print the run that it is of."""
        # A full-width bracket brings its own space.
        return joined(name, "" if name.endswith("）") else " ", element("small", run.id, translate="no"))

    def machines(self, runs: list[Run]) -> Markup:
        """The machines of several runs, each once."""
        named = list(dict.fromkeys(self.machine(run) for run in runs))
        return Markup(self.semicolon).join(named)

    def model(self, subject: str, engine: str = "") -> Markup:
        """A model and its precision as a reader knows them, and the engine where several ran."""
        name, _, precision = subject.rpartition("-")
        known = models.models().get(name)
        title = plain(f"{known.title if known else name} {precision}")
        return marked(f"{title}{self.comma}{self.engine(engine)}") if engine else title

    def model_name(self, name: str) -> Markup:
        """A model without its precision."""
        known = models.models().get(name)
        return plain(known.title if known else name)

    def engine(self, engine: str) -> Markup:
        if self.labels.has("engine", engine):
            return marked(safe(self.labels.get("engine", engine)))
        return plain(engine)

    def particle(self, text: str | Markup | Quantity, pair: str) -> Markup:
        """Korean: what is said, and the particle that fits how it is read aloud."""
        said = self.fact(text) if isinstance(text, Quantity) else text if isinstance(text, Markup) else plain(text)
        return said + particles.particle(html.unescape(said.striptags()), pair)

    def number(self, value: float) -> str:
        return formats.number(value, self.language)

    def date(self, iso: str) -> str:
        return formats.date(iso, self.language)


class _Words(dict[str, str]):
    """What a voice puts in the place of each mark, by its number; made when it is first asked for."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    def __missing__(self, number: str) -> str:
        self[number] = word = self._voice.shared.sayings[int(number)](self._voice)
        return word


def classes(quantity: Quantity) -> str:
    """Classes that tell a fact's kind, and whether a sample underneath is suspect."""
    return f"fact {quantity.kind}{' doubted' if quantity.doubts and quantity.measured else ''}"


def leaves(origin: Origin) -> Iterator[Quantity]:
    """The facts that a formula names, unnamed intermediate results opened."""
    for operand in origin.operands if isinstance(origin, Operation) else ():
        if operand.name:
            yield operand
        else:
            yield from leaves(operand.origin)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
