"""Verdicts: can a sample be true on its machine? Computed whenever results are read, and never stored.

A rule compares a sample with what its own run measured (bandwidth, matrix products) or with what its configuration
says (tokens asked for, buffer, prompts). A rejected sample is no limit for others. Rules know nothing of single
samples: what they need is in the key, the configuration and the run, be it executed, imported or reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from measure.results import LARGEST, AnySample, Key, Run, parse_key

Status = Literal["accepted", "suspect", "rejected"]
STATUSES: tuple[Status, ...] = ("rejected", "suspect", "accepted")
"""Worst first."""

TOLERANCE = 1.03
"""A limit is a measured median, and repeats of it spread by a percent or two; what it limits spreads as much."""

ONE_KERNEL = 1.15
"""A limit that rests on one kernel or shape can lie this much below the machine's best: one matrix shape was 13% below
another on an H200. Up to there a sample is suspect; beyond, rejected."""

NARROW = 2.0
"""Arithmetic of half the width is at most twice as fast; where a limit was measured with wider arithmetic than a sample
may have used, it lies at most so far below."""

NARROW_TYPES = ("fp8", "int8", "q8", "q4", "fp4", "int4", "nvfp4", "mxfp4")
"""Beginnings of the names of precisions below 16 bits."""

CACHE_FACTOR = 4
"""A buffer below four times the last-level cache is partly served from it (the rule of the STREAM benchmark)."""

BYTES = {"GB": 1e9, "GiB": 2.0**30, "MiB": 2.0**20, "B": 1.0}


@dataclass(frozen=True)
class Verdict:
    """A rule's finding. An accepted sample bears the rule it came closest to, or none if no rule applies."""

    status: Status
    rule: str = ""
    limit: float | None = None
    factor: float | None = None
    """`value` over `limit`."""
    unit: str = ""
    """Of value and limit."""
    value: float | None = None
    """What the sample implies."""
    basis: tuple[str, ...] = ()
    """Keys of the samples that the limit and the value were computed from."""


ACCEPTED = Verdict("accepted")


class Models(Protocol):
    """What rules ask about a model; `measure.models` has it."""

    def kv_bytes(self, text: str, length: int) -> float:
        """Bytes of cache that a step reads for one request of `length` tokens. ValueError for an unknown subject."""


class Ceiling(NamedTuple):
    """The best of some samples that measure a limit: its key and value, and what is known of them all."""

    key: str
    value: float
    alone: bool
    """Whether there is no other sample."""
    narrow: bool
    """Whether one of them was measured with numbers below 16 bits."""


@dataclass(frozen=True)
class Sound:
    """The samples of a run that may serve as limits: those not rejected so far."""

    samples: Mapping[str, AnySample]
    found: dict[tuple[str, tuple[str, ...]], Ceiling | None] = field(default_factory=dict)
    """Ceilings looked up before: every sample of a run asks for the same few."""

    def best(self, measurement: str, quantities: tuple[str, ...]) -> Ceiling | None:
        """The best of these quantities, or None if there are none."""
        asked = (measurement, quantities)
        if asked not in self.found:
            self.found[asked] = self._look_up(measurement, quantities)
        return self.found[asked]

    def _look_up(self, measurement: str, quantities: tuple[str, ...]) -> Ceiling | None:
        keys = [text for text in self.samples if _is(parse_key(text), measurement, quantities)]
        if not keys:
            return None
        first = max(keys, key=lambda text: self.samples[text].median)
        narrow = any(_narrow(dict(parse_key(text).parameters).get("dtype", "")) for text in keys)
        return Ceiling(first, self.samples[first].median, len(keys) == 1, narrow)


