"""Facts about streaming recognition: chunks counted in frames, and error rates by chunk."""

from __future__ import annotations

from collections.abc import Iterator

from measure.results import key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Kind, Quantity, constant

MEASUREMENT, SUBJECT = "asr_nemotron", "nemotron-0.6b-bf16"
CARD = "model card of nemotron-3.5-asr-streaming-0.6b"
FRAME = constant(80, "ms", "frame", CARD, Kind.CITED)
LEFT_FRAMES = constant(56, "1", "left_frames", CARD, Kind.CITED)
ONE_FRAME = constant(1, "1", "one_frame")
CARD_CHUNKS = {0: 80, 1: 160, 3: 320, 6: 560, 13: 1120}
"""Chunk in ms on the model card, by the right context in frames that the model was trained for (att_context_size)."""


class Chunk(Group):
    """One setting of the right context."""

    heading = "chunk"

    def __init__(self, samples: Samples, right: int) -> None:
        super().__init__(f"{samples.run_id}.nemotron.right{right}", n=right)
        self.samples, self.right = samples, right

    @property
    def frames(self) -> Quantity:
        return constant(self.right, "1", "right_frames", CARD, Kind.CITED)

    @fact("ms", decimals=0)
    def length(self) -> Quantity:
        """(right + 1) frames: what is taken in at once."""
        return (self.frames + ONE_FRAME) * FRAME

    @fact("ms", decimals=0)
    def card_length(self) -> Quantity:
        """The chunk as the model card gives it."""
        return constant(CARD_CHUNKS[self.right], "ms", "card_chunk", CARD, Kind.CITED)

    @fact("ms", decimals=0)
    def look_ahead(self) -> Quantity:
        return self.frames * FRAME

    @fact("%", decimals=1)
    def error_synthetic(self) -> Quantity:
        """Character error rate on synthetic voices."""
        return self.samples.get(key(MEASUREMENT, "cer", SUBJECT, audio="synthetic", right=self.right), "%")

    @fact("%", decimals=1)
    def error_read(self) -> Quantity:
        """Character error rate on read FLEURS sentences."""
        return self.samples.get(key(MEASUREMENT, "cer", SUBJECT, audio="fleurs", right=self.right), "%")


class Recognition(Group):
    """Nemotron 3.5 ASR Streaming over its settings."""

    heading = "recognition"

    def __init__(self, samples: Samples) -> None:
        super().__init__(f"{samples.run_id}.nemotron")
        self.samples = samples
        self.chunks = [Chunk(samples, right) for right in CARD_CHUNKS]

    def parts(self) -> Iterator[Group]:
        yield from self.chunks

    @fact("s")
    def left_context(self) -> Quantity:
        return LEFT_FRAMES * FRAME

    @fact("1", decimals=0)
    def synthetic_voices(self) -> Quantity:
        wanted = key(MEASUREMENT, "cer", SUBJECT, audio="synthetic", right=0)
        return self.samples.configured(wanted, "recordings", "1")

    @fact("1", decimals=0)
    def read_sentences(self) -> Quantity:
        return self.samples.configured(key(MEASUREMENT, "cer", SUBJECT, audio="fleurs", right=0), "recordings", "1")
