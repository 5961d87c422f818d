"""A clock around methods: each for itself, the device waited for, and everything as before afterwards."""

import pytest

from measure import timing
from measure.synthesis.stopwatch import Stopwatch, marked, replaced


class Work:
    def __init__(self, clock):
        self.clock = clock

    def outer(self, seconds):
        self.clock.now += seconds
        self.inner()
        return "done"

    def inner(self):
        self.clock.now += 2.0

    def failing(self):
        self.clock.now += 4.0
        raise KeyError("broken")

    @classmethod
    def made(cls):
        return cls


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def work(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return Work(clock)


def test_a_part_inside_another_counts_for_itself(work):
    watch = Stopwatch("cpu")
    with watch.on({"outer": ((work, "outer"),), "inner": ((work, "inner"),)}):
        assert work.outer(3.0) == "done"
        work.inner()
    assert watch.seconds == {"outer": 3.0, "inner": 4.0}
    assert watch.calls == {"outer": 1, "inner": 2}


def test_methods_of_one_part_add_up_until_it_is_reset(work):
    watch = Stopwatch("cpu")
    with watch.on({"both": ((work, "outer"), (work, "inner"))}):
        work.outer(3.0)
        assert watch.seconds == {"both": 5.0}
        watch.reset()
        work.inner()
    assert watch.seconds == {"both": 2.0}


def test_an_error_passes_through_and_its_time_counts(work):
    watch = Stopwatch("cpu")
    with pytest.raises(KeyError), watch.on({"failing": ((work, "failing"),)}):
        work.failing()
    assert watch.seconds == {"failing": 4.0}
    assert "failing" not in vars(work)


def test_the_device_is_waited_for_at_both_ends(work, monkeypatch):
    waited = []
    monkeypatch.setattr(timing, "synchronize", waited.append)
    with Stopwatch("cuda").on({"inner": ((work, "inner"),)}):
        work.inner()
    assert waited == ["cuda", "cuda"]


def test_afterwards_everything_is_as_before(work):
    work.own = work.inner
    own = work.own
    with replaced(work, "own", lambda method: None), replaced(work, "outer", lambda method: None):
        assert work.own is None and work.outer is None
    assert work.own is own
    assert "outer" not in vars(work)
    with replaced(Work, "made", lambda method: lambda: "other"):
        assert Work.made() == "other"
    assert Work.made() is Work


def test_each_call_is_marked_before_it_happens(work):
    marks = []
    with marked(work, "inner", lambda number: marks.append((number, work.clock.now))):
        work.inner()
        work.outer(3.0)
    work.inner()
    assert marks == [(0, 0.0), (1, 5.0)]
