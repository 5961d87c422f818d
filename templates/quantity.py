"""A quantity: a value with its unit, its spread, and the tree of what it was made from.

Arithmetic over quantities builds the value, the unit, the interval and the formula in one step, so the formula that a
reader sees is the one that ran. Absence propagates: what is made from a missing input is unmeasured, with the reason.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from templates import units
from templates.units import Unit


class Kind(StrEnum):
    """How a number came to be; each is told apart by sight on the pages."""

    MEASURED = "measured"
    IMPORTED = "imported"
    CALCULATED = "calculated"
    REPORTED = "reported"
    CITED = "cited"
    GIVEN = "given"
    ESTIMATED = "estimated"
    UNMEASURED = "unmeasured"


class Sampled(Struct, frozen=True, gc=False):
    """The origin of a quantity that stands in results.json."""

    run: str
    key: str


class Constant(Struct, frozen=True, gc=False):
    """The origin of a quantity that stands in a data file of the project: a definition, a dimension of a model."""

    label: str
    source: str = ""


class Operation(Struct, frozen=True, gc=False):
    """The origin of a quantity that was calculated. `symbol` is one of + - * / and those of FAMILIES."""

    symbol: str
    operands: tuple[Quantity, ...]
    rule: str = ""
    """What else decides whether there is a value: "crossing" or "bounded", by the functions of these names."""


Origin: TypeAlias = Sampled | Constant | Operation

LINES = ("slope", "intercept", "R²", "n")
"""Operations over points, each an x and a y: see `templates.line`."""

FAMILIES = ("max", "min", "median", *LINES)
"""Operations over members of which some may be missing: what is made of them goes on with the rest."""


class Absence(Struct, frozen=True, gc=False):
    """Why there is no value: a reason code of labels.toml, and the sample or member that is missing."""

    reason: str
    what: str


class Digits(Struct, frozen=True, gc=False):
    """How many digits to show: decimal places, or significant figures."""

    decimals: int | None = None
    significant: int | None = 3


class Quantity(Struct, frozen=True, eq=False, gc=False):
    """A value in `unit` between `low` and `high`; `value` is None where it is unmeasured."""

    value: float | None
    unit: Unit
    kind: Kind
    origin: Origin
    low: float = math.nan
    high: float = math.nan
    absences: tuple[Absence, ...] = ()
    doubts: tuple[str, ...] = ()
    """Rules that hold a sample underneath suspect."""
    name: str = ""
    """The fact's name, once the quantity is a fact."""
    shown_in: str = ""
    """The unit that the fact is shown in, as spelled in `templates.units`."""
    digits: Digits = Digits()

    @property
    def measured(self) -> bool:
        return self.value is not None

    def to(self, spelled: str) -> Quantity:
        """The same quantity in another unit. Raises DimensionalityError if the unit does not fit."""
        if spelled == self.shown_in:
            return self
        target = units.unit(spelled)
        scale = units.factor(self.unit, target)
        value = None if self.value is None else self.value * scale
        low, high = self.low * scale, self.high * scale
        return replace(self, value=value, unit=target, low=low, high=high, shown_in=spelled)

    def estimated(self) -> Quantity:
        """The same quantity, resting on a supposition that was not measured."""
        return replace(self, kind=Kind.ESTIMATED) if self.measured else self

    def plain(self) -> Quantity:
        """A pure number as such, whatever shares and percentages it was made from; any other quantity as it is."""
        return self.to("1") if self.unit.dimensionless else self

    def named(self, name: str, spelled: str, digits: Digits) -> Quantity:
        """The quantity as a fact."""
        return replace(self.to(spelled), name=name, digits=digits)

    def __add__(self, other: Quantity) -> Quantity:
        return _linear("+", self, other, lambda a, b: a + b)

    def __sub__(self, other: Quantity) -> Quantity:
        return _linear("-", self, other, lambda a, b: a - b)

    def __mul__(self, other: Quantity) -> Quantity:
        return _combine("*", self, other, units.product(self.unit, other.unit), lambda a, b: a * b)

    def __truediv__(self, other: Quantity) -> Quantity:
        return _combine("/", self, other, units.ratio(self.unit, other.unit), _divide)


def tree(quantities: Iterable[Quantity]) -> Iterator[Quantity]:
    """Quantities and all that they are made from, each once, a quantity ahead of its operands."""
    open_ends, seen = list(quantities)[::-1], set[int]()
    while open_ends:
        quantity = open_ends.pop()
        if id(quantity) not in seen:
            seen.add(id(quantity))
            yield quantity
            open_ends += quantity.origin.operands[::-1] if isinstance(quantity.origin, Operation) else ()


def constant(value: float, spelled: str, label: str, source: str = "", kind: Kind = Kind.GIVEN) -> Quantity:
    """A number that a definition or a data file of the project gives; `label` names it in labels.toml."""
    return Quantity(value, units.unit(spelled), kind, Constant(label, source), value, value, shown_in=spelled)


