"""All runs that decoded, on the page of comparison: chart, table, the form that chooses among them, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup

from templates import charts
from templates.all_runs import AllRuns, Point
from templates.charts import all_runs as chart
from templates.compare import Side, bounded, deciding
from templates.compare_page import Telling
from templates.html import element, joined, marked, safe
from templates.labels import LANGUAGES
from templates.quantity import Quantity
from templates.truth import Claim
from templates.voice import Voice, classes

NAME = "machines"
"""Of the chart, and of the section of the page."""

COLUMNS = ("machine", "model", "engine", "bandwidth", "weights", "rate", "share")
CHOICES = ("kind", "model", "engine")

LONGEST = 60
"""Letters of a machine's name that the label of a point in the chart has room for."""


class OfAnyRun(Voice):
    """One language, of facts of all runs: each linked where its receipt is, with its kind alone where there is none."""

    def __init__(self, all_runs: AllRuns, voices: dict[str, Voice]) -> None:
        self.first = next(iter(voices.values()))
        super().__init__(self.first.language, shared=all_runs.shared)
        self.homes = {point.run.id: voices[point.edition] for point in all_runs.points if point.edition}
        self.homes["threshold"] = self.first

    def _linked(self, quantity: Quantity, text: str) -> Markup:
        home = self.homes.get(quantity.name.partition(".")[0])
        if home:
            return home._linked(quantity, text)
        kind = self.labels.get("kind", quantity.kind.value)
        return marked(f'<span class="{classes(quantity)}" title="{safe(kind)}">{text}</span>')


