"""Facts about streaming recognition over all chunks: the model, its caches, its arithmetic, and its error rates."""

from __future__ import annotations

from collections.abc import Iterator

from measure.keys import Key, key
from templates.facts.group import Group, Over, fact
from templates.facts.machine import MachineFacts
from templates.facts.recognition_chunk import CARD, CARD_CHUNKS, FRAME, MEASUREMENT, Chunk
from templates.facts.recognition_errors import READ, SYNTHETIC
from templates.facts.samples import Samples
from templates.facts.table import Evidence
from templates.quantity import Kind, Quantity, Sampled, best, constant, least, missing

SUBJECT = "nemotron-0.6b-bf16"
"""The model that stands, unmeasured, where a run holds none."""

MIDDLE = 3
"""Right context of the middle chunk, which the others are held against."""

LEFT_FRAMES = constant(56, "1", "left_frames", CARD, Kind.CITED)
CARD_STREAMS = (80, 1120)
"""Chunks in ms for which the model card tells how many streams keep up."""


class Recognition(Group):
    """Nemotron 3.5 ASR Streaming over its settings."""

    heading = "recognition"

    def __init__(self, samples: Samples, evidence: Evidence, machine: MachineFacts) -> None:
        super().__init__(f"{samples.run_id}.nemotron")
        self.samples, self.evidence, self.machine = samples, evidence, machine
        self.subject = next((k.subject for k in samples.parsed if k.measurement == MEASUREMENT), SUBJECT)
        self.random_weights = samples.weights(MEASUREMENT) == {"random"}
        """Whether steps were timed with random weights, which recognise nothing."""
        self.chunks = [Chunk(self, right) for right in CARD_CHUNKS]
        self.over = Over(self.chunks)
        self.middle = self.chunks[list(CARD_CHUNKS).index(MIDDLE)]

    def parts(self) -> Iterator[Group]:
        yield from self.chunks

    def asked(self, wanted: Key, spelled: str) -> Quantity:
        """A sample. Where random weights were run, they are the reason why errors were not."""
        found = self.samples.get(wanted, spelled)
        if wanted.quantity not in ("cer", "wer") or found.measured or not self.random_weights:
            return found
        return missing(spelled, Sampled(self.samples.run_id, str(wanted)), "random_weights", str(wanted))

    @property
    def timed(self) -> list[Chunk]:
        """Chunks whose step was timed."""
        return [chunk for chunk in self.chunks if chunk.step_time.measured]

    @property
    def unsteady(self) -> list[Chunk]:
        """Chunks whose step was timed while its time changed too much."""
        return [chunk for chunk in self.timed if chunk.step_time.doubts]

    @property
    def counted(self) -> list[Chunk]:
        """Chunks whose length was counted in the package's buffer."""
        return [chunk for chunk in self.chunks if chunk.counted_length.measured]

    @property
    def parted(self) -> list[Chunk]:
        """Chunks whose step was timed part by part."""
        return [chunk for chunk in self.chunks if chunk.step.parts_time.measured]

    @property
    def packaged(self) -> list[Chunk]:
        """Chunks whose step was timed by the package's own function, too."""
        return [chunk for chunk in self.chunks if chunk.step.package_ratio.measured]

    @property
    def kept(self) -> list[Chunk]:
        """Chunks whose encoder was timed with keys and values kept, too."""
        return [chunk for chunk in self.chunks if chunk.work.kept_time_gain.measured]

    @property
    def profiled(self) -> list[Chunk]:
        """Chunks whose step was profiled or replayed from a CUDA graph; where none was, the middle one."""
        found = [c for c in self.chunks if c.step.kernel_share.measured or c.step.graph_gain.measured]
        return found or [self.middle]

    @property
    def heard(self) -> list[Chunk]:
        """Chunks with which recordings were recognised."""
        return [c for c in self.chunks if c.errors.error_synthetic.measured or c.errors.error_read.measured]

    @property
    def scored(self) -> list[Chunk]:
        """Those for which more than the character error rate of streamed sound is known."""
        return [c for c in self.heard if c.errors.words_read.measured or c.errors.words_synthetic.measured]

    @property
    def card_streams(self) -> list[tuple[Quantity, Quantity, Quantity]]:
        """Chunk, streams with a cache, and streams of a larger model with buffers, as the vendor tells them."""
        chunks = [chunk for chunk in self.chunks if chunk.card_ms in CARD_STREAMS]
        names = ("card_streams", "card_buffered")
        return [(c.card_length, *(getattr(self.evidence, f"{name}_{c.card_ms}") for name in names)) for c in chunks]

    @fact("ms", decimals=0)
    def frame(self) -> Quantity:
        """One encoder frame: ten milliseconds of features, shortened eightfold."""
        return FRAME

    @fact("s")
    def left_context(self) -> Quantity:
        return LEFT_FRAMES * FRAME

    @fact("GiB")
    def loaded(self) -> Quantity:
        return self.asked(key(MEASUREMENT, "loaded_weights", self.subject), "GiB")

    @fact("param")
    def parameters(self) -> Quantity:
        return self.asked(key(MEASUREMENT, "parameters", self.subject), "param")

    @fact("MiB")
    def cache_memory(self) -> Quantity:
        """Caches of one stream."""
        return self.asked(key(MEASUREMENT, "cache_memory", self.subject), "MiB")

    @fact("ms")
    def read_time(self) -> Quantity:
        """Reading the weights once at the measured bandwidth."""
        return self.loaded / self.machine.bandwidth

    @property
    def compute_ceiling(self) -> Quantity:
        return self.machine.compute_in(self.subject.rpartition("-")[2])

    @fact("GFLOP")
    def frame_flops(self) -> Quantity:
        """By how much a step's arithmetic grows with one more new frame, from the smallest chunk to the largest."""
        first, last = self.chunks[0], self.chunks[-1]
        return (last.work.flops - first.work.flops) / (last.frames - first.frames)

    @fact("times", significant=2)
    def work_gain_low(self) -> Quantity:
        return least([chunk.work.work_gain for chunk in self.chunks], "1", f"{self.path} work_gain")

    @fact("times", significant=2)
    def work_gain_high(self) -> Quantity:
        return best([chunk.work.work_gain for chunk in self.chunks], "1", f"{self.path} work_gain")

    @fact("times", significant=2)
    def cache_gain_low(self) -> Quantity:
        return least([chunk.cache_gain for chunk in self.chunks], "1", f"{self.path} cache_gain")

    @fact("times", significant=2)
    def cache_gain_high(self) -> Quantity:
        return best([chunk.cache_gain for chunk in self.chunks], "1", f"{self.path} cache_gain")

    @fact("point", decimals=1)
    def read_spread(self) -> Quantity:
        """Largest less smallest error rate on read speech, in percentage points."""
        errors = [chunk.errors.error_read for chunk in self.chunks]
        return best(errors, "%", f"{self.path} cer") - least(errors, "%", f"{self.path} cer")

    @fact("1", decimals=0)
    def synthetic_voices(self) -> Quantity:
        return self.samples.configured(self.chunks[0].key("cer", audio=SYNTHETIC), "recordings", "1")

    @fact("1", decimals=0)
    def read_sentences(self) -> Quantity:
        return self.samples.configured(self.chunks[0].key("cer", audio=READ), "recordings", "1")
