"""The largest number of streams that keep up: how many can be served in one batch before steps outlast their chunk.

Streams keep up as long as 95% of their steps take no longer than the sound that a step takes in. A number is watched
for a count of steps that was fixed beforehand, and holds if so few were late that the claim has more for it than
against it (`CONFIDENCE`). The search grows from one stream, by a glance as long as steps are well in time; goes down
from a number that failed by what its own steps took; and then halves the interval, until that is narrow or time is up.
Only what was watched is ever reported.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

PERCENTILE = 95

CONFIDENCE = 0.6
"""At which a watch has to support that `PERCENTILE` percent of all steps are in time."""

FEWEST_STEPS = 20
"""Of a watch: in fewer, the percentile lies beyond the last (`percentile_beyond_count` rejects it)."""

MOST_STEPS = 130
"""Of a watch: so many support a 95th percentile by that rule."""

WARMUPS = 2

START = 8
"""Streams that are tried first: fewer take as long on a card, and are tried where these fail."""

GLANCE = 5
"""Steps after which a number is passed over for a larger one if each took no more than `EASE` of the chunk."""

EASE = 0.85

HOPELESS = 1.5
"""A last warm-up so many times as long as its chunk, and another, end the watch before it begins."""

GROWTH, LEAST_GROWTH = 8, 1.25
"""By which the number grows at most and at least after a glance."""

OVERSHOOT, OVERSHOOT_S = 2, 0.5
"""Chunks, or seconds if they are more, that a step may take after growing, by time in proportion to the number."""

BEYOND, NEAR = 1.05, 0.85
"""Of the way to where a line meets the limit: going up, so as to have a number that is too large; and going down."""

CLOSE = 1.33
"""Quotient of the number that failed and a smaller one from which on a glance tells nothing more."""

HASTE = 0.75
"""Of the number that failed: tried next where time is up and nothing held."""

RESOLUTION = 0.1
"""By which the smallest number that failed may exceed the largest that held when the search ends."""


class TooManyError(Exception):
    """So many streams cannot be made, or make no step: memory does not suffice."""


Outcome = Literal["held", "late", "memory", "glanced", "cut"]
"""Watched to the end and in time; late too often; too large for the memory; passed over; time ran out meanwhile."""


class Trial(NamedTuple):
    """How a number of streams did."""

    streams: int
    outcome: Outcome
    seconds: tuple[float, ...]
    """Of each step, in order; of the last two warm-ups if those were hopeless."""
    limit_s: float
    """What a step may take."""
    planned: int
    """Steps that it was to be watched for."""

    @property
    def late(self) -> int:
        """Steps that took longer than they may."""
        return late(self.seconds, self.limit_s)

    @property
    def percentile_s(self) -> float:
        """Infinity where memory did not suffice."""
        return percentile(self.seconds, PERCENTILE) if self.seconds else math.inf

    @property
    def confidence(self) -> float:
        return confidence(len(self.seconds), self.late)

    @property
    def level_s(self) -> float:
        """The time by which the number is judged: one more step than may be late took so long; after a glance, any.

        The limit where memory did not suffice.
        """
        ordered = sorted(self.seconds, reverse=True) or [self.limit_s]
        place = allowed(self.planned) if self.outcome in ("held", "late") else 0
        return ordered[min(place, len(ordered) - 1)]


class Bounds(NamedTuple):
    """Within what a number is sought."""

    limit_s: float
    """What a step may take."""
    most: int
    """Streams that are tried at most."""
    steps: int
    """Of a watch."""
    search_s: float
    """After which no number is watched any more, unless none has held yet."""


class Found(NamedTuple):
    """The largest number that held, and what bounds it."""

    best: Trial | None
    """None if not even one stream keeps up."""
    beyond: Trial | None
    """The smallest number that failed; None if none did."""
    trials: tuple[Trial, ...]
    most: int

    @property
    def streams(self) -> int:
        return self.best.streams if self.best else 0

    @property
    def limited_by(self) -> str:
        """`time` or `memory` of the next number; `most` where no larger one was to be tried.

        `search` where time was up and the number may be larger: `beyond` failed, or nothing did.
        """
        if self.beyond is None:
            return "most" if self.streams >= self.most else "search"
        if wide(self.streams, self.beyond.streams):
            return "search"
        return "memory" if self.beyond.outcome == "memory" else "time"


Step = Callable[[], float]
"""Makes a step and returns its seconds. Raises TooManyError."""

Ready = Callable[[int], Step]
"""Makes so many streams ready and returns their step. Raises TooManyError."""


def percentile(values: Sequence[float], which: float) -> float:
    """The smallest value that at least `which` percent of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(which / 100 * len(ordered)), 1) - 1]


