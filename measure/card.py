"""What an NVIDIA card tells of itself while it works: clock, power, energy, free memory, and what holds it back.

Asks the driver's management library, so that an engine without torch can be watched, and a process that must not open
the card itself (a parent of the engine's own processes) can watch it too. Reads only; no setting is ever changed.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
from typing import NamedTuple

from measure import machine

_SM_CLOCK = 1
"""NVML_CLOCK_SM of nvml.h."""

REASONS = {
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
"""Bits of nvmlDeviceGetCurrentClocksThrottleReasons by which a card runs slower than it could, as nvml.h names them."""


class Reading(NamedTuple):
    """One look at the card; None for what it does not tell."""

    sm_clock_mhz: int | None = None
    power_w: float | None = None
    energy_j: float | None = None
    """Used since the driver was loaded: a difference of two readings is what was used between them."""
    reasons: tuple[str, ...] = ()
    """What keeps the clock down at this moment."""
    highest_clock_mhz: int | None = None
    """The most that the clock can be."""


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Card:
    """A card that this process may use, the first if no other is named; where there is none, one that tells nothing."""

    def __init__(self, number: int = 0) -> None:
        self._library = machine.management_library()
        self._handle = ctypes.c_void_p()
        if not self._find(number):
            self._library = None

    def _find(self, number: int) -> bool:
        count = ctypes.c_uint()
        if self._library is None or not self._ask("nvmlDeviceGetCount_v2", ctypes.byref(count)):
            return False
        if count.value == 1:
            return self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(self._handle))
        return self._ask("nvmlDeviceGetHandleByPciBusId_v2", _address(number), ctypes.byref(self._handle))

    def read(self) -> Reading:
        """Look at the card now."""
        clock, highest, power = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        energy, reasons = ctypes.c_ulonglong(), ctypes.c_ulonglong()
        has_clock = self._of_card("nvmlDeviceGetClockInfo", ctypes.c_uint(_SM_CLOCK), ctypes.byref(clock))
        has_highest = self._of_card("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(_SM_CLOCK), ctypes.byref(highest))
        has_power = self._of_card("nvmlDeviceGetPowerUsage", ctypes.byref(power))
        has_energy = self._of_card("nvmlDeviceGetTotalEnergyConsumption", ctypes.byref(energy))
        self._of_card("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.byref(reasons))
        return Reading(
            clock.value if has_clock else None,
            power.value / 1e3 if has_power else None,
            energy.value / 1e3 if has_energy else None,
            tuple(name for bit, name in REASONS.items() if reasons.value & bit),
            highest.value if has_highest else None,
        )

    def free_bytes(self) -> int | None:
        """Memory of the card that no process uses, or None where it does not tell."""
        memory = _Memory()
        return int(memory.free) if self._of_card("nvmlDeviceGetMemoryInfo", ctypes.byref(memory)) else None

    def _of_card(self, function: str, *arguments: object) -> bool:
        return self._library is not None and self._ask(function, self._handle, *arguments)

    def _ask(self, function: str, *arguments: object) -> bool:
        try:
            return bool(getattr(self._library, function)(*arguments) == 0)
        except AttributeError:  # an older driver
            return False


class Watch:
    """The card over the repeats of a sample. Of a device that is no NVIDIA card it tells nothing."""

    def __init__(self, device: str, number: int = 0) -> None:
        self._card = Card(number) if device == "cuda" else None
        self._begun: Reading | None = None
        self._ended: Reading | None = None

    def begin(self) -> None:
        """To be called ahead of the last warm-up: asking takes a millisecond or two, in which the card idles."""
        self._begun = self._card.read() if self._card else None

    def end(self) -> None:
        """To be called right after the last repeat."""
        self._ended = self._card.read() if self._card else None

    @property
    def config(self) -> dict[str, str | int | float]:
        """What a sample's configuration says of the card; nothing until the watch has ended."""
        return told(self._begun, self._ended) if self._begun and self._ended else {}


@functools.cache
def _address(number: int = 0) -> bytes:
    """Asked in a process of its own, since asking opens the card."""
    command = [
        sys.executable,
        "-c",
        "import sys; from measure import machine; sys.stdout.buffer.write(machine.card_address(int(sys.argv[1])))",
        str(number),
    ]
    return subprocess.run(command, capture_output=True, check=False).stdout


def told(before: Reading, after: Reading) -> dict[str, str | int | float]:
    """What a sample's configuration says of the card before and after; nothing of what the card does not tell."""
    held = dict.fromkeys((*before.reasons, *after.reasons))
    values = {
        "clock_mhz_start": before.sm_clock_mhz,
        "clock_mhz_end": after.sm_clock_mhz,
        "clock_mhz_max": after.highest_clock_mhz,
        "throttle_reasons": None if after.sm_clock_mhz is None else ",".join(held) or "none",
        "power_w_before": before.power_w,
        "power_w_after": after.power_w,
    }
    return {name: value for name, value in values.items() if value is not None}
