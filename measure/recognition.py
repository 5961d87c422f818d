"""Measures a streaming recogniser key by key: steps and their parts, delays, streams, arithmetic, memory, errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

from measure import capacity, conformer, device, error_rate, kernels, nemotron, recordings, stream, timing, utterance
from measure.capacity import Trial
from measure.card import Watch
from measure.child import classify
from measure.error_rate import Pair
from measure.nemotron import HOP, SAMPLE_RATE, Recogniser
from measure.nemotron_transformers import KeysKept
from measure.results import Key
from measure.session import Config, Session
from measure.stream import Buffered, Cached, Graphed, Streams

if TYPE_CHECKING:
    from torch import Tensor

COUNTER = "torch's FLOP counter, encoder and prompt"

FEW = 30
"""Repeats of what is held against other samples, not against a chunk."""

WARMUPS = 3
"""Steps before the first that is timed, beyond those that fill the caches."""

TRIAL_WARMUPS, SHORT_WATCH = 2, 5
"""Steps by which a number of streams is judged while the largest is sought."""

LONG_WATCH = 130
"""Steps by which the largest is confirmed: so many support a 95th percentile (see `percentile_beyond_count`)."""

FEWEST_WATCHED = 21
"""Steps without which a 95th percentile would lie beyond the last of them."""

HOPELESS = 1.5
"""A warm-up so many times as long as its chunk ends the trial of a number of streams."""

TRACED_STEPS = 8

UTTERANCES, UTTERANCE_S = 3, 6.0
"""Recordings of noise that are streamed and encoded at once, to be compared."""

BATCH = 8
"""Recordings that are recognised at once."""

MEMORY_STREAMS = (16, 64)
"""Numbers of streams between whose peaks of memory the slope is taken."""

REACH_MS = 2.5
"""By how much the last feature of a chunk reaches beyond it: half a window of 25 ms, less the 10 ms of a feature."""


class Scope(Protocol):
    """What of a measurement's scope decides how a key is measured."""

    @property
    def repeats(self) -> int: ...
    @property
    def most_streams(self) -> int: ...
    @property
    def watch_s(self) -> float: ...
    @property
    def step_s(self) -> float: ...


