"""The built site as the tests see it: its pages by language, what each links to, and a server for it at any path."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

PROJECT = Path(__file__).parent.parent
LANGUAGES = ("ko", "en", "zh")
DEFAULT = "ko"
PARTS = (
    "CITATION.cff",
    "docs",
    "hooks",
    "measure",
    "mkdocs.yml",
    "overrides",
    "pyproject.toml",
    "results.json",
    "templates",
)
"""What a build needs of the project."""


def copy_project(target: Path) -> Path:
    """A copy to build and edit, so that no test writes into the pages under test."""
    target.mkdir(parents=True)
    for name in PARTS:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target / name)
    return target


@dataclass(frozen=True)
class Page:
    """A page of the site: `language`, its file and `name`, its address below its language's start page ("source/")."""

    language: str
    name: str
    file: Path

    @property
    def path(self) -> str:
        """Its address below the site's root."""
        return self.name if self.language == DEFAULT else f"{self.language}/{self.name}"

    @property
    def html(self) -> str:
        return self.file.read_text(encoding="utf-8")


@dataclass
class Markup(HTMLParser):
    """The attributes of a page's tags that name things or point to them, and the text of its article."""

    ids: set[str] = field(default_factory=set)
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()
        self.inside = 0

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        self.inside += tag == "article"

    def handle_endtag(self, tag):
        self.inside -= tag == "article"

    def handle_data(self, data):
        if self.inside:
            self.text.append(data)

    def attributes(self, tag: str, name: str, **wanted: str) -> list[str]:
        """The values of an attribute over all tags of one kind that have the wanted attributes."""
        return [a[name] for t, a in self.tags if t == tag and name in a and wanted.items() <= a.items()]


@functools.cache
def markup(file: Path) -> Markup:
    parser = Markup()
    parser.feed(file.read_text(encoding="utf-8"))
    return parser


def pages(site: Path) -> list[Page]:
    """Every page of a built site, languages in order."""
    found = []
    for file in sorted(site.rglob("index.html")):
        first, *rest = file.relative_to(site).parts[:-1] or ("",)
        language = first if first in LANGUAGES else DEFAULT
        folders = rest if first in LANGUAGES else [first, *rest]
        found.append(Page(language, "".join(f"{folder}/" for folder in folders if folder), file))
    return sorted(found, key=lambda page: (LANGUAGES.index(page.language), page.name))


COMPRESSIBLE = {".css", ".html", ".js", ".json", ".svg", ".xml"}


@functools.cache
def compressed(file: Path, changed: int) -> bytes:
    """A file's content as a server sends it to whoever takes gzip; `changed` is the time of its last change."""
    return gzip.compress(file.read_bytes())


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below a path of its choice, compressed as GitHub Pages does it, and says nothing."""

    prefix = "/"
    protocol_version = "HTTP/1.1"

    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(self.prefix))

    def do_GET(self):
        if not self.path.startswith(self.prefix):
            return self.send_error(404)
        return super().do_GET()

    def send_head(self):
        file = Path(self.translate_path(self.path))
        file = file / "index.html" if self.path.endswith("/") else file
        wanted = "gzip" in self.headers.get("Accept-Encoding", "")
        if not wanted or file.suffix not in COMPRESSIBLE or not file.is_file():
            return super().send_head()
        content = compressed(file, file.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(file))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(content)

    def send_error(self, code, *args):
        """At an address that does not exist, the site's page for that, however deep the address is."""
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, *args)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def serve(site: Path, prefix: str) -> Iterator[str]:
    """Serves a folder on a free port of this machine; gives the address of its start page."""
    handler = type("Handler", (Quiet,), {"prefix": prefix})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
        server.shutdown()
