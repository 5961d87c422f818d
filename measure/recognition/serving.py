"""How many streams one device serves: the largest number that keeps up, and what memory each of them takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure import device, timing
from measure.child import classify
from measure.recognition import capacity
from measure.recognition.capacity import Trial
from measure.recognition.stream import Cached, Streams, shape_of_step
from measure.results import Key
from measure.session import Config

if TYPE_CHECKING:
    from measure.recognition.bench import Bench

TRIAL_WARMUPS, SHORT_WATCH = 2, 5
"""Steps by which a number of streams is judged while the largest is sought."""

LONG_WATCH = 130
"""Steps by which the largest is confirmed: so many support a 95th percentile (see `percentile_beyond_count`)."""

FEWEST_WATCHED = 21
"""Steps without which a 95th percentile would lie beyond the last of them."""

HOPELESS = 1.5
"""A warm-up so many times as long as its chunk ends the trial of a number of streams."""

MEMORY_STREAMS = (16, 64)
"""Numbers of streams between whose peaks of memory the slope is taken."""


class Serving:
    """Measures batches of streams on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def streams(self, item: Key) -> None:
        """Seek the largest number of streams that keep up, and record it with what was tried."""
        found = capacity.largest(
            lambda streams, long: self._attempt(item, streams, long), self.bench.scope.most_streams
        )
        watched = found.best or found.trials[-1]
        told: Config = {
            **shape_of_step(self.bench.make(item)),
            "streams": found.streams,
            "caches": "random numbers",
            "percentile": capacity.PERCENTILE,
            "observations": len(watched.seconds),
            "percentile_ms": 1e3 * watched.percentile_s,
            "limited_by": found.limited_by,
            "beyond": found.beyond.streams if found.beyond else 0,
            "tried": " ".join(map(_shown, found.trials)),
        }
        self.bench.save(item, "1", [found.streams], told)

    def _attempt(self, item: Key, number: int, long: bool) -> Trial:
        """Time steps of so many streams; a number for which memory does not suffice has none."""
        limit_s = self.bench.recogniser.shape.chunk_ms(self.bench.right(item)) / 1e3
        device.release(self.bench.session.device)
        try:
            streams = self.bench.make(item, number)
            if isinstance(streams, Cached):
                streams.fill()
            last_s = [self.bench.timed(streams) / 1e3 for _ in range(TRIAL_WARMUPS)][-1]
            if last_s > HOPELESS * limit_s:
                return Trial(number, (last_s,), limit_s)
            return Trial(number, tuple(self._watched(streams, long, self._watch_s(item, limit_s))), limit_s)
        except Exception as error:
            if not _too_many(error):
                raise
            return Trial(number, (), limit_s)

    def _watch_s(self, item: Key, limit_s: float) -> float:
        """How long the number of the plain key is watched; of the others, as long as a percentile needs at least."""
        plain = item.quantity == "streams" and "decoder" not in dict(item.parameters)
        return self.bench.scope.watch_s if plain else max(self.bench.scope.watch_s / 3, FEWEST_WATCHED * limit_s)

    def _watched(self, streams: Streams, long: bool, watch_s: float) -> list[float]:
        """Seconds of steps; when they are watched for long, no longer than until it is clear that they fall behind."""
        count, budget_s = (LONG_WATCH, watch_s) if long else (SHORT_WATCH, self.bench.scope.step_s)
        most_late = count * (1 - capacity.PERCENTILE / 100)
        times: list[float] = []
        for _ in timing.rounds(count, budget_s):
            times.append(self.bench.timed(streams) / 1e3)
            if sum(each > streams.limit_s for each in times) > most_late:
                break
        return times

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


def _shown(trial: Trial) -> str:
    if not trial.seconds:
        return f"{trial.streams}:memory"
    return f"{trial.streams}:{1e3 * trial.percentile_s:.1f}ms/{len(trial.seconds)}"


def _too_many(error: Exception) -> bool:
    """Whether so many streams do not fit: the device's memory, or the 32-bit indices of a kernel."""
    text = str(error)
    return classify(error)[0] == "out_of_memory" or "32BitIndex" in text or "too large" in text.lower()
