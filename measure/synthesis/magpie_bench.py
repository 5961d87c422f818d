"""Measures the keys of Magpie on loaded models; what several keys are told from is made once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from measure import device, kernels, timing
from measure.card import Watch
from measure.keys import Key
from measure.results import Config
from measure.session import Session
from measure.synthesis import audio_file, magpie_apart, magpie_model, magpie_text, sentences
from measure.synthesis.magpie_apart import WINDOW, Apart
from measure.synthesis.magpie_speech import Made, Speaker, Spoken, Way

PART_S = 30.0
"""What the repeats of one key may take before they are cut to the fewest."""

SLOW_S = 120.0
"""An utterance that would take longer is not made."""

PROBED_STEPS = 2
"""Of a first utterance, which tells how long the others will take."""

FEWEST_FRAMES = 4
"""Of any utterance: below this the codec decodes nothing properly, as the package says."""

TRACES = 5
"""Repeats of a trace."""


class Scope(NamedTuple):
    """How much is measured."""

    stacks: tuple[int, ...]
    """Frames a step, the published number first."""
    frames: int
    """Of the utterance that all settings are compared by."""
    mixed: tuple[int, ...] = ()
    """Frames of the utterances that the real-time factor as such is told from; `frames` is the most."""
    lengths: tuple[int, ...] = ()
    """Frames of utterances by which length is compared; the longest tells how a step grows."""
    depths: tuple[int, ...] = ()
    """Frames that are there already when a step of the longest utterance is looked at."""
    requests: tuple[int, ...] = ()
    """Utterances at once."""
    repeats: int = 3
    apart: bool = False
    """Whether the first two stacks are taken apart, and changed in cache and local transformer."""
    traced: bool = False
    """Whether kernels and memory are looked at, which NVIDIA's cards tell of."""


class TooSlowError(Exception):
    """An utterance that nobody waits for."""


class Repeats(NamedTuple):
    """Calls of one way, warmed up, and what a configuration says of them."""

    made: list[Made]
    config: Config


