"""The search for the largest number of streams, on steps whose time is known: growth, tails, memory, time that ends."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.recognition import capacity
from measure.recognition.capacity import Bounds, TooManyError, Trial, largest, percentile, watch_steps

CHUNKS = (0.08, 0.16, 0.32, 0.56, 1.12)
"""Seconds of the chunks that Nemotron was trained for."""

WATCH_S, SEARCH_S = 10.4, 16.0
"""As a card is measured with."""

MOST_S = {0.08: 30, 0.16: 34, 0.32: 36, 0.56: 42, 1.12: 64}
"""Simulated seconds that a search may take in the worst case by the chunk: 22 steps of 1.12 s are 25 s alone."""

USUAL_S = {0.08: 21, 0.16: 21, 0.32: 21, 0.56: 23, 1.12: 42}
"""And on average."""


class Card:
    """Steps on a simulated clock: fixed_s, share_s a stream, noise of each and a pause now and then.

    Making streams ready takes half a second and a tenth of a millisecond a stream; the first step is slower.
    """

    def __init__(self, fixed_s, share_s, noise=0.0, pauses=0.0, pause_s=0.0, memory=10**9, least_s=0.0, seed=0):
        self.fixed_s, self.share_s, self.noise, self.least_s = fixed_s, share_s, noise, least_s
        self.pauses, self.pause_s, self.memory = pauses, pause_s, memory
        self.random, self.now, self.made = Random(seed), 0.0, []

    def clock(self):
        return self.now

    def ready(self, streams):
        self.now += 0.5 + 1e-4 * min(streams, self.memory)
        self.made.append((streams, []))
        if streams > self.memory:
            raise TooManyError
        usual, times = max(self.least_s, self.fixed_s + self.share_s * streams), self.made[-1][1]

        def step():
            took = usual * self.random.lognormvariate(0, self.noise)
            took += self.pause_s * (self.random.random() < min(self.pauses * streams, 0.15))
            self.now += took + (0 if times else 0.3)
            times.append(took)
            return took

        return step

    def true(self, limit_s):
        """The largest number that keeps up where steps have neither noise nor pauses."""
        return min(math.floor((limit_s - self.fixed_s) / self.share_s + 1e-9), self.memory)


def search(card, limit_s=0.32, most=1 << 14, watch_s=WATCH_S, search_s=SEARCH_S):
    return largest(card.ready, Bounds(limit_s, most, watch_steps(limit_s, watch_s), search_s), card.clock)


def check(card, found, limit_s, most):
    """What holds of every result: its number was watched to the end and in time, and what is told of it is so."""
    assert [trial.streams for trial in found.trials] == [streams for streams, _ in card.made]
    if found.best is None:
        assert found.beyond.streams == 1
    else:
        streams, times = card.made[found.trials.index(found.best)]
        assert (streams, tuple(times[-len(found.best.seconds) :])) == (found.streams, found.best.seconds)
        assert len(times) - len(found.best.seconds) in (capacity.WARMUPS, capacity.WARMUPS + 1)
        assert len(found.best.seconds) >= capacity.FEWEST_STEPS
        assert found.best.percentile_s <= limit_s
        assert found.best.confidence >= capacity.CONFIDENCE
    doomed = [trial.streams for trial in found.trials if trial.outcome in ("late", "memory")]
    assert (found.beyond.streams if found.beyond else None) == min(doomed, default=None)
    assert found.streams < min(doomed, default=most + 1)
    assert all(trial.streams <= most for trial in found.trials)
    if found.limited_by in ("time", "memory"):
        assert found.beyond.streams <= max((1 + capacity.RESOLUTION) * found.streams, found.streams + 1)
    if found.limited_by == "most":
        assert found.streams == most


@pytest.mark.parametrize("limit_s", CHUNKS)
@pytest.mark.parametrize(("fixed_s", "share_s"), [(0.03, 1e-4), (0.03, 5e-3), (0.001, 1e-3), (0.05, 0.02)])
def test_the_number_is_within_the_resolution_where_steps_always_take_as_long(limit_s, fixed_s, share_s):
    card = Card(fixed_s, share_s)
    found = search(card, limit_s, search_s=1e9)
    check(card, found, limit_s, 1 << 14)
    true = card.true(limit_s)
    assert found.limited_by == "time"
    assert true / (1 + capacity.RESOLUTION) - 1 <= found.streams <= true < found.beyond.streams


@pytest.mark.parametrize("limit_s", CHUNKS)
def test_a_search_is_short_and_finds_most_of_what_is_there(limit_s):
    """Launching takes 40 ms whatever the number; 8% of noise, and pauses of 80 ms that come more often with streams."""
    for noise, pause_s in ((0.02, 0.0), (0.1, 0.0), (0.08, 0.08)):
        took, numbers = [], []
        for seed in range(40):
            card = Card(0.03, 1.2e-4, noise, 1 / 5000, pause_s, least_s=0.04, seed=seed)
            found = search(card, limit_s)
            check(card, found, limit_s, 1 << 14)
            took.append(card.now)
            numbers.append(found.streams)
        assert max(took) <= MOST_S[limit_s]
        assert sum(took) / len(took) <= USUAL_S[limit_s]
        if not pause_s:
            assert percentile(numbers, 50) >= 0.75 * card.true(limit_s * math.exp(-1.645 * noise))


def test_pauses_that_few_steps_do_not_see_do_not_lift_the_number():
    """With 5 steps a number four times as large would pass: 10% of them have a pause as long as the chunk."""
    for seed in range(20):
        card = Card(0.03, 1e-4, 0.0, 1e-4, 0.16, seed=seed)
        found = search(card, 0.16, search_s=60.0)
        check(card, found, 0.16, 1 << 14)
        assert found.streams <= 1000 < card.true(0.16) or found.best.late <= 2


def test_a_watch_ends_as_soon_as_too_many_steps_were_late():
    card = Card(0.2, 1e-9)
    found = search(card, 0.16)
    assert (found.streams, found.best) == (0, None)
    watched = Card(0.165, 1e-9)
    trial = search(watched, 0.16).trials[0]
    assert (trial.outcome, len(trial.seconds)) == ("late", 3), "of 62 steps two may be late"


def test_a_hopeless_number_is_not_watched():
    card = Card(0.25, 1e-9)
    search(card, 0.16)
    assert {len(times) for _, times in card.made} == {capacity.WARMUPS + 1}


def test_a_single_long_warm_up_dooms_no_number():
    pauses = iter([0.0, 9.0])

    class Pausing(Card):
        def ready(self, streams):
            step = super().ready(streams)
            return lambda: step() + next(pauses, 0.0)

    found = search(Pausing(0.01, 1e-5), most=8)
    assert (found.streams, found.beyond) == (8, None)


@pytest.mark.parametrize("memory", [1, 2, 5, 8, 100, 3000])
def test_memory_can_be_the_bound(memory):
    card = Card(0.001, 1e-6, memory=memory)
    found = search(card, search_s=1e9)
    check(card, found, 0.32, 1 << 14)
    assert memory / (1 + capacity.RESOLUTION) - 1 <= found.streams <= memory
    assert found.limited_by == "memory"


def test_memory_for_none():
    found = search(Card(0.001, 1e-6, memory=0))
    assert (found.streams, found.best, found.limited_by) == (0, None, "memory")


def test_not_even_one():
    found = search(Card(0.5, 0.1), most=64)
    assert (found.streams, found.best, found.limited_by) == (0, None, "time")


def test_one_and_no_more():
    found = search(Card(0.05, 0.2), 0.32)
    assert (found.streams, found.beyond.streams, found.limited_by) == (1, 2, "time")


@pytest.mark.parametrize("most", [1, 4, 500])
def test_the_most_that_was_to_be_tried(most):
    card = Card(0.01, 1e-5)
    found = search(card, most=most)
    assert (found.streams, found.beyond, found.limited_by) == (most, None, "most")
    assert len(found.best.seconds) == watch_steps(0.32, WATCH_S)


def test_time_that_ends_leaves_the_interval_open_and_says_so():
    """A single watch fits."""
    card = Card(0.03, 1e-3)
    found = search(card, search_s=3.0)
    check(card, found, 0.32, 1 << 14)
    assert found.limited_by == "search"
    assert found.streams * 1.1 < found.beyond.streams
    assert found.streams > 100


def test_no_time_at_all_still_gives_a_number_that_was_watched():
    card = Card(0.03, 1e-3)
    found = search(card, search_s=0.0)
    check(card, found, 0.32, 1 << 14)
    assert (found.streams, found.beyond, found.limited_by) == (capacity.START, None, "search")
    assert len(found.best.seconds) == capacity.FEWEST_STEPS


def test_time_that_ends_cuts_a_watch_only_where_another_number_held():
    card = Card(0.03, 1e-3)
    outcomes = [trial.outcome for trial in search(card, 0.32, search_s=12.0).trials]
    assert "cut" not in outcomes[: outcomes.index("held")]
    cut = Trial(5, "cut", (0.1,), 0.32, 20)
    assert cut.level_s == 0.1


@settings(deadline=None, max_examples=150)
@given(
    limit_s=st.sampled_from(CHUNKS),
    fixed_s=st.floats(0.001, 0.5),
    share_s=st.floats(1e-6, 0.2),
    noise=st.floats(0, 0.5),
    pauses=st.floats(0, 0.01),
    pause_s=st.floats(0, 1),
    memory=st.integers(1, 20_000),
    most=st.integers(1, 1 << 14),
    search_s=st.floats(0, 60),
    seed=st.integers(0, 100),
)
def test_whatever_the_steps_take_the_number_was_watched(
    limit_s, fixed_s, share_s, noise, pauses, pause_s, memory, most, search_s, seed
):
    card = Card(fixed_s, share_s, noise, pauses, pause_s, memory, seed=seed)
    found = search(card, limit_s, most, search_s=search_s)
    check(card, found, limit_s, most)
    assert len(found.trials) <= 60


# How many steps


@pytest.mark.parametrize(
    ("steps", "late", "expected"),
    [(20, 0, 1 - 0.95**20), (40, 1, 1 - 0.95**40 - 40 * 0.05 * 0.95**39), (1, 1, 0.0), (0, 0, 0.0)],
)
def test_confidence_is_the_chance_that_more_had_been_late(steps, late, expected):
    assert capacity.confidence(steps, late) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("steps", "late"), [(17, -1), (18, 0), (39, 0), (40, 1), (62, 2), (83, 3), (105, 4), (130, 5)])
def test_late_steps_that_are_allowed(steps, late):
    assert capacity.allowed(steps) == late
    assert capacity.confidence(steps, late + 1) < capacity.CONFIDENCE


@given(st.integers(1, 200))
def test_where_so_many_are_late_the_percentile_is_in_time(steps):
    late = capacity.allowed(steps)
    times = [1.0] * (steps - max(late, 0)) + [9.0] * max(late, 0)
    assert late < 0 or percentile(times, capacity.PERCENTILE) == 1.0


@pytest.mark.parametrize(
    ("limit_s", "watch_s", "expected"),
    [(0.08, 10.4, 130), (0.16, 10.4, 62), (0.32, 10.4, 20), (0.32, 13.0, 40), (1.12, 10.4, 20), (1.12, 0.0, 20)],
)
def test_a_watch_has_as_few_steps_as_allow_the_same_late_ones(limit_s, watch_s, expected):
    assert watch_steps(limit_s, watch_s) == expected


@pytest.mark.parametrize(
    ("values", "which", "expected"), [([3, 1, 2], 50, 2), (range(1, 101), 95, 95), ([5], 95, 5), (range(1, 21), 95, 19)]
)
def test_percentile_is_a_value_that_was_seen(values, which, expected):
    assert percentile(list(values), which) == expected
