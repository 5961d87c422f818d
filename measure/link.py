"""How the cards of a host are linked: copies from one to the other, and the sum over them that NCCL makes.

A model that is spread over cards adds up its activations twice a layer. For one token these are a few kilobytes, and
what counts is how long a sum takes at all; a long prompt's are megabytes, where the bandwidth counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from measure import device, spread, timing
from measure.card import Watch
from measure.keys import Key, key
from measure.results import Config, Machine
from measure.session import Session

if TYPE_CHECKING:
    from torch import Tensor

SUMMARY = "the link between cards: copies from one to another, and NCCL's all-reduce over all or fewer of them"
NEEDS = ("torch",)
OPTIONS = ()

NAME = "link"

COPY_BYTES = 2**30
"""Of one copy."""

FILLED = 7.0
"""What a copy holds afterwards in each of its numbers."""

COPIES = 4
"""In a row, in each direction, for one value."""

SMALL_BYTES = 8192
"""About what one token's activations take: 4,096 numbers of 16 bits."""

LARGE_BYTES = 2**28

CALLS = {SMALL_BYTES: 100, LARGE_BYTES: 10}
"""All-reduces in a row for one value."""

REPEATS, WARMUPS = 15, 3

LIMIT_S = 120.0
"""How long the processes of one all-reduce may take, their start included: one that waits in vain never ends."""


def plan(session: Session) -> list[Key]:
    copies = [key(NAME, "copy", to=to, ways=ways) for to in _others(session) for ways in (1, 2)]
    small = [key(NAME, "all_reduce_time", bytes=SMALL_BYTES, graphs=graphs) for graphs in ("off", "on")]
    fewer = [key(NAME, "all_reduce_time", bytes=SMALL_BYTES, cards=cards, graphs="on") for cards in _fewer(session)]
    return [*copies, *small, key(NAME, "all_reduce_bandwidth", bytes=LARGE_BYTES), *fewer]


def _others(session: Session) -> range:
    """The cards that the first one is linked with; where there is one card alone, the one that is missing."""
    return range(1, max(session.machine.accelerators, 2))


def _fewer(session: Session) -> list[int]:
    """Numbers of cards below all of them, over which models are spread, too: powers of two."""
    return [2**power for power in range(1, 8) if 2**power < session.machine.accelerators]


def seconds(session: Session) -> float:
    return 45.0 + 10.0 * len(_fewer(session)) if session.machine.accelerators > 1 else 1.0


def refusal(machine: Machine) -> str:
    """Why such a machine cannot be measured; empty if it can."""
    return "" if machine.device == "cuda" and machine.accelerators > 1 else "needs two cards or more"


def measure(session: Session) -> None:
    """Record copies (GB/s, both directions together), small all-reduces (ms each) and large ones (GB/s of the bus)."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    told: Config = {**device.settle(session.machine), "warmups": WARMUPS}
    device.one_by_one(session, wanted, lambda item: _measure(session, item, told))


def _measure(session: Session, item: Key, config: Config) -> None:
    watch = Watch(session.device)
    told = dict(item.parameters)
    watch.begin()
    if item.quantity == "copy":
        values, how = _copies("cuda:0", f"cuda:{told['to']}", int(told["ways"]))
        unit = "GB/s"
    else:
        cards = int(told.get("cards", session.machine.accelerators))
        order = Order(cards, int(told["bytes"]), "cuda", told.get("graphs") == "on")
        values, how = _sums(item.quantity, order)
        unit = "ms" if item.quantity == "all_reduce_time" else "GB/s"
    watch.end()
    session.record(item, unit, values, {**config, **how, **watch.config})


# Copies from card to card


def _copies(here: str, there: str, ways: int) -> tuple[list[float], Config]:
    """GB/s of copies from one device to another, with `ways` 2 in both directions at once; each byte counts once."""
    pairs = [_pair(here, there), _pair(there, here)][:ways]
    queues = [_queues((here, there)) for _ in pairs]
    times = [_copy_seconds(pairs, queues, (here, there)) for _ in range(WARMUPS + REPEATS)][WARMUPS:]
    for _, copied in pairs:
        if not bool((copied == FILLED).all()):
            raise ArithmeticError("a copy does not hold what was copied")
    values = [COPIES * ways * COPY_BYTES / seconds / 1e9 for seconds in times]
    return values, {"buffer_bytes": COPY_BYTES, "copies": COPIES, "cards": 2, "peer_access": _reach(here, there)}


def _pair(here: str, there: str) -> tuple[Tensor, Tensor]:
    """What is copied, and where to, which holds something else yet."""
    import torch

    return torch.full((COPY_BYTES // 4,), FILLED, device=here), torch.zeros(COPY_BYTES // 4, device=there)


def _queues(places: tuple[str, str]) -> list[Any]:
    """A queue on each card for one direction: in a common one the other direction would wait for it."""
    import torch

    return [torch.cuda.Stream(place) for place in places if place.startswith("cuda")]  # type: ignore[no-untyped-call]


def _copy_seconds(pairs: list[tuple[Tensor, Tensor]], queues: list[list[Any]], places: tuple[str, str]) -> float:
    """Seconds of several copies of each pair."""
    import torch

    _wait_for(places)
    start = time.perf_counter()
    for _ in range(COPIES):
        for (source, copied), ours in zip(pairs, queues, strict=True):
            with ExitStack() as stack:
                for queue in ours:
                    stack.enter_context(torch.cuda.stream(queue))
                copied.copy_(source, non_blocking=True)
    _wait_for(places)
    return time.perf_counter() - start


def _wait_for(places: Iterable[str]) -> None:
    import torch

    for place in places:
        if place.startswith("cuda"):
            torch.cuda.synchronize(place)


def _reach(here: str, there: str) -> bool:
    """Whether one card reads the other's memory by itself, or the host has to carry it."""
    import torch

    return here.startswith("cuda") and bool(torch.cuda.can_device_access_peer(here, there))


