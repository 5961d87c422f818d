"""What a device's kernels do while some work runs: when any runs at all, and on what kind of work the time goes.

Seen through torch's profiler, which on NVIDIA cards reads CUPTI: it sees the kernels of the whole process, those of an
engine that does not use torch too, and those inside a replayed graph one by one. Once it was loaded it stays, and each
launch of a kernel takes longer: what is timed afterwards in the same process comes out too slow.
"""

from __future__ import annotations

import contextlib
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from measure.results import Config

TRACED_STEPS = 32
"""Decoding steps whose kernels are traced at a time."""

TRACES = 5
"""Repeats of a trace."""

KINDS = {
    "attention": r"flash|attn|attention|fmha|softmax|soft_max",
    "matmul": r"gemm|gemv|matmul|mul_mat|cutlass|nvjet|cublas|splitk|xmma",
    "copy": r"^memcpy|^memset",
    "exchange": r"nccl|cross_device|all_?reduce|all_?gather",
}
"""Kinds of work, and what the names of their kernels have in them; the first that fits counts, else it is `other`."""

QUANTITIES = ("step_kernel_time", "short_prompt_kernel_time", "buffered_step_kernel_time", "patch_kernel_time")
"""Quantities that are seen through the profiler: measured after all that is timed without it."""

_WORKING = ("kernel", "gpu_memcpy", "gpu_memset")
"""Kineto's activities in which the device works; waits and annotations are not among them."""

_SHOWN = 60
"""Letters of a kernel's name that are kept: templates make names of thousands."""


class Trace(NamedTuple):
    """A piece of work as its kernels saw it. Seconds."""

    busy_s: float
    """In which at least one kernel or copy ran."""
    launched: int
    """Kernels and copies."""
    by_name: dict[str, float]
    """Seconds of each, by its whole name; kernels that run side by side count both."""

    def kind_s(self, kind: str) -> float:
        """Seconds in kernels of one of `KINDS`, or of "other"."""
        return sum(seconds for name, seconds in self.by_name.items() if kind_of(name) == kind)


Traced = Callable[[int, int], Trace]
"""Traces the generation of so many tokens, or patches of sound (second), after a prompt of so many tokens (first)."""


def kind_of(name: str) -> str:
    """The kind of work that a kernel's name tells of."""
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, name, re.IGNORECASE)), "other")


_loaded = False


def loaded() -> bool:
    """Whether this process has started the profiler, which slows its launches from then on."""
    return _loaded


def start() -> Any:  # noqa: ANN401  # torch's profiler, which importing this module must not import
    """Begin to trace this process; to be given to `stop`."""
    from torch.profiler import ProfilerActivity, profile

    global _loaded
    _loaded = True
    profiler = profile(activities=[ProfilerActivity.CUDA])
    profiler.start()
    return profiler


def stop(profiler: Any) -> Trace:  # noqa: ANN401
    """End a trace once the device is idle."""
    import torch

    torch.cuda.synchronize()
    profiler.stop()
    return gather(profiler.profiler.kineto_results.events())


def trace(work: Callable[[], object]) -> Trace:
    """Trace a piece of work of this process."""
    import torch

    torch.cuda.synchronize()
    profiler = start()
    work()
    return stop(profiler)


def gather(events: Iterable[Any]) -> Trace:
    """The trace that kineto's events make."""
    spans, seconds = [], Counter[str]()
    for event in events:
        if _works(event):
            spans.append((event.start_ns(), event.start_ns() + event.duration_ns()))
            seconds[event.name()] += event.duration_ns() / 1e9
    return Trace(covered(spans) / 1e9, len(spans), dict(seconds))


def _works(event: Any) -> bool:  # noqa: ANN401
    with contextlib.suppress(AttributeError):  # torch before 2.12 does not tell the activity
        return str(event.activity_type()) in _WORKING
    annotation = getattr(event, "is_user_annotation", lambda: False)()
    on_card = str(event.device_type()).endswith("CUDA")
    return on_card and not annotation and not re.search(r"\bSync\b|Wait Event", event.name())


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of intervals: time in which two kernels run at once counts once."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(last - max(first, end), 0.0)
        end = max(end, last)
    return total


