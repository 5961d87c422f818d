"""Measures a streaming recogniser key by key: here steps and their parts; the rest is asked of its helpers."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

from measure import device, kernels, timing
from measure.card import Watch
from measure.keys import Key
from measure.recognition import emission, nemotron, stream
from measure.recognition.counting import Counting
from measure.recognition.nemotron import Recogniser
from measure.recognition.scoring import Scoring
from measure.recognition.serving import Serving
from measure.recognition.stream import Buffered, Cached, Graphed, Packaged, Streams, shape_of_step
from measure.results import Config
from measure.session import Session

FEW = 30
"""Repeats of what is held against other samples, not against a chunk."""

TRACED_STEPS = 8

COLLECTOR = "Python's, what was loaded frozen"

STEPS = ("step_time", "buffered_step_time")
"""Quantities of a whole step of one stream."""

USUAL = "usual"

FORCED = {"none": "forced: no token", "every": "forced: one token on each frame"}
"""Emissions beside the usual one, and what a configuration calls them."""

EMISSIONS = (USUAL, *FORCED)


class Scope(Protocol):
    """What of a measurement's scope decides how a key is measured."""

    @property
    def repeats(self) -> int: ...
    @property
    def most_streams(self) -> int: ...
    @property
    def watch_s(self) -> float: ...
    @property
    def search_s(self) -> float: ...
    @property
    def step_s(self) -> float: ...
    @property
    def every(self) -> bool: ...


