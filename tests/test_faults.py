"""What goes wrong while measuring, done for real: kills, full disks, leaks, garbage, forks, clocks, edits by hand."""

import json
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from paths import ROOT
from test_runner import FIRST, MACHINE, SECOND, ended, file, here, job, measure, pids_of, start  # noqa: F401

from measure import memory, processes, runner, screen, session, store, timing
from measure.keys import key, parse_key
from measure.results import Machine, Report, Results, ResultsError, Run, Sample
from measure.session import Session

OTHER = Run("source", "reported", Machine("another", "cpu"), "2026-10-06", {"bandwidth/sum": Report("GB/s", 1.0, "a")})
NEW = "another/rate?requests=1"


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="this system tells of processes in no /proc"
)


# Kills


@needs_proc
def test_killed_at_200_random_moments_the_file_is_valid_and_holds_everything_finished(tmp_path):
    """The job or its measurement, from before its first sample on; four at a time, each with a file of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    killers = []
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        words = [sys.executable, str(ROOT / "tests" / "kills.py"), str(folder), str(seed), "50"]
        killers.append(
            subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    seen = []
    for killer in killers:
        output, errors = killer.communicate(timeout=300)
        assert killer.returncode == 0, errors
        seen.append(json.loads(output))
    assert sum(one["job"] + one["measurement"] for one in seen) == 200
    assert all(one["job"] > 10 and one["measurement"] > 10 and one["finished"] > 20 for one in seen), seen
    assert any(one["unfinished"] for one in seen), "no kill came in the middle of saving: choose other moments"


def test_of_two_measuring_at_once_one_waits_and_both_runs_are_whole(file):  # noqa: F811
    store.save(Results([OTHER]), file)
    both = {run: start(file, "steady", "--run", run) for run in ("one", "two")}
    told = {run: process.communicate(timeout=60)[0] for run, process in both.items()}
    for run, process in both.items():
        if process.returncode:
            assert "another measurement is going on. Wait until it ends" in told[run].splitlines()[-1]
            again = start(file, "steady", "--run", run)
            assert again.communicate(timeout=60) and again.returncode == 0
    assert 0 in [process.returncode for process in both.values()]
    assert [len(store.load(file).run(run).samples) for run in both] == [3, 3]
    assert store.load(file).run("source") == OTHER


def test_two_measuring_into_two_files_do_not_meet(file, tmp_path):  # noqa: F811
    both = [start(place, "steady") for place in (file, tmp_path / "other.json")]
    assert [process.communicate(timeout=60) and process.returncode for process in both] == [0, 0]
    assert len(here(file).samples) == len(here(tmp_path / "other.json").samples) == 3


# A full disk


def small_disk(*words, folder, script):
    """Runs a shell script where `folder` is a disk of 64 KiB; words are its "$@"."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        mounted = f"mount -t tmpfs -o size=64k none '{folder}' || exit 77\ncd '{folder}'\n{script}"
        command = [*unshare, "sh", "-c", mounted, "sh", *words]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        except FileNotFoundError:
            break
        if done.returncode != 77 and "unshare failed" not in done.stderr:
            return done
    return pytest.skip("this system lets nobody mount a small disk; test_store.py has the other ways to fill one")


def test_a_disk_that_fills_while_measuring_loses_nothing(file, tmp_path):  # noqa: F811
    """And once there is room again, the same command goes on."""
    code = "import sys; from measure import registry, __main__ as m; registry.PACKAGE = 'fakes'; sys.exit(m.main())"
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    store.save(Results([OTHER]), kept / "before.json")
    script = f"""
cp '{kept}/before.json' results.json
"$@" --set do=fill; echo "exit code $?" >&2
ls -A > '{kept}/names'; cp results.json '{kept}/full.json'
rm filler
"$@" --set do=fill; echo "exit code $?" >&2
"""
    words = [sys.executable, "-B", "-c", code, "run", "wild", "--run", "here"]
    done = small_disk(*words, folder=disk, script=script)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stderr.count("error: results.json: cannot be saved (No space left on device). Make room") == 2, (
        done.stderr
    )
    assert done.stderr.count("exit code 1") == 2
    full = store.load(kept / "full.json")
    assert full.run("source") == OTHER and list(full.run("here").samples) == [FIRST]
    assert "unfinished" not in (kept / "names").read_text()


# Measurements that misbehave


@needs_proc
def test_a_leak_is_ended_before_memory_runs_out(file, monkeypatch):  # noqa: F811
    """With a reserve that is 512 MiB away, so that the test needs no more."""
    monkeypatch.setattr(memory, "reserve_bytes", lambda: memory.available_bytes() - 2**29)
    wild, steady = measure(file, "wild", "steady", options={"do": "leak"})
    failure = here(file).failures[SECOND]
    assert failure.reason == "out_of_memory"
    assert re.fullmatch(r"ended when less than \d+ MiB of main memory were left", failure.detail)
    assert here(file).samples[FIRST].values == [5.0] and len(steady.measured) == 3 and list(wild.failed) == [SECOND]


