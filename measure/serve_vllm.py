"""Time to first token through vLLM's own server, as an application waits for it.

The server that `vllm serve` starts, on loopback, answering as OpenAI's interface does, token by token. What it takes
more than `decode_vllm` for the same prompts is HTTP, JSON, text and the way between two processes.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import IO

from measure import decoding, device, models, spread, weights
from measure.card import Watch
from measure.decoding import ASKED_TOKENS, Prompt
from measure.engines import vllm
from measure.engines.streaming import Server, Streamed
from measure.keys import Key, key, over_cards
from measure.session import Session

SUMMARY = "a language model behind vLLM's server: time to first token for 1, 2 and 4 requests at once"
NEEDS = vllm.NEEDS
OPTIONS = vllm.OPTIONS
refusal = vllm.refusal

NAME = "serve_vllm"

SUBJECT = "qwen3-1.7b-bf16"

REQUESTS = (1, 2, 4)

STREAMED_TOKENS = 16
"""Of each answer: enough that requests which come together are still there when the last one's first token comes."""

WARMUPS = 3

REPEATS = 15

START_LIMIT_S = 300.0
"""How long the server may take until it answers."""

STOP_S = 20.0
"""How long it may take to end by itself."""


def plan(session: Session) -> list[Key]:
    told = over_cards(spread.cards(session))
    return [key(NAME, "first_token", subject(session), requests=number, **told) for number in REQUESTS]


def seconds(session: Session) -> float:
    return vllm.START_S + 30.0


def subject(session: Session) -> str:
    """Model and precision to measure: the planned one, or that of the weights that were given."""
    source = session.options.get("weights")
    return str(weights.subject(source)) if source is not None else SUBJECT


def measure(session: Session) -> None:
    """Record the time to first token (s, one value a request) for each number of requests at once."""
    items = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, items, "unsupported", why)
    with device.failing(session, *items):
        if items:
            chosen = models.subject(subject(session))
            with vllm.checkpoint(session, chosen) as settings, served(settings, chosen.model.vocabulary) as server:
                for item in items:
                    with device.failing(session, item):
                        _measure(session, settings, item, server, chosen.model.vocabulary)


def _measure(session: Session, settings: vllm.Settings, item: Key, server: Server, vocabulary: int) -> None:
    requests, random = int(dict(item.parameters)["requests"]), Random(0)
    rounds = [_prompts(random, requests, vocabulary) for _ in range(WARMUPS + REPEATS)]
    watch, answers = Watch(session.device), list[Streamed]()
    for number, prompts in enumerate(rounds):
        if number == WARMUPS - 1:
            watch.begin()
        came = server.ask(prompts, STREAMED_TOKENS)
        if number >= WARMUPS:
            answers += came
    watch.end()
    told = decoding.prefill_config(ASKED_TOKENS, 0, decoding.distinct(prompt for round in rounds for prompt in round))
    told.pop("cached_tokens")  # the server does not tell; its cache is off
    session.record(
        item,
        "s",
        [answer.first_s for answer in answers],
        {
            **vllm.config(session),
            **told,
            "prefix_cache": settings.prefix_cache,
            **settings.spread(),
            "requests": requests,
            "output_tokens": STREAMED_TOKENS,
            "produced_tokens": requests * answers[0].produced,
            "warmups": WARMUPS * requests,
            "through": "server",
            **watch.config,
        },
    )


def _prompts(random: Random, requests: int, vocabulary: int) -> list[Prompt]:
    return [[random.randrange(vocabulary) for _ in range(ASKED_TOKENS)] for _ in range(requests)]


@contextmanager
def served(settings: vllm.Settings, vocabulary: int) -> Iterator[Server]:
    """A server that answers; ended, and the card's memory waited for, whatever happens inside."""
    if settings.load_format == "dummy":
        weights.write_tokenizer(vocabulary, Path(settings.model))
    server = Server("127.0.0.1", _free_port(), settings.model)
    command = [*vllm.COMMAND, "serve", settings.model, *settings.words(), f"--host={server.host}"]
    with vllm.released(settings.cards), tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, f"--port={server.port}", "--disable-uvicorn-access-log"], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(server, process, log)
            yield server
        finally:
            _end(process)


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    start = time.monotonic()
    while not server.healthy():
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: {_last_line(log)}")
        if time.monotonic() - start > START_LIMIT_S:
            raise TimeoutError(f"the server did not answer within {START_LIMIT_S:.0f} s: {_last_line(log)}")
        time.sleep(0.2)
    print(f"server started in {time.monotonic() - start:.1f} s", flush=True)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