def step_times(
    traced: Traced, prompt_tokens: int, steps: int = TRACED_STEPS, traces: int = TRACES
) -> tuple[list[float], Config]:
    """Milliseconds of kernels in one decoding step, one value a trace, and what they were spent on.

    A step is what `steps` more tokens take more, so that the prompt's kernels drop out.
    """
    traced(prompt_tokens, 2)  # starting the profiler for the first time takes seconds
    pairs = [(traced(prompt_tokens, 1), traced(prompt_tokens, 1 + steps)) for _ in range(traces)]
    told: Config = {
        "prompt_tokens": prompt_tokens,
        "traced_steps": steps,
        "kernels_per_step": round(statistics.median(long.launched - short.launched for short, long in pairs) / steps),
        "kernels": names(pairs[-1][1]),
    }
    for kind in (*KINDS, "other"):
        told[f"{kind}_ms"] = statistics.median(_ms_a_step(s.kind_s(kind), n.kind_s(kind), steps) for s, n in pairs)
    told |= _least_of_exchange(pairs, steps)
    return _seen([_ms_a_step(short.busy_s, long.busy_s, steps) for short, long in pairs]), told


def _least_of_exchange(pairs: list[tuple[Trace, Trace]], steps: int) -> Config:
    """Milliseconds of one step in which kernels exchange data between cards, and in which any run, at the least.

    What waits for another card runs as a kernel, too, now in the shorter generation and now in the longer one: the
    least of each is taken by itself, so that such waits are neither told nor subtracted. Nothing of one card.
    """

    def least(of: Callable[[Trace], float]) -> float:
        short, long = (min(map(of, traces)) for traces in zip(*pairs, strict=True))
        return _ms_a_step(short, long, steps)

    exchange, busy = least(lambda trace: trace.kind_s("exchange")), least(lambda trace: trace.busy_s)
    return {"exchange_least_ms": exchange, "kernels_least_ms": busy} if exchange > 0 else {}


def attention_ms(traced: Traced, prompt_tokens: int) -> float:
    """Milliseconds of attention kernels in one decoding step after so long a prompt."""
    short, long = traced(prompt_tokens, 1), traced(prompt_tokens, 1 + TRACED_STEPS)
    return _ms_a_step(short.kind_s("attention"), long.kind_s("attention"), TRACED_STEPS)


def _ms_a_step(short_s: float, long_s: float, steps: int) -> float:
    return 1e3 * (long_s - short_s) / steps


def prompt_times(traced: Traced, prompt_tokens: int) -> tuple[list[float], Config]:
    """Milliseconds of kernels in which a prompt gives its first token, one value a trace, and which they were."""
    traced(prompt_tokens, 1)
    found = [traced(prompt_tokens, 1) for _ in range(TRACES)]
    told: Config = {
        "prompt_tokens": prompt_tokens,
        "kernels_per_prompt": found[-1].launched,
        "kernels": names(found[-1]),
    }
    return _seen([1e3 * one.busy_s for one in found]), told


def _seen(values: list[float]) -> list[float]:
    """The same values. Raises ArithmeticError where the profiler saw nothing of the work."""
    if min(values) <= 0:
        raise ArithmeticError("the profiler saw no kernels")
    return values


def names(found: Trace, most: int = 3) -> str:
    """The kernels that take the most time, and their share of it."""
    total = sum(found.by_name.values()) or 1.0
    first = sorted(found.by_name.items(), key=lambda item: -item[1])[:most]
    return "; ".join(f"{seconds / total:.0%} {short(name)}" for name, seconds in first)


def short(name: str) -> str:
    """A kernel's name without return type, arguments and most of its template."""
    plain = re.sub(r"\(anonymous namespace\)::|\([a-z_ ]+\)(?=-?\d)", "", name.removeprefix("void "))
    plain = plain.split("(", 1)[0]
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "..."
