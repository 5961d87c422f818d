"""The largest number of streams that keep up: how many can be served in one batch before a step outlasts its chunk.

Streams keep up as long as the 95th percentile of a step's time stays within the sound that the step takes in. The
number is sought by steps: up to fourfold until it is too large, then where a straight line through two that were tried
meets the chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

PERCENTILE = 95

GROWTH = 4
"""By which the number grows until it is too large."""

REFINEMENTS = 3
"""Numbers tried between the largest that kept up and the smallest that did not."""

BEYOND = 1.1
"""Of the number at which a straight line meets the limit: tried next, so as to have one that is too large."""

NEAR = 0.95
"""Of the number that a straight line predicts; and of one that turned out too large when it was watched for longer."""

CLOSE = 1.05
"""Quotient of the two numbers between which no other is tried."""


class Trial(NamedTuple):
    """How a number of streams did."""

    streams: int
    seconds: tuple[float, ...]
    """Of each step, in order; none where memory did not suffice."""
    limit_s: float
    """What a step may take."""

    @property
    def percentile_s(self) -> float:
        """Infinity where memory did not suffice."""
        return percentile(self.seconds, PERCENTILE) if self.seconds else math.inf

    @property
    def keeps_up(self) -> bool:
        return self.percentile_s <= self.limit_s


class Found(NamedTuple):
    """The largest number that keeps up, and what bounds it."""

    best: Trial | None
    """None if not even one stream keeps up."""
    beyond: Trial | None
    """The smallest number that did not keep up; None where the largest that was to be tried did."""
    trials: tuple[Trial, ...]

    @property
    def streams(self) -> int:
        return self.best.streams if self.best else 0

    @property
    def limited_by(self) -> str:
        """`time`, `memory`, or `most` where the search ended at the largest number that was to be tried."""
        if self.beyond is None:
            return "most"
        return "time" if self.beyond.seconds else "memory"


Try = Callable[[int, bool], Trial]
"""Tries so many streams; whether for long, so that the percentile is supported."""


def percentile(values: Sequence[float], which: float) -> float:
    """The smallest value that at least `which` percent of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(which / 100 * len(ordered)), 1) - 1]


def largest(attempt: Try, most: int) -> Found:
    """The largest number up to `most` that keeps up when watched for long."""
    trials, beyond = _grow(attempt, most)
    trials, beyond = _refine(attempt, trials, beyond)
    return _confirm(attempt, trials, beyond)


def _grow(attempt: Try, most: int) -> tuple[list[Trial], Trial | None]:
    """Ever larger numbers, but none far beyond where the last two say that the limit lies."""
    trials, number = [], 1
    while True:
        trials.append(attempt(number, False))
        if not trials[-1].keeps_up:
            return trials, trials[-1]
        if number >= most:
            return trials, None
        expected = BEYOND * _expected(trials[-2:]) if len(trials) > 1 else math.inf
        beyond = math.ceil(min(expected, most))
        number = min(number * GROWTH, max(beyond, number + 1), most)


def _expected(trials: Sequence[Trial]) -> float:
    """Where a straight line through two numbers meets the limit; infinity if the larger did not take longer."""
    few, many = trials
    slope = (many.percentile_s - few.percentile_s) / (many.streams - few.streams)
    return math.inf if slope <= 0 else many.streams + (many.limit_s - many.percentile_s) / slope


def _refine(attempt: Try, trials: list[Trial], beyond: Trial | None) -> tuple[list[Trial], Trial | None]:
    for _ in range(REFINEMENTS):
        below = _best(trials)
        if beyond is None or below is None or beyond.streams <= max(below.streams * CLOSE, below.streams + 1):
            break
        made = attempt(_between(below, beyond), False)
        trials.append(made)
        beyond = beyond if made.keeps_up else made
    return trials, beyond


def _between(below: Trial, beyond: Trial) -> int:
    """A little short of where a straight line through both meets the limit; halfway where memory set the bound."""
    if beyond.seconds:
        middle = below.streams + NEAR * (_expected((below, beyond)) - below.streams)
    else:
        middle = (below.streams + beyond.streams) / 2
    return min(max(round(middle), below.streams + 1), beyond.streams - 1)


def _confirm(attempt: Try, trials: list[Trial], beyond: Trial | None) -> Found:
    """Watch the largest for long; as long as it falls behind, a smaller one."""
    found = _best(trials)
    number = found.streams if found else 0
    while number:
        watched = attempt(number, True)
        trials.append(watched)
        if watched.keeps_up:
            return Found(watched, beyond, tuple(trials))
        beyond, number = watched, math.floor(NEAR * number)
    return Found(None, beyond, tuple(trials))


def _best(trials: Sequence[Trial]) -> Trial | None:
    fitting = [trial for trial in trials if trial.keeps_up]
    return max(fitting, key=lambda trial: trial.streams, default=None)
