"""What is measured of VoxCPM2 in its own package alone: stages, memory, streaming, kernels, sentences."""

from __future__ import annotations

import functools
import statistics
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from measure import card, kernels, timing
from measure.keys import Key
from measure.results import Config
from measure.session import Session
from measure.synthesis import audio_file, speaking
from measure.synthesis.sentences import sentences
from measure.synthesis.speaking import PART_S, STEPS, TEXT_TOKENS, Ask, Bench, Lengths, Texts
from measure.synthesis.stages import OTHER
from measure.synthesis.voxcpm2 import VOICE_STAGE, VoxCPM2

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

PATCH_PARTS = ("language_model", "diffusion", "local_encoder", "stop_check", "vae", OTHER)
"""What a patch is made of, as stages. The VAE decodes a whole utterance at its end: its part is what a patch adds."""

FIXED_PARTS = {**{stage: stage for stage in ("tokenising", "prefill", "cache_clearing", OTHER)}, "last_vae": "vae"}
"""Parts of what is done once an utterance, and the stage of each."""

STAGED = (1, 41)
"""Patches of the utterances that are taken apart."""

STREAMS, STREAMED_PATCHES = 5, 62
"""Streams whose chunks are timed, of ten seconds each."""

VOICE_S, VOICE_RATE = 5.0, 48_000
"""The recording whose voice is taken: its length and sample rate. It is noise, whose work is that of any other."""

LOADER = "librosa"
"""What the package loads a recording with."""

SENTENCE_REPEATS = 3


class Staged(NamedTuple):
    """Seconds by stage of utterances of two lengths, one after another by turns."""

    shorts: list[dict[str, float]]
    longs: list[dict[str, float]]
    switches: int
    """How often the device was waited for in a longer one."""

    def patch_ms(self, stage: str) -> list[float]:
        """Milliseconds that a patch adds to a stage, one value a longer utterance."""
        short_s = statistics.median(one.get(stage, 0.0) for one in self.shorts)
        return [1e3 * (one.get(stage, 0.0) - short_s) / (STAGED[1] - STAGED[0]) for one in self.longs]

    def fixed_ms(self, stage: str) -> list[float]:
        """Milliseconds of a stage beyond what its patches add, one value a shorter utterance."""
        patches_ms = STAGED[0] * statistics.median(self.patch_ms(stage))
        return [1e3 * one.get(stage, 0.0) - patches_ms for one in self.shorts]

    @property
    def patch_whole_ms(self) -> float:
        """What a patch adds to all stages together."""
        return sum(statistics.median(self.patch_ms(stage)) for stage in self.longs[0])


