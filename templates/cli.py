"""The command line: render the pages, check them against the data, print facts and claims."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from measure.results import Results, ResultsError, Run
from measure.store import load
from templates import claims, config
from templates.changes import machine, runs
from templates.changes.sentences import summary
from templates.charts import checked
from templates.config import ConfigError
from templates.facts.edition import Edition, editions
from templates.notebook import NotebookError
from templates.notebook import source as notebooks
from templates.render import RenderError, Told, pages_of, tell, values_of
from templates.truth import Claim
from templates.voice import Voice
from templates.write import WriteError, changes, differences, keep, replace, write

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

STALE = f"its outputs are not what the data say. Run `{notebooks.COMMAND}` and commit the notebooks."


class Refused(Exception):
    """What was asked for cannot be done; the message says why, and the cure."""


app = typer.Typer(add_completion=False, no_args_is_help=False, pretty_exceptions_enable=False, help=__doc__)

# Not readable as typer means it: what it would say of a file that cannot be read names an option, but no cure.
ResultsFile = Annotated[Path, typer.Option("--results", help="The results file.", readable=False)]
OutFolder = Annotated[Path, typer.Option("--out", help="Where the pages are.")]


@app.callback(invoke_without_command=True)
def render(
    context: typer.Context,
    results: ResultsFile = ROOT / "results.json",
    out: OutFolder = DOCS,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff if a page is stale.")
    ] = False,
    values: Annotated[
        Path | None, typer.Option("--values", help="Also write every fact's value and unit to this file, as JSON.")
    ] = None,
) -> None:
    """Render every page from the results file."""
    if context.invoked_subcommand:
        return
    if out == Path():
        raise Refused("--out is empty. Name a folder for the pages.")
    told = tell(_load(results))
    _warn([each.edition for each in told], results)
    files, (executed, stale) = pages_of(told), _notebooks(told, out)
    if check:
        _check(files, executed, stale, out)
        return
    touched = write(files, out) + keep(executed, out)
    if values:
        replace(values, values_of(told))
    removed = [path for path in touched if path not in files and path not in executed]
    for path in touched:
        if path.endswith((".md", ".ipynb")):
            print(f"{'removed' if path in removed else 'changed'} {path}")
    also = f", {len(removed)} removed" if removed else ""
    print(f"{len(files) + len(executed)} files rendered, {len(touched) - len(removed)} changed{also}")
    for path in stale:
        print(f"{path}: {STALE}", file=sys.stderr)


@app.command()
def notebook(results: ResultsFile = ROOT / "results.json", out: OutFolder = DOCS) -> None:
    """Execute the notebook in each language where what it reads has changed."""
    # Only this command needs a kernel.
    from templates.notebook.execute import executed

    data = _load(results)
    told = tell(data)
    _, stale = notebooks.kept(told, out)
    for path in stale:
        keep({path: executed(told, data, path.partition("/")[0])}, out)
        print(f"executed {path}")
    print(f"{len(stale)} notebooks executed")


@app.command()
def sentences(
    before: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the pages before.", readable=False)],
    out: Annotated[Path, typer.Option("--out", help="Where the pages are.")] = ROOT / "docs",
) -> None:
    """Print, as Markdown, which sentences of the pages differ from those in FOLDER."""
    for folder in (before, out):
        if not folder.is_dir():
            raise Refused(f"{folder} is no folder of pages. Name one such as docs/ of another checkout.")
    for line in summary(before, out):
        print(line)


@app.command()
def facts(
    edition: Annotated[str, typer.Option("--edition", help="Whose facts.")],
    results: ResultsFile = ROOT / "results.json",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with formulas and inputs.")] = False,
) -> None:
    """Print every fact and claim of an edition."""
    told = {each.id: each for each in editions(_load(results))}
    _warn(list(told.values()), results)
    if edition not in told:
        raise Refused(f"there is no edition {edition!r}; there are {', '.join(told)}. Choose one of them.")
    described = _described(told[edition])
    if as_json:
        print(json.dumps(described, indent=1, ensure_ascii=False, allow_nan=False))
        return
    for name, fact in described["facts"].items():
        print(f"{name}: {fact['text']}")
    for name, claim in described["claims"].items():
        print(f"claim {name}: {claim['outcome']}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="The run before.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The run after.")],
    results: ResultsFile = ROOT / "results.json",
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Another results file, in which A is; an older one, say.", readable=False),
    ] = None,
    across: Annotated[bool, typer.Option("--across-machines", help="Compare runs of different machines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, samples within the spread too.")] = False,
) -> None:
    """Print what changed from run A to run B beyond the spread, and which claims of the article turn."""
    data = load(results)
    old, new = _run(load(source) if source else data, before, source or results), _run(data, after, results)
    unlike = machine.unlike(old, new)
    if unlike and not across:
        name, (here, there) = next(iter(unlike.items()))
        differ = f"run {old.id!r} and run {new.id!r} are of different machines: {name} {here!r} against {there!r}"
        if name == "kind":
            differ = f"run {old.id!r} and run {new.id!r} cannot be known to be of one machine: one is only reported"
        raise Refused(f"{differ}. Compare them all the same with --across-machines.")
    found = runs.diff(data, old, new)
    if as_json:
        print(json.dumps(runs.described(found), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(runs.text(found)))


def _run(results: Results, run_id: str, file: Path) -> Run:
    run = results.run(run_id)
    if run is None:
        known = ", ".join(run.id for run in results.runs) or "none"
        raise Refused(f"{file.name}: no run {run_id!r}; there are {known}. Choose one of them.")
    return run


def _described(edition: Edition) -> dict[str, Any]:
    voice = Voice("en", receipts="")
    return {
        "edition": edition.id,
        "facts": {name: voice.described(fact) for name, fact in edition.facts.items()},
        "claims": {name: _claim(claim, voice) for name, claim in claims.judge(edition).items()},
    }


def _claim(claim: Claim, voice: Voice) -> dict[str, Any]:
    undecided = not (claim.holds or claim.refuted)
    return {
        "outcome": claim.outcome.value,
        "statement": voice.labels.get("claim", claim.name),
        "reason": voice.why(claim) if undecided else None,
        "counted": claim.truth.counted,
        "total": claim.truth.total,
        "comparisons": [
            " ".join(
                [made.left.name or "value", voice.value(made.left), made.symbol, voice.value(made.right), made.outcome]
            )
            for made in claim.truth.comparisons
        ],
    }


def _notebooks(told: list[Told], out: Path) -> tuple[dict[str, str], list[str]]:
    """The notebooks as they should be, and those to execute. A folder that is not the site's may have none at all."""
    executed, stale = notebooks.kept(told, out)
    wanted = out.resolve() == DOCS.resolve() or any((out / path).exists() for path in stale)
    return executed, stale if wanted else []


