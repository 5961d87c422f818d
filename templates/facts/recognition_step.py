"""Facts about one step of streaming recognition: its parts, its kernels, its arithmetic, and windows in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates.facts.constants import TOKEN
from templates.facts.group import Group, fact
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.recognition_chunk import Chunk

WINDOWS = ("5.6", "8")
"""Seconds of the longer windows that are encoded again; the shortest is left context and chunk."""

PARTS = ("features", "encoder", "prompt", "rnnt")
"""Of a step, in the order in which they run."""


class ChunkStep(Group):
    """What the time of a step consists of, for one stream."""

    heading = "step"

    def __init__(self, chunk: Chunk) -> None:
        super().__init__(f"{chunk.path}.step")
        self.chunk = chunk

    def part(self, name: str) -> Quantity:
        """Time of one of `PARTS`, the device waited for after each."""
        return getattr(self, f"{name}_time")  # type: ignore[no-any-return]

    def _part(self, name: str, **told: str) -> Quantity:
        return self.chunk.get("step_part_time", "ms", part=name, **told)

    @fact("ms")
    def package_time(self) -> Quantity:
        """A step by the package's own function, which makes the same calls, timed in turn with the usual step."""
        return self.chunk.get("step_time", "ms", program="package")

    @fact("%", decimals=0)
    def package_ratio(self) -> Quantity:
        return self.package_time / self.chunk.step_time

    @fact("ms")
    def features_time(self) -> Quantity:
        return self._part("features")

    @fact("ms")
    def encoder_time(self) -> Quantity:
        return self._part("encoder")

    @fact("ms")
    def prompt_time(self) -> Quantity:
        """Mixing in the language."""
        return self._part("prompt")

    @fact("ms")
    def rnnt_time(self) -> Quantity:
        return self._part("rnnt")

    @fact("ms")
    def parts_time(self) -> Quantity:
        """All parts together, each waited for."""
        return self.features_time + self.encoder_time + self.prompt_time + self.rnnt_time

    @fact("ms")
    def whole_time(self) -> Quantity:
        """Steps made in turn with those in parts, and not waited for in between."""
        return self.chunk.noted("step_part_time", "whole_step_ms", "ms", part="encoder")

    @fact("times")
    def parts_ratio(self) -> Quantity:
        return self.parts_time / self.whole_time

    @fact("%", decimals=0)
    def encoder_share(self) -> Quantity:
        """Of the parts together."""
        return self.encoder_time / self.parts_time

    @fact("tok/s")
    def emitted(self) -> Quantity:
        """Tokens in a second of sound, as random weights emitted them while steps were timed."""
        return self.chunk.noted("step_time", "tokens_per_second", "tok/s")

    @fact("%", decimals=0)
    def emitting_share(self) -> Quantity:
        """Share of the frames that emitted a token, where one a frame is the most."""
        return self.emitted * self.chunk.recognition.frame / TOKEN

    @fact("ms")
    def rnnt_silent(self) -> Quantity:
        """The transducer when it never emits a token."""
        return self._part("rnnt", emission="none")

    @fact("ms")
    def rnnt_emitting(self) -> Quantity:
        """The transducer when it emits one on each frame."""
        return self._part("rnnt", emission="every")

    @fact("times")
    def emission_gain(self) -> Quantity:
        """How many times as long it takes with one on each frame as with none."""
        return self.rnnt_emitting / self.rnnt_silent

    @property
    def bounds_in_turn(self) -> bool:
        """Whether the transducer's steps as usual and at its bounds were made in turn."""
        return self.chunk.told("step_part_time", "steps_in_turn", "1", part="rnnt").measured

    @fact("ms")
    def step_kernels(self) -> Quantity:
        """Time of a step in which a kernel runs, as a profiler sees it."""
        return self.chunk.get("step_kernel_time", "ms")

    @fact("ms")
    def step_gaps(self) -> Quantity:
        return self.chunk.step_time - self.step_kernels

    @fact("%", decimals=0)
    def kernel_share(self) -> Quantity:
        return self.step_kernels / self.chunk.step_time

    @fact("1", decimals=0)
    def step_launched(self) -> Quantity:
        """Kernels in a step."""
        return self.chunk.noted("step_kernel_time", "kernels_per_step", "1")

    @fact("ms")
    def buffered_kernels(self) -> Quantity:
        return self.chunk.get("buffered_step_kernel_time", "ms")

    @fact("%", decimals=0)
    def buffered_kernel_share(self) -> Quantity:
        return self.buffered_kernels / self.chunk.buffered_time

    @fact("1", decimals=0)
    def buffered_launched(self) -> Quantity:
        return self.chunk.noted("buffered_step_kernel_time", "kernels_per_step", "1")

    @fact("ms")
    def graph_time(self) -> Quantity:
        """A step whose encoder is replayed from a CUDA graph, which the package does not do."""
        return self.chunk.get("step_time", "ms", encoder="graph")

    @property
    def graph_in_turn(self) -> bool:
        return self.chunk.in_turn("step_time", encoder="graph")

    @fact("times")
    def graph_gain(self) -> Quantity:
        return self.chunk.step_time / self.graph_time

    @fact("ms")
    def graph_encoder(self) -> Quantity:
        return self._part("encoder", encoder="graph")