def test_the_reserve_is_small_and_never_more_than_there_is():
    assert 0 < memory.reserve_bytes() <= min(memory.RESERVE_BYTES, memory.available_bytes() / 2)


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, 3 * 2**30),
        ({"memory.max": "max", "memory.current": "5"}, 3 * 2**30),
        ({"memory.max": "1000", "memory.current": "900", "memory.stat": "anon 1\ninactive_file 50\n"}, 150),
        ({"memory.limit_in_bytes": "1000", "memory.usage_in_bytes": "900"}, 100),
        ({"memory.limit_in_bytes": "9", "memory.usage_in_bytes": "8", "memory.stat": "total_inactive_file 2"}, 3),
    ],
)
def test_a_control_group_counts_for_what_is_left(tmp_path, files, left):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    3145728 kB\n")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory.available_bytes(tmp_path / "meminfo", [tmp_path]) == left
    assert memory.available_bytes(tmp_path / "nothing", [tmp_path / "none"]) == float("inf")


@needs_proc
def test_a_measurement_is_the_first_to_go_where_memory_runs_out(file):  # noqa: F811
    process = start(file, "wild", "--set", "do=hang", "--set", "seconds=60")
    try:
        scores = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in pids_of(file)]
        assert scores == ["1000", "1000"]
        assert int(Path(f"/proc/{process.pid}/oom_score_adj").read_text()) < 1000
    finally:
        process.kill()
        process.communicate(timeout=20)


def test_garbage_is_kept_short_and_is_no_message_of_ours(file, capsys):  # noqa: F811
    """Although it ends with the exit code of a measurement that could not save and says why."""
    wild, steady = measure(file, "wild", "steady", options={"do": "garbage"})
    assert here(file).failures[SECOND].detail == "exit code 4" and len(steady.measured) == 3
    assert len(wild.output.encode()) < 4 * runner.OUTPUT_BYTES and "garbage" in wild.output
    bar = screen.Bar()
    bar.end(wild)
    bar.close()
    shown = capsys.readouterr().err
    assert "garbage" in shown and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


@pytest.mark.parametrize("trouble", ["leave_behind", pytest.param("daemon", marks=needs_proc)])
def test_what_a_measurement_leaves_behind_is_ended(file, trouble):  # noqa: F811
    wild, steady = measure(file, "wild", "steady", options={"do": trouble})
    assert len(wild.measured) == 2 and len(steady.measured) == 3 and not here(file).failures
    assert ended(pids_of(file))


@needs_proc
def test_a_killed_parent_takes_daemons_along(file):  # noqa: F811
    process = start(file, "wild", "--set", "do=hang_with_a_daemon", "--set", "seconds=60")
    pids = pids_of(file)
    process.kill()
    process.communicate(timeout=20)
    assert ended(pids)


def test_a_measurement_that_forks_and_measures_twice_leaves_a_whole_file(file):  # noqa: F811
    wild, steady = measure(file, "wild", "steady", options={"do": "twice"})
    assert here(file).samples[SECOND].values == [25.0] and len(steady.measured) == 3 and not wild.failed


@needs_proc
def test_other_processes_have_no_mark():
    own = processes.mark()
    environment = {**os.environ, processes.VARIABLE: own}
    sleeping = [subprocess.Popen(["sleep", "60"], env=given) for given in (environment, None)]
    try:
        assert processes.marked(own) == {sleeping[0].pid}
        processes.kill(own)
        assert sleeping[0].wait(timeout=5) == -9 and sleeping[1].poll() is None
        processes.kill("")
        assert sleeping[1].poll() is None
    finally:
        for process in sleeping:
            process.kill()
            process.wait()


# The clock


class Jumping(datetime):
    """A clock that is set forth and back by years each time it is asked."""

    asked = 0

    @classmethod
    def now(cls, tz=None):
        cls.asked += 1
        return datetime(2026, 11, 29, 13, 45, tzinfo=tz) + timedelta(days=3000 * (-1) ** cls.asked)


def test_a_clock_that_jumps_changes_no_time_and_leaves_valid_dates(file, monkeypatch):  # noqa: F811
    monkeypatch.setattr(session, "datetime", Jumping)
    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, lambda: Jumping.now(UTC).timestamp())
    seconds = timing.repeat(lambda: time.sleep(0.02), "cpu", count=4, budget_s=60)
    assert all(0.02 <= each < 1 for each in seconds)
    measure(file, "steady")
    opened = Session(file, "here", MACHINE)
    for number in (1, 2):
        opened.record(key("steady", "rate", requests=number), "tok/s", seconds, {})
        opened.fail(key("steady", "rate", requests=9), "crashed")
    years = {sample.at[:4] for sample in here(file).samples.values()} | {here(file).started[:4]}
    assert {"2018", "2035"} <= years | {failure.at[:4] for failure in here(file).failures.values()}
    assert len(here(file).samples) == 5


