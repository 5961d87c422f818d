"""Facts about Magpie with some number of frames to a step: whole, without its local transformer, with its cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from measure.keys import Key
from templates.facts.group import Group, fact
from templates.facts.magpie_step import FixedPart, Kernels, StepPart
from templates.quantity import Quantity, constant

if TYPE_CHECKING:
    from templates.facts.magpie import Magpie

STEP_PARTS = ("local_transformer", "decoder", "sampling", "alignment", "embedding", "rest")
"""What a step is made of."""

FIXED_PARTS = ("codec", "text_encoder", "rest")
"""What is done once an utterance."""


class Stack(Group):
    """Magpie with some number of frames predicted at once."""

    heading = "stack"

    def __init__(self, magpie: Magpie, frames: int) -> None:
        super().__init__(f"{magpie.path}.stack{frames}", n=frames)
        self.magpie, self.frames = magpie, frames

    def key(self, quantity: str, **parameters: object) -> Key:
        return self.magpie.key(quantity, stack=self.frames, **parameters)

    @property
    def count(self) -> Quantity:
        return constant(self.frames, "1", "stack")

    @fact("1")
    def real_time_factor(self) -> Quantity:
        return self.magpie.samples.get(self.key("real_time_factor"), "1")

    @fact("times", significant=3)
    def gain(self) -> Quantity:
        return self.magpie.single.real_time_factor / self.real_time_factor

    @fact("%", decimals=0)
    def gain_share(self) -> Quantity:
        """The gain over the one that fewer decoder steps alone would give."""
        return self.gain / self.count

    @fact("ms")
    def one_step(self) -> Quantity:
        """On average over the utterance."""
        return self.magpie.samples.get(self.key("step_time"), "ms")

    @fact("ms")
    def frame_time(self) -> Quantity:
        """What of a step falls to each of its frames."""
        return self.one_step / self.count


class TakenApart(Stack):
    """A stack whose utterances were taken apart as well, and made in other ways."""

    def __init__(self, magpie: Magpie, frames: int) -> None:
        super().__init__(magpie, frames)
        self.step_parts = [StepPart(self, name) for name in STEP_PARTS]
        self.fixed_parts = [FixedPart(self, name) for name in FIXED_PARTS]
        self.kernels = Kernels(self)
        self.without = Switched(self, "without", local_transformer="off")
        self.cached = Switched(self, "cached", cache="on")
        self.both = Switched(self, "both", cache="on", local_transformer="off")
        self.switched = [self.without, self.cached, self.both]

    def parts(self) -> Iterator[Group]:
        yield from (*self.step_parts, *self.fixed_parts, self.kernels, *self.switched)

    def part(self, name: str) -> StepPart:
        return self.step_parts[STEP_PARTS.index(name)]

    @property
    def measured(self) -> bool:
        """Whether any part of a step was measured on its own."""
        return any(part.part_time.measured for part in self.step_parts)

    @fact("ms")
    def local_saved(self) -> Quantity:
        """What a step is shorter by without the local transformer."""
        return self.one_step - self.without.one_step

    @fact("times")
    def bare_cache_gain(self) -> Quantity:
        """How much faster with the cache, both without the local transformer."""
        return self.without.real_time_factor / self.both.real_time_factor

    @fact("ms")
    def step_parts_sum(self) -> Quantity:
        """All parts of a step, the rest among them: a step with a stopwatch on its parts."""
        first, *others = [part.part_time for part in self.step_parts]
        return sum(others, first)

    @fact("times")
    def stopwatch(self) -> Quantity:
        """A step with the stopwatch over one without."""
        return self.step_parts_sum / self.one_step

    @fact("ms")
    def fixed(self) -> Quantity:
        """What is done once an utterance."""
        first, *others = [part.part_time for part in self.fixed_parts]
        return sum(others, first)

    @fact("s")
    def utterance_audio(self) -> Quantity:
        """Sound of the utterances that settings are compared by."""
        return self.magpie.samples.noted(self.key("real_time_factor"), "sound_s", "s")

    @fact("s")
    def utterance_time(self) -> Quantity:
        """Time until all of it is there."""
        return self.real_time_factor * self.utterance_audio

    @fact("%", decimals=0)
    def fixed_share(self) -> Quantity:
        """Share of the utterance's time that is spent once."""
        return self.fixed / self.utterance_time


class Switched(Group):
    """A stack with its local transformer left out, with the package's cache, or both."""

    def __init__(self, stack: TakenApart, heading: str, **parameters: str) -> None:
        super().__init__(f"{stack.path}.{heading}")
        self.heading, self.stack, self.parameters = heading, stack, parameters

    @fact("1")
    def real_time_factor(self) -> Quantity:
        return self.stack.magpie.samples.get(self.stack.key("real_time_factor", **self.parameters), "1")

    @fact("ms")
    def one_step(self) -> Quantity:
        """On average over the utterance."""
        return self.stack.magpie.samples.get(self.stack.key("step_time", **self.parameters), "ms")

    @fact("times")
    def gain(self) -> Quantity:
        """How much faster than the same stack as it is."""
        return self.stack.real_time_factor / self.real_time_factor

    @fact("times")
    def stacking_gain(self) -> Quantity:
        """How much faster than the same with one frame to a step."""
        single = next(way for way in self.stack.magpie.single.switched if way.heading == self.heading)
        return single.real_time_factor / self.real_time_factor

    @fact("%", decimals=0)
    def gain_share(self) -> Quantity:
        """That gain over the one that fewer decoder steps alone would give."""
        return self.stacking_gain / self.stack.count
