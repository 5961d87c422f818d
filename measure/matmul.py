"""Matrix products: the ceiling of everything that computes more than it reads, prefill above all.

Several sizes and types, since one shape is a sample of the ceiling and not the ceiling; the best counts. The data are
normally distributed: zeros take less power and run faster than any model would. Each product starts from a cold cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from measure import device, timing
from measure.card import Watch
from measure.keys import Key, card_of, key, of_card
from measure.session import Session

if TYPE_CHECKING:
    from torch import Tensor

SUMMARY = "matrix products of several sizes and types, on each card"
NEEDS = ("torch",)
OPTIONS = ()

DTYPES = {"cpu": ("fp32", "bf16"), "cuda": ("fp32", "fp16", "bf16", "fp8"), "mps": ("fp32", "fp16", "bf16")}

SIZES = {"cpu": (1024, 2048, 4096), "cuda": (1024, 2048, 4096, 8192), "mps": (1024, 2048, 4096)}

QUICK_SIZES = {"cpu": (1024, 2048), "cuda": (2048, 4096, 8192), "mps": (1024, 2048)}

WARMUPS = {"cpu": 1, "cuda": 5, "mps": 1}

PROBE_SIZE = 512
"""A product of this size tells how long a larger one would take."""

TOLERANCE = 0.05
"""Allowed error in standard deviations of a result; bf16 rounds 4 of them by at most 0.016."""

Product = Callable[[], "Tensor"]


def plan(session: Session) -> list[Key]:
    return [
        key("matmul", "throughput", "", dtype=name, n=n, **of_card(card))
        for card in device.card_numbers(session)
        for name in DTYPES[session.device]
        for n in sizes(name, session)
    ]


def sizes(name: str, session: Session) -> tuple[int, ...]:
    """Sizes to measure of a type: of one that the processor does not multiply in hardware the smallest, or none."""
    wide = (QUICK_SIZES if session.quick else SIZES)[session.device]
    if session.device != "cpu" or name in ("fp32", device.fast_precision("cpu")):
        return wide
    return () if session.quick else wide[:1]


def seconds(session: Session) -> float:
    return 15.0 if session.quick else 60.0 * len(device.card_numbers(session))


def measure(session: Session) -> None:
    """Record TFLOPS (2 n³ floating-point operations a product) of each type and size, one value a repeat."""
    config = device.settle(session.machine)
    wanted = [item for item in plan(session) if session.wanted(item)]
    for card in device.card_numbers(session):
        items = [item for item in wanted if card_of(item) == card]
        if items:
            with device.failing(session, *items), device.on_card(session.device, card):
                _of_card(session, items, config)


def _of_card(session: Session, wanted: list[Key], config: dict[str, str | int]) -> None:
    cold = timing.cold_cache(session.device, session.machine.cache_bytes)
    for name in DTYPES[session.device]:
        items = [item for item in wanted if dict(item.parameters)["dtype"] == name]
        with device.failing(session, *items):
            _of_type(session, name, items, cold, config)


def _of_type(session: Session, name: str, items: list[Key], cold: timing.Work, config: dict[str, str | int]) -> None:
    if not items:
        return
    reason = unsupported(name, session.device)
    if reason:
        return device.fail(session, items, "unsupported", reason)
    probed = _probe(name, session)
    for item in items:
        with device.failing(session, item):
            _of_size(session, item, probed, cold, config)


def _of_size(session: Session, item: Key, probed: float, cold: timing.Work, config: dict[str, str | int]) -> None:
    name, n = dict(item.parameters)["dtype"], int(dict(item.parameters)["n"])
    limit_s, expected_s = (2.0 if session.quick else 10.0), flops(n) / probed
    if expected_s > limit_s:
        return session.fail(item, "too_slow", f"about {expected_s:.0f} s a product, {limit_s:.0f} s allowed")
    watch = Watch(session.device, card_of(item))
    values = [flops(n) / time / 1e12 for time in _times(name, n, session, cold, watch)]
    how = {**config, **_how(name), "probed_tflops": round(probed / 1e12, 4), "warmups": WARMUPS[session.device]}
    session.record(item, "TFLOPS", values, {**how, **watch.config})


def flops(n: int) -> float:
    """Floating-point operations of a product of two n by n matrices; multiply and add are two."""
    return 2.0 * n**3


def unsupported(name: str, where: str) -> str:
    """Why this device or torch cannot multiply the type; empty if it can."""
    import torch

    if name != "fp8":
        return ""
    if where != "cuda" or torch.cuda.get_device_capability() < (8, 9):
        return "fp8 products need compute capability 8.9"
    return "" if hasattr(torch, "_scaled_mm") else "this torch has no scaled product"


def product(name: str, n: int, where: str) -> tuple[Tensor, Tensor, Product]:
    """Two n by n operands, normally distributed, and the work that multiplies them."""
    import torch

    a, b = (torch.randn(n, n, device=where).to(device.dtype(name)) for _ in range(2))
    if name != "fp8":
        out = torch.empty(n, n, dtype=a.dtype, device=where)
        return a, b, lambda: torch.mm(a, b, out=out)
    one, columns = torch.ones((), device=where), b.t().contiguous().t()
    return a, b, lambda: torch._scaled_mm(a, columns, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)


def right(a: Tensor, b: Tensor, result: Tensor) -> bool:
    """Whether the first row's first columns are what exact arithmetic on the same operands gives."""
    columns = min(8, b.shape[1])
    expected = a[:1].cpu().double() @ b.cpu()[:, :columns].double()
    error = (result[:1, :columns].cpu().double() - expected).abs().max()
    return bool(error < TOLERANCE * a.shape[1] ** 0.5)


def _times(name: str, n: int, session: Session, cold: timing.Work, watch: Watch) -> list[float]:
    a, b, work = product(name, n, session.device)
    count, warmups = (20 if session.device == "cuda" else 10), WARMUPS[session.device]
    budget_s = 1.5 if session.quick else 5.0
    times = timing.repeat(
        work, session.device, count=count, budget_s=budget_s, warmups=warmups, before=cold, watch=watch
    )
    if not right(a, b, work()):
        raise ArithmeticError("the product is wrong")
    return times


def _probe(name: str, session: Session) -> float:
    """FLOP/s of a small product."""
    _, _, work = product(name, PROBE_SIZE, session.device)
    return flops(PROBE_SIZE) / min(timing.repeat(work, session.device, count=3, budget_s=1.0))


def _how(name: str) -> dict[str, str | bool]:
    import torch

    how: dict[str, str | bool] = {"operands": "normal", "cache": "cold"}
    if name == "fp32":
        how["fp32_precision"] = torch.get_float32_matmul_precision()
    if name == "fp8":
        how["fast_accumulation"] = True
    return how
