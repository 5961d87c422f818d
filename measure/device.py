"""The device that measures, as torch sees it: its free memory, its threads, its fast types, and what its errors mean.

Importing this module does not import torch.
"""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from measure.child import classify
from measure.keys import Key
from measure.results import Machine, ResultsError
from measure.session import Session

if TYPE_CHECKING:
    import torch

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp8": "float8_e4m3fn"}
"""torch's name of each precision."""

_BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""x86's two flags in /proc/cpuinfo and ARM's one."""


class NotEnoughMemoryError(Exception):
    """A piece of work that cannot fit this machine; known before it was tried."""


def graphs_refusal(machine: Machine) -> str:
    """Why CUDA graphs cannot be measured on such a machine; empty if they can."""
    return "" if machine.device == "cuda" else "CUDA graphs are NVIDIA's"


def dtype(precision: str) -> torch.dtype:
    """torch's type of a precision such as "bf16"."""
    import torch

    found = getattr(torch, DTYPES[precision])
    assert isinstance(found, torch.dtype)
    return found


def settle(machine: Machine) -> dict[str, str | int]:
    """Make torch use the cores this process may use, no more; returns what a sample's config says of the device.

    torch counts the processor's cores, not a container's share of them; more threads than cores wait for each other.
    A thread that waits sleeps unless OMP_WAIT_POLICY says otherwise: if it span, it would take the core from the very
    thread it waits for wherever the cores are shared. To be called before anything imports torch.
    """
    policy = os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    if machine.cores:
        torch.set_num_threads(min(torch.get_num_threads(), machine.cores))
    return {"device": machine.device, "threads": torch.get_num_threads(), "omp_wait_policy": policy}


def free_bytes(machine: Machine) -> int:
    """Memory of the device that is free now, in bytes; on a machine that hides it, half of its memory."""
    if machine.device == "cuda":
        import torch

        return int(torch.cuda.mem_get_info()[0])
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", _text("/proc/meminfo"), re.MULTILINE)
    return min(int(found[1]) * 1024, machine.memory_bytes) if found else machine.memory_bytes // 2


def on_card(where: str, number: int) -> AbstractContextManager[object]:
    """Inside, "cuda" is the card of this number among those that this process may use."""
    if where != "cuda" or not number:
        return nullcontext()
    import torch

    return torch.cuda.device(number)


def card_numbers(session: Session) -> range:
    """The cards whose ceilings are measured, each by itself: all that this process may use, but one in a quick run."""
    return range(1 if session.quick else max(session.machine.accelerators, 1))


def allocated_bytes(where: str) -> int:
    """Bytes that torch's allocator has given out; 0 on a device that does not tell."""
    import torch

    return int(torch.cuda.memory_allocated()) if where == "cuda" else 0


def release(device: str) -> None:
    """Give memory that nothing refers to any more back to the device."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()


def fast_precision(device: str) -> str:
    """The 16-bit type where the device multiplies it in hardware, else fp32.

    A processor without such instructions converts each number: on a Zen 3 a product took 100 times as long as in fp32.
    """
    if device != "cpu":
        return "bf16"
    flags = set(re.findall(r"\S+", _text("/proc/cpuinfo")))
    return "bf16" if flags & _BF16_FLAGS else "fp32"


@contextmanager
def failing(session: Session, *keys: Key) -> Iterator[None]:
    """Turn an error inside into a recorded failure of each of `keys`, so that what comes after still runs.

    Not so a results file that cannot be written: that ends the measurement.
    """
    try:
        yield
    except ResultsError:
        raise
    except NotEnoughMemoryError as error:
        fail(session, keys, "not_enough_memory", str(error))
    except Exception as error:
        fail(session, keys, *classify(error))


def one_by_one(session: Session, keys: Iterable[Key], measure: Callable[[Key], None]) -> None:
    """Measure each key by itself, record why where it fails, and print what it cost."""
    for key in keys:
        start = time.perf_counter()
        with failing(session, key):
            measure(key)
        print(f"{key}: {time.perf_counter() - start:.1f} s", flush=True)


def fail(session: Session, keys: Sequence[Key], reason: str, detail: str) -> None:
    """Record the same reason for each of `keys`."""
    for key in keys:
        session.fail(key, reason, detail)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
