"""The file of results: read or refused in one line, saved whole or not at all, whatever crashes or writes beside it."""

import errno
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from paths import ROOT

from measure import store
from measure.results import Machine, Results, ResultsError, Run, Sample

AT = "2026-11-29T13:45:00Z"
RATE = "decode_vllm/qwen3-0.6b-bf16/rate?requests=4"


def executed(run_id="here", **samples):
    return Run(run_id, "executed", Machine("a machine", "cpu"), AT, samples)


def test_a_saved_file_may_be_read_by_all_and_leaves_nothing_beside(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    assert file.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]


def test_a_saved_file_keeps_its_permissions(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    for mode in (0o600, 0o664):
        file.chmod(mode)
        store.save(Results([executed("more")]), file)
        assert file.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path, there):
    kept, link, second = tmp_path / "kept" / "all.json", tmp_path / "results.json", tmp_path / "second.json"
    kept.parent.mkdir()
    if there:
        store.save(Results([executed()]), kept)
        kept.chmod(0o600)
    link.symlink_to(Path("kept") / "all.json")
    second.symlink_to(link)
    for path in (link, second):
        with store.edit(path) as data:
            data.runs.append(executed(path.stem))
        assert path.is_symlink() and store.load(path) == store.load(kept)
    assert [run.id for run in store.load(kept).runs] == [*(["here"] if there else []), "results", "second"]
    assert kept.stat().st_mode & 0o777 == (0o600 if there else 0o644)
    assert {entry.name for entry in tmp_path.iterdir()} == {"kept", "results.json", "second.json"}


def test_who_writes_through_a_link_waits_for_who_does_not(tmp_path):
    file, link = tmp_path / "results.json", tmp_path / "link.json"
    link.symlink_to(file)
    told = r"^link\.json: another process has been writing"
    with store.edit(file), pytest.raises(ResultsError, match=told), store.edit(link, timeout_s=0.1):
        pass


def test_a_link_that_leads_nowhere_is_told_at_once(tmp_path):
    link = tmp_path / "results.json"
    link.symlink_to(tmp_path / "nowhere" / "all.json")
    with pytest.raises(ResultsError, match=r"^results\.json: no file can be made in the folder '.*nowhere'"):
        edit_nothing(link)
    assert link.is_symlink()


def test_an_error_while_editing_saves_nothing(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    before = file.read_bytes()
    with pytest.raises(KeyboardInterrupt), store.edit(file) as data:
        data.runs.clear()
        raise KeyboardInterrupt
    assert file.read_bytes() == before


@pytest.mark.parametrize("call", ["fsync", "write", "replace"])
def test_a_full_disk_keeps_the_old_file_and_is_told(tmp_path, monkeypatch, call):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    before = file.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        monkeypatch.setattr(os, "fdopen", lambda handle, *_: Full(os.close(handle)))
    else:
        monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[call], full)
    told = r"results\.json: cannot be saved \(No space left on device\)\. Make room"
    with pytest.raises(ResultsError, match=told), store.edit(file) as data:
        data.runs.append(executed("more"))
    assert file.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} <= {"results.json", ".results.json.lock"}


class Full:
    """A file on a disk without room."""

    def __init__(self, _):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_too_large_for_the_disk_keeps_the_old_one(tmp_path):
    """A limit on the size of files makes the system itself refuse in the middle of a write, as a full disk does."""
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    before = file.read_bytes()
    code = """
import resource, signal, sys
from pathlib import Path
from measure import results, store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
with store.edit(Path(sys.argv[1])) as data:
    data.runs[0].samples["x/rate?requests=1"] = results.Sample("tok/s", [1.0] * 50000, "2026-11-29", "c")
"""
    done = python(code, file)
    assert "cannot be saved (File too large)" in done.stderr.splitlines()[-1]
    assert file.read_bytes() == before
    assert not list(tmp_path.glob(".*.unfinished"))


def python(code, *arguments, **more):
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, **more)


