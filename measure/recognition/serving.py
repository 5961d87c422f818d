"""How many streams one device serves: the largest number that keeps up, and what memory each of them takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from measure import device
from measure.child import classify
from measure.keys import Key
from measure.recognition import capacity
from measure.recognition.capacity import Bounds, Found, Step, TooManyError, Trial
from measure.recognition.stream import Cached, Streams, shape_of_step
from measure.results import Config

if TYPE_CHECKING:
    from measure.recognition.bench import Bench

ASIDE = 0.7
"""Of the times of watch and search, for all but NeMo's own step with a cache."""

MEMORY_STREAMS = (16, 64)
"""Numbers of streams between whose peaks of memory the slope is taken."""


class Serving:
    """Measures batches of streams on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def streams(self, item: Key) -> None:
        """Seek the largest number of streams that keep up, and record it with what was tried.

        Raises NotEnoughMemoryError if not even one stream can be made.
        """
        batches, start = Batches(self.bench, item), time.perf_counter()
        found = capacity.largest(batches.ready, self.bounds(item))
        if found.best is None and found.limited_by == "memory":
            raise device.NotEnoughMemoryError("not even one stream fits")
        told: Config = {
            **shape_of_step(batches.latest),
            "caches": "random numbers",
            "tokens_per_second": batches.latest.tokens_per_second,
            **_of_search(found),
            **_of_collections(found, batches),
            "searched_s": round(time.perf_counter() - start, 1),
        }
        self.bench.save(item, "1", [found.streams], told)

    def bounds(self, item: Key) -> Bounds:
        """Within what the number of a key is sought."""
        scope, limit_s = self.bench.scope, self.bench.recogniser.shape.chunk_ms(self.bench.right(item)) / 1e3
        usual = item.quantity == "streams" and "decoder" not in dict(item.parameters)
        share = 1.0 if usual else ASIDE
        steps = capacity.watch_steps(limit_s, share * scope.watch_s)
        return Bounds(limit_s, scope.most_streams, steps, share * scope.search_s)

    def memory(self, item: Key) -> None:
        """Peak of memory while streams step, by how much it grows from a few streams to more, a stream."""
        import torch

        peaks = []
        for number in MEMORY_STREAMS:
            streams = self.bench.make(item, number)
            self.bench.ready(streams, fill=True)
            torch.cuda.reset_peak_memory_stats()
            streams.step()
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated())
            del streams
            device.release(self.bench.session.device)
        few, many = MEMORY_STREAMS
        told: Config = {"streams_few": few, "streams_many": many, "peak_mib_few": peaks[0] / 2**20}
        self.bench.save(item, "MiB", [(peaks[1] - peaks[0]) / (many - few) / 2**20], told)


class Batches:
    """The batches of streams of one key, one at a time: a smaller one goes on with streams of the one before."""

    def __init__(self, bench: Bench, item: Key) -> None:
        self.bench, self.item = bench, item
        self._streams: Streams | None = None
        self._collecting: dict[int, list[bool]] = {}

    def collecting(self, trial: Trial) -> list[bool]:
        """Of each step of a trial, whether Python collected all its garbage meanwhile."""
        return self._collecting[trial.streams][-len(trial.seconds) :] if trial.seconds else []

    @property
    def latest(self) -> Streams:
        """The batch that was ready last; one of a single stream if memory did not suffice for it."""
        if self._streams is None:
            self._streams = self._make(1)
        return self._streams

    def ready(self, number: int) -> Step:
        """So many streams whose caches are full, and the seconds of a step of theirs."""
        with _told_if_too_many():
            if self._streams is not None and number <= self._streams.streams:
                self._streams.narrow(number)
            else:
                self._streams = None  # before the next takes memory
                self._streams = self._make(number)
        self._collecting[number] = []
        return self._step

    def _make(self, number: int) -> Streams:
        device.release(self.bench.session.device)
        made = self.bench.make(self.item, number)
        if isinstance(made, Cached):
            made.fill()
        return made

    def _step(self) -> float:
        before = _full_collections()
        try:
            with _told_if_too_many():
                seconds = self.bench.timed(self.latest) / 1e3
        except TooManyError:
            self._streams = None
            raise
        self._collecting[self.latest.streams].append(_full_collections() > before)
        return seconds


def _full_collections() -> int:
    """How often Python has searched all its objects for garbage; each search stops the process."""
    return int(gc.get_stats()[2]["collections"])


def _of_collections(found: Found, batches: Batches) -> Config:
    """Steps with a full collection, and how many of the late ones: of the number that held and the next that failed."""
    told: Config = {}
    for name, trial in (("", found.best), ("beyond_", found.beyond)):
        if trial is not None and trial.seconds:
            pairs = list(zip(trial.seconds, batches.collecting(trial), strict=True))
            told[f"{name}collecting_steps"] = sum(collecting for _, collecting in pairs)
            told[f"{name}late_steps"] = trial.late
            told[f"{name}late_collecting_steps"] = sum(
                collecting for seconds, collecting in pairs if seconds > trial.limit_s
            )
    return told


def _of_search(found: Found) -> Config:
    """What a configuration says of the number, of what supports it, and of how it was found."""
    told: Config = {
        "streams": found.streams,
        "limited_by": found.limited_by,
        "beyond": found.beyond.streams if found.beyond else 0,
        "resolution": capacity.RESOLUTION,
        "tried": " ".join(map(_shown, found.trials)),
    }
    return {**told, **_of_watch(found.best)} if found.best else told


def _of_watch(best: Trial) -> Config:
    return {
        "percentile": capacity.PERCENTILE,
        "percentile_ms": 1e3 * best.percentile_s,
        "observations": len(best.seconds),
        "confidence": round(best.confidence, 3),
        "confidence_of": f"at least {capacity.PERCENTILE}% of steps in time, exact binomial bound",
    }


def _shown(trial: Trial) -> str:
    """Number, outcome, percentile, late steps of how many; without slashes, as a path would be blotted out."""
    if not trial.seconds:
        return f"{trial.streams}:{trial.outcome}"
    return f"{trial.streams}:{trial.outcome}:{1e3 * trial.percentile_s:.1f}ms:{trial.late}of{len(trial.seconds)}"


@contextmanager
def _told_if_too_many() -> Iterator[None]:
    """Turn an error that means so into TooManyError: the device's memory, or the 32-bit indices of a kernel."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if classify(error)[0] == "out_of_memory" or "32BitIndex" in text or "too large" in text.lower():
            raise TooManyError(text) from None
        raise