def test_only_dates_come_from_a_clock_that_can_be_set():
    """Times and time limits are from clocks that only go forward."""
    asks = re.compile(r"\btime\.time(_ns)?\(|\b(utc)?now\(|\.today\(|from time import|st_[cma]time\b(?!_ns)")
    told = [
        f"{path.name}: {line.strip()}"
        for path in sorted((ROOT / "measure").glob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if asks.search(line)
    ]
    dates = [
        line
        for line in told
        if re.search(r'datetime\.now\(UTC\)|def now|(=|,|\() ?"?now\(\)|now\(\)\)|now\(\)\.', line)
    ]
    assert told == dates and sum("datetime.now(UTC)" in line for line in told) == 1, told


def test_what_is_set_aside_in_the_same_second_is_kept_apart(file, monkeypatch):  # noqa: F811
    monkeypatch.setattr(runner, "now", lambda: "2026-11-29T13:45:00Z")
    kept = []
    for value in (1.0, 2.0, 3.0):
        sample = Sample("tok/s", [value], "2026-11-29", "c")
        store.save(Results([Run("here", "executed", MACHINE, "2026-11-29", {FIRST: sample})]), file)
        kept.append(runner.set_aside(file, "here"))
    assert len(set(kept)) == 3
    assert [here(path).samples[FIRST].values for path in kept] == [[1.0], [2.0], [3.0]]


# Edits by hand


def by_hand(file, edit=str):  # noqa: F811
    """Edit the file as an editor does: read, change, write in place, without asking for a lock."""
    file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8")


def renamed(text):
    return text.replace('"name": "another"', '"name": "edited by hand"')


def test_an_edit_while_measuring_is_kept_beside_what_is_measured_after_it(file):  # noqa: F811
    store.save(Results([OTHER]), file)
    process = start(file, "wild", "--set", "do=edit", "--set", "seconds=60")
    waiting(file)
    by_hand(file, renamed)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert store.load(file).run("source").machine.name == "edited by hand"
    assert set(here(file).samples) == {FIRST, SECOND}


def test_an_edit_that_breaks_the_file_is_told_and_stays_to_be_corrected(file):  # noqa: F811
    process = start(file, "wild", "--set", "do=edit", "--set", "seconds=60")
    waiting(file)
    by_hand(file, lambda text: text.replace('"executed"', '"exekuted"'))
    broken = file.read_bytes()
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 1 and "Traceback" not in output
    assert "error: results.json: run 'here': kind 'exekuted'" in output.splitlines()[-1]
    assert file.read_bytes() == broken


def waiting(file, within_s=10.0):  # noqa: F811
    end = time.monotonic() + within_s
    while not file.with_name("waiting").exists():
        assert time.monotonic() < end, "the measurement did not start"
        time.sleep(0.01)


def test_a_sample_that_an_editor_overwrote_is_told(file):  # noqa: F811
    (outcome,) = measure(file, "wild", options={"do": "overwrite"})
    assert outcome.failed[SECOND].detail == runner.GONE and outcome.measured == (outcome.measured[0],)


@pytest.fixture
def edited(file, monkeypatch):  # noqa: F811
    """A file that is edited by hand at the worst moment: when what will be saved was made from what it was."""
    store.save(Results([OTHER]), file)
    dump, edits = store.dump, []

    def dumped(data):
        text = dump(data)
        if not edits:
            edits.append(by_hand(file, renamed))
        return text

    monkeypatch.setattr(store, "dump", dumped)
    return file


def test_an_edit_in_the_middle_of_saving_a_sample_is_kept(edited):
    Session(edited, "here", MACHINE).record(parse_key(NEW), "tok/s", [1.0], {})
    data = store.load(edited)
    assert data.run("source").machine.name == "edited by hand" and NEW in data.run("here").samples


def test_an_edit_in_the_middle_of_another_change_is_kept_and_told(edited):
    with (
        pytest.raises(ResultsError, match=r"another program wrote it .* is kept: run again"),
        store.edit(edited) as data,
    ):
        data.runs.clear()
    assert store.load(edited).run("source").machine.name == "edited by hand"
    assert not list(edited.parent.glob(".*.unfinished"))


def test_a_file_that_appears_in_the_middle_of_saving_is_kept(tmp_path):
    file = tmp_path / "results.json"  # noqa: F811
    with pytest.raises(store.ChangedUnderWay), store.edit(file):
        store.save(Results([OTHER]), file)
    assert store.load(file).runs == [OTHER]


def test_an_editor_that_never_rests_is_told(file):  # noqa: F811
    store.save(Results([OTHER]), file)
    with pytest.raises(store.ChangedUnderWay):
        store.amend(file, lambda data: by_hand(file, lambda text: text + "\n"))
    assert store.load(file).runs == [OTHER]


def test_half_a_file_is_read_again(file):  # noqa: F811
    """An editor that writes in place empties the file first."""
    store.save(Results([OTHER]), file)
    whole = file.read_text(encoding="utf-8")
    code = "import sys, time; time.sleep(0.4); open(sys.argv[1], 'w').write(sys.stdin.read())"
    file.write_text(whole[: len(whole) // 2], encoding="utf-8")
    editor = subprocess.Popen([sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, text=True)
    editor.stdin.write(whole)
    editor.stdin.close()
    Session(file, "here", MACHINE).record(parse_key(NEW), "tok/s", [1.0], {})
    assert editor.wait() == 0
    assert store.load(file).run("source") == OTHER and NEW in here(file).samples
