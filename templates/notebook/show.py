"""What the notebook shows of an edition: tables that link receipts, and charts as the other pages draw them.

A chart is told twice in a cell's output: as HTML for the site, with its figure and its table, and in Plotly's own
format for an editor of notebooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from IPython.display import display
from markupsafe import Markup

from templates import charts, printed
from templates.charts import figure
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.html import element, joined, marked
from templates.quantity import Constant, Kind, Operation, Quantity
from templates.voice import Voice, classes

RESULTS = Path(os.environ.get("NOTEBOOK_RESULTS") or Path(__file__).parent.parent.parent / "results.json")
"""The results file; another one where whoever executes the notebook names it."""

RECEIPTED = (Kind.MEASURED, Kind.IMPORTED, Kind.REPORTED)
"""Kinds of facts whose receipts a table links; what is calculated tells its formula when pointed at."""

PLOTLY = "application/vnd.plotly.v1+json"

Cell = Quantity | Markup | str | int
Pair = tuple[Quantity, Quantity]


class Show:
    """Shows in one language; receipts are those of the edition that a fact belongs to, `edition` before others."""

    def __init__(self, editions: dict[str, Edition], edition: str, language: str) -> None:
        ordered = [*(each for each in editions.values() if each.id != edition), editions[edition]]
        self._edition_of = {run.id: each.id for each in ordered for run in each.runs}
        self._voices = {each.id: Voice(language, f"../{each.id}/receipts/") for each in ordered}
        self.voice = self._voices[edition]

    def label(self, name: str) -> str:
        """The label of that name, of the notebook's own or of the charts'; any other text as it is."""
        labels = self.voice.labels
        section = next((section for section in ("notebook", "chart") if labels.has(section, name)), "")
        return labels.get(section, name) if section else name

    def edition(self, edition: Edition) -> str:
        return self.voice.labels.get("edition", edition.id)

    def model(self, model: LanguageModel) -> str:
        """A model, with its engine where several ran."""
        return self.voice.model(model.subject, model.engine if model.among_engines else "").unescape()

    def number(self, quantity: Quantity) -> str:
        """The value with its unit, a setting with all its digits."""
        if _is_setting(quantity):
            return printed.exact(quantity, self.voice.language)
        return self.voice.value(quantity)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Show a table; its heads are labels."""
        display({"text/html": self.html_table(head, rows)}, raw=True)  # type: ignore[no-untyped-call]

    def chart(self, name: str, x: str, y: str, *, log: str = "") -> Drawing:
        """An empty chart, named and with axes called by labels; `log` names the axes that are logarithmic."""
        return Drawing(self, name, {"x": x, "y": y}, log)

    def html_table(self, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
        heads = element("thead", element("tr", *(element("th", self.label(name)) for name in head)))
        lines = [joined(self._row(row, len(head)), "\n") for row in rows]
        return element("table", heads, "\n", element("tbody", "\n", *lines))

    def _row(self, row: Sequence[Cell], width: int) -> Markup:
        """A row of cells; one alone heads the rows that follow."""
        if len(row) == 1:
            heading = element("th", self.cell(row[0]), colspan=str(width), scope="rowgroup")
            return element("tr", heading, class_="part")
        return element("tr", *(element("td", self.cell(cell)) for cell in row))

    def cell(self, value: Cell) -> str | Markup:
        """A cell: a measured fact leads to its receipt, a calculated number tells its formula when pointed at."""
        if isinstance(value, int):
            return self.voice.number(value)
        if not isinstance(value, Quantity):
            return value
        if _is_setting(value):
            return self.number(value)
        if value.name and value.kind in RECEIPTED:
            run = value.name.partition(".")[0]
            return self._voices[self._edition_of[run]].fact(value)
        return element("span", self.number(value), class_=classes(value), title=self._title(value))

    def _title(self, value: Quantity) -> str:
        voice = self.voice
        kind = voice.labels.get("kind", value.kind.value)
        if value.doubts:
            kind = f"{kind}{voice.comma}{voice.labels.get('verdict', 'suspect')}"
        if not value.measured:
            return f"{kind}{voice.colon}{voice.absent(value.absences)}"
        said = voice.formula(value, values=True).striptags() if isinstance(value.origin, Operation) else ""
        return f"{kind}{voice.colon}{said}" if said else kind


def _is_setting(quantity: Quantity) -> bool:
    """Whether it was given, such as a number of requests, and neither measured nor calculated."""
    return quantity.measured and isinstance(quantity.origin, Constant)


class Drawing:
    """A chart in the making: series of measured points, dashed curves, and the rows of the table below."""

    def __init__(self, show: Show, name: str, axes: dict[str, str], log: str) -> None:
        self._show, self.name = show, name
        kinds = {axis: {"type": "log", "dtick": 1} if axis in log else {"rangemode": "tozero"} for axis in axes}
        self._axes = {axis: {"title": {"text": show.label(label)}, **kinds[axis]} for axis, label in axes.items()}
        self._traces: list[dict[str, Any]] = []
        self._colours: dict[str, int] = {}
        self.xs: list[Quantity] = []
        """The x of all points and curves so far."""
        self.head: list[str] = []
        self.rows: list[tuple[Cell, ...]] = []

    def row(self, *cells: Cell) -> None:
        """One more row of the table: a cell for each of `head`, or one that heads the rows to come."""
        self.rows.append(cells)

    def points(self, name: str, pairs: Sequence[Pair], *, hollow: bool = False) -> None:
        """A series of measured points with their spread. Those of one name share a colour and a place in the legend."""
        told = [(x, y) for x, y in pairs if x.measured and y.measured]
        if not told:
            return
        first, index = name not in self._colours, self._colours.setdefault(name, len(self._colours))
        look = figure.style(index, "-open" if hollow else "")
        legend = {"legendgroup": name, "showlegend": first}
        self._traces.append(figure.points(self._show.label(name), told, index, lines=False, **legend, **look))
        self.xs += [x for x, _ in told]

    def curve(self, name: str, pairs: Sequence[Pair], *, own: bool = False) -> None:
        """A dashed line in the order of x: in the colour of the points of that name, else in its `own`, or grey."""
        told = sorted((x.value, y.value) for x, y in pairs if x.value is not None and y.value is not None)
        if not told:
            return
        self.xs += [x for x, _ in pairs]
        if own:
            self._colours.setdefault(name, len(self._colours))
        colour = figure.COLOURS[self._colours[name] % 6] if name in self._colours else figure.IDEAL
        first = not any(trace.get("legendgroup") == name for trace in self._traces)
        line = figure.line(self._show.label(name), [x for x, _ in told], [y for _, y in told], colour)
        self._traces.append({**line, "legendgroup": name, "showlegend": first})

    def show(self) -> None:
        """Show the chart and its table; without any point or curve, that it is unmeasured."""
        if not self._traces:
            display({"text/html": self._missing()}, raw=True)  # type: ignore[no-untyped-call]
            return
        self._tick_counts()
        drawing = figure.framed(self._traces, self._axes["x"], self._axes["y"], [])
        bundle = {"text/html": self._html(drawing), PLOTLY: charts.undressed(drawing)}
        display(bundle, raw=True)  # type: ignore[no-untyped-call]

    def _tick_counts(self) -> None:
        """On a logarithmic axis of counts, such as requests at once, a tick stands at each that occurs."""
        if self._axes["x"].get("type") == "log" and self.xs and all(x.shown_in == "req" for x in self.xs):
            del self._axes["x"]["dtick"]
            self._axes["x"]["tickvals"] = sorted({x.value for x in self.xs if x.value is not None})

    @property
    def _title(self) -> str:
        return self._show.label(self.name)

    def _missing(self) -> str:
        voice = self._show.voice
        text = f"{self._title}{voice.colon}{voice.labels.get('kind', 'unmeasured')}"
        return element("figure", element("figcaption", text), class_="chart missing")

    def _html(self, drawing: dict[str, Any]) -> str:
        place = f"chart-{self.name}"
        data = marked(charts.written(drawing).strip().replace("<", "\\u003c"))
        table = self._show.html_table(self.head, self.rows)
        summary = element("summary", self._show.voice.labels.get("chart", "data"))
        return element(
            "figure",
            element("div", class_="chart-canvas", role="img", aria_label=self._title),
            "\n",
            element("script", data, type="application/json", id=f"{place}-figure"),
            "\n",
            element("figcaption", self._title),
            element("details", summary, table),
            class_=f"chart{figure.size(drawing)}",
            id=place,
            data_chart=f"#{place}-figure",
        )
