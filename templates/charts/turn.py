"""The chart of one turn."""

from __future__ import annotations

from templates.charts import figure
from templates.charts.figure import Chart, Trace
from templates.facts.edition import Edition
from templates.quantity import Quantity


def turn(edition: Edition) -> Chart:
    turn = edition.turn
    ways = {"whole_sound": turn.speak_whole, "streamed_sound": turn.speak_streaming}
    parts = [("recognise", turn.recognise), ("take_in", turn.take_in), ("generate", turn.generate)]
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, (label, fact) in enumerate([*parts, ("sound", turn.speak_whole)]):
        facts = list(ways.values()) if label == "sound" else [fact, fact]
        if all(one.measured for one in facts):
            traces.append(figure.stacked(label, [f"@{way}" for way in ways], facts, index))
            rows.append((f"@{label}", facts[0], facts[1]))
    return Chart(figure.piled(traces, "@wait_axis"), ("@part", "@whole_sound", "@streamed_sound"), rows)
