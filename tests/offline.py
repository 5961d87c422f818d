"""Programs without a network: in a namespace that has none, or else with a Python that opens no connection."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

GUARD = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"):
        raise OSError(f"no network here: {event} {arguments[1:]}")

sys.addaudithook(refuse)
"""
"""What every Python started with it does first."""


@functools.cache
def namespace() -> tuple[str, ...]:
    """The words before a command that cut its network off; none where the system lets nobody do that."""
    for words in (("unshare", "-n"), ("unshare", "-rn")):
        try:
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
        except FileNotFoundError:
            break
    return ()


def offline(
    command: list[str], folder: Path, *, guarded: bool | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Runs a command without network.

    Args:
        folder: where the guard may be kept, outside of what is under test.
        guarded: by the guard rather than by a namespace; by default where there is no namespace.
    """
    guarded = not namespace() if guarded is None else guarded
    given = {**os.environ, **environment}
    if guarded:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
        given["PYTHONPATH"] = os.pathsep.join([str(folder), given.get("PYTHONPATH", "")])
    words = command if guarded else [*namespace(), *command]
    return subprocess.run(words, env=given, capture_output=True, encoding="utf-8", check=False)
