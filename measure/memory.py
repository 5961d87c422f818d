"""The main memory that is left: a measurement is ended before it runs out and the system ends some other program.

A limit on the process itself would not do: CUDA reserves more addresses than there is memory, and processes that fork
share what each of them seems to hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from measure import machine

RESERVE_SHARE, RESERVE_BYTES = 0.05, 2**30
"""What is to be left: this share of the main memory, and no more than so many bytes."""

MEMINFO = Path("/proc/meminfo")


def available_bytes(meminfo: Path = MEMINFO, groups: Iterable[Path] | None = None) -> float:
    """Bytes that programs can still take without swapping, control groups considered; infinity where nothing tells."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", _text(meminfo), re.MULTILINE)
    left = int(found[1]) * 1024 if found else math.inf
    return min([left, *map(_left_in, machine.control_groups() if groups is None else groups)])


def _left_in(group: Path) -> float:
    """What a control group, of version 2 or 1, still grants: files that it caches can be dropped and do not count."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        granted, taken = _text(group / limit).strip(), _text(group / used).strip()
        if granted.isdigit() and taken.isdigit():
            droppable = re.search(rf"^{cached} (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
            return int(granted) - int(taken) + (int(droppable[1]) if droppable else 0)
    return math.inf


def reserve_bytes() -> float:
    """Below this a measurement has to end; half of what there is now, if others have taken nearly all already."""
    return min(RESERVE_SHARE * (machine.memory_bytes() or math.inf), RESERVE_BYTES, available_bytes() / 2)


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8")
    return ""
