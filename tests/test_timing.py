"""Timing is right only if warm-ups, budgets and clocks do what they say; checked with work of known length."""

import subprocess
import sys
import time

import pytest
from tiny import Watched

from measure import timing


def test_rounds_stop_at_the_count():
    assert list(timing.rounds(5, budget_s=60)) == [0, 1, 2, 3, 4]


def test_rounds_go_on_to_the_fewest_when_the_time_is_up():
    assert len(list(timing.rounds(50, budget_s=0))) == timing.AT_LEAST


def test_a_repeat_leaves_out_warm_ups_and_what_runs_before():
    calls = []
    seconds = timing.repeat(
        lambda: calls.append("work"),
        "cpu",
        count=4,
        budget_s=60,
        warmups=2,
        before=lambda: (calls.append("before"), time.sleep(0.05)),
    )
    assert calls == ["before", "work"] * 6
    assert len(seconds) == 4
    assert max(seconds) < 0.05


def test_a_watch_is_asked_before_the_last_warm_up_and_after_the_last_repeat():
    watch = Watched("cpu")
    timing.repeat(lambda: watch.asked.append("work"), "cpu", count=3, budget_s=60, warmups=2, watch=watch)
    assert watch.asked == ["work", "begin", "work", "work", "work", "work", "end"]


def test_warm_ups_take_the_same_way_as_what_is_timed(monkeypatch):
    """What the clock itself does for the first time is not to be in the first repeat."""
    clocked = []
    monkeypatch.setattr(timing, "device_seconds", lambda work, device: clocked.append(device) or 1.0)
    assert timing.repeat(lambda: None, "cuda", count=3, budget_s=60, warmups=2) == [1.0] * 3
    assert clocked == ["cuda"] * 5


@pytest.mark.parametrize("clock", [timing.wall_seconds, timing.device_seconds])
def test_a_clock_counts_all_of_the_work(clock):
    assert clock(lambda: time.sleep(0.05), "cpu") >= 0.05


def test_a_cold_cache_is_overwritten_whole():
    assert timing.cold_cache("cpu", 2**20)().nbytes == 2 * 2**20
    assert timing.cold_cache("cpu", 0)().nbytes >= timing.UNKNOWN_CACHE_BYTES


def test_a_deadline_is_shared_among_what_is_left():
    assert timing.Deadline(60).share(3) == pytest.approx(20, abs=1)
    assert timing.Deadline(-1).share(3) == 0


def test_nothing_here_imports_an_engine():
    names = "timing, models, device, weights, bandwidth, matmul, decode_transformers"
    code = (
        f"import sys; from measure import {names}; sys.exit(sum(n in sys.modules for n in ('torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
