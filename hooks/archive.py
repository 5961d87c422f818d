"""The whole site to read from a disk: a zip file at its root, made from the site itself once it is built.

From a disk a browser gives a page neither folders' index pages, nor files to fetch, nor workers. So in the copy links
name files, what is fetched on the web comes as scripts (the search index, the charts' figures), and the search's worker
is made from a text that a script brings. docs/decisions/a-copy-for-the-disk.md says why.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority

NAME = "voice-in-numbers"
ARCHIVE = f"{NAME}.zip"
LEFT_OUT = ("404.html", "sitemap.xml", "sitemap.xml.gz", ARCHIVE)
"""What only a server has use for."""

MADE = (1980, 1, 1, 0, 0, 0)
"""The date of each file in the archive, so that the same site makes the same bytes."""

LEVEL = 3
"""How hard to compress: more would take twice the time and save a tenth."""

LINK = re.compile(r'(<(?:a|link)\b[^>]*? href=")([^"#?]*)')
FOLDER = re.compile(r"(^|/)(\.{1,2})?$")
"""The end of an address that is a folder's; the whole of an empty one."""

ADDRESS = re.compile(r'("at":"[^"#]*/)#')
"""Where a receipt is, among the numbers that the calculator takes."""

CHART = re.compile(r'( data-chart="[^"]*\.)json"')
BUNDLE = re.compile(r'<script src="([^"]*?)assets/javascripts/bundle\.')
WITHIN_SCRIPT = re.compile(r'(href=\\")([^"#?\\]*)')
"""A link of a receipt at hand, which comes as a text in a script."""

SEARCH = "assets/javascripts/search.js"
OTHERS = re.compile(r"^importScripts\(.*\);$", re.MULTILINE)
"""Where the search's worker, which is ours, takes in the theme's."""

POLICY = re.compile(r'(http-equiv="Content-Security-Policy" content=")([^"]*)')


@event_priority(-400)
def on_post_build(config: MkDocsConfig) -> None:
    """Packs the site, once all languages are built."""
    if not config.plugins["i18n"].building:  # type: ignore[attr-defined]
        pack(Path(config.site_dir), config.site_url or "")


def pack(site: Path, site_url: str) -> None:
    """Writes the archive into the site. `site_url` is where a reader finds it again."""
    with zipfile.ZipFile(site / ARCHIVE, "w") as archive:
        for name, data in files(site, site_url):
            archive.writestr(zipfile.ZipInfo(f"{NAME}/{name}", MADE), data, zipfile.ZIP_DEFLATED, LEVEL)


def files(site: Path, site_url: str) -> Iterator[tuple[PurePosixPath, str | bytes]]:
    """The files of the copy, in order."""
    for path in sorted(path for path in site.rglob("*") if path.is_file()):
        name = PurePosixPath(path.relative_to(site).as_posix())
        if str(name) in LEFT_OUT:
            continue
        if name.suffix == ".html":
            yield name, page(path.read_text(encoding="utf-8"), site_url)
        elif name.name == "search_index.json":
            yield name.with_suffix(".js"), f"var __index = {index(path.read_text(encoding='utf-8'))};"
        elif name.suffix == ".json" and "charts" in name.parts:
            yield name.with_suffix(".js"), f"document.currentScript.figure = {path.read_text(encoding='utf-8')};"
        elif "at-hand" in name.parts:
            text = path.read_text(encoding="utf-8")
            yield name, WITHIN_SCRIPT.sub(lambda found: found[1] + named(found[2], site_url), text)
        else:
            yield name, path.read_bytes()
            if name.match("workers/search.*.min.js"):
                source = (site / SEARCH).read_text(encoding="utf-8"), path.read_text(encoding="utf-8")
                yield PurePosixPath("assets/javascripts/worker.js"), worker(*source)


def worker(ours: str, theirs: str) -> str:
    """A script that brings the search's worker as a text: ours, and in it the theme's, which it cannot fetch."""
    return WORKER.replace("SOURCE", json.dumps(OTHERS.sub(lambda _: theirs, ours)))


def page(html: str, site_url: str) -> str:
    """A page as it works from a disk."""
    html = LINK.sub(lambda found: found[1] + named(found[2], site_url), html)
    html = ADDRESS.sub(r"\1index.html#", html)
    html = CHART.sub(r'\1js"', html)
    html = BUNDLE.sub(r'<script src="\1assets/javascripts/worker.js"></script>\n      \g<0>', html)
    return POLICY.sub(lambda found: found[1] + policy(found[2]), html)


def policy(told: str) -> str:
    """The pages' policy where what is the site's own has no host, and a worker comes from a text."""
    return told.replace("'self'", "'self' file:").replace("worker-src 'self'", "worker-src 'self' blob:")


def named(address: str, site_url: str) -> str:
    """An address below the site with the file that a server would give for a folder; any other as it is."""
    if address.endswith(ARCHIVE):
        return f"{site_url.rstrip('/')}/{ARCHIVE}" if site_url else ""
    if not address or ":" in address:
        return address
    return f"{address.rstrip('/')}/index.html" if FOLDER.search(address) else address


def index(text: str) -> str:
    """The search index with pages named as files."""
    found = json.loads(text)
    for entry in found["docs"]:
        folder, mark, anchor = entry["location"].partition("#")
        entry["location"] = f"{folder}index.html{mark}{anchor}"
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


WORKER = """/* The search's worker as a text: a browser starts none from a file of a disk. */
(() => {
  "use strict";
  const source = SOURCE;
  const Native = window.Worker;
  window.Worker = function () {
    return new Native(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  };
})();
"""
