"""Renders the pages before MkDocs reads them, so that `mkdocs serve` and `build` always show results.json as it is.

The renderer runs as a process of its own: a long-lived server then never holds an old version of it.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import event_priority
from mkdocs.structure.pages import Page

MEASURE = tuple(f"measure/{name}" for name in ("limits", "models.py", "models.toml", "results.py", "store.py"))
SOURCES = ("results.json", "templates", *MEASURE)
"""What the rendered pages follow from."""

VALUES = Path(".cache") / "values.json"
"""Where rendering leaves the values of all facts, for the tables that the site offers as files; below the project."""

ASSETS = ("docs/assets/stylesheets", "docs/assets/javascripts", "overrides")
"""What is written by hand and goes into the site as it is."""


log = logging.getLogger("mkdocs.pages")


class NotRendered(PluginError):
    """The renderer refused its sources; pages and site are as they were."""


_last_error: Exception | None = None


def on_build_error(error: Exception) -> None:
    """Keeps why a build failed: what MkDocs raises for it afterwards does not say."""
    global _last_error
    _last_error = error


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Renders, once a build: the i18n plugin comes here again for each further language.

    Raises NotRendered with what the renderer said if it fails.
    """
    if not config.plugins["i18n"].building:  # type: ignore[attr-defined]
        render(root(config))
    if config.nav is not None:
        written = [entry for entry in config.nav if not (isinstance(entry, dict) and entry.keys() & ADDED)]
        config.nav = [*written, *rendered(Path(config.docs_dir))]
    return config


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    """The start page that has the reader's own edition among the others, in the place of the committed one."""
    start = Path(config.docs_dir, page.file.src_uri)
    own = start.parent / OWN_START
    return own.read_text(encoding="utf-8") if start.name == "index.md" and own.is_file() else None


def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Callable[[], None]) -> LiveReloadServer:
    """Watches the sources instead of docs/: the renderer writes there, and each edit would make a second rebuild.

    And goes on serving the site as it was where an edit cannot be rendered.
    """
    server.builder = patient(server.builder)
    server.unwatch(config.docs_dir)
    for path in (*SOURCES, *ASSETS):
        if (root(config) / path).exists():
            server.watch(str(root(config) / path))
    return server


def patient(build: Callable[[], None]) -> Callable[[], None]:
    """The same build, but for an edit that cannot be rendered: MkDocs would answer no browser until it is mended."""

    def built() -> None:
        try:
            build()
        except Abort:
            if not isinstance(_last_error, NotRendered):
                raise
            log.error("The site is served as it was before. Mend what is wrong, and it is built anew.")

    return built


OWN_START = "here/start.md"
"""Beside the start page of a language; no page of its own, which mkdocs.yml says too."""

HERE = {
    "edition-here": [
        {"article": "here/index.md"},
        {"receipts": "here/receipts.md"},
        {"compare": "here/compare.md"},
        {"calculator": "here/calculator.md"},
    ]
}
"""Navigation of the reader's own edition, which is never committed and so not in mkdocs.yml."""

ADDED = {"runs", "edition-here"}
"""What the navigation of mkdocs.yml gets besides: which pages there are follows from results.json."""


def rendered(docs: Path) -> list[dict[str, list[dict[str, str]]]]:
    """Navigation of the pages of runs, by their ids, and of the reader's own edition, where they were rendered."""
    ids = sorted({page.parent.name for page in docs.glob("*/runs/*/index.md")})
    runs = {"runs": [{run: f"runs/{run}/index.md"} for run in ids]}
    here = any(docs.glob("*/here/index.md"))
    return [*([runs] if ids else []), *([HERE] if here else [])]


def root(config: MkDocsConfig) -> Path:
    """The project's folder: the one mkdocs.yml is in."""
    return Path(config.config_file_path).parent


def render(project: Path) -> None:
    """Runs `python -m templates` and passes on its warnings, such as that a notebook is older than the data.

    No bytecode is written, as that would touch templates/, which is watched.
    """
    command = [sys.executable, "-B", "-m", "templates", "--values", str(project / VALUES)]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, encoding="utf-8", check=False)
    if run.returncode:
        raise NotRendered(f"python -m templates could not render the pages:\n{(run.stderr or run.stdout).strip()}")
    for warning in run.stderr.splitlines():
        log.warning(warning)
