"""The page that sets all editions side by side: conclusions with what decides them, and the headline numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, takewhile, zip_longest

from markupsafe import Markup

from templates import across
from templates.compare import Line, Side, Sides, Tested
from templates.facts.group import Group
from templates.headline import Figure, Row, parts
from templates.html import element, marked, safe
from templates.quantity import Quantity
from templates.receipts import heading_of
from templates.shared import entry
from templates.truth import Comparison, Outcome
from templates.voice import RECEIPTS, Voice, leaves

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
        self.titles = [safe(self.voice.labels.get("edition", edition.id)) for edition in sides.editions]
        self.kinds = [" ".join(sorted({run.machine.device for run in edition.runs})) for edition in sides.editions]
        """The kinds of machine of each edition, by which the columns of numbers are chosen."""

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
        body = "".join([self._row(line, sides, titles) for line in self.sides.lines if line.group == group])
        return marked(f'<table class="beside">{self._head("conclusion", titles)}<tbody>{body}</tbody></table>')

    def _head(self, first: str, titles: list[str], kinds: Sequence[str] = ()) -> str:
        named = zip_longest(titles, kinds)
        names = "".join([f'<th scope="col"{_of_kinds(kind)}>{name}</th>' for name, kind in named])
        return f'<thead><tr><th scope="col">{self._said(first)}</th>{names}</tr></thead>'

    def _row(self, line: Line, sides: list[Side], titles: list[str]) -> str:
        told = [self._told(line.name, side) + self._why(line, side) for side in sides]
        cells = [cell(title, inside) for title, inside in zip(titles, told, strict=True)]
        statement = f'<th scope="row">{safe(self.voice.labels.get("claim", line.name))}</th>'
        return f'<tr id="claim.{line.name}">{statement}{"".join(cells)}</tr>'

    def _told(self, name: str, side: Side) -> str:
        """How a claim came out in an edition, and what decided it."""
        claim, voice = side.claims[name], self.voices[side.edition.id]
        why = f"<p>{safe(voice.why(claim))}</p>" if claim.outcome is Outcome.UNDECIDED else ""
        told = Telling(side, voice)
        tests = [f"<p>{told.test(test)}</p>" for test in side.tests[name] if test.low.left.measured]
        return f"{voice.claim(claim)}{why}{''.join(tests)}"

    def _why(self, line: Line, side: Side) -> str:
        """Where editions differ, the way to what the edition's article says of it, and of causes if they are known."""
        place = side.place(line.name) if line.group == "differ" else ""
        article = self.voices[side.edition.id].receipts.removesuffix(RECEIPTS)
        return f'<p class="why"><a href="{article}#{place}">{self._said("why")}</a></p>' if place else ""

    def numbers(self) -> Markup:
        """The headline numbers as an HTML table."""
        bodies = "".join([self._part(name, rows) for name, rows in parts(self.sides.editions)])
        return marked(f'<table class="beside numbers">{self._head("number", self.titles, self.kinds)}{bodies}</table>')

    def _part(self, name: str, rows: list[Row]) -> str:
        title = f'<th colspan="{len(self.sides) + 1}" scope="rowgroup">{self._said(name)}</th>'
        return f'<tbody><tr class="part">{title}</tr>{"".join([self._figures(row) for row in rows])}</tbody>'

    def _figures(self, row: Row) -> str:
        cells = [
            cell(title, "".join([self._figure(figure, self.voices[edition.id]) for figure in figures or [NONE]]), kinds)
            for title, edition, figures, kinds in zip(
                self.titles, self.sides.editions, row.cells, self.kinds, strict=True
            )
        ]
        chosen = f' data-model="{row.model}" data-engine="{row.engine}"' if row.model else ""
        return f'<tr{chosen}><th scope="row">{safe(row.name(self.voice))}</th>{"".join(cells)}</tr>'

    @staticmethod
    def _figure(figure: Figure, voice: Voice) -> str:
        """Numbers of one machine, which is named where it has to be; a dash for none."""
        said = [voice.span(*each) if isinstance(each, tuple) else voice.fact(each) for each in figure.numbers]
        machine = f" <small>{voice.machine(figure.machine)}</small>" if figure.machine else ""
        return f"<p>{voice.comma.join(said) or '–'}{machine}</p>"

    def _said(self, name: str) -> str:
        """A head or title, as HTML."""
        return safe(self.voice.labels.get("compare", name))


def path_of(side: Quantity) -> str:
    """The group that a side is of: a fact's own, else the one that all facts of the formula belong to."""
    facts = [side] if side.name else list(leaves(side.origin))
    paths = [fact.name.split(".")[:-1] for fact in facts if not fact.name.startswith("threshold.")]
    alike = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    return ".".join([parts[0] for parts in alike])


def cell(edition: str, inside: str, kinds: str | None = None) -> str:
    """A cell that names its edition, for a screen with no room for columns."""
    return f'<td{_of_kinds(kinds)} data-edition="{edition}">{inside}</td>'


