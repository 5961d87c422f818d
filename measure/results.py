"""results.json: runs, each a machine with samples and failures, typed, validated and saved whole.

Nothing derived is stored. Statistics are computed on demand and verdicts in `measure.limits`. Imports neither torch nor
an engine, so that the site can be rendered where nothing was ever measured.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import filelock
import msgspec

T = TypeVar("T")

SCHEMA = 1
KEPT_VALUES = 200
"""A sample keeps at most this many values; `count` tells how many there were."""

UNITS = ("GB/s", "TFLOPS", "tok/s", "s", "ms", "GB", "GiB", "MiB", "B", "GHz", "W", "J/tok", "%", "1", "param")
"""Units a sample may carry."""

UNITS_OF = {
    "sum": ("GB/s",),
    "copy": ("GB/s",),
    "triad": ("GB/s",),
    "throughput": ("TFLOPS",),
    "rate": ("tok/s",),
    "prefill_rate": ("tok/s",),
    "prefill_time": ("s", "ms"),
    "loaded_weights": ("GB", "GiB"),
    "parameters": ("param",),
    "parameters_without_embeddings": ("param",),
}
"""Units that fit a quantity, by the name the quantity has in a key. A quantity not named here may carry any unit."""


class ResultsError(Exception):
    """A results file that cannot be used; the message names the file, the key and the cure."""


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a machine is, without anything that tells whose it is. Sizes in bytes."""

    name: str
    device: str
    processor: str = ""
    cores: int = 0
    memory_bytes: int = 0
    cache_bytes: int = 0
    """Last-level cache of the device that measured."""
    accelerators: int = 0
    accelerator_memory_bytes: int = 0
    driver: str = ""
    system: str = ""


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One executed measurement: every repetition, warm-ups dropped, and how it was made."""

    unit: str
    values: list[float]
    at: str
    command: str
    config: dict[str, str | int | float | bool] = {}
    versions: dict[str, str] = {}
    total: int = 0
    """Repetitions made, where more than `KEPT_VALUES`; else 0."""

    @property
    def count(self) -> int:
        return self.total or len(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        """Distribution-free interval for the median: order statistics holding it with at least 95%, else the range."""
        return median_interval(self.values)


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A figure somebody else published: what was published, no more."""

    unit: str
    median: float
    source: str
    low: float | None = None
    high: float | None = None
    count: int = 0
    """Repetitions the source tells of, else 0."""
    config: dict[str, str | int | float | bool] = {}
    versions: dict[str, str] = {}

    @property
    def interval(self) -> tuple[float, float]:
        return (self.median if self.low is None else self.low, self.median if self.high is None else self.high)


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why a key has no sample. `reason` is a code with a sentence in each language in templates/labels.toml."""

    reason: str
    at: str = ""
    detail: str = ""


class Run(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One machine, measured (executed) or told of (reported)."""

    id: str
    kind: str
    machine: Machine
    started: str
    samples: dict[str, Sample | Report] = {}
    failures: dict[str, Failure] = {}


class Results(msgspec.Struct):
    """All runs of a file, in its order."""

    runs: list[Run]

    def run(self, run_id: str) -> Run | None:
        return next((run for run in self.runs if run.id == run_id), None)


class Key(NamedTuple):
    """A sample's name: measurement/subject/quantity?name=value&name=value."""

    measurement: str
    subject: str
    quantity: str
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        path = "/".join(part for part in self[:3] if part)
        query = "&".join(f"{name}={value}" for name, value in sorted(self.parameters))
        return f"{path}?{query}" if query else path


_KEY = re.compile(r"[a-z0-9_]+(/[a-z0-9._-]+)?/[a-z0-9_]+(\?[a-z0-9_]+=[A-Za-z0-9._-]+(&[a-z0-9_]+=[A-Za-z0-9._-]+)*)?")
_UNFINISHED = ".unfinished"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def key(measurement: str, quantity: str, subject: str = "", **parameters: object) -> Key:
    """Build a key; parameters become text."""
    return Key(measurement, subject, quantity, tuple(sorted((n, str(v)) for n, v in parameters.items())))


