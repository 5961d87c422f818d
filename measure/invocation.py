"""How the user can call this program and its like from where they are: what messages and cures name."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def python() -> str:
    """The interpreter that runs: by its path from the current folder if it is below, else `python`."""
    interpreter, folder = Path(sys.executable), Path.cwd()
    below = bool(sys.executable) and interpreter.is_relative_to(folder)
    return shlex.quote(str(interpreter.relative_to(folder))) if below else "python"


def command(module: str, *words: str) -> str:
    """The command that runs a module with these words, to be copied into a shell."""
    return " ".join([python(), "-m", shlex.join([module, *words])])