def _of_kinds(kinds: str | None) -> str:
    return "" if kinds is None else f' data-kinds="{kinds}"'


class Telling:
    """What decided the claims of one edition, in one language, as HTML."""

    def __init__(self, side: Side, voice: Voice) -> None:
        self.side, self.voice = side, voice

    def test(self, test: Tested) -> str:
        """The compared values, linked to their receipts, with what they are of."""
        made, voice = test.low, self.voice
        left, right = self._subjects(made) if test.alone else ("", "")
        about, note = (f"{left}{voice.comma}", "") if left and not right else ("", self._noted(left))
        said = f"{about}{self._label(made.left)}{voice.colon}"
        if test.upper:
            said += self._between(test, test.upper, note)
        elif made.outcome is Outcome.UNDECIDED:
            said += f"{self._left(test)}{note}{self._interval(made.left)}{voice.comma}{self._against(made)}"
        else:
            said += self._compared(
                f"{self._left(test)}{note}", safe(SEEN[made.outcome][made.symbol]), self._right(made)
            )
        return said + self._noted(right or self._other_label(made), self._counted(test))

    def _between(self, test: Tested, upper: Comparison, note: str) -> str:
        """A value between its bounds, or equal to what is both."""
        left, low, high = f"{self._left(test)}{note}", self._right(test.low), self._right(upper)
        if (test.low.right.name, test.low.right.value) == (upper.right.name, upper.right.value):
            return self._compared(left, "=", high)
        return f"{low} ≤ {self._compared(left, '≤', high)}"

    @staticmethod
    def _compared(left: str, symbol: str, right: str) -> str:
        # A full-width bracket brings its own space.
        return f"{left}{'' if left.endswith('）') else ' '}{symbol} {right}"

    def _counted(self, test: Tested) -> str:
        if test.deciding == test.made and not test.alone:
            return ""
        return self.voice.labels.filled("compare", "of", deciding=test.deciding, made=test.made)

    def _noted(self, *remarks: str) -> str:
        """Remarks in brackets, if there are any."""
        return self.voice.semicolon.join(filter(None, remarks)).join(self.voice.brackets) if any(remarks) else ""

    def _subjects(self, made: Comparison) -> tuple[str, str]:
        """What the left side is about, and the right one if that is something else."""
        left, right = (path_of(side) for side in (made.left, made.right))
        return self._group(left), "" if f"{left}.".startswith(f"{right}.") else self._group(right)

    def _other_label(self, made: Comparison) -> str:
        """The name of the right side where it is a fact of another name, and no threshold, whose name is a sentence."""
        if made.right.name.rpartition(".")[0] in ("", "threshold"):
            return ""
        label = self._label(made.right)
        return "" if label == self._label(made.left) else label

    def _group(self, path: str) -> str:
        """The headings of a group and its owners; "" for one that is not what a comparison is about."""
        if path in NAMELESS or path not in self.side.groups:
            return ""
        return self.voice.comma.join(self._names(path))

    def _names(self, path: str) -> list[str]:
        """The heading of a group after those of its owners that tell it from others of its heading."""
        groups = self.side.groups
        group, parents = groups[path], list(accumulate(path.split(".")[:-1], "{}.{}".format))
        owners = [groups[parent] for parent in parents if parent in groups]
        told = [one for one in owners if one.heading != "machine" and not one.named.keys() <= group.named.keys()]
        if group.heading == "pair":
            # It names the model and both formats, but not the engine.
            return [self._heading(group), *(self.voice.engine(one.named["engine"]) for one in told)]
        return [self._heading(one) for one in (*told, group)]

    def _heading(self, group: Group) -> str:
        return heading_of(group, self.side.edition, self.voice)

    def _label(self, side: Quantity) -> str:
        """The name of a fact; of what is none, its formula, and of what others publish, where it stands."""
        if not side.name:
            return element("code", self.voice.formula(side, values=False).striptags())
        label = safe(self.voice.label(side))
        return label if entry(side)[0] else f'<span translate="no">{label}</span>'

    def _left(self, test: Tested) -> str:
        left = test.low.left
        if test.high is not test.low:
            return self.voice.span(left, test.high.left)
        return self.voice.fact(left) if left.name else self._beside(left, test.low.right)

    def _right(self, made: Comparison) -> str:
        return self.voice.fact(made.right) if made.right.name else self._beside(made.right, made.left)

    def _beside(self, side: Quantity, other: Quantity) -> str:
        """The value of what is no fact, in percent where the other side is."""
        percent = other.shown_in == "%" and side.unit.dimensionless
        return self._exact(side.to("%") if percent else side.plain())

    def _exact(self, side: Quantity) -> str:
        return self.voice.spoken(self.voice.shared.exact(side))

    def _interval(self, side: Quantity) -> str:
        if side.low == side.high or not (math.isfinite(side.low) and math.isfinite(side.high)):
            return ""
        return self._noted(self.voice.spoken(self.voice.shared.interval(side)))

    def _against(self, made: Comparison) -> str:
        return self.voice.labels.filled("compare", "against", right=self._right(made))
