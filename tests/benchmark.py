"""How long rendering and building take, and how it grows with the runs in results.json: `python tests/benchmark.py`.

Each figure is the median of the repeats, in processor time where another process could disturb the clock. Files of many
runs are made up (tests/many.py) in a temporary folder.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from measure.results import Results  # noqa: E402
from measure.store import load  # noqa: E402
from templates import config, render  # noqa: E402
from templates.changes import claim  # noqa: E402
from templates.labels import LANGUAGES  # noqa: E402

REPEATS = 5
LIMITS = {"rendering, once imported": 0.5, "rendering, as a command": 2.0, "mkdocs build": 10.0}
"""Seconds that the project promises, on two processor cores."""

READ = "import sys; from pathlib import Path; from measure.store import load; load(Path(sys.argv[1]))"
COMMANDS = {
    "reading": ("-c", READ, "{file}"),
    "checking": ("-m", "measure", "check", "--results", "{file}"),
    "rendering": ("-m", "templates", "--results", "{file}", "--out", "{folder}/docs"),
}
"""What reads a whole results file, as arguments of Python."""


class Cost(NamedTuple):
    """What a process took: seconds of processor time, and the most memory that it held, in MiB."""

    seconds: float
    memory: float


MANY = (100, 1000)
PROMISED = {"reading": Cost(15, 1024), "checking": Cost(60, 1024), "rendering": Cost(40, 1280)}
"""At most this for a file of 1,000 runs that has 200 MB."""


def median(work: Callable[[], float], repeats: int = REPEATS) -> float:
    return statistics.median(work() for _ in range(repeats))


def rendering(results: Results) -> float:
    begun = time.process_time()
    render.pages(results)
    return time.process_time() - begun


def command(*arguments: str) -> float:
    begun = time.perf_counter()
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, check=True, capture_output=True, env=environment)
    return time.perf_counter() - begun


def cost(work: str, file: Path) -> Cost:
    """What one of COMMANDS takes with a results file."""
    arguments = [part.format(file=file, folder=file.parent) for part in COMMANDS[work]]
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / unit)


def many(results: Results, folder: Path) -> bool:
    """Report what files of many runs take; whether that is linear and within what is promised."""
    files = {count: folder / f"{count}.json" for count in (len(results.runs), *MANY)}
    for count, file in files.items():
        # In a process of its own: a process begins with the memory of the one that starts it.
        subprocess.run([sys.executable, ROOT / "tests" / "many.py", str(count), file], check=True)
    kept = []
    for work, most in PROMISED.items():
        few, some, all_ = (cost(work, file) for file in files.values())
        for count, used in zip(MANY, (some, all_), strict=True):
            print(f"{work}, {count} runs: {used.seconds:.1f} s, {used.memory:.0f} MiB")
        runs = [count - len(results.runs) for count in MANY]
        growth = (all_.seconds - few.seconds) / (some.seconds - few.seconds) / (runs[1] / runs[0])
        print(f"{work}: {growth:.2f} times what is linear; promised: under {most.seconds} s and {most.memory} MiB")
        kept.append(all_.seconds < most.seconds and all_.memory < most.memory and growth < 1.5)
    return all(kept)


@contextmanager
def told(results: Results, count: int) -> Iterator[Results]:
    """The same file with `count` copies of its largest executed run, and an edition of its own for each of them."""
    executed = [run for run in results.runs if run.kind == "executed"]
    largest = max(executed, key=lambda run: len(run.samples))
    copies = [
        msgspec.structs.replace(largest, id=f"copy-{n}", started=f"2027-01-01T00:00:{n:02}Z") for n in range(count)
    ]
    editions = config.editions() | {run.id: claim.composed(run.id) for run in copies}
    labels = {**config.labels(), "edition": {name: dict.fromkeys(LANGUAGES, name) for name in editions}}
    with patch.object(config, "editions", lambda: editions), patch.object(config, "labels", lambda: labels):
        yield Results([*results.runs, *copies])


def further(results: Results, count: int) -> float:
    """Seconds that each of `count` further runs adds to rendering. Taken in turn, so that a busy machine slows both."""
    added = []
    for _ in range(REPEATS):
        with told(results, count) as grown:
            added.append((rendering(grown) - rendering(results)) / count)
    return statistics.median(added)


def report(name: str, seconds: float) -> bool:
    limit = LIMITS.get(name)
    print(f"{name}: {seconds:.2f} s" + (f" (promised: under {limit} s)" if limit else ""))
    return limit is None or seconds < limit


def main() -> int:
    results = load(ROOT / "results.json")
    with tempfile.TemporaryDirectory() as folder:
        # First: the most memory that a process is told to have held is that of the one that starts it, at least.
        kept = [many(results, Path(folder))]
    render.pages(results)  # imports what is imported on first use, and compiles the templates
    kept.append(report("rendering, once imported", median(lambda: rendering(results))))
    with tempfile.TemporaryDirectory() as folder:
        kept.append(report("rendering, as a command", median(lambda: command("templates", "--out", f"{folder}/docs"))))
        kept.append(report("mkdocs build", median(lambda: command("mkdocs", "build", "-q", "-d", f"{folder}/site"), 3)))
    for count in (1, 4):
        report(f"a further run that an edition tells, of {count}", further(results, count))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
