"""Truth with three outcomes: predicates over quantities that hold, are refuted, or cannot be decided.

A comparison of two quantities holds, is refuted, or is undecided: because an input is unmeasured, or because its spread
straddles the threshold. Truths combine by Kleene's three-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from templates import units
from templates.quantity import Absence, Origin, Quantity, tree


class Outcome(StrEnum):
    HOLDS = "holds"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Comparison(Struct, frozen=True, gc=False):
    """One test that was made: `left` against `right`, and how it came out."""

    left: Quantity
    symbol: str
    right: Quantity
    outcome: Outcome


class Truth(Struct, frozen=True, gc=False):
    """An outcome with the comparisons behind it and, where undecided, the reasons."""

    outcome: Outcome
    comparisons: tuple[Comparison, ...] = ()
    absences: tuple[Absence, ...] = ()
    counted: int = 1
    """Members of a family that could be judged."""
    total: int = 1
    """Members of a family."""

    def __and__(self, other: Truth) -> Truth:
        return _join(_all([self.outcome, other.outcome]), [self, other])

    def __or__(self, other: Truth) -> Truth:
        return _join(_any([self.outcome, other.outcome]), [self, other])

    def __invert__(self) -> Truth:
        turned = {Outcome.HOLDS: Outcome.REFUTED, Outcome.REFUTED: Outcome.HOLDS}
        return replace(self, outcome=turned.get(self.outcome, self.outcome))


@dataclass(frozen=True)
class Claim:
    """A named conclusion. A template asks `holds`, `refuted`, and else."""

    name: str
    truth: Truth
    forced: Outcome | None = field(default=None, compare=False)
    """Set by tests that render every outcome."""

    @property
    def outcome(self) -> Outcome:
        return self.forced or self.truth.outcome

    @property
    def doubted(self) -> bool:
        """Whether it was decided and a suspect sample is beneath what was compared."""
        return self.outcome is not Outcome.UNDECIDED and any(side.doubts for side in self.sides if side.measured)

    @property
    def sides(self) -> Iterator[Quantity]:
        """What was compared."""
        return (side for made in self.truth.comparisons for side in (made.left, made.right))

    @cached_property
    def origins(self) -> list[Origin]:
        """What everything that was compared was made from, and what that was made from."""
        return [quantity.origin for quantity in tree(self.sides)]

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS

    @property
    def refuted(self) -> bool:
        return self.outcome is Outcome.REFUTED


def at_least(left: Quantity, right: Quantity) -> Truth:
    """left >= right, over the whole spread of both."""
    return _compare(left, "≥", right)


def at_most(left: Quantity, right: Quantity) -> Truth:
    """left <= right, over the whole spread of both."""
    return _compare(left, "≤", right)


def above(left: Quantity, right: Quantity) -> Truth:
    """left > right, over the whole spread of both."""
    return _compare(left, ">", right)


def below(left: Quantity, right: Quantity) -> Truth:
    """left < right, over the whole spread of both."""
    return _compare(left, "<", right)


def every(members: Iterable[Truth], what: str) -> Truth:
    """All members that could be measured hold. Undecided where there is none; `counted` of `total` were judged."""
    return _family(list(members), what, _all)


def some(members: Iterable[Truth], what: str) -> Truth:
    """At least one member holds."""
    return _family(list(members), what, _any)


_TESTS: dict[str, Any] = {
    "≥": (lambda a, b: a.low >= b.high, lambda a, b: a.high < b.low),
    "≤": (lambda a, b: a.high <= b.low, lambda a, b: a.low > b.high),
    ">": (lambda a, b: a.low > b.high, lambda a, b: a.high <= b.low),
    "<": (lambda a, b: a.high < b.low, lambda a, b: a.low >= b.high),
}


def _compare(left: Quantity, symbol: str, right: Quantity) -> Truth:
    scale = units.factor(right.unit, left.unit)
    if left.value is None or right.value is None:
        absences = tuple(dict.fromkeys(left.absences + right.absences))
        return Truth(Outcome.UNDECIDED, (Comparison(left, symbol, right, Outcome.UNDECIDED),), absences)
    scaled = replace(right, value=right.value * scale, low=right.low * scale, high=right.high * scale)
    holds, refuted = _TESTS[symbol]
    outcome = Outcome.HOLDS if holds(left, scaled) else Outcome.REFUTED if refuted(left, scaled) else Outcome.UNDECIDED
    return Truth(outcome, (Comparison(left, symbol, right, outcome),))


def _all(outcomes: Iterable[Outcome]) -> Outcome:
    seen = set(outcomes)
    return next((o for o in (Outcome.REFUTED, Outcome.UNDECIDED) if o in seen), Outcome.HOLDS)


def _any(outcomes: Iterable[Outcome]) -> Outcome:
    seen = set(outcomes)
    return next((o for o in (Outcome.HOLDS, Outcome.UNDECIDED) if o in seen), Outcome.REFUTED)


def _family(members: list[Truth], what: str, rule: Callable[[Iterable[Outcome]], Outcome]) -> Truth:
    judged = [member for member in members if not member.absences]
    if not judged:
        absences = tuple(dict.fromkeys(a for member in members for a in member.absences))
        comparisons = tuple(c for member in members for c in member.comparisons)
        return Truth(Outcome.UNDECIDED, comparisons, absences or (Absence("no_member", what),), 0, len(members))
    joined = _join(rule([member.outcome for member in judged]), judged)
    return replace(joined, absences=(), counted=len(judged), total=len(members))


def _join(outcome: Outcome, parts: list[Truth]) -> Truth:
    comparisons = tuple(c for part in parts for c in part.comparisons)
    absences = tuple(dict.fromkeys(a for part in parts for a in part.absences)) if outcome is Outcome.UNDECIDED else ()
    return Truth(outcome, comparisons, absences, min(p.counted for p in parts), max(p.total for p in parts))
