"""Memory bandwidth: the ceiling of everything that reads more than it computes, decoding above all.

The kernels are those of BabelStream (sum stands for its dot: reading alone), through torch, which is what an engine in
Python would use. The best of them is the ceiling, since no single one is the fastest everywhere. As there, results are
checked before a rate is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from measure import device, timing
from measure.card import Watch
from measure.keys import Key, card_of, key, of_card
from measure.session import Session

if TYPE_CHECKING:
    from torch import Tensor

SUMMARY = "memory bandwidth of each card: sum, copy and triad over arrays far larger than the cache"
NEEDS = ("torch",)
OPTIONS = ()

BLOCK = 2**20
"""Numbers in the random block that fills the arrays over and over, so that every result is known exactly."""

BUFFER_BYTES = {"cpu": 2**30, "cuda": 8 * 2**30, "mps": 2**30}
"""Size of one array. HBM shows its rate only from several GiB on: an H200 gave 8% less with 1 GiB than with 8."""

CACHES = 8
"""An array is this many times the last-level cache at least where memory allows, and never under `FEWEST_CACHES`."""

FEWEST_CACHES = 4

WARMUPS = 2

MEMORY_SHARE = 5
"""Three arrays, the comparison of one, and room for others: an array takes a fifth of the free memory at most."""


class Kernel(NamedTuple):
    """One loop over the arrays a, b, c, the arrays it moves once, and what must be true after it."""

    arrays: int
    run: Callable[[Tensor, Tensor, Tensor], object]
    holds: Callable[[Tensor, Tensor, Tensor, Tensor], bool]


KERNELS = {
    "sum": Kernel(1, lambda a, b, c: a.sum(), lambda a, b, c, block: _sums(a, block)),
    "copy": Kernel(2, lambda a, b, c: c.copy_(a), lambda a, b, c, block: _repeats(c, block)),
    "triad": Kernel(3, lambda a, b, c: _triad(a, b, c), lambda a, b, c, block: _repeats(c, 4 * block)),
}
"""sum = Σ a; copy: c = a; triad: c = a + 3 b, where a and b hold the same numbers."""


def plan(session: Session) -> list[Key]:
    return [key("bandwidth", name, "", **of_card(card)) for card in device.card_numbers(session) for name in KERNELS]


def seconds(session: Session) -> float:
    return 12.0 if session.quick else 25.0 * len(device.card_numbers(session))


def measure(session: Session) -> None:
    """Record GB/s of each kernel: bytes read and written over the device's time, one value a repeat."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    config: dict[str, str | int] = {**device.settle(session.machine), "dtype": "fp32", "warmups": WARMUPS}
    for card in device.card_numbers(session):
        _of_card(session, card, [item for item in wanted if card_of(item) == card], config)


def _of_card(session: Session, card: int, wanted: list[Key], config: dict[str, str | int]) -> None:
    if not wanted:
        return
    with device.failing(session, *wanted), device.on_card(session.device, card):
        size = buffer_bytes(session)
        arrays, block = _arrays(session.device, size)
        for item in wanted:
            with device.failing(session, item):
                watch = Watch(session.device, card)
                values = _rates(KERNELS[item.quantity], arrays, block, session, watch)
                session.record(item, "GB/s", values, {**config, "buffer_bytes": size, **watch.config})


def buffer_bytes(session: Session) -> int:
    """Bytes of one array, a whole number of blocks. Raises NotEnoughMemoryError where it would come near the cache."""
    cache = session.machine.cache_bytes
    wished = max(BUFFER_BYTES[session.device] // (2 if session.quick else 1), CACHES * cache)
    size = min(wished, device.free_bytes(session.machine) // MEMORY_SHARE) // (4 * BLOCK) * 4 * BLOCK
    if size < max(FEWEST_CACHES * cache, 4 * BLOCK):
        raise device.NotEnoughMemoryError(f"{size / 2**20:.0f} MiB an array, cache {cache / 2**20:.0f} MiB")
    return size


def _arrays(where: str, size: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Three fp32 arrays of `size` bytes and the block of whole numbers (1 to 100) that repeats in the first two."""
    import torch

    block = torch.randint(1, 101, (BLOCK,), device=where, dtype=torch.float32)
    a, b, c = (torch.empty(size // 4, dtype=torch.float32, device=where) for _ in range(3))
    for array in (a, b):
        array.view(-1, BLOCK).copy_(block)
    return (a, b, c.zero_()), block


def _rates(
    kernel: Kernel, arrays: tuple[Tensor, Tensor, Tensor], block: Tensor, session: Session, watch: Watch
) -> list[float]:
    budget_s = 2.0 if session.quick else 5.0
    times = timing.repeat(
        lambda: kernel.run(*arrays), session.device, count=20, budget_s=budget_s, warmups=WARMUPS, watch=watch
    )
    if not kernel.holds(*arrays, block):
        raise ArithmeticError("the arrays do not hold what the kernel should have left there")
    return [kernel.arrays * arrays[0].nbytes / time / 1e9 for time in times]


def _triad(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    import torch

    return torch.add(a, b, alpha=3.0, out=c)


def _sums(a: Tensor, block: Tensor) -> bool:
    """Whether the sum is right to 1 in 10,000, which a sum over half of the array is not."""
    expected = float(block.cpu().double().sum()) * (a.numel() // BLOCK)
    return abs(float(a.sum()) / expected - 1) < 1e-4


def _repeats(c: Tensor, block: Tensor) -> bool:
    return bool((c.view(-1, BLOCK) == block).all())
