"""The notebook's code: a cell begins at each `# %%` and bears its name.

A comment stands beside what a reader may set. Lines are short enough for the page.
"""

# %% data
from measure.store import load
from templates import line
from templates.facts.constants import OPERATIONS, REQUEST, TOKEN_PER_REQUEST
from templates.facts.edition import editions
from templates.facts.language_model import LanguageModel
from templates.notebook.show import RESULTS, Show
from templates.quantity import Quantity, constant, least

LANGUAGE = "en"  # or "ko", "zh"
EDITION = "h200"  # or "source", "cpu"; "here" for your own machine

told = {edition.id: edition for edition in editions(load(RESULTS))}
edition = told[EDITION]
show = Show(told, EDITION, LANGUAGE)

rows = []
for each in told.values():
    bandwidth, models = each.direct.bandwidth, len(each.models)
    utterances = sum(point.measured for point in each.voxcpm.points)
    rows.append((show.edition(each), bandwidth, models, utterances))
show.table(["edition", "memory_bandwidth", "models", "utterances"], rows)

# %% roofline
engines = edition.engines[-1:]  # the last engine; without [-1:] all of them

chosen = [model for model in edition.models if model.engine in engines]
bandwidth = edition.direct.bandwidth


def roof(model: LanguageModel, intensity: Quantity) -> Quantity:
    """What the bandwidth feeds, or less where arithmetic cannot do as much."""
    return least([bandwidth * intensity, model.compute], "TFLOPS", "roof")


chart = show.chart("roofline", "intensity_axis", "compute_axis", log="xy")
chart.head = ["count", "intensity", "operations", "roof", "of_roof"]
for model in chosen:
    decoding, prefill = [], []
    for batch in model.timed_batches:
        x, y = batch.intensity, batch.compute_with_head
        decoding.append((batch.at_once, x, y))
    for prompt in model.timed_prompts:
        prefill.append((prompt.length, prompt.intensity, prompt.compute))
    name = show.model(model)
    chart.points(name, [(x, y) for _, x, y in decoding])
    chart.points(name, [(x, y) for _, x, y in prefill], hollow=True)
    chart.row(name)
    for length, x, y in decoding + prefill:
        top = roof(model, x)
        chart.row(length, x, y, top, (y / top).to("%"))

for model in {model.compute.value: model for model in chosen}.values():
    bend = (model.compute / bandwidth).to("FLOP/B")
    chart.curve("roof", [(x, roof(model, x)) for x in [*chart.xs, bend]])
chart.show()

# %% requests
chart = show.chart("requests", "requests_axis", "total_axis", log="xy")
chart.head = ["at_once", "measured", "read", "computed", "of_lower"]
for model in chosen:
    rates, bounds = [], []
    work = OPERATIONS * model.parameters_with_head  # for each token
    computed = (model.compute / work).to("tok/s")
    chart.row(show.model(model))
    for batch in model.timed_batches:
        step = (model.weights + batch.kv_bytes) / bandwidth  # to read all
        read = (batch.at_once * TOKEN_PER_REQUEST / step).to("tok/s")
        lower = least([read, computed], "tok/s", "lower")
        share = (batch.rate / lower).to("%")
        rates.append((batch.at_once, batch.rate))
        bounds.append((batch.at_once, lower))
        chart.row(batch.requests, batch.rate, read, computed, share)
    chart.points(show.model(model), rates)
    chart.curve(show.model(model), bounds)
chart.show()

# %% contexts
lengths = [128, 1024, 8192, 32768]  # tokens that each request has behind it
counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]  # requests at once

contexts = [constant(length, "tok", "context_length") for length in lengths]
chart = show.chart("contexts", "requests_axis", "total_axis", log="xy")
chart.head = ["at_once", *(show.number(context) for context in contexts)]


def most(model: LanguageModel, n: Quantity, context: Quantity) -> Quantity:
    """Tokens a second if a step took no longer than reading all it needs."""
    step = (model.weights + n / REQUEST * model.kv_of(context)) / bandwidth
    return (n * TOKEN_PER_REQUEST / step).to("tok/s")


for model in chosen[-1:]:  # the last of the models above
    at_once = [constant(count, "req", "requests") for count in counts]
    for context in contexts:
        bounds = [(n, most(model, n, context)) for n in at_once]
        chart.curve(show.number(context), bounds, own=True)
    for count, n in zip(counts, at_once, strict=True):
        chart.row(count, *(most(model, n, context) for context in contexts))
chart.show()

# %% synthesis
shortest = 0  # seconds of sound; a shorter utterance does not count

points = [point for point in edition.voxcpm.points if point.measured]
points = [point for point in points if (point.x.value or 0) >= shortest]
slope = line.slope(points, "1", "slope")
fixed = line.intercept(points, "s", "fixed time")

chart = show.chart("synthesis", "audio_axis", "time_axis")
chart.head = ["audio", "time", "by_line", "beside_line", "turned"]
for point in points:
    on_line = (fixed + slope * point.x).to("s")
    others = [other for other in points if other is not point]
    turned = (line.slope(others, "1", "slope") - slope) / slope
    beside = (point.y - on_line).to("ms")
    chart.row(point.x, point.y, on_line, beside, turned.to("%"))
chart.points("timed", [(x, y) for x, y in points])
chart.curve("fitted", [(x, fixed + slope * x) for x, _ in points])
chart.show()

show.table(["slope", "fixed_time"], [[slope, fixed]])
