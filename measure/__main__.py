"""`python -m measure`: the command line."""

from __future__ import annotations

import sys

from measure import invocation


def main() -> int:
    """Run the command line; returns the exit code."""
    code: int = invocation.loaded("measure.cli").main()
    return code


if __name__ == "__main__":
    sys.exit(main())
