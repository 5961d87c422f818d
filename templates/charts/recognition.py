"""Charts of the section on recognition."""

from __future__ import annotations

from templates.charts import figure
from templates.charts.figure import Chart
from templates.facts.edition import Edition
from templates.facts.recognition_chunk import Chunk
from templates.facts.recognition_step import PARTS, WINDOWS


def step_parts(edition: Edition) -> Chart:
    """The parts of a recogniser's step, stacked, for each chunk."""
    chunks = [chunk for chunk in edition.recognition.chunks if chunk.step.parts_time.measured]
    names = [_chunk_name(chunk) for chunk in chunks]
    traces, rows = [], []
    for index, name in enumerate(PARTS if chunks else ()):
        facts = [chunk.step.part(name) for chunk in chunks]
        traces.append(figure.stacked(f"part_{name}", names, facts, index))
        rows += [(f"@part_{name}", chunk.length, one) for chunk, one in zip(chunks, facts, strict=True)]
    drawing = figure.piled(traces, "@step_axis", {"title": {"text": "@chunk"}, "type": "category"})
    return Chart(drawing, ("@part_of_step", "@chunk", "part_time"), rows)


def _chunk_name(chunk: Chunk) -> str:
    return f"{chunk.card_ms} ms"


def delay(edition: Edition) -> Chart:
    """The delay to the final result and the step against the chunk, with the mean wait for the chunk to fill."""
    chunks = edition.recognition.chunks
    series = {
        "final_delay": [(chunk.length, chunk.final_delay) for chunk in chunks],
        "step_cached": [(chunk.length, chunk.step_time) for chunk in chunks],
    }
    traces, rows = figure.drawn(series)
    if rows:
        waits = [(chunk.length.value or 0.0, chunk.wait.value or 0.0) for chunk in chunks]
        traces.append(figure.line("@filling", [x for x, _ in waits], [y for _, y in waits], figure.IDEAL))
    return Chart(
        figure.framed(traces, {"title": {"text": "@chunk_axis"}}, {"title": {"text": "@delay_axis"}}, []),
        ("@series", "@chunk", "@duration"),
        rows,
    )


def cache(edition: Edition) -> Chart:
    """What the cache saves in arithmetic and in time against the chunk, for each length of the window."""
    chunks = edition.recognition.chunks
    names = {index: f"window{seconds.replace('.', '_')}" for index, seconds in enumerate(WINDOWS)}
    series = {"work_context": [(chunk.length, chunk.work.work_gain) for chunk in chunks]}
    series |= {f"work_{n}": [(c.length, c.windows[index].work_gain) for c in chunks] for index, n in names.items()}
    series |= {"time_context": [(chunk.length, chunk.cache_gain) for chunk in chunks]}
    series |= {f"time_{n}": [(c.length, c.windows[index].cache_gain) for c in chunks] for index, n in names.items()}
    traces, rows = figure.drawn(series)
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@cache_axis"}, "rangemode": "tozero"}
    return Chart(
        figure.framed(traces, x, y, [figure.rule(1, figure.LIMIT)]), ("@series", "@chunk", "@cache_axis"), rows
    )


def streams(edition: Edition) -> Chart:
    """Streams that keep up against the chunk, and what the vendor says of its own measurement."""
    chunks, card = edition.recognition.chunks, edition.recognition.card_streams
    series = {
        "streams_cached": [(chunk.length, chunk.streams) for chunk in chunks],
        "streams_batched": [(chunk.length, chunk.batched_streams) for chunk in chunks],
        "streams_buffered": [(chunk.length, chunk.buffered_streams) for chunk in chunks],
        "card_cached": [(length, cached) for length, cached, _ in card],
        "card_buffered": [(length, buffered) for length, _, buffered in card],
    }
    traces, rows = figure.drawn(series, cited=("card_cached", "card_buffered"))
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@streams_axis"}, "type": "log"}
    return Chart(figure.framed(traces, x, y, []), ("@series", "@chunk", "streams"), rows)


def errors(edition: Edition) -> Chart:
    """Character error rates against the chunk, with those of the model card."""
    chunks = edition.recognition.chunks
    series = {
        "errors_synthetic": [(chunk.length, chunk.errors.error_synthetic) for chunk in chunks],
        "errors_read": [(chunk.length, chunk.errors.error_read) for chunk in chunks],
        "errors_card": [(chunk.length, chunk.errors.card) for chunk in chunks],
    }
    traces, rows = figure.drawn(series)
    x = {"title": {"text": "@chunk_axis"}, "type": "log", "tickvals": sorted({row[1].value or 0.0 for row in rows})}
    y = {"title": {"text": "@error_axis"}, "rangemode": "tozero"}
    return Chart(figure.framed(traces, x, y, []), ("@series", "@chunk", "@error_rate"), rows)