@functools.lru_cache(maxsize=1 << 14)
def parse_key(text: str) -> Key:
    """Read a key. Raises ValueError if it is not one, or not in its normal form (names sorted, each once)."""
    if not _KEY.fullmatch(text):
        raise ValueError("a key reads measurement/model-precision/quantity?name=value&name=value")
    path, _, query = text.partition("?")
    first, *subject, quantity = path.split("/")
    pairs = [tuple(part.split("=", 1)) for part in query.split("&")] if query else []
    names = [pair[0] for pair in pairs]
    if names != sorted(set(names)):
        raise ValueError("the names after '?' are in alphabetical order, each once")
    return Key(first, subject[0] if subject else "", quantity, tuple(pairs))  # type: ignore[arg-type]


def median_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """Order statistics around the median that cover it with at least `confidence`; the range where too few values.

    Source: Conover, Practical Nonparametric Statistics, section 3.2 (binomial, p = 1/2).
    """
    ordered, n = sorted(values), len(values)
    tail, below = 0.0, 0
    while below < n // 2:
        tail += math.comb(n, below) / 2**n
        if 2 * tail > 1 - confidence:
            break
        below += 1
    drop = max(below - 1, 0)
    return ordered[drop], ordered[n - 1 - drop]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    schema: int
    runs: list[_Run]


