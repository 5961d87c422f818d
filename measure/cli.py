"""The command line: `python -m measure` measures this machine, judges what was measured, and brings runs together.

Every refusal is one line that names file, key and cure, with exit code 1.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from measure import doctor as diagnosis
from measure import inspection, invocation, limits, models, registry, results, runner, screen, spread, store
from measure import machine as machines
from measure import merge as merging
from measure.fleet.board import Board
from measure.fleet.cluster import joined
from measure.fleet.gathering import Gathering
from measure.importers import store as importing
from measure.keys import Key
from measure.registry import Measurement
from measure.results import Machine, Results, ResultsError, Run
from measure.runner import Interrupted, Job, Outcome
from measure.session import maker, now

HERE = "here"
IMPORTED = "imported"
RESULTS = Path("results.json")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


def _not_empty(context: typer.Context, option: typer.CallbackParam, value: str) -> str:
    """Refuse an empty value, as a variable of the shell that is not set makes it: it would count as not given."""
    source = context.get_parameter_source(option.name or "")
    if not value.strip() and source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("it is empty. Give a value, or leave the option out.")
    return value


# Not readable as typer means it: what it would say of a file that cannot be read names an option, but no cure.
ResultsFile = Annotated[Path, typer.Option("--results", help="The results file.", readable=False)]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller sizes: under three minutes.")]
Again = Annotated[bool, typer.Option("--again", help="Measure anew what the run has; the old run is set aside.")]
Settings = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="A measurement's option, or device.")]


class Row(TypedDict):
    """A line of `list`."""

    name: str
    summary: str
    needs: list[str]
    installed: bool
    missing: list[str]
    runs: list[str]


@app.command()
def here(
    quick: Quick = False,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the site afterwards.")] = False,
    again: Again = False,
    file: ResultsFile = RESULTS,
    settings: Settings = [],  # noqa: B006 (typer reads the default)
) -> None:
    """Measure this machine with what is installed, into the run `here`, and render the article about it."""
    if serve and file.resolve() != RESULTS.resolve():
        raise ResultsError(
            f"--serve: the site is served from {RESULTS.name}, not from {file}. Leave out one of the two."
        )
    job = _job(file, HERE, tuple(registry.find()), quick, settings, {})
    _start_afresh(job, again)
    outcomes = _carry_out(job)
    run = _show(file, HERE, [key for outcome in outcomes for key in outcome.measured])
    rendered = _render(file)
    if not run.samples:
        cure = f"`{invocation.command('measure', 'doctor')}` tells what to install."
        raise ResultsError(f"{file.name}: run {HERE!r}: nothing could be measured. {cure}")
    if serve and rendered:
        _serve()


def _start_afresh(job: Job, again: bool) -> None:
    """Set a run aside that cannot be gone on with, and say so."""
    found = store.load_or_none(job.results).run(job.run_id)
    why = "as asked" if again and found else runner.unfit(job, found) if found else ""
    if not why or found is None:
        return
    kept = runner.set_aside(job.results, job.run_id)
    screen.err.print(
        f"Starting run {job.run_id!r} afresh: {screen.plain(why)}.\n"
        f"The old one of {found.started}, with {len(found.samples)} samples, is replaced and kept in {kept}."
    )


def _render(file: Path) -> bool:
    """Render the site if its sources are here, in a process: measuring knows nothing of the site."""
    if not diagnosis.has_site(Path()):
        merge = invocation.command("measure", "merge", "FILE")
        screen.err.print(f"No site here to render. Where there is one, `{merge}` brings this file to it.")
        return False
    command = [sys.executable, "-m", "templates", *(["--results", str(file)] if file != RESULTS else [])]
    if subprocess.run(command).returncode:
        raise ResultsError("the site could not be rendered, see above; what was measured is kept.")
    return True


def _serve() -> None:
    """Become the server of the site, so that whatever ends this process ends the server too."""
    address = f"127.0.0.1:{_free_port()}"
    screen.out.print("Serving the site; its pages are there in some seconds. Ctrl-C ends it. Your article:")
    for language in ("", "en/", "zh/"):
        screen.out.print(f"  http://{address}/{language}here/")
    environment = {**os.environ, "SITE_URL": f"http://{address}/", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "serve", "--quiet", "--dev-addr", address]
    os.execve(sys.executable, command, environment)


def _free_port(wanted: int = 8000) -> int:
    """The port that is wanted if it is free, else one that is."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    serve = invocation.command("mkdocs", "serve")
    raise ResultsError(f"no port is free to serve the site on. End a server, then run `{serve}`.")


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Measurements, see `list`.")],
    run_id: Annotated[str, typer.Option("--run", metavar="ID", help="The run they go into.")] = HERE,
    file: ResultsFile = RESULTS,
    quick: Quick = False,
    again: Again = False,
    weights: Annotated[
        str, typer.Option("--weights", callback=_not_empty, metavar="PLACE", help="Real weights: a path or hub:ID.")
    ] = "",
    device: Annotated[
        str, typer.Option("--device", callback=_not_empty, help="cpu, cuda, mps; cuda:1 is the second card.")
    ] = "",
    tensor_parallel: Annotated[
        str,
        typer.Option(
            "--tensor-parallel", callback=_not_empty, metavar="N", help="Spread a model over N cards, through vLLM."
        ),
    ] = "",
    settings: Settings = [],  # noqa: B006 (typer reads the default)
) -> None:
    """Measure by name into a run; needs no site. Goes on where it was stopped."""
    own = _given({"weights": weights, "device": device, spread.NAME: tensor_parallel})
    job = _job(file, run_id, tuple(names), quick, settings, own)
    if again and (kept := runner.set_aside(file, run_id, job.names, runner.elsewhere(job))):
        screen.err.print(f"Measuring {', '.join(names)} anew; the run as it was is kept in {kept}.")
    outcomes = _carry_out(job)
    _show(file, run_id, [key for outcome in outcomes for key in outcome.measured])
    failed = [text for outcome in outcomes for text in outcome.failed]
    if failed:
        told = f"{len(failed)} not measured, the first {failed[0]}"
        raise ResultsError(f"{file.name}: run {run_id!r}: {told}. The list tells why; run again to try again.")


