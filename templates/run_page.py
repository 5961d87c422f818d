"""What the page of an executed run tells: what was measured, what changed, what the article concludes from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from markupsafe import Markup

from measure.keys import parse_key
from measure.results import Run
from templates import description, formats
from templates.changes import machine
from templates.changes.claim import Turn
from templates.changes.machine import Differences
from templates.changes.sample import Change, Kind, Setting, Side
from templates.changes.since import Since, since
from templates.facts.edition import Edition
from templates.html import element, joined, plain
from templates.quantity import Constant, Origin, Sampled
from templates.truth import Claim, Outcome
from templates.voice import Voice

FIGURES = 4
"""Significant figures of a value in a table of changes."""

GROUPS = ("turned", "decided", "open", "same", "neither")
"""How the outcome of a claim stands to that in the first edition, in the order of the page."""


class Row(NamedTuple):
    """A claim with its outcome in the first edition and in the run's."""

    statement: str
    there: Markup
    here: Markup


class Executed(NamedTuple):
    """An executed run with what its page tells in every language."""

    run: Run
    since: Since | None
    """What it changed, where there is a run before it."""
    resting: list[str]
    """Names of the claims that rest on it."""


def executed(run: Run, edition: Edition, claims: dict[str, Claim]) -> Executed:
    """A run of an edition with these claims."""
    resting = [name for name, claim in claims.items() if rests_on(claim, run)]
    return Executed(run, since(run, edition, claims), resting)


class RunPage:
    """The names that the template of a run's page uses."""

    def __init__(
        self,
        told: Executed,
        edition: Edition,
        here: dict[str, Claim],
        there: tuple[str, dict[str, Claim]],
        voice: Voice,
    ) -> None:
        self.run, self.since, self.resting = told
        self.edition, self.voice = edition, voice
        self.first, self.there = there
        """The edition that claims are held against, and its claims."""
        self.here = here

    def names(self) -> dict[str, Any]:
        """All of them."""
        return {
            "run": self.run,
            "description": Markup(self._description()),
            "first": self.first,
            "rows": list(self._rows()),
            "measurements": list(self._measurements()),
            "failures": list(self._failures()),
            "before": self.since and self.since.before,
            **(self._compared(self.since) if self.since else {}),
            "counts": list(self._counts()),
            "groups": self._groups(),
        }

    def _description(self) -> str:
        date = self.voice.date(self.run.started)
        return description.run(self.run.id, self.voice.machine(self.run).striptags(), date, self.voice)

    # What was measured

    def _rows(self) -> Iterator[tuple[str, str | Markup]]:
        said, of = self._label, self.run.machine
        yield said("machine"), self.voice.machine(self.run)
        yield from ((said(name), _untranslated(getattr(of, name))) for name in ("processor",) if getattr(of, name))
        sizes = {"memory": of.memory_bytes, "accelerator_memory": of.accelerator_memory_bytes}
        yield from ((said(name), self._size(size)) for name, size in sizes.items() if size)
        yield said("date"), self.voice.date(self.run.started)
        yield (
            said("versions"),
            _untranslated(self.voice.comma.join(self.edition.versions_of(self.run))),
        )
        yield from ((said(name), _untranslated(getattr(of, name))) for name in machine.INSTALLED if getattr(of, name))
        yield said("samples"), self.voice.number(len(self.run.samples))
        states = [verdict.status for verdict in self.edition.samples(self.run.id).verdicts.values()]
        numbers = {"suspect": states.count("suspect"), "rejected": states.count("rejected")}
        numbers["failures"] = len(self.run.failures)
        yield from ((said(name), self.voice.number(number)) for name, number in numbers.items())

    def _measurements(self) -> Iterator[tuple[Markup, int, int]]:
        """Each measurement with its samples and the repetitions of all of them."""
        counts: dict[str, list[int]] = {}
        for text, measured in self.run.samples.items():
            counts.setdefault(parse_key(text).measurement, []).append(measured.count)
        yield from ((_code(name), len(repeats), sum(repeats)) for name, repeats in counts.items())

    def _failures(self) -> Iterator[tuple[Markup, int, str]]:
        """What has no sample, how many keys and why: those of one measurement with one reason in a row, folded."""
        alike: dict[tuple[str, str], list[str]] = {}
        for text, failure in self.run.failures.items():
            alike.setdefault((parse_key(text).measurement, failure.reason), []).append(text)
        for (name, reason), texts in alike.items():
            listed = joined(*(joined(_code(text), Markup("<br>")) for text in texts))
            folded = element("details", element("summary", _code(name)), listed)
            yield folded if len(texts) > 1 else _code(texts[0]), len(texts), self._reason(reason)

    def _size(self, size: int) -> Markup:
        return Markup(formats.quantity(size / 2**30, "GiB", self.voice.language, significant=3))

    # Against the run before it

    def _compared(self, since: Since) -> dict[str, Any]:
        return {
            "kinds": [(kind.value, sum(change.kind is kind for change in since.changes)) for kind in Kind],
            "versions": self._differences(since.installed),
            "changes": [self._change(change) for change in since.changes if _is_told(change)],
            "turns": [self._turn(turn) for turn in since.turns],
        }

    def _differences(self, found: Differences) -> list[tuple[Markup, Markup, Markup]]:
        said = _untranslated
        return [(_code(name), said(old or "–"), said(new or "–")) for name, (old, new) in found.items()]

    def _change(self, change: Change) -> tuple[Markup, str, Markup, Markup, Markup]:
        language, ratio = self.voice.language, change.ratio
        times = "" if ratio is None else formats.quantity(ratio, "times", language, significant=3)
        kind = self.voice.labels.get("change", change.kind.value)
        name = joined(_code(change.key), *(_setting(name, pair) for name, pair in change.settings.items()))
        return name, kind, self._side(change.before), self._side(change.after), Markup(times)

    def _side(self, side: Side) -> Markup:
        value = side.spread
        if value is None:
            return joined(self._reason("rejected" if side.sample else side.reason or side.state))
        said = formats.quantity(value.median, value.unit, self.voice.language, significant=FIGURES)
        if value.low == value.high:
            return joined(said)
        ends = (formats.number(end, self.voice.language, significant=FIGURES) for end in (value.low, value.high))
        return joined(said, Markup("<br>"), element("small", " … ".join(ends)))

    def _turn(self, turn: Turn) -> tuple[str, Markup, Markup]:
        outcome = turn.before.outcome.value
        mark = element("span", self.voice.labels.get("outcome", outcome), class_=f"claim {outcome}")
        return self._statement(turn.name), mark, self.voice.claim(turn.after)

    # Claims

    def _counts(self) -> Iterator[tuple[str, int]]:
        yield self._label("claims"), len(self.here)
        yield self._label("resting"), len(self.resting)
        for outcome in Outcome:
            number = sum(self.here[name].outcome is outcome for name in self.resting)
            yield self.voice.labels.get("outcome", outcome.value), number

    def _groups(self) -> list[tuple[str, list[Row]]]:
        """The claims of each of GROUPS that has some."""
        there, found = self.voice.on(f"../../{self.first}/receipts/"), {group: list[Row]() for group in GROUPS}
        for name in self.resting:
            row = Row(self._statement(name), there.claim(self.there[name]), self._outcome(self.here[name]))
            found[standing(self.there[name], self.here[name])].append(row)
        return [(group, rows) for group, rows in found.items() if rows]

    def _outcome(self, judged: Claim) -> Markup:
        """How a claim came out here, and why it cannot be said."""
        mark = self.voice.claim(judged)
        if judged.outcome is not Outcome.UNDECIDED:
            return mark
        return joined(mark, Markup("<br>"), element("small", self.voice.why(judged)))

    def _statement(self, name: str) -> str:
        return self.voice.labels.get("claim", name)

    def _label(self, name: str) -> str:
        return self.voice.labels.get("run", name)

    def _reason(self, reason: str) -> str:
        return self.voice.labels.get("reason", reason)


