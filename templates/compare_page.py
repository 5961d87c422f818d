"""The page that sets all editions side by side: conclusions with what decides them, and the headline numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from templates import across
from templates.compare import Side, Sides, Tested
from templates.headline import Figure, Row, parts
from templates.html import element, joined, marked, safe
from templates.quantity import Constant, Quantity
from templates.receipts import heading_of
from templates.shared import entry
from templates.truth import Comparison, Outcome
from templates.voice import Voice

SEEN = {
    Outcome.HOLDS: {symbol: symbol for symbol in "≥≤><"},
    Outcome.REFUTED: {"≥": "<", "≤": ">", ">": "≤", "<": "≥"},
}
"""A comparison as it came out, by what was asked."""

NONE = Figure(())
"""What an edition did not run."""

NAMELESS = ("", "threshold", "evidence")
"""Paths of groups that are not what a comparison is about: of no fact, and of facts that name themselves."""


class Beside:
    """The editions beside each other in one language; `voices` by edition."""

    def __init__(self, sides: Sides, voices: dict[str, Voice]) -> None:
        self.sides, self.voices = sides, voices
        self.voice = voices[sides[0].edition.id]
        self.titles = [self.voice.labels.get("edition", edition.id) for edition in sides.editions]

    def bars(self) -> Markup:
        """The same models on several machines; empty where no model ran on more than one."""
        near = self.sides[0].edition.thresholds.near.value or 0.0
        return across.table(self.sides.bars, self.voices, near) if self.sides.bars else Markup()

    def outcomes(self, name: str) -> list[tuple[str, Markup]]:
        """The editions, and how a claim came out in each."""
        return [(side.edition.id, self.voices[side.edition.id].claim(side.claims[name])) for side in self.sides]

    def number(self, group: str) -> int:
        """How many claims a group has."""
        return sum(line.group == group for line in self.sides.lines)

    def rows(self, group: str) -> Markup:
        """The claims of a group as an HTML table, a column for each edition; one for all where none was measured."""
        sides, titles = (self.sides, self.titles) if group != "cited" else (self.sides[:1], [self._said("verdict")])
        body = [self._row(line.name, sides, titles) for line in self.sides.lines if line.group == group]
        return element("table", self._head("conclusion", titles), element("tbody", *body), class_="beside")

    def _head(self, first: str, titles: list[str]) -> Markup:
        names = [self._said(first), *titles]
        return element("thead", element("tr", *(element("th", name, scope="col") for name in names)))

    def _row(self, name: str, sides: list[Side], titles: list[str]) -> Markup:
        statement = element("th", self.voice.labels.get("claim", name), scope="row")
        cells = [cell(title, *self._cell(name, side)) for title, side in zip(titles, sides, strict=True)]
        return element("tr", statement, *cells, id=f"claim.{name}")

    def numbers(self) -> Markup:
        """The headline numbers as an HTML table."""
        bodies = [self._part(name, rows) for name, rows in parts(self.sides.editions)]
        return element("table", self._head("number", self.titles), *bodies, class_="beside numbers")

    def _part(self, name: str, rows: list[Row]) -> Markup:
        title = element("th", self._said(name), colspan=str(len(self.sides) + 1), scope="rowgroup")
        return element("tbody", element("tr", title, class_="part"), *(self._figures(row) for row in rows))

    def _figures(self, row: Row) -> Markup:
        cells = [
            cell(title, *(self._figure(figure, self.voices[edition.id]) for figure in figures or [NONE]))
            for title, edition, figures in zip(self.titles, self.sides.editions, row.cells, strict=True)
        ]
        return element("tr", element("th", row.name(self.voice), scope="row"), *cells)

    @staticmethod
    def _figure(figure: Figure, voice: Voice) -> Markup:
        """Numbers of one machine, which is named where it has to be; a dash for none."""
        said = [voice.span(*each) if isinstance(each, tuple) else voice.fact(each) for each in figure.numbers]
        machine = element("small", voice.machine(figure.machine)) if figure.machine else ""
        return element("p", Markup(voice.comma).join(said) or "–", " " if machine else "", machine)

    def _said(self, name: str) -> str:
        return self.voice.labels.get("compare", name)

    def _cell(self, name: str, side: Side) -> Iterator[Markup]:
        claim, told = side.claims[name], Telling(side, self.voices[side.edition.id])
        yield told.voice.claim(claim)
        if claim.outcome is Outcome.UNDECIDED:
            yield element("p", told.voice.why(claim))
        yield from (element("p", told.test(test)) for test in side.tests[name] if test.low.left.measured)


def cell(edition: str, *inside: Markup) -> Markup:
    """A cell that names its edition, for a screen with no room for columns."""
    return element("td", *inside, data_edition=edition)


class Telling:
    """What decided the claims of one edition, in one language."""

    def __init__(self, side: Side, voice: Voice) -> None:
        self.side, self.voice = side, voice

    def test(self, test: Tested) -> Markup:
        """The compared values, linked to their receipts, with what they are of."""
        made, voice = test.low, self.voice
        left, right = self._subjects(made) if test.alone else ("", "")
        about, note = (joined(left, voice.comma), "") if left and not right else ("", self._noted(left))
        said = [about, self._label(made.left), voice.colon, self._left(test), note]
        if made.outcome is Outcome.UNDECIDED:
            said += [self._interval(made.left), voice.comma, self._against(made)]
        else:
            # A full-width bracket brings its own space.
            space = "" if note.endswith("）") else " "
            said += [f"{space}{SEEN[made.outcome][made.symbol]} ", self._right(made)]
        return joined(*said, self._noted(right or self._other_label(made), self._counted(test)))

    def _counted(self, test: Tested) -> str:
        if test.deciding == test.made and not test.alone:
            return ""
        return self.voice.labels.filled("compare", "of", deciding=test.deciding, made=test.made)

    def _noted(self, *remarks: Markup | str) -> Markup | str:
        """Remarks in brackets, if there are any."""
        told = [safe(remark) for remark in remarks if remark]
        return marked(self.voice.semicolon.join(told).join(self.voice.brackets)) if told else ""

    def _subjects(self, made: Comparison) -> tuple[Markup | str, Markup | str]:
        """What the left side is about, and the right one if that is something else."""
        left, right = (side.name.rpartition(".")[0] for side in (made.left, made.right))
        same = right in NAMELESS or f"{left}.".startswith(f"{right}.")
        return "" if left in NAMELESS else self._group(left), "" if same else self._group(right)

    def _other_label(self, made: Comparison) -> Markup | str:
        """The name of the right side where it is a fact of another name, and no threshold, whose name is a sentence."""
        if made.right.name.rpartition(".")[0] in ("", "threshold"):
            return ""
        label = self._label(made.right)
        return "" if label == self._label(made.left) else label

    def _group(self, path: str) -> Markup:
        group = self.side.groups[path]
        owner = self.side.groups.get(group.path.rpartition(".")[0])
        names = [owner, group] if owner and owner.heading == "model" and group.heading != "pair" else [group]
        return Markup(self.voice.comma).join(heading_of(one, self.side.edition, self.voice) for one in names)

    def _label(self, side: Quantity) -> Markup | str:
        """The name of a fact; of what is none, its formula, and of what others publish, where it stands."""
        if not side.name:
            return element("code", self.voice.formula(side, values=False).striptags())
        label = self.voice.label(side)
        return label if entry(side)[0] else element("span", label, translate="no")

    def _left(self, test: Tested) -> Markup:
        left = test.low.left
        if test.high is not test.low:
            return self.voice.span(left, test.high.left)
        return self.voice.fact(left) if left.name else self._exact(left.plain())

    def _right(self, made: Comparison) -> Markup:
        if made.right.name:
            return self.voice.fact(made.right)
        percent = made.left.shown_in == "%" and isinstance(made.right.origin, Constant)
        return self._exact(made.right.to("%") if percent else made.right.plain())

    def _exact(self, side: Quantity) -> Markup:
        return marked(self.voice.spoken(self.voice.shared.exact(side)))

    def _interval(self, side: Quantity) -> Markup | str:
        if side.low == side.high or not (math.isfinite(side.low) and math.isfinite(side.high)):
            return ""
        return self._noted(marked(self.voice.spoken(self.voice.shared.interval(side))))

    def _against(self, made: Comparison) -> Markup:
        return Markup(self.voice.labels.get("compare", "against")).format(right=self._right(made))