@dataclass(frozen=True)
class Case:
    """A sample with all that rules may look at."""

    key: Key
    sample: AnySample
    run: Run
    sound: Sound
    models: Models | None = None

    def parameter(self, name: str) -> float | None:
        """A number from the key, else from the configuration."""
        return _number(dict(self.key.parameters).get(name, self.sample.config.get(name)))

    def beside(self, quantity: str) -> tuple[str, AnySample] | None:
        """A sound sample of the same measurement and subject, and its key."""
        text = str(Key(self.key.measurement, self.key.subject, quantity))
        sample = self.sound.samples.get(text)
        return (text, sample) if sample is not None else None


@dataclass(frozen=True)
class Rule:
    """A line of the table: name (labels of the site go by it), judge (None: does not apply), and advice in English."""

    name: str
    judge: Callable[[Case], Verdict | None]
    advice: str


def buffer_in_cache(case: Case) -> Verdict | None:
    """A bandwidth measured on a buffer that fits the last-level cache is the cache's, not the memory's."""
    buffer, cache = _number(case.sample.config.get("buffer_bytes")), case.run.machine.cache_bytes
    if case.key.measurement != "bandwidth" or buffer is None or not cache:
        return None
    status: Status = "rejected" if buffer <= cache else "suspect" if buffer < CACHE_FACTOR * cache else "accepted"
    return Verdict(status, "", cache, buffer / cache, "B", buffer)


def token_count_differs(case: Case) -> Verdict | None:
    """A rate holds only if as many tokens were produced as were asked for."""
    produced, asked = _number(case.sample.config.get("produced_tokens")), case.parameter("output_tokens_long")
    if produced is None or asked is None:
        return None
    asked *= case.parameter("requests") or 1
    if produced == asked:
        return Verdict("accepted", "", asked, None, "tok", produced)
    return Verdict("rejected", "", asked, produced / asked if asked else None, "tok", produced)


def prompts_repeated(case: Case) -> Verdict | None:
    """Prompts that are alike are answered from a cache."""
    distinct = case.sample.config.get("distinct_prompts")
    return None if distinct is None else Verdict("accepted" if distinct else "rejected")


def tokens_cached(case: Case) -> Verdict | None:
    """Prompt tokens found in a cache were not processed."""
    cached = _number(case.sample.config.get("cached_tokens"))
    return None if cached is None else Verdict("rejected" if cached else "accepted", "", 0.0, None, "tok", cached)


def above_bandwidth(case: Case) -> Verdict | None:
    """Each step of decoding reads all weights once, and each request's keys and values."""
    requests, weights = case.parameter("requests"), case.beside("loaded_weights")
    ceiling = case.sound.best("bandwidth", ("sum", "copy", "triad"))
    if case.key.quantity != "rate" or not requests or weights is None or ceiling is None:
        return None
    steps_per_s = case.sample.median / requests
    weight_bytes = weights[1].median * BYTES[weights[1].unit]
    gb_per_s = steps_per_s * (weight_bytes + requests * _cache_read(case)) / 1e9
    allowed = _slack(ceiling) * _kept(weight_bytes, case.run.machine.cache_bytes)
    return _against(gb_per_s, ceiling.value, "GB/s", allowed, (weights[0], ceiling.key))


def _cache_read(case: Case) -> float:
    """Bytes of keys and values a step reads for one request, half-way through its output; 0 where that is not known."""
    prompt, short, long = (case.parameter(n) for n in ("prompt_tokens", "output_tokens_short", "output_tokens_long"))
    if case.models is None or prompt is None or long is None:
        return 0.0
    try:
        return case.models.kv_bytes(case.key.subject, int(max(prompt + ((short or 0) + long) / 2, 0)))
    except (KeyError, ValueError):
        return 0.0


def _kept(weight_bytes: float, cache_bytes: int) -> float:
    """How far a rate may exceed the limit because a cache keeps part of the weights from step to step."""
    return weight_bytes / (weight_bytes - cache_bytes) if cache_bytes < weight_bytes else float("inf")