class Bench:
    """Measures keys of one recogniser."""

    def __init__(self, session: Session, recogniser: Recogniser, config: Config, scope: Scope) -> None:
        self.session, self.recogniser, self.scope = session, recogniser, scope
        self.config: Config = {**config, "collector": COLLECTOR}
        self._timed_parts: dict[tuple[tuple[str, str], ...], tuple[list[dict[str, float]], Config]] = {}
        self._tried_steps: set[Key] = set()
        self._wanted: list[Key] = []
        self.counting, self.serving, self.scoring = Counting(self), Serving(self), Scoring(self)
        self.sound, self.heard = self.scoring.sound()
        self._measures: dict[str, Callable[[Key], None]] = {
            "step_time": self._step,
            "buffered_step_time": self._step,
            "step_part_time": self._part,
            "chunk_length": self.counting.chunk,
            "loaded_weights": self._held,
            "parameters": self._held,
            "cache_memory": self._cache,
            "step_flops": self.counting.flops,
            "buffered_step_flops": self.counting.flops,
            "stream_difference": self.counting.difference,
            "streams": self.serving.streams,
            "buffered_streams": self.serving.streams,
            "stream_memory": self.serving.memory,
            "step_kernel_time": self._kernels,
            "buffered_step_kernel_time": self._kernels,
            "cer": self.scoring.errors,
            "wer": self.scoring.errors,
        }

    def measure(self, items: Iterable[Key]) -> None:
        """Record each key, or why it has no sample, and print what it cost."""
        import torch

        self._wanted = list(items)
        with torch.inference_mode(), frozen():
            if self.recogniser.weights == "random":
                rate = emission.force(self.recogniser)
                print(f"random weights emit {rate:.1f} tokens a second and stream", flush=True)
            for item in self._wanted:
                start = time.perf_counter()
                if "cache" not in dict(item.parameters):
                    self.counting.let_go()
                with device.failing(self.session, item):
                    self._measures[item.quantity](item)
                device.release(self.session.device)
                print(f"{item}: {time.perf_counter() - start:.1f} s", flush=True)

    def make(self, item: Key, streams: int = 1) -> Streams:
        """The streams that a key is about."""
        told = dict(item.parameters)
        right, decoder = int(told["right"]), cast(stream.Decoder, told.get("decoder", "package"))
        if item.quantity.startswith("buffered"):
            shape = self.recogniser.shape
            frames = stream.whole_chunks(shape, right, float(told["window"])) if "window" in told else 0
            return Buffered(self.recogniser, right, streams, self.sound, decoder, frames)
        return _kind(item)(self.recogniser, right, streams, self.sound, decoder)

    def ready(self, streams: Streams, fill: bool = False) -> int:
        """Step until the caches are full, or `fill` them, and a few times more; returns how many steps that took."""
        steps = stream.WARMUPS
        if isinstance(streams, Cached) and not isinstance(streams, Graphed):
            if fill:
                streams.fill()
            else:
                steps += streams.steps_to_fill
        for _ in range(steps):
            streams.arrive()
            streams.step()
        return steps

    def _step(self, item: Key) -> None:
        """A step, and with it those of the other keys that it is timed in turn with."""
        if item not in self._tried_steps:
            self._time_steps(self._in_turn(item))

    def _in_turn(self, item: Key) -> list[Key]:
        """The step with a cache, which others are held against, and every kind of step wanted with this look-ahead."""
        right = self.right(item)
        usual = item._replace(quantity="step_time", parameters=(("right", str(right)),))
        steps = [each for each in self._wanted if each.quantity in STEPS and self.right(each) == right]
        return list(dict.fromkeys([usual, item, *steps]))

    def _time_steps(self, items: list[Key]) -> None:
        """Record the milliseconds of steps that are made in turn, of those that are wanted.

        Between steps timed one kind after the other the host's clock would drift, by as much as they differ. A kind
        that fails is left out.
        """
        self._tried_steps.update(items)
        turns: dict[Key, Streams] = {}
        warmups: dict[Key, int] = {}
        for item in items:
            with device.failing(self.session, item):
                streams = self.make(item)
                warmups[item] = self.ready(streams)
                turns[item] = streams
        watch, before = Watch(self.session.device), {item: streams.tokens for item, streams in turns.items()}
        values: dict[Key, list[float]] = {item: [] for item in turns}
        watch.begin()
        for _ in timing.rounds(self.scope.repeats, len(turns) * self.scope.step_s):
            for item, streams in turns.items():
                values[item].append(self.timed(streams))
        watch.end()
        for item, streams in turns.items():
            told: Config = {"tokens": streams.tokens - before[item]}
            config = _of_steps(streams, len(values[item]), warmups[item], watch, told)
            if item in self._wanted:
                self.save(item, "ms", values[item], {**config, "steps_in_turn": len(turns)})

    def timed(self, streams: Streams) -> float:
        """Milliseconds of a step, from sound in the host's memory to tokens there."""
        streams.arrive()
        return 1e3 * timing.wall_seconds(streams.step, self.session.device)

    def _part(self, item: Key) -> None:
        """The parts of the same steps; what was timed for one part serves the keys of the others."""
        told = dict(item.parameters)
        if "cache" in told:
            return self.counting.kept_part(item)
        part = told.pop("part")
        if _asked(told) not in self._timed_parts:
            self._time_parts(item, told)
        values, config = self._timed_parts[_asked(told)]
        return self.save(item, "ms", [1e3 * each[part] for each in values], config)

    def _time_parts(self, item: Key, told: dict[str, str]) -> None:
        """Keep the seconds of each part of each step, and what the configuration says of the steps.

        They are made in turn with whole steps, which the parts are held against, and where all emissions are measured
        with those of the others: what drifts meanwhile, as the host's clock, and what grows, as the tokens that NeMo
        turns into text anew at each step, then does so for all of them.
        """
        in_turn = self.scope.every and self.recogniser.weights == "random" and "encoder" not in told
        repeats = min(self.scope.repeats, FEW)
        turns = {how: self.make(item) for how in (EMISSIONS if in_turn else (told.get("emission", USUAL),))}
        usual, watch = (float(self.recogniser.blank), self.recogniser.emission), Watch(self.session.device)
        values: dict[str, list[dict[str, float]]] = {how: [] for how in turns}
        whole: list[float] = []
        try:
            for how, streams in turns.items():
                self._emit(how, usual)
                warmups = self.ready(streams)
            before = {how: streams.tokens for how, streams in turns.items()}
            watch.begin()
            for _ in timing.rounds(repeats, len(turns) * self.scope.step_s):
                for how, streams in turns.items():
                    self._emit(how, usual)
                    values[how].append(self._parts(streams))
                    if how == USUAL:
                        whole.append(self.timed(streams))
            watch.end()
        finally:
            self._emit(USUAL, usual)
        for how, streams in turns.items():
            of_emission: Config = {"tokens": streams.tokens - before[how], "emission": FORCED.get(how, usual[1])}
            asked = (
                {**told, "emission": how} if how != USUAL else {name: told[name] for name in told if name != "emission"}
            )
            of_whole: Config = {"whole_step_ms": statistics.median(whole)} if how == USUAL else {}
            steps = len(values[how]) + (len(whole) if how == USUAL else 0)
            self._timed_parts[_asked(asked)] = (
                values[how],
                {
                    **_of_steps(streams, steps, warmups, watch, of_emission),
                    **of_whole,
                    "device_waited_for": "after each part",
                    "steps_in_turn": len(turns) + bool(whole),
                },
            )

    def _emit(self, how: str, usual: tuple[float, str]) -> None:
        """Emit as usual, never or on each frame. Raises NotImplementedError for real weights but as usual."""
        if how == USUAL:
            return self.recogniser.always(*usual)
        if self.recogniser.weights != "random":
            raise NotImplementedError("real weights emit what they emit")
        return self.recogniser.always(1e4 if how == "none" else -1e4, FORCED[how])

    def _parts(self, streams: Streams) -> dict[str, float]:
        """Seconds of each part of one step, the device waited for after each."""
        made: list[Any] = []
        streams.arrive()

        def timed(work: Callable[[], object]) -> float:
            return timing.wall_seconds(lambda: made.append(work()), self.session.device)

        return {
            "features": timed(streams.hear),
            "encoder": timed(lambda: streams.encode(made[0])),
            "prompt": timed(lambda: streams.prompt(made[1])),
            "rnnt": timed(lambda: streams.decode(made[2])),
        }

    def _held(self, item: Key) -> None:
        if item.quantity == "parameters":
            self.save(item, "param", [self.recogniser.parameters], {})
        else:
            self.save(item, "GiB", [self.recogniser.held_bytes / 2**30], {"features": "fp32"})

    def _cache(self, item: Key) -> None:
        streams = Cached(self.recogniser, nemotron.LOOK_AHEADS[0], 1, self.sound, "package")
        inputs, convolutions, _ = streams.cache
        told: Config = {
            "attention_inputs": "x".join(map(str, inputs.shape)),
            "convolution_inputs": "x".join(map(str, convolutions.shape)),
            "by_shape_mib": self.recogniser.shape.cache_values * inputs.element_size() / 2**20,
        }
        self.save(item, "MiB", [streams.cache_bytes / 2**20], told)

    def _kernels(self, item: Key) -> None:
        streams = self.make(item)
        self.ready(streams)

        def steps() -> None:
            for _ in range(TRACED_STEPS):
                streams.step()

        kernels.trace(steps)  # starting the profiler for the first time takes seconds
        found = [kernels.trace(steps) for _ in range(kernels.TRACES)]
        if min(each.busy_s for each in found) <= 0:
            raise ArithmeticError("the profiler saw no kernels")
        told: Config = {
            "traced_steps": TRACED_STEPS,
            "kernels_per_step": round(found[-1].launched / TRACED_STEPS),
            "kernels": kernels.names(found[-1]),
            **shape_of_step(streams),
        }
        self.save(item, "ms", [1e3 * each.busy_s / TRACED_STEPS for each in found], told)

    def right(self, item: Key) -> int:
        return int(dict(item.parameters)["right"])

    def save(self, item: Key, unit: str, values: list[float], told: Config) -> None:
        heard: Config = {"sound": self.heard}
        self.session.record(item, unit, values, {**self.config, **self.recogniser.config, **heard, **told})


def _kind(item: Key) -> type[Cached]:
    """How streams with a cache step: as a recorded graph, by the package's own step, or call by call."""
    told = dict(item.parameters)
    if told.get("encoder") == "graph":
        return Graphed
    served = item.quantity == "streams" and "decoder" not in told
    return Packaged if served or told.get("program") == "package" else Cached


def _of_steps(streams: Streams, count: int, warmups: int, watch: Watch, told: Config) -> Config:
    """What a configuration says of `count` steps, and how often they emitted a token."""
    seconds = count * streams.limit_s
    rate: Config = {"tokens_per_second": float(told["tokens"]) / seconds} if "tokens" in told else {}
    return {"warmups": warmups, **shape_of_step(streams), **told, **rate, **watch.config}


def _asked(told: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(told.items()))


@contextmanager
def frozen() -> Iterator[None]:
    """Leave out of Python's searches for garbage what is there by now, as a server does once it has loaded."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
