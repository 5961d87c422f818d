"""Charts of the section on decoding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from templates.charts import figure
from templates.charts.figure import Chart, Trace
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.quantity import Quantity

M = TypeVar("M")


def _models(edition: Edition) -> list[LanguageModel]:
    return list(dict.fromkeys([edition.focus, *edition.models]))


def _name(model: LanguageModel) -> str:
    """What a figure calls a model until a voice says it."""
    return f"@model:{model.subject}@{model.engine}" if model.among_engines else f"@model:{model.subject}"


def share(edition: Edition) -> Chart:
    models = [model for model in _models(edition) if model.share.measured]
    shares = [figure.short(model.share.value) for model in models]
    errors = [figure.gap(model.share.high, model.share.value) for model in models]
    minus = [figure.gap(model.share.value, model.share.low) for model in models]
    bars = {
        "type": "bar",
        "x": [_name(model) for model in models],
        "y": shares,
        "marker": {"color": figure.COLOURS[0]},
        "text": [f"{share:.0f}%" for share in shares],
        "insidetextanchor": "start",
        "error_y": {"type": "data", "array": errors, "arrayminus": minus, "visible": any(errors + minus)},
        "showlegend": False,
    }
    near = edition.thresholds.near.value or 0
    shapes = [figure.rule(100, figure.LIMIT), figure.rule(near, figure.IDEAL)]
    marks = [figure.line("@whole", [], [], figure.LIMIT), figure.line("@near", [], [], figure.IDEAL)]
    drawing = figure.framed(
        [bars, *marks], {"title": {"text": "@model"}}, {"title": {"text": "@share_axis"}, "range": [0, 112]}, shapes
    )
    rows = [(_name(model), model.weights, model.share) for model in models]
    return Chart(drawing, ("@model", "weights", "share"), rows)


def batch(edition: Edition) -> Chart:
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    for index, model in enumerate(edition.models):
        batches = model.timed_batches
        if not batches:
            continue
        name = _name(model)
        traces.append(figure.points(name, [(batch.at_once, batch.rate) for batch in batches], index))
        rows += [(name, batch.at_once, batch.rate) for batch in batches]
    traces += list(_batch_limits(edition, rows))
    x = {"title": {"text": "@requests_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    return Chart(
        figure.framed(traces, x, {"title": {"text": "@total_axis"}, "type": "log"}, []),
        ("@model", "at_once", "rate"),
        rows,
    )


def _batch_limits(edition: Edition, rows: list[tuple[str, Quantity, Quantity]]) -> Iterator[Trace]:
    """The ideal line from each model's single request, and the compute ceiling where the arithmetic is known."""
    most = max((row[1].value or 1 for row in rows), default=1)
    ideal_x, ideal_y = [], []
    limit_x, limit_y = [], []
    for model in edition.models:
        if model.rate.value is not None:
            ideal_x += [1, most, math.nan]
            ideal_y += [model.rate.value, model.rate.value * most, math.nan]
        work = model.parameters_without_embeddings.value
        if work and model.compute.value is not None:
            rate = model.compute.to("TFLOPS").value or 0.0
            limit_x += [1, most, math.nan]
            limit_y += [rate * 1e12 / (2 * work)] * 2 + [math.nan]
    if ideal_x:
        yield figure.broken("@ideal", ideal_x, ideal_y, figure.IDEAL)
    if limit_x:
        yield figure.broken("@compute_limit", limit_x, limit_y, figure.LIMIT)


def prefill(edition: Edition) -> Chart:
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    ceilings_x: list[float] = []
    ceilings_y: list[float] = []
    for index, model in enumerate(_models(edition)):
        prompts = [prompt for prompt in model.prompts if prompt.rate.measured]
        if not prompts:
            continue
        name = _name(model)
        traces.append(figure.points(name, [(prompt.length, prompt.rate) for prompt in prompts], index))
        rows += [(name, prompt.length, prompt.rate) for prompt in prompts]
        work, compute = model.parameters_without_embeddings.value, model.compute
        if work and compute.value is not None:
            ceilings_x += [prompts[0].tokens, prompts[-1].tokens, math.nan]
            ceilings_y += [(compute.to("TFLOPS").value or 0.0) * 1e12 / (2 * work)] * 2 + [math.nan]
    if ceilings_x:
        traces.append(figure.broken("@compute_limit", ceilings_x, ceilings_y, figure.LIMIT))
    x = {"title": {"text": "@length_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    return Chart(
        figure.framed(traces, x, {"title": {"text": "@rate_axis"}, "rangemode": "tozero"}, []),
        ("@model", "length", "rate"),
        rows,
    )


def roofline(edition: Edition) -> Chart:
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    for index, model in enumerate(edition.models):
        batches, prompts = _spread(model.timed_batches), _spread(model.timed_prompts)
        decode = [(b.intensity, b.compute_with_head) for b in batches if b.compute_with_head.measured]
        prefill = [(p.intensity, p.compute) for p in prompts if p.compute.measured]
        # One name in the legend a model: its decoding is drawn filled, its prompts open.
        for label, shape, points in (("decode", "", decode), ("prompts", "-open", prefill)):
            if points:
                alone = {"showlegend": label == "decode" or not decode, "legendgroup": _name(model)}
                traces.append(
                    figure.points(_name(model), points, index, lines=False, **alone, **figure.style(index, shape))
                )
                rows += [(f"{_name(model)}|{label}", x, y) for x, y in points]
    return Chart(
        figure.framed(
            [*traces, *_roof(edition, rows)],
            {"title": {"text": "@intensity_axis"}, "type": "log"},
            {"title": {"text": "@compute_axis"}, "type": "log"},
            [],
        ),
        ("@model", "intensity", "compute"),
        rows,
    )


def _spread(members: list[M]) -> list[M]:
    """The first, the middle and the last: all of them for a dozen models would be one cloud of points."""
    places = dict.fromkeys((0, len(members) // 2, len(members) - 1)) if members else ()
    return [members[place] for place in places]


def _roof(edition: Edition, rows: list[tuple[str, Quantity, Quantity]]) -> Iterator[Trace]:
    """The ceilings: bandwidth times intensity up to the ridge, then the arithmetic of each precision that is drawn."""
    bandwidth = edition.direct.bandwidth.value
    ceilings = {model.compute.value for model in edition.models if model.compute.value is not None}
    if not rows or bandwidth is None or not ceilings:
        return
    highest = max(ceilings)
    first = min(row[1].value or 1 for row in rows) / 2
    last = max([highest * 1000 / bandwidth, *(row[1].value or 1 for row in rows)]) * 2
    ridge = highest * 1000 / bandwidth
    yield figure.line("@memory_limit", [first, ridge], [first * bandwidth / 1000, highest], figure.IDEAL)
    flat_x = [end for ceiling in sorted(ceilings) for end in (ceiling * 1000 / bandwidth, last, math.nan)]
    flat_y = [end for ceiling in sorted(ceilings) for end in (ceiling, ceiling, math.nan)]
    yield figure.broken("@compute_limit", flat_x, flat_y, figure.LIMIT)