def _check(files: dict[str, str], executed: dict[str, str], stale: list[str], out: Path) -> None:
    for path in files:
        if path.endswith(".json"):
            checked(json.loads(files[path]))
    lines = [*differences(files, out), *(line for path, text in executed.items() for line in changes(path, text, out))]
    if lines:
        print("\n".join(lines))
        raise Refused("the pages are not what the data say. Run `python -m templates` and commit the pages.")
    if stale:
        raise Refused(f"{', '.join(stale)}: {STALE}")
    print(f"{len(files) + len(executed)} files are what the data say")


def _load(path: Path) -> Results:
    results = load(path)
    for name, told in config.editions().items():
        for run_id in (told.models, *([told.focus.run] if told.focus else [])):
            if not told.optional and results.run(run_id) is None:
                what = f"{path.name} has no run {run_id!r}: what it should tell is unmeasured"
                print(f"templates/editions.toml: [{name}]: {what}", file=sys.stderr)
    return results


def _warn(told: list[Edition], path: Path) -> None:
    for edition in told:
        for run_id, text in edition.unused_samples():
            print(f"{path.name}: run {run_id!r}: {text}: nothing uses this sample", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; whatever goes wrong is one line, and exit code 1."""
    try:
        app(sys.argv[1:] if arguments is None else arguments, standalone_mode=False)
    except typer.Exit as left:
        return left.exit_code
    except (ResultsError, RenderError, ConfigError, WriteError, NotebookError, Refused) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"error: nothing more can be printed ({error.strerror}). Make room, or print elsewhere.", file=sys.stderr)
    except Exception as error:
        # Whatever typer has to say of options and arguments: its classes move between its versions.
        if not hasattr(error, "format_message"):
            raise
        print(f"error: {error.format_message()} See `python -m templates --help`.", file=sys.stderr)
    else:
        return 0
    return 1
