"""Charts of the section on synthesis."""

from __future__ import annotations

from templates.charts import figure
from templates.charts.figure import Chart, Trace
from templates.facts.edition import Edition
from templates.quantity import Quantity


def utterance(edition: Edition) -> Chart:
    """Whole utterances with their line, and the first sound of a streamed one, which no length delays."""
    voxcpm = edition.voxcpm
    points = [point for point in voxcpm.points if point.measured]
    rows = [("@whole_sound", point.x, point.y) for point in points]
    traces: list[Trace] = []
    if points:
        first = [(point.x, point.y.to("s")) for point in points]
        traces.append(figure.points("@whole_sound", first, 0, lines=False))
    ends = [0.0, max((point.x.value or 0.0 for point in points), default=0.0)]
    slope, fixed = voxcpm.slope.value, voxcpm.fixed.value
    if points and slope is not None and fixed is not None:
        traces.append(figure.line("@fitted", ends, [fixed + slope * end for end in ends], figure.IDEAL))
    first_sound = voxcpm.first_audio_timed
    if points and first_sound.measured:
        traces.append(figure.line("@streamed_sound", ends, [first_sound.to("s").value or 0.0] * 2, figure.COLOURS[1]))
        rows.append(("@streamed_sound", voxcpm.patch_audio, first_sound))
    axes = {"title": {"text": "@audio_axis"}}, {"title": {"text": "@work_axis"}, "rangemode": "tozero"}
    return Chart(figure.framed(traces, *axes, []), ("@sound", "utterance_audio", "utterance_time"), rows)


def steps(edition: Edition) -> Chart:
    """A patch by its diffusion steps: what the line gives to the calls and to the rest, and what was timed."""
    loop = edition.voxcpm.loop
    timed = [steps for steps in edition.voxcpm.steps[::-1] if steps.patch_time.measured]
    names = [str(steps.steps) for steps in timed]
    traces: list[Trace] = []
    if loop.call_time.measured:
        traces.append(figure.column("@beside", names, [loop.beside_calls for _ in timed], 1))
        traces.append(figure.column("@network", names, [steps.network_time for steps in timed], 0))
    if timed:
        marks = figure.points("@timed_patch", [(steps.count, steps.patch_time) for steps in timed], 3, lines=False)
        traces.append({**marks, "x": names})
    drawing = figure.framed(
        traces, {"title": {"text": "@time_steps_axis"}, "type": "category"}, {"title": {"text": "@patch_axis"}}, []
    )
    drawing["layout"]["barmode"] = "stack"
    rows = [(str(steps.steps), steps.network_time, steps.patch_time) for steps in timed]
    return Chart(drawing, ("@time_steps_axis", "network_time", "patch_time"), rows)


def parts(edition: Edition) -> Chart:
    """What a patch is made of, in a whole utterance and streaming."""
    whole, streamed = edition.voxcpm.patch.members, edition.voxcpm.streaming.patch.members
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, (part, other) in enumerate(zip(whole, streamed, strict=True)):
        facts = part.part_time, other.part_time
        if any(one.measured for one in facts):
            traces.append(figure.stacked(f"part:{part.name}", ["@whole_patch", "@streamed_patch"], list(facts), index))
            rows.append((f"@part:{part.name}", *facts))
    return Chart(figure.piled(traces, "@patch_axis"), ("@portion", "@whole_patch", "@streamed_patch"), rows)


def magpie_step(edition: Edition) -> Chart:
    stacks = {"one_a_step": edition.magpie.single, "two_a_step": edition.magpie.published}
    names = [f"@{name}" for name in stacks]
    rows: list[tuple[str, Quantity, Quantity]] = []
    traces: list[Trace] = []
    for index, parts in enumerate(zip(*(stack.step_parts for stack in stacks.values()), strict=True)):
        if all(part.part_time.measured for part in parts):
            label = f"part:{parts[0].name}"
            traces.append(figure.stacked(label, names, [part.frame_part for part in parts], index))
            told = zip(stacks, parts, strict=True)
            rows += [(f"@{label}|{name}", part.part_time, part.frame_part) for name, part in told]
    return Chart(figure.piled(traces, "@frame_axis"), ("@portion", "part_time", "frame_part"), rows)
