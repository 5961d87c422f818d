"""Facts about the two synthesisers side by side."""

from __future__ import annotations

from templates.facts.group import Group, fact
from templates.facts.magpie import Magpie
from templates.facts.voxcpm import VoxCPM
from templates.quantity import Quantity


class SynthesisPair(Group):
    """VoxCPM2 beside Magpie."""

    heading = "synthesis"

    def __init__(self, path: str, voxcpm: VoxCPM, magpie: Magpie) -> None:
        super().__init__(path)
        self.voxcpm, self.magpie = voxcpm, magpie

    @fact("times", significant=2)
    def parameters_ratio(self) -> Quantity:
        return self.voxcpm.parameters / self.magpie.parameters

    @property
    def voxcpm_memory(self) -> tuple[Quantity, Quantity]:
        """VoxCPM2's memory, least and most: the most that tensors took, as Magpie's is, where that was measured."""
        peak = self.voxcpm.memory_peak
        return (peak, peak) if peak.measured else (self.voxcpm.memory_low, self.voxcpm.memory_high)

    @fact("times", significant=2)
    def memory_ratio_low(self) -> Quantity:
        return self.voxcpm_memory[0] / self.magpie.memory_high

    @fact("times", significant=2)
    def memory_ratio_high(self) -> Quantity:
        return self.voxcpm_memory[1] / self.magpie.memory_low

    @fact("times", significant=2)
    def steps_ratio(self) -> Quantity:
        """Patches over decoder steps, for as much sound."""
        return self.voxcpm.patches_per_second / self.magpie.steps_per_second

    @fact("times", significant=2)
    def step_ratio(self) -> Quantity:
        """The time of a patch over that of a decoder step."""
        return self.voxcpm.patch_time / self.magpie.published.one_step

    @fact("times", significant=2)
    def factor_ratio(self) -> Quantity:
        return self.voxcpm.real_time_factor / self.magpie.real_time_factor
