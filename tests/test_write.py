"""Writing pages: whole files or none, listed before they are written, and no traceback where the disk says no."""

import errno
import os
import subprocess
import sys

import pytest
from paths import ROOT

from templates import write


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
