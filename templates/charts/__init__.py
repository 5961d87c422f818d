"""Charts: an edition's facts as Plotly figures, built once, their texts put into each language afterwards."""

from __future__ import annotations

from collections.abc import Callable

from templates.charts import decoding, recognition, synthesis, turn
from templates.charts.figure import Chart
from templates.charts.text import checked, said, spoken, undressed, written
from templates.facts.edition import Edition

__all__ = ["Chart", "charts", "checked", "said", "spoken", "undressed", "written"]

_BUILDERS: dict[str, Callable[[Edition], Chart]] = {
    "share": decoding.share,
    "batch": decoding.batch,
    "prefill": decoding.prefill,
    "roofline": decoding.roofline,
    "turn": turn.turn,
    "step_parts": recognition.step_parts,
    "delay": recognition.delay,
    "cache": recognition.cache,
    "streams": recognition.streams,
    "errors": recognition.errors,
    "utterance": synthesis.utterance,
    "steps": synthesis.steps,
    "parts": synthesis.parts,
    "magpie_step": synthesis.magpie_step,
}


def charts(edition: Edition) -> dict[str, Chart]:
    """All charts of an edition that have at least one point."""
    made = {name: build(edition) for name, build in _BUILDERS.items()}
    return {name: chart for name, chart in made.items() if chart.rows}
