"""What every chart is made of: colours, points, lines, bars, and the figure around them.

Colours are roles ("var:--chart-1") that the page resolves in its palette. Missing points are left out,
never drawn as 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from templates.quantity import Quantity

COLOURS = [f"var:--chart-{n}" for n in range(1, 7)]
IDEAL, LIMIT, GRID, TEXT = "var:--chart-ideal", "var:--chart-limit", "var:--chart-grid", "var:--chart-text"
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x"]
DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]

Trace = dict[str, Any]


class Chart(NamedTuple):
    """A figure, and the facts it draws: rows of label, x and y for the table beside it."""

    figure: dict[str, Any]
    head: tuple[str, str, str]
    rows: list[tuple[str, Quantity, Quantity]]


def framed(traces: list[Any], x: dict[str, Any], y: dict[str, Any], shapes: list[dict[str, Any]]) -> dict[str, Any]:
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
    layout = {
        "xaxis": {**axis, **x},
        "yaxis": {**axis, **y},
        "shapes": shapes,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
        "hovermode": "closest",
        "font": {"color": TEXT},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    return {"data": traces, "layout": layout}


def size(figure: dict[str, Any]) -> str:
    """A class for a figure whose legend needs more lines than most; the style sheet gives it more height."""
    named = {trace["name"] for trace in figure["data"] if "name" in trace}
    return " taller" if len(named) > 8 else " tall" if len(named) > 4 else ""


def piled(traces: list[Any], title: str, y: dict[str, Any] | None = None) -> dict[str, Any]:
    """Bars of stacked parts, the first on top, and the parts told in the order in which they are stacked."""
    figure = framed(traces, {"title": {"text": title}}, {"autorange": "reversed", **(y or {})}, [])
    figure["layout"]["barmode"] = "stack"
    figure["layout"]["legend"]["traceorder"] = "normal"
    return figure


def points(name: str, pairs: list[tuple[Quantity, Quantity]], index: int, *, lines: bool = True, **more: Any) -> Trace:
    """A series of facts against facts, with the interval of y as error bars where there is one."""
    above = [gap(y.high, y.value) for _, y in pairs]
    below = [gap(y.value, y.low) for _, y in pairs]
    return {
        "type": "scatter",
        "name": name,
        "x": [short(x.value) for x, _ in pairs],
        "y": [short(y.value) for _, y in pairs],
        "mode": "lines+markers" if lines else "markers",
        **style(index),
        "error_y": {"type": "data", "array": above, "arrayminus": below, "visible": any(above + below)},
        **more,
    }


def style(index: int, shape: str = "") -> dict[str, Any]:
    """Colour, dash and shape of a series: no two of the first 36 are alike in both colour and shape."""
    colour, look = COLOURS[index % 6], (index + index // 6) % 6
    return {
        "line": {"color": colour, "dash": DASHES[look]},
        "marker": {"color": colour, "symbol": SYMBOLS[look] + shape, "size": 9},
    }


def gap(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None or not math.isfinite(high - low) else short(high - low)


def short(value: float | None) -> float:
    """Six figures: more cannot be seen, and noise of the last digits would change the file."""
    return float(f"{value:.6g}") if value is not None else math.nan


def line(name: str, x: list[float], y: list[float], colour: str) -> Trace:
    plain = [short(value) for value in x], [short(value) for value in y]
    return {
        "type": "scatter",
        "name": name,
        "x": plain[0],
        "y": plain[1],
        "mode": "lines",
        "line": {"color": colour, "dash": "dash"},
        "hoverinfo": "name",
    }


def broken(name: str, x: list[float], y: list[float], colour: str) -> Trace:
    """A line with gaps where a value is not a number."""
    gaps = [[None if math.isnan(value) else short(value) for value in axis] for axis in (x, y)]
    line = {"color": colour, "dash": "dash", "width": 1.5}
    return {
        "type": "scatter",
        "name": name,
        "x": gaps[0],
        "y": gaps[1],
        "mode": "lines",
        "line": line,
        "hoverinfo": "name",
    }


def rule(y: float, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"color": colour, "dash": "dash"},
    }


def stacked(label: str, names: list[str], facts: list[Quantity], index: int) -> Trace:
    """One part of a stacked bar, for each of `names`."""
    lengths = [short(one.value) for one in facts]
    colour = {"color": COLOURS[index % 6]}
    return {"type": "bar", "orientation": "h", "name": f"@{label}", "y": names, "x": lengths, "marker": colour}


def column(label: str, names: list[str], facts: list[Quantity], index: int) -> Trace:
    """One part of a stacked column, for each of `names`."""
    heights = [short(one.value) for one in facts]
    return {"type": "bar", "name": label, "x": names, "y": heights, "marker": {"color": COLOURS[index]}}


def drawn(
    series: dict[str, list[tuple[Quantity, Quantity]]], cited: tuple[str, ...] = ()
) -> tuple[list[Any], list[tuple[str, Quantity, Quantity]]]:
    """Traces and rows of the series that have a measured point; those that are `cited` are open points, no line."""
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    for index, (name, pairs) in enumerate(series.items()):
        measured = [pair for pair in pairs if pair[1].measured]
        if measured:
            marks = style(index, "-open" if name in cited else "")
            traces.append(points(f"@{name}", measured, index, lines=name not in cited, showlegend=True, **marks))
            rows += [(f"@{name}", x, y) for x, y in measured]
    return traces, rows
