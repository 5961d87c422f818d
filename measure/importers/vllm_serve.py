"""`vllm bench serve --save-result`: requests to a server over HTTP, as `--save-detailed` writes them or summed up.

In the lists times are seconds, in the statistics milliseconds. TTFT is `first_token`; TPOT leaves out the first token
and is `token_time`; ITL, the time between pieces of the stream that may hold several tokens, is left out. A rate of
"inf" with a maximal concurrency keeps that many requests under way, without one all of them. At a finite rate their
number varies, and the quantities are named `..._under_load`. `output_throughput` counts produced tokens over the whole
duration, prefill and the filling and running empty included: it is `output_rate`, no decoding rate.

The file says neither precision, server, machine nor how many tokens were asked for: all are demanded.
Source: vllm-project/vllm, vllm/benchmarks/serve.py, `benchmark` and `main_async`, at commit 009e6d4a1cd6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import msgspec

from measure.importers import served, settings
from measure.importers.reading import (
    Configuration,
    Count,
    Entry,
    NotNegative,
    Positive,
    Reading,
    Text,
    Whole,
    agree,
    typed,
)
from measure.importers.served import Load, Times, Tokens
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.results import ResultsError, Summary

TOOL = "vllm bench serve"
NAMES = frozenset({"num_prompts", "request_rate", "completed", "total_output_tokens", "output_throughput"})

UNLIMITED = "inf"


class Serve(msgspec.Struct, frozen=True):
    """One result: counts, seconds, tokens per second, and milliseconds where a name ends so."""

    date: Text
    num_prompts: Whole
    request_rate: served.Rate | Text
    duration: Positive
    completed: Count
    total_input_tokens: Count
    total_output_tokens: Count
    output_throughput: NotNegative
    model_id: Text = ""
    backend: Text = ""
    failed: Count = 0
    max_concurrency: Whole | None = None
    ramp_up_strategy: Text | None = None
    median_ttft_ms: NotNegative | None = None
    median_tpot_ms: NotNegative | None = None
    output_lens: list[Count] | None = None
    ttfts: list[NotNegative] | None = None
    itls: list[list[NotNegative]] | None = None

    def load(self, where: str) -> Load:
        """How many requests are under way."""
        if self.ramp_up_strategy is not None:
            raise ResultsError(f"{where}: its request rate rises as it goes. Measure at one rate.")
        if not isinstance(self.request_rate, str):
            return Load(None, self.request_rate)
        if self.request_rate != UNLIMITED:
            raise ResultsError(f"{where}: request_rate is neither a number nor 'inf'. Import the file unchanged.")
        return Load(min(self.max_concurrency or self.num_prompts, self.num_prompts))

    def entries(self, given: Given, where: str) -> list[Entry]:
        """What one result tells."""
        if not self.completed or not self.total_output_tokens:
            raise ResultsError(f"{where}: no request was completed. Look into the server's log, then measure again.")
        agree("output_throughput", self.output_throughput, self.total_output_tokens / self.duration, where)
        load = self.load(where)
        tokens = Tokens(self.total_input_tokens / self.completed, self.total_output_tokens / self.completed)
        counts = {"completed": self.completed, "failed": self.failed}
        extra: Configuration = {**counts, "api": self.backend, "served_as": self.model_id}
        first, further = self._times(where)
        found = served.entries(given, load, tokens, first, further, extra)
        config: Configuration = {**tokens.config(given, load.requests), **extra}
        return [*found, Entry(load.key(given, "output_rate"), "tok/s", [self.output_throughput], config=config)]

    def _times(self, where: str) -> tuple[Times, Times]:
        """Of the first token and of each further one."""
        if self.output_lens is None or self.ttfts is None or self.itls is None:
            return self._summed(self.median_ttft_ms), self._summed(self.median_tpot_ms)
        if not len(self.output_lens) == len(self.ttfts) == len(self.itls):
            lengths = f"{len(self.output_lens)}, {len(self.ttfts)} and {len(self.itls)}"
            what = f"output_lens, ttfts and itls have {lengths} entries"
            raise ResultsError(f"{where}: contradicts itself: {what}. Import the tool's file unchanged.")
        made = [row for row in zip(self.output_lens, self.ttfts, self.itls, strict=True) if row[0] and row[1]]
        ms = served.MS_PER_S
        further = [ms * math.fsum(gaps) / (count - 1) for count, _, gaps in made if count > 1 and any(gaps)]
        return Times([ms * first for _, first, _ in made]), Times(further)

    def _summed(self, median: float | None) -> Times:
        """A median of zero is what the tool writes where an endpoint did not stream."""
        return Times(summary=Summary(median, count=self.completed)) if median else Times()


class Results(msgspec.Struct, frozen=True):
    """The results of a file: one, or with `--append-result` one a line."""

    results: list[Serve]

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        return served.NEEDED, served.OPTIONAL

    def read(self, given: Given, where: str) -> Reading:
        found = [entry for result in self.results for entry in result.entries(given, where)]
        names = dict.fromkeys(result.model_id for result in self.results if result.model_id)
        return Reading(
            found,
            given.text(settings.MACHINE),
            given.text(settings.DEVICE),
            at=_iso(self.results[0].date, where),
            versions=settings.engine_version(given.text(settings.ENGINE), given),
            notes=[f"the file calls the model {name!r}; it goes in as {given.text(settings.MODEL)}" for name in names],
        )


def _iso(date: str, where: str) -> str:
    """The file's date, local time without a zone, as ISO 8601."""
    try:
        return datetime.strptime(date, "%Y%m%d-%H%M%S").isoformat()
    except ValueError:
        raise ResultsError(f"{where}: date {date[:40]!r} is not like 20261129-134500. Import it unchanged.") from None


def decode(documents: Sequence[Document], where: str) -> Results:
    return Results([typed(document, Serve, TOOL, where) for document in documents])
