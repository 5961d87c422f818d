"""Charts: an edition's facts as Plotly figures, built once, their texts put into each language afterwards.

Colours are roles ("var:--chart-1") that the page resolves in its palette. Missing points are left out,
never drawn as 0. A text to translate stands in a figure as `@name`, an entry of labels.toml [chart].
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.facts.recognition_chunk import Chunk
from templates.facts.recognition_step import PARTS, WINDOWS
from templates.quantity import Quantity
from templates.voice import Voice

COLOURS = [f"var:--chart-{n}" for n in range(1, 7)]
IDEAL, LIMIT, GRID, TEXT = "var:--chart-ideal", "var:--chart-limit", "var:--chart-grid", "var:--chart-text"
_TEXT = re.compile(r'(?<=[:,\[])"(@[^"\\]*)"')
"""A text to say, as it stands in JSON."""

Trace = dict[str, Any]
M = TypeVar("M")

SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x"]
DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]


class Chart(NamedTuple):
    """A figure, and the facts it draws: rows of label, x and y for the table beside it."""

    figure: dict[str, Any]
    head: tuple[str, str, str]
    rows: list[tuple[str, Quantity, Quantity]]


def charts(edition: Edition) -> dict[str, Chart]:
    """All charts of an edition that have at least one point."""
    made = {name: build(edition) for name, build in _BUILDERS.items()}
    return {name: chart for name, chart in made.items() if chart.rows}


def written(figure: dict[str, Any]) -> str:
    """The figure as compact JSON without NaN, its texts still to be said."""
    return json.dumps(_gaps(figure), ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True) + "\n"


def _gaps(part: Any) -> Any:
    """The figure with a null for each number that is none."""
    if isinstance(part, dict):
        return {name: _gaps(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_gaps(value) for value in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def spoken(figure: str, voice: Voice) -> str:
    """A written figure with every `@name` said in the voice's language."""
    return _TEXT.sub(lambda found: json.dumps(said(found[1], voice), ensure_ascii=False), figure)


def said(text: str, voice: Voice) -> str:
    """An `@name` by its label, several with a `|` between them, an `@model` by its title; any other text as it is."""
    if text.startswith("@model:"):
        named, _, label = text.removeprefix("@model:").partition("|")
        subject, _, engine = named.partition("@")
        title = voice.model(subject, engine).unescape()
        return f"{title}{voice.comma}{voice.labels.get('chart', label)}" if label else title
    return voice.comma.join(_word(name, voice) for name in text[1:].split("|")) if text.startswith("@") else text


def _word(name: str, voice: Voice) -> str:
    """An entry of [chart], or of [part] where `part:` stands before it."""
    part = name.removeprefix("part:")
    return voice.labels.get("chart" if part == name else "part", part)


def checked(figure: dict[str, Any]) -> None:
    """Hold a figure against Plotly's own schema. Raises ValueError naming what it does not know.

    It takes as long as rendering all pages, so `--check` and the tests ask for it, and rendering does not.
    """
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    go.Figure(_with_colours(figure))


