"""The card's clock while something is timed, and why the driver held it back: asked of NVML before and after.

What it tells goes into a sample's configuration under the names of `measure.limits.entries`. Without an NVIDIA card
and its driver's library it tells nothing. Does not import torch.
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from measure.machine import library

REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
"""Bits of nvmlDeviceGetCurrentClocksThrottleReasons and the names of nvml.h, in small letters."""

_SM = 1
"""NVML_CLOCK_SM of nvml.h."""

_BUS_ID_LENGTH = 32


class Reading(NamedTuple):
    """The card at one moment."""

    mhz: int
    reasons: int
    """Bits of REASONS."""


class Watch:
    """The clock over the repeats of a sample."""

    def __init__(self, device: str) -> None:
        self._card = card() if device == "cuda" else None
        self.begun: Reading | None = None
        self.ended: Reading | None = None

    def begin(self) -> None:
        """To be called ahead of the last warm-up: asking takes a millisecond or two, in which the card idles."""
        self.begun = read(self._card)

    def end(self) -> None:
        """To be called right after the last repeat."""
        self.ended = read(self._card)

    @property
    def config(self) -> dict[str, str | int]:
        """What a sample's configuration says of the clock; nothing where no card told."""
        if self._card is None or self.begun is None or self.ended is None:
            return {}
        most = _number("nvmlDeviceGetMaxClockInfo", self._card, _SM)
        told = {"clock_mhz_start": self.begun.mhz, "clock_mhz_end": self.ended.mhz, "clock_mhz_max": most}
        known: dict[str, str | int] = {name: mhz for name, mhz in told.items() if mhz}
        return {**known, "throttle_reasons": named(self.begun.reasons | self.ended.reasons)}


def named(reasons: int) -> str:
    """Names of the bits that are set, joined by commas; an idle card is no held one."""
    found = [name for bit, name in REASONS.items() if reasons & bit and name != "gpu_idle"]
    return ",".join(found) or "none"


def read(handle: ctypes.c_void_p | None) -> Reading | None:
    """The card's clock and reasons now; None without a card, or where the driver does not tell its clock."""
    nvml = _nvml()
    if handle is None or nvml is None:
        return None
    mhz, reasons = _number("nvmlDeviceGetClockInfo", handle, _SM), ctypes.c_ulonglong()
    refused = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons))
    return Reading(mhz, 0 if refused else reasons.value) if mhz else None


@functools.cache
def card() -> ctypes.c_void_p | None:
    """NVML's handle of the first card that this process may use; None without one.

    Found by its address on the bus, since NVML numbers all cards of the host and CUDA only those that it may use.
    """
    cuda, nvml = library("libcuda.so.1", "nvcuda.dll"), _nvml()
    first, handle, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(_BUS_ID_LENGTH)
    if cuda is None or nvml is None or cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(first), 0):
        return None
    if cuda.cuDeviceGetPCIBusId(address, _BUS_ID_LENGTH, first) or nvml.nvmlInit_v2():
        return None
    return None if nvml.nvmlDeviceGetHandleByPciBusId_v2(address, ctypes.byref(handle)) else handle


@functools.cache
def _nvml() -> ctypes.CDLL | None:
    return library("libnvidia-ml.so.1", "nvml.dll")


def _number(function: str, handle: ctypes.c_void_p, which: int) -> int:
    """A number that NVML tells of one clock; 0 where it does not."""
    told = ctypes.c_uint()
    return 0 if getattr(_nvml(), function)(handle, which, ctypes.byref(told)) else told.value