class ChunkWork(Group):
    """What a step computes, encoder and prompt, as torch counts it, and how fast that is for the machine."""

    heading = "work"

    def __init__(self, chunk: Chunk) -> None:
        super().__init__(f"{chunk.path}.work")
        self.chunk = chunk

    @fact("GFLOP")
    def flops(self) -> Quantity:
        return self.chunk.get("step_flops", "GFLOP")

    @fact("GFLOP")
    def buffered_flops(self) -> Quantity:
        """When left context and chunk are encoded again."""
        return self.chunk.get("buffered_step_flops", "GFLOP")

    @fact("times", significant=2)
    def work_gain(self) -> Quantity:
        """How much less arithmetic a step with a cache has."""
        return self.buffered_flops / self.flops

    @fact("%", decimals=0)
    def time_of_work(self) -> Quantity:
        """Gain in time over the gain in arithmetic."""
        return self.chunk.cache_gain / self.work_gain

    @fact("%", decimals=0)
    def new_share(self) -> Quantity:
        """Share of a step's arithmetic that grows with the new frames; the rest is for old ones."""
        return self.chunk.recognition.frame_flops * self.chunk.new_frames / self.flops

    @fact("GFLOP")
    def kept_flops(self) -> Quantity:
        """With a cache of keys and values, as the model has it in transformers."""
        return self.chunk.get("step_flops", "GFLOP", cache="keys_values")

    @fact("times", significant=2)
    def kept_work_gain(self) -> Quantity:
        return self.flops / self.kept_flops

    @fact("ms")
    def kept_encoder(self) -> Quantity:
        """The encoder's part with such a cache."""
        return self.chunk.get("step_part_time", "ms", part="encoder", cache="keys_values")

    @fact("times", significant=2)
    def kept_time_gain(self) -> Quantity:
        return self.chunk.step.encoder_time / self.kept_encoder

    @fact("TFLOPS", significant=2)
    def compute(self) -> Quantity:
        """At which a step does its arithmetic."""
        return self.flops / self.chunk.step_time

    @fact("%", decimals=2)
    def compute_share(self) -> Quantity:
        """Of what the same run's best matrix product reaches."""
        return self.compute / self.chunk.recognition.compute_ceiling

    @fact("GB/s")
    def traffic(self) -> Quantity:
        """Weights read once a step."""
        return self.chunk.recognition.loaded / self.chunk.step_time

    @fact("%", decimals=1)
    def share(self) -> Quantity:
        """Of the same run's bandwidth."""
        return self.traffic / self.chunk.recognition.machine.bandwidth


class ChunkWindow(Group):
    """A longer window in place of a cache: the largest number of whole chunks in so many seconds."""

    heading = "window"

    def __init__(self, chunk: Chunk, seconds: str) -> None:
        super().__init__(f"{chunk.path}.window{seconds.replace('.', '_')}", seconds=seconds)
        self.chunk, self.seconds = chunk, seconds

    @fact("s")
    def window_length(self) -> Quantity:
        return self.chunk.told("buffered_step_flops", "window_s", "s", window=self.seconds)

    @fact("ms")
    def buffered_time(self) -> Quantity:
        return self.chunk.get("buffered_step_time", "ms", window=self.seconds)

    @property
    def in_turn(self) -> bool:
        return self.chunk.in_turn("buffered_step_time", window=self.seconds)

    @fact("GFLOP")
    def buffered_flops(self) -> Quantity:
        return self.chunk.get("buffered_step_flops", "GFLOP", window=self.seconds)

    @fact("1", decimals=0)
    def buffered_streams(self) -> Quantity:
        """Streams that keep up when such a window is encoded again; measured with the middle chunk."""
        return self.chunk.most_streams("buffered_streams", window=self.seconds)

    @fact("times", significant=2)
    def cache_gain(self) -> Quantity:
        return self.buffered_time / self.chunk.step_time

    @fact("times", significant=2)
    def work_gain(self) -> Quantity:
        return self.buffered_flops / self.chunk.work.flops
