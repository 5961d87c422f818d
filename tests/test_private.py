"""Nothing in the data, the pages or the site tells whose machine it was; building the site asks no other machine."""

from __future__ import annotations

import getpass
import gzip
import os
import re
import socket
import sys
from pathlib import Path

import material
import pytest
from conftest import BUILDER
from offline import namespace, offline
from paths import DOCS, RESULTS, ROOT, TEMPLATES
from sites import copy_project
from test_runner import FIRST, SECOND, file, here, measure  # noqa: F401

from measure import cli, machine, runner, store

COMMON = ("root", "runner", "user", "admin", "ubuntu", "debian", "docker", "home", "localhost")
"""Names that many machines and users have, and that are words of the theme: they tell nothing."""

PLACES = r"""(?<![\w./-])/(?:home|Users|root|tmp|var/folders|private|workspace|mnt|opt|srv)/[\w.-]|[A-Za-z]:\\Users\\|file:///"""


def names() -> set[str]:
    """What would tell of this machine: its name, its user, and where the project and its build are."""
    host = socket.gethostname()
    told = {
        host,
        host.split(".")[0],
        getpass.getuser(),
        Path.home().name,
        str(Path.home()),
        str(ROOT),
        *BUILDER.values(),
    }
    told |= {os.environ.get(name, "") for name in BUILDER}
    words = {*COMMON, *re.findall(r"[a-z0-9]+", " ".join(written()).lower())}
    return {name for name in told if len(name) > 2 and name.strip("/").lower() not in words}


def written():
    """What the project's authors wrote themselves: a machine that is called H200 is not told of by the word."""
    for path in (*TEMPLATES.rglob("*.j2"), *TEMPLATES.rglob("*.toml"), *TEMPLATES.rglob("*.py"), ROOT / "mkdocs.yml"):
        yield path.read_text(encoding="utf-8")


def tells(text: str, private: set[str]) -> list[str]:
    """The names and paths in a text."""
    found = [name for name in private if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text, re.IGNORECASE)]
    return [*found, *re.findall(PLACES, text)]


def contents(folder: Path):
    """Every file of a folder as text, what is compressed too; the theme's own files, as it brings them, left out."""
    theme = Path(material.__file__).parent / "templates"
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data, own = path.read_bytes(), theme / path.relative_to(folder)
        if not (own.is_file() and own.read_bytes() == data):
            yield (
                path.relative_to(folder),
                (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace"),
            )


def test_what_tells_is_found():
    private = {"ann", "/place/site", "gpu-7"}
    for text in ("by Ann.", "at /place/site/x", "ann@gpu-7", "see /home/x", "C:\\Users\\x", "file:///x", '"/tmp/a"'):
        assert tells(text, private), text
    assert not tells("annual GPU-70 https://a.example/home/x s/home/x and/or :root {}", private)


def test_the_data_and_the_pages_tell_nothing():
    private = names()
    assert tells(RESULTS.read_text(encoding="utf-8"), private) == []
    assert {str(path): found for path, text in contents(DOCS) if (found := tells(text, private))} == {}


def test_the_site_tells_nothing(site):
    """It was built in another folder, by a user with other names."""
    private = {*names(), str(site.parent), site.parent.parent.name}
    assert set(BUILDER.values()) < private
    assert {str(path): found for path, text in contents(site) if (found := tells(text, private))} == {}


def test_measuring_tells_nothing(file, monkeypatch, tmp_path, capfd):  # noqa: F811
    """By the real command line, on this machine, with paths among its options and an error full of names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("measure.registry.PACKAGE", "fakes")
    monkeypatch.setattr(
        sys, "argv", ["measure", "run", "wild", "steady", "--set", "do=raise", "--set", f"pace={tmp_path}/x"]
    )
    assert cli.main() == 1
    run = here(tmp_path / "results.json")
    assert set(run.failures) == {SECOND} and FIRST in run.samples and run.machine == machine.describe()
    text = (tmp_path / "results.json").read_text(encoding="utf-8")
    assert tells(text, {*names(), str(tmp_path), socket.gethostname(), str(Path.home())}) == []
    assert "pace=..." in text and "cannot open ... on ..." in text
    capfd.readouterr()


def test_a_set_aside_run_and_an_error_tell_nothing_more(file):  # noqa: F811
    measure(file, "wild", options={"do": "raise"})
    kept = runner.set_aside(file, "here")
    assert tells(kept.read_text(encoding="utf-8"), {*names(), str(file.parent)}) == []
    assert store.load(kept).run("here").failures[SECOND].detail == "ValueError: cannot open ... on ..."


# The network


CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5)"


@pytest.mark.parametrize("guarded", [False, True], ids=["namespace", "guard"])
def test_without_a_network_nothing_can_be_reached(tmp_path, guarded):
    """Not even this machine; so the site, which the tests build that way, needs none."""
    if not guarded and not namespace():
        pytest.skip("this system lets nobody cut the network off; the guard is used instead")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        command = [sys.executable, "-c", CONNECT, str(server.getsockname()[1])]
        assert offline(command, tmp_path, guarded=guarded).returncode == 1
        assert offline([*command[:2], "import templates", "0"], tmp_path, guarded=guarded).returncode == 0


def test_the_site_is_built_where_python_can_open_no_connection(tmp_path, site):
    """The other way to cut the network off; and a build that asks for something fails."""
    project = copy_project(tmp_path / "project")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(project / "mkdocs.yml")]
    built = offline(command, tmp_path / "guard", guarded=True)
    assert built.returncode == 0, built.stderr
    assert {p.relative_to(site) for p in site.rglob("*")} == {
        p.relative_to(project / "site") for p in (project / "site").rglob("*")
    }
    hook = project / "hooks" / "policy.py"
    hook.write_text(hook.read_text(encoding="utf-8") + "\nimport socket\nsocket.create_connection(('127.0.0.1', 9))\n")
    assert "no network here" in offline(command, tmp_path / "guard", guarded=True).stderr
