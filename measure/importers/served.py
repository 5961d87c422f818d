"""What a client sees of a server: how many requests are under way, when the first token comes, and each further one.

`first_token` is the time from sending a request to its first token, and `token_time` that of each further one: the rest
of the request's time over its tokens less one. With one request at a time its inverse is the decoding rate. With more
it is not: others' prompts are processed in between, and fewer than all decode at once; then no rate is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from measure.importers import settings
from measure.importers.reading import Configuration, Entry, inverse, plain
from measure.importers.settings import Given
from measure.keys import Key, key
from measure.results import Summary

OUTPUT_TOKENS = settings.or_varied(settings.OUTPUT_TOKENS)

NEEDED = (settings.MODEL, settings.ENGINE, settings.MACHINE, settings.DEVICE, OUTPUT_TOKENS)
OPTIONAL = (settings.ENGINE_VERSION,)
"""Such a benchmark reaches its server through an address: what answers there, and on what, its file cannot say."""

MS_PER_S = 1000

Rate = Annotated[float, msgspec.Meta(gt=0, le=1e5)]
"""Requests a second."""


class Load(NamedTuple):
    """Requests that are under way all the time, or else that arrive each second."""

    requests: int | None
    rate: float | None = None

    def key(self, given: Given, quantity: str) -> Key:
        """The key of a quantity of this load; where the number of requests varies it has a name of its own."""
        measurement, subject = f"decode_{given.text(settings.ENGINE)}", given.text(settings.MODEL)
        if self.requests is not None:
            return key(measurement, quantity, subject, requests=self.requests)
        return key(measurement, f"{quantity}_under_load", subject, request_rate=f"{self.rate:.6g}")


class Tokens(NamedTuple):
    """Mean tokens of a request: in its prompt, and produced."""

    prompt: float
    produced: float

    def config(self, given: Given, requests: int | None) -> Configuration:
        """Lengths as facts and verdicts ask for them; `produced_tokens` are those of all requests under way."""
        asked = given.count(OUTPUT_TOKENS)
        told: Configuration = {"prompt_tokens": plain(self.prompt)}
        if asked is None:
            return {**told, "output_tokens": plain(self.produced)}
        return {**told, "output_tokens_long": asked, "produced_tokens": plain(self.produced * (requests or 1))}


class Times(NamedTuple):
    """Milliseconds: of every request, or else their summary."""

    values: Sequence[float] = ()
    summary: Summary | None = None

    def __bool__(self) -> bool:
        return bool(self.values) or self.summary is not None

    def entry(self, of: Key, config: Configuration) -> Entry:
        return Entry(of, "ms", self.values, self.summary, config)

    def rate(self, of: Key, config: Configuration) -> Entry:
        """Tokens per second of one request."""
        values = [MS_PER_S / value for value in self.values]
        return Entry(of, "tok/s", values, inverse(self.summary, MS_PER_S) if self.summary else None, config)


def entries(
    given: Given,
    load: Load,
    tokens: Tokens,
    first: Times,
    further: Times,
    extra: Configuration,
) -> list[Entry]:
    """First token, further tokens, and the rate if there is one request at a time."""
    config = {**tokens.config(given, load.requests), **extra}
    prompt: Configuration = {"prompt_tokens": plain(tokens.prompt), **extra}
    found = [first.entry(load.key(given, "first_token"), prompt)] if first else []
    if further:
        found.append(further.entry(load.key(given, "token_time"), config))
        if load.requests == 1:
            found.append(further.rate(load.key(given, "rate"), config))
    return found
