"""The check of evidence links, against a server of this machine: what it asks, and what counts as gone."""

from __future__ import annotations

import http.server
import threading
from urllib.parse import urlsplit

import links
import pytest


class Evidence(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names; /flaky fails once."""

    failed = False

    def do_GET(self):
        if self.path == "/flaky" and not Evidence.failed:
            Evidence.failed = True
            return self.send_error(503)
        if self.path[1:].isdigit():
            return self.send_error(int(self.path[1:]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evidence) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "said"), [("here", None), ("flaky", None), ("403", None), ("404", "404 Not Found"), ("500", "500")]
)
def test_what_is_gone_is_told_and_what_refuses_programs_is_not(server, path, said):
    found = links.fault(server + path, pause=0)
    assert found is None if said is None else found.startswith(said)


def test_a_host_that_is_not_there_is_told():
    assert links.fault("http://nowhere.invalid/", pause=0)


def test_addresses_are_those_of_the_pages_each_once(tmp_path, monkeypatch):
    (tmp_path / "en" / "source").mkdir(parents=True)
    text = "See <https://one.org/a#b>, [x](https://two.org/c). `http://localhost:8000/` https://example.com https://one.org/a."
    (tmp_path / "en" / "source" / "index.md").write_text(text)
    (tmp_path / "en" / "index.md").write_text("https://one.org/a")
    found = links.addresses(tmp_path)
    assert found == {
        "https://one.org/a": ["en/index.md", "en/source/index.md", "en/source/index.md"],
        "https://two.org/c": ["en/source/index.md"],
    }
    monkeypatch.setattr(links, "fault", lambda address, pause: "gone" if "two" in address else None)
    assert list(links.report(tmp_path)) == ["- https://two.org/c: gone (en/source/index.md)"]


def test_the_pages_name_evidence():
    found = links.addresses(links.DOCS)
    assert {urlsplit(address).netloc for address in found} >= {"arxiv.org", "huggingface.co", "github.com"}
    assert len(found) > 10