class Bench:
    """Measures keys of one recogniser."""

    def __init__(self, session: Session, recogniser: Recogniser, config: Config, scope: Scope) -> None:
        self.session, self.recogniser, self.config, self.scope = session, recogniser, config, scope
        self._sets: dict[str, recordings.Recordings] = {}
        self._keys_kept: KeysKept | None = None
        self._timed_parts: dict[tuple[tuple[str, str], ...], tuple[list[dict[str, float]], Config]] = {}
        self.sound, self.heard = self._sound()
        self._measures: dict[str, Callable[[Key], None]] = {
            "step_time": self._step,
            "buffered_step_time": self._step,
            "step_part_time": self._part,
            "final_delay": self._delay,
            "chunk_length": self._chunk,
            "loaded_weights": self._held,
            "parameters": self._held,
            "cache_memory": self._cache,
            "step_flops": self._flops,
            "buffered_step_flops": self._flops,
            "stream_difference": self._difference,
            "streams": self._streams,
            "buffered_streams": self._streams,
            "stream_memory": self._memory,
            "step_kernel_time": self._kernels,
            "buffered_step_kernel_time": self._kernels,
            "cer": self._errors,
            "wer": self._errors,
        }

    def measure(self, items: Iterable[Key]) -> None:
        """Record each key, or why it has no sample, and print what it cost."""
        import torch

        with torch.inference_mode():
            if self.recogniser.weights == "random":
                self._calibrate()
            for item in items:
                start = time.perf_counter()
                if "cache" not in dict(item.parameters):
                    self._keys_kept = None
                with device.failing(self.session, item):
                    self._measures[item.quantity](item)
                device.release(self.session.device)
                print(f"{item}: {time.perf_counter() - start:.1f} s", flush=True)

    def _sound(self) -> tuple[Tensor, str]:
        """What streams hear, a minute at least, and what it is: real weights hear the recordings that were named."""
        named = recordings.sources(self.session.options.get("audio", ""))
        if self.recogniser.weights == "random" or not named:
            return stream.noise(), "noise"
        label, whole, need = next(iter(named)), [], stream.NOISE_S * SAMPLE_RATE
        for item in self._recordings(label).items:
            whole.append(recordings.sound(item.path))
            if sum(map(len, whole)) >= need:
                break
        return stream.tape(whole), f"recordings: {label}"

    def _calibrate(self) -> None:
        """By the frames of streams whose caches are full, with the largest chunk: the fewest steps fill them."""
        import torch

        right = nemotron.LOOK_AHEADS[-1]
        streams = Cached(self.recogniser, right, 2, self.sound, "batched")
        frames = []
        for step in range(2 * streams.steps_to_fill):
            streams.arrive()
            made = streams.prompt(streams.encode(streams.hear()))
            frames += [made] if step >= streams.steps_to_fill else []
        rate = nemotron.calibrate(self.recogniser, torch.cat(frames, 2))
        print(f"random weights emit {rate:.1f} tokens a second and stream", flush=True)

    def _make(self, item: Key, streams: int = 1) -> Streams:
        """The streams that a key is about."""
        told = dict(item.parameters)
        right, decoder = int(told["right"]), cast(stream.Decoder, told.get("decoder", "package"))
        if item.quantity.startswith("buffered"):
            shape = self.recogniser.shape
            frames = stream.whole_chunks(shape, right, float(told["window"])) if "window" in told else 0
            return Buffered(self.recogniser, right, streams, self.sound, decoder, frames)
        kind = Graphed if told.get("encoder") == "graph" else Cached
        return kind(self.recogniser, right, streams, self.sound, decoder)

    def _ready(self, streams: Streams, fill: bool = False) -> int:
        """Step until the caches are full, or `fill` them, and a few times more; returns how many steps that took."""
        steps = WARMUPS
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
        streams = self._make(item)
        warmups, watch = self._ready(streams), Watch(self.session.device)
        watch.begin()
        before = streams.tokens
        repeats = min(self.scope.repeats, FEW) if "window" in dict(item.parameters) else self.scope.repeats
        values = [self._timed(streams) for _ in timing.rounds(repeats, self.scope.step_s)]
        watch.end()
        told: Config = {"tokens": streams.tokens - before}
        self._save(item, "ms", values, _of_steps(streams, len(values), warmups, watch, told))

    def _timed(self, streams: Streams) -> float:
        """Milliseconds of a step, from sound in the host's memory to tokens there."""
        streams.arrive()
        return 1e3 * timing.wall_seconds(streams.step, self.session.device)

    @property
    def keys_kept(self) -> KeysKept:
        """The same model in transformers, built when it is first asked for."""
        if self._keys_kept is None:
            self._keys_kept = KeysKept(self.recogniser.shape, self.recogniser.precision, self.session.device)
        return self._keys_kept

    def _kept_part(self, item: Key) -> None:
        """The encoder's part of a step whose cache holds keys and values."""
        kept, told = self.keys_kept, dict(item.parameters)
        kept.look_ahead(int(told["right"]))
        warmups, watch = kept.steps_to_fill + WARMUPS, Watch(self.session.device)
        for _ in range(warmups):
            kept.encode(kept.chunk())
        watch.begin()
        values = []
        for _ in timing.rounds(self.scope.repeats, self.scope.step_s):
            mel = kept.chunk()
            values.append(1e3 * timing.wall_seconds(lambda mel=mel: kept.encode(mel), self.session.device))  # type: ignore[misc]
        watch.end()
        self.session.record(item, "ms", values, {**self.config, **kept.config, "warmups": warmups, **watch.config})

    def _kept_flops(self, item: Key) -> None:
        from torch.utils.flop_counter import FlopCounterMode

        kept, told = self.keys_kept, dict(item.parameters)
        kept.attend("eager")
        kept.look_ahead(int(told["right"]))
        for _ in range(kept.steps_to_fill):
            kept.encode(kept.chunk())
        mel = kept.chunk()
        with FlopCounterMode(display=False) as counter:
            kept.prompt(kept.encode(mel))
        kept.attend("sdpa")
        counted: Config = {"counted_by": COUNTER, "formula": conformer.keys_kept_flops(kept.shape, kept.right)}
        self.session.record(item, "FLOP", [counter.get_total_flops()], {**self.config, **kept.config, **counted})

    def _part(self, item: Key) -> None:
        """The parts of the same steps; what was timed for one part serves the keys of the others."""
        told = dict(item.parameters)
        if "cache" in told:
            return self._kept_part(item)
        part, asked = told.pop("part"), tuple(sorted(told.items()))
        if asked not in self._timed_parts:
            usual = self.recogniser.blank.clone(), self.recogniser.emission
            try:
                if "emission" in told:
                    self._emit(told["emission"])
                self._timed_parts[asked] = self._time_parts(item, FEW if "emission" in told else self.scope.repeats)
            finally:
                self.recogniser.blank.copy_(usual[0])
                self.recogniser.emission = usual[1]
        values, config = self._timed_parts[asked]
        return self._save(item, "ms", [1e3 * each[part] for each in values], config)

    def _time_parts(self, item: Key, repeats: int) -> tuple[list[dict[str, float]], Config]:
        """Seconds of each part of each step, and what the configuration says of the steps."""
        streams = self._make(item)
        warmups, watch = self._ready(streams), Watch(self.session.device)
        watch.begin()
        before = streams.tokens
        values = [self._parts(streams) for _ in timing.rounds(repeats, self.scope.step_s)]
        watch.end()
        told: Config = {"tokens": streams.tokens - before, "emission": self.recogniser.emission}
        return values, {**_of_steps(streams, len(values), warmups, watch, told), "device_waited_for": "after each part"}

    def _emit(self, how: str) -> None:
        if self.recogniser.weights != "random":
            raise NotImplementedError("real weights emit what they emit")
        never = {"none": "forced: no token", "every": "forced: one token on each frame"}
        self.recogniser.always(1e4 if how == "none" else -1e4, never[how])

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

    def _delay(self, item: Key) -> None:
        """Half a chunk, the step, and what the last feature reaches beyond the chunk.

        Speech ends anywhere in a chunk, which then has to fill before its step can begin: half of it on average. While
        steps are shorter than chunks, none waits for the one before.
        """
        streams = self._make(item)
        warmups, watch = self._ready(streams), Watch(self.session.device)
        chunk_ms = 1e3 * streams.limit_s
        watch.begin()
        steps = [self._timed(streams) for _ in timing.rounds(self.scope.repeats, self.scope.step_s)]
        watch.end()
        late = capacity.percentile(steps, capacity.PERCENTILE)
        if late > chunk_ms:
            raise NotImplementedError(f"a step takes {late:.0f} ms, its chunk {chunk_ms:.0f} ms: the delay would grow")
        wait_ms = chunk_ms / 2 + REACH_MS
        told: Config = {"wait_ms": wait_ms, "wait": "half a chunk, the mean; a whole one at most", "reach_ms": REACH_MS}
        values = [wait_ms + step for step in steps]
        self._save(item, "ms", values, _of_steps(streams, len(values), warmups, watch, told))

    def _chunk(self, item: Key) -> None:
        """Feature frames by which NeMo's buffer goes on at each step but the first and the last, in milliseconds."""
        buffer = utterance.load(self.recogniser, self._right(item), self._utterances()[:1])
        heard = utterance.streamed(self.recogniser, buffer)
        first, *steady = heard.advances[:-1]
        told: Config = {
            "first_feature_frames": first,
            "feature_frames": steady[0],
            "cached_feature_frames": int(self.recogniser.model.encoder.streaming_cfg.pre_encode_cache_size[1]),
            "encoder_frames": heard.encoded.shape[2],
            "steps": len(heard.advances),
        }
        self._save(item, "ms", [conformer.FEATURE_MS * advance for advance in steady], told)

    def _utterances(self) -> list[Tensor]:
        return [stream.noise(UTTERANCE_S, seed) for seed in range(1, UTTERANCES + 1)]

    def _held(self, item: Key) -> None:
        if item.quantity == "parameters":
            self._save(item, "param", [self.recogniser.parameters], {})
        else:
            self._save(item, "GiB", [self.recogniser.held_bytes / 2**30], {"features": "fp32"})

    def _cache(self, item: Key) -> None:
        streams = Cached(self.recogniser, nemotron.LOOK_AHEADS[0], 1, self.sound, "package")
        inputs, convolutions, _ = streams.cache
        told: Config = {
            "attention_inputs": "x".join(map(str, inputs.shape)),
            "convolution_inputs": "x".join(map(str, convolutions.shape)),
            "by_shape_mib": self.recogniser.shape.cache_values * inputs.element_size() / 2**20,
        }
        self._save(item, "MiB", [streams.cache_bytes / 2**20], told)

    def _flops(self, item: Key) -> None:
        """Encoder and prompt of one step as torch counts them, and by formula."""
        from torch.utils.flop_counter import FlopCounterMode

        if "cache" in dict(item.parameters):
            return self._kept_flops(item)
        streams, shape = self._make(item), self.recogniser.shape
        mel = streams.hear()
        with FlopCounterMode(display=False) as counter:
            streams.prompt(streams.encode(mel))
        if isinstance(streams, Buffered):
            formula = conformer.window_flops(shape, streams.window_frames, streams.frames)
        else:
            formula = conformer.cached_flops(shape, streams.right)
        told: Config = {
            "counted_by": COUNTER,
            "formula": formula,
            "rnnt_formula": conformer.joint_flops(shape, streams.frames, 0),
            "rnnt_formula_per_token": conformer.joint_flops(shape, 0, 1),
        }
        return self._save(item, "FLOP", [counter.get_total_flops()], {**told, **_shape_of_step(streams)})

    def _difference(self, item: Key) -> None:
        """Streamed against whole, one value an utterance of noise. TF32, which rounds more than fp32, is off."""
        import torch

        told, usual = dict(item.parameters), self.recogniser.precision
        exact, allowed = told.get("chunks") == "exact", torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.recogniser.cast(told["dtype"])
        try:
            buffer = utterance.load(self.recogniser, self._right(item), self._utterances())
            streamed = utterance.streamed(self.recogniser, buffer, exact=exact)
            found = utterance.differences(streamed, utterance.whole(self.recogniser, buffer))
        finally:
            self.recogniser.cast(usual)
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
        self._save(item, "1", [each.relative for each in found], _told_of(found, exact))

    def _streams(self, item: Key) -> None:
        found = capacity.largest(lambda streams, long: self._attempt(item, streams, long), self.scope.most_streams)
        watched = found.best or found.trials[-1]
        told: Config = {
            **_shape_of_step(self._make(item)),
            "streams": found.streams,
            "caches": "random numbers",
            "percentile": capacity.PERCENTILE,
            "observations": len(watched.seconds),
            "percentile_ms": 1e3 * watched.percentile_s,
            "limited_by": found.limited_by,
            "beyond": found.beyond.streams if found.beyond else 0,
            "tried": " ".join(map(_shown, found.trials)),
        }
        self._save(item, "1", [found.streams], told)

    def _attempt(self, item: Key, number: int, long: bool) -> Trial:
        """Time steps of so many streams; a number for which memory does not suffice has none."""
        limit_s = self.recogniser.shape.chunk_ms(self._right(item)) / 1e3
        device.release(self.session.device)
        try:
            streams = self._make(item, number)
            if isinstance(streams, Cached):
                streams.fill()
            last_s = [self._timed(streams) / 1e3 for _ in range(TRIAL_WARMUPS)][-1]
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
        return self.scope.watch_s if plain else max(self.scope.watch_s / 3, FEWEST_WATCHED * limit_s)

    def _watched(self, streams: Streams, long: bool, watch_s: float) -> list[float]:
        """Seconds of steps; when they are watched for long, no longer than until it is clear that they fall behind."""
        count, budget_s = (LONG_WATCH, watch_s) if long else (SHORT_WATCH, self.scope.step_s)
        most_late = count * (1 - capacity.PERCENTILE / 100)
        times: list[float] = []
        for _ in timing.rounds(count, budget_s):
            times.append(self._timed(streams) / 1e3)
            if sum(each > streams.limit_s for each in times) > most_late:
                break
        return times

    def _memory(self, item: Key) -> None:
        """Peak of memory while streams step, by how much it grows from a few streams to more, a stream."""
        import torch

        peaks = []
        for number in MEMORY_STREAMS:
            streams = self._make(item, number)
            self._ready(streams, fill=True)
            torch.cuda.reset_peak_memory_stats()
            streams.step()
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated())
            del streams
            device.release(self.session.device)
        few, many = MEMORY_STREAMS
        told: Config = {"streams_few": few, "streams_many": many, "peak_mib_few": peaks[0] / 2**20}
        self._save(item, "MiB", [(peaks[1] - peaks[0]) / (many - few) / 2**20], told)

    def _kernels(self, item: Key) -> None:
        streams = self._make(item)
        self._ready(streams)

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
            **_shape_of_step(streams),
        }
        self._save(item, "ms", [1e3 * each.busy_s / TRACED_STEPS for each in found], told)

    def _errors(self, item: Key) -> None:
        """Recognise all recordings of a label with one look-ahead, and score them."""
        told = dict(item.parameters)
        if self.recogniser.weights == "random":
            raise NotImplementedError("random weights recognise nothing; pass the real ones with --weights")
        items = self._recordings(told["audio"]).items
        texts = self._texts(items, self._right(item), whole=told.get("input") == "whole")
        pairs = [Pair(each.text, text) for each, text in zip(items, texts, strict=True)]
        if item.quantity == "wer":
            errors = [error_rate.words(pair) for pair in pairs]
        else:
            errors = [error_rate.characters(pair, spaces=told.get("spaces") != "without") for pair in pairs]
        score = error_rate.score(pairs, errors)
        for place in score.empty:
            print(f"{item}: nothing recognised in {items[place - 1].path.name}", flush=True)
        fed = "whole" if told.get("input") == "whole" else "chunks from NeMo's buffer"
        self._save(item, "%", [score.rate], {"recordings": len(items), **score.config, "fed": fed})

    def _recordings(self, label: str) -> recordings.Recordings:
        if label not in self._sets:
            options = self.session.options
            place = recordings.sources(options.get("audio", ""))[label]
            most = int(options.get("recordings", "0"))
            self._sets[label] = recordings.find(label, place, self.recogniser.language, most)
        return self._sets[label]

    def _texts(self, items: tuple[recordings.Recording, ...], right: int, whole: bool) -> list[str]:
        found: list[str] = []
        for start in range(0, len(items), BATCH):
            buffer = utterance.load(self.recogniser, right, recordings.sounds(items[start : start + BATCH]))
            heard = utterance.whole(self.recogniser, buffer) if whole else utterance.streamed(self.recogniser, buffer)
            found += heard.texts
        return found

    def _right(self, item: Key) -> int:
        return int(dict(item.parameters)["right"])

    def _save(self, item: Key, unit: str, values: list[float], told: Config) -> None:
        heard: Config = {"sound": self.heard}
        self.session.record(item, unit, values, {**self.config, **self.recogniser.config, **heard, **told})


