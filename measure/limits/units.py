"""Rules about units: thousands of 1,000 and of 1,024, bits and bytes, copies counted one way and both ways."""

from __future__ import annotations

from measure.limits import thresholds
from measure.limits.case import BYTES, Case, Status, Verdict, is_narrow

MISTAKES: tuple[tuple[float, Status], ...] = ((1.024**3, "suspect"), (1.024**2, "suspect"), (8.0, "rejected"))
"""GiB for GB, MiB for MB, bits for bytes: how far each is off, either way. A few percent may have other causes."""


def unit_mistaken(case: Case) -> Verdict | None:
    """Weights are off the model's own size by exactly what a mistaken unit makes."""
    if case.key.quantity != "loaded_weights" or case.sample.unit not in BYTES:
        return None
    expected = _expected(case)
    if expected is None:
        return None
    scale = BYTES[case.sample.unit]
    stated = case.sample.median * scale
    found = [status for mistake, status in MISTAKES if _matches(stated / expected, mistake, thresholds.UNIT_MATCH)]
    return Verdict(
        found[0] if found else "accepted", "", expected / scale, stated / expected, case.sample.unit, case.sample.median
    )


def _expected(case: Case) -> float | None:
    """Bytes of the model's weights. None where engines leave some weights at 16 bits, or the model is not known.

    Nor of several cards together: each holds the norms, and heads of keys and values that are fewer than the cards.
    """
    several = max(case.cards, case.cards_named) > 1
    if case.models is None or several or is_narrow(case.key.subject.rpartition("-")[2]):
        return None
    try:
        return case.models.weight_bytes(case.key.subject)
    except (KeyError, ValueError):
        return None


def copy_counted(case: Case) -> Verdict | None:
    """A copy reads and writes: counted one way it seems half as fast as reading, counted twice over twice as fast."""
    if (case.key.measurement, case.key.quantity) != ("bandwidth", "copy"):
        return None
    reading = case.sound.best("bandwidth", "sum", "triad")
    if reading is None:
        return None
    factor = case.sample.median / case.cards / reading.value
    status: Status = "accepted"
    if _matches(factor, 2.0, thresholds.COPY_MATCH):
        # Twice over makes a limit that lets everything pass; one way makes none, since reading is the better one.
        status = "rejected" if factor > 1 else "suspect"
    return Verdict(status, "", reading.value, factor, "GB/s", case.sample.median / case.cards, (reading.key,))


def _matches(factor: float, mistake: float, within: float) -> bool:
    """Whether a quotient is that of a mistake, one way or the other."""
    return any(1 / within <= factor / exact <= within for exact in (mistake, 1 / mistake))
