"""What runs on a machine of the cluster: it tells what it is, and measures as `python -m measure run` does there.

The measurements' code comes along with the task, so that all machines measure alike; packages and engines are the
machine's own. A measurement goes into a file of its own there, and what is new in it is sent on at once.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from measure import machine as machines
from measure import results, runner, store
from measure.results import Failure, Machine, Results, ResultsError, Run
from measure.runner import Interrupted, Job, Outcome, Step
from measure.session import difference, scrub

PLACE = "results.json"
TICK_S = 0.5


class Order(msgspec.Struct, frozen=True):
    """What a task is told."""

    package: str
    names: tuple[str, ...]
    quick: bool
    options: dict[str, str]
    runs: str = ""
    """Text of a results file: runs that were begun on this machine."""
    run_id: str = ""
    machine: Machine | None = None
    spent_s: float = 0.0
    """What earlier measurements of a quick run took."""

    def job(self, place: Path, run_id: str, machine: Machine) -> Job:
        options = self.options
        return Job(place, run_id, machine, self.names, self.quick, options, self.package, self.spent_s)

    def begun(self) -> Results:
        return results.parse(self.runs.encode()) if self.runs else Results([])


class Answer(msgspec.Struct, frozen=True):
    """What a machine says of itself."""

    machine: Machine | None = None
    missing: tuple[str, ...] = ()
    """Measurements that lack a package there."""
    unfit: tuple[str, ...] = ()
    """Runs that were begun there, and cannot be gone on with."""
    refusal: str = ""
    """Why it cannot be measured."""


class News(msgspec.Struct, frozen=True):
    """What is new of a measurement: samples and failures, and at its end what it printed and how long it took."""

    runs: str = ""
    """Text of a results file with the run, and in it only what is new."""
    output: str = ""
    seconds: float = 0.0
    refusal: str = ""
    """Why the measurement could not be carried out."""


def ask(text: bytes) -> Iterator[bytes]:
    """What this machine is: one Answer."""
    yield msgspec.json.encode(_answer(msgspec.json.decode(text, type=Order)))


def _answer(order: Order) -> Answer:
    try:
        machine = machines.describe(order.options.get("device", ""))
    except ValueError as error:
        return Answer(refusal=str(error))
    jobs = {run.id: order.job(Path(PLACE), run.id, machine) for run in order.begun().runs}
    unfit = tuple(run.id for run in order.begun().runs if runner.unfit(jobs[run.id], run))
    wanted = order.job(Path(PLACE), PLACE, machine).measurements()
    return Answer(machine, tuple(one.name for one in wanted if one.missing), unfit)


def measure(text: bytes) -> Iterator[bytes]:
    """Measure, and yield News: one when it begins, and then whenever there is any."""
    order = msgspec.json.decode(text, type=Order)
    _forget_threads()
    yield msgspec.json.encode(News())
    with tempfile.TemporaryDirectory() as folder:
        relay = _Relay(order, Path(folder) / PLACE)
        relay.start()
        try:
            yield from relay.news()
        finally:  # also where the task is cancelled
            relay.stop()


def _forget_threads() -> None:
    """Where no number of threads is set, Ray sets as many as the task has processors: let the engine choose instead."""
    import ray

    assigned = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
    if os.environ.get("OMP_NUM_THREADS") == str(max(int(assigned), 1)):
        del os.environ["OMP_NUM_THREADS"]


class _Relay(threading.Thread):
    """Carries the job out beside the task's own thread, and is the watcher that passes on what is new."""

    def __init__(self, order: Order, place: Path) -> None:
        super().__init__(daemon=True)
        self.order, self.place = order, place
        self.waiting: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.stamp = 0
        self.samples: set[str] = set()
        self.failures: dict[str, Failure] = {}

    def news(self) -> Iterator[bytes]:
        """All news until the job has ended; waits in short turns, in which the task can be cancelled."""
        while True:
            try:
                news = self.waiting.get(timeout=TICK_S)
            except queue.Empty:
                continue
            if news is None:
                return
            yield msgspec.json.encode(news)

    def stop(self) -> None:
        self.stopping.set()
        self.join()

    def run(self) -> None:
        try:
            self._measure()
        except Interrupted:
            pass
        except ResultsError as error:
            self.waiting.put(News(refusal=scrub(str(error))))
        except Exception as error:
            self.waiting.put(News(refusal=type(error).__name__))
        finally:
            self.waiting.put(None)

    def _measure(self) -> None:
        machine = machines.describe(self.order.options.get("device", ""))
        asked = self.order.machine or machine
        if machine != asked:
            told = difference(asked, machine)
            raise ResultsError(f"the machine is not the same to a task that measures: {told}")
        begun = self.order.begun()
        if begun.runs:
            store.save(begun, self.place)
            self.samples, self.failures = set(begun.runs[0].samples), begun.runs[0].failures
        runner.run(self.order.job(self.place, self.order.run_id, machine), self)

    def begin(self, steps: Sequence[Step]) -> None:
        """As a watcher: nothing is new yet."""

    def tick(self, step: Step, done: int, elapsed_s: float) -> None:
        """Pass on what is new; end the job where the task was cancelled, as Ctrl-C would."""
        if self.stopping.is_set():
            raise KeyboardInterrupt
        self._pass_on(News())

    def end(self, outcome: Outcome) -> None:
        self._pass_on(News(output=outcome.output, seconds=outcome.seconds))

    def _pass_on(self, news: News) -> None:
        fresh = self._fresh()
        text = results.dump(Results([fresh])) if fresh else ""
        if text or news.seconds:
            self.waiting.put(msgspec.structs.replace(news, runs=text))

    def _fresh(self) -> Run | None:
        """The run with what it did not have before; None if there is nothing."""
        if not self.place.exists() or self.place.stat().st_mtime_ns == self.stamp:
            return None
        self.stamp = self.place.stat().st_mtime_ns
        run = store.load(self.place).runs[0]
        samples = {text: sample for text, sample in run.samples.items() if text not in self.samples}
        failures = _new(run.failures, self.failures)
        self.samples, self.failures = set(run.samples), run.failures
        return msgspec.structs.replace(run, samples=samples, failures=failures) if samples or failures else None


def _new(now: Mapping[str, Failure], before: Mapping[str, Failure]) -> dict[str, Failure]:
    return {text: failure for text, failure in now.items() if before.get(text) != failure}
