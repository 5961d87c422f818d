"""Time a piece of work so that the figure is the work's own: warmed up, repeated, with clocks that wait for the device.

Importing this module does not import torch; calling what needs a device does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from measure.card import Watch

AT_LEAST = 3
"""Repeats made even where the time is up: fewer show no spread."""

UNKNOWN_CACHE_BYTES = 256 * 2**20
"""Taken for the last-level cache where a machine does not tell its size; larger than most."""

Work = Callable[[], object]


def synchronize(device: str) -> None:
    """Wait until `device` has done everything it was given."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def wall_seconds(work: Work, device: str) -> float:
    """Seconds from an idle device to an idle device, the host's share included."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def device_seconds(work: Work, device: str) -> float:
    """Seconds between two events around `work` in the device's queue; without events, `wall_seconds`."""
    if device != "cuda":
        return wall_seconds(work, device)
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]  # torch's
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def rounds(count: int, budget_s: float) -> Iterator[int]:
    """Count to `count`, and stop earlier once `budget_s` is spent, but not before `AT_LEAST` rounds."""
    start = time.perf_counter()
    for made in range(count):
        if made >= AT_LEAST and time.perf_counter() - start > budget_s:
            return
        yield made


def repeat(
    work: Work,
    device: str,
    *,
    count: int,
    budget_s: float,
    warmups: int = 1,
    before: Work | None = None,
    watch: Watch | None = None,
) -> list[float]:
    """Device seconds of each repeat, in order. `before` runs ahead of each one, outside its time.

    Warm-ups are timed like the rest, then dropped: `before`, the events and this very code start up as well, and a host
    that is late for the first repeat leaves the device idle inside its time. On an H200 a first product of n = 1024
    took up to six times as long as the others after warm-ups without the clock, and as long as they with it.
    `watch` is asked ahead of the last warm-up, since the device idles meanwhile, and after the last repeat.
    """

    def timed() -> float:
        if before:
            before()
        return device_seconds(work, device)

    watch = watch or Watch("")
    for left in range(warmups, 0, -1):
        if left == 1:
            watch.begin()
        timed()
    seconds = [timed() for _ in rounds(count, budget_s)]
    watch.end()
    return seconds


def cold_cache(device: str, cache_bytes: int) -> Work:
    """Work that leaves nothing of what came before in the last-level cache: it writes twice the cache's size.

    On a GPU it also keeps the queue busy while the host enqueues what is timed next, so that no launch gap is timed.
    """
    import torch

    buffer = torch.empty(2 * (cache_bytes or UNKNOWN_CACHE_BYTES), dtype=torch.uint8, device=device)
    return buffer.zero_


class Deadline:
    """The time a measurement has in all, shared among the parts that are still to come."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def share(self, parts: int) -> float:
        """Seconds each of `parts` equal parts may take; 0 once the time is up."""
        return max(self._end - time.perf_counter(), 0.0) / parts
