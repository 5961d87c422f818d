"""Which claims come out differently when one run stands where another stood in an edition of the article."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from measure.results import Results, Run
from templates import claims, config
from templates.config import Told
from templates.facts.edition import Edition
from templates.facts.verdicts import Verdicts
from templates.truth import Claim, Outcome


@dataclass(frozen=True, slots=True)
class Turn:
    """A claim whose outcome is another one afterwards."""

    before: Claim
    after: Claim

    @property
    def name(self) -> str:
        return self.after.name

    @property
    def flips(self) -> bool:
        """Whether it held and is refuted now, or the other way round; else one of the two could not be said."""
        return Outcome.UNDECIDED not in (self.before.outcome, self.after.outcome)

    @property
    def unmeasured(self) -> bool:
        """Whether one of the two could not be said for want of a measurement; a sample that was rejected is none."""
        missing = {absence.reason for side in (self.before, self.after) for absence in side.truth.absences}
        return bool(missing) and "rejected" not in missing


def turns(before: dict[str, Claim], after: dict[str, Claim]) -> list[Turn]:
    """Claims with another outcome, those that flip first."""
    found = [Turn(before[name], after[name]) for name in after if before[name].outcome is not after[name].outcome]
    return sorted(found, key=lambda turn: not turn.flips)


def telling(run_id: str) -> dict[str, Told]:
    """The editions that a run tells a part of, by name."""
    return {name: told for name, told in config.editions().items() if run_id in told.runs}


def composed(run_id: str) -> Told:
    """An edition told by one run alone."""
    return Told(run_id, run_id, run_id, run_id)


def judged(
    results: Results, edition: str, told: Told, seat: str, run: Run, verdicts: Verdicts | None = None
) -> dict[str, Claim]:
    """The claims of an edition with `run` in the place of the run `seat`."""
    others = [other for other in results.runs if other.id != run.id]
    return claims.judge(Edition(edition, told.seating(run.id, seat), Results([*others, run]), verdicts))


def of_two(results: Results, before: Run, after: Run, verdicts: Verdicts) -> Iterator[tuple[str, list[Turn]]]:
    """For each edition that tells `before`, else `after`, its name and its claims that turn if `after` tells it.

    Where no edition tells either, one is made of each run alone; its name is "".
    """
    told = {name: (entry, before.id) for name, entry in telling(before.id).items()}
    told = told or {name: (entry, after.id) for name, entry in telling(after.id).items()}
    for name, (entry, seat) in (told or {"": (composed(before.id), before.id)}).items():
        old, new = (judged(results, name or seat, entry, seat, run, verdicts) for run in (before, after))
        yield name, turns(old, new)
