"""What the tests of the site share: one build of it, and one real browser."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import filelock
import pytest
from offline import offline
from playwright.sync_api import sync_playwright
from sites import PROJECT, copy_project, serve

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
NO_CHROMIUM = (
    "No Chromium was found, and the tests of the site need one. Install it (Debian, Ubuntu: apt install chromium; "
    "anywhere: python -m playwright install chromium) or name one in the environment variable CHROMIUM."
)


BUILDER = {name: f"builder-of-a-test-{name.lower()}" for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME")}
"""Names that the site's build finds in its environment."""


def mkdocs(project: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs mkdocs in a project; the result has its output as text."""
    command = [sys.executable, "-m", "mkdocs", *arguments]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id) -> Path:
    """The site, built strictly from a copy of the project: once, also where several processes run the tests.

    Built without a network, and by a user whose names stand nowhere else, so that the site would tell them if it could.
    """
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    with filelock.FileLock(shared / "site.lock"):
        built = shared / "built"
        if not (built / "done").exists():
            shutil.rmtree(built, ignore_errors=True)
            project = copy_project(built)
            command = [
                sys.executable,
                "-m",
                "mkdocs",
                "build",
                "--strict",
                "--config-file",
                str(project / "mkdocs.yml"),
            ]
            result = offline(command, built / "guard", NO_MKDOCS_2_WARNING="1", **BUILDER)
            assert result.returncode == 0, result.stderr
            (built / "done").touch()
    return built / "site"


@pytest.fixture(scope="session", params=["/", "/voice-in-numbers/"], ids=["root", "sub-path"])
def anywhere(request, site):
    """The address of the site, at a server's root and below a path."""
    with serve(site, request.param) as address:
        yield address


@pytest.fixture(scope="session")
def address(site):
    """The address of the site below a path, as GitHub Pages serves it."""
    with serve(site, "/voice-in-numbers/") as address:
        yield address


@pytest.fixture
def hook(request, monkeypatch):
    """The hook of the site's build that a module of tests names in HOOK, imported anew."""
    monkeypatch.syspath_prepend(PROJECT / "hooks")
    yield importlib.import_module(request.module.HOOK)
    del sys.modules[request.module.HOOK]


@pytest.fixture(scope="session")
def browser():
    """A real Chromium without a window. Fails where there is none: what it tests cannot be tested otherwise."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(playwright.chromium.executable_path))
        yield browser
        browser.close()


def chromium(playwrights: str) -> str:
    """The Chromium to use: the one named, else the system's, else the one Playwright installed."""
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, CHROMIUMS), MAC_CHROME, playwrights]
    for path in filter(None, found):
        if Path(path).exists():
            return path
    return pytest.fail(NO_CHROMIUM)