# Sums over all cards


class Order(NamedTuple):
    """What each of the processes of one all-reduce is to do, one process a card."""

    cards: int
    bytes: int
    where: str
    """cuda (through NCCL) or cpu (through gloo)."""
    graphs: bool
    """Whether the calls are captured once and replayed, as an engine does with its steps."""
    calls: int = 0

    @property
    def backend(self) -> str:
        return "nccl" if self.where == "cuda" else "gloo"


def _sums(quantity: str, order: Order) -> tuple[list[float], Config]:
    """Milliseconds of an all-reduce, or the GB/s at which its bytes pass each card's link."""
    order = order._replace(calls=CALLS[order.bytes])
    off = spread.without_multicast(order.cards)
    times = all_reduce(order)
    told: Config = {"cards": order.cards, "calls": order.calls, "backend": order.backend, "dtype": "bf16", **off}
    if quantity == "all_reduce_time":
        return [1e3 * seconds for seconds in times], told
    return [bus_bytes(order.bytes, order.cards) / seconds / 1e9 for seconds in times], told


def bus_bytes(size: int, cards: int) -> float:
    """Bytes that pass each card's link in an all-reduce of `size` bytes, at the least: 2 (n - 1) / n times as many.

    Source: nccl-tests, doc/PERFORMANCE.md, "bus bandwidth" of AllReduce.
    """
    return size * 2 * (cards - 1) / cards


def all_reduce(
    order: Order, limit_s: float = LIMIT_S, work: Callable[[int, Order, str], None] | None = None
) -> list[float]:
    """Seconds of one all-reduce as the first process times it, one value a repeat.

    Raises TimeoutError once the limit is over, all processes then being ended, and whatever one of them raised.
    """
    from torch.multiprocessing.spawn import spawn

    with tempfile.TemporaryDirectory() as folder:
        started: Any = spawn(work or _take_part, (order, folder), order.cards, join=False)  # type: ignore[no-untyped-call]
        end = time.monotonic() + limit_s
        try:
            while not started.join(timeout=1.0):
                if time.monotonic() > end:
                    raise TimeoutError(f"{order.cards} processes made no all-reduce within {limit_s:.0f} s")
        finally:
            for process in started.processes:
                with suppress(ValueError):
                    process.kill()
        return msgspec.json.decode((Path(folder) / "seconds").read_bytes(), type=list[float])


def _take_part(rank: int, order: Order, folder: str) -> None:
    """One process: the card of its rank, and the same calls as all others."""
    import torch
    from torch import distributed

    if order.where == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        order.backend,
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=order.cards,
        timeout=timedelta(seconds=LIMIT_S / 2),
    )
    try:
        times = _timed_sums(order)
        if rank == 0:
            (Path(folder) / "seconds").write_bytes(msgspec.json.encode(times))
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def _timed_sums(order: Order) -> list[float]:
    """Seconds of one call, from calls in a row, between moments at which all cards are idle."""
    import torch
    from torch import distributed

    numbers = torch.ones(order.bytes // 2, dtype=torch.bfloat16, device=order.where)
    distributed.all_reduce(numbers)
    if not bool((numbers == order.cards).all()):
        raise ArithmeticError("the sum over the cards is wrong")
    fresh = torch.randn(order.bytes // 2, device=order.where).to(torch.bfloat16)
    run = _captured(numbers, order.calls) if order.graphs else _in_a_row(numbers, order.calls)
    times = []
    for _ in range(WARMUPS + REPEATS):
        numbers.copy_(fresh)  # sums of sums would grow beyond all numbers
        distributed.barrier()
        times.append(timing.wall_seconds(run, order.where) / order.calls)
    return times[WARMUPS:]


def _in_a_row(numbers: Tensor, calls: int) -> timing.Work:
    from torch import distributed

    def run() -> None:
        for _ in range(calls):
            distributed.all_reduce(numbers)

    return run


def _captured(numbers: Tensor, calls: int) -> timing.Work:
    """The calls as one CUDA graph."""
    import torch

    run, graph = _in_a_row(numbers, calls), torch.cuda.CUDAGraph()
    run()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        run()
    return graph.replay
