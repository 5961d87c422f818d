"""Lighthouse's scores of the built site, and what axe finds on its pages: `mkdocs build && python tests/audit.py`.

Needs Node.js, whose npx brings Lighthouse, and Chromium. It takes half an hour, and other work on the machine lowers
the scores for performance, so it is no test; each is the median of five runs, told with the lowest and the highest.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from conftest import chromium
from playwright.sync_api import sync_playwright
from sites import LANGUAGES, PROJECT, pages, serve

LIGHTHOUSE = "lighthouse@12.8.2"
RUNS = 5
PAGES = ("", "h200/")
"""The landing page and the heaviest article."""

LEAST = {"accessibility": 95, "best-practices": 95, "seo": 95}
PERFORMANCE = {"desktop": 95, "mobile": 90}
"""Scores that the project promises, of 100."""


def scores(url: str, device: str, browser: str) -> dict[str, float]:
    """The scores of one run of Lighthouse by category, of 100."""
    command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"]
    command += ["--chrome-flags=--headless=new --no-sandbox"] + (["--preset=desktop"] if device == "desktop" else [])
    environment = {**os.environ, "CHROME_PATH": browser}
    run = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    return {name: 100 * found["score"] for name, found in json.loads(run.stdout)["categories"].items()}


def lighthouse(site: Path, address: str, browser: str) -> Iterator[str]:
    """Prints the scores of each page; yields those that are too low."""
    for page in (page for page in pages(site) if page.name in PAGES):
        for device, least in PERFORMANCE.items():
            found = [scores(address + page.path, device, browser) for _ in range(RUNS)]
            for name, wanted in {"performance": least, **LEAST}.items():
                values = sorted(score[name] for score in found)
                median = statistics.median(values)
                line = f"{page.path or '/'} {device} {name}: {median:.0f} ({values[0]:.0f} to {values[-1]:.0f})"
                print(line, flush=True)
                if median < wanted:
                    yield f"{line}, not {wanted}"


def axe(site: Path, address: str, browser: str) -> Iterator[str]:
    """What axe finds on the pages. One language has them all; the others have those that Lighthouse looks at, too."""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser).new_page()
        for each in pages(site):
            if each.language == LANGUAGES[0] or each.name in PAGES:
                page.goto(address + each.path)
                yield from (f"{each.path or '/'} {rule['id']}" for rule in Axe().run(page).response["violations"])


if __name__ == "__main__":
    site = PROJECT / "site"
    assert site.is_dir(), "There is no built site: run `mkdocs build` before."
    with serve(site, "/voice-in-numbers/") as address:
        found = chromium("")
        faults = [*axe(site, address, found), *lighthouse(site, address, found)]
    print("\n".join(faults) or "Nothing found.")
    sys.exit(bool(faults))
