"""A streaming request to an OpenAI-compatible server, timed by the one who waits for its tokens.

A token counts when the server names its number, not when text arrives: a first part may hold a role or nothing at all.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

PATH = "/v1/completions"
"""Prompts may be token numbers there."""

TIMEOUT_S = 60.0
"""How long a server may be silent."""


class ServerError(Exception):
    """What a server refused or left out."""


class Streamed(NamedTuple):
    """What came back for one request."""

    first_s: float
    """From sending it until its first token had arrived."""
    whole_s: float
    """Until its last one had."""
    produced: int
    """Tokens, each counted as it arrived."""


class Server(NamedTuple):
    """Where it listens, and the name of what it serves."""

    host: str
    port: int
    model: str

    def healthy(self) -> bool:
        """Whether it answers."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=5.0)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def ask(self, prompts: Sequence[Sequence[int]], tokens: int) -> list[Streamed]:
        """Send all prompts at once, each over a connection of its own, for exactly `tokens` tokens each."""
        gate = threading.Barrier(len(prompts))
        with ThreadPoolExecutor(len(prompts)) as pool:
            return list(pool.map(lambda prompt: self._stream(prompt, tokens, gate), prompts))

    def _stream(self, prompt: Sequence[int], tokens: int, gate: threading.Barrier) -> Streamed:
        body = json.dumps(self._body(prompt, tokens)).encode()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        connection.connect()
        gate.wait(TIMEOUT_S)
        start, arrivals = time.perf_counter(), []
        try:
            connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            for produced in _parts(connection.getresponse()):
                arrivals += [time.perf_counter() - start] * produced
        finally:
            connection.close()
        if len(arrivals) != tokens:
            raise ServerError(f"asked for {tokens} tokens, {len(arrivals)} were streamed")
        return Streamed(arrivals[0], arrivals[-1], len(arrivals))

    def _body(self, prompt: Sequence[int], tokens: int) -> dict[str, Any]:
        exactly = {"max_tokens": tokens, "min_tokens": tokens, "ignore_eos": True, "temperature": 0.0}
        return {"model": self.model, "prompt": list(prompt), "stream": True, "return_token_ids": True, **exactly}


def _parts(response: http.client.HTTPResponse) -> Iterator[int]:
    """Tokens in each part of a stream of server-sent events, as the parts arrive."""
    if response.status != http.HTTPStatus.OK:
        raise ServerError(f"the server refused: {response.status} {response.read(200).decode('utf-8', 'replace')}")
    for line in response:
        if line.startswith(b"data:") and not line.startswith(b"data: [DONE]"):
            part = json.loads(line[5:])
            if "error" in part:
                raise ServerError(f"the server broke off: {str(part['error'])[:200]}")
            for choice in part.get("choices", ()):
                yield len(choice.get("token_ids") or ())