def _of_steps(streams: Streams, count: int, warmups: int, watch: Watch, told: Config) -> Config:
    """What a configuration says of `count` steps, and how often they emitted a token."""
    seconds = count * streams.limit_s
    rate: Config = {"tokens_per_second": float(told["tokens"]) / seconds} if "tokens" in told else {}
    return {"warmups": warmups, **_shape_of_step(streams), **told, **rate, **watch.config}


def _shape_of_step(streams: Streams) -> Config:
    """What goes into a step and comes out of it."""
    told: Config = {
        "streams": streams.streams,
        "right_frames": streams.right,
        "chunk_ms": 1e3 * streams.limit_s,
        "new_feature_frames": streams.new,
        "given_feature_frames": streams.kept,
        "decoded_frames": streams.frames,
        "decoder_called": streams.decoder,
        "given_samples": (streams.new + 2 * stream.AHEAD) * HOP,
    }
    if isinstance(streams, Cached):
        kept = "recorded CUDA graph" if isinstance(streams, Graphed) else "called as it is"
        return {**told, "cache": "inputs of the layers", "encoder": kept}
    frames = getattr(streams, "window_frames", 0)
    return {**told, "cache": "none", "window_frames": frames, "window_s": frames * conformer.FRAME_MS / 1e3}


def _told_of(found: list[utterance.Difference], exact: bool) -> Config:
    return {
        "utterances": len(found),
        "utterance_s": UTTERANCE_S,
        "relative_to": "root mean square of the whole's numbers; the largest difference of any",
        "chunks": "exact" if exact else "from NeMo's buffer",
        "first_frame_off": max(each.first_frame for each in found),
        "streamed_frames": found[0].frames[0],
        "whole_frames": found[0].frames[1],
        "same_tokens": sum(each.same_tokens for each in found),
    }


def _shown(trial: Trial) -> str:
    if not trial.seconds:
        return f"{trial.streams}:memory"
    return f"{trial.streams}:{1e3 * trial.percentile_s:.1f}ms/{len(trial.seconds)}"


def _too_many(error: Exception) -> bool:
    """Whether so many streams do not fit: the device's memory, or the 32-bit indices of a kernel."""
    text = str(error)
    return classify(error)[0] == "out_of_memory" or "32BitIndex" in text or "too large" in text.lower()
