"""What a measurement is given: the machine, the options, and the run its samples go to, saved one by one.

A sample is saved as soon as it exists, so that whatever happens later loses nothing.
"""

from __future__ import annotations

import getpass
import re
import shlex
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from measure import kernels, results, store
from measure import machine as machines
from measure.keys import Key
from measure.results import REASONS, Config, Failure, Machine, Results, ResultsError, Run, Sample

DETAIL_LENGTH = 200


class OptionError(Exception):
    """What an option was given cannot be used; the message says which, why, and what to do.

    Raised by a plan, it ends the whole job before anything is measured or written.
    """


@dataclass(frozen=True)
class Session:
    """One measurement's view of a run."""

    results: Path
    run_id: str
    machine: Machine
    quick: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    """What `--set name=value` gave."""
    packages: tuple[str, ...] = ()
    """Packages whose versions each sample names, by the name they are imported with."""

    @property
    def device(self) -> str:
        """The device that measures: "cpu", "cuda" or "mps"."""
        return self.machine.device

    def wanted(self, key: Key) -> bool:
        """Whether the run still lacks this sample, be it measured or imported."""
        run = self._stored().run(self.run_id)
        return run is None or str(key) not in run.samples

    def load(self, key: Key) -> Sample | None:
        """A sample measured earlier in this run, or None."""
        run = self._stored().run(self.run_id)
        sample = run.samples.get(str(key)) if run else None
        return sample if isinstance(sample, Sample) else None

    def record(
        self, key: Key, unit: str, values: Sequence[float], config: Mapping[str, str | int | float | bool]
    ) -> None:
        """Save a sample at once, in place of a failure of the same key.

        Args:
            values: every repetition in `unit`, warm-ups dropped.
            config: how it was measured; plain text, numbers and truth values.
        Raises ResultsError for a key, unit or number that the file would not take, or if it cannot be saved.
        """
        where = f"{self.results.name}: run {self.run_id!r}: {key}"
        sample = Sample(
            unit=unit,
            values=thin([float(value) for value in values]),
            at=now(),
            command=command(key.measurement, self.run_id, self.quick, self.options),
            config=_kept({**config, **_told(key)}),
            versions=self._versions(),
            total=len(values) if len(values) > results.KEPT_VALUES else 0,
        )
        results.check_key(str(key), where)
        results.check(sample, key, where)

        def put(data: Results) -> None:
            run = self._run(data)
            run.samples[str(key)] = sample
            run.failures.pop(str(key), None)

        store.amend(self.results, put)

    def fail(self, key: Key, reason: str, detail: str = "") -> None:
        """Save why a key has no sample; `reason` is one of `results.REASONS`. Does nothing if there is a sample."""
        if reason not in REASONS:
            raise ValueError(f"reason {reason!r} is not one of {', '.join(REASONS)}")
        results.check_key(str(key), f"{self.results.name}: run {self.run_id!r}: {key}")
        failure = Failure(reason, now(), scrub(detail))

        def put(data: Results) -> None:
            run = self._run(data)
            if str(key) not in run.samples:
                run.failures[str(key)] = failure

        store.amend(self.results, put)

    def _stored(self) -> Results:
        return store.load_or_none(self.results, store.HAND_S)

    def _run(self, data: Results) -> Run:
        run = data.run(self.run_id)
        if run is None:
            run = Run(self.run_id, "executed", self.machine, now())
            data.runs.append(run)
        refusal = foreign(run, self.machine)
        if refusal:
            raise ResultsError(f"{self.results.name}: run {self.run_id!r}: {refusal}. Choose another with --run.")
        return run

    def _versions(self) -> dict[str, str]:
        found = machines.versions(self.packages)
        toolkit = getattr(getattr(sys.modules.get("torch"), "version", None), "cuda", None)
        return {**found, "cuda": str(toolkit)} if toolkit else found


def _told(key: Key) -> Config:
    """What a sample's configuration says of its process."""
    return {"profiler_loaded": True} if kernels.loaded() and key.quantity not in kernels.QUANTITIES else {}


