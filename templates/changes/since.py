"""What an executed run changed against the one before it on the same machine; the same in every language."""

from __future__ import annotations

from dataclasses import dataclass

from measure.results import Run
from templates.changes import claim, machine, sample
from templates.changes.claim import Turn
from templates.changes.machine import Differences
from templates.changes.sample import Change
from templates.facts.edition import Edition
from templates.truth import Claim


@dataclass(frozen=True)
class Since:
    """A comparison with the run before."""

    before: Run
    changes: list[Change]
    installed: Differences
    """Versions, driver and system that differ."""
    turns: list[Turn]
    """Claims of the edition that come out otherwise."""


def since(run: Run, edition: Edition, claims: dict[str, Claim]) -> Since | None:
    """The comparison of a run with the one before it, or None if it is the first; `claims` are those of its edition."""
    before = machine.earlier(run, edition.results.runs)
    if before is None:
        return None
    earlier = claim.judged(edition.results, edition.id, edition.told, run.id, before, edition.verdicts)
    changes = sample.changes(before, run, edition.verdicts)
    return Since(before, changes, machine.installed(before, run), claim.turns(earlier, claims))