@app.command()
def fleet(
    names: Annotated[list[str], typer.Argument(metavar="[NAME]...", help="Measurements, see `list`; else all.")] = [],  # noqa: B006
    address: Annotated[
        str,
        typer.Option(
            "--address",
            callback=_not_empty,
            help="The cluster: HEAD:PORT, or auto on one of its machines. Else a local Ray.",
        ),
    ] = "",
    every: Annotated[bool, typer.Option("--every", help="Measure every machine, not one of each kind.")] = False,
    file: ResultsFile = RESULTS,
    quick: Quick = False,
    weights: Annotated[
        str, typer.Option("--weights", callback=_not_empty, metavar="PLACE", help="As of `run`; there on all machines.")
    ] = "",
    device: Annotated[
        str, typer.Option("--device", callback=_not_empty, help="cpu, cuda or mps, on all machines.")
    ] = "",
    settings: Settings = [],  # noqa: B006 (typer reads the default)
) -> None:
    """Measure the machines of a Ray cluster, each into a run of its own. Goes on where it was stopped."""
    own = _given({"weights": weights, "device": device})
    options = _told_once(settings, own)
    if (kind := options.get("device", "cpu")) not in results.DEVICES:
        raise ResultsError(f"--device {kind}: none of {', '.join(results.DEVICES)}. Choose one of these.")
    store.check_place(file)
    store.load_or_none(file)
    chosen = tuple(names or registry.find())
    job = Job(file, "", Machine("", ""), chosen, quick, options, registry.PACKAGE, typed=_typed(own))
    job.measurements()
    gathering = _gather(job, address, every)
    for visit in gathering.visits:
        _show(file, visit.job.run_id, [key for outcome in visit.outcomes for key in outcome.measured])
    if lacking := gathering.lacking(bool(names)):
        raise ResultsError(f"{file.name}: {lacking}. The lists tell why; run again to try again.")


def _gather(job: Job, address: str, every: bool) -> Gathering:
    board = Board()
    with _stoppable(job, board.close), runner.alone(job.results), joined(address) as cluster:
        gathering = Gathering(cluster, job, board)
        gathering.run(every)
    return gathering


def _job(
    file: Path, run_id: str, names: tuple[str, ...], quick: bool, settings: list[str], own: Mapping[str, str]
) -> Job:
    results.check_id(run_id, f"--run {run_id!r}")
    options = _told_once(settings, own)
    asked = options.get("device", "")
    if asked:
        options["device"] = _card(asked)
    store.check_place(file)
    machine = _machine(options.get("device", ""), asked)
    job = Job(file, run_id, machine, names, quick, options, registry.PACKAGE, typed=_typed(own))
    job.check()
    return job


def _given(own: Mapping[str, str]) -> dict[str, str]:
    """Options that have a word of their own, those that were given."""
    return {name: value for name, value in own.items() if value}


def _typed(own: Iterable[str]) -> dict[str, str]:
    """The words of such options, by name."""
    return {name: f"--{name.replace('_', '-')}" for name in own}


