"""The run `here` is a reader's own: git refuses it where the project's hook is switched on."""

import subprocess

import pytest
from paths import ROOT
from test_cli_measure import executed, reported

from measure import store
from measure.results import Results


@pytest.fixture
def git(tmp_path):
    """Git in a clone with the hook switched on, as CONTRIBUTING.md says."""

    def call(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    call("init", "--quiet")
    call("config", "core.hooksPath", str(ROOT / ".githooks"))
    return call


@pytest.mark.parametrize("ids", [["here"], ["source-a", "here"]])
def test_the_run_of_a_reader_cannot_be_committed(git, tmp_path, ids):
    store.save(
        Results([executed("here", rate=1.0) if run == "here" else reported(run) for run in ids]),
        tmp_path / "results.json",
    )
    git("add", ".")
    refused = git("commit", "-m", "all")
    assert refused.returncode == 1 and "git restore --staged results.json" in refused.stderr
    assert git("log").returncode != 0, "something was committed"


def test_other_runs_and_commits_without_results_are_let_through(git, tmp_path):
    (tmp_path / "notes.txt").write_text('"id": "here"')
    git("add", "notes.txt")
    assert git("commit", "-m", "notes").returncode == 0
    store.save(Results([executed("hereafter", rate=1.0)]), tmp_path / "results.json")
    git("add", ".")
    assert git("commit", "-m", "results").returncode == 0
    store.save(Results([executed("here", rate=1.0)]), tmp_path / "results.json")
    (tmp_path / "notes.txt").write_text("more")
    assert git("commit", "-m", "notes alone", "notes.txt").returncode == 0, "what is not staged is not committed"
    assert git("commit", "-am", "all").returncode == 1
