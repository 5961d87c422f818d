"""When two medians differ by more than noise: the one rule that the command and the pages go by.

A difference is a change if all of this is so:

1. the intervals of the medians (`measure.results.median_interval`) have no point in common;
2. the medians differ by more than the threshold `changed` of thresholds.toml. Repetitions of one run share clocks,
   temperature and place in memory, so their interval knows nothing of what differs from one run to the next;
3. there are so many repetitions that intervals apart are no chance: `chance` is at most CHANCE.

If only the third fails, it cannot be said. What is counted and not timed has no noise: any difference is a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from measure.results import AnySample, Report, median_interval
from templates import config, units

CHANCE = 0.05
"""As for the interval of a median, which holds it with 95%."""

COUNTED = ("param", "B", "MiB", "GiB", "GB")
"""Units of what is counted: parameters and sizes."""

ROUNDING = 1e-9
"""Two counts differ by no more than this share where only their conversion between units tells them apart."""


class Difference(StrEnum):
    CHANGED = "changed"
    WITHIN = "within"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with the interval that holds it, in one unit."""

    median: float
    low: float
    high: float
    repeats: int
    """Repetitions that the interval is taken from; 0 where the source does not tell."""
    unit: str

    @classmethod
    def of(cls, sample: AnySample) -> Spread:
        """The spread of a sample, in the sample's unit."""
        low, high = sample.interval
        values = [] if isinstance(sample, Report) else sample.values
        return cls(sample.median, low, high, len(values) or sample.count, sample.unit)

    def to(self, spelled: str) -> Spread:
        """The same in another unit. Raises DimensionalityError if the unit does not fit."""
        scale = units.factor(units.unit(self.unit), units.unit(spelled))
        ends = {name: getattr(self, name) * scale for name in ("median", "low", "high")}
        return replace(self, unit=spelled, **ends)


def compare(before: Spread, after: Spread) -> Difference:
    """Whether `after` differs from `before`, by the rule above. Both in one unit; which is which does not matter."""
    if before.unit in COUNTED:
        alike = math.isclose(before.median, after.median, rel_tol=ROUNDING)
        return Difference.WITHIN if alike else Difference.CHANGED
    if not (_apart(before, after) and _differ(before.median, after.median)):
        return Difference.WITHIN
    return Difference.CHANGED if chance(before.repeats, after.repeats) <= CHANCE else Difference.UNDECIDED


def threshold() -> float:
    """The least difference of two medians that counts, as a share of the larger."""
    line = config.lines("thresholds.toml")["changed"]
    return line.number * units.factor(units.unit(line.unit), units.unit("1"))


def _apart(one: Spread, other: Spread) -> bool:
    return one.high < other.low or other.high < one.low


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > threshold() * max(abs(one), abs(other))


@cache
def chance(one: int, other: int) -> float:
    """How often intervals of so many repetitions are apart although nothing changed; 1 where a number is unknown.

    Exact for any distribution without ties: all orders of one + other values are equally likely, so the number of the
    one's values below a given order statistic of the other's follows the negative hypergeometric distribution.
    """
    if not (one and other):
        return 1.0
    dropped, upper = _dropped(one), other - _dropped(other)
    orders = sum(
        math.comb(below + upper - 1, below) * math.comb(one - below + other - upper, one - below)
        for below in range(dropped + 1)
    )
    return min(1.0, 2 * orders / math.comb(one + other, one))


def _dropped(repeats: int) -> int:
    """How many values lie below the lower end of the interval."""
    return int(median_interval([float(rank) for rank in range(repeats)])[0])