def _with_colours(part: Any) -> Any:
    """The figure with a colour that Plotly knows in place of each role."""
    if isinstance(part, dict):
        return {name: _with_colours(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_with_colours(value) for value in part]
    return "#000000" if isinstance(part, str) and part.startswith("var:--chart-") else part


def _figure(traces: list[Any], x: dict[str, Any], y: dict[str, Any], shapes: list[dict[str, Any]]) -> dict[str, Any]:
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


def _points(
    name: str, points: list[tuple[Quantity, Quantity]], index: int, *, lines: bool = True, **more: Any
) -> Trace:
    """A series of facts against facts, with the interval of y as error bars where there is one."""
    above = [_gap(y.high, y.value) for _, y in points]
    below = [_gap(y.value, y.low) for _, y in points]
    return {
        "type": "scatter",
        "name": name,
        "x": [_short(x.value) for x, _ in points],
        "y": [_short(y.value) for _, y in points],
        "mode": "lines+markers" if lines else "markers",
        **_style(index),
        "error_y": {"type": "data", "array": above, "arrayminus": below, "visible": any(above + below)},
        **more,
    }


def _style(index: int, shape: str = "") -> dict[str, Any]:
    """Colour, dash and shape of a series: no two of the first 36 are alike in both colour and shape."""
    colour, look = COLOURS[index % 6], (index + index // 6) % 6
    return {
        "line": {"color": colour, "dash": DASHES[look]},
        "marker": {"color": colour, "symbol": SYMBOLS[look] + shape, "size": 9},
    }


def _gap(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None or not math.isfinite(high - low) else _short(high - low)


def _short(value: float | None) -> float:
    """Six figures: more cannot be seen, and noise of the last digits would change the file."""
    return float(f"{value:.6g}") if value is not None else math.nan


def _line(name: str, x: list[float], y: list[float], colour: str) -> Trace:
    plain = [_short(value) for value in x], [_short(value) for value in y]
    return {
        "type": "scatter",
        "name": name,
        "x": plain[0],
        "y": plain[1],
        "mode": "lines",
        "line": {"color": colour, "dash": "dash"},
        "hoverinfo": "name",
    }


def _rule(y: float, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"color": colour, "dash": "dash"},
    }


def _models(edition: Edition) -> list[LanguageModel]:
    return list(dict.fromkeys([edition.focus, *edition.models]))


def _name(model: LanguageModel) -> str:
    """What a figure calls a model until a voice says it."""
    return f"@model:{model.subject}@{model.engine}" if model.among_engines else f"@model:{model.subject}"


def _share(edition: Edition) -> Chart:
    models = [model for model in _models(edition) if model.share.measured]
    shares = [_short(model.share.value) for model in models]
    errors = [_gap(model.share.high, model.share.value) for model in models]
    minus = [_gap(model.share.value, model.share.low) for model in models]
    bars = {
        "type": "bar",
        "x": [_name(model) for model in models],
        "y": shares,
        "marker": {"color": COLOURS[0]},
        "text": [f"{share:.0f}%" for share in shares],
        "insidetextanchor": "start",
        "error_y": {"type": "data", "array": errors, "arrayminus": minus, "visible": any(errors + minus)},
        "showlegend": False,
    }
    near = edition.thresholds.near.value or 0
    shapes = [_rule(100, LIMIT), _rule(near, IDEAL)]
    marks = [_line("@whole", [], [], LIMIT), _line("@near", [], [], IDEAL)]
    figure = _figure(
        [bars, *marks], {"title": {"text": "@model"}}, {"title": {"text": "@share_axis"}, "range": [0, 112]}, shapes
    )
    rows = [(_name(model), model.weights, model.share) for model in models]
    return Chart(figure, ("@model", "weights", "share"), rows)


def _batch(edition: Edition) -> Chart:
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    for index, model in enumerate(edition.models):
        batches = model.timed_batches
        if not batches:
            continue
        name = _name(model)
        traces.append(_points(name, [(batch.at_once, batch.rate) for batch in batches], index))
        rows += [(name, batch.at_once, batch.rate) for batch in batches]
    traces += list(_batch_limits(edition, rows))
    x = {"title": {"text": "@requests_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    return Chart(
        _figure(traces, x, {"title": {"text": "@total_axis"}, "type": "log"}, []), ("@model", "at_once", "rate"), rows
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
        yield _broken("@ideal", ideal_x, ideal_y, IDEAL)
    if limit_x:
        yield _broken("@compute_limit", limit_x, limit_y, LIMIT)


def _broken(name: str, x: list[float], y: list[float], colour: str) -> Trace:
    """A line with gaps where a value is not a number."""
    gaps = [[None if math.isnan(value) else _short(value) for value in axis] for axis in (x, y)]
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


def _prefill(edition: Edition) -> Chart:
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    ceilings_x: list[float] = []
    ceilings_y: list[float] = []
    for index, model in enumerate(_models(edition)):
        prompts = [prompt for prompt in model.prompts if prompt.rate.measured]
        if not prompts:
            continue
        name = _name(model)
        traces.append(_points(name, [(prompt.length, prompt.rate) for prompt in prompts], index))
        rows += [(name, prompt.length, prompt.rate) for prompt in prompts]
        work, compute = model.parameters_without_embeddings.value, model.compute
        if work and compute.value is not None:
            ceilings_x += [prompts[0].tokens, prompts[-1].tokens, math.nan]
            ceilings_y += [(compute.to("TFLOPS").value or 0.0) * 1e12 / (2 * work)] * 2 + [math.nan]
    if ceilings_x:
        traces.append(_broken("@compute_limit", ceilings_x, ceilings_y, LIMIT))
    x = {"title": {"text": "@length_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    return Chart(
        _figure(traces, x, {"title": {"text": "@rate_axis"}, "rangemode": "tozero"}, []),
        ("@model", "length", "rate"),
        rows,
    )


def _roofline(edition: Edition) -> Chart:
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
                traces.append(_points(_name(model), points, index, lines=False, **alone, **_style(index, shape)))
                rows += [(f"{_name(model)}|{label}", x, y) for x, y in points]
    return Chart(
        _figure(
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
    yield _line("@memory_limit", [first, ridge], [first * bandwidth / 1000, highest], IDEAL)
    flat_x = [end for ceiling in sorted(ceilings) for end in (ceiling * 1000 / bandwidth, last, math.nan)]
    flat_y = [end for ceiling in sorted(ceilings) for end in (ceiling, ceiling, math.nan)]
    yield _broken("@compute_limit", flat_x, flat_y, LIMIT)


def _turn(edition: Edition) -> Chart:
    turn = edition.turn
    ways = {"whole_sound": turn.speak_whole, "streamed_sound": turn.speak_streaming}
    parts = [("recognise", turn.recognise), ("take_in", turn.take_in), ("generate", turn.generate)]
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, (label, fact) in enumerate([*parts, ("sound", turn.speak_whole)]):
        facts = list(ways.values()) if label == "sound" else [fact, fact]
        if all(one.measured for one in facts):
            traces.append(_stacked(label, [f"@{way}" for way in ways], facts, index))
            rows.append((f"@{label}", facts[0], facts[1]))
    figure = _figure(traces, {"title": {"text": "@wait_axis"}}, {}, [])
    figure["layout"]["barmode"] = "stack"
    return Chart(figure, ("@part", "@whole_sound", "@streamed_sound"), rows)


def _magpie_step(edition: Edition) -> Chart:
    stacks = {"one_a_step": edition.magpie.single, "two_a_step": edition.magpie.published}
    names = [f"@{name}" for name in stacks]
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, parts in enumerate(zip(*(stack.step_parts for stack in stacks.values()), strict=True)):
        if all(part.part_time.measured for part in parts):
            label = f"part:{parts[0].name}"
            traces.append(_stacked(label, names, [part.frame_part for part in parts], index))
            told = zip(stacks, parts, strict=True)
            rows += [(f"@{label}|{name}", part.part_time, part.frame_part) for name, part in told]
    figure = _figure(traces, {"title": {"text": "@frame_axis"}}, {"autorange": "reversed"}, [])
    figure["layout"]["barmode"] = "stack"
    figure["layout"]["legend"]["traceorder"] = "normal"
    return Chart(figure, ("@portion", "part_time", "frame_part"), rows)


def _stacked(label: str, names: list[str], facts: list[Quantity], index: int) -> Trace:
    """One part of a stacked bar, for each of `names`."""
    lengths = [_short(one.value) for one in facts]
    colour = {"color": COLOURS[index % 6]}
    return {"type": "bar", "orientation": "h", "name": f"@{label}", "y": names, "x": lengths, "marker": colour}


def _step_parts(edition: Edition) -> Chart:
    """The parts of a recogniser's step, stacked, for each chunk."""
    chunks = [chunk for chunk in edition.recognition.chunks if chunk.step.parts_time.measured]
    names = [_chunk_name(chunk) for chunk in chunks]
    traces, rows = [], []
    for index, name in enumerate(PARTS if chunks else ()):
        facts = [chunk.step.part(name) for chunk in chunks]
        traces.append(_stacked(f"part_{name}", names, facts, index))
        rows += [(f"@part_{name}", chunk.length, one) for chunk, one in zip(chunks, facts, strict=True)]
    figure = _figure(traces, {"title": {"text": "@step_axis"}}, {"title": {"text": "@chunk"}, "type": "category"}, [])
    figure["layout"]["barmode"] = "stack"
    return Chart(figure, ("@part_of_step", "@chunk", "part_time"), rows)


def _chunk_name(chunk: Chunk) -> str:
    return f"{chunk.card_ms} ms"


def _delay(edition: Edition) -> Chart:
    """The delay to the final result and the step against the chunk, with the mean wait for the chunk to fill."""
    chunks = edition.recognition.chunks
    series = {
        "final_delay": [(chunk.length, chunk.final_delay) for chunk in chunks],
        "step_cached": [(chunk.length, chunk.step_time) for chunk in chunks],
    }
    traces, rows = _drawn(series)
    if rows:
        longest = max(row[1].value or 0.0 for row in rows)
        traces.append(_line("@filling", [0.0, longest], [0.0, longest / 2], IDEAL))
    return Chart(
        _figure(traces, {"title": {"text": "@chunk_axis"}}, {"title": {"text": "@delay_axis"}}, []),
        ("@series", "@chunk", "@duration"),
        rows,
    )


def _cache(edition: Edition) -> Chart:
    """What the cache saves in arithmetic and in time against the chunk, for each length of the window."""
    chunks = edition.recognition.chunks
    names = {index: f"window{seconds.replace('.', '_')}" for index, seconds in enumerate(WINDOWS)}
    series = {"work_context": [(chunk.length, chunk.work.work_gain) for chunk in chunks]}
    series |= {f"work_{n}": [(c.length, c.windows[index].work_gain) for c in chunks] for index, n in names.items()}
    series |= {"time_context": [(chunk.length, chunk.cache_gain) for chunk in chunks]}
    series |= {f"time_{n}": [(c.length, c.windows[index].cache_gain) for c in chunks] for index, n in names.items()}
    traces, rows = _drawn(series)
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@cache_axis"}, "rangemode": "tozero"}
    return Chart(_figure(traces, x, y, [_rule(1, LIMIT)]), ("@series", "@chunk", "@cache_axis"), rows)


def _streams(edition: Edition) -> Chart:
    """Streams that keep up against the chunk, and what the vendor says of its own measurement."""
    chunks, card = edition.recognition.chunks, edition.recognition.card_streams
    series = {
        "streams_cached": [(chunk.length, chunk.streams) for chunk in chunks],
        "streams_batched": [(chunk.length, chunk.batched_streams) for chunk in chunks],
        "streams_buffered": [(chunk.length, chunk.buffered_streams) for chunk in chunks],
        "card_cached": [(length, cached) for length, cached, _ in card],
        "card_buffered": [(length, buffered) for length, _, buffered in card],
    }
    traces, rows = _drawn(series, cited=("card_cached", "card_buffered"))
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@streams_axis"}, "type": "log"}
    return Chart(_figure(traces, x, y, []), ("@series", "@chunk", "streams"), rows)


def _errors(edition: Edition) -> Chart:
    """Character error rates against the chunk, with those of the model card."""
    chunks = edition.recognition.chunks
    series = {
        "errors_synthetic": [(chunk.length, chunk.errors.error_synthetic) for chunk in chunks],
        "errors_read": [(chunk.length, chunk.errors.error_read) for chunk in chunks],
        "errors_card": [(chunk.length, chunk.errors.card) for chunk in chunks],
    }
    traces, rows = _drawn(series)
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@error_axis"}, "rangemode": "tozero"}
    return Chart(_figure(traces, x, y, []), ("@series", "@chunk", "@error_rate"), rows)


def _drawn(
    series: dict[str, list[tuple[Quantity, Quantity]]], cited: tuple[str, ...] = ()
) -> tuple[list[Any], list[tuple[str, Quantity, Quantity]]]:
    """Traces and rows of the series that have a measured point; those that are `cited` are open points, no line."""
    traces: list[Any] = []
    rows: list[tuple[str, Quantity, Quantity]] = []
    for index, (name, points) in enumerate(series.items()):
        measured = [point for point in points if point[1].measured]
        if measured:
            style = _style(index, "-open" if name in cited else "")
            traces.append(_points(f"@{name}", measured, index, lines=name not in cited, showlegend=True, **style))
            rows += [(f"@{name}", x, y) for x, y in measured]
    return traces, rows


def _utterance(edition: Edition) -> Chart:
    """Whole utterances with their line, and the first sound of a streamed one, which no length delays."""
    voxcpm = edition.voxcpm
    points = [point for point in voxcpm.points if point.measured]
    rows = [("@whole_sound", point.x, point.y) for point in points]
    traces: list[Trace] = []
    if points:
        first = [(point.x, point.y.to("s")) for point in points]
        traces.append(_points("@whole_sound", first, 0, lines=False))
    ends = [0.0, max((point.x.value or 0.0 for point in points), default=0.0)]
    slope, fixed = voxcpm.slope.value, voxcpm.fixed.value
    if points and slope is not None and fixed is not None:
        traces.append(_line("@fitted", ends, [fixed + slope * end for end in ends], IDEAL))
    first_sound = voxcpm.first_audio_timed
    if points and first_sound.measured:
        traces.append(_line("@streamed_sound", ends, [first_sound.to("s").value or 0.0] * 2, COLOURS[1]))
        rows.append(("@streamed_sound", voxcpm.patch_audio, first_sound))
    axes = {"title": {"text": "@audio_axis"}}, {"title": {"text": "@work_axis"}, "rangemode": "tozero"}
    return Chart(_figure(traces, *axes, []), ("@sound", "utterance_audio", "utterance_time"), rows)


def _steps(edition: Edition) -> Chart:
    """A patch by its diffusion steps: what the line gives to the calls and to the rest, and what was timed."""
    loop = edition.voxcpm.loop
    timed = [steps for steps in edition.voxcpm.steps[::-1] if steps.patch_time.measured]
    names = [str(steps.steps) for steps in timed]
    traces: list[Trace] = []
    if loop.call_time.measured:
        traces.append(_column("@beside", names, [loop.beside_calls for _ in timed], 1))
        traces.append(_column("@network", names, [steps.network_time for steps in timed], 0))
    if timed:
        marks = _points("@timed_patch", [(steps.count, steps.patch_time) for steps in timed], 3, lines=False)
        traces.append({**marks, "x": names})
    figure = _figure(
        traces, {"title": {"text": "@time_steps_axis"}, "type": "category"}, {"title": {"text": "@patch_axis"}}, []
    )
    figure["layout"]["barmode"] = "stack"
    rows = [(str(steps.steps), steps.network_time, steps.patch_time) for steps in timed]
    return Chart(figure, ("@time_steps_axis", "network_time", "patch_time"), rows)


def _parts(edition: Edition) -> Chart:
    """What a patch is made of, in a whole utterance and streaming."""
    whole, streamed = edition.voxcpm.patch.members, edition.voxcpm.streaming.patch.members
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, (part, other) in enumerate(zip(whole, streamed, strict=True)):
        facts = part.part_time, other.part_time
        if any(one.measured for one in facts):
            traces.append(_stacked(f"part:{part.name}", ["@whole_patch", "@streamed_patch"], list(facts), index))
            rows.append((f"@part:{part.name}", *facts))
    figure = _figure(traces, {"title": {"text": "@patch_axis"}}, {}, [])
    figure["layout"]["barmode"] = "stack"
    return Chart(figure, ("@portion", "@whole_patch", "@streamed_patch"), rows)


def _column(label: str, names: list[str], facts: list[Quantity], index: int) -> Trace:
    """One part of a stacked column, for each of `names`."""
    heights = [_short(one.value) for one in facts]
    return {"type": "bar", "name": label, "x": names, "y": heights, "marker": {"color": COLOURS[index]}}


_BUILDERS: dict[str, Callable[[Edition], Chart]] = {
    "share": _share,
    "batch": _batch,
    "prefill": _prefill,
    "roofline": _roofline,
    "turn": _turn,
    "step_parts": _step_parts,
    "delay": _delay,
    "cache": _cache,
    "streams": _streams,
    "errors": _errors,
    "utterance": _utterance,
    "steps": _steps,
    "parts": _parts,
    "magpie_step": _magpie_step,
}
