"""Facts about speech synthesis: time as a number of steps, for VoxCPM2 and Magpie."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from measure.results import key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.facts.table import Evidence
from templates.quantity import Kind, Quantity, constant

LATENTS_PER_SECOND = constant(25, "step/s", "latents_per_second", "arXiv 2606.06928, section 3.1", Kind.CITED)
LATENTS_PER_PATCH = constant(4, "1", "latents_per_patch", "arXiv 2606.06928, section 3.1", Kind.CITED)
PATCH = constant(1, "step", "patch")
ONE_CALL = constant(1, "1", "skipped_call", "voxcpm 2.0.3: the solver's first step does not call the network")


class Synthesis(Group):
    """What every synthesis measurement tells: real-time factor, memory, parameters."""

    measurement = ""
    subject = ""

    def __init__(self, samples: Samples) -> None:
        super().__init__(f"{samples.run_id}.{self.measurement.removeprefix('tts_')}")
        self.samples = samples

    def get(self, quantity: str, spelled: str) -> Quantity:
        return self.samples.get(key(self.measurement, quantity, self.subject), spelled)

    @fact("1")
    def real_time_factor(self) -> Quantity:
        return self.get("real_time_factor", "1")

    def end(self, quantity: str, spelled: str, end: str) -> Quantity:
        """One end of a range, where only a range was published; else the end of the spread of the figure itself."""
        whole = self.get(quantity, spelled)
        if not whole.measured:
            return self.samples.get(key(self.measurement, quantity, self.subject, end=end), spelled)
        figure = whole.low if end == "low" else whole.high
        return replace(whole, value=figure, low=figure, high=figure)

    @fact("1")
    def factor_low(self) -> Quantity:
        return self.end("real_time_factor", "1", "low")

    @fact("1")
    def factor_high(self) -> Quantity:
        return self.end("real_time_factor", "1", "high")

    @fact("MiB")
    def memory_low(self) -> Quantity:
        return self.end("memory", "MiB", "low")

    @fact("MiB")
    def memory_high(self) -> Quantity:
        return self.end("memory", "MiB", "high")

    @fact("param", significant=3)
    def parameters(self) -> Quantity:
        return self.get("parameters", "param")


TIME_STEPS = (10, 8, 6, 4, 2)
"""Diffusion time steps that the time of a patch is measured for."""

STACKS = (1, 2, 4)
"""Frame stackings of Magpie that its time is measured for."""


PATCH_PARTS = ("language_model", "diffusion", "local_encoder", "stop_check", "vae")
"""What a patch is made of, as the package runs it."""

FIXED_PARTS = ("tokenising", "prefill", "cache_clearing", "last_vae", "reference_voice")
"""What is done once an utterance."""


class Part(Group):
    """One part of a patch, or of the fixed time."""

    heading = "part"

    def __init__(self, voxcpm: VoxCPM, quantity: str, name: str) -> None:
        super().__init__(f"{voxcpm.path}.{quantity}.{name}", part=name)
        self.voxcpm, self.quantity, self.name = voxcpm, quantity, name

    @fact("ms")
    def part_time(self) -> Quantity:
        wanted = key(self.voxcpm.measurement, self.quantity, self.voxcpm.subject, part=self.name)
        return self.voxcpm.samples.get(wanted, "ms")


class TimeSteps(Group):
    """VoxCPM2 with some number of diffusion time steps a patch."""

    heading = "time_steps"

    def __init__(self, voxcpm: VoxCPM, steps: int) -> None:
        super().__init__(f"{voxcpm.path}.steps{steps}", n=steps)
        self.voxcpm, self.steps = voxcpm, steps

    @property
    def count(self) -> Quantity:
        return constant(self.steps, "1", "inference_timesteps")

    @fact("1", decimals=0)
    def calls(self) -> Quantity:
        """Calls of the network: the solver's first step makes none."""
        return self.count - ONE_CALL

    @fact("ms")
    def patch_time(self) -> Quantity:
        wanted = key(self.voxcpm.measurement, "patch_time", self.voxcpm.subject, steps=self.steps)
        return self.voxcpm.samples.get(wanted, "ms")

    @fact("times", significant=3)
    def gain(self) -> Quantity:
        """How much faster a patch is than with the most time steps."""
        return self.voxcpm.steps[0].patch_time / self.patch_time

    @fact("%", decimals=0)
    def gain_share(self) -> Quantity:
        """The gain over the one that fewer calls of the network alone would give."""
        return self.gain / (self.voxcpm.steps[0].calls / self.calls)


