"""The search for the largest number of streams, on steps whose time is known: exact, noisy, and out of memory."""

from random import Random

import pytest

from measure.recognition.capacity import Trial, largest, percentile


class Bench:
    """Steps that take fixed_s and share_s a stream, and `memory` streams at most; keeps what it was asked."""

    def __init__(self, fixed_s, share_s, memory=10**9, noise=0.0):
        self.fixed_s, self.share_s, self.memory, self.noise = fixed_s, share_s, memory, noise
        self.asked, self.random = [], Random(0)

    def __call__(self, streams, long):
        self.asked.append((streams, long))
        if streams > self.memory:
            return Trial(streams, (), 0.32)
        usual = self.fixed_s + self.share_s * streams
        times = tuple(usual * (1 + self.noise * self.random.random()) for _ in range(130 if long else 8))
        return Trial(streams, times, 0.32)


@pytest.mark.parametrize(("fixed_s", "share_s"), [(0.03, 1e-4), (0.03, 5e-3), (0.001, 1e-5), (0.2, 0.05)])
def test_the_number_is_near_the_true_one_and_never_above(fixed_s, share_s):
    true = int((0.32 - fixed_s) / share_s)
    found = largest(Bench(fixed_s, share_s), 1 << 16)
    assert 0.9 * true <= found.streams <= true
    assert found.limited_by == "time"
    assert found.beyond.streams > found.streams


def test_the_number_that_is_told_was_watched_for_long():
    bench = Bench(0.03, 1e-3)
    found = largest(bench, 1 << 16)
    assert bench.asked[-1] == (found.streams, True)
    assert len(found.best.seconds) == 130
    assert len(bench.asked) <= 10


def test_a_number_that_falls_behind_when_watched_for_long_gives_way():
    class Lucky(Bench):
        def __call__(self, streams, long):
            made = super().__call__(streams, long)
            late = 0.4 if long and streams > 100 else 0.0
            return made._replace(seconds=tuple(each + late for each in made.seconds))

    found = largest(Lucky(0.03, 1e-3), 1 << 16)
    assert 90 <= found.streams <= 100
    assert found.beyond.streams > found.streams and found.limited_by == "time"


def test_memory_can_be_the_bound():
    found = largest(Bench(0.001, 1e-6, memory=3000), 1 << 16)
    assert 2000 <= found.streams <= 3000
    assert found.limited_by == "memory"


def test_not_even_one():
    found = largest(Bench(0.5, 0.1), 64)
    assert (found.streams, found.best, found.limited_by) == (0, None, "time")


def test_the_most_that_was_to_be_tried():
    found = largest(Bench(0.01, 1e-5), 500)
    assert (found.streams, found.beyond, found.limited_by) == (500, None, "most")


def test_noise_does_not_lift_the_number_above_what_the_percentile_allows():
    found = largest(Bench(0.03, 1e-3, noise=0.2), 1 << 16)
    assert found.best.percentile_s <= 0.32
    assert found.streams <= 290


@pytest.mark.parametrize(
    ("values", "which", "expected"), [([3, 1, 2], 50, 2), (range(1, 101), 95, 95), ([5], 95, 5), (range(1, 21), 95, 19)]
)
def test_percentile_is_a_value_that_was_seen(values, which, expected):
    assert percentile(list(values), which) == expected
