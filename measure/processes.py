"""The processes that a measurement started: known by a mark in their environment, even if they left its group."""

from __future__ import annotations

import os
import signal
import time
import uuid
from contextlib import suppress
from pathlib import Path

VARIABLE = "MEASUREMENT_MARK"
"""The environment variable that holds the mark; children inherit it."""

PROC = Path("/proc")
PATIENCE_S = 2.0
"""How long processes that were killed may take to go."""


def mark() -> str:
    """A mark that no other process has."""
    return uuid.uuid4().hex


def marked(mark: str, proc: Path = PROC) -> set[int]:
    """The processes with a mark, this one left out; none on systems without /proc."""
    wanted, found = f"{VARIABLE}={mark}".encode(), set()
    for folder in proc.glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    return found - {os.getpid()}


def kill(mark: str) -> None:
    """Kill all with a mark; those too that they start meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while mark and (found := marked(mark)) and time.monotonic() < end:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
