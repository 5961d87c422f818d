"""Facts about VoxCPM2 as it streams: when its chunks come, what the first one waits for, what streaming adds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from measure.keys import key
from templates.facts.group import Group, fact
from templates.facts.patch import BEFORE_SOUND, Parts
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.voxcpm import VoxCPM

ONCE = ("tokenising", "prefill", "cache_clearing")
"""Parts of the fixed time that come before the first patch."""


class Streaming(Group):
    """Chunks of one patch each, one after another."""

    heading = "streaming"

    def __init__(self, voxcpm: VoxCPM) -> None:
        super().__init__(f"{voxcpm.path}.streaming")
        self.voxcpm = voxcpm
        self.patch = Parts(voxcpm, mode="streaming")

    def parts(self) -> Iterator[Group]:
        yield self.patch

    @fact("ms")
    def gap(self) -> Quantity:
        """Time from one chunk to the next."""
        return self.voxcpm.get("chunk_gap", "ms")

    @fact("ms")
    def longest_gap(self) -> Quantity:
        wanted = key(self.voxcpm.measurement, "chunk_gap", self.voxcpm.subject)
        return self.voxcpm.samples.noted(wanted, "longest_ms", "ms")

    @fact("ms")
    def underrun(self) -> Quantity:
        """How long a player that starts with the first chunk has nothing to play, in a stream."""
        return self.voxcpm.get("underrun", "ms")

    @fact("times")
    def slower(self) -> Quantity:
        """A patch that is streamed over one of a whole utterance."""
        return self.gap / self.voxcpm.steps[0].patch_time

    @fact("ms")
    def extra(self) -> Quantity:
        """What streaming adds to a patch."""
        return self.gap - self.voxcpm.steps[0].patch_time

    @fact("%", decimals=0)
    def over_estimate(self) -> Quantity:
        """The first sound as it was timed over the estimate: the whole fixed time and one patch."""
        return self.voxcpm.first_audio_timed / self.voxcpm.first_audio

    @fact("ms")
    def before_sound(self) -> Quantity:
        """The parts that come before the first sound, together."""
        once = [part for part in self.voxcpm.fixed_parts if part.name in ONCE]
        return reduce(add, [part.part_time for part in (*once, *map(self.patch.part, BEFORE_SOUND))])