class _Run(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    kind: str
    machine: msgspec.Raw
    started: str
    samples: dict[str, msgspec.Raw] = {}
    failures: dict[str, msgspec.Raw] = {}


_KINDS: dict[str, type[Sample] | type[Report]] = {"executed": Sample, "reported": Report}


def load(path: Path) -> Results:
    """Read and validate a results file. Raises ResultsError naming file, key and cure."""
    try:
        data = path.read_bytes()
    except OSError as error:
        cure = "Run `python -m measure here` to make one, or name another with --results."
        raise ResultsError(f"{path.name}: cannot be read ({error.strerror}). {cure}") from None
    return parse(data, path.name)


def parse(data: bytes, name: str = "results.json") -> Results:
    """Validate the bytes of a results file; `name` is what errors call it."""
    try:
        raw = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        cure = "Restore the file from version control, or measure again."
        raise ResultsError(f"{name}: not a results file: {error}. {cure}") from None
    if raw.schema != SCHEMA:
        cure = "Use the version that wrote it."
        raise ResultsError(f"{name}: schema {raw.schema}, but this version reads {SCHEMA}. {cure}")
    runs = [_run(run, name) for run in raw.runs]
    ids = [run.id for run in runs]
    for run_id in ids:
        if ids.count(run_id) > 1:
            raise ResultsError(f"{name}: run {run_id!r} stands there twice. Give one of them another id.")
    return Results(runs)


def _run(raw: _Run, name: str) -> Run:
    where = f"{name}: run {raw.id!r}"
    check_id(raw.id, where)
    if raw.kind not in _KINDS:
        raise ResultsError(f"{where}: kind {raw.kind!r} is neither 'executed' nor 'reported'. Correct it.")
    _check_time(raw.started, f"{where}: started")
    machine = _part(raw.machine, Machine, f"{where}: machine")
    samples = {text: _sample(text, part, _KINDS[raw.kind], where) for text, part in raw.samples.items()}
    failures = {text: _failure(text, part, f"{where}: failure {text}") for text, part in raw.failures.items()}
    return Run(raw.id, raw.kind, machine, raw.started, samples, failures)


def _part(raw: msgspec.Raw, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{where}: {error}. Correct or remove this entry.") from None


def _sample(text: str, raw: msgspec.Raw, kind: type[Sample] | type[Report], where: str) -> Sample | Report:
    where = f"{where}: {text}"
    quantity = check_key(text, where).quantity
    sample = _part(raw, kind, where)
    check(sample, quantity, where)
    return sample


def _failure(text: str, raw: msgspec.Raw, where: str) -> Failure:
    check_key(text, where)
    return _part(raw, Failure, where)


def check_key(text: str, where: str) -> Key:
    """Read a key, or refuse what is none."""
    try:
        return parse_key(text)
    except ValueError as error:
        raise ResultsError(f"{where}: not a key: {error}. Rename it.") from None


def check_id(run_id: str, where: str) -> None:
    """Refuse what cannot be a run's name."""
    if not _ID.fullmatch(run_id):
        raise ResultsError(f"{where}: an id is 1 to 40 lower-case letters, digits and hyphens. Rename it.")


def check(sample: Sample | Report, quantity: str, where: str) -> None:
    """Refuse a sample whose unit does not fit `quantity`, that is empty, or holds a number that is not finite."""
    fitting = UNITS_OF.get(quantity, UNITS)
    if sample.unit not in fitting:
        cure = f"Correct the unit: {quantity} is given in {' or '.join(fitting)}."
        raise ResultsError(f"{where}: unit {sample.unit!r} does not fit. {cure}")
    if isinstance(sample, Sample):
        _check_time(sample.at, f"{where}: at")
    for name, value in sample.config.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ResultsError(f"{where}: config {name} is not a finite number. Remove the entry, or measure again.")
    numbers = sample.values if isinstance(sample, Sample) else [sample.median, *sample.interval]
    if not numbers:
        raise ResultsError(f"{where}: no values. Remove the entry, or measure again.")
    if not all(math.isfinite(number) for number in numbers):
        raise ResultsError(f"{where}: a value is not a finite number. Remove the entry, or measure again.")
    if quantity in UNITS_OF and min(numbers) <= 0:
        raise ResultsError(f"{where}: a value is not above zero. Remove the entry, or measure again.")
    if isinstance(sample, Report) and not sample.interval[0] <= sample.median <= sample.interval[1]:
        raise ResultsError(f"{where}: the median lies outside low and high. Correct them.")


def _check_time(text: str, where: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ResultsError(f"{where}: {text!r} is not a date. Write it like 2026-11-29T13:45:00Z.") from None


def dump(results: Results) -> str:
    """The file's text: stable order, lists of numbers on one line."""
    runs = [_ordered(run) for run in results.runs]
    text = json.dumps({"schema": SCHEMA, "runs": runs}, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[\n\s*([-+0-9.eE,\s]+?)\n\s*\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text) + "\n"


def _ordered(run: Run) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(run)
    for part in ("samples", "failures"):
        if part in built:
            built[part] = {text: built[part][text] for text in sorted(built[part], key=_natural)}
    return built


def _natural(text: str) -> list[tuple[int, float, str]]:
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in re.split(r"(\d+)", text) if part]


def save(results: Results, path: Path) -> None:
    """Write the whole file or nothing: a temporary file beside it, synced, then renamed over it.

    Raises ResultsError where the disk is full or the place cannot be written; the old file then stands as it was.
    """
    data = dump(results).encode()
    try:
        _write(data, path)
    except OSError as error:
        cure = "Make room or choose another place with --results, then run again: what was saved before is kept."
        raise ResultsError(f"{path.name}: cannot be saved ({error.strerror}). {cure}") from None


def _write(data: bytes, path: Path) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def edit(path: Path, timeout_s: float = 60) -> Iterator[Results]:
    """Read, change and save a results file as its only writer; saved only if the block ends without an error."""
    with _only_writer(path, timeout_s):
        results = load(path) if path.exists() else Results([])
        yield results
        save(results, path)


@contextmanager
def _only_writer(path: Path, timeout_s: float) -> Iterator[None]:
    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=timeout_s)
    try:
        lock.acquire()
    except filelock.Timeout:
        cure = "Wait for the other measurement to end, then run again."
        raise ResultsError(f"{path.name}: another process has been writing for {timeout_s:g} s. {cure}") from None
    except OSError as error:
        cure = "Make room or choose another place with --results."
        raise ResultsError(f"{path.name}: cannot be locked ({error.strerror}). {cure}") from None
    try:
        _sweep(path)
        yield
    finally:
        lock.release()


def _sweep(path: Path) -> None:
    """Remove what a writer that was killed left behind: with the lock held nobody else is writing."""
    for entry in path.parent.iterdir():
        if entry.name.startswith(f".{path.name}.") and entry.name.endswith(_UNFINISHED):
            entry.unlink(missing_ok=True)
