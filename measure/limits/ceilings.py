"""Rules of the roofline: no sample moves or computes more than its machine can, and none should do far less.

Limits are what the run itself measured, else a datasheet's figure, summed over the cards that the sample used. What a
model spread over cards has loaded counts on each of them, so that what all of them hold whole is read by each.

What has no bound here: a part of a step or patch, whose weights no run tells; what is not a time of passes, such as
gaps between chunks of sound, real-time factors, streams that keep up; and what connects cards.
"""

from __future__ import annotations

from typing import NamedTuple

from measure.limits import thresholds
from measure.limits.case import BYTES, KERNELS, SECONDS, Case, Ceiling, Status, Verdict, is_narrow, number
from measure.models import BYTES_PER_WEIGHT


class Pace(NamedTuple):
    """How fast a sample says a model ran; None for what it does not tell."""

    tokens_per_s: float | None
    passes_per_s: float | None
    """Each pass reads all weights: a step of decoding or of a speech model, a prompt, or a patch of sound."""
    at_once: float = 0.0
    """Requests whose keys and values a pass reads."""


def buffer_in_cache(case: Case) -> Verdict | None:
    """A bandwidth measured on a buffer that fits the last-level cache is the cache's, not the memory's."""
    if case.key.measurement != "bandwidth":
        return None
    buffer, cache = case.number("buffer_bytes"), case.run.machine.cache_bytes
    if buffer is None or not cache:
        return None
    factor = buffer / cache
    status: Status = "rejected" if factor <= 1 else "suspect" if factor < thresholds.CACHE_FACTOR else "accepted"
    return Verdict(status, "", cache / BYTES["MiB"], factor, "MiB", buffer / BYTES["MiB"])


def other_device(case: Case) -> Verdict | None:
    """A sample belongs to its run's machine: another device's limits say nothing of it, nor it of theirs."""
    machine, device, name = case.run.machine, case.text("device"), case.text("device_name")
    if device is None and name is None and case.entry("cards") is None and case.cards_named == 1:
        return None
    foreign = device is not None and device != machine.device
    foreign |= name is not None and name not in machine.name
    if foreign:
        return Verdict("rejected")
    cards = max(case.cards, case.cards_named)
    if machine.accelerators and cards > machine.accelerators:
        return Verdict("rejected", "", machine.accelerators, cards / machine.accelerators, "", cards)
    return Verdict("accepted")


def above_datasheet(case: Case) -> Verdict | None:
    """No kernel and no product is faster than the datasheet of the device that ran it."""
    dtype = dict(case.key.parameters).get("dtype", "")
    if case.key.measurement == "bandwidth" and case.key.quantity in KERNELS:
        return _against(case, case.sample.median, case.sound.best("datasheet", "bandwidth"), "GB/s")
    if case.key.measurement == "matmul" and case.key.quantity == "throughput":
        return _against(case, case.sample.median, case.sound.best("datasheet", "throughput", dtype=dtype), "TFLOPS")
    return None


def above_bandwidth(case: Case) -> Verdict | None:
    """Each pass reads all weights once, and a step of decoding each request's keys and values besides."""
    moved = case.once(_moved)
    return moved and _against(case, moved.value, case.sound.bandwidth, "GB/s", (moved.key,), moved.kept)


def above_compute(case: Case) -> Verdict | None:
    """Each token, read or produced, multiplies and adds once for each parameter outside the embedding, at least."""
    return _used(case, case.sound.compute)


def _used(case: Case, ceiling: Ceiling | None) -> Verdict | None:
    computed = case.once(_computed)
    if ceiling is None or computed is None:
        return None
    # Numbers below 16 bits may have been multiplied faster than any product that was measured.
    narrower = is_narrow(case.key.subject.rpartition("-")[2]) and not ceiling.narrow
    more = thresholds.NARROW if narrower else 1.0
    return _against(case, computed.value, ceiling, "TFLOPS", (computed.key,), more)


def far_below(case: Case) -> Verdict | None:
    """A pass that takes long and still uses little of the card did not run where it was said to."""
    if case.run.machine.device == "cpu":
        return None
    share = above_datasheet(case) if case.key.measurement == "bandwidth" else _best_share(case)
    if share is None or share.factor is None:
        return None
    status: Status = "suspect" if share.factor < thresholds.FAR_BELOW and _is_slow(case) else "accepted"
    return Verdict(status, "", share.limit, share.factor, share.unit, share.value, share.basis)


def _best_share(case: Case) -> Verdict | None:
    """The larger of the shares of bandwidth and arithmetic. None for a prompt, which computes, without the latter."""
    compute = _used(case, case.sound.wide_compute)
    shares = [share for share in (compute, above_bandwidth(case)) if share is not None]
    if not shares or (compute is None and case.key.quantity != "rate"):
        return None
    return max(shares, key=lambda share: share.factor or 0.0)


def _is_slow(case: Case) -> bool:
    """Whether the work takes longer than a host needs to launch it; a kernel of bandwidth counts as such."""
    if case.key.measurement == "bandwidth":
        return True
    pace = case.once(_pace)
    return pace is not None and pace.passes_per_s is not None and pace.passes_per_s < 1 / thresholds.HOST_S


class Implied(NamedTuple):
    """What a sample implies in GB/s or TFLOPS, and the sample beside it that this rests on."""

    value: float
    key: str
    kept: float = 1.0
    """How far it may exceed the limit because a cache keeps part of the weights from pass to pass."""


def _moved(case: Case) -> Implied | None:
    """GB/s that the passes read."""
    pace = case.once(_pace)
    if pace is None or pace.passes_per_s is None:
        return None
    read = _read(case)
    if read is None:
        return None
    cache_bytes = case.run.machine.cache_bytes * case.cards
    kept = read.weight_bytes / (read.weight_bytes - cache_bytes) if cache_bytes < read.weight_bytes else float("inf")
    all_bytes = read.weight_bytes + pace.at_once * _cache_read(case)
    return Implied(pace.passes_per_s * all_bytes / 1e9, read.key, kept)


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


def _computed(case: Case) -> Implied | None:
    """TFLOPS that the tokens take."""
    pace = case.once(_pace)
    parameters = case.beside("parameters_without_embeddings") if pace else None
    if parameters is None or pace is None or pace.tokens_per_s is None:
        return None
    return Implied(2 * parameters[1].median * pace.tokens_per_s / 1e12, parameters[0])


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


def _pace(case: Case) -> Pace | None:
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


def _against(
    case: Case, value: float, ceiling: Ceiling | None, unit: str, basis: tuple[str, ...] = (), more: float = 1.0
) -> Verdict | None:
    """A value against a ceiling summed over the cards that the sample used. `more`: how far it may go beyond."""
    if ceiling is None:
        return None
    limit = ceiling.of(case.cards)
    factor = value / limit
    allowed = (thresholds.ONE_KERNEL if ceiling.alone else thresholds.TOLERANCE) * more
    status: Status = "accepted" if factor <= thresholds.TOLERANCE else "suspect" if factor <= allowed else "rejected"
    if status == "rejected" and value <= ceiling.peak * case.cards * thresholds.TOLERANCE * more:
        status = "suspect"  # the machine did it in a repeat of the ceiling: its median is what is in doubt
    return Verdict(status, "", limit, factor, unit, value, (*basis, ceiling.key))