class VoxCPM(Synthesis):
    """VoxCPM2: patches of four latents, each made by a diffusion loop."""

    heading = "voxcpm"
    measurement, subject = "tts_voxcpm", "voxcpm2-bf16"

    def __init__(self, samples: Samples, evidence: Evidence) -> None:
        super().__init__(samples)
        self.evidence = evidence
        self.steps = [TimeSteps(self, steps) for steps in TIME_STEPS]
        self.patch_parts = [Part(self, "patch_part_time", name) for name in PATCH_PARTS]
        self.fixed_parts = [Part(self, "fixed_part_time", name) for name in FIXED_PARTS]

    def parts(self) -> Iterator[Group]:
        yield from (*self.steps, *self.patch_parts, *self.fixed_parts)

    @property
    def taken_apart(self) -> bool:
        """Whether any part of a patch or of the fixed time was measured on its own."""
        return any(part.part_time.measured for part in (*self.patch_parts, *self.fixed_parts))

    @fact("1")
    def fit_r2(self) -> Quantity:
        """Share of the variance of the time that the straight line explains."""
        return self.get("fit_r2", "1")

    @fact("ms")
    def first_audio_timed(self) -> Quantity:
        """Time to the first chunk of sound, streaming."""
        return self.get("first_audio", "ms")

    @fact("1")
    def slope(self) -> Quantity:
        """Seconds of work for one more second of audio."""
        return self.get("slope", "1")

    @fact("s", significant=2)
    def fixed(self) -> Quantity:
        return self.get("fixed_time", "s")

    @fact("1", decimals=0)
    def fit_points(self) -> Quantity:
        return self.samples.configured(key(self.measurement, "slope", self.subject), "points", "1")

    @fact("1", decimals=0)
    def time_steps(self) -> Quantity:
        """Diffusion time steps a patch (inference_timesteps)."""
        return self.samples.configured(key(self.measurement, "slope", self.subject), "inference_timesteps", "1")

    @fact("1")
    def factor_by_line(self) -> Quantity:
        """Real-time factor of the longest utterance by the line: its time over its sound, (time - fixed) / slope."""
        return self.slope * self.utterance_high / (self.utterance_high - self.fixed)

    @fact("s", significant=2)
    def utterance_low(self) -> Quantity:
        return self.end("utterance_time", "s", "low")

    @fact("s", significant=2)
    def utterance_high(self) -> Quantity:
        return self.end("utterance_time", "s", "high")

    @fact("%", decimals=0)
    def share_of_turn_low(self) -> Quantity:
        return self.end("share_of_turn", "%", "low")

    @fact("%", decimals=0)
    def share_of_turn_high(self) -> Quantity:
        return self.end("share_of_turn", "%", "high")

    @fact("step/s")
    def patches_per_second(self) -> Quantity:
        return LATENTS_PER_SECOND / LATENTS_PER_PATCH

    @fact("ms", decimals=0)
    def patch_audio(self) -> Quantity:
        return PATCH / self.patches_per_second

    @fact("ms", decimals=0)
    def patch_time(self) -> Quantity:
        return self.slope * PATCH / self.patches_per_second

    @fact("ms", decimals=1)
    def time_step_bound(self) -> Quantity:
        """At most this long for one diffusion time step, if nothing else took time."""
        return self.patch_time / self.time_steps

    @fact("ms", decimals=1)
    def call_bound(self) -> Quantity:
        """The same for one call of the network."""
        return self.patch_time / (self.time_steps - ONE_CALL)

    @fact("ms", significant=2)
    def first_audio(self) -> Quantity:
        """An estimate: as if the whole fixed time came before the first patch."""
        return (self.fixed + self.patch_time).estimated()

    @fact("times", significant=2)
    def slope_over_paper(self) -> Quantity:
        return self.slope / self.evidence.voxcpm_factor

    @fact("times", significant=2)
    def factor_over_paper(self) -> Quantity:
        return self.real_time_factor / self.evidence.voxcpm_factor


class Magpie(Synthesis):
    """Magpie TTS Multilingual: codec frames, stacked."""

    heading = "magpie"
    measurement, subject = "tts_magpie", "magpie-multilingual"

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self.stacks = [Stack(self, frames) for frames in STACKS]

    def parts(self) -> Iterator[Group]:
        yield from self.stacks

    @fact("step/s")
    def frame_rate(self) -> Quantity:
        """Codec frames for each second of audio."""
        return self.get("frame_rate", "step/s")


class Stack(Group):
    """Magpie with some number of frames predicted at once."""

    heading = "stack"

    def __init__(self, magpie: Magpie, frames: int) -> None:
        super().__init__(f"{magpie.path}.stack{frames}", n=frames)
        self.magpie, self.frames = magpie, frames

    @property
    def count(self) -> Quantity:
        return constant(self.frames, "1", "stack")

    @fact("1")
    def real_time_factor(self) -> Quantity:
        wanted = key(self.magpie.measurement, "real_time_factor", self.magpie.subject, stack=self.frames)
        return self.magpie.samples.get(wanted, "1")

    @fact("times", significant=3)
    def gain(self) -> Quantity:
        return self.magpie.stacks[0].real_time_factor / self.real_time_factor

    @fact("%", decimals=0)
    def gain_share(self) -> Quantity:
        """The gain over the one that fewer decoder steps alone would give."""
        return self.gain / self.count


class SynthesisPair(Group):
    """VoxCPM2 beside Magpie."""

    heading = "synthesis"

    def __init__(self, path: str, voxcpm: VoxCPM, magpie: Magpie) -> None:
        super().__init__(path)
        self.voxcpm, self.magpie = voxcpm, magpie

    @fact("times", significant=2)
    def parameters_ratio(self) -> Quantity:
        return self.voxcpm.parameters / self.magpie.parameters

    @fact("times", significant=2)
    def memory_ratio_low(self) -> Quantity:
        return self.voxcpm.memory_low / self.magpie.memory_high

    @fact("times", significant=2)
    def memory_ratio_high(self) -> Quantity:
        return self.voxcpm.memory_high / self.magpie.memory_low

    @fact("times", significant=2)
    def factor_ratio(self) -> Quantity:
        return self.voxcpm.real_time_factor / self.magpie.real_time_factor
