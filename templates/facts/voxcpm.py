"""Facts about VoxCPM2: time as a number of patches, and what is done once an utterance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add

from msgspec.structs import replace

from measure.keys import Key, key
from templates import line
from templates.facts.constants import SIXTEEN_BIT
from templates.facts.group import Group, fact
from templates.facts.machine import MachineFacts
from templates.facts.patch import ONE_CALL, TIME_STEPS, Cache, Kernels, Loop, Part, Parts, TimeSteps
from templates.facts.samples import Samples
from templates.facts.streaming import Streaming
from templates.facts.synthesis import Synthesis
from templates.facts.table import Evidence
from templates.line import Point
from templates.quantity import Kind, Quantity, best, constant, least, median

LATENTS_PER_SECOND = constant(25, "step/s", "latents_per_second", "arXiv 2606.06928, section 3.1", Kind.CITED)
LATENTS_PER_PATCH = constant(4, "1", "latents_per_patch", "arXiv 2606.06928, section 3.1", Kind.CITED)
PATCH = constant(1, "step", "patch")

VOICE = "reference_voice"
"""The part that an utterance has only if a recording is given whose voice it shall have."""

FIXED_PARTS = ("tokenising", "prefill", "cache_clearing", "last_vae", VOICE, "other")
"""What is done once an utterance."""

LENGTHS = (6, 12, 19, 25, 31, 38, 44, 50, 62, 75, 88, 100)
"""Patches of the utterances that are timed: from 1 to 16 s of sound."""


class Utterance(Group):
    """A whole utterance that was timed: of a length that was forced, or a sentence as long as the model made it."""

    def __init__(self, voxcpm: VoxCPM, wanted: Key) -> None:
        told = dict(wanted.parameters)
        self.heading = "nano_utterance" if "engine" in told else "utterance" if "patches" in told else "sentence"
        super().__init__(f"{voxcpm.path}.u{'-'.join(told.values())}", **told)
        self.voxcpm, self.wanted, self.forced = voxcpm, wanted, told.get("patches")

    @property
    def patches(self) -> Quantity:
        if self.forced:
            return constant(int(self.forced), "step", "patches")
        return self.voxcpm.samples.noted(self.wanted, "patches", "step")

    @property
    def point(self) -> Point:
        """Where it lies in the plane of sound and time."""
        return Point(self.utterance_audio, self.utterance_time)

    @fact("s")
    def utterance_audio(self) -> Quantity:
        """Length of its sound."""
        return self.patches / self.voxcpm.patches_per_second

    @fact("s")
    def utterance_time(self) -> Quantity:
        """Time until the whole sound is there."""
        return self.voxcpm.samples.get(self.wanted, "s")

    @fact("1")
    def real_time_factor(self) -> Quantity:
        """Its time over its sound."""
        return self.utterance_time / self.utterance_audio


class Nano(Group):
    """VoxCPM2 in the faster engine, nano-vllm-voxcpm."""

    heading = "nano"

    def __init__(self, voxcpm: VoxCPM) -> None:
        super().__init__(f"{voxcpm.path}.nano")
        self.voxcpm = voxcpm
        tried = voxcpm.samples.tried(voxcpm.measurement, voxcpm.subject, "utterance_time")
        theirs = [wanted for wanted in tried if dict(wanted.parameters).keys() == {"engine", "patches"}]
        self.utterances = [Utterance(voxcpm, wanted) for wanted in sorted(theirs, key=_by_length)]

    def parts(self) -> Iterator[Group]:
        yield from self.utterances

    def _get(self, quantity: str, **more: object) -> Quantity:
        wanted = key(self.voxcpm.measurement, quantity, self.voxcpm.subject, engine="nano", **more)
        return self.voxcpm.samples.get(wanted, "ms")

    @fact("ms")
    def patch_time(self) -> Quantity:
        return self._get("patch_time", steps=TIME_STEPS[0])

    @fact("ms")
    def first_audio_timed(self) -> Quantity:
        return self._get("first_audio")


class VoxCPM(Synthesis):
    """VoxCPM2: patches of four latents, each made by a diffusion loop.

    Where utterances were timed, the line through them and their real-time factors are calculated; where a run tells a
    slope, a fixed time or a factor of its own, as a reported one does, these are taken as told.
    """

    heading = "voxcpm"
    measurement, subject = "tts_voxcpm", "voxcpm2-bf16"

    def __init__(self, samples: Samples, evidence: Evidence, machine: MachineFacts) -> None:
        super().__init__(samples)
        self.evidence, self.machine = evidence, machine
        self.steps = [TimeSteps(self, steps) for steps in TIME_STEPS]
        self.loop, self.cache = Loop(self), Cache(self)
        self.compiled, self.eager = Kernels(self, "compiled"), Kernels(self, "eager", compile="off")
        self.patch, self.streaming, self.nano = Parts(self), Streaming(self), Nano(self)
        self.patch_parts = self.patch.members
        self.fixed_parts = [Part(self, "fixed_part_time", name) for name in FIXED_PARTS]
        self.utterances = [Utterance(self, wanted) for wanted in self._utterance_keys()]

    def parts(self) -> Iterator[Group]:
        yield from (*self.steps, self.loop, self.cache, self.compiled, self.eager, *self.utterances)
        yield from (self.patch, *self.fixed_parts, self.streaming, self.nano)

    def _utterance_keys(self) -> list[Key]:
        """Of what was timed or tried, else of what this project's measurement would time, the shortest first."""
        tried = self.samples.tried(self.measurement, self.subject, "utterance_time")
        of_these = [
            wanted for wanted in tried if dict(wanted.parameters).keys() in ({"patches"}, {"language", "sentence"})
        ]
        if not of_these and (self.samples.run is None or self.samples.run.kind == "executed"):
            of_these = [key(self.measurement, "utterance_time", self.subject, patches=patches) for patches in LENGTHS]
        return sorted(dict.fromkeys(of_these), key=_by_length)

    @property
    def points(self) -> list[Point]:
        """Sound and time of each utterance."""
        return [utterance.point for utterance in self.utterances]

    def _told(self, quantity: str) -> bool:
        """Whether to take a figure as the run tells it: it does, or there are no utterances to calculate it from."""
        return not self.utterances or self.samples.has(key(self.measurement, quantity, self.subject))

    @fact("1")
    def real_time_factor(self) -> Quantity:
        """Of a whole utterance, in the median."""
        if self._told("real_time_factor"):
            return self.get("real_time_factor", "1")
        return self._over(median, [one.real_time_factor for one in self.utterances], "1")

    def _over(
        self, choose: Callable[[Iterable[Quantity], str, str], Quantity], members: list[Quantity], spelled: str
    ) -> Quantity:
        """What is chosen from the utterances that were timed; where none was, the first one tells why."""
        chosen = choose(members, spelled, self.path)
        return chosen if chosen.measured else replace(chosen, absences=members[0].absences)

    @fact("1")
    def factor_low(self) -> Quantity:
        if self._told("real_time_factor"):
            return self.end("real_time_factor", "1", "low")
        return self._over(least, [one.real_time_factor for one in self.utterances], "1")

    @fact("1")
    def factor_high(self) -> Quantity:
        if self._told("real_time_factor"):
            return self.end("real_time_factor", "1", "high")
        return self._over(best, [one.real_time_factor for one in self.utterances], "1")

    @property
    def both_ways(self) -> list[TimeSteps]:
        """The most time steps and the fewest, of which a patch is timed compiled and not."""
        return [self.steps[0], self.steps[-1]]

    @property
    def taken_apart(self) -> bool:
        """Whether any part of a patch or of the fixed time was measured on its own."""
        return any(part.part_time.measured for part in (*self.patch_parts, *self.fixed_parts))

    @fact("1")
    def fit_r2(self) -> Quantity:
        """Share of the variance of the time that the straight line explains."""
        return self.get("fit_r2", "1") if self._told("fit_r2") else line.determination(self.points, self.path)

    @fact("ms")
    def fixed_parts_sum(self) -> Quantity:
        """The parts of the fixed time together, the device waited for after each; without a reference voice."""
        return reduce(add, [part.part_time for part in self.fixed_parts if part.name != VOICE])

    @fact("%", decimals=0)
    def prefill_share(self) -> Quantity:
        """Share of the fixed time's parts in which the text is taken in."""
        prefill = next(part for part in self.fixed_parts if part.name == "prefill")
        return prefill.part_time / self.fixed_parts_sum

    @fact("%", decimals=0)
    def parts_over_patch(self) -> Quantity:
        """The parts of a patch together, the device waited for after each, over a patch without such waiting."""
        return self.patch.parts_sum / self.steps[0].patch_time

    @fact("MiB")
    def memory_weights(self) -> Quantity:
        """What weights and caches take."""
        return self._memory("weights")

    @fact("MiB")
    def memory_peak(self) -> Quantity:
        """The most that tensors took while speaking."""
        return self._memory("peak")

    @fact("MiB")
    def memory_caches(self) -> Quantity:
        """Both caches of keys and values, used or not."""
        return self.samples.noted(key(self.measurement, "memory", self.subject), "cache_mib", "MiB")

    def _memory(self, of: str) -> Quantity:
        return self.samples.get(key(self.measurement, "memory", self.subject, of=of), "MiB")

    @fact("GB")
    def weights(self) -> Quantity:
        """Of the model without its audio VAE."""
        return self.parameters * SIXTEEN_BIT

    @fact("ms")
    def read_time(self) -> Quantity:
        """Reading them once, at the measured bandwidth."""
        return self.weights / self.machine.bandwidth

    @fact("%", decimals=0)
    def read_of_patch(self) -> Quantity:
        """That as a share of a patch."""
        return self.read_time / self.steps[0].patch_time

    @fact("times", significant=3)
    def slope_growth(self) -> Quantity:
        """The slope of the longer half of the utterances over that of the shorter half."""
        middle = len(self.points) // 2
        shorter, longer = self.points[:middle], self.points[middle:]
        return line.slope(longer, "1", self.path) / line.slope(shorter, "1", self.path)

    @fact("ms")
    def first_audio_timed(self) -> Quantity:
        """Time to the first chunk of sound, streaming."""
        return self.get("first_audio", "ms")

    @fact("1")
    def slope(self) -> Quantity:
        """Seconds of work for one more second of audio."""
        return self.get("slope", "1") if self._told("slope") else line.slope(self.points, "1", self.path)

    @fact("s", significant=2)
    def fixed(self) -> Quantity:
        """Seconds of work for an utterance beyond its patches: where the line begins."""
        return self.get("fixed_time", "s") if self._told("fixed_time") else line.intercept(self.points, "s", self.path)

    @fact("1", decimals=0)
    def fit_points(self) -> Quantity:
        if self._told("slope"):
            return self.samples.configured(key(self.measurement, "slope", self.subject), "points", "1")
        return line.count(self.points, self.path)

    @fact("1", decimals=0)
    def time_steps(self) -> Quantity:
        """Diffusion time steps a patch (inference_timesteps)."""
        told = key(self.measurement, "slope", self.subject) if self._told("slope") else self._first_timed.wanted
        return self.samples.configured(told, "inference_timesteps", "1")

    @property
    def _first_timed(self) -> Utterance:
        return next((one for one in self.utterances if one.utterance_time.measured), self.utterances[0])

    @fact("1")
    def factor_by_line(self) -> Quantity:
        """Real-time factor of the longest utterance by the line: its time over its sound, (time - fixed) / slope."""
        return self.slope * self.utterance_high / (self.utterance_high - self.fixed)

    @fact("s", significant=2)
    def utterance_low(self) -> Quantity:
        if not self.utterances:
            return self.end("utterance_time", "s", "low")
        return self._over(least, [one.utterance_time for one in self.utterances], "s")

    @fact("s", significant=2)
    def utterance_high(self) -> Quantity:
        if not self.utterances:
            return self.end("utterance_time", "s", "high")
        return self._over(best, [one.utterance_time for one in self.utterances], "s")

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


def _by_length(wanted: Key) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Forced lengths in their order, then sentences."""
    told = dict(wanted.parameters)
    return int(told.get("patches", LENGTHS[-1] + 1)), wanted.parameters
