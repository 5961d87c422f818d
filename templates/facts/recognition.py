"""Facts about streaming recognition: chunks counted in frames, and error rates by chunk."""

from __future__ import annotations

from collections.abc import Iterator

from measure.results import Key, key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.facts.table import Evidence
from templates.quantity import Kind, Quantity, best, constant, least

MEASUREMENT, SUBJECT = "asr_nemotron", "nemotron-0.6b-bf16"
CARD = "model card of nemotron-3.5-asr-streaming-0.6b"
MIDDLE = 3
"""Right context of the middle chunk, which the others are held against."""

FRAME = constant(80, "ms", "frame", CARD, Kind.CITED)
LEFT_FRAMES = constant(56, "1", "left_frames", CARD, Kind.CITED)
ONE_FRAME = constant(1, "1", "one_frame")
CARD_CHUNKS = {0: 80, 1: 160, 3: 320, 6: 560, 13: 1120}
"""Chunk in ms on the model card, by the right context in frames that the model was trained for (att_context_size)."""


class Chunk(Group):
    """One setting of the right context."""

    heading = "chunk"

    def __init__(self, samples: Samples, evidence: Evidence, right: int) -> None:
        super().__init__(f"{samples.run_id}.nemotron.right{right}", n=right)
        self.samples, self.evidence, self.right = samples, evidence, right

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

    @fact("point", decimals=1)
    def loss(self) -> Quantity:
        """Error rate on synthetic voices beyond that of the middle chunk, in percentage points."""
        middle = key(MEASUREMENT, "cer", SUBJECT, audio="synthetic", right=MIDDLE)
        return self.error_synthetic - self.samples.get(middle, "%")

    @fact("ms")
    def step_time(self) -> Quantity:
        """Time of one step with one stream, cache kept."""
        return self.samples.get(key(MEASUREMENT, "step_time", SUBJECT, right=self.right), "ms")

    @fact("ms")
    def buffered_time(self) -> Quantity:
        """Time of one step with one stream when a whole window is encoded again."""
        return self.samples.get(key(MEASUREMENT, "buffered_step_time", SUBJECT, right=self.right), "ms")

    @fact("times", significant=2)
    def cache_gain(self) -> Quantity:
        return self.buffered_time / self.step_time

    @fact("1", decimals=0)
    def streams(self) -> Quantity:
        """Streams that keep up."""
        return self.samples.get(key(MEASUREMENT, "streams", SUBJECT, right=self.right), "1")

    @fact("ms")
    def final_delay(self) -> Quantity:
        """From the end of speech to the final result."""
        return self.samples.get(key(MEASUREMENT, "final_delay", SUBJECT, right=self.right), "ms")

    @fact("%", decimals=0)
    def load(self) -> Quantity:
        """Share of the chunk's own length that its step takes."""
        return self.step_time / self.length

    @property
    def card_error(self) -> Quantity:
        """The model card's error rate for this chunk."""
        return getattr(self.evidence, f"card_cer_{CARD_CHUNKS[self.right]}")  # type: ignore[no-any-return]

    @fact("1", decimals=0)
    def empty_synthetic(self) -> Quantity:
        """Recordings of synthetic voices for which nothing came out."""
        return self.samples.configured(self._cer("synthetic"), "empty_outputs", "1")

    @fact("1", decimals=0)
    def empty_read(self) -> Quantity:
        return self.samples.configured(self._cer("fleurs"), "empty_outputs", "1")

    def _cer(self, audio: str) -> Key:
        return key(MEASUREMENT, "cer", SUBJECT, audio=audio, right=self.right)

    @fact("%", decimals=1)
    def error_synthetic(self) -> Quantity:
        """Character error rate on synthetic voices."""
        return self.samples.get(self._cer("synthetic"), "%")

    @fact("%", decimals=1)
    def error_read(self) -> Quantity:
        """Character error rate on read FLEURS sentences."""
        return self.samples.get(self._cer("fleurs"), "%")


class Recognition(Group):
    """Nemotron 3.5 ASR Streaming over its settings."""

    heading = "recognition"

    def __init__(self, samples: Samples, evidence: Evidence) -> None:
        super().__init__(f"{samples.run_id}.nemotron")
        self.samples = samples
        self.chunks = [Chunk(samples, evidence, right) for right in CARD_CHUNKS]

    def parts(self) -> Iterator[Group]:
        yield from self.chunks

    @fact("ms", decimals=0)
    def frame(self) -> Quantity:
        """One encoder frame: ten milliseconds of features, shortened eightfold."""
        return FRAME

    @fact("s")
    def left_context(self) -> Quantity:
        return LEFT_FRAMES * FRAME

    @fact("point", decimals=1)
    def read_spread(self) -> Quantity:
        """Largest less smallest error rate on read speech, in percentage points."""
        errors = [chunk.error_read for chunk in self.chunks]
        return best(errors, "%", f"{self.path} cer") - least(errors, "%", f"{self.path} cer")

    @fact("1", decimals=0)
    def synthetic_voices(self) -> Quantity:
        wanted = key(MEASUREMENT, "cer", SUBJECT, audio="synthetic", right=0)
        return self.samples.configured(wanted, "recordings", "1")

    @fact("1", decimals=0)
    def read_sentences(self) -> Quantity:
        return self.samples.configured(key(MEASUREMENT, "cer", SUBJECT, audio="fleurs", right=0), "recordings", "1")
