"""What the page of comparison concludes from all runs at once, as predicates over all that decoded.

They belong to no edition: `claims.CLAIMS` are what each of these tests anew.
"""

from __future__ import annotations

from collections.abc import Callable

from templates.all_runs import AllRuns
from templates.truth import Claim, Outcome, Truth, at_least, below, every

PATH = "all_runs"


def fast_memory_unused(e: AllRuns) -> Truth:
    """On a machine with fast memory, every small model takes up less than most of the bandwidth."""
    return every((below(point.share, e.thresholds.most) for point in e.small_on_fast), PATH)


def slow_memory_used(e: AllRuns) -> Truth:
    """On a machine without fast memory, every model takes up most of the bandwidth with the best of its engines."""
    return every((at_least(point.share, e.thresholds.most) for point in e.best_on_slow), PATH)


CLAIMS: dict[str, Callable[[AllRuns], Truth]] = {
    "fast_memory_unused": fast_memory_unused,
    "slow_memory_used": slow_memory_used,
}


def judge(e: AllRuns, force: dict[str, Outcome] | None = None) -> dict[str, Claim]:
    """All of them by name. `force` sets outcomes, for tests that read every sentence."""
    return {name: Claim(name, predicate(e), (force or {}).get(name)) for name, predicate in CLAIMS.items()}