class OnAllRuns:
    """What the templates use of all runs, in one language; `up` leads from the page to its language's root."""

    def __init__(
        self, all_runs: AllRuns, claims: dict[str, Claim], side: Side, voices: dict[str, Voice], place: str, up: str
    ) -> None:
        self.all_runs, self.claims, self.side, self.place, self.up = all_runs, claims, side, place, up
        self.voice = OfAnyRun(all_runs, voices)
        self.language = self.voice.language

    @property
    def count(self) -> int:
        return len(self.all_runs.points)

    @property
    def runs(self) -> int:
        """How many runs they are of."""
        return len({point.run.id for point in self.all_runs.points})

    # Sentences

    def verdict(self, name: str) -> Markup:
        """How a claim came out, linked to what decided it."""
        claim = self.claims[name]
        return element("a", self.voice.outcome(claim), class_=f"claim {claim.outcome}", href=f"#claim.{name}")

    def why(self, name: str) -> str:
        return self.voice.why(self.claims[name])

    def shares(self, name: str) -> Markup:
        """The shares that a claim compares, from the lowest to the highest."""
        return self.voice.reach([made.left for made in self.claims[name].truth.comparisons])

    def lowest(self, name: str) -> Markup:
        """The machine, model and engine with the lowest of these shares."""
        shares = {id(made.left): made.left.value or 0.0 for made in self.claims[name].truth.comparisons}
        return self.named(min((p for p in self.all_runs.points if id(p.share) in shares), key=_share))

    @property
    def fastest_near(self) -> Point | None:
        """The point near its bandwidth on the machine with the highest one."""
        return max(self.all_runs.near, key=lambda point: (point.bandwidth.value, point.share.value), default=None)

    def said(self, quantity: Quantity) -> Markup:
        return self.voice.fact(quantity)

    def named(self, point: Point) -> Markup:
        """Model, engine and machine."""
        return Markup(self.voice.comma).join(self._parts(point))

    def tests(self) -> Markup:
        """What decided each claim, where its verdict leads."""
        return element("ul", *(self._test(claim) for claim in self.claims.values()), class_="judged")

    def _test(self, claim: Claim) -> Markup:
        telling = Telling(self.side, self.voice)
        tests = [marked(telling.test(test)) for test in bounded(deciding(claim)) if test.low.left.measured]
        statement = f"{self.voice.labels.get('claim_of_all', claim.name)}{self.voice.colon}"
        said = Markup(self.voice.semicolon).join([self.voice.outcome(claim), *tests])
        return element("li", statement, said, id=f"claim.{claim.name}")

    # The chart

    @property
    def file(self) -> str:
        """Of the chart, below docs/."""
        return f"assets/charts/{self.place}/{NAME}.{self.language}.json"

    def drawing(self) -> str:
        """The chart's figure as JSON, with the rows that the page has no room for."""
        figure = chart.drawn(self.all_runs, self._plain)
        figure["layout"]["meta"] = {"rows": [self._data(*each) for each in self.all_runs.beyond]}
        return charts.spoken(charts.written(figure), self.voice)

    def _plain(self, point: Point) -> str:
        """A point as the chart names it. A model's name comes first: of a machine's nobody knows how it begins."""
        *parts, machine = (part.striptags() for part in self._parts(point))
        return self.voice.comma.join([*parts, machine if len(machine) <= LONGEST else f"{machine[:LONGEST]}…"])

    def _parts(self, point: Point) -> tuple[Markup, Markup, Markup]:
        return self.voice.model(point.model.subject), self._engine(point), self.voice.machine(point.run)

    def _engine(self, point: Point) -> Markup:
        """The engine, and over how many cards it spread the model."""
        engine = self.voice.engine(point.model.engine)
        return engine if point.alone else joined(engine, self.voice.comma, safe(self._cards(point)))

    def _cards(self, point: Point) -> str:
        return self.voice.labels.filled("choose", "cards", cards=point.model.cards)

    def figure(self, caller: Callable[[], str]) -> Markup:
        """The chart, drawn when it comes into view, with its caption; the table of the page holds the same."""
        up = self.up if self.language == LANGUAGES[0] else f"{self.up}../"
        told = {
            "role": "img",
            "aria_label": self.voice.labels.get("chart", NAME),
            "aria_describedby": f"{NAME}-caption",
        }
        canvas = element("div", class_="chart-canvas", **told)
        said = element("figcaption", marked(caller().strip()), id=f"{NAME}-caption")
        place = {"id": f"chart-{NAME}", "data_chart": f"{up}{self.file}"}
        return element("figure", canvas, said, class_="chart tall", **place)

    # The form

    def form(self) -> Markup:
        """What to choose by, shown where there is a script to do it."""
        unoffered = self.voice.labels.get("calculator", "unknown")
        unknown = element("div", class_="calculator-unknown", role="status", data_said=unoffered, hidden="")
        fields = [self._field(name) for name in CHOICES]
        also = element("p", self._word("also"))
        every = element("button", self._word("reset"), type="reset")
        shown = element(
            "p", class_="chosen", role="status", data_said=self._word("shown"), data_none=self._word("none")
        )
        told = {"autocomplete": "off", "hidden": "", "aria_label": self._word("name"), "data_search_exclude": ""}
        return element("form", unknown, *fields, every, shown, also, class_="choose", **told)

    def _field(self, name: str) -> Markup:
        offered = {_choice(point, name): self._choice(point, name) for point in self.all_runs.points}
        options = [element("option", text, value=value) for value, text in sorted(offered.items(), key=lambda o: o[1])]
        label = element("label", self._word(name), **{"for": f"choose-{name}"})
        chosen = element(
            "select", element("option", self._word("every"), value=""), *options, id=f"choose-{name}", name=name
        )
        return element("div", label, chosen, class_="calculator-field")

    def _choice(self, point: Point, name: str) -> Markup:
        if name == "kind":
            return marked(safe(self._word(point.kind)))
        return self.voice.model_name(point.model.model) if name == "model" else self.voice.engine(point.model.engine)

    def scripts(self) -> Markup:
        up = self.up if self.language == LANGUAGES[0] else f"{self.up}../"
        return element("script", src=f"{up}assets/javascripts/choose.js", defer="")

    # The table

    def table(self) -> Markup:
        """A row for each point; where there are too many, those of editions and of the latest runs."""
        heads = [self._head(name) for name in COLUMNS]
        head = "".join([f'<th scope="col">{safe(text)}</th>' for text in heads])
        rows = [self._row(number, point, heads) for number, point in self.all_runs.shown]
        caption = element("caption", self.voice.labels.get("chart", NAME))
        told = f'data-all="{self.count}" data-search-exclude=""'
        body = "".join(rows)
        return marked(
            f'<table class="beside decoded" {told}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        )

    @property
    def left_out(self) -> int:
        """How many rows the page has no room for."""
        return len(self.all_runs.beyond)

    def _head(self, name: str) -> str:
        section = "fact" if name in ("bandwidth", "weights", "rate", "share") else "choose"
        return self.voice.labels.get(section, name)

    def _row(self, number: int, point: Point, heads: list[str]) -> str:
        name = self.voice.of_run(self.voice.machine(point.run), point.run)
        cells = [
            f'<td data-head="{safe(head)}">{inside}</td>'
            for head, inside in zip(heads[1:], self._cells(point), strict=True)
        ]
        chosen = "".join([f' data-{name}="{safe(_choice(point, name))}"' for name in CHOICES])
        return f'<tr data-at="{number}"{chosen}><th scope="row">{name}</th>{"".join(cells)}</tr>'

    def _cells(self, point: Point) -> Iterable[Markup]:
        model = point.model
        yield self.voice.model(model.subject)
        yield self._engine(point)
        yield from map(self.voice.fact, (point.bandwidth, model.weights, model.rate, point.share))

    def _data(self, number: int, point: Point) -> list[Any]:
        """A row for the script: its place, what it is chosen by, and its texts, which no page may take for markup."""
        texts = [self.voice.machine(point.run).striptags(), *(cell.striptags() for cell in self._cells(point))]
        return [number, *(_choice(point, name) for name in CHOICES), point.run.id, *map(_inert, texts)]

    def _word(self, name: str) -> str:
        return self.voice.labels.get("choose", name)


def _choice(point: Point, name: str) -> str:
    """What a point is chosen by: a kind of machine, a model in any precision, an engine."""
    return {"kind": point.kind, "model": point.model.model, "engine": point.model.engine}[name]


def _share(point: Point) -> float:
    return point.share.value or 0.0


def _inert(text: str) -> str:
    """Text from data that a chart does not take for the name of a label."""
    return f"\u2060{text}" if text.startswith("@") else text
