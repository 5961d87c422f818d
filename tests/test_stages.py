"""Stages add up to the whole, named calls switch them, and what was wrapped is left as it was."""

import time
from types import SimpleNamespace

import pytest

from measure import timing
from measure.synthesis.stages import OTHER, Stopwatch, Switch


class Part:
    """Something whose calls take time, one of them from its class and one of its own."""

    def __init__(self, clock):
        self.clock = clock
        self.own = lambda: clock.spend(3)

    def call(self, seconds=2, *, more=0):
        self.clock.spend(seconds + more)
        return "result"


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=100.0, waits=0)
    made.spend = lambda seconds: setattr(made, "now", made.now + seconds)
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(timing, "synchronize", lambda device: setattr(made, "waits", made.waits + 1))
    return made


def test_every_second_belongs_to_one_stage(clock):
    part = Part(clock)
    watch = Stopwatch("cpu")

    def work():
        clock.spend(1)
        part.call()
        clock.spend(0.5)
        part.own()
        clock.spend(0.25)

    with watch.switched_by([Switch(part, "call", "first"), Switch(part, "own", "second", "third")]):
        found = watch.time(work)
    assert found == {OTHER: 1.5, "first": 2, "second": 3, "third": 0.25}
    assert sum(found.values()) == 6.75


def test_a_stage_may_go_on_until_the_next_begins(clock):
    part = Part(clock)
    watch = Stopwatch("cpu")
    with watch.switched_by([Switch(part, "call", "first", "first"), Switch(part, "own", "second")]):
        assert watch.time(lambda: (part.call(), clock.spend(7), part.own())) == {OTHER: 0, "first": 9, "second": 3}


def test_the_device_is_waited_for_at_each_switch(clock):
    part = Part(clock)
    watch = Stopwatch("cpu")
    with watch.switched_by([Switch(part, "call", "first")]):
        watch.time(lambda: (part.call(), part.call()))
    assert (watch.switches, clock.waits) == (5, 6), "two for each call, one at the end, and one more at the beginning"


def test_arguments_and_results_pass(clock):
    part = Part(clock)
    with Stopwatch("cpu").switched_by([Switch(part, "call", "first")]):
        assert part.call(1, more=4) == "result"
    assert clock.now == 105


def test_each_utterance_is_timed_afresh(clock):
    watch = Stopwatch("cpu")
    assert watch.time(lambda: clock.spend(2)) == {OTHER: 2}
    assert watch.time(lambda: clock.spend(5)) == {OTHER: 5}


def test_calls_are_left_as_they_were(clock):
    part = Part(clock)
    own = part.own
    with (
        pytest.raises(ZeroDivisionError),
        Stopwatch("cpu").switched_by([Switch(part, "call", "first"), Switch(part, "own", "second")]),
    ):
        raise ZeroDivisionError
    assert part.own is own
    assert "call" not in vars(part)


def test_a_call_that_does_not_exist_is_an_error_and_changes_nothing(clock):
    part = Part(clock)
    with (
        pytest.raises(AttributeError),
        Stopwatch("cpu").switched_by([Switch(part, "call", "first"), Switch(part, "no_such_call", "second")]),
    ):
        pass
    assert "call" not in vars(part)
