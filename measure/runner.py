"""Carries measurements out, one process each: starts, watches, stops them, and records why one gave no result.

Knows nothing of screens: a `Watcher` is told what happens. Every sample is in the results file as soon as it exists, so
this process may be interrupted or killed at any moment, and the next one goes on where it stopped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol

import msgspec

from measure import child, invocation, memory, processes, registry, spread, store, weights
from measure import machine as machines
from measure.keys import Key, key
from measure.registry import Measurement
from measure.results import Failure, Machine, Results, ResultsError, Run
from measure.session import OptionError, Session, command, foreign, maker, now, recorded

QUICK_LIMIT_S = 160.0
"""What all measurements of a quick run may take together; what is left of three minutes is for starting, rendering."""

PATIENCE_FACTOR, PATIENCE_S = 10.0, 120.0
"""A measurement may take so many times its estimate, and so much more, before it counts as hanging."""

GRACE_S = 3.0
"""How long a measurement may take to end when asked to."""

TICK_S = 0.2
GONE = "was measured, but taken out of the file again by another program"
OUTPUT_BYTES = 8192
"""How much of the end of a measurement's output is kept, to be shown if it fails."""


@dataclass(frozen=True)
class Job:
    """Which measurements go into which run, and how."""

    results: Path
    run_id: str
    machine: Machine
    names: tuple[str, ...]
    quick: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    spent_s: float = 0.0
    """Of the time that a quick run may take, what was taken before this job."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """How the user wrote the names of options that have a word of their own, such as --weights."""

    def measurements(self) -> list[Measurement]:
        """Raises ResultsError for a name or an option that does not exist."""
        known = registry.find(self.package)
        for name in self.names:
            if name not in known:
                raise ResultsError(f"measurement {name!r} does not exist. Choose from {', '.join(known)}.")
        chosen = [known[name] for name in dict.fromkeys(self.names)]
        self._check_options(chosen)
        return chosen

    def _check_options(self, measurements: Sequence[Measurement]) -> None:
        for name in self.options:
            if not any(_takes(measurement, name) for measurement in measurements):
                known = sorted({"device", *(option for one in measurements for option in one.options)})
                typed = self.typed.get(name, f"--set {name}")
                raise ResultsError(f"{typed}: no such option. {_takers(name)}Choose from {', '.join(known)}.")

    def check(self) -> None:
        """Refuse a job that asks for what cannot be, also of a measurement whose package is missing.

        Raises ResultsError; nothing was written.
        """
        measurements = self.measurements()
        try:
            weights.check_place(self.options.get("weights", weights.HUB))
        except OptionError as error:
            raise ResultsError(str(error)) from None
        for measurement in measurements:
            self._check_plan(measurement)

    def _check_plan(self, measurement: Measurement) -> None:
        try:
            measurement.plan(self.session(measurement))
        except OptionError as error:
            by_name = invocation.command("measure", "run", "NAME")
            cure = f" Or measure by name what takes it, with `{by_name}`." if len(self.names) > 1 else ""
            raise ResultsError(f"{measurement.name}: {error}{cure}") from None
        except Exception:
            return  # what else a plan says goes into the run, as the reason why nothing was measured

    def session(self, measurement: Measurement) -> Session:
        options = {name: value for name, value in self.options.items() if _takes(measurement, name)}
        return Session(self.results, self.run_id, self.machine, self.quick, options, measurement.needs)


@dataclass(frozen=True)
class Step:
    """One measurement of a job, before it starts."""

    measurement: Measurement
    session: Session
    keys: tuple[Key, ...]
    """All it would record."""
    wanted: tuple[Key, ...]
    """Those the run still lacks."""
    seconds: float
    """Estimate for those."""
    error: str = ""
    """Why it could not even be planned."""


@dataclass(frozen=True)
class Outcome:
    """What became of one measurement."""

    name: str
    measured: tuple[Key, ...] = ()
    kept: tuple[Key, ...] = ()
    """Found in the run, not measured again."""
    failed: Mapping[str, Failure] = field(default_factory=dict)
    output: str = ""
    """The end of what it printed, if it failed."""
    seconds: float = 0.0
    """What it took."""


class Watcher(Protocol):
    """Is told of a job's course."""

    def begin(self, steps: Sequence[Step]) -> None: ...

    def tick(self, step: Step, done: int, elapsed_s: float) -> None:
        """`done` of the step's wanted keys are settled, `elapsed_s` after its start."""

    def end(self, outcome: Outcome) -> None: ...


