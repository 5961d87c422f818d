"""Rules about the repeats of one sample: a start-up among them, drift, spread, and how few they are."""

from __future__ import annotations

import bisect
import functools
import math
import statistics
import sys

from measure.limits import thresholds
from measure.limits.case import SLOWER, Case, Status, Verdict
from measure.results import Sample, median_interval


def start_up_inside(case: Case) -> Verdict | None:
    """A first repeat far slower than all others compiled, allocated or loaded something inside its window."""
    times, values = _times(case), _values(case)
    if not times:
        return None
    if len(times) == 1:
        # Nothing went before the only value: whatever happens once is in it.
        return Verdict("rejected") if case.number("warmups") == 0 else None
    if times[0] < thresholds.START_UP * statistics.median(times[1:]) or times[0] <= max(times[1:]):
        return Verdict("accepted")
    usual = statistics.median(values[1:])
    # The median of two is their mean, so it holds the start-up; of more, it does not, but their range may.
    status: Status = "rejected" if len(values) == 2 else "suspect"
    return Verdict(status, "", usual, values[0] / usual, case.sample.unit, values[0])


def drifts(case: Case) -> Verdict | None:
    """Repeats that end elsewhere than they began were not made under the same conditions."""
    values = _values(case)
    third = len(values) // 3
    if third < thresholds.THIRD or not _times(case):
        return None
    (low, high), (low_end, high_end) = median_interval(values[:third]), median_interval(values[-third:])
    change = drift(values)
    apart = high_end < low or low_end > high
    status: Status = "suspect" if apart and abs(change) > thresholds.DRIFT else "accepted"
    begun, ended = (statistics.median(part) for part in (values[:third], values[-third:]))
    return Verdict(status, "", begun, 1 + change, case.sample.unit, ended)


def drift(values: list[float]) -> float:
    """How far the last third of the repeats lies from the first third, relative to it: medians, 0.05 is 5% higher."""
    third = max(len(values) // 3, 1)
    return statistics.median(values[-third:]) / statistics.median(values[:third]) - 1


def spread_wide(case: Case) -> Verdict | None:
    """A figure is shown with two digits or more: a wide interval leaves the second one open."""
    low, high = case.sample.interval
    if case.sample.unit not in SLOWER or low == high or low <= 0:
        return None
    limit = thresholds.WIDE * case.sample.median
    status: Status = "suspect" if high - low > limit else "accepted"
    return Verdict(status, "", limit, (high - low) / limit, case.sample.unit, high - low)


def percentile_beyond_count(case: Case) -> Verdict | None:
    """A percentile near the end needs many observations; one beyond the last of them is no percentile at all."""
    told = case.number("percentile")
    if told is None or told == MEDIAN or not 0 < told < 100:
        return None
    count = case.number("observations") or case.sample.count
    if not count:
        return None
    beyond = min(told, 100 - told) / 100
    needed = _needed(beyond)
    status: Status = "rejected" if count * beyond < 1 else "suspect" if count < needed else "accepted"
    return Verdict(status, "", needed, count / needed, "", count)


MEDIAN = 50
"""The percentile that every sample is judged by anyway, with its interval."""


@functools.cache
def _needed(beyond: float) -> int:
    """Observations that a percentile needs with a share of `beyond` past it.

    The smallest count for which at most one lies beyond with a probability of no more than `TAIL`. Source: the early
    stopping of MLPerf's LoadGen (mlcommons/inference), which needs 64 for the 90th percentile and 662 for the 99th.
    """
    most = min(math.ceil(FAR_ENOUGH / beyond), sys.maxsize)
    return bisect.bisect_left(range(most), True, lo=1, key=lambda count: _chance(count, beyond) <= thresholds.TAIL)


FAR_ENOUGH = 100
"""With so many observations expected beyond a percentile, no chance of error that anyone asks for is left."""


def _chance(count: int, beyond: float) -> float:
    """Probability that at most one of `count` observations lies beyond."""
    none = math.pow(1 - beyond, count)
    one = count * beyond * math.pow(1 - beyond, count - 1)
    return none + one


def _values(case: Case) -> list[float]:
    return case.sample.values if isinstance(case.sample, Sample) else []


def _times(case: Case) -> list[float]:
    """The repeats as times, up to a constant; none for what is no speed and for what has no repeats."""
    direction, values = SLOWER.get(case.sample.unit), _values(case)
    if direction is None or not values or min(values) <= 0:
        return []
    return values if direction > 0 else [1 / value for value in values]
