"""The chart over all machines: what share of its bandwidth each reaches, against the bandwidth."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

from templates.all_runs import AllRuns, Point
from templates.charts import figure
from templates.charts.figure import Trace

TOP = 112
"""Where the axis of shares ends, in percent, unless a share goes further."""

TICKS = [lead * 10**power for power in range(6) for lead in (1, 3)]
"""Bandwidths that the axis names, in GB/s."""

CROWD = 200
"""More points than this are drawn smaller, and without their intervals, which would hide them."""


def drawn(all_runs: AllRuns, said: Callable[[Point], str]) -> dict[str, Any]:
    """A colour and shape for each engine, filled for small models and open for others; `said` names a point.

    Each point carries what the page chooses by: kind of machine, model and engine.
    """
    points = all_runs.points
    shares = [point.share.high for point in points if math.isfinite(point.share.high)]
    top = max([TOP, *(1.05 * share for share in shares)])
    near, fast = all_runs.thresholds.near.value or 0.0, all_runs.thresholds.fast.value or 1.0
    speeds = [fast, *(point.bandwidth.value or fast for point in points)]
    ends = [math.log10(min(speeds)) - 0.15, math.log10(max(speeds)) + 0.15]
    limits = [
        figure.line("@whole", [10**end for end in ends], [100, 100], figure.LIMIT),
        figure.line("@near", [10**end for end in ends], [near, near], figure.IDEAL),
        {**figure.line("@fast", [fast, fast], [0, top], figure.IDEAL), "line": {"color": figure.IDEAL, "dash": "dot"}},
    ]
    ticks = [tick for tick in TICKS if ends[0] <= math.log10(tick) <= ends[1]]
    x = {"title": {"text": "@bandwidth_axis"}, "type": "log", "tickvals": ticks, "range": [*map(figure.short, ends)]}
    y = {"title": {"text": "@share_axis"}, "range": [0, figure.short(top)]}
    return figure.framed([*_series(all_runs, said), *limits], x, y, [])


def _series(all_runs: AllRuns, said: Callable[[Point], str]) -> list[Trace]:
    """For each engine its small models and its others; one name in the legend for both."""
    found: list[Trace] = []
    for index, engine in enumerate(dict.fromkeys(point.model.engine for point in all_runs.points)):
        of = [point for point in all_runs.points if point.model.engine == engine]
        named = True
        for shape, small in (("", True), ("-open", False)):
            if points := [point for point in of if all_runs.is_small(point) is small]:
                trace = _trace(points, index, shape, said, crowded=len(all_runs.points) > CROWD)
                found.append(trace | {"legendgroup": engine, "showlegend": named})
                named = False
    return found


def _trace(points: list[Point], index: int, shape: str, said: Callable[[Point], str], *, crowded: bool) -> Trace:
    pairs = [(point.bandwidth, point.share) for point in points]
    trace = figure.points(
        f"@engine:{points[0].model.engine}",
        pairs,
        index,
        lines=False,
        **figure.style(index, shape),
        text=[html.escape(said(point)) for point in points],
        customdata=[[point.kind, point.model.model, point.model.engine] for point in points],
        hovertemplate="%{text}<br>%{x:,.3~r} GB/s, %{y:.0f}%<extra></extra>",
    )
    if crowded:
        trace["marker"] |= {"size": 5, "opacity": 0.6}
        trace["error_y"]["visible"] = False
    return trace
