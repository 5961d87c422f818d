"""GuideLLM's report, `benchmarks.json`: requests to a server over HTTP under one load after another, summed up.

`time_to_first_token_ms` is `first_token`. `inter_token_latency_ms` leaves out the first token, as vLLM's TPOT does, and
is `token_time`. `time_per_output_token_ms` spreads the whole time over all tokens, the first included, unlike vLLM's
figure of that name: it is `token_time_with_first`. Of requests only the successful are taken. A synchronous load has
one request under way, a concurrent one its streams; at a constant or Poisson rate their number varies, and the
quantities are named `..._under_load`. Loads of unknown concurrency (throughput, trace) are left out, and so are rates.

The report says neither precision, server, machine nor how many tokens were asked for: all are demanded.
Source: vllm-project/guidellm, src/guidellm/benchmark/schemas/ (report.py, benchmark.py, metrics.py), schemas/
statistics.py and request_stats.py, scheduler/strategies.py, at v0.6.0 (report version 1) and v0.7.3 (version 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

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
    alone,
    middle,
    typed,
)
from measure.importers.served import Load, Times, Tokens
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.results import ResultsError

TOOL = "GuideLLM"
NAMES = frozenset({"metadata", "benchmarks"})

VERSIONS = (1, 2)
"""Report versions that were read."""


class Percentiles(msgspec.Struct, frozen=True):
    """Of them only the quartiles."""

    p25: NotNegative
    p75: NotNegative


class Distribution(msgspec.Struct, frozen=True):
    """A metric over requests."""

    mean: NotNegative
    median: NotNegative
    min: NotNegative
    max: NotNegative
    percentiles: Percentiles

    def times(self, count: int) -> Times:
        """With an interval for the median of `count` requests. Zero stands for what could not be timed."""
        if not self.median:
            return Times()
        quartiles = (self.percentiles.p25, self.percentiles.p75)
        return Times(summary=middle(self.median, quartiles, (self.min, self.max), count))


class ByStatus(msgspec.Struct, frozen=True):
    """A metric by what became of the requests."""

    successful: Distribution


class Totals(msgspec.Struct, frozen=True):
    """Requests by what became of them."""

    successful: Count
    errored: Count = 0
    incomplete: Count = 0


class Metrics(msgspec.Struct, frozen=True):
    """Of a report's metrics those that are taken."""

    request_totals: Totals
    prompt_token_count: ByStatus
    output_token_count: ByStatus
    time_to_first_token_ms: ByStatus
    inter_token_latency_ms: ByStatus
    time_per_output_token_ms: ByStatus


class Strategy(msgspec.Struct, frozen=True):
    """How requests are sent."""

    type_: Text
    streams: Whole | None = None
    rate: served.Rate | None = None

    def load(self) -> Load | None:
        """None where it cannot be told how many requests are under way or arrive."""
        if self.type_ == "synchronous":
            return Load(1)
        if self.type_ == "concurrent" and self.streams is not None:
            return Load(self.streams)
        return Load(None, self.rate) if self.type_ in ("constant", "poisson") and self.rate is not None else None


class Config(msgspec.Struct, frozen=True):
    """Of one benchmark."""

    strategy: Strategy


class Benchmark(msgspec.Struct, frozen=True):
    """One load."""

    config: Config
    metrics: Metrics
    start_time: Positive

    def entries(self, given: Given, load: Load) -> list[Entry]:
        """What it tells."""
        totals, metrics = self.metrics.request_totals, self.metrics
        tokens = Tokens(metrics.prompt_token_count.successful.mean, metrics.output_token_count.successful.mean)
        extra: Configuration = {
            "completed": totals.successful,
            "failed": totals.errored,
            "load": self.config.strategy.type_,
        }
        first, further, spread = (
            by_status.successful.times(totals.successful)
            for by_status in (
                metrics.time_to_first_token_ms,
                metrics.inter_token_latency_ms,
                metrics.time_per_output_token_ms,
            )
        )
        found = served.entries(given, load, tokens, first, further, extra)
        config: Configuration = {**tokens.config(given, load.requests), **extra}
        return [*found, spread.entry(load.key(given, "token_time_with_first"), config)] if spread else found


class Metadata(msgspec.Struct, frozen=True):
    """What wrote the report."""

    version: int
    guidellm_version: Text = ""


class Report(msgspec.Struct, frozen=True):
    """The file's content."""

    metadata: Metadata
    benchmarks: Annotated[list[Benchmark], msgspec.Meta(min_length=1)]

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        return served.NEEDED, served.OPTIONAL

    def read(self, given: Given, where: str) -> Reading:
        found: list[Entry] = []
        notes: list[str] = []
        for benchmark in self.benchmarks:
            load, sent = benchmark.config.strategy.load(), benchmark.config.strategy.type_
            if load is None:
                notes.append(f"left out: a load of type {sent!r}, since the requests under way are not told")
            elif not benchmark.metrics.request_totals.successful:
                notes.append(f"left out: a load of type {sent!r}, since no request was successful")
            else:
                found += benchmark.entries(given, load)
        return Reading(
            found,
            given.text(settings.MACHINE),
            given.text(settings.DEVICE),
            at=_iso(self.benchmarks[0].start_time, where),
            versions=self._versions(given),
            notes=notes,
        )

    def _versions(self, given: Given) -> dict[str, str]:
        own = {"guidellm": self.metadata.guidellm_version} if self.metadata.guidellm_version else {}
        return {**own, **settings.engine_version(given.text(settings.ENGINE), given)}


def _iso(seconds: float, where: str) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        raise ResultsError(f"{where}: start_time {seconds:g} is no time. Import the tool's file unchanged.") from None


def decode(documents: Sequence[Document], where: str) -> Report:
    document = alone(documents, TOOL, where)
    version = typed(document, _Versioned, TOOL, where).metadata.version
    if version not in VERSIONS:
        known = " and ".join(str(number) for number in VERSIONS)
        raise ResultsError(f"{where}: report version {version}, read are {known}. Write it with a version that fits.")
    return typed(document, Report, TOOL, where)


class _Versioned(msgspec.Struct, frozen=True):
    metadata: Metadata
