"""Facts about one chunk of streaming recognition: its frames, its step, its delay, and the streams that keep up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from measure.keys import Key, key
from templates.facts.constants import TWO
from templates.facts.group import Group, fact
from templates.facts.recognition_errors import ChunkErrors
from templates.facts.recognition_step import WINDOWS, ChunkStep, ChunkWindow, ChunkWork
from templates.quantity import Kind, Quantity, Sampled, constant, missing

if TYPE_CHECKING:
    from templates.facts.recognition import Recognition

MEASUREMENT = "asr_nemotron"
CARD = "model card of nemotron-3.5-asr-streaming-0.6b"
CONFIGURATION = "configuration of nemotron-3.5-asr-streaming-0.6b"
LATE = 95
"""The percentile of a step's time that has to stay within its chunk."""

FRAME = constant(80, "ms", "frame", CARD, Kind.CITED)
ONE_FRAME = constant(1, "1", "one_frame")
FEATURE_WINDOW = constant(25, "ms", "feature_window", CONFIGURATION, Kind.CITED)
FEATURE_HOP = constant(10, "ms", "feature_hop", CONFIGURATION, Kind.CITED)
CARD_CHUNKS = {0: 80, 1: 160, 3: 320, 6: 560, 13: 1120}
"""Chunk in ms on the model card, by the right context in frames that the model was trained for (att_context_size)."""


class Chunk(Group):
    """One setting of the right context."""

    heading = "chunk"

    def __init__(self, recognition: Recognition, right: int) -> None:
        super().__init__(f"{recognition.path}.right{right}", n=right)
        self.recognition, self.right, self.card_ms = recognition, right, CARD_CHUNKS[right]
        self.samples, self.evidence = recognition.samples, recognition.evidence
        self.step, self.work, self.errors = ChunkStep(self), ChunkWork(self), ChunkErrors(self)
        self.windows = [ChunkWindow(self, seconds) for seconds in WINDOWS]

    def parts(self) -> Iterator[Group]:
        yield from (self.step, self.work, *self.windows, self.errors)

    def key(self, quantity: str, **told: str) -> Key:
        return key(MEASUREMENT, quantity, self.recognition.subject, right=self.right, **told)

    def get(self, quantity: str, spelled: str, **told: str) -> Quantity:
        """A sample with this look-ahead."""
        return self.recognition.asked(self.key(quantity, **told), spelled)

    def told(self, quantity: str, name: str, spelled: str, **told: str) -> Quantity:
        """A setting in such a sample's configuration."""
        return self.samples.configured(self.key(quantity, **told), name, spelled)

    def noted(self, quantity: str, name: str, spelled: str, **told: str) -> Quantity:
        """A number that was measured along with such a sample."""
        return self.samples.noted(self.key(quantity, **told), name, spelled)

    def in_turn(self, quantity: str, **told: str) -> bool:
        """Whether a kind of step was timed in turn with the step with a cache."""
        usual = self.told("step_time", "steps_in_turn", "1")
        kind = self.told(quantity, "steps_in_turn", "1", **told)
        return usual.measured and kind.measured and usual.value == kind.value

    @property
    def frames(self) -> Quantity:
        return constant(self.right, "1", "right_frames", CARD, Kind.CITED)

    @property
    def new_frames(self) -> Quantity:
        return self.frames + ONE_FRAME

    @fact("ms", decimals=0)
    def length(self) -> Quantity:
        """(right + 1) frames: what is taken in at once."""
        return self.new_frames * FRAME

    @fact("ms", decimals=0)
    def card_length(self) -> Quantity:
        """The chunk as the model card gives it."""
        return constant(self.card_ms, "ms", "card_chunk", CARD, Kind.CITED)

    @fact("ms", decimals=0)
    def counted_length(self) -> Quantity:
        """By how much the package's own buffer goes on at each step."""
        return self.get("chunk_length", "ms")

    @fact("ms", decimals=0)
    def look_ahead(self) -> Quantity:
        return self.frames * FRAME

    @fact("ms")
    def step_time(self) -> Quantity:
        """Time of one step with one stream, cache kept."""
        return self.get("step_time", "ms")

    @fact("ms")
    def late_step(self) -> Quantity:
        """The time that so many percent of the steps do not exceed."""
        return self.samples.percentile(self.key("step_time"), LATE, "ms")

    @fact("%", decimals=0)
    def load(self) -> Quantity:
        """Share of the chunk's own length that its step takes."""
        return self.step_time / self.length

    @fact("%", decimals=0)
    def late_load(self) -> Quantity:
        return self.late_step / self.length

    @fact("ms")
    def buffered_time(self) -> Quantity:
        """Time of one step with one stream when a whole window is encoded again."""
        return self.get("buffered_step_time", "ms")

    @fact("times", significant=2)
    def cache_gain(self) -> Quantity:
        return self.buffered_time / self.step_time

    @fact("ms")
    def wait(self) -> Quantity:
        """Mean time until a chunk is full in which speech ended: half of it, and what its last feature reaches beyond.

        Features stand in the middle of their windows.
        """
        return self.length / TWO + (FEATURE_WINDOW / TWO - FEATURE_HOP)

    @fact("ms")
    def final_delay(self) -> Quantity:
        """From the end of speech to the final result. While steps keep up, none waits for the one before.

        Where late ones outlast their chunk there is none to tell: it would grow as long as somebody speaks.
        """
        step = self.late_step if self.late_step.measured else self.step_time
        if step.measured and (step.value or 0.0) > (self.length.value or 0.0):
            text = str(self.key("step_time"))
            return missing("ms", Sampled(self.samples.run_id, text), "outlasted", text)
        return self.wait + self.step_time

    @fact("%", decimals=0)
    def wait_share(self) -> Quantity:
        """Share of wait and step in which the chunk fills; it can be told where steps do not keep up, too."""
        return self.wait / (self.wait + self.step_time)

    def most_streams(self, quantity: str, **told: str) -> Quantity:
        """The largest number of streams that kept up; its interval ends where the smallest did that did not."""
        held, beyond = self.get(quantity, "1", **told), self.noted(quantity, "beyond", "1", **told)
        failed = beyond.value or 0.0
        return replace(held, high=failed) if held.measured and failed > held.high else held

    @fact("1", decimals=0)
    def streams(self) -> Quantity:
        """Streams that keep up."""
        return self.most_streams("streams")

    @fact("1", decimals=0)
    def buffered_streams(self) -> Quantity:
        """When windows are encoded again."""
        return self.most_streams("buffered_streams")

    @fact("1", decimals=0)
    def batched_streams(self) -> Quantity:
        """With the decoder's state of the whole batch left on the device."""
        return self.most_streams("streams", decoder="batched")

    @fact("times", significant=2)
    def streams_gain(self) -> Quantity:
        return self.streams / self.buffered_streams

    @fact("times", significant=2)
    def batched_gain(self) -> Quantity:
        return self.batched_streams / self.streams

    @fact("MiB")
    def stream_memory(self) -> Quantity:
        """By how much the peak of memory grows with each stream."""
        return self.get("stream_memory", "MiB")

    @fact("%", significant=2)
    def difference(self) -> Quantity:
        """Streamed frames against those of the whole, the largest difference in fp32."""
        return self.get("stream_difference", "%", dtype="fp32")

    @fact("%", significant=2)
    def difference_exact(self) -> Quantity:
        """With the one frame that is there handed out in place of the package's padding."""
        return self.get("stream_difference", "%", dtype="fp32", chunks="exact")

    @fact("%", significant=2)
    def difference_rounded(self) -> Quantity:
        return self.get("stream_difference", "%", dtype="bf16")
