"""Brings in runs measured elsewhere, without ever mixing machines or overwriting a sample."""

from __future__ import annotations

import shlex

import msgspec

from measure import invocation
from measure.results import AnySample, Failure, Results, ResultsError, Run, Sample
from measure.session import difference


def merge(target: Results, source: Results, name: str, only: str = "", rename: str = "") -> list[str]:
    """Add the runs of `source` to `target`, in place; `target` is untouched if this raises.

    Args:
        name: what errors call the source file.
        only: take this run alone.
        rename: take it in under this id.
    Returns a sentence for each run. Raises ResultsError naming file, run, key and cure.
    """
    runs = _chosen(source, name, only)
    if rename:
        runs = [renamed(run, rename) for run in _one(runs, name)]
    cure = _taken(rename) if rename else "Bring it in under another name with --as NEWID."
    joined = [_join(target.run(run.id), run, name, cure) for run in runs]
    for run, (result, _) in zip(runs, joined, strict=True):
        _put(target, run.id, result)
    return [f"run {run.id!r}: {told}" for run, (_, told) in zip(runs, joined, strict=True)]


def _chosen(source: Results, name: str, only: str) -> list[Run]:
    if only and source.run(only) is None:
        known = ", ".join(run.id for run in source.runs) or "none"
        raise ResultsError(f"{name}: no run {only!r}. It has: {known}. Choose one of these with --run.")
    runs = [run for run in source.runs if only in ("", run.id)]
    if not runs:
        raise ResultsError(f"{name}: no runs in it. Measure something into it first.")
    return runs


def _taken(run_id: str) -> str:
    """What to do about a run of the name that was asked for, which what is brought in does not fit."""
    out = invocation.command("measure", "remove", run_id)
    return f"There is a run {run_id!r} already. `{out}` takes it out and keeps it; or choose another name with --as."


def _one(runs: list[Run], name: str) -> list[Run]:
    """A new name is for one run: the one chosen, else the only one that is not reported."""
    measured = [run for run in runs if run.kind != "reported"]
    runs = runs if len(runs) == 1 else measured
    if len(runs) != 1:
        known = ", ".join(run.id for run in runs) or "none"
        raise ResultsError(f"{name}: --as renames one run, but there are: {known}. Choose one with --run.")
    return runs


def renamed(run: Run, run_id: str) -> Run:
    """The same run under another id; the commands that measure its samples again follow."""
    samples = {text: _with_command(sample, run.id, run_id) for text, sample in run.samples.items()}
    return msgspec.structs.replace(run, id=run_id, samples=samples)


def _with_command(sample: AnySample, old: str, new: str) -> AnySample:
    if not isinstance(sample, Sample):
        return sample
    try:
        words = shlex.split(sample.command)
    except ValueError:  # a quotation mark without its other: no command that names a run
        return sample
    for place, word in enumerate(words[:-1]):
        if word == "--run" and words[place + 1] == old:
            words[place + 1] = new
    return msgspec.structs.replace(sample, command=shlex.join(words))


def _join(mine: Run | None, theirs: Run, name: str, cure: str) -> tuple[Run, str]:
    """The run to have afterwards, and what to tell."""
    if mine is None:
        return theirs, f"brought in with {len(theirs.samples)} samples"
    if mine == theirs:
        return mine, "already here, the same"
    _check(mine, theirs, f"{name}: run {theirs.id!r}", cure)
    new = {text: sample for text, sample in theirs.samples.items() if text not in mine.samples}
    samples = {**mine.samples, **new}
    started = min(mine.started, theirs.started)
    whole = Run(mine.id, mine.kind, mine.machine, started, samples, _failures(mine, theirs, samples))
    return whole, f"{len(new)} samples added to {len(mine.samples)}"


def _check(mine: Run, theirs: Run, where: str, cure: str) -> None:
    if "reported" in (mine.kind, theirs.kind):
        raise ResultsError(f"{where}: differs from the run of that name, and reported runs are not merged over. {cure}")
    if mine.kind != theirs.kind:
        raise ResultsError(f"{where}: {theirs.kind}, and the run of that name is {mine.kind}. {cure}")
    if mine.machine != theirs.machine:
        raise ResultsError(f"{where}: another machine ({difference(mine.machine, theirs.machine)} there). {cure}")
    for text, sample in theirs.samples.items():
        if text in mine.samples and mine.samples[text] != sample:
            raise ResultsError(f"{where}: {text}: there is another sample of that name. {cure}")


def _failures(mine: Run, theirs: Run, samples: dict[str, AnySample]) -> dict[str, Failure]:
    """The later reason of each key that still has no sample."""
    both = sorted([*mine.failures.items(), *theirs.failures.items()], key=lambda pair: pair[1].at)
    return {text: failure for text, failure in both if text not in samples}


def _put(target: Results, run_id: str, run: Run) -> None:
    """A new run goes before the first that was started later, so that one taken out comes back to where it was."""
    for place, old in enumerate(target.runs):
        if old.id == run_id:
            target.runs[place] = run
            return
    later = (place for place, old in enumerate(target.runs) if old.started > run.started)
    target.runs.insert(next(later, len(target.runs)), run)
