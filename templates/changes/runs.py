"""Two runs compared as a whole, and what it comes to as text and as plain data, for the command `diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from measure.results import Results, Run
from templates import formats
from templates.changes import claim, machine, sample, spread
from templates.changes.claim import Turn
from templates.changes.machine import Differences
from templates.changes.sample import Change, Kind, Side
from templates.changes.spread import Spread
from templates.facts.verdicts import Verdicts
from templates.labels import Labels

SHORT = 4
"""Significant figures of a printed value."""


@dataclass(frozen=True)
class Diff:
    """What changed from one run to another."""

    before: Run
    after: Run
    machines: Differences
    versions: Differences
    changes: list[Change]
    claims: dict[str, list[Turn]]
    """Claims that come out differently, by edition; "" is an edition of each run alone."""

    def of(self, kind: Kind) -> list[Change]:
        """The samples of one kind."""
        return [change for change in self.changes if change.kind is kind]


def diff(results: Results, before: Run, after: Run) -> Diff:
    """Compare two runs; `results` has the other runs of the editions that they tell."""
    verdicts = Verdicts()
    return Diff(
        before,
        after,
        machine.unlike(before, after),
        machine.installed(before, after),
        sample.changes(before, after, verdicts),
        dict(claim.of_two(results, before, after, verdicts)),
    )


# As text

TOLD = (Kind.CHANGED, Kind.UNDECIDED, Kind.GAINED, Kind.LOST, Kind.UNFIT, Kind.STILL_NONE)
"""Kinds whose samples are told one by one, in this order."""


def text(found: Diff) -> Iterator[str]:
    """The lines that the command prints, in English."""
    labels = Labels("en")
    yield f"before: {_run(found.before)}"
    yield f"after:  {_run(found.after)}"
    yield from (f"machine, {name}: {_pair(pair)}" for name, pair in found.machines.items())
    yield from (f"version, {name}: {_pair(pair)}" for name, pair in found.versions.items())
    for kind in TOLD:
        if members := found.of(kind):
            yield f"\n{labels.get('change', kind.value)}: {len(members)}"
            yield from (f"  {line}" for change in members for line in _change(change, labels))
    yield f"\n{labels.get('change', Kind.WITHIN.value)}: {len(found.of(Kind.WITHIN))}"
    for edition, turns in found.claims.items():
        yield from _claims(edition, turns, labels)


def _run(run: Run) -> str:
    return f"{run.id}, {run.machine.name}, {run.started[:10]}, {len(run.samples)} samples"


def _pair(pair: tuple[object, object]) -> str:
    """Before and after; a value that one does not tell is a dash."""
    return " → ".join("–" if value in ("", None) else str(value) for value in pair)


def _change(change: Change, labels: Labels) -> Iterator[str]:
    ratio = "" if change.ratio is None else f", × {formats.number(change.ratio, 'en', significant=SHORT)}"
    yield f"{change.key}: {_side(change.before, labels)} → {_side(change.after, labels)}{ratio}"
    for name, pair in change.settings.items():
        yield f"  setting, {name}: {_pair(pair)}"


def _side(side: Side, labels: Labels) -> str:
    if side.spread:
        doubt = f" (suspect: {side.reason})" if side.state == "suspect" else ""
        return said(side.spread, "en") + doubt
    if side.state == "rejected":
        return f"rejected ({side.reason})"
    return labels.get("reason", side.reason or side.state)


def said(value: Spread, language: str) -> str:
    """A median with its unit, and its interval in brackets where it has one."""
    told = formats.quantity(value.median, value.unit, language, significant=SHORT)
    if value.low == value.high:
        return told
    ends = (formats.number(end, language, significant=SHORT) for end in (value.low, value.high))
    return f"{told} [{' … '.join(ends)}]"


def _claims(edition: str, turns: list[Turn], labels: Labels) -> Iterator[str]:
    where = f"edition {edition!r}" if edition else "an article of each run alone"
    told = [turn for turn in turns if not turn.unmeasured]
    flipped = sum(turn.flips for turn in told)
    yield f"\nclaims in {where}: {flipped} flip, {len(told) - flipped} become or cease to be decided"
    for turn in told:
        before, after = (labels.get("outcome", side.outcome.value) for side in (turn.before, turn.after))
        flips = "flips" if turn.flips else "turns"
        yield f"  {flips}: {labels.get('claim', turn.name)}: {_pair((before, after))}"
    if len(told) < len(turns):
        yield f"  can be said of one run alone, as the other did not measure what it takes: {len(turns) - len(told)}"


# As plain data


def described(found: Diff) -> dict[str, Any]:
    """Everything that was found, as JSON takes it."""
    counts = Counter(change.kind.value for change in found.changes)
    return {
        "before": _described_run(found.before),
        "after": _described_run(found.after),
        "same_machine": not found.machines,
        "machine": {name: list(pair) for name, pair in found.machines.items()},
        "versions": {name: list(pair) for name, pair in found.versions.items()},
        "rule": {"least_difference": spread.threshold(), "chance": spread.CHANCE},
        "counts": {kind.value: counts[kind.value] for kind in Kind},
        "samples": [_described_change(change) for change in found.changes],
        "claims": {edition: [_described_turn(turn) for turn in turns] for edition, turns in found.claims.items()},
    }


def _described_run(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "kind": run.kind,
        "machine": run.machine.name,
        "started": run.started,
        "samples": len(run.samples),
        "failures": len(run.failures),
    }


def _described_change(change: Change) -> dict[str, Any]:
    return {
        "key": change.key,
        "kind": change.kind.value,
        "before": _described_side(change.before, change.old),
        "after": _described_side(change.after, change.new),
        "ratio": change.ratio,
        "settings": {name: list(pair) for name, pair in change.settings.items()},
    }


def _described_side(side: Side, value: Spread | None) -> dict[str, Any]:
    told: dict[str, Any] = {"state": side.state, "reason": side.reason or None}
    if value is None:
        return told
    measured = {"median": value.median, "low": value.low, "high": value.high, "unit": value.unit}
    return told | measured | {"repeats": value.repeats or None}


def _described_turn(turn: Turn) -> dict[str, Any]:
    return {
        "claim": turn.name,
        "statement": Labels("en").get("claim", turn.name),
        "before": turn.before.outcome.value,
        "after": turn.after.outcome.value,
        "flips": turn.flips,
        "unmeasured": turn.unmeasured,
    }