def _kept(config: Config) -> Config:
    return {name: without_places(value) if isinstance(value, str) else value for name, value in config.items()}


def foreign(run: Run, machine: Machine) -> str:
    """Why samples of `machine` must not go into `run`; empty if they may."""
    if run.kind == "imported":
        return "it was imported, and too little is known of its machine to measure on into it"
    if run.kind != "executed":
        return "it holds figures that others reported, and measured samples do not go among them"
    if run.machine != machine and not _grown(run.machine, machine):
        return f"it was measured on another machine ({difference(run.machine, machine)} here)"
    return ""


def _grown(before: Machine, after: Machine) -> bool:
    """Whether it is the same card on a host with more main memory: a virtual machine is given it as it needs it."""
    same = replace(after, memory_bytes=before.memory_bytes) == before
    return same and after.device == "cuda" and after.memory_bytes > before.memory_bytes


def difference(before: Machine, after: Machine) -> str:
    """The first field in which two machines differ, with both values."""
    for name in Machine.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            return f"{name} {old!r} against {new!r}"
    return ""


def command(name: str, run_id: str, quick: bool, options: Mapping[str, str]) -> str:
    """The command that measures a sample again, without any path."""
    words = ["python", "-m", "measure", "run", name, "--run", run_id, *(["--quick"] if quick else [])]
    for option, value in sorted(options.items()):
        words += ["--set", f"{option}={without_places(value)}"]
    return shlex.join(words)


def now() -> str:
    """This moment in UTC, to the second, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def thin(values: list[float]) -> list[float]:
    """At most KEPT_VALUES of them, evenly spaced in time, so that a drift stays visible."""
    kept = results.KEPT_VALUES
    return values if len(values) <= kept else [values[i * len(values) // kept] for i in range(kept)]


def scrub(text: str) -> str:
    """One short line without what tells whose machine it was: paths, addresses, serial numbers, user and host name."""
    line = without_places(" ".join("".join(char if char.isprintable() else " " for char in text).split()))
    for name in sorted(_own_names(), key=len, reverse=True):
        line = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "...", line, flags=re.IGNORECASE)
    return line if len(line) <= DETAIL_LENGTH else line[: DETAIL_LENGTH - 3] + "..."


def without_places(text: str) -> str:
    """The text with paths, addresses and serial numbers replaced by dots; of a very long one, the beginning."""
    text = text[:2000]
    for pattern in _PRIVATE:
        text = pattern.sub("...", text)
    return text


_PRIVATE = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<=')[^']*[\\/][^']*(?=')",  # a quoted path, which may hold spaces
        r'(?<=")[^"]*[\\/][^"]*(?=")',
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+",  # an address of the web or of a file
        r"[\w.+-]+@[\w.-]+",  # user@host
        r"(?<![\w/])(?:[A-Za-z]:|~[\w-]*|\.{1,2})?[\\/][^\s'\"<>:]+",  # /a/b, ~/a, ./a, C:\a
        r"\w[\w.-]*(?:[\\/][\w.-]+){2,}",  # a/b/c
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b",  # an internet address, version 4
        r"(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}(?![\w:])",  # version 6, or a network card's
        r"\b(?:GPU-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",  # a card's serial identity
        r"\b0x[0-9a-fA-F]{6,}\b",  # a place in memory, different each time
    )
)


def _own_names() -> set[str]:
    host = socket.gethostname()
    try:
        names = {host, host.split(".")[0], Path.home().name, getpass.getuser()}
    except (KeyError, OSError, RuntimeError):
        names = {host, host.split(".")[0]}
    return names - {""}


def recorded(run: Run | None, names: Iterable[str]) -> dict[str, Sample]:
    """The executed samples of a run that the named measurements made, by key."""
    chosen = set(names)
    samples = run.samples.items() if run else ()
    return {text: sample for text, sample in samples if isinstance(sample, Sample) and maker(text) in chosen}


def maker(text: str) -> str:
    """The measurement that a key's text names."""
    return text.split("/", 1)[0]
