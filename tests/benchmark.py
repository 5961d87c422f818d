"""How long rendering and building take, and how it grows with the runs in results.json: `python tests/benchmark.py`.

Each figure is the median of the repeats, in processor time where another process could disturb the clock.
"""

from __future__ import annotations

import copy
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from measure.results import Results, dump, parse  # noqa: E402
from measure.store import load  # noqa: E402
from templates import config, render  # noqa: E402
from templates.changes import claim  # noqa: E402
from templates.labels import LANGUAGES  # noqa: E402

REPEATS = 5
LIMITS = {"rendering, once imported": 0.5, "rendering, as a command": 2.0, "mkdocs build": 10.0}
"""Seconds that the project promises, on two processor cores."""


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


def with_runs(results: Results, count: int) -> Results:
    """The same file with `count` runs: executed ones repeated under other names."""
    grown = Results([*results.runs])
    executed = [run for run in results.runs if run.kind == "executed"] or results.runs
    while len(grown.runs) < count:
        run = copy.copy(executed[len(grown.runs) % len(executed)])
        run.id = f"copy-{len(grown.runs)}"
        grown.runs.append(run)
    return grown


def reading(results: Results) -> float:
    """Seconds to read, check and render a file of this size."""
    data = dump(results).encode()
    begun = time.process_time()
    render.pages(parse(data))
    return time.process_time() - begun


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
    render.pages(results)  # imports what is imported on first use, and compiles the templates
    kept = [report("rendering, once imported", median(lambda: rendering(results)))]
    with tempfile.TemporaryDirectory() as folder:
        kept.append(report("rendering, as a command", median(lambda: command("templates", "--out", f"{folder}/docs"))))
        kept.append(report("mkdocs build", median(lambda: command("mkdocs", "build", "-q", "-d", f"{folder}/site"), 3)))
    for count in (1, 4):
        report(f"a further run that an edition tells, of {count}", further(results, count))
    for count in (10, 100):
        grown = with_runs(results, count)
        report(f"reading and rendering, {len(grown.runs)} runs", median(lambda runs=grown: reading(runs), 3))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
