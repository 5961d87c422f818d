"""One measurement in a process of its own, so that its crash, its hunger for memory or its engine harms no other.

Started by `measure.runner` as `python -m measure.child`; what to do arrives on the standard input as one line. Samples
go straight to the results file. The end of the input means that the parent is gone: the process then ends too.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path

import msgspec

from measure import processes, registry, store
from measure.keys import parse_key
from measure.results import Machine, ResultsError
from measure.session import Session

RECORDED = 3
"""Exit code: it failed, and the failures are in the results file."""
UNSAVED = 4
"""Exit code: the results file cannot be written; the last line of the output says why."""


class Order(msgspec.Struct, frozen=True):
    """What a child is told."""

    package: str
    name: str
    keys: list[str]
    results: str
    run_id: str
    machine: Machine
    quick: bool
    options: dict[str, str]

    def session(self, packages: tuple[str, ...]) -> Session:
        return Session(Path(self.results), self.run_id, self.machine, self.quick, self.options, packages)


def main() -> int:
    """Carry out the order on the standard input; returns the exit code."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _volunteer()
    try:
        return _obey(order)
    except ResultsError as error:
        print(error, file=sys.stderr, flush=True)
        return UNSAVED


def _obey(order: Order) -> int:
    session = order.session(())
    try:
        measurement = registry.get(order.name, order.package)
        session = order.session(measurement.needs)
        measurement.measure(session)
    except ResultsError:
        raise
    except BaseException as error:
        traceback.print_exc()
        reason, detail = classify(error)
        _fail_rest(session, order, reason, detail)
        return RECORDED
    return 0


def _fail_rest(session: Session, order: Order, reason: str, detail: str) -> None:
    """Whatever has neither a sample nor a reason of its own gets this one."""
    run = store.load(session.results).run(session.run_id)
    for text in order.keys:
        if run is None or not (text in run.samples or text in run.failures):
            session.fail(parse_key(text), reason, detail)


def classify(error: BaseException) -> tuple[str, str]:
    """Reason code and detail of an exception that ended a measurement."""
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _tells_of_memory(str(error)):
        return "out_of_memory", detail
    if isinstance(error, ImportError):
        return "engine_missing", detail
    if isinstance(error, NotImplementedError):
        return "unsupported", detail
    return ("interrupted" if isinstance(error, KeyboardInterrupt) else "crashed"), detail


def _tells_of_memory(text: str) -> bool:
    """Torch's allocators and engines without an exception of their own tell it in words."""
    return any(words in text.lower() for words in ("out of memory", "can't allocate memory", "cannot allocate memory"))


def _volunteer() -> None:
    """Where memory runs out all at once, let the system end this process first, and with it none that others need."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _end_with_parent() -> None:
    """Wait for the input's end, then take everything that this measurement started along.

    Reads the descriptor, not sys.stdin, whose lock would block the end of the process.
    """
    while os.read(0, 1):
        pass
    processes.kill(os.environ.get(processes.VARIABLE, ""))
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