def missing(spelled: str, origin: Origin, reason: str, what: str) -> Quantity:
    """A quantity that nobody measured."""
    return Quantity(
        None, units.unit(spelled), Kind.UNMEASURED, origin, absences=(Absence(reason, what),), shown_in=spelled
    )


def best(members: Iterable[Quantity], spelled: str, what: str) -> Quantity:
    """The largest of the members that exist; unmeasured where none does. Missing members stay in the formula."""
    return _extreme("max", list(members), spelled, what)


def least(members: Iterable[Quantity], spelled: str, what: str) -> Quantity:
    """The smallest of the members that exist; unmeasured where none does."""
    return _extreme("min", list(members), spelled, what)


def median(members: Iterable[Quantity], spelled: str, what: str) -> Quantity:
    """The middle one of the members that exist, or the mean of the middle two; unmeasured where none exists."""
    listed = list(members)
    present = [member.to(spelled) for member in listed if member.measured]
    origin = Operation("median", tuple(listed))
    if not present:
        return missing(spelled, origin, "no_member", what)
    values = (statistics.median(ends) for ends in zip(*((m.value or 0.0, m.low, m.high) for m in present), strict=True))
    estimated = any(member.kind is Kind.ESTIMATED for member in present)
    doubts = tuple(sorted({doubt for member in present for doubt in member.doubts}))
    kind = Kind.ESTIMATED if estimated else Kind.CALCULATED
    value, low, high = values
    return Quantity(value, units.unit(spelled), kind, origin, low, high, doubts=doubts, shown_in=spelled)


def crossing(start: Quantity, margin: Quantity, what: str) -> Quantity:
    """Where what begins `start` apart and comes nearer by `margin` each time meets: the one over the other.

    It never does where the margin is not above zero, and cannot be said where the margin's spread straddles that.
    """
    met = start / margin
    origin = Operation("/", (start, margin), "crossing")
    if margin.value is None or margin.low > 0:
        return replace(met, origin=origin)
    absence = Absence("never_crosses" if margin.high <= 0 else "straddles", what)
    return Quantity(None, met.unit, Kind.UNMEASURED, origin, absences=(absence,))


def bounded(first: Quantity, limits: Iterable[Quantity], spelled: str, what: str) -> Quantity:
    """The first, or the smallest of its limits that exist if that is less; unmeasured where the first is."""
    members = [first, *limits]
    origin = Operation("min", tuple(members), "bounded")
    if first.measured:
        return replace(least(members, spelled, what), origin=origin)
    return replace(first.to(spelled), origin=origin, name="")


def _extreme(symbol: str, members: list[Quantity], spelled: str, what: str) -> Quantity:
    origin = Operation(symbol, tuple(members))
    present = [member.to(spelled) for member in members if member.measured]
    if not present:
        return missing(spelled, origin, "no_member", what)
    choose = max if symbol == "max" else min
    chosen = choose(present, key=lambda member: member.value or 0.0)
    low = choose(member.low for member in present)
    high = choose(member.high for member in present)
    doubts = tuple(sorted(set(chosen.doubts)))
    # Choosing is no calculation: the chosen member keeps its kind.
    return Quantity(chosen.value, chosen.unit, chosen.kind, origin, low, high, doubts=doubts, shown_in=spelled)


def _linear(symbol: str, left: Quantity, right: Quantity, apply: Callable[[float, float], float]) -> Quantity:
    scale = units.factor(right.unit, left.unit)
    same = replace(
        right,
        value=None if right.value is None else right.value * scale,
        low=right.low * scale,
        high=right.high * scale,
    )
    result = _combine(symbol, left, same, left.unit, apply)
    return replace(result, origin=Operation(symbol, (left, right)))


def _combine(
    symbol: str, left: Quantity, right: Quantity, unit: Unit, apply: Callable[[float, float], float]
) -> Quantity:
    origin = Operation(symbol, (left, right))
    doubts = tuple(sorted({*left.doubts, *right.doubts})) if left.doubts or right.doubts else ()
    if left.value is None or right.value is None:
        absences = tuple(dict.fromkeys(left.absences + right.absences))
        return Quantity(None, unit, Kind.UNMEASURED, origin, absences=absences, doubts=doubts)
    corners = [apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    low, high = min(corners), max(corners)
    if symbol == "/" and right.low <= 0 <= right.high:
        low, high = -math.inf, math.inf
    value = apply(left.value, right.value)
    if math.isinf(value):
        return Quantity(None, unit, Kind.UNMEASURED, origin, absences=(Absence("divided_by_zero", right.name),))
    kind = Kind.ESTIMATED if Kind.ESTIMATED in (left.kind, right.kind) else Kind.CALCULATED
    return Quantity(value, unit, kind, origin, low, high, doubts=doubts)


def _divide(a: float, b: float) -> float:
    return a / b if b else math.copysign(math.inf, a)