def late(seconds: Iterable[float], limit_s: float) -> int:
    return sum(each > limit_s for each in seconds)


def confidence(steps: int, late_steps: int) -> float:
    """That at least `PERCENTILE` percent of all steps are in time, if so many of `steps` were late: 0 to 1.

    The probability that more would have been late if just the rest of all steps were. Exact and one-sided, after
    Clopper and Pearson (Biometrika 26, 1934); it takes steps to be late independently of each other.
    """
    rest = 1 - PERCENTILE / 100
    ways = (math.comb(steps, each) * rest**each * (1 - rest) ** (steps - each) for each in range(late_steps + 1))
    return max(1 - math.fsum(ways), 0.0)


@functools.cache
def allowed(steps: int) -> int:
    """Late steps among so many up to which they support the claim; -1 if even none late is too few steps."""
    return next(number for number in range(-1, steps) if confidence(steps, number + 1) < CONFIDENCE)


def watch_steps(limit_s: float, watch_s: float) -> int:
    """Steps of a watch that takes about `watch_s` at the limit: as few as allow the same number of late ones."""
    steps = min(max(int(watch_s / limit_s), FEWEST_STEPS), MOST_STEPS)
    if steps == MOST_STEPS:
        return steps
    return next(each for each in range(FEWEST_STEPS, steps + 1) if allowed(each) == allowed(steps))


def wide(held: int, failed: int) -> bool:
    """Whether the interval between two numbers is to be halved."""
    return failed > max(held * (1 + RESOLUTION), held + 1)


def largest(ready: Ready, bounds: Bounds, clock: Callable[[], float] = time.perf_counter) -> Found:
    """The largest number that holds, as far as it can be told in the time that is given."""
    return _Search(ready, bounds, clock).run()


