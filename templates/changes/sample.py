"""What became of each sample from one run to another: changed, within the spread, gained, lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from measure.keys import parse_key
from measure.limits import Verdict
from measure.results import AnySample, Run
from templates.changes.spread import Spread, compare
from templates.facts.verdicts import Verdicts
from templates.units import DimensionalityError


class Kind(StrEnum):
    CHANGED = "changed"
    UNDECIDED = "undecided"
    """The medians differ, but there are too few repetitions to tell."""
    GAINED = "gained"
    """There was no valid value before."""
    LOST = "lost"
    """There is no valid value any more."""
    UNFIT = "unfit"
    """The units cannot be converted into each other."""
    STILL_NONE = "still_none"
    """No valid value in either, for another reason than before."""
    WITHIN = "within"


@dataclass(frozen=True, slots=True)
class Side:
    """What one run has under a key: a sample with its verdict, or the reason why there is none."""

    sample: AnySample | None
    state: str
    """accepted, suspect or rejected where there is a sample; else failed or not_run."""
    reason: str = ""
    """The rule that a suspect or rejected sample breaks, or the reason of a failure."""

    @property
    def spread(self) -> Spread | None:
        """The value with its interval; None where there is no valid one."""
        return Spread.of(self.sample) if self.sample and self.state != "rejected" else None


Setting = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Change:
    """One key of two runs. `after` is in the unit of `before` where both have a value."""

    key: str
    kind: Kind
    before: Side
    after: Side
    old: Spread | None
    new: Spread | None
    settings: dict[str, tuple[Setting, Setting]]
    """Settings of the measurement that differ, before and after: the values are then not of the same thing."""

    @property
    def ratio(self) -> float | None:
        """The later median over the earlier one."""
        return self.new.median / self.old.median if self.old and self.new and self.old.median else None


def changes(before: Run, after: Run, verdicts: Verdicts) -> list[Change]:
    """Every key of either run, first those that changed; left out is what both lack for the same reason."""
    old, new = verdicts.on(before), verdicts.on(after)
    found = (_change(text, _side(before, text, old), _side(after, text, new)) for text in _keys(before, after))
    order = list(Kind)
    return sorted((change for change in found if change), key=lambda change: order.index(change.kind))


def _keys(before: Run, after: Run) -> list[str]:
    """All keys; a failure to plan a measurement only where no sample of it exists, whose key would tell the same."""
    sampled = dict.fromkeys([*before.samples, *after.samples])
    measured = {parse_key(text).measurement for text in sampled}
    failed = [text for text in dict.fromkeys([*before.failures, *after.failures]) if text not in sampled]
    planned = [text for text in failed if (key := parse_key(text)).quantity == "plan" and key.measurement in measured]
    return [*sampled, *(text for text in failed if text not in planned)]


def _change(text: str, before: Side, after: Side) -> Change | None:
    old, new = before.spread, after.spread
    settings = dict(_settings(before.sample, after.sample))
    if not (old and new):
        same = (before.state, before.reason) == (after.state, after.reason)
        kind = Kind.LOST if old else Kind.GAINED if new else None if same else Kind.STILL_NONE
        return Change(text, kind, before, after, old, new, settings) if kind else None
    try:
        new = new.to(old.unit)
    except DimensionalityError:
        return Change(text, Kind.UNFIT, before, after, old, None, settings)
    return Change(text, Kind(compare(old, new).value), before, after, old, new, settings)


def _side(run: Run, text: str, verdicts: dict[str, Verdict]) -> Side:
    sample = run.samples.get(text)
    if sample is None:
        failure = run.failure(parse_key(text))
        return Side(None, "failed", failure.reason) if failure else Side(None, "not_run")
    verdict = verdicts[text]
    return Side(sample, verdict.status, "" if verdict.status == "accepted" else verdict.rule)


def _settings(before: AnySample | None, after: AnySample | None) -> Iterator[tuple[str, tuple[Setting, Setting]]]:
    """Settings that differ. A number with decimals is something that the measurement found, such as a first guess."""
    old, new = before.config if before else {}, after.config if after else {}
    for name in dict.fromkeys([*old, *new]) if before and after else ():
        pair = old.get(name), new.get(name)
        if pair[0] != pair[1] and not any(isinstance(value, float) for value in pair):
            yield name, pair