def _is_told(change: Change) -> bool:
    """Whether a change has a row of its own; what is as it was, or was never run before, is only counted."""
    new = change.before.state == "not_run" and (change.kind is Kind.GAINED or change.after.sample is None)
    return change.kind is not Kind.WITHIN and not new


def standing(there: Claim, here: Claim) -> str:
    """Which of GROUPS a claim belongs to."""
    undecided = [claim.outcome is Outcome.UNDECIDED for claim in (there, here)]
    names = {(True, True): "neither", (True, False): "decided", (False, True): "open"}
    decided = "same" if there.outcome is here.outcome else "turned"
    return names.get((undecided[0], undecided[1]), decided)


def rests_on(claim: Claim, run: Run) -> bool:
    """Whether a test of the claim asks for a sample that the run has, or for something that the run tells of itself."""
    return any(_of_run(origin, run) for origin in claim.origins)


def _of_run(origin: Origin, run: Run) -> bool:
    if isinstance(origin, Sampled):
        return origin.run == run.id and origin.key in run.samples
    return isinstance(origin, Constant) and origin.source.partition(":")[0] == run.id


def _code(text: str) -> Markup:
    return element("code", plain(text))


def _setting(name: str, pair: tuple[Setting, Setting]) -> Markup:
    """A setting that differs, on a line of its own."""
    old, new = ("–" if value is None else plain(str(value)) for value in pair)
    return joined(Markup("<br>"), element("small", _code(name), " ", old, " → ", new, translate="no"))


def _untranslated(text: str) -> Markup:
    return element("span", plain(text), translate="no")
