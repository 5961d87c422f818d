"""Facts about speech synthesis: time as a number of steps, for VoxCPM2 and Magpie."""

from __future__ import annotations

from measure.results import key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Kind, Quantity, constant

LATENTS_PER_SECOND = constant(25, "step/s", "latents_per_second", "arXiv 2606.06928, section 3.1", Kind.CITED)
LATENTS_PER_PATCH = constant(4, "1", "latents_per_patch", "arXiv 2606.06928, section 3.1", Kind.CITED)
PAPER_FACTOR = constant(
    0.30, "1", "paper_factor", "arXiv 2606.06928, section 4.6, table 11: PyTorch, one 24 GB-class GPU", Kind.CITED
)
PATCH = constant(1, "step", "patch")
AUDIO_SECOND = constant(1, "s", "audio_second")
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
        """One end of a range, where only a range was published; else the figure itself."""
        ends = self.samples.get(key(self.measurement, quantity, self.subject, end=end), spelled)
        whole = self.get(quantity, spelled)
        return whole if whole.measured else ends

    @fact("MiB")
    def memory_low(self) -> Quantity:
        return self.end("memory", "MiB", "low")

    @fact("MiB")
    def memory_high(self) -> Quantity:
        return self.end("memory", "MiB", "high")

    @fact("param", significant=3)
    def parameters(self) -> Quantity:
        return self.get("parameters", "param")


class VoxCPM(Synthesis):
    """VoxCPM2: patches of four latents, each made by a diffusion loop."""

    heading = "voxcpm"
    measurement, subject = "tts_voxcpm", "voxcpm2-bf16"

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

    @fact("s", significant=2)
    def first_audio(self) -> Quantity:
        """An estimate: as if the whole fixed time came before the first patch."""
        return self.fixed + self.patch_time

    @fact("times", significant=2)
    def slope_over_paper(self) -> Quantity:
        return self.slope / PAPER_FACTOR

    @fact("times", significant=2)
    def factor_over_paper(self) -> Quantity:
        return self.real_time_factor / PAPER_FACTOR


class Magpie(Synthesis):
    """Magpie TTS Multilingual: codec frames, stacked."""

    heading = "magpie"
    measurement, subject = "tts_magpie", "magpie-multilingual"


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
