"""Brings a benchmark's file into a run: recognises it by its content, reads it, and stores it whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from measure import results, store
from measure.importers import (
    guidellm,
    llama_bench,
    nvbandwidth,
    settings,
    source,
    vllm_latency,
    vllm_serve,
    vllm_throughput,
)
from measure.importers.reading import Entry, Format, Reading
from measure.importers.settings import MACHINE
from measure.importers.source import Source
from measure.keys import Key, parse_key
from measure.results import KEPT_VALUES, Import, Machine, Results, ResultsError, Run
from measure.session import now, thin, without_places

FORMATS: tuple[Format, ...] = (vllm_latency, vllm_serve, vllm_throughput, llama_bench, guidellm, nvbandwidth)
"""All that is read. Which one a file is of, its names decide, never its own name."""

KIND = "imported"
MOST_NOTES = 20


class Outcome(NamedTuple):
    """What became of a file."""

    tool: str
    keys: tuple[Key, ...]
    """Those that are new in the run."""
    known: int
    """Samples that were there already, the same."""
    notes: Sequence[str]


def bring(path: Path, target: Path, run_id: str, told: Mapping[str, str]) -> Outcome:
    """Import a file into a run of the results file `target`, which is made if it is not there.

    Raises ResultsError for a file, a setting or a run that does not fit; `target` is then as it was.
    """
    found = source.read(path)
    form = recognise(found)
    content = form.decode(found.documents, found.name)
    needed, optional = content.settings(found.name)
    given = settings.check(told, needed, optional, f"{found.name}: {form.TOOL}")
    reading = content.read(given, found.name)
    if not reading.entries:
        raise ResultsError(f"{found.name}: nothing in it to take{_because(reading.notes)}. Import another file.")
    samples = _samples(found, form.TOOL, reading, {**given.values, **reading.told})
    new = _store(samples, reading, target, run_id, found.name)
    keys = tuple(parse_key(text) for text in new)
    return Outcome(form.TOOL, keys, len(samples) - len(new), _first(reading.notes))


def _first(notes: Sequence[str]) -> list[str]:
    more = [f"and {len(notes) - MOST_NOTES} more of the kind"] if len(notes) > MOST_NOTES else []
    return [*notes[:MOST_NOTES], *more]


def recognise(found: Source) -> Format:
    """The format that a file's names tell. Raises ResultsError if it is none, or differs from value to value."""
    fitting = [form for form in FORMATS if all(document.names >= form.NAMES for document in found.documents)]
    if len(fitting) != 1:
        known = ", ".join(form.TOOL for form in FORMATS)
        raise ResultsError(f"{found.name}: not a file that is read. Read is the JSON of {known}.")
    return fitting[0]


def _because(notes: Sequence[str]) -> str:
    return f" ({'; '.join(notes[:3])})" if notes else ""


def _samples(found: Source, tool: str, reading: Reading, given: Mapping[str, str]) -> dict[str, Import]:
    """The samples by key, each checked as the results file will be."""
    made: dict[str, Import] = {}
    for entry in reading.entries:
        text = str(entry.key)
        where = f"{found.name}: {text}"
        if text in made:
            raise ResultsError(f"{where}: stands in it twice. Split the file, and import each part into its own run.")
        results.check_key(text, where)
        made[text] = _sample(entry, found, tool, reading, given)
        results.check(made[text], entry.key, where)
    return made


def _sample(entry: Entry, found: Source, tool: str, reading: Reading, given: Mapping[str, str]) -> Import:
    values = [float(value) for value in entry.values]
    return Import(
        unit=entry.unit,
        tool=tool,
        sha256=found.sha256,
        values=thin(values),
        summary=entry.summary,
        at=reading.at,
        given={name: without_places(value) for name, value in sorted(given.items())},
        config={name: _clean(value) for name, value in entry.config.items()},
        versions={name: without_places(version) for name, version in reading.versions.items()},
        total=len(values) if len(values) > KEPT_VALUES else 0,
    )


def _clean(value: str | int | float | bool) -> str | int | float | bool:
    return without_places(value) if isinstance(value, str) else value


def _store(samples: Mapping[str, Import], reading: Reading, target: Path, run_id: str, name: str) -> list[str]:
    """Add samples that are new; returns their keys."""
    where = f"{target.name}: run {run_id!r}"
    with store.edit(target) as data:
        run = _run(data, run_id, reading, where)
        cure = "Import the file into another run with --run."
        for text, sample in samples.items():
            if text in run.samples and run.samples[text] != sample:
                raise ResultsError(f"{where}: {text}: there is another sample of that name than in {name}. {cure}")
        new = [text for text in samples if text not in run.samples]
        for text in new:
            run.samples[text] = samples[text]
            run.failures.pop(text, None)
    return new


def _run(data: Results, run_id: str, reading: Reading, where: str) -> Run:
    """The run to add to, a new one if there is none. Raises ResultsError for one of another machine."""
    run = data.run(run_id)
    if run is None:
        run = Run(run_id, KIND, _machine(reading), reading.at or now())
        results.check_name(run.machine.name, f"{where}: machine: name")
        data.runs.append(run)
    elif run.kind == "reported":
        cure = "Choose another with --run."
        raise ResultsError(f"{where}: it holds figures that others reported, and imports do not go among them. {cure}")
    elif contradiction := _differs(run.machine, reading):
        cure = f"Choose another run with --run, or tell the machine as the run names it: --set {MACHINE.name}=..."
        raise ResultsError(f"{where}: it is of another machine ({contradiction}). {cure}")
    return run


def _machine(reading: Reading) -> Machine:
    return Machine(
        without_places(reading.machine),
        reading.device,
        processor=without_places(reading.machine) if reading.device == "cpu" else "",
        accelerators=reading.accelerators if reading.device != "cpu" else 0,
        driver=without_places(reading.driver),
    )


def _differs(there: Machine, reading: Reading) -> str:
    """In what a run's machine contradicts what is known of the file's; a processor may go by its own name."""
    here = _machine(reading)
    names = {there.name, there.processor} if there.device == "cpu" else {there.name}
    if here.name not in names:
        return f"name {there.name!r} against {here.name!r} here"
    if there.device != here.device:
        return f"device {there.device!r} against {here.device!r} here"
    if there.driver and here.driver and there.driver != here.driver:
        return f"driver {there.driver!r} against {here.driver!r} here"
    return ""
