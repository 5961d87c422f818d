"""Facts about one patch of VoxCPM2: its parts, the calls of its network, its kernels, and smaller caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from measure.keys import Key, key
from templates import line
from templates.facts.constants import ONE
from templates.facts.group import Group, fact
from templates.line import Point
from templates.quantity import Quantity, constant

if TYPE_CHECKING:
    from templates.facts.voxcpm import VoxCPM

ONE_CALL = constant(1, "1", "skipped_call", "voxcpm 2.0.3: the solver's first step does not call the network")

TIME_STEPS = (10, 8, 6, 4, 2)
"""Diffusion time steps that the time of a patch is measured for."""

PATCH_PARTS = ("language_model", "diffusion", "local_encoder", "stop_check", "vae", "other")
"""What a patch is made of, as the package runs it."""

BEFORE_SOUND = ("diffusion", "local_encoder", "vae")
"""What of them comes before a patch is sound, streaming."""

SMALL_CACHE = 1024
"""Places of the smaller cache."""


class Part(Group):
    """One part of a patch or of the fixed time: of a whole utterance, or with `mode` of one that is streamed."""

    def __init__(self, voxcpm: VoxCPM, quantity: str, name: str, **mode: str) -> None:
        super().__init__(".".join([voxcpm.path, quantity, *mode.values(), name]), part=name)
        self.heading = "streamed_part" if mode else quantity.removesuffix("_time")
        self.voxcpm, self.name = voxcpm, name
        self.key = key(voxcpm.measurement, quantity, voxcpm.subject, part=name, **mode)

    @fact("ms")
    def part_time(self) -> Quantity:
        return self.voxcpm.samples.get(self.key, "ms")


class Parts(Group):
    """The parts of a patch, taken apart together."""

    def __init__(self, voxcpm: VoxCPM, **mode: str) -> None:
        super().__init__(".".join([voxcpm.path, "parts", *mode.values()]))
        self.heading = "streamed_parts" if mode else "parts"
        self.voxcpm = voxcpm
        self.members = [Part(voxcpm, "patch_part_time", name, **mode) for name in PATCH_PARTS]

    def parts(self) -> Iterator[Part]:
        yield from self.members

    def part(self, name: str) -> Part:
        return self.members[PATCH_PARTS.index(name)]

    @fact("ms")
    def parts_sum(self) -> Quantity:
        """All parts of a patch together, the device waited for after each."""
        told = next((part for part in self.members if part.part_time.measured), self.members[0])
        return self.voxcpm.samples.noted(told.key, "patch_all_parts_ms", "ms")


class TimeSteps(Group):
    """VoxCPM2 with some number of diffusion time steps a patch."""

    heading = "time_steps"

    def __init__(self, voxcpm: VoxCPM, steps: int) -> None:
        super().__init__(f"{voxcpm.path}.steps{steps}", n=steps)
        self.voxcpm, self.steps = voxcpm, steps

    @property
    def count(self) -> Quantity:
        return constant(self.steps, "1", "inference_timesteps")

    @property
    def point(self) -> Point:
        """Where it lies in the plane of calls and time."""
        return Point(self.calls, self.patch_time)

    def _timed(self, **more: object) -> Quantity:
        wanted = key(self.voxcpm.measurement, "patch_time", self.voxcpm.subject, steps=self.steps, **more)
        return self.voxcpm.samples.get(wanted, "ms")

    @fact("1", decimals=0)
    def calls(self) -> Quantity:
        """Calls of the network: the solver's first step makes none."""
        return self.count - ONE_CALL

    @fact("ms")
    def patch_time(self) -> Quantity:
        return self._timed()

    @fact("times", significant=3)
    def gain(self) -> Quantity:
        """How much faster a patch is than with the most time steps."""
        return self.voxcpm.steps[0].patch_time / self.patch_time

    @fact("%", decimals=0)
    def gain_share(self) -> Quantity:
        """The gain over the one that fewer calls of the network alone would give."""
        return self.gain / (self.voxcpm.steps[0].calls / self.calls)

    @fact("ms")
    def network_time(self) -> Quantity:
        """What the calls of the network take of a patch, by the line."""
        return self.calls * self.voxcpm.loop.call_time

    @fact("%", decimals=0)
    def network_share(self) -> Quantity:
        return self.network_time / self.patch_time

    @fact("ms")
    def eager_time(self) -> Quantity:
        """A patch without compiled graphs."""
        return self._timed(compile="off")

    @fact("times")
    def compile_gain(self) -> Quantity:
        return self.eager_time / self.patch_time


