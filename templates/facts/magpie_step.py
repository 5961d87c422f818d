"""Facts about what Magpie spends a step and an utterance on: parts, and kernels with the gaps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates.facts.group import Group, fact
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.magpie_stack import TakenApart


class StepPart(Group):
    """One part of a step."""

    heading = "step_part"

    def __init__(self, stack: TakenApart, name: str) -> None:
        super().__init__(f"{stack.path}.step.{name}", part=name, n=stack.frames)
        self.stack, self.name = stack, name

    @fact("ms")
    def part_time(self) -> Quantity:
        return self.stack.magpie.samples.get(self.stack.key("step_part_time", part=self.name), "ms")

    @fact("ms")
    def frame_part(self) -> Quantity:
        """What of it falls to each frame of the step."""
        return self.part_time / self.stack.count

    @fact("%", decimals=0)
    def part_share(self) -> Quantity:
        return self.part_time / self.stack.step_parts_sum


class FixedPart(Group):
    """One part of what is done once an utterance."""

    heading = "utterance_part"

    def __init__(self, stack: TakenApart, name: str) -> None:
        super().__init__(f"{stack.path}.fixed.{name}", part=name, n=stack.frames)
        self.stack, self.name = stack, name

    @fact("ms")
    def part_time(self) -> Quantity:
        return self.stack.magpie.samples.get(self.stack.key("fixed_part_time", part=self.name), "ms")


class Kernels(Group):
    """What the device does in a step in the middle of the utterance."""

    heading = "step"

    def __init__(self, stack: TakenApart) -> None:
        super().__init__(f"{stack.path}.kernels")
        self.stack, self.key = stack, stack.key("step_kernel_time")

    def _told(self, name: str, spelled: str) -> Quantity:
        return self.stack.magpie.samples.noted(self.key, name, spelled)

    @fact("ms")
    def step_kernels(self) -> Quantity:
        """Time of a step in which a kernel runs."""
        return self.stack.magpie.samples.get(self.key, "ms")

    @fact("ms")
    def untraced(self) -> Quantity:
        """The same steps without the profiler."""
        return self._told("step_ms_untraced", "ms")

    @fact("ms")
    def step_gaps(self) -> Quantity:
        """Time of a step in which none does."""
        return self.untraced - self.step_kernels

    @fact("%", decimals=0)
    def kernel_share(self) -> Quantity:
        return self.step_kernels / self.untraced

    @fact("1", decimals=0)
    def launches(self) -> Quantity:
        """Kernels that a step launches."""
        return self._told("kernels_per_step", "1")

    @fact("µs")
    def launch_time(self) -> Quantity:
        """A step's time over the kernels that it launches."""
        return self.untraced / self.launches
