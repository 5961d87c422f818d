"""`vllm bench latency --output-json`: seconds that a fixed batch takes from its prompts to its last token.

Each latency holds the prefill of the whole batch and all its decoding steps, so one file gives no decoding rate. It is
kept as `batch_time`; with a second file of fewer output tokens (`short_file`) the difference gives the rate:

    rate = requests x (output_tokens - short_output_tokens) / (latency - median latency of the short file)

Prefill and all that is fixed drop out. Prompts are random tokens, the end of sequence is ignored, and the prefix cache
is off unless switched on. The file names neither model, lengths, batch nor device: all are demanded.
Source: vllm-project/vllm, vllm/benchmarks/latency.py, `main`, at commit 00cae0753b8d.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from measure.importers import settings, source
from measure.importers.reading import Entry, Positive, Reading, agree, alone, typed
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.keys import key
from measure.results import ResultsError

TOOL = "vllm bench latency"
NAMES = frozenset({"avg_latency", "latencies", "percentiles"})

MEASUREMENT = "decode_vllm"
SHORT_FILE = Setting("short_file", "short.json", r".+", "a file of the same benchmark with fewer output tokens")
SHORT_OUTPUT_TOKENS = settings.OUTPUT_TOKENS._replace(name="short_output_tokens", example="1")

_NEEDED = (
    settings.MODEL,
    settings.MACHINE,
    settings.DEVICE,
    settings.REQUESTS,
    settings.PROMPT_TOKENS,
    settings.OUTPUT_TOKENS,
)


class Latency(msgspec.Struct, frozen=True):
    """The file's content: seconds."""

    avg_latency: Positive
    latencies: Annotated[list[Positive], msgspec.Meta(min_length=1)]
    percentiles: dict[str, Positive]

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        return _NEEDED, (SHORT_FILE, SHORT_OUTPUT_TOKENS, settings.ENGINE_VERSION)

    def read(self, given: Given, where: str) -> Reading:
        agree("avg_latency", self.avg_latency, statistics.fmean(self.latencies), where)
        entries = [self._batch(given)]
        told: dict[str, str] = {}
        if SHORT_FILE in given or SHORT_OUTPUT_TOKENS in given:
            rate, told = self._rate(given, where)
            entries.append(rate)
        return Reading(
            entries,
            given.text(settings.MACHINE),
            given.text(settings.DEVICE),
            versions=settings.engine_version("vllm", given),
            told=told,
        )

    def _batch(self, given: Given) -> Entry:
        requests, prompt, output = (
            given.count(setting) for setting in (settings.REQUESTS, settings.PROMPT_TOKENS, settings.OUTPUT_TOKENS)
        )
        of = key(MEASUREMENT, "batch_time", given.text(settings.MODEL), requests=requests, prompt=prompt, output=output)
        return Entry(of, "s", self.latencies)

    def _rate(self, given: Given, where: str) -> tuple[Entry, dict[str, str]]:
        short, sha256, produced = _short(given, where)
        requests, long = given.number(settings.REQUESTS), given.number(settings.OUTPUT_TOKENS)
        if produced >= long:
            cure = "Import the file of more output tokens, and name the other one as short_file."
            raise ResultsError(f"{where}: short_output_tokens={produced} is not less than output_tokens={long}. {cure}")
        before = statistics.median(short.latencies)
        if min(self.latencies) <= before:
            told = f"a latency of {min(self.latencies):g} s with {long} output tokens, {before:g} s with {produced}"
            raise ResultsError(f"{where}: more tokens took no longer: {told}. Check which file is which.")
        config = {
            "requests": requests,
            "prompt_tokens": given.number(settings.PROMPT_TOKENS),
            "output_tokens_short": produced,
            "output_tokens_long": long,
        }
        values = [requests * (long - produced) / (latency - before) for latency in self.latencies]
        of = key(MEASUREMENT, "rate", given.text(settings.MODEL), requests=requests)
        return Entry(of, "tok/s", values, config=config), {SHORT_FILE.name: f"SHA-256 {sha256}"}


def _short(given: Given, where: str) -> tuple[Latency, str, int]:
    """The second file: its content, its hash, and its output tokens."""
    if not (SHORT_FILE in given and SHORT_OUTPUT_TOKENS in given):
        lacking = SHORT_OUTPUT_TOKENS if SHORT_FILE in given else SHORT_FILE
        raise ResultsError(f"{where}: a rate needs two files. Tell it, for example: {settings.example([lacking])}")
    found = source.read(Path(given.text(SHORT_FILE)))
    if not found.documents[0].names >= NAMES:
        raise ResultsError(f"{found.name}: is not of {TOOL}. Name the same benchmark with fewer output tokens.")
    short = decode(found.documents, found.name)
    agree("avg_latency", short.avg_latency, statistics.fmean(short.latencies), found.name)
    return short, found.sha256, given.number(SHORT_OUTPUT_TOKENS)


def decode(documents: Sequence[Document], where: str) -> Latency:
    return typed(alone(documents, TOOL, where), Latency, TOOL, where)
