"""Facts about Magpie: time as a number of decoder steps, with several frames to each of them."""

from __future__ import annotations

from collections.abc import Iterator

from measure.results import key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.facts.synthesis import Synthesis
from templates.quantity import Quantity, constant

STACKS = (1, 2, 4)
"""Frame stackings of Magpie that its time is measured for."""


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
