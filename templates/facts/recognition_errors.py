"""Facts about what a recogniser gets wrong with one chunk: error rates of recordings, and empty outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates.facts.group import Group, fact
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.recognition_chunk import Chunk

SYNTHETIC, READ = "synthetic", "fleurs"
"""Labels of the recordings: synthetic voices, and sentences of FLEURS that people read."""


class ChunkErrors(Group):
    """Character and word error rates on synthetic voices and on read speech."""

    heading = "errors"

    def __init__(self, chunk: Chunk) -> None:
        super().__init__(f"{chunk.path}.errors")
        self.chunk = chunk

    def _rate(self, quantity: str, audio: str, **told: str) -> Quantity:
        return self.chunk.get(quantity, "%", audio=audio, **told)

    def _empty(self, audio: str) -> Quantity:
        """Recordings for which nothing came out; without an error rate, for the reason why there is none."""
        rate = self._rate("cer", audio)
        return self.chunk.noted("cer", "empty_outputs", "1", audio=audio) if rate.measured else rate

    @property
    def card(self) -> Quantity:
        """The model card's error rate for this chunk."""
        return getattr(self.chunk.evidence, f"card_cer_{self.chunk.card_ms}")  # type: ignore[no-any-return]

    @fact("%", decimals=1)
    def error_synthetic(self) -> Quantity:
        """Character error rate on synthetic voices."""
        return self._rate("cer", SYNTHETIC)

    @fact("%", decimals=1)
    def error_read(self) -> Quantity:
        """Character error rate on read FLEURS sentences."""
        return self._rate("cer", READ)

    @fact("1", decimals=0)
    def empty_synthetic(self) -> Quantity:
        """Recordings of synthetic voices for which nothing came out."""
        return self._empty(SYNTHETIC)

    @fact("1", decimals=0)
    def empty_read(self) -> Quantity:
        return self._empty(READ)

    @fact("point", decimals=1)
    def loss(self) -> Quantity:
        """Error rate on synthetic voices beyond that of the middle chunk, in percentage points."""
        return self.error_synthetic - self.chunk.recognition.middle.errors.error_synthetic

    @fact("%", decimals=1)
    def unspaced_synthetic(self) -> Quantity:
        """Character error rate with the spaces left out."""
        return self._rate("cer", SYNTHETIC, spaces="without")

    @fact("%", decimals=1)
    def unspaced_read(self) -> Quantity:
        return self._rate("cer", READ, spaces="without")

    @fact("%", decimals=1)
    def words_synthetic(self) -> Quantity:
        """Word error rate."""
        return self._rate("wer", SYNTHETIC)

    @fact("%", decimals=1)
    def words_read(self) -> Quantity:
        return self._rate("wer", READ)

    @fact("%", decimals=1)
    def whole_synthetic(self) -> Quantity:
        """Character error rate when each recording is encoded at once, with the look-ahead's mask."""
        return self._rate("cer", SYNTHETIC, input="whole")

    @fact("%", decimals=1)
    def whole_read(self) -> Quantity:
        return self._rate("cer", READ, input="whole")