def above_compute(case: Case) -> Verdict | None:
    """Each token, read or produced, multiplies and adds once for each parameter outside the embedding, at least."""
    parameters = case.beside("parameters_without_embeddings")
    ceiling = case.sound.best("matmul", ("throughput",))
    if case.key.quantity not in ("rate", "prefill_rate") or parameters is None or ceiling is None:
        return None
    tflops = 2 * parameters[1].median * case.sample.median / 1e12
    allowed = _slack(ceiling) * (NARROW if _narrower(case.key.subject, ceiling) else 1.0)
    return _against(tflops, ceiling.value, "TFLOPS", allowed, (parameters[0], ceiling.key))


def _narrower(subject: str, ceiling: Ceiling) -> bool:
    """Whether a model may have computed with narrower numbers than any of the matrix products."""
    return _narrow(subject.rpartition("-")[2]) and not ceiling.narrow


def _narrow(dtype: str) -> bool:
    return dtype.startswith(NARROW_TYPES)


def _slack(ceiling: Ceiling) -> float:
    return ONE_KERNEL if ceiling.alone else TOLERANCE


def _against(value: float, limit: float, unit: str, allowed: float, basis: tuple[str, ...]) -> Verdict:
    factor = value / limit
    status: Status = "accepted" if factor <= TOLERANCE else "suspect" if factor <= allowed else "rejected"
    return Verdict(status, "", limit, factor, unit, value, basis)


RULES = (
    Rule(
        "buffer_in_cache",
        buffer_in_cache,
        "Measure with a buffer of at least four times the last-level cache.",
    ),
    Rule(
        "token_count_differs",
        token_count_differs,
        "Ignore the end of sequence, and count the tokens that were produced.",
    ),
    Rule(
        "prompts_repeated",
        prompts_repeated,
        "Give every request a prompt of its own, of random tokens.",
    ),
    Rule(
        "tokens_cached",
        tokens_cached,
        "Switch the engine's prefix cache off, or give every request new tokens.",
    ),
    Rule(
        "above_bandwidth",
        above_bandwidth,
        "Check the clock, the count of tokens and the bytes of the weights; measure bandwidth with several kernels.",
    ),
    Rule(
        "above_compute",
        above_compute,
        "Look for tokens that were not computed (a prefix cache); measure matrix products of several shapes and types.",
    ),
)
"""In the order they are applied: those that need only the sample first, since they decide what may serve as a limit."""

OF_SAMPLE_ALONE = ("buffer_in_cache", "token_count_differs", "prompts_repeated", "tokens_cached")
"""Rules that look at no other sample."""


def verdicts(run: Run, models: Models | None = None) -> dict[str, Verdict]:
    """The verdict on every sample of a run, by key. With `models` the traffic of keys and values counts too."""
    alone = [rule for rule in RULES if rule.name in OF_SAMPLE_ALONE]
    kept = dict(run.samples)
    for text, sample in run.samples.items():
        if judge(Case(parse_key(text), sample, run, Sound({}), models), alone).status == "rejected":
            del kept[text]
    sound = Sound(kept)
    return {text: judge(Case(parse_key(text), s, run, sound, models), RULES) for text, s in run.samples.items()}


def judge(case: Case, rules: tuple[Rule, ...] | list[Rule]) -> Verdict:
    """The worst verdict of the rules that apply; among equals the one with the largest factor."""
    found = [replace(verdict, rule=rule.name) for rule in rules if (verdict := rule.judge(case)) is not None]
    return min(found, key=lambda verdict: (STATUSES.index(verdict.status), -(verdict.factor or 0.0)), default=ACCEPTED)


def advice(rule: str) -> str:
    """What to do about a sample that a rule found fault with, in English."""
    return next(entry.advice for entry in RULES if entry.name == rule)


def _is(key: Key, measurement: str, quantities: tuple[str, ...]) -> bool:
    return key.measurement == measurement and key.quantity in quantities


def _number(value: object) -> float | None:
    """A number, or the text of one; None for what is neither, or too large for a machine to have it."""
    try:
        number = None if isinstance(value, bool) else float(str(value))
    except ValueError:
        return None
    return number if number is not None and abs(number) <= LARGEST else None
