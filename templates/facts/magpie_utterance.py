"""Facts about utterances of Magpie by their length, their number at once and their language, and steps by depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates.facts.group import Group, fact
from templates.quantity import Quantity, constant

if TYPE_CHECKING:
    from templates.facts.magpie import Magpie


class Depth(Group):
    """A step of a long utterance with so many frames there already, two frames to a step as published."""

    heading = "depth"

    def __init__(self, magpie: Magpie, frames: int) -> None:
        super().__init__(f"{magpie.path}.depth{frames}", n=frames)
        self.magpie, self.frames = magpie, frames

    @fact("ms")
    def one_step(self) -> Quantity:
        return self.magpie.samples.get(self.magpie.published.key("step_time", frames=self.frames), "ms")

    @fact("ms")
    def cached_step(self) -> Quantity:
        """The same with the package's cache."""
        wanted = self.magpie.published.key("step_time", frames=self.frames, cache="on")
        return self.magpie.samples.get(wanted, "ms")


class Length(Group):
    """A whole utterance of so many frames."""

    heading = "frames"

    def __init__(self, magpie: Magpie, frames: int) -> None:
        super().__init__(f"{magpie.path}.frames{frames}", n=frames)
        self.magpie, self.key = magpie, magpie.published.key("real_time_factor", frames=frames)

    @fact("1")
    def real_time_factor(self) -> Quantity:
        return self.magpie.samples.get(self.key, "1")

    @fact("s")
    def utterance_audio(self) -> Quantity:
        """Length of its sound."""
        return self.magpie.samples.noted(self.key, "sound_s", "s")


class Crowd(Group):
    """Several utterances at once, all of one length."""

    heading = "crowd"

    def __init__(self, magpie: Magpie, requests: int) -> None:
        super().__init__(f"{magpie.path}.crowd{requests}", n=requests)
        self.magpie, self.requests = magpie, requests

    @property
    def count(self) -> Quantity:
        return constant(self.requests, "1", "utterances")

    @fact("1")
    def real_time_factor(self) -> Quantity:
        """Until all are done, over the sound of one."""
        if self.requests == 1:
            return self.magpie.published.real_time_factor
        wanted = self.magpie.published.key("real_time_factor", requests=self.requests)
        return self.magpie.samples.get(wanted, "1")

    @fact("1")
    def sound_rate(self) -> Quantity:
        """Seconds of sound made in a second."""
        return self.count / self.real_time_factor

    @fact("times")
    def gain(self) -> Quantity:
        """How much more sound than with one utterance."""
        return self.sound_rate / self.magpie.crowds[0].sound_rate


class Language(Group):
    """How text of a language reaches the model."""

    heading = "language"

    def __init__(self, magpie: Magpie, code: str) -> None:
        super().__init__(f"{magpie.path}.{code}", language=code)
        self.magpie, self.code = magpie, code

    @fact("1", decimals=0)
    def tokenizers(self) -> Quantity:
        """Tokenizers that the package's table names for it."""
        return self.magpie.samples.get(self.magpie.key("tokenizers", language=self.code), "1")

    @fact("%", decimals=0)
    def words_kept(self) -> Quantity:
        """Words of which anything but punctuation is left by English phonemes."""
        return self.magpie.samples.get(self.magpie.key("words_kept", language=self.code), "%")
