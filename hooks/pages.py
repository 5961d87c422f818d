"""Renders the pages before MkDocs reads them, so that `mkdocs serve` and `build` always show results.json as it is.

The renderer runs as a process of its own: a long-lived server then never holds an old version of it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import event_priority, get_plugin_logger

log = get_plugin_logger("templates")

MEASURE = tuple(f"measure/{name}" for name in ("limits", "models.py", "models.toml", "results.py", "store.py"))
SOURCES = ("results.json", "templates", *MEASURE)
"""What the rendered pages follow from."""

ASSETS = ("docs/assets/stylesheets", "docs/assets/javascripts", "overrides")
"""What is written by hand and goes into the site as it is."""


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Renders, once a build: the i18n plugin comes here again for each further language.

    Raises PluginError with what the renderer said if it fails.
    """
    if not config.plugins["i18n"].building:  # type: ignore[attr-defined]
        render(root(config))
    if config.nav is not None:
        written = [entry for entry in config.nav if not (isinstance(entry, dict) and entry.keys() & ADDED)]
        config.nav = [*written, *rendered(Path(config.docs_dir))]
    return config


def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Callable[[], None]) -> LiveReloadServer:
    """Watches the sources instead of docs/: the renderer writes there, and each edit would make a second rebuild."""
    server.unwatch(config.docs_dir)
    for path in (*SOURCES, *ASSETS):
        if (root(config) / path).exists():
            server.watch(str(root(config) / path))
    return server


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
    command = [sys.executable, "-B", "-m", "templates"]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, encoding="utf-8", check=False)
    if run.returncode:
        raise PluginError(f"python -m templates could not render the pages:\n{(run.stderr or run.stdout).strip()}")
    for warning in run.stderr.splitlines():
        log.warning(warning)