def _card(device: str) -> str:
    """The kind of a device; a number after it hides all cards but that one, as CUDA's own variable does."""
    kind, colon, number = device.partition(":")
    if not colon:
        return device
    if kind != "cuda" or not number.isdecimal():
        raise ResultsError(f"--device {device!r}: not a card. Write cuda:0, cuda:1 and so on.")
    if (there := machines.cards()) and int(number) >= len(there):
        raise ResultsError(f"--device {device}: no such card. {_devices()}")
    os.environ["CUDA_VISIBLE_DEVICES"] = number
    return kind


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ResultsError(f"--set {text!r}: not an option. Write it as name=value.")
    return name, value


def _machine(device: str, asked: str) -> Machine:
    try:
        return machines.describe(device)
    except ValueError as error:
        raise ResultsError(f"--device {asked}: {error}. {_devices()}") from None


def _devices() -> str:
    return f"This machine has {', '.join(machines.present())}. Choose one of these."


def _carry_out(job: Job) -> list[Outcome]:
    bar = screen.Bar()
    with _stoppable(job, bar.close):
        return runner.run(job, bar)


@contextlib.contextmanager
def _stoppable(job: Job, close: Callable[[], None]) -> Iterator[None]:
    """Close what is shown of a job at its end; after Ctrl-C, tell how to go on."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):  # the latter where it is only being started: Ray takes its time
        close()
        screen.err.print(f"Stopped. What was measured is kept in {job.results.name}; to go on, run `{_going_on()}`.")
        raise typer.Exit(invocation.INTERRUPTED) from None
    finally:
        close()


def _going_on() -> str:
    """The command as it was given, but for --again, which would begin anew."""
    return invocation.command("measure", *(word for word in sys.argv[1:] if word != "--again"))


def _show(file: Path, run_id: str, new: Iterable[Key]) -> Run:
    """Print a run, what was measured just now marked, and which of its samples a rule rejects or doubts."""
    run = _existing(store.load(file), run_id, file)
    screen.show_run(run, new)
    faulty = {text: verdict for text, verdict in limits.verdicts(run, models).items() if verdict.faults}
    for text, verdict in sorted(faulty.items(), key=lambda pair: limits.STATUSES.index(pair[1].status)):
        screen.out.print(f"{verdict.status}: {text}: {'; '.join(map(_found, verdict.faults))}")
    if faulty:
        check = invocation.command("measure", "check", *([] if file == RESULTS else ["--results", str(file)]))
        screen.out.print(f"`{check}` tells what to do about it.")
    return run


@app.command("list")
def list_measurements(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, file: ResultsFile = RESULTS
) -> None:
    """Every measurement, what it needs, whether that is installed, and which runs have it."""
    data = store.load_or_none(file)
    rows = [_entry(measurement, data) for measurement in registry.find().values()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        screen.out.print(_told(row))


def _told(row: Row) -> str:
    lacks = f"; not installed: {', '.join(row['missing'])}" if row["missing"] else "; installed"
    runs = f"in runs {', '.join(row['runs'])}" if row["runs"] else "in no run"
    return f"{row['name']}: {row['summary']}\n    needs {', '.join(row['needs']) or 'nothing'}{lacks}; {runs}"


def _entry(measurement: Measurement, data: Results) -> Row:
    having = [run.id for run in data.runs if any(maker(text) == measurement.name for text in run.samples)]
    return {
        "name": measurement.name,
        "summary": measurement.summary,
        "needs": list(measurement.needs),
        "installed": not measurement.missing,
        "missing": list(measurement.missing),
        "runs": having,
    }


@app.command()
def check(file: ResultsFile = RESULTS) -> None:
    """The verdict on every sample, rejected ones first, and what is odd; exit code 1 if the file is not valid."""
    data = store.load(file)
    rows = [
        (limits.STATUSES.index(verdict.status), run.id, text, run, verdict)
        for run in data.runs
        for text, verdict in limits.verdicts(run, models).items()
    ]
    for _, run_id, text, run, verdict in sorted(rows, key=lambda row: row[0]):
        screen.out.print(f"{verdict.status}  {run_id}  {text}  {screen.value(run.samples[text])}  {reason(verdict)}")
    counts = (f"{sum(row[4].status == status for row in rows)} {status}" for status in limits.STATUSES)
    screen.out.print(f"{file.name}: {', '.join(counts)}")
    known = registry.find()
    for told in (told for run in data.runs for told in inspection.unknown(run, known)):
        screen.err.print(f"warning: {file.name}: {screen.plain(told)}")
    _refuse_dates(data, file)


def _refuse_dates(data: Results, file: Path) -> None:
    """Refuse samples measured in the future, the first by its name."""
    today = now()
    ahead = [place for run in data.runs for place in inspection.to_come(run, today)]
    if ahead:
        others = f", and {len(ahead) - 1} more" if len(ahead) > 1 else ""
        cure = f"Correct it, or this machine's clock, by which it is {today[:10]}."
        raise ResultsError(f"{file.name}: {ahead[0]}{others}. {cure}")


def reason(verdict: limits.Verdict) -> str:
    """Every fault in words, with limit, factor and what to do; of an accepted sample, what it was checked for."""
    if verdict.faults:
        return " ".join(f"{_found(fault)}. {limits.advice(fault.rule)}" for fault in verdict.faults)
    if verdict.rule:
        return f"not {_found(verdict)}"
    checked = ", ".join(rule.replace("_", " ") for rule in verdict.checked)
    return f"not {checked}" if checked else "no limit applies"


def _found(finding: limits.Verdict) -> str:
    """A rule and what it found, in words."""
    words = finding.rule.replace("_", " ")
    if finding.factor is None or finding.limit is None or finding.value is None:
        return words
    datasheet = " of the datasheet" if finding.from_datasheet else ""
    value, limit = (f"{number:.4g} {finding.unit}".strip() for number in (finding.value, finding.limit))
    return f"{words}: {value}, {finding.factor:.3g} times {limit}{datasheet}"


@app.command()
def merge(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Results measured elsewhere.", readable=False)],
    file: ResultsFile = RESULTS,
    only: Annotated[
        str, typer.Option("--run", callback=_not_empty, metavar="ID", help="Bring in this run alone.")
    ] = "",
    rename: Annotated[
        str, typer.Option("--as", callback=_not_empty, metavar="NEWID", help="Bring it in under this name.")
    ] = "",
) -> None:
    """Bring in runs measured elsewhere; never mixes machines, never overwrites a sample."""
    if rename:
        results.check_id(rename, f"--as {rename!r}")
    store.check_place(file)
    brought = store.load(source, "Correct FILE, the argument: a results file that was measured elsewhere.")
    with store.edit(file) as data:
        told = merging.merge(data, brought, source.name, only, rename)
    for line in told:
        screen.out.print(line)


@app.command()
def remove(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run.")],
    file: ResultsFile = RESULTS,
) -> None:
    """Take a run out of the results file; it is kept in a hidden file beside them."""
    results.check_id(run_id, f"ID, the argument, {run_id!r}")
    data = store.load(file)
    with runner.alone(file):
        kept = runner.set_aside(file, run_id)
    if kept is None:
        known = ", ".join(run.id for run in data.runs) or "none"
        raise ResultsError(f"{file.name}: no run {run_id!r}. It has: {known}. Choose one of these.")
    screen.out.print(f"run {run_id!r}: taken out, and kept in {kept}")


@app.command("import")
def bring_in(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="The JSON that a benchmark wrote.", readable=False)],
    run_id: Annotated[str, typer.Option("--run", metavar="ID", help="The run it goes into.")] = IMPORTED,
    file: ResultsFile = RESULTS,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="What FILE does not say; what is missing is told.")
    ] = [],  # noqa: B006 (typer reads the default)
) -> None:
    """Bring in what another benchmark measured; its file's hash and what was told are kept with each sample."""
    results.check_id(run_id, f"--run {run_id!r}")
    store.check_place(file)
    outcome = importing.bring(source, file, run_id, _told_once(settings, {}))
    for note in outcome.notes:
        screen.err.print(screen.plain(note))
    known = f", {outcome.known} there from before" if outcome.known else ""
    screen.err.print(f"{outcome.tool}: {len(outcome.keys)} imported{known}")
    _show(file, run_id, outcome.keys)


