"""All editions side by side: which conclusions differ, which agree, which cannot be said, and what decides each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from templates.across import Bar, bars
from templates.facts.edition import Edition
from templates.quantity import Quantity
from templates.run_page import rests_on
from templates.truth import Claim, Comparison, Outcome
from templates.units import factor

GROUPS = ("differ", "agree", "cited", "single", "none")
"""How the outcomes of a claim in several editions stand to each other, in the order of the page."""

OVERVIEW = "{#overview}"
"""The heading of the part of an article that says ahead what the others explain."""


class Tested(NamedTuple):
    """Comparisons of one kind that decided a claim: from `low` to `high` of their left sides, or the one that tells."""

    low: Comparison
    high: Comparison
    deciding: int
    made: int
    upper: Comparison | None = None
    """Where the same is held against a lower and an upper bound and keeps both: what the upper one was compared by."""

    @property
    def alone(self) -> bool:
        """Whether one of several comparisons is told, which then has to name what it compares."""
        return self.made > 1 and self.low is self.high


class Side:
    """An edition as the pages beside the articles tell it; made once for all languages."""

    def __init__(self, edition: Edition, claims: dict[str, Claim], article: str = "") -> None:
        self.edition, self.claims = edition, claims
        self.article = article[max(article.find(OVERVIEW), 0) :].partition("\n## ")[2]
        """The text of the edition's article after its overview, in any language: the addresses in it are alike."""
        self.groups = {group.path: group for group in edition.all_groups()}
        self.tests = {name: bounded(deciding(claim)) for name, claim in claims.items()}

    def place(self, name: str) -> str:
        """The address of the part of the article that prints how a claim came out; "" where no part does."""
        before, found, _ = self.article.partition(f'#claim.{name}"')
        return before.rpartition("{#")[2].partition("}")[0] if found else ""


class Line(NamedTuple):
    """A claim, and the one of GROUPS that its outcomes put it into."""

    name: str
    group: str


class Sides(list[Side]):
    """The editions that a page sets side by side, and what they come to in every language."""

    @cached_property
    def editions(self) -> list[Edition]:
        return [side.edition for side in self]

    @cached_property
    def lines(self) -> list[Line]:
        """All claims."""
        return [Line(name, self._group(name)) for name in self[0].claims]

    @cached_property
    def bars(self) -> list[Bar]:
        """The same models on several machines."""
        return bars(self.editions)

    def _group(self, name: str) -> str:
        found = standing([side.claims[name] for side in self])
        return "cited" if found == "agree" and not self._measured(name) else found

    def _measured(self, name: str) -> bool:
        """Whether the claim rests on a measurement somewhere, and not on papers and model cards alone."""
        return any(rests_on(side.claims[name], run) for side in self for run in side.edition.runs)


def standing(judged: Sequence[Claim]) -> str:
    """How a claim's outcomes in several editions stand to each other; what is not decided contradicts nothing."""
    decided = [claim.outcome for claim in judged if claim.outcome is not Outcome.UNDECIDED]
    if len(set(decided)) > 1:
        return "differ"
    return "agree" if len(decided) > 1 else "single" if decided else "none"


def deciding(claim: Claim) -> list[Tested]:
    """What came out as the whole claim did, one test for each kind of comparison."""
    kinds: dict[tuple[str, str, str], list[Comparison]] = {}
    for made in claim.truth.comparisons:
        kinds.setdefault(_kind(made), []).append(made)
    told = [(made, [one for one in made if one.outcome is claim.truth.outcome]) for made in kinds.values()]
    if not any(telling for _, telling in told):
        told = [(made, made) for made in kinds.values()]
    return [_test(telling, len(made)) for made, telling in told if telling]


def bounded(tests: list[Tested]) -> list[Tested]:
    """The tests with each lower and upper bound of one and the same joined: an equality is one test to a reader."""
    joined: list[Tested] = []
    for test in tests:
        before = joined[-1] if joined else None
        if before and _bounds(before, test):
            lower, upper = (before, test) if before.low.symbol == "≥" else (test, before)
            joined[-1] = lower._replace(upper=upper.low)
        else:
            joined.append(test)
    return joined


def _bounds(one: Tested, other: Tested) -> bool:
    """Whether the same values keep a lower and an upper bound."""
    kept = all(test.low.outcome is Outcome.HOLDS and test.upper is None for test in (one, other))
    values = [(test.low.left, test.high.left, test.deciding, test.made) for test in (one, other)]
    same = all(a is b or a == b for a, b in zip(*values, strict=True))
    return kept and same and {one.low.symbol, other.low.symbol} == {"≥", "≤"}


def _kind(made: Comparison) -> tuple[str, str, str]:
    return _said_of(made.left), made.symbol, _said_of(made.right)


def _said_of(side: Quantity) -> str:
    """What a side says of whatever it is about; what others publish is all of one kind."""
    group, _, name = side.name.rpartition(".")
    return group if group == "evidence" else name


def _test(telling: list[Comparison], made: int) -> Tested:
    """Against one and the same, the range; against something of its own each, the one farthest to the wrong side.

    Where it cannot be said, that one too: a range would hide the spread that leaves it open.
    """
    decided = telling[0].outcome is not Outcome.UNDECIDED
    if decided and len({(one.right.name, one.right.value) for one in telling}) == 1:
        ordered = sorted(telling, key=lambda one: one.left.value or 0.0)
        return Tested(ordered[0], ordered[-1], len(telling), made)
    worst = (min if telling[0].symbol in "≥>" else max)(telling, key=_ratio)
    return Tested(worst, worst, len(telling), made)


def _ratio(made: Comparison) -> float:
    """The left side over the right one; over zero, the left side itself."""
    left, right = made.left.value or 0.0, (made.right.value or 0.0) * factor(made.right.unit, made.left.unit)
    return left / right if right else left