class Interrupted(Exception):
    """The user stopped the job; what was measured is in the results file."""


def run(job: Job, watcher: Watcher) -> list[Outcome]:
    """Measure what the run lacks. Raises ResultsError for a job that cannot be done, Interrupted on Ctrl-C."""
    measurements = job.measurements()
    with alone(job.results):
        _begin(job)
        steps = [prepare(job, measurement) for measurement in measurements]
        watcher.begin(steps)
        deadline = time.monotonic() + QUICK_LIMIT_S - job.spent_s if job.quick else float("inf")
        try:
            return [_report(_take(step, job, watcher, deadline), watcher) for step in steps]
        except KeyboardInterrupt:
            raise Interrupted from None


def alone(path: Path) -> AbstractContextManager[None]:
    """While nothing else measures into a results file. Raises ResultsError if something does."""
    busy = (
        "another measurement is going on. Wait until it ends: two at once would slow each other down and both be wrong."
    )
    return store.locked(path, "measuring.lock", 0, busy)


def _report(outcome: Outcome, watcher: Watcher) -> Outcome:
    watcher.end(outcome)
    return outcome


def _begin(job: Job) -> None:
    """Make the run if it is new; refuse one that this job must not touch."""
    with store.edit(job.results) as data:
        found = data.run(job.run_id)
        if found is None:
            data.runs.append(Run(job.run_id, "executed", job.machine, now()))
            return
        why = unfit(job, found)
        if why:
            remedy = "" if foreign(found, job.machine) else ", or measure it anew with --again"
            cure = f"Choose another with --run{remedy}."
            raise ResultsError(f"{job.results.name}: run {job.run_id!r}: {why}. {cure}")


def unfit(job: Job, found: Run) -> str:
    """Why a run that exists cannot be gone on with: another machine, configuration or version; empty if it can."""
    why = foreign(found, job.machine)
    if why:
        return why
    for measurement in job.measurements():
        if not measurement.missing:
            why = why or _changed(job, measurement, found)
    return why


def _changed(job: Job, measurement: Measurement, found: Run) -> str:
    session = job.session(measurement)
    again = command(measurement.name, job.run_id, job.quick, session.options)
    present = machines.versions(measurement.needs)
    for text, sample in recorded(found, [measurement.name]).items():
        if not spread.fits(text, session.options):
            continue  # on other cards: it has a key of its own
        if sample.command != again:
            return f"{text} was measured with another configuration (`{sample.command}`, now `{again}`)"
        for package in sorted(present.keys() & sample.versions.keys()):
            if present[package] != sample.versions[package]:
                return f"{text} was measured with {package} {sample.versions[package]}, here is {present[package]}"
    return ""


def elsewhere(job: Job) -> set[str]:
    """Keys of the job's run that its measurements recorded on another number of cards than the job asks for."""
    found = store.load_or_none(job.results).run(job.run_id)
    return {
        text
        for measurement in job.measurements()
        for text in recorded(found, [measurement.name])
        if not spread.fits(text, job.session(measurement).options)
    }


def set_aside(path: Path, run_id: str, names: Sequence[str] | None = None, but: Container[str] = ()) -> Path | None:
    """Take out of a run what the named measurements recorded, or the whole run, to be measured anew.

    Keys in `but` stay.

    Returns the file that keeps the run as it was, or None if there was nothing to take out.
    """
    with store.edit(path) as data:
        found = data.run(run_id)
        doomed = recorded(found, {maker(text) for text in found.samples} if names is None else names) if found else {}
        doomed = {text: sample for text, sample in doomed.items() if text not in but}
        if found is None or (names is not None and not doomed):
            return None
        kept = store.keep_aside(found, path, now())
        if names is None:
            data.runs.remove(found)
        for text in doomed:
            del found.samples[text]
        return kept


