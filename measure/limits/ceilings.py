"""Rules of the roofline: no sample moves or computes more than its machine can, and none should do far less.

Limits are what the run itself measured, else a datasheet's figure, summed over the cards that the sample used. What a
model spread over cards has loaded counts on each of them, so that what all of them hold whole is read by each.

What has no bound here: a part of a step or patch, whose weights no run tells; what is not a time of passes, such as
gaps between chunks of sound, real-time factors, streams that keep up; and what connects cards.
"""

from __future__ import annotations

from measure.limits import implied, thresholds
from measure.limits.case import BYTES, KERNELS, Case, Ceiling, Status, Verdict, is_narrow


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
    moved = case.once(implied.moved)
    return moved and _against(case, moved.value, case.sound.bandwidth, "GB/s", (moved.key,), moved.kept)


def above_compute(case: Case) -> Verdict | None:
    """Each token, read or produced, multiplies and adds once for each parameter outside the embedding, at least."""
    return _used(case, case.sound.compute)


def _used(case: Case, ceiling: Ceiling | None) -> Verdict | None:
    computed = case.once(implied.computed)
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
    pace = case.once(implied.pace)
    return pace is not None and pace.passes_per_s is not None and pace.passes_per_s < 1 / thresholds.HOST_S


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
