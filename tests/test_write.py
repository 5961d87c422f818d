"""Writing pages: whole files or none, listed before they are written, and no traceback where the disk says no."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from templates import __main__, cli, write


@pytest.mark.parametrize("obstacle", ["file", "folder for a page", "page for a folder", "folder for the manifest"])
def test_an_obstacle_is_named(tmp_path, obstacle):
    out = tmp_path / "docs"
    if obstacle == "file":
        out.write_text("")
    else:
        (out / "ko").mkdir(parents=True)
        {
            "folder for a page": lambda: (out / "ko/a.md").mkdir(),
            "page for a folder": lambda: (out / "en").write_text(""),
            "folder for the manifest": lambda: (out / write.MANIFEST).mkdir(),
        }[obstacle]()
    cure = r"allow writing to it, then run again; `python -m templates --out FOLDER` writes the pages elsewhere\.$"
    with pytest.raises(write.WriteError, match=rf"cannot be written \(.*{cure}"):
        write.write({"ko/a.md": "1", "en/a.md": "2"}, out)


def test_a_full_disk_leaves_nothing_that_the_manifest_does_not_list(tmp_path, monkeypatch):
    files = {f"ko/{n}.md": str(n) for n in range(5)}
    replace = os.replace
    written = []

    def full(source, target):
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        written.append(target)
        return replace(source, target)

    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: full(self, target))
    with pytest.raises(write.WriteError, match="No space left"):
        write.write(files, tmp_path)
    monkeypatch.undo()
    listed = (tmp_path / write.MANIFEST).read_text().splitlines()
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md"))
    assert found and set(found) <= set(listed)
    assert not list(tmp_path.rglob("*.unfinished"))
    assert write.write(files, tmp_path)
    assert len(list(tmp_path.rglob("*.md"))) == 5


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"a\0b\n", b"x" * 5000 + b"\n", b"../../etc/passwd\n"])
def test_a_damaged_manifest_heals(tmp_path, damage):
    (tmp_path / write.MANIFEST).write_bytes(damage)
    assert list(write.differences({"ko/a.md": "1"}, tmp_path))
    write.write({"ko/a.md": "1"}, tmp_path)
    assert (tmp_path / write.MANIFEST).read_text() == "ko/a.md\n"


def test_a_page_that_is_no_text_is_a_difference(tmp_path):
    write.write({"ko/a.md": "1"}, tmp_path)
    (tmp_path / "ko/a.md").write_bytes(b"\xff")
    assert list(write.differences({"ko/a.md": "1"}, tmp_path))
    assert write.write({"ko/a.md": "1"}, tmp_path) == ["ko/a.md"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--zzz"], "--zzz"),
        (["zzz"], "zzz"),
        (["facts"], "--edition"),
        (["--out", ""], "--out"),
        (["--results", "/usr"], "usr"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments, named):
    command = [sys.executable, "-m", "templates", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 1
    assert len(run.stderr.strip().splitlines()) == 1 and run.stderr.startswith("error: ")
    assert named in run.stderr


def test_a_folder_in_place_of_a_page_is_named_as_that(tmp_path):
    (tmp_path / "ko" / "a.md").mkdir(parents=True)
    with pytest.raises(write.WriteError, match=r"/ko/a\.md: cannot be written \(a folder is in its place\)"):
        write.write({"ko/a.md": "1"}, tmp_path)


def test_where_nothing_has_changed_nothing_has_to_be_written(tmp_path, monkeypatch):
    """Such as in a checkout that may only be read, which answers so even to what removes a file that is not there."""
    files = {"ko/a.md": "1"}
    write.write(files, tmp_path)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("unlink", "replace", "write_text"):
        monkeypatch.setattr(f"pathlib.Path.{name}", refuse)
    assert write.write(files, tmp_path) == []


FULL = "error: nothing more can be printed (No space left on device). Make room, or print elsewhere."


@pytest.mark.parametrize(
    "words", [["measure", "check"], ["measure", "list"], ["templates", "facts", "--edition", "cpu"]]
)
def test_output_into_a_full_disk_is_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-u", "-m", *words], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == FULL and "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["typer", "msgspec", "templates.render", "templates.write"])
def test_ctrl_c_ends_quietly_from_the_first_import_on(tmp_path, module):
    """Imports take half of the time, and an exception in the middle of one shows as a traceback."""
    code = f"""
import builtins, os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
real = builtins.__import__
def watched(name, *more, **named):
    made = real(name, *more, **named)
    if name == {module!r}:
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return made
builtins.__import__ = watched
sys.argv = ["templates", "--out", {str(tmp_path / "docs")!r}]
runpy.run_module("templates", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 130 and "Traceback" not in done.stderr, done.stderr


def test_ctrl_c_while_rendering_ends_quietly(monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", stopped)
    assert __main__.main() == 130
    assert capsys.readouterr().err.startswith("Stopped. Pages are written whole")