def _takers(option: str) -> str:
    """Which measurements take it, as a sentence; nothing where none does."""
    taking = [name for name, measurement in registry.find().items() if option in measurement.options]
    return f"Only {', '.join(taking)} can take it. " if taking else ""


def _takes(measurement: Measurement, option: str) -> bool:
    return option == "device" or option in measurement.options


def prepare(job: Job, measurement: Measurement) -> Step:
    """What a measurement would record, and what of it the job's run still lacks."""
    session = job.session(measurement)
    try:
        keys = tuple(measurement.plan(session))
        seconds = max(measurement.seconds(session), 1.0)
    except ResultsError:
        raise
    except Exception as error:
        unplanned = (key(measurement.name, "plan"),)
        return Step(measurement, session, unplanned, unplanned, 1.0, ": ".join(child.classify(error)[1:]))
    samples = _stored(session)[0]
    wanted = tuple(key for key in keys if str(key) not in samples)
    return Step(measurement, session, keys, wanted, seconds * len(wanted) / max(len(keys), 1))


def _take(step: Step, job: Job, watcher: Watcher, deadline: float) -> Outcome:
    """Carry a step out, or say why not."""
    if not step.wanted:
        return Outcome(step.measurement.name, kept=step.keys)
    clear_failures(step)
    output, begun = "", time.monotonic()
    if step.measurement.missing:
        fail_rest(step, "engine_missing", f"not installed: {', '.join(step.measurement.missing)}")
    elif step.error:
        fail_rest(step, "crashed", step.error)
    elif time.monotonic() >= deadline:
        fail_rest(step, "out_of_time", _budget())
    else:
        output = _Process(step, job, watcher, deadline).run()
    return replace(outcome_of(step, output), seconds=time.monotonic() - begun)


def _budget() -> str:
    return f"a quick run may take {QUICK_LIMIT_S:g} s in all"


def clear_failures(step: Step) -> None:
    """Failures are tried again: what stands there afterwards is of this attempt."""

    def clear(data: Results) -> None:
        found = data.run(step.session.run_id)
        if found is not None:
            found.failures = {text: f for text, f in found.failures.items() if not _tries(step, text)}

    store.amend(step.session.results, clear)


def _tries(step: Step, text: str) -> bool:
    """Whether a key is one of those that this step could record."""
    return maker(text) == step.measurement.name and spread.fits(text, step.session.options)


def _settled(step: Step) -> tuple[Mapping[str, object], Mapping[str, Failure]]:
    """Samples and failures of the step's run, by key."""
    return _stored(step.session)


def _stored(session: Session) -> tuple[Mapping[str, object], Mapping[str, Failure]]:
    found = store.load_or_none(session.results, store.HAND_S).run(session.run_id)
    return (found.samples, found.failures) if found else ({}, {})


def fail_rest(step: Step, reason: str, detail: str, among: Container[str] | None = None) -> None:
    """Give every wanted key, or those among some, a reason if it has neither a sample nor a reason yet."""
    samples, failures = _settled(step)
    for item in step.wanted:
        if str(item) not in samples and str(item) not in failures and (among is None or str(item) in among):
            step.session.fail(item, reason, detail)


def outcome_of(step: Step, output: str) -> Outcome:
    """What the results file says has become of a step."""
    samples, failures = _settled(step)
    failed = {text: failure for text, failure in failures.items() if _tries(step, text)}
    return Outcome(
        step.measurement.name,
        measured=tuple(key for key in step.wanted if str(key) in samples),
        kept=tuple(key for key in step.keys if key not in step.wanted),
        failed=failed,
        output=output if failed else "",
    )