class _Search:
    def __init__(self, ready: Ready, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.ready, self.bounds, self.clock = ready, bounds, clock
        self.end = clock() + bounds.search_s
        self.trials: list[Trial] = []

    def run(self) -> Found:
        while (number := self._next()) is not None:
            self.trials.append(self._try(*number))
        return Found(self.held, self.failed, tuple(self.trials), self.bounds.most)

    @property
    def held(self) -> Trial | None:
        return _largest(each for each in self.trials if each.outcome == "held")

    @property
    def failed(self) -> Trial | None:
        doomed = (each for each in self.trials if each.outcome in ("late", "memory"))
        return min(doomed, key=lambda trial: trial.streams, default=None)

    @property
    def below(self) -> list[Trial]:
        """Numbers smaller than any that failed that were passed over or held, in order."""
        bound = self.failed.streams if self.failed else math.inf
        fitting = (each for each in self.trials if each.outcome in ("held", "glanced") and each.streams < bound)
        return sorted(fitting, key=lambda trial: trial.streams)

    @property
    def over(self) -> bool:
        return self.clock() >= self.end

    # What is tried next: a number, and whether a glance is enough. None at the end.

    def _next(self) -> tuple[int, bool] | None:
        if not self.trials:
            return min(START, self.bounds.most), True
        if self.over:
            return None if self.held else self._smaller()
        if self.failed is None:
            return self._up(self.below[-1])
        if self.failed.outcome == "memory":
            return self._under(self.failed)
        return self._between(self.held, self.failed) if self.held else self._down(self.failed)

    def _smaller(self) -> tuple[int, bool] | None:
        """Time is up and nothing held."""
        failed, number = self.failed, self.below[-1].streams if self.below else 0
        if failed and failed.streams > 1:
            share = HASTE * failed.streams if failed.outcome == "late" else failed.streams / 2
            number = max(number, int(min(share, self._shortened(failed))), 1)
        return (number, False) if number else None

    def _up(self, top: Trial) -> tuple[int, bool] | None:
        """Nothing failed yet."""
        if top.streams >= self.bounds.most:
            return None if top.outcome == "held" else (top.streams, False)
        least = (LEAST_GROWTH if top.outcome == "glanced" else 1 + RESOLUTION) * top.streams
        share = max(OVERSHOOT * top.limit_s, OVERSHOOT_S) / statistics.median(top.seconds)
        number = max(min(GROWTH * top.streams, share * top.streams, self._met(top)), least)
        return min(math.ceil(number), self.bounds.most), True

    def _met(self, top: Trial) -> float:
        """A little beyond where a straight line meets the limit; infinity where steps do not take longer."""
        if len(self.below) < 2:
            return math.inf
        few, many = (statistics.median(each.seconds) for each in self.below[-2:])
        slope = (many - few) / (top.streams - self.below[-2].streams)
        return math.inf if slope <= 0 else BEYOND * (top.streams + (top.limit_s - top.level_s) / slope)

    def _under(self, failed: Trial) -> tuple[int, bool] | None:
        """Memory did not suffice: halve the interval at a glance, then watch its lower end."""
        if not self.below:
            return (failed.streams // 2, True) if failed.streams > 1 else None
        lower = self.below[-1]
        if wide(lower.streams, failed.streams):
            return _middle(lower.streams, failed.streams), True
        return None if lower.outcome == "held" else (lower.streams, False)

    def _between(self, held: Trial, failed: Trial) -> tuple[int, bool] | None:
        if not wide(held.streams, failed.streams):
            return None
        return _middle(held.streams, failed.streams), False

    def _down(self, failed: Trial) -> tuple[int, bool] | None:
        """By what the steps took, and by more with each number that fails; not below one that was at ease."""
        if failed.streams == 1:
            return None
        lower, number = self.below[-1] if self.below else None, self._shrunk(failed)
        if lower is None:
            number = max(min(number, self._shortened(failed)), 1)
        elif failed.streams <= max(CLOSE * lower.streams, lower.streams + 1) or number <= lower.streams:
            return lower.streams, False
        else:
            number = max(min(number, _across(lower, failed)), lower.streams + 1)
        following = min(int(number), failed.streams - 1)
        return following, failed.streams > CLOSE * following

    def _shrunk(self, failed: Trial) -> float:
        failures = sum(each.outcome == "late" for each in self.trials)
        return failed.streams * max(1 - RESOLUTION * 2.0 ** (failures - 2), 0.5)

    def _shortened(self, failed: Trial) -> float:
        """In proportion to what steps took: too low, if anything, as part of that does not depend on the number."""
        return NEAR * failed.streams * failed.limit_s / failed.level_s

    # Trying it.

    def _try(self, number: int, glance: bool) -> Trial:
        limit_s = self.bounds.limit_s
        steps = FEWEST_STEPS if self.over else self.bounds.steps
        try:
            step = self.ready(number)
            if hopeless := self._warm_up(step):
                return Trial(number, "late", tuple(hopeless), limit_s, steps)
            outcome, seconds = self._watch(step, steps, glance)
        except TooManyError:
            return Trial(number, "memory", (), limit_s, steps)
        return Trial(number, outcome, tuple(seconds), limit_s, steps)

    def _warm_up(self, step: Step) -> list[float]:
        """The last two warm-ups if both were hopeless; a single one may have been a pause."""
        most_s = HOPELESS * self.bounds.limit_s
        last_s = [step() for _ in range(WARMUPS)][-1]
        if last_s <= most_s:
            return []
        again_s = step()
        return [last_s, again_s] if again_s > most_s else []

    def _watch(self, step: Step, steps: int, glance: bool) -> tuple[Outcome, list[float]]:
        """No longer than until it is clear that too many are late, and than there is time if another number held."""
        limit_s, may_be_cut = self.bounds.limit_s, self.held is not None
        seconds: list[float] = []
        while len(seconds) < steps:
            if may_be_cut and self.over:
                return "cut", seconds
            seconds.append(step())
            if late(seconds, limit_s) > allowed(steps):
                return "late", seconds
            if glance and len(seconds) == GLANCE and max(seconds) <= EASE * limit_s:
                return "glanced", seconds
        return "held", seconds


def _largest(trials: Iterable[Trial]) -> Trial | None:
    return max(trials, key=lambda trial: trial.streams, default=None)


def _middle(low: int, high: int) -> int:
    """Halfway in proportion, strictly between."""
    return min(max(round(math.sqrt(low * high)), low + 1), high - 1)


def _across(below: Trial, failed: Trial) -> float:
    """A little short of where a straight line from one number to another meets the limit."""
    share = (failed.limit_s - below.level_s) / (failed.level_s - below.level_s)
    return below.streams + NEAR * share * (failed.streams - below.streams)
