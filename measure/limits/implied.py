"""What a sample implies: how many tokens and passes a second, and from these the bytes read and the operations done."""

from __future__ import annotations

from typing import NamedTuple

from measure.limits import thresholds
from measure.limits.case import BYTES, SECONDS, Case, number
from measure.models import BYTES_PER_WEIGHT


class Pace(NamedTuple):
    """How fast a sample says a model ran; None for what it does not tell."""

    tokens_per_s: float | None
    passes_per_s: float | None
    """Each pass reads all weights: a step of decoding or of a speech model, a prompt, or a patch of sound."""
    at_once: float = 0.0
    """Requests whose keys and values a pass reads."""


class Implied(NamedTuple):
    """What a sample implies in GB/s or TFLOPS, and the sample beside it that this rests on."""

    value: float
    key: str
    kept: float = 1.0
    """How far it may exceed the limit because a cache keeps part of the weights from pass to pass."""


def moved(case: Case) -> Implied | None:
    """GB/s that the passes read."""
    told = case.once(pace)
    if told is None or told.passes_per_s is None:
        return None
    read = _read(case)
    if read is None:
        return None
    cache_bytes = case.run.machine.cache_bytes * case.cards
    kept = read.weight_bytes / (read.weight_bytes - cache_bytes) if cache_bytes < read.weight_bytes else float("inf")
    all_bytes = read.weight_bytes + told.at_once * _cache_read(case)
    return Implied(told.passes_per_s * all_bytes / 1e9, read.key, kept)


class Read(NamedTuple):
    """What each pass reads at least, and the sample beside it that tells."""

    weight_bytes: float
    key: str


def _read(case: Case) -> Read | None:
    """The weights that each pass reads: those of the part that runs in it if the run tells its size, else all."""
    counted, loaded = case.beside("parameters"), case.beside("loaded_weights")
    part = number(counted[1].config.get(STEP_PART)) if counted else None
    if loaded is not None and part is None:
        return Read(_share(case) * loaded[1].median * BYTES[loaded[1].unit], loaded[0])
    width = BYTES_PER_WEIGHT.get(case.text("dtype") or case.key.subject.rpartition("-")[2])
    if counted is None or width is None:
        return None
    return Read(width * (part if part is not None else _share(case) * counted[1].median), counted[0])


STEP_PART = "decoder_parameters"
"""What the configuration of `parameters` tells of the part that runs in each step, where others run once a text."""


def _share(case: Case) -> float:
    """Of all weights, what a pass reads: a language model's embedding is its output head as well, others' is not."""
    of_text = case.key.quantity in TEXT or case.beside("parameters_without_embeddings") is not None
    return 1.0 if of_text else thresholds.READ


def computed(case: Case) -> Implied | None:
    """TFLOPS that the tokens take."""
    told = case.once(pace)
    parameters = case.beside("parameters_without_embeddings") if told else None
    if parameters is None or told is None or told.tokens_per_s is None:
        return None
    return Implied(2 * parameters[1].median * told.tokens_per_s / 1e12, parameters[0])


RATES = ("rate", "output_rate", "output_rate_under_load")
PREFILL_RATES = ("prefill_rate", "prefill_rate_at_depth")

PROMPTS = ("prefill_time", "first_token", "first_token_under_load", "short_prompt_kernel_time")
"""Quantities in whose time a prompt passes once."""

PASSES = (
    "step_kernel_time",
    "step_time",
    "buffered_step_time",
    "buffered_step_kernel_time",
    "patch_time",
    "patch_kernel_time",
    "first_audio",
)
"""Quantities in whose time there is at least one pass. A patch of sound is one, some parts of it run several times."""

TOKEN_TIMES = ("token_time", "token_time_under_load", "token_time_with_first", "token_time_with_first_under_load")
"""Times that a request waits for a token, for each of which there is a step, on average."""

COUNTED = {"batch_time": "output", "utterance_time": "patches"}
"""Quantities in whose time there are as many passes as an entry tells."""

TEXT = frozenset((*RATES, *PREFILL_RATES, *PROMPTS, *TOKEN_TIMES, "batch_time"))
"""Quantities that language models alone have."""


def pace(case: Case) -> Pace | None:
    """Tokens and passes a second, from the quantities that tell them."""
    quantity, median = case.key.quantity, case.sample.median
    if quantity in RATES:
        return _decoding(case, median)
    if quantity in PREFILL_RATES:
        tokens = _prompt(case)
        return Pace(median, median / tokens if tokens else None)
    if case.sample.unit not in SECONDS or median <= 0:
        return None
    per_s = 1 / (median * SECONDS[case.sample.unit])
    if quantity in PROMPTS:
        tokens = _prompt(case)
        return Pace(tokens * per_s if tokens else None, per_s)
    passes = _passes(case)
    return Pace(None, passes * per_s) if passes else None


def _prompt(case: Case) -> float | None:
    return case.number("tokens") or case.number("prompt_tokens")


def _passes(case: Case) -> float | None:
    """Passes in the time that a sample tells, at least."""
    quantity = case.key.quantity
    if quantity in PASSES:
        return 1.0
    if quantity in TOKEN_TIMES:
        return 1 / _per_step(case)
    counted = case.number(COUNTED[quantity]) if quantity in COUNTED else None
    return counted / _per_step(case) if counted is not None and counted > 0 else None


def _per_step(case: Case) -> float:
    """Tokens that a request gains in one step."""
    told = case.number("tokens_per_step")
    return told if told is not None and told > 0 else 1.0


def _decoding(case: Case, rate: float) -> Pace:
    requests, slots = case.number("requests"), case.number("slots")
    at_once = min(requests or 0.0, slots or requests or 0.0)
    per_step = at_once * _per_step(case)
    return Pace(rate, rate / per_step if per_step > 0 else None, at_once)


def _cache_read(case: Case) -> float:
    """Bytes of keys and values a step reads for one request, half-way through its output; 0 where that is not known."""
    prompt, short, long = (case.number(n) for n in ("prompt_tokens", "output_tokens_short", "output_tokens_long"))
    long = long if long is not None else case.number("output_tokens")
    if case.models is None or prompt is None or long is None:
        return 0.0
    try:
        return case.models.kv_bytes(case.key.subject, int(max(prompt + ((short or 0) + long) / 2, 0)))
    except (KeyError, ValueError):
        return 0.0