class Bench:
    """The models of a session, and what was made with them so far."""

    def __init__(self, session: Session, config: Config, scope: Scope, published: int) -> None:
        self.session, self.config, self.scope, self.published = session, config, scope, published
        self._speakers: dict[int, Speaker] = {}
        self._taken_bytes: dict[int, int] = {}
        """Of the device, when the model of a stack was loaded."""
        self._repeats: dict[Way, Repeats] = {}
        self._apart: dict[int, tuple[list[Apart], Config]] = {}

    def measure(self, item: Key) -> None:
        """Record the key. Raises whatever stands in the way, TooSlowError among it."""
        told = dict(item.parameters)
        if item.quantity == "tokenizers":
            self._tokenizers(item, told["language"])
        elif item.quantity == "words_kept":
            self._words_kept(item, told["language"])
        elif item.quantity in ("frame_rate", "parameters", "loaded_weights"):
            self._held(item)
        elif item.quantity == "memory":
            self._memory(item)
        elif "part" in told:
            self._part(item, told["part"])
        elif item.quantity == "step_kernel_time":
            self._kernels(item)
        elif item.quantity == "step_time":
            self._step(item)
        elif "language" in told:
            self._language(item, told["language"], told.get("tokenizer") == "own")
        elif told:
            self._factor(item)
        else:
            self._mixed(item)

    def way(self, item: Key) -> Way:
        """How the utterances of a key are made."""
        told = dict(item.parameters)
        longest = max(self.scope.lengths, default=self.scope.frames)
        alike = self.scope.frames if "frames" not in told else int(told["frames"])
        return Way(
            stack=int(told.get("stack", self.published)),
            frames=longest if item.quantity == "step_time" and "frames" in told else alike,
            local_transformer=told.get("local_transformer") != "off",
            cache=told.get("cache") == "on",
            requests=int(told.get("requests", 1)),
        )

    def speaker(self, stack: int) -> Speaker:
        """The model of this stack. Raises NotEnoughMemoryError where the device has no room for it."""
        if stack not in self._speakers:
            free = device.free_bytes(self.session.machine)
            if free < magpie_model.LOADED_BYTES:
                needed = magpie_model.LOADED_BYTES / 2**30
                raise device.NotEnoughMemoryError(f"Magpie needs {needed:.1f} GiB, {free / 2**30:.1f} are free")
            self._taken_bytes[stack] = device.allocated_bytes(self.session.device)
            start = time.perf_counter()
            self._speakers[stack] = self._load(stack)
            print(f"loaded in {time.perf_counter() - start:.1f} s: {stack} frames a step", flush=True)
        return self._speakers[stack]

    def _load(self, stack: int) -> Speaker:
        where = self.session.device
        if self._checkpoint is None:
            model = magpie_model.random(stack, where)
            return Speaker(model, where, magpie_text.random_text(model))
        model = magpie_model.real(self._checkpoint, where)
        return Speaker(model, where, magpie_text.english_text(model))

    @cached_property
    def _checkpoint(self) -> magpie_model.Checkpoint | None:
        source = self.session.options.get("weights")
        return None if source is None else magpie_model.locate(source)

    @cached_property
    def _stored(self) -> dict[str, Any] | None:
        return None if self._checkpoint is None else magpie_model.stored_config(self._checkpoint.model)

    # What the model is

    def _tokenizers(self, item: Key, language: str) -> None:
        names = magpie_text.package_tokenizers().get(language, ())
        self._record(item, "1", [len(names)], magpie_text.told(language, self._stored))

    def _words_kept(self, item: Key, language: str) -> None:
        """What the tokenizer leaves of a language that is taken for English, a value a sentence."""
        name = magpie_text.WITHOUT_ONE
        if self._checkpoint is None:
            tokenizer = magpie_text.plain_english()
        else:
            tokenizer = self.speaker(self.published).model.tokenizer.tokenizers[name]
        kept = [magpie_text.kept_percent(tokenizer, text) for text in sentences.sentences()[language]]
        dictionary = "one word of every letter" if self._checkpoint is None else "the checkpoint's"
        self._record(item, "%", kept, {"tokenizer": name, "class": type(tokenizer).__name__, "dictionary": dictionary})

    def _held(self, item: Key) -> None:
        speaker = self.speaker(self.published)
        counts = magpie_model.count(speaker.model)
        if item.quantity == "frame_rate":
            self._record(item, "step/s", [speaker.frame_rate], {**magpie_model.codec_told(speaker.model)})
        elif item.quantity == "parameters":
            parts = {f"{name}_parameters": number for name, number in counts.parts.items()}
            stored = {"stored_numbers": counts.stored, "mask_numbers": counts.masks}
            self._record(
                item, "param", [counts.parameters], {**parts, "codec_parameters": counts.codec_parameters, **stored}
            )
        else:
            sizes = {"model_gib": counts.model_bytes / 2**30, "codec_gib": counts.codec_bytes / 2**30}
            self._record(item, "GiB", [sum(sizes.values())], {**sizes, "masks_gib": counts.mask_bytes / 2**30})

    def _memory(self, item: Key) -> None:
        """The most that torch's allocator gave out for this model and an utterance; no other model is loaded yet."""
        import torch

        way = self.way(item)
        speaker = self.speaker(way.stack)
        speaker.speak(way)
        resident = device.allocated_bytes("cuda") - self._taken_bytes[way.stack]
        torch.cuda.reset_peak_memory_stats()
        speaker.speak(way)
        peak = torch.cuda.max_memory_allocated() - self._taken_bytes[way.stack]
        told = {"resident_mib": resident / 2**20, "reserved_mib": torch.cuda.memory_reserved() / 2**20}
        self._record(item, "MiB", [peak / 2**20], {**self._told(way), **told, "warmups": 1})

    # Utterances of a forced length

    def _factor(self, item: Key) -> None:
        repeats = self._made(self.way(item))
        self._record(item, "1", [made.factor for made in repeats.made], repeats.config)

    def _step(self, item: Key) -> None:
        """A step on average over the utterance, or the median of those that begin with so many frames there."""
        repeats, told = self._made(self.way(item)), dict(item.parameters)
        if "frames" not in told:
            return self._record(item, "ms", [made.step_ms for made in repeats.made], repeats.config)
        first = int(told["frames"]) // self.way(item).stack
        values = [statistics.median(made.steps_ms()[first : first + WINDOW]) for made in repeats.made]
        self._record(item, "ms", values, {**repeats.config, "first_step": first, "steps": WINDOW})

    def _made(self, way: Way) -> Repeats:
        """Warm up at full length (the device prepares some things once a length), then repeat."""
        if way not in self._repeats:
            start, watch = time.perf_counter(), Watch(self.session.device)
            speaker = self.speaker(way.stack)
            self._refuse_slow(speaker, way)
            watch.begin()
            first = speaker.speak(way)
            made = [speaker.speak(way) for _ in timing.rounds(self.scope.repeats, PART_S)]
            watch.end()
            told = {"warmups": 1, "warmup_s": first.seconds, "cost_s": round(time.perf_counter() - start, 2)}
            self._repeats[way] = Repeats(made, {**self._told(way), **told, **watch.config})
        return self._repeats[way]

    def _refuse_slow(self, speaker: Speaker, way: Way) -> None:
        short = way._replace(frames=max(PROBED_STEPS * way.stack, FEWEST_FRAMES))
        speaker.speak(short)  # the very first call starts the device's libraries as well
        probe = speaker.speak(short)
        needed = probe.seconds * way.frames / probe.frames
        if needed > SLOW_S:
            raise TooSlowError(f"an utterance of {way.frames} frames would take about {needed:.0f} s")

    def _mixed(self, item: Key) -> None:
        """Utterances as long as sentences are, each once after a warm-up of its own; with real weights, sentences."""
        if self._checkpoint is not None:
            return self._sentences(item)
        watch, speaker = Watch(self.session.device), self.speaker(self.published)
        ways = [Way(self.published, frames) for frames in self.scope.mixed]
        self._refuse_slow(speaker, max(ways))
        watch.begin()
        made = [(speaker.speak(way), speaker.speak(way))[1] for way in ways]
        watch.end()
        told = {
            **self._told(ways[0]),
            "frames": " ".join(str(one.frames) for one in made),
            "produced_frames": sum(one.frames for one in made),
            "steps": " ".join(str(len(one.starts)) for one in made),
            "sound_s": " ".join(f"{one.sound_s:.2f}" for one in made),
            "text_tokens": " ".join(str(speaker.text_tokens(way.frames)) for way in ways),
            "warmups": 1,
        }
        self._record(item, "1", [one.factor for one in made], {**told, **watch.config})

    # Taken apart

    def _part(self, item: Key, name: str) -> None:
        calls, told = self._taken_apart(self.way(item))
        of_step = item.quantity == "step_part_time"
        self._record(item, "ms", [(call.step_ms if of_step else call.fixed_ms)[name] for call in calls], told)

    def _taken_apart(self, way: Way) -> tuple[list[Apart], Config]:
        """The same utterances with a stopwatch on their parts, which waits for the device at both ends of each."""
        if way.stack not in self._apart:
            plain, speaker = self._made(way), self.speaker(way.stack)
            rounds = timing.rounds(self.scope.repeats, PART_S)
            calls = list(magpie_apart.taken_apart(speaker, way, rounds))
            told = {
                "step_ms_with_stopwatch": statistics.median(call.made.step_ms for call in calls),
                "step_ms_without": statistics.median(made.step_ms for made in plain.made),
            }
            self._apart[way.stack] = calls, {**plain.config, **told}
        return self._apart[way.stack]

    def _kernels(self, item: Key) -> None:
        """Of steps in the middle of the utterance: milliseconds of each in which the device works, a value a trace."""
        if self.session.device != "cuda":
            raise NotImplementedError("kernels are traced on NVIDIA cards")
        way = self.way(item)
        plain, speaker = self._made(way), self.speaker(way.stack)
        first = way.frames // way.stack // 2
        magpie_apart.trace(speaker, way, first)  # the profiler's first start takes seconds
        traces = [magpie_apart.trace(speaker, way, first) for _ in range(TRACES)]
        values = [1e3 * one.busy_s / WINDOW for one in traces]
        if min(values) <= 0:
            raise ArithmeticError("the profiler saw no kernels")
        untraced = statistics.median(statistics.median(one.steps_ms()[first : first + WINDOW]) for one in plain.made)
        told: Config = {
            "traced_steps": WINDOW,
            "kernels_per_step": round(statistics.median(one.launched for one in traces) / WINDOW),
            "kernels": kernels.names(traces[-1]),
            "step_ms_untraced": untraced,
        }
        for kind in (*kernels.KINDS, "other"):
            told[f"{kind}_ms"] = statistics.median(1e3 * one.kind_s(kind) / WINDOW for one in traces)
        self._record(item, "ms", values, {**self._told(way), **told, "warmups": 1})

    # Real text

    def _language(self, item: Key, language: str, own: bool) -> None:
        """Sentences of one language, to the end that the model gives them; kept where `audio` says."""
        name = magpie_text.own_tokenizers(self._stored or {})[language] if own else ""
        speaker = self.speaker(self.published)
        texts = sentences.sentences()[language]
        speaker.spoken(texts[0], language, name)
        spoken = [speaker.spoken(text, language, name) for text in texts]
        for number, one in enumerate(spoken, 1):
            self._keep(f"{language}-{one.tokenizer}-{number}.wav", one)
        told = magpie_text.told(language, self._stored)
        self._record_spoken(item, spoken, {**told, "characters": " ".join(str(len(text)) for text in texts)})

    def _sentences(self, item: Key) -> None:
        """A sentence of each language for which NeMo finds a tokenizer in the checkpoint."""
        speaker = self.speaker(self.published)
        available = list(speaker.model.tokenizer.tokenizers)
        texts = {name: listed[0] for name, listed in sentences.sentences().items()}
        found = [name for name in texts if magpie_text.reached(name, available)]
        speaker.spoken(texts[found[0]], found[0])
        spoken = [speaker.spoken(texts[name], name) for name in found]
        self._record_spoken(item, spoken, {"languages": " ".join(found)})

    def _keep(self, name: str, spoken: Spoken) -> None:
        if "audio" in self.session.options:
            rate = int(self.speaker(self.published).model.output_sample_rate)
            audio_file.write(Path(self.session.options["audio"]) / name, spoken.samples, rate)

    def _record_spoken(self, item: Key, spoken: Sequence[Spoken], told: Config) -> None:
        lengths: Config = {
            "tokenizer": spoken[0].tokenizer if len({one.tokenizer for one in spoken}) == 1 else "of each language",
            "text_tokens": " ".join(str(one.text_tokens) for one in spoken),
            "sound_s": " ".join(f"{one.sound_s:.2f}" for one in spoken),
            "end": "the model's own",
            "warmups": 1,
        }
        self._record(
            item, "1", [one.seconds / one.sound_s for one in spoken], {**self._model_told(), **lengths, **told}
        )

    # Recording

    def _told(self, way: Way) -> Config:
        """What a configuration says of utterances; what was produced is what was asked for, or an error was raised."""
        speaker = self.speaker(way.stack)
        return {
            **self._model_told(),
            "stack": way.stack,
            "local_transformer": way.local_transformer,
            "cache": way.cache,
            "requests": way.requests,
            "frames": way.frames,
            "produced_frames": way.frames * way.requests,
            "steps": way.frames // way.stack,
            "sound_s": way.frames / speaker.frame_rate,
            "text_tokens": speaker.text_tokens(way.frames),
            "end": "forced",
        }

    def _model_told(self) -> Config:
        return magpie_model.told(self.speaker(self.published).model)

    def _record(self, item: Key, unit: str, values: Sequence[float], told: Config) -> None:
        self.session.record(item, unit, values, {**self.config, **told})
