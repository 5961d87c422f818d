"""The rule about the process that measured."""

from __future__ import annotations

from measure.limits.case import SLOWER, Case, Verdict


def profiler_loaded(case: Case) -> Verdict | None:
    """A profiler had been started in the process, which slows each launch of a kernel from then on."""
    told = case.entry("profiler_loaded")
    if not isinstance(told, bool) or case.sample.unit not in SLOWER:
        return None
    return Verdict("suspect" if told else "accepted")
