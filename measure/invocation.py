"""How the user can call this program and its like from where they are, and how a call begins."""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C stopped."""


def python() -> str:
    """The interpreter that runs: by its path from the current folder if it is below, else `python`."""
    interpreter, folder = Path(sys.executable), Path.cwd()
    below = bool(sys.executable) and interpreter.is_relative_to(folder)
    return shlex.quote(str(interpreter.relative_to(folder))) if below else "python"


def command(module: str, *words: str) -> str:
    """The command that runs a module with these words, to be copied into a shell."""
    return " ".join([python(), "-m", shlex.join([module, *words])])


def install(extra: str) -> str:
    """The command that installs an extra of this project into the environment that runs, in the exact versions."""
    return command("pip", "install", "-c", "constraints/default.txt", "-e", f".[{extra}]")


def loaded(module: str) -> Any:  # noqa: ANN401 (a module)
    """A command line, imported so that Ctrl-C ends its imports as quietly as it ends the rest.

    They take half a second, in which an impatient user would see a traceback.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler:
        return importlib.import_module(module)
    signal.signal(signal.SIGINT, _leave)
    found = importlib.import_module(module)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return found


def _leave(number: int, frame: object) -> None:
    """End at once: an exception would pass through half-made modules, some of which would print it."""
    os._exit(INTERRUPTED)