class VoxCPMBench(Bench):
    """Measures on the package. `free_bytes` is what the card had free before anything was loaded, if it told."""

    def __init__(
        self,
        session: Session,
        engine: VoxCPM2,
        config: Config,
        texts: Texts,
        lengths: Lengths,
        free_bytes: int | None = None,
    ) -> None:
        super().__init__(session, engine, config, texts, lengths)
        self.package, self._free_bytes = engine, free_bytes
        self._loaded_bytes = engine.allocated_bytes

    def of(self, lengths: Lengths) -> VoxCPMBench:
        """The same with other lengths."""
        return VoxCPMBench(self.session, self.package, self.config, self.texts, lengths)

    def warm(self) -> None:
        """Let the compiler compile, graphs be captured and kernels chosen."""
        self.package.seed(0)
        speaking.whole_s(self.package, self.ask(self.lengths.long))
        speaking.arrivals_s(self.package, self.ask(self.lengths.short))

    def measure_one(self, item: Key) -> None:
        told = dict(item.parameters)
        self.package.seed(0)
        special: dict[str, Callable[[], None]] = {
            "parameters": lambda: self._parameters(item),
            "patch_part_time": lambda: self._patch_part(item, told["part"], streamed="mode" in told),
            "fixed_part_time": lambda: self._fixed_part(item, told["part"]),
            "memory": lambda: self._memory(item, told.get("of", "")),
            "chunk_gap": lambda: self._gaps(item),
            "underrun": lambda: self._underruns(item),
            "patch_kernel_time": lambda: self._kernels(item),
        }
        if "sentence" in told:
            self._sentence(item, told["language"], int(told["sentence"]))
        elif item.quantity in special:
            special[item.quantity]()
        else:
            super().measure_one(item)

    def _parameters(self, item: Key) -> None:
        own, vae = self.package.parameters
        self.record(item, "param", [own], {"vae_parameters": vae})

    # Stages

    def _patch_part(self, item: Key, part: str, *, streamed: bool) -> None:
        staged = self._streamed_stages if streamed else self._whole_stages
        told: Config = {"mode": "streaming" if streamed else "whole", "patch_all_parts_ms": staged.patch_whole_ms}
        self._record_stage(item, staged.patch_ms(part), staged, told)

    def _fixed_part(self, item: Key, part: str) -> None:
        if part == VOICE_STAGE:
            return self._voice(item)
        staged = self._whole_stages
        self._record_stage(item, staged.fixed_ms(FIXED_PARTS[part]), staged, {})

    def _record_stage(self, item: Key, values: list[float], staged: Staged, told: Config) -> None:
        """Raises ArithmeticError where a difference came out as no time at all."""
        if min(values) <= 0:
            raise ArithmeticError("it takes no longer than the spread of what it was told from")
        told = {"patches_short": STAGED[0], "synchronised": staged.switches, **told}
        self.record(item, "ms", values, told, self.ask(STAGED[1]))

    @functools.cached_property
    def _whole_stages(self) -> Staged:
        return self._stages(streamed=False)

    @functools.cached_property
    def _streamed_stages(self) -> Staged:
        return self._stages(streamed=True)

    def _stages(self, *, streamed: bool) -> Staged:
        short, long = (self.ask(patches) for patches in STAGED)
        self.package.stages_s(short, streamed=streamed)
        staged = Staged([], [], 0)
        for _ in timing.rounds(self.lengths.repeats, PART_S):
            staged.shorts.append(self.package.stages_s(short, streamed=streamed)[0])
            found, switches = self.package.stages_s(long, streamed=streamed)
            staged.longs.append(found)
        return staged._replace(switches=switches)

    def _voice(self, item: Key) -> None:
        """What an utterance takes more with a reference voice: a recording to load and encode, and a longer prefill."""
        loader = _loader()
        with tempfile.TemporaryDirectory() as folder:
            audio_file.write_noise(Path(folder) / "voice.wav", VOICE_S, VOICE_RATE)
            ask = self.ask(STAGED[0])._replace(voice=Path(folder) / "voice.wav")
            self.package.stages_s(ask, streamed=False)
            with_voice = [
                self.package.stages_s(ask, streamed=False)[0] for _ in timing.rounds(self.lengths.repeats, PART_S)
            ]
        without = self._whole_stages.shorts
        usual_s = statistics.median(sum(one.values()) for one in without)
        values = [1e3 * (sum(one.values()) - usual_s) for one in with_voice]
        longer_s = _median(with_voice, "prefill") - _median(without, "prefill")
        told: Config = {
            "voice_s": VOICE_S,
            "voice_rate": VOICE_RATE,
            "loader": loader,
            "loading_and_encoding_ms": 1e3 * _median(with_voice, VOICE_STAGE),
            "longer_prefill_ms": 1e3 * longer_s,
        }
        self._record_stage(item, values, self._whole_stages, told)

    # Streaming

    @functools.cached_property
    def _arrivals(self) -> list[list[float]]:
        """Of each stream, the seconds after which its chunks were there."""
        ask = self.ask(STREAMED_PATCHES)
        speaking.arrivals_s(self.package, ask)
        return [speaking.arrivals_s(self.package, ask) for _ in timing.rounds(STREAMS, PART_S)]

    def _gaps(self, item: Key) -> None:
        values = [1e3 * gap for arrivals in self._arrivals for gap in speaking.gaps_s(arrivals)]
        told: Config = {"streams": len(self._arrivals), "longest_ms": max(values)}
        self.record(item, "ms", values, told, self.ask(STREAMED_PATCHES))

    def _underruns(self, item: Key) -> None:
        patch_audio_s = self.package.patch_samples / self.package.sample_rate
        values = [1e3 * speaking.underrun_s(arrivals, patch_audio_s) for arrivals in self._arrivals]
        self.record(item, "ms", values, {}, self.ask(STREAMED_PATCHES))

    # Memory and kernels

    def _memory(self, item: Key, of: str) -> None:
        """What the process has of the card in all, what weights and caches hold, or the most held while speaking."""
        if self.session.device != "cuda":
            raise NotImplementedError("memory is told by NVIDIA cards")
        told: Config = {"cache_mib": self.package.cache_bytes / 2**20}
        if of == "weights":
            return self.record(item, "MiB", [self._loaded_bytes / 2**20], told)
        peak = self._peak_bytes
        if of == "peak":
            return self.record(item, "MiB", [peak / 2**20], told)
        left = self.card.free_bytes()
        if left is None or self._free_bytes is None:
            raise NotImplementedError("the card does not tell how much of its memory is free")
        self.record(item, "MiB", [(self._free_bytes - left) / 2**20], told)

    @functools.cached_property
    def _peak_bytes(self) -> int:
        import torch

        torch.cuda.reset_peak_memory_stats()
        speaking.whole_s(self.package, self.ask(max(self.lengths.patches)))
        speaking.arrivals_s(self.package, self.ask(max(self.lengths.patches)))
        return int(torch.cuda.max_memory_allocated())

    def _kernels(self, item: Key) -> None:
        if self.session.device != "cuda":
            raise NotImplementedError("kernels are traced on NVIDIA cards")
        values, told = kernels.step_times(self._traced, TEXT_TOKENS, self.lengths.traced, self.lengths.traces)
        self.record(item, "ms", values, told, self.ask(1 + self.lengths.traced))

    def _traced(self, text_tokens: int, patches: int) -> kernels.Trace:
        ask = self.ask(patches, tokens=text_tokens)
        return kernels.trace(lambda: speaking.whole_s(self.package, ask))

    # Sentences

    def _sentence(self, item: Key, language: str, place: int) -> None:
        """A sentence as long as the model makes it, from the same seed each time."""
        ask, before = Ask(sentences()[language][place - 1], None, STEPS), self.card.read()
        made = [self._spoken(ask) for _ in range(1 + SENTENCE_REPEATS)]
        lengths = {speaking.patches_of(self.package, sound) for _, sound in made}
        if len(lengths) > 1:
            raise ArithmeticError(f"from one seed came utterances of {', '.join(map(str, sorted(lengths)))} patches")
        told: Config = {"patches": lengths.pop(), **card.told(before, self.card.read())}
        if folder := self.session.options.get("audio"):
            path = Path(folder) / f"{item.subject}-{language}-{place}.wav"
            audio_file.write(path, made[0][1], self.package.sample_rate)
        self.record(item, "s", [seconds for seconds, _ in made[1:]], told, ask)

    def _spoken(self, ask: Ask) -> tuple[float, NDArray[float32]]:
        self.package.seed(0)
        return speaking.timed(self.package, ask)


def _median(found: list[dict[str, float]], stage: str) -> float:
    return statistics.median(one.get(stage, 0.0) for one in found)


def _loader() -> str:
    """What loads a recording, with its version. Raises ModuleNotFoundError where something else stands in for it."""
    try:
        return f"{LOADER} {metadata.version(LOADER)}"
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(f"a recording is loaded by {LOADER}, which is not installed") from None