def _told_once(settings: list[str], own: Mapping[str, str]) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, value in [*map(_setting, settings), *own.items()]:
        if told.setdefault(name, value) != value:
            raise ResultsError(f"--set {name}: told twice, {told[name]!r} and {value!r}. Tell it once.")
    return told


@app.command()
def doctor(file: ResultsFile = RESULTS) -> None:
    """What this machine has and lacks, and what to install for each measurement."""
    for finding in diagnosis.examine(machines.describe(), registry.find(), file.parent):
        screen.out.print(f"{'ok   ' if finding.good else 'lacks'}  {finding.subject}: {screen.plain(finding.text)}")


def _existing(data: Results, run_id: str, file: Path) -> Run:
    found = data.run(run_id)
    if found is None:
        raise ResultsError(f"{file.name}: run {run_id!r} is gone: another program took it out. Run again.")
    return found


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except ResultsError as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):  # where typer makes no exit code of it; a job tells how to go on by itself
        return invocation.INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return _refuse(f"nothing more can be printed ({error.strerror}). Make room, or print elsewhere.")
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises for a command line it cannot read
            raise
        return _refuse(f"{error.format_message()} See `{invocation.command('measure', '--help')}`.")
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    screen.err.print(f"error: {screen.plain(message)}")
    return 1