class _Process:
    """The process of one measurement: started, watched, ended."""

    def __init__(self, step: Step, job: Job, watcher: Watcher, deadline: float) -> None:
        self.step, self.watcher = step, watcher
        self.begun = time.monotonic()
        patience = self.begun + PATIENCE_FACTOR * step.seconds + PATIENCE_S
        self.limit = min(patience, deadline)
        self.late = _budget() if deadline < patience else f"no end after {self.limit - self.begun:.0f} s"
        self.order = child.Order(
            package=job.package or registry.PACKAGE,
            name=step.measurement.name,
            keys=[str(key) for key in step.wanted],
            results=str(step.session.results.absolute()),
            run_id=step.session.run_id,
            machine=step.session.machine,
            quick=step.session.quick,
            options=dict(step.session.options),
        )
        self.mark = processes.mark()
        self.tail = bytearray()
        self.stamp = 0
        self.measured: set[str] = set()
        self.done = 0

    def run(self) -> str:
        """Measure, and settle every wanted key; returns the end of the output."""
        process = _start(self.order, self.mark)
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            cut = self._wait(process)
        except KeyboardInterrupt:
            with deaf():
                _stop(process, self.mark)
                fail_rest(self.step, "interrupted", "")
            raise
        finally:
            _stop(process, self.mark)
        reader.join(timeout=1)
        self._settle(process.returncode, cut)
        return self.output

    @property
    def output(self) -> str:
        return bytes(self.tail).decode("utf-8", "replace")

    def _read(self, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            self.tail += chunk
            del self.tail[:-OUTPUT_BYTES]

    def _wait(self, process: subprocess.Popen[bytes]) -> tuple[str, str] | None:
        """Reason and detail for which it has to be ended; None if it ended by itself."""
        reserve = memory.reserve_bytes()
        while time.monotonic() < self.limit:
            self.watcher.tick(self.step, self._count(), time.monotonic() - self.begun)
            with suppress(subprocess.TimeoutExpired):
                process.wait(TICK_S)
                return None
            if memory.available_bytes() < reserve:
                return "out_of_memory", f"ended when less than {reserve / 2**20:.0f} MiB of main memory were left"
        return "timed_out", self.late

    def _count(self) -> int:
        """Wanted keys that are settled; the file is read only when it has changed."""
        with suppress(OSError, ResultsError):  # an editor is at it: the measurement itself will tell if it stays so
            stamp = self.step.session.results.stat().st_mtime_ns
            if stamp != self.stamp:
                samples, failures = _settled(self.step)
                wanted = {str(key) for key in self.step.wanted}
                self.measured |= wanted & samples.keys()
                self.stamp, self.done = stamp, len(wanted & (samples.keys() | failures.keys()))
        return self.done

    def _settle(self, code: int, cut: tuple[str, str] | None) -> None:
        told = self.output.strip().rsplit("\n", 1)[-1]
        if cut is None and code == child.UNSAVED and told.startswith(f"{self.step.session.results.name}: "):
            raise ResultsError(told)
        gone = self.measured - _settled(self.step)[0].keys()
        fail_rest(self.step, "crashed", GONE, gone)
        fail_rest(self.step, *(cut or _verdict(code)))


def _verdict(code: int) -> tuple[str, str]:
    """Reason and detail for what a process that ended with `code` left unsettled."""
    if code == -getattr(signal, "SIGKILL", 9):
        return "out_of_memory", "killed by the system, as it does when memory runs out"
    if code < 0:
        return "crashed", f"ended by signal {_signal_name(-code)}"
    return "crashed", f"exit code {code}" if code else "ended without this result"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _start(order: child.Order, mark: str) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C reaches only the parent, and stopping reaches all that the child has started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "measure.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", processes.VARIABLE: mark},
    )
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
    return process


def _stop(process: subprocess.Popen[bytes], mark: str) -> None:
    """End the process and whatever it started: asked first, forced after GRACE_S."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()
    processes.kill(mark)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


@contextmanager
def deaf() -> Iterator[None]:
    """A second Ctrl-C must not leave a process behind. Only the main thread hears one, so others need no care."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
