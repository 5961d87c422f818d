"""Rules about the card's clock: a figure made while the card was held back is that of the cooling or the power supply.

A power cap alone is no fault: large cards reach theirs with every large matrix product. It shows in the clock.
"""

from __future__ import annotations

from measure.limits import thresholds
from measure.limits.case import Case, Status, Verdict

FAULTS = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
"""Reasons of NVML for a lower clock that a healthy card does not give."""


def throttled(case: Case) -> Verdict | None:
    """The driver says that heat or the power supply held the clock back."""
    told = case.text("throttle_reasons")
    if told is None:
        return None
    return Verdict("suspect" if set(told.replace(" ", "").split(",")) & set(FAULTS) else "accepted")


def clock_low(case: Case) -> Verdict | None:
    """The clock was far below what the card has, or fell while the repeats were made."""
    start, end, most = (case.number(f"clock_mhz_{name}") for name in ("start", "end", "max"))
    found = (_held(end, most, thresholds.CLOCK_LOW), _held(end, start, thresholds.CLOCK_FALLS))
    told = [verdict for verdict in found if verdict is not None]
    return next((verdict for verdict in told if verdict.status == "suspect"), told[0] if told else None)


def _held(clock: float | None, usual: float | None, share: float) -> Verdict | None:
    if clock is None or not usual:
        return None
    status: Status = "suspect" if clock < share * usual else "accepted"
    return Verdict(status, "", usual, clock / usual, "MHz", clock)
