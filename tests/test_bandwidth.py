"""A bandwidth is bytes over time of a kernel that did its work, over arrays that no cache holds."""

import dataclasses
from contextlib import nullcontext

import msgspec
import pytest
from tiny import Watched, failures, session  # noqa: F401  # a fixture

from measure import bandwidth, device, timing
from measure.keys import key

MIB = 2**20


@pytest.fixture
def small(session, monkeypatch):  # noqa: F811
    """A session whose arrays are 16 MiB and whose cache is 2."""
    monkeypatch.setattr(bandwidth, "BUFFER_BYTES", {"cpu": 32 * MIB})
    return with_cache(session, 2 * MIB)


def with_cache(session, cache_bytes):  # noqa: F811
    return dataclasses.replace(session, machine=msgspec.structs.replace(session.machine, cache_bytes=cache_bytes))


def test_every_planned_kernel_is_recorded(small):
    bandwidth.measure(small)
    for item in bandwidth.plan(small):
        sample = small.load(item)
        assert sample.unit == "GB/s"
        assert sample.count >= timing.AT_LEAST
        assert min(sample.values) > 0
        assert sample.config["buffer_bytes"] == 16 * MIB


@pytest.mark.parametrize(("name", "arrays"), [("sum", 1), ("copy", 2), ("triad", 3)])
def test_a_rate_is_the_bytes_moved_over_the_time(small, monkeypatch, name, arrays):
    def two_seconds(work, *_, **__):
        work()
        return [2.0]

    monkeypatch.setattr(timing, "repeat", two_seconds)
    bandwidth.measure(small)
    assert small.load(key("bandwidth", name)).values == [arrays * 16 * MIB / 2 / 1e9]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("sum", lambda a, b, c: a[: a.numel() // 2].zero_()),
        ("copy", lambda a, b, c: c[1:].copy_(a[1:])),
        ("triad", lambda a, b, c: c.copy_(a)),
    ],
)
def test_a_kernel_that_did_not_do_its_work_is_not_reported(small, monkeypatch, name, wrong):
    kernel = bandwidth.KERNELS[name]._replace(run=wrong)
    monkeypatch.setattr(bandwidth, "KERNELS", {name: kernel})
    bandwidth.measure(small)
    assert small.load(key("bandwidth", name)) is None
    assert failures(small)[f"bandwidth/{name}"][0] == "crashed"


def test_arrays_are_several_times_the_cache(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(device, "free_bytes", lambda machine: 100 * 2**30)
    assert bandwidth.buffer_bytes(with_cache(session, 400 * MIB)) == bandwidth.CACHES * 400 * MIB
    assert bandwidth.buffer_bytes(with_cache(session, 32 * MIB)) == 512 * MIB


def test_arrays_fit_the_memory(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(device, "free_bytes", lambda machine: 1000 * MIB)
    assert bandwidth.buffer_bytes(with_cache(session, 32 * MIB)) == 200 * MIB


def test_arrays_near_the_cache_are_refused(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(device, "free_bytes", lambda machine: 1000 * MIB)
    bandwidth.measure(with_cache(session, 64 * MIB))
    assert {reason for reason, _ in failures(session).values()} == {"not_enough_memory"}


def test_what_was_measured_is_not_measured_again(small, monkeypatch):
    bandwidth.measure(small)
    monkeypatch.setattr(timing, "repeat", lambda *_, **__: pytest.fail("measured again"))
    bandwidth.measure(small)
    assert len(bandwidth.plan(small)) == sum(small.load(item) is not None for item in bandwidth.plan(small))


def test_every_figure_tells_the_clock_before_and_after(small, monkeypatch):
    monkeypatch.setattr(bandwidth, "Watch", Watched)
    bandwidth.measure(small)
    assert {small.load(item).config["clock"] for item in bandwidth.plan(small)} == {"begin end"}


def test_each_card_is_measured_by_itself_and_in_a_quick_run_the_first_alone(small, monkeypatch):
    """The cards are the processor here: what is told apart is on which one the work was, and who watched it."""
    used, watched = [], []
    monkeypatch.setattr(device, "on_card", lambda where, number: used.append(number) or nullcontext())
    monkeypatch.setattr(bandwidth, "Watch", lambda where, number: watched.append(number) or Watched(where))
    two = dataclasses.replace(small, quick=False, machine=msgspec.structs.replace(small.machine, accelerators=2))
    bandwidth.measure(two)
    assert (used, watched) == ([0, 1], [0, 0, 0, 1, 1, 1])
    planned = [str(item) for item in bandwidth.plan(two)]
    assert planned[3:] == [f"{text}?card=1" for text in planned[:3]]
    assert all(two.load(item) is not None for item in bandwidth.plan(two))
    quick = dataclasses.replace(two, quick=True)
    assert [str(item) for item in bandwidth.plan(quick)] == planned[:3]
    assert bandwidth.seconds(two) == 2 * bandwidth.seconds(dataclasses.replace(small, quick=False))