EDIT_FOREVER = """
import sys
from pathlib import Path
from measure import results, store
file, name = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    with store.edit(file) as data:
        sample = results.Sample("tok/s", [1.0] * 200, "2026-11-29", "c", {"filler": "x" * 20000})
        data.runs[0].samples[f"{name}/rate?requests={number + 1}"] = sample
    print(number, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    words = [sys.executable, "-c", EDIT_FOREVER, str(file), "killed", "100000"]
    told = -1
    for attempt in range(6):
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.01 + 0.013 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        numbers = process.communicate()[0].split()
        told = max(told, *map(int, numbers), 0)
        assert f"killed/rate?requests={told + 1}" in store.load(file).run("here").samples, "a saved sample is lost"
    (tmp_path / ".results.json.abc.unfinished").touch()
    with store.edit(file):
        pass
    assert not list(tmp_path.glob(".*.unfinished")), "what killed writers leave is swept"


def test_two_writers_at_once_lose_nothing(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([executed()]), file)
    words = [sys.executable, "-c", EDIT_FOREVER, str(file)]
    both = [subprocess.Popen([*words, name, "25"], cwd=ROOT, stdout=subprocess.DEVNULL) for name in ("one", "two")]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert len(store.load(file).run("here").samples) == 50


def test_waiting_for_another_writer_ends_with_a_cure(tmp_path):
    file = tmp_path / "results.json"
    told = r"another process has been writing for 0\.1 s\. Wait"
    with store.edit(file), pytest.raises(ResultsError, match=told), store.edit(file, timeout_s=0.1):
        pass


@pytest.mark.parametrize("place", ["file/results.json", "nowhere/results.json", "n" * 300, "/proc/results.json", "."])
def test_a_place_that_cannot_hold_a_file_is_told_at_once(tmp_path, place):
    (tmp_path / "file").touch()
    begun = time.monotonic()
    with pytest.raises(ResultsError, match=r": (no file can be made in the folder|is a folder).*--results\.$"):
        edit_nothing(tmp_path / place)
    assert time.monotonic() - begun < 1 and [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_is_no_regular_file_is_refused_before_it_is_waited_for(tmp_path):
    """Reading a pipe that nobody writes to would never end; one that somebody writes to can be read, but not saved."""
    pipe = tmp_path / "results.json"
    os.mkfifo(pipe)
    with pytest.raises(
        ResultsError, match=r"^results\.json: is no regular file.* Choose another place with --results\.$"
    ):
        edit_nothing(pipe)


def test_a_file_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 2**20)
    with pytest.raises(ResultsError, match=r"^zero: is no results file: larger than 1 MiB\."):
        store.load(Path("/dev/zero"))
    store.save(Results([]), tmp_path / "results.json")
    monkeypatch.setattr(store, "MOST_BYTES", (tmp_path / "results.json").stat().st_size)
    assert store.load(tmp_path / "results.json") == Results([])


def edit_nothing(file):
    with store.edit(file):
        pass


@pytest.mark.parametrize(("value", "config"), [(math.nan, 1.0), (1.0, math.inf)])
def test_what_is_no_finite_number_is_never_written(tmp_path, value, config):
    sample = Sample("tok/s", [value], AT, "a command", {"clock": config})
    file = tmp_path / "results.json"
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.save(Results([Run("here", "executed", Machine("m", "cpu"), AT, {RATE: sample})]), file)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ResultsError, match=r"^results\.json: cannot be read \(No such file.*python -m measure here"):
        store.load(tmp_path / "results.json")


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "open", denied)
    told = r"^results\.json: cannot be read \(Permission denied\)\. Allow yourself to read it \(chmod u\+r\)"
    with pytest.raises(ResultsError, match=told):
        store.load(tmp_path / "results.json")


def denied(*_):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_reading_and_writing_import_no_engine():
    done = python("import sys, measure.store, measure.limits; print({'torch', 'typer', 'rich'} & set(sys.modules))")
    assert done.stdout.strip() == "set()"


def test_a_folder_is_not_said_to_be_made_by_measuring(tmp_path):
    with pytest.raises(ResultsError, match=rf"^{tmp_path.name}: is a folder\. Name a file in it with --results\.$"):
        store.load(tmp_path)
    with pytest.raises(ResultsError, match=r": is a folder\. Correct FILE\.$"):
        store.load(tmp_path, "Correct FILE.")
