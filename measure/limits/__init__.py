"""Verdicts: can a sample be true on its machine? Computed whenever results are read, and never stored.

A rule compares a sample with what its own run measured (bandwidth, matrix products), with others of its kind (other
lengths, other numbers of requests), with its own repeats, or with what its configuration says (`entries`). Rules know
nothing of single samples, and what a rule rejects is no limit for others. A rejected sample feeds nothing but facts
about its rejection; a suspect one is published with the doubt.
"""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from measure.keys import parse_key
from measure.limits.case import STATUSES, Case, Models, Sound, Status, Verdict
from measure.limits.entries import ENTRIES
from measure.limits.rules import RULES, Rule, Stage
from measure.results import Run

__all__ = ["ENTRIES", "RULES", "STATUSES", "Models", "Rule", "Stage", "Status", "Verdict", "advice", "verdicts"]


def verdicts(run: Run, models: Models | None = None) -> dict[str, Verdict]:
    """The verdict on every sample of a run, by key. With `models` the traffic of keys and values counts too."""
    kept, found = dict(run.samples), {text: list[Verdict]() for text in run.samples}
    for _, rules in groupby(RULES, key=lambda rule: rule.stage):
        stage, sound = list(rules), Sound(dict(kept))
        for text, sample in run.samples.items():
            made = _apply(stage, Case(parse_key(text), sample, run, sound, models))
            found[text] += made
            if any(verdict.status == "rejected" for verdict in made):
                kept.pop(text, None)
    return {text: _worst(made) for text, made in found.items()}


def _apply(rules: list[Rule], case: Case) -> list[Verdict]:
    """What those of the rules that apply find."""
    return [replace(verdict, rule=rule.name) for rule in rules if (verdict := rule.judge(case)) is not None]


def _worst(found: list[Verdict]) -> Verdict:
    """All findings as one verdict: the worst, the first of those as bad; of an accepted sample the nearest ceiling."""
    checked = tuple(verdict.rule for verdict in found)
    faults = sorted((each for each in found if each.status != "accepted"), key=lambda each: STATUSES.index(each.status))
    if faults:
        return replace(faults[0], also=tuple(faults[1:]), checked=checked)
    near = [verdict for verdict in found if verdict.rule in _CEILINGS]
    nearest = max(near, key=lambda verdict: verdict.factor or 0.0, default=Verdict("accepted"))
    return replace(nearest, checked=checked)


_CEILINGS = frozenset(rule.name for rule in RULES if rule.ceiling)


def advice(rule: str) -> str:
    """What to do about a sample that a rule found fault with, in English."""
    return next(entry.advice for entry in RULES if entry.name == rule)
