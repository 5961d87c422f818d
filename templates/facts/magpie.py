"""Facts about Magpie: what it is, and its time as a number of decoder steps, with several frames to each of them."""

from __future__ import annotations

from collections.abc import Iterator

from measure.keys import Key, key
from templates.facts.group import Group, fact
from templates.facts.magpie_stack import Stack, TakenApart
from templates.facts.magpie_utterance import Crowd, Depth, Language, Length
from templates.facts.samples import Samples
from templates.facts.synthesis import Synthesis
from templates.quantity import Quantity, best, least

DEPTHS = (8, 42, 84, 168, 300)
"""Frames that are there already when a step is looked at."""

LENGTHS = (42, 324)
"""Frames of a short and of a long utterance."""

CROWDS = (1, 4, 16, 32)
"""Utterances at once."""


class Magpie(Synthesis):
    """Magpie TTS Multilingual: codec frames, stacked."""

    heading = "magpie"
    measurement, subject = "tts_magpie", "magpie-multilingual"

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self.single, self.published = TakenApart(self, 1), TakenApart(self, 2)
        self.stacks = [self.single, self.published, Stack(self, 4)]
        """By the frames that are predicted at once."""
        self.depths = [Depth(self, frames) for frames in DEPTHS]
        self.short, self.long = (Length(self, frames) for frames in LENGTHS)
        self.crowds = [Crowd(self, requests) for requests in CROWDS]
        self.english, self.korean = Language(self, "en"), Language(self, "ko")

    def parts(self) -> Iterator[Group]:
        yield from (*self.stacks, *self.depths, self.short, self.long, *self.crowds, self.english, self.korean)

    def key(self, quantity: str, **parameters: object) -> Key:
        return key(self.measurement, quantity, self.subject, **parameters)

    @fact("step/s")
    def frame_rate(self) -> Quantity:
        """Codec frames for each second of audio."""
        return self.get("frame_rate", "step/s")

    @fact("step/s")
    def steps_per_second(self) -> Quantity:
        """Decoder steps for each second of audio, with as many frames to a step as published."""
        return self.frame_rate / self.published.count

    @fact("GiB")
    def loaded(self) -> Quantity:
        """The codec and the masks included."""
        return self.get("loaded_weights", "GiB")

    @fact("param")
    def stored(self) -> Quantity:
        """Numbers that the model's file holds; the codec has a file of its own."""
        return self.samples.noted(self.key("parameters"), "stored_numbers", "param")

    @fact("param")
    def masks(self) -> Quantity:
        """Those of them that are causal masks, which are no parameters."""
        return self.samples.noted(self.key("parameters"), "mask_numbers", "param")

    @fact("param")
    def local_parameters(self) -> Quantity:
        """Of the local transformer, without the projections that follow it."""
        return self.samples.noted(self.key("parameters"), "local_transformer_parameters", "param")

    @fact("param")
    def decoder_parameters(self) -> Quantity:
        return self.samples.noted(self.key("parameters"), "decoder_parameters", "param")

    # What a second frame in a step changes

    @fact("times")
    def decoder_growth(self) -> Quantity:
        """The decoder's time in a step as published over that in a step of one frame."""
        return self.published.part("decoder").part_time / self.single.part("decoder").part_time

    @fact("times")
    def local_growth(self) -> Quantity:
        """The same of the local transformer."""
        return self.published.part("local_transformer").part_time / self.single.part("local_transformer").part_time

    # A step by the frames that are there

    @fact("ms")
    def step_low(self) -> Quantity:
        return least([depth.one_step for depth in self.depths], "ms", f"{self.path}.depths")

    @fact("ms")
    def step_high(self) -> Quantity:
        return best([depth.one_step for depth in self.depths], "ms", f"{self.path}.depths")

    @fact("ms")
    def cached_low(self) -> Quantity:
        return least([depth.cached_step for depth in self.depths], "ms", f"{self.path}.depths")

    @fact("ms")
    def cached_high(self) -> Quantity:
        return best([depth.cached_step for depth in self.depths], "ms", f"{self.path}.depths")

    @fact("times")
    def step_growth(self) -> Quantity:
        """A step with the most frames there over one with the fewest."""
        return self.depths[-1].one_step / self.depths[0].one_step

    @fact("times")
    def cached_growth(self) -> Quantity:
        """The same with the cache."""
        return self.depths[-1].cached_step / self.depths[0].cached_step
