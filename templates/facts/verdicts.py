"""The verdicts on runs: each run is judged once, for all editions and comparisons that ask."""

from __future__ import annotations

from measure import limits, models
from measure.limits import Verdict
from measure.results import Run


class Verdicts:
    """Verdicts by run; they last as long as the editions that share them."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Run, dict[str, Verdict]]] = {}
        """By identity: runs of two files may share an id. The run is kept, so that no other takes its place."""

    def on(self, run: Run) -> dict[str, Verdict]:
        """The verdict on every sample of a run, by key."""
        if id(run) not in self._found:
            self._found[id(run)] = run, limits.verdicts(run, models)
        return self._found[id(run)][1]
