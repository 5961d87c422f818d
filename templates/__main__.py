"""`python -m templates`: the command line, loaded so that Ctrl-C ends its imports as quietly as it ends rendering."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C stopped."""


def main() -> int:
    """Run the command line; returns the exit code."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from templates import cli

    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return cli.main()
    except KeyboardInterrupt:
        print("Stopped. Pages are written whole; the same command goes on.", file=sys.stderr)
        return INTERRUPTED


def _leave(number: int, frame: object) -> None:
    """End at once: an exception would pass through half-made modules, some of which would print it."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
