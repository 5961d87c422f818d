"""What a reader can take along: results.json, a CSV file for each table, and where the site is, for citing it.

The files are made for the site and are not in docs/: they say again what the committed pages say.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

import msgspec
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import write_file
from pages import VALUES, root
from tables import Values, tables
from words import words

ADDRESS = "SITE_URL"
"""Stands in a page for where the site is, which the pages are rendered without knowing."""

RESULTS = "results.json"

_values: Values = {}
_words: dict[str, dict[str, str]] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Reads the facts that the pages were rendered from, once a build."""
    global _values, _words
    if not config.plugins["i18n"].building:  # type: ignore[attr-defined]
        _values = msgspec.json.decode((root(config) / VALUES).read_bytes(), type=Values)
        _words = {**words("download"), "unmeasured": words("kind")["unmeasured"]}
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Says where the site is; without an address, the line that would say it is left out."""
    if ADDRESS not in markdown:
        return markdown
    lines = [line for line in markdown.split("\n") if config.site_url or ADDRESS not in line]
    return "\n".join(lines).replace(ADDRESS, config.site_url or "")


@event_priority(-300)
def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Writes a CSV file for each table, and links it."""
    if "<table" not in output:
        return output
    said = {name: texts[page.file.locale] for name, texts in _words.items()}  # type: ignore[attr-defined]
    parts, done = [], 0
    folder = PurePosixPath(page.file.dest_uri).parent
    for name, table, end in tables(output, f"/{folder}/", _values, said):
        write_file(table.csv(), str(Path(config.site_dir, folder, "tables", f"{name}.csv")))
        link = f'<a href="tables/{name}.csv" download>{said["csv"]}</a>'
        parts += [output[done:end], f'<p class="download">{link}</p>']
        done = end
    return "".join([*parts, output[done:]])


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Puts results.json at the root of the site, once all languages are built."""
    if not config.plugins["i18n"].building:  # type: ignore[attr-defined]
        shutil.copyfile(root(config) / RESULTS, Path(config.site_dir) / RESULTS)