class Loop(Group):
    """The line through the time of a patch by the calls of its diffusion network."""

    heading = "loop"

    def __init__(self, voxcpm: VoxCPM) -> None:
        super().__init__(f"{voxcpm.path}.loop")
        self.voxcpm = voxcpm

    @property
    def _points(self) -> list[Point]:
        return [steps.point for steps in self.voxcpm.steps]

    @fact("ms", significant=2)
    def call_time(self) -> Quantity:
        """What one more call takes."""
        return line.slope(self._points, "ms", self.path)

    @fact("ms")
    def beside_calls(self) -> Quantity:
        """What a patch takes beside the calls: where the line begins."""
        return line.intercept(self._points, "ms", self.path)

    @fact("1")
    def fit_r2(self) -> Quantity:
        return line.determination(self._points, self.path)


class Kernels(Group):
    """What the kernels of a patch do, as the package compiles it or with every kernel launched by itself."""

    def __init__(self, voxcpm: VoxCPM, heading: str, **state: str) -> None:
        super().__init__(f"{voxcpm.path}.{heading}")
        self.heading, self.voxcpm, self.state = heading, voxcpm, state

    @property
    def _key(self) -> Key:
        return key(self.voxcpm.measurement, "patch_kernel_time", self.voxcpm.subject, **self.state)

    def _told(self, name: str, spelled: str) -> Quantity:
        return self.voxcpm.samples.noted(self._key, name, spelled)

    @property
    def _patch(self) -> Quantity:
        steps = self.voxcpm.steps[0]
        return steps.eager_time if self.state else steps.patch_time

    @fact("ms")
    def busy(self) -> Quantity:
        """Time of a patch in which a kernel runs."""
        return self.voxcpm.samples.get(self._key, "ms")

    @fact("%", decimals=0)
    def busy_share(self) -> Quantity:
        return self.busy / self._patch

    @fact("ms")
    def gaps(self) -> Quantity:
        """Time of a patch in which none does."""
        return self._patch - self.busy

    @fact("1", decimals=0)
    def launched(self) -> Quantity:
        """Kernels a patch."""
        return self._told("kernels_per_step", "1")

    @fact("ms")
    def patch_matmul(self) -> Quantity:
        return self._told("matmul_ms", "ms")

    @fact("ms")
    def patch_attention(self) -> Quantity:
        return self._told("attention_ms", "ms")

    @fact("ms")
    def patch_other(self) -> Quantity:
        """All other kernels, copies among them."""
        return self._told("other_ms", "ms") + self._told("copy_ms", "ms")


class Cache(Group):
    """What a patch takes with caches of keys and values that have fewer places, of which still most are unused."""

    heading = "small_cache"

    def __init__(self, voxcpm: VoxCPM) -> None:
        super().__init__(f"{voxcpm.path}.cache")
        self.voxcpm = voxcpm

    def _key(self, **more: object) -> Key:
        return key(self.voxcpm.measurement, "patch_time", self.voxcpm.subject, steps=TIME_STEPS[0], **more)

    @fact("1", decimals=0)
    def places(self) -> Quantity:
        """Places of the package's own caches, all of which are attended to."""
        return self.voxcpm.samples.configured(self._key(), "max_length", "1")

    @fact("1", decimals=0)
    def fewer_places(self) -> Quantity:
        return self.voxcpm.samples.configured(self._key(max_length=SMALL_CACHE), "max_length", "1")

    @fact("ms")
    def patch_time(self) -> Quantity:
        return self.voxcpm.samples.get(self._key(max_length=SMALL_CACHE), "ms")

    @fact("times")
    def gain(self) -> Quantity:
        return self.voxcpm.steps[0].patch_time / self.patch_time

    @fact("%", decimals=0)
    def saved_share(self) -> Quantity:
        """Share of a patch that the smaller caches save."""
        return ONE - self.patch_time / self.voxcpm.steps[0].patch_time
