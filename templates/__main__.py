"""`python -m templates`: the command line, which Ctrl-C ends quietly."""

from __future__ import annotations

import sys

from measure import invocation


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        code: int = invocation.loaded("templates.cli").main()
    except KeyboardInterrupt:
        print("Stopped. Pages are written whole; the same command goes on.", file=sys.stderr)
        return invocation.INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main())
