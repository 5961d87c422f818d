"""Records one sample, then does what its option `do` says: each way in which a measurement can end badly."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from measure.results import key

SUMMARY = "one number, then trouble"
NEEDS = ()
OPTIONS = ("do", "seconds")


def plan(session):
    return [key("wild", "rate", requests=1), key("wild", "rate", requests=4)]


def seconds(session):
    return float(session.options.get("seconds", "0.1"))


def measure(session):
    first, second = plan(session)
    if session.wanted(first):
        session.record(first, "tok/s", [5.0], {})
    print("about to misbehave", flush=True)
    TROUBLES[session.options.get("do", "nothing")](session, second)


def fail_itself(session, wanted):
    session.fail(wanted, "not_enough_memory", "needs 80 GiB")


def fall_over(session, wanted):
    raise ValueError(f"cannot open {Path.home()}/model.bin on {os.uname().nodename}")


def run_out_of_memory(session, wanted):
    raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")


def segfault(session, wanted):
    ctypes.string_at(0)


def linger(session, wanted):
    """Hang, with a process of its own that must end too."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(session.results).with_name("pids").write_text(f"{os.getpid()} {other.pid}")
    time.sleep(600)


def ignore_signals(session, wanted):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    linger(session, wanted)


def finish_then_segfault(session, wanted):
    session.record(wanted, "tok/s", [6.0], {})
    segfault(session, wanted)


TROUBLES = {
    "nothing": lambda session, wanted: None,
    "well": lambda session, wanted: session.record(wanted, "tok/s", [6.0], {}),
    "fail": fail_itself,
    "raise": fall_over,
    "memory": run_out_of_memory,
    "lack": lambda session, wanted: __import__("no_such_engine"),
    "unsupported": lambda session, wanted: (_ for _ in ()).throw(NotImplementedError("no bf16")),
    "segfault": segfault,
    "late_segfault": finish_then_segfault,
    "kill": lambda session, wanted: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda session, wanted: os._exit(7),
    "leave": lambda session, wanted: sys.exit("giving up"),
    "hang": linger,
    "deaf": ignore_signals,
    "nonsense": lambda session, wanted: session.record(wanted, "tok/s", [float("nan")], {}),
    "break_file": lambda session, wanted: Path(session.results).write_text("{") and session.wanted(wanted),
}
