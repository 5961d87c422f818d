"""Kills a job while it measures and saves, at random moments, and looks each time at what is left in the results file.

A program of its own, as it forks: `python tests/kills.py FOLDER SEED TIMES` prints what it saw, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from measure import runner, store
from measure.results import Machine, Report, Results, Run
from measure.runner import Job

STARTING_S, SAVING_S = 0.25, 0.03
"""Two of five kills come within so many seconds of the job's start, the others within so many of a saved sample."""

OTHER = Run("source", "reported", Machine("another", "cpu"), "2026-10-06", {"bandwidth/sum": Report("GB/s", 1.0, "a")})
NEVER = "counter/rate?requests=41"


class Told:
    """A watcher that writes down how many samples it was told of."""

    def __init__(self, place: Path):
        self.place = place

    def begin(self, steps):
        self.whole = len(steps[0].keys)

    def tick(self, step, done, elapsed_s):
        self.place.write_text(str(self.whole - len(step.wanted) + done))

    def end(self, outcome):
        pass


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def gone(pids: list[int]) -> bool:
    """Whether processes have ended within ten seconds."""
    end = time.monotonic() + 10
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.005)
    return not left


def wait(file: Path, of: random.Random) -> None:
    """Until a random moment of a job that was just started."""
    if of.random() < 0.4:
        time.sleep(of.uniform(0, STARTING_S))
        return
    end, before = time.monotonic() + 20, size(file)
    while size(file) == before:
        assert time.monotonic() < end, "nothing was measured"
        time.sleep(0.002)
    time.sleep(of.uniform(0, SAVING_S))


def size(file: Path) -> int:
    """Grows with each sample that is finished."""
    with suppress(FileNotFoundError):
        return file.with_name("finished").stat().st_size
    return 0


def kill(file: Path, of: random.Random) -> str:
    """Start the job and kill it or its measurement at a random moment; returns which."""
    job = Job(file, "here", Machine("a small machine", "cpu"), ("counter",), package="endless")
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            runner.run(job, Told(file.with_name("told")))
        os._exit(0)
    wait(file, of)
    started = children(pid)
    victim = of.choice([pid, *started])
    os.kill(victim, signal.SIGKILL)
    assert gone(started), "a process of a killed job goes on"
    os.waitpid(pid, 0)
    return "job" if victim == pid else "measurement"


def look(file: Path, killed: str) -> dict[str, int]:
    """What is left after a kill: valid, and all that was told as finished; raises AssertionError if not."""
    data = store.load(file)
    run = data.run("here")
    assert data.run("source") == OTHER, "the other run is not whole"
    samples = run.samples if run else {}
    finished: dict[str, int] = {}
    with suppress(FileNotFoundError):
        lines = file.with_name("finished").read_text().splitlines()
        finished = {key: int(number) for key, number in map(str.split, lines)}
    for key, number in finished.items():
        assert key in samples and samples[key].values[0] >= number, f"{key} was finished with {number}"
    with suppress(FileNotFoundError, ValueError):
        assert len(samples) >= int(file.with_name("told").read_text()), "more was told than there is"
    if killed == "measurement":
        assert run.failures[NEVER].reason == "out_of_memory", "the job does not know that its measurement was killed"
    return finished


def main(folder: Path, seed: int, times: int) -> None:
    of = random.Random(seed)
    runner.GRACE_S = 0.2
    file = folder / "results.json"
    store.save(Results([OTHER]), file)
    seen = {"job": 0, "measurement": 0, "unfinished": 0}
    for _ in range(times):
        killed = kill(file, of)
        seen[killed] += 1
        seen["unfinished"] += len(list(folder.glob(".results.json.*.unfinished")))
        finished = look(file, killed)
    print(json.dumps({**seen, "finished": max(finished.values(), default=0)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
