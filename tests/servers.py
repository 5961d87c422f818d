"""`mkdocs serve` as the tests see it: what it prints and when, its pages, and an edit for it to notice."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SITE_URL = "https://example.github.io/voice-in-numbers/"
ROOT = urlsplit(SITE_URL).path


class Server:
    """`mkdocs serve` in a project: its lines of output with the time of each, and its pages."""

    def __init__(self, process: subprocess.Popen, address: str):
        self.process, self.address = process, address
        self.lines: list[tuple[float, str]] = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def count(self, text: str) -> int:
        return sum(text in line for _, line in self.lines)

    def wait(self, text: str, times: int, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while self.count(text) < times:
            assert time.monotonic() < end and self.process.poll() is None, "".join(line for _, line in self.lines)
            time.sleep(0.02)

    def page(self, path: str) -> bytes:
        """A page as it is now: nothing where a build has just cleared the site away."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=30) as response:
                return response.read()
        except urllib.error.HTTPError:
            return b""


@contextmanager
def serving(project: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as process:
        server = Server(process, f"http://127.0.0.1:{port}{ROOT}")
        try:
            server.wait("Serving on", 1)
            yield server
        finally:
            process.terminate()


def edit_results(file: Path) -> None:
    """Changes a published figure, whole, as `measure` saves: a new file takes the old one's place."""
    results = json.loads(file.read_text(encoding="utf-8"))
    results["runs"][0]["samples"]["bandwidth/sum"]["median"] += -0.5
    new = file.with_name(".results.json.new")
    new.write_text(json.dumps(results, ensure_ascii=False, indent=1), encoding="utf-8")
    new.replace(file)
