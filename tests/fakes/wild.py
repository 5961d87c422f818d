"""Records one sample, then does what its option `do` says: each way in which a measurement can end badly."""

import ctypes
import functools
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from measure import child, runner
from measure.keys import key

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


def leak(session, wanted):
    """64 MiB more each moment, and not for ever, in case nobody ends it."""
    kept = []
    while len(kept) < 100:
        kept.append(b"\x01" * 2**26)
        time.sleep(0.02)


def print_garbage(session, wanted):
    """20 MB of all bytes there are, terminal codes too, on both streams; then the exit code of a failed save."""
    for stream in (1, 2):
        for _ in range(10):
            os.write(stream, bytes(range(256)) * 4096)
        os.write(stream, b"\x1b[2J\x1b]0;title\x07\xff\xfe\x00 garbage")
    os._exit(child.UNSAVED)


def leave_behind(session, wanted, *, daemon=False):
    """A process that goes on after the measurement has ended well; as a daemon it also leaves the group it was in."""
    session.record(wanted, "tok/s", [6.0], {})
    if os.fork():
        return
    if daemon:
        os.setsid()
    if daemon and os.fork():
        os._exit(0)
    Path(session.results).with_name("pids").write_text(f"{os.getpid()} {os.getpid()}")
    time.sleep(600)


def hang_with_a_daemon(session, wanted):
    leave_behind(session, wanted, daemon=True)
    time.sleep(600)


def measure_twice(session, wanted):
    """The process forks by mistake, and both go on measuring and saving."""
    pid = os.fork()
    for number in range(20):
        session.record(wanted, "tok/s", [6.0 + number], {})
    if pid:
        os.waitpid(pid, 0)


def wait_for_an_edit(session, wanted):
    """Go on once somebody has edited the file by hand."""
    before = session.results.read_bytes()
    session.results.with_name("waiting").touch()
    while session.results.read_bytes() == before:
        time.sleep(0.01)
    session.record(wanted, "tok/s", [6.0], {})


def be_overwritten(session, wanted):
    """An editor saves the file as it had loaded it before the last sample."""
    before = session.results.read_bytes()
    session.record(wanted, "tok/s", [6.0], {})
    time.sleep(2 * runner.TICK_S)
    session.results.write_bytes(before)


def fill_the_disk(session, wanted):
    with suppress(OSError), session.results.with_name("filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(1024))
    session.record(wanted, "tok/s", [6.0] * 200, {})


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
    "leak": leak,
    "garbage": print_garbage,
    "leave_behind": leave_behind,
    "daemon": functools.partial(leave_behind, daemon=True),
    "hang_with_a_daemon": hang_with_a_daemon,
    "twice": measure_twice,
    "edit": wait_for_an_edit,
    "overwrite": be_overwritten,
    "fill": fill_the_disk,
    "hang": linger,
    "deaf": ignore_signals,
    "nonsense": lambda session, wanted: session.record(wanted, "tok/s", [float("nan")], {}),
    "break_file": lambda session, wanted: Path(session.results).write_text("{") and session.wanted(wanted),
}
