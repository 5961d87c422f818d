"""Many runs: the same files are written for them as for a few, and the work grows with the runs and no faster.

Work is counted and not timed, so that a busy machine cannot make these tests fail: every call of a function, in Python
and in C, is one step. `python tests/benchmark.py` takes the time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
from many import grown
from paths import RESULTS

from measure import limits, models
from measure.results import Results, dump, parse
from measure.store import load
from templates import all_runs, render

SHIPPED = load(RESULTS)
LIKE = "cpu"
"""A run with few samples, that a thousand of its kind be made soon."""

ALLOWED = 1.1
"""How much faster than the runs the work may grow: what is done once a process is done for the first count alone."""


def steps(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def judged(results: Results) -> None:
    for run in results.runs:
        limits.verdicts(run, models)


def growth(work: Callable[[Results], object]) -> float:
    """Steps for each of 400 further runs over those for each of 100."""
    counts = {}
    for further in (0, 0, 100, 400):  # the first time compiles templates and imports
        results = grown(SHIPPED, len(SHIPPED.runs) + further, LIKE)
        counts[further] = steps(lambda results=results: work(results))
    return (counts[400] - counts[0]) / (counts[100] - counts[0]) / 4


@pytest.mark.parametrize(
    "work",
    [lambda results: parse(dump(results).encode()), judged, render.pages],
    ids=["reading", "judging", "rendering"],
)
def test_work_grows_with_the_runs_and_no_faster(work):
    assert 0.9 < growth(work) < ALLOWED


def test_work_that_grows_faster_would_be_seen():
    assert growth(lambda results: [one.id.startswith(other.id) for one in results.runs for other in results.runs]) > 2


@pytest.fixture(scope="module")
def thousand() -> tuple[Results, dict[str, str]]:
    results = grown(SHIPPED, 1000, LIKE)
    return results, render.pages(results)


TOLD_OF_ALL = re.compile(r"^\w\w/(compare|data)\.md$|^assets/charts/all/")
"""Files that tell of all runs: the page of comparison with its chart, and how much data there is."""


def test_a_thousand_runs_write_the_same_files_and_change_those_alone_that_tell_of_all_runs(thousand):
    _, pages = thousand
    before = render.pages(SHIPPED)
    assert list(pages) == list(before)
    changed = {path for path in pages if pages[path] != before[path]}
    # What a run page tells of the run before it may change: a made-up run may be that.
    wanted = {path for path in pages if TOLD_OF_ALL.search(path)}
    assert wanted == {path for path in changed if "/runs/" not in path}


def test_a_page_of_a_thousand_runs_stays_light(thousand):
    results, pages = thousand
    few, many = render.pages(SHIPPED)["en/compare.md"], pages["en/compare.md"]
    assert many.count("<tr data-at=") == all_runs.MOST < len(results.runs)
    assert len(many) < 2 * len(few)


def test_only_runs_that_the_page_of_comparison_shows_are_judged(monkeypatch):
    """A run without a rate costs no more than reading it, unless a run's page compares with it as the one before."""
    results = grown(SHIPPED, 20, LIKE)
    for run in results.runs[len(SHIPPED.runs) :]:
        run.samples = {text: sample for text, sample in run.samples.items() if "/rate?" not in text}
    seen = []
    judge = limits.verdicts
    monkeypatch.setattr(limits, "verdicts", lambda run, models: seen.append(run.id) or judge(run, models))
    render.pages(results)
    alike = {run.id for run in results.runs if run.machine in [shipped.machine for shipped in SHIPPED.runs]}
    assert seen and {run_id for run_id in seen if run_id.startswith("made-up")} <= alike
    assert sum(run_id.startswith("made-up") for run_id in seen) <= 1


def test_made_up_runs_say_so_and_are_the_same_each_time():
    one, other = (grown(SHIPPED, 30) for _ in range(2))
    assert dump(one) == dump(other) != dump(grown(SHIPPED, 30, seed=2))
    made = one.runs[len(SHIPPED.runs) :]
    assert all(run.id.startswith("made-up-") for run in made) and len({run.id for run in made}) == len(made)
    assert sum(run.machine.name.startswith("Made up ") for run in made) >= 0.8 * len(made)
    assert parse(dump(one).encode()).runs[-1].id == made[-1].id


def test_no_made_up_run_is_committed():
    assert not [run.id for run in SHIPPED.runs if run.id.startswith("made-up")]
