"""What results are: runs, each a machine with samples and failures, typed, validated, parsed and dumped.

Nothing derived is stored. Statistics are computed on demand and verdicts in `measure.limits`. Imports neither torch nor
an engine, so that the site can be rendered where nothing was ever measured.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from measure import doubled, keys, malformed
from measure.keys import Key, parse_key

T = TypeVar("T")

SCHEMA = 1
KEPT_VALUES = 200
"""A sample keeps at most this many values; `count` tells how many there were."""

LONGEST_NAME = 200
"""A machine's name has at most this many characters."""

DEVICES = ("cpu", "cuda", "mps")
"""What a machine can measure with."""

UNITS = (
    "GB/s",
    "TFLOPS",
    "tok/s",
    "step/s",
    "s",
    "ms",
    "GB",
    "GiB",
    "MiB",
    "B",
    "GHz",
    "W",
    "J/tok",
    "%",
    "1",
    "param",
    "FLOP",
)
"""Units a sample may carry."""

_TIME, _SIZE = ("s", "ms"), ("MiB", "GiB", "GB")

UNITS_OF = {
    "bandwidth": ("GB/s",),
    "sum": ("GB/s",),
    "copy": ("GB/s",),
    "triad": ("GB/s",),
    "throughput": ("TFLOPS",),
    "rate": ("tok/s",),
    "prefill_rate": ("tok/s",),
    "prefill_time": _TIME,
    "prefill_rate_at_depth": ("tok/s",),
    "first_token": _TIME,
    "first_token_under_load": _TIME,
    "token_time": _TIME,
    "token_time_under_load": _TIME,
    "token_time_with_first": _TIME,
    "token_time_with_first_under_load": _TIME,
    "batch_time": _TIME,
    "output_rate": ("tok/s",),
    "output_rate_under_load": ("tok/s",),
    "token_rate": ("tok/s",),
    "thinking_time": _TIME,
    "loaded_weights": ("GB", "GiB"),
    "parameters": ("param",),
    "parameters_without_embeddings": ("param",),
    "memory": _SIZE,
    "first_audio": _TIME,
    "fixed_time": _TIME,
    "utterance_time": _TIME,
    "patch_time": _TIME,
    "step_time": _TIME,
    "step_part_time": _TIME,
    "step_flops": ("FLOP",),
    "step_kernel_time": _TIME,
    "short_prompt_kernel_time": _TIME,
    "patch_part_time": _TIME,
    "patch_kernel_time": _TIME,
    "chunk_gap": _TIME,
    "underrun": _TIME,
    "fixed_part_time": _TIME,
    "buffered_step_time": _TIME,
    "buffered_step_kernel_time": _TIME,
    "buffered_step_flops": ("FLOP",),
    "chunk_length": _TIME,
    "cache_memory": _SIZE,
    "stream_memory": _SIZE,
    "stream_difference": ("1",),
    "frame_rate": ("step/s",),
    "real_time_factor": ("1",),
    "slope": ("1",),
    "fit_r2": ("1",),
    "streams": ("1",),
    "buffered_streams": ("1",),
    "cer": ("%",),
    "wer": ("%",),
    "share_of_turn": ("%",),
    "all_reduce_time": _TIME,
    "all_reduce_bandwidth": ("GB/s",),
    "tokenizers": ("1",),
    "words_kept": ("%",),
}
"""Units that fit a quantity, by the name the quantity has in a key. A quantity not named here may carry any unit."""

MAY_BE_ZERO = (
    "buffered_streams",
    "cer",
    "fit_r2",
    "fixed_time",
    "share_of_turn",
    "stream_difference",
    "streams",
    "tokenizers",
    "underrun",
    "wer",
    "words_kept",
)
"""Quantities of UNITS_OF that can be zero; the others are above it, and none is below."""

SMALLEST, LARGEST = 1e-12, 1e18
"""No figure of a machine in the units above lies outside, but zero: arithmetic on what does would only overflow."""


REASONS = {
    "engine_missing": "a package it needs is not installed",
    "out_of_memory": "memory ran out",
    "not_enough_memory": "this machine has too little memory for it",
    "crashed": "the measurement crashed",
    "timed_out": "it did not end within its time",
    "too_slow": "it would take too long on this machine",
    "out_of_time": "the time given is used up, and the same command measures it next time",
    "interrupted": "it was interrupted",
    "machine_left": "its machine left the cluster",
    "unsupported": "this machine or engine cannot do it",
}
"""Why a key has no sample: code and English sentence. Other languages are in the labels of the site."""


class ResultsError(Exception):
    """A results file that cannot be used; the message names the file, the key and the cure, and is one line."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(char if char.isprintable() else " " for char in message))


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


Config = dict[str, str | int | float | bool]
"""How a sample was measured, as its configuration keeps it."""


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One executed measurement: every repetition, warm-ups dropped, and how it was made."""

    unit: str
    values: list[float]
    at: str
    command: str
    config: Config = {}
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
        """Distribution-free interval for the median: order statistics holding it with at least 95%, else the range.

        What is one value by nature, such as an error rate over recordings, has its interval in the configuration.
        """
        low, high = (self.config.get(f"interval_{end}") for end in ("low", "high"))
        if isinstance(low, int | float) and isinstance(high, int | float):
            return min(low, self.median), max(high, self.median)
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
    config: Config = {}
    versions: dict[str, str] = {}

    @property
    def interval(self) -> tuple[float, float]:
        return _bounds(self)


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a tool's file tells of repetitions that it does not hold."""

    median: float
    low: float | None = None
    high: float | None = None
    """An interval that holds the median with at least 95%."""
    count: int = 0
    """Repetitions the file tells of, else 0."""


class Import(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One measurement that another program made, from a file of its own: all repetitions, or else their summary."""

    unit: str
    tool: str
    """What wrote the file, such as `llama-bench`."""
    sha256: str
    """Of the file, in lower-case hexadecimal digits."""
    values: list[float] = []
    summary: Summary | None = None
    """In place of values."""
    at: str = ""
    """When it was measured, if the file says so."""
    given: dict[str, str] = {}
    """What was told at import because the file does not say it."""
    config: Config = {}
    versions: dict[str, str] = {}
    total: int = 0
    """Repetitions made, where more than `KEPT_VALUES`; else 0."""

    @property
    def count(self) -> int:
        return self.summary.count if self.summary else self.total or len(self.values)

    @property
    def median(self) -> float:
        return self.summary.median if self.summary else statistics.median(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        return _bounds(self.summary) if self.summary else median_interval(self.values)


AnySample: TypeAlias = Sample | Report | Import


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why a key has no sample. `reason` is one of REASONS."""

    reason: str
    at: str = ""
    detail: str = ""


class Run(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One machine: measured by this program (executed), by others' tools (imported), or told of (reported).

    An executed run may hold imports too, where its machine is the one that the tool ran on.
    """

    id: str
    kind: str
    machine: Machine
    started: str
    samples: dict[str, AnySample] = {}
    failures: dict[str, Failure] = {}

    def failure(self, wanted: Key) -> Failure | None:
        """Why it has no sample of this key: the key's own failure, else that of planning its measurement."""
        return self.failures.get(str(wanted)) or self.failures.get(f"{wanted.measurement}/plan")


class Results(msgspec.Struct):
    """All runs of a file, in its order."""

    runs: list[Run]

    def run(self, run_id: str) -> Run | None:
        return next((run for run in self.runs if run.id == run_id), None)


_PLAIN = re.compile(r"[A-Za-z0-9._/?=&-]+")
_REMEASURE = "Remove the entry, or measure again."
_SHA256 = re.compile(r"[0-9a-f]{64}")

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def _bounds(told: Report | Summary) -> tuple[float, float]:
    """Low and high as told, else the median in their place."""
    return (told.median if told.low is None else told.low, told.median if told.high is None else told.high)


def median_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """Order statistics around the median that cover it with at least `confidence`; the range where too few values.

    Source: Conover, Practical Nonparametric Statistics, section 3.2 (binomial, p = 1/2).
    """
    ordered, dropped = sorted(values), _dropped(len(values), confidence)
    return ordered[dropped], ordered[len(values) - 1 - dropped]


@functools.cache
def _dropped(count: int, confidence: float) -> int:
    """How many of so many ordered values lie beyond the interval at each end."""
    tail, below = 0.0, 0
    while below < count // 2:
        tail += math.comb(count, below) / 2**count
        if 2 * tail > 1 - confidence:
            break
        below += 1
    return max(below - 1, 0)


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


_KINDS: dict[str, type[AnySample]] = {"executed": Sample, "imported": Import, "reported": Report}


class _Maker(msgspec.Struct):
    """The field of an import that no other sample has."""

    tool: Any = None


def parse(data: bytes, name: str = "results.json") -> Results:
    """Validate the bytes of a results file; `name` is what errors call it."""
    try:
        raw = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told, cure = malformed.explain(data, error)
        raise ResultsError(f"{name}: not a results file: {told}. {cure}") from None
    if raw.schema != SCHEMA:
        cure = "Use the version that wrote it."
        raise ResultsError(f"{name}: schema {raw.schema}, but this version reads {SCHEMA}. {cure}")
    runs = [_run(run, name) for run in raw.runs]
    for run_id, times in Counter(run.id for run in runs).items():
        if times > 1:
            raise ResultsError(f"{name}: run {run_id!r} stands there twice. Give one of them another id.")
    if doubled.doubled(data):
        raise ResultsError(f"{name}: {malformed.twice(data)}. Remove the one that is wrong.")
    return Results(runs)


def _run(raw: _Run, name: str) -> Run:
    where = f"{name}: run {raw.id!r}"
    check_id(raw.id, where)
    if raw.kind not in _KINDS:
        known = ", ".join(repr(kind) for kind in _KINDS)
        raise ResultsError(f"{where}: kind {raw.kind!r} is none of {known}. Correct it.")
    _check_time(raw.started, f"{where}: started")
    machine = _machine(raw.machine, f"{where}: machine")
    samples = {text: _sample(text, part, raw.kind, where) for text, part in raw.samples.items()}
    failures = {text: _failure(text, part, f"{where}: failure {_shown(text)}") for text, part in raw.failures.items()}
    return Run(raw.id, raw.kind, machine, raw.started, samples, failures)


def _machine(raw: msgspec.Raw, where: str) -> Machine:
    machine = _part(raw, Machine, where)
    for name in Machine.__struct_fields__:
        if isinstance(value := getattr(machine, name), int):
            _check_count(value, f"{where}: {name}")
    check_name(machine.name, f"{where}: name")
    _check_device(machine.device, where)
    return machine


def check_name(name: str, where: str) -> None:
    """Refuse what tells no machine, and what no page has room for."""
    if not name.strip():
        raise ResultsError(f"{where} is empty. Say which processor or card it is.")
    if len(name) > LONGEST_NAME:
        raise ResultsError(f"{where} has {len(name)} characters, and {LONGEST_NAME} are the most. Shorten it.")


def _check_device(device: object, where: str) -> None:
    if device not in DEVICES:
        told = _shown(str(device), quoted=True)
        raise ResultsError(f"{where}: device {told} is none of {', '.join(DEVICES)}. Correct it.")


def _part(raw: msgspec.Raw, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{where}: {error}. Correct or remove this entry.") from None


def _sample(text: str, raw: msgspec.Raw, kind: str, where: str) -> AnySample:
    where = f"{where}: {_shown(text)}"
    parsed = check_key(text, where)
    imported = kind == "executed" and _part(raw, _Maker, where).tool is not None
    made: type[AnySample] = Import if imported else _KINDS[kind]
    try:
        sample: AnySample = _part(raw, made, where)
    except ResultsError:
        _refuse_kind(raw, kind, where)
        raise
    check(sample, parsed, where)
    return sample


def _refuse_kind(raw: msgspec.Raw, kind: str, where: str) -> None:
    """Say of a sample that is none of its run's kind, but one of another, that the kind may be wrong."""
    for other, made in _KINDS.items():
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            msgspec.json.decode(raw, type=made)
            told = f"its form is that of {other} samples, but the run's kind is {kind!r}"
            raise ResultsError(f"{where}: {told}. Correct the kind, or remove this entry.") from None


def _failure(text: str, raw: msgspec.Raw, where: str) -> Failure:
    check_key(text, where)
    failure = _part(raw, Failure, where)
    if failure.reason not in REASONS:
        cure = f"Choose from {', '.join(REASONS)}."
        raise ResultsError(f"{where}: no such reason: {_shown(failure.reason, quoted=True)}. {cure}")
    if failure.at:
        _check_time(failure.at, f"{where}: at")
    return failure


def _shown(text: str, length: int = 100, quoted: bool = False) -> str:
    """A name as a message shows it: as it is if it is plain; else quoted, without what would break the line."""
    short = text if len(text) <= length else f"{text[: length - 3]}..."
    return short if _PLAIN.fullmatch(text) and not quoted else repr(short)


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


def check(sample: AnySample, of: Key, where: str) -> None:
    """Refuse a sample whose key tells too little, whose unit does not fit, or with a number that cannot be."""
    _check_parameters(of, where)
    _check_unit(sample.unit, of.quantity, where)
    for name, value in sample.config.items():
        if isinstance(value, int | float) and not abs(value) <= LARGEST:
            told = f"config {_shown(name)} is not a finite number of at most {LARGEST:g}"
            raise ResultsError(f"{where}: {told}. {_REMEASURE}")
    _check_device(sample.config.get("device", DEVICES[0]), f"{where}: config")
    if isinstance(sample, Import):
        _check_import(sample, of.quantity, where)
    elif isinstance(sample, Sample):
        _check_time(sample.at, f"{where}: at")
        _check_repeats(sample, of.quantity, where)
    else:
        _check_median(sample, of.quantity, where)


def _check_parameters(of: Key, where: str) -> None:
    try:
        keys.check(of)
    except ValueError as error:
        raise ResultsError(f"{where}: {error}") from None


def _check_unit(unit: str, quantity: str, where: str) -> None:
    fitting = UNITS_OF.get(quantity, UNITS)
    if unit not in fitting:
        cure = f"Correct the unit: {quantity} is given in {' or '.join(fitting)}."
        raise ResultsError(f"{where}: unit {_shown(unit, quoted=True)} does not fit. {cure}")


def _check_import(sample: Import, quantity: str, where: str) -> None:
    if not _SHA256.fullmatch(sample.sha256):
        raise ResultsError(f"{where}: sha256 is not 64 lower-case hexadecimal digits. Import the file again.")
    if not sample.tool:
        raise ResultsError(f"{where}: tool is empty. Import the file again.")
    if bool(sample.values) == (sample.summary is not None):
        raise ResultsError(f"{where}: either values or a summary has to be there. Import the file again.")
    if sample.at:
        _check_time(sample.at, f"{where}: at")
    if sample.summary:
        _check_median(sample.summary, quantity, where)
    else:
        _check_repeats(sample, quantity, where)


def _check_repeats(sample: Sample | Import, quantity: str, where: str) -> None:
    _check_count(sample.total, f"{where}: total")
    kept = len(sample.values)
    if not kept:
        raise ResultsError(f"{where}: no values. {_REMEASURE}")
    if kept > KEPT_VALUES:
        cure = "Keep some, evenly spaced, and write how many there were into total."
        raise ResultsError(f"{where}: {kept} values, and a sample keeps at most {KEPT_VALUES}. {cure}")
    if 0 < sample.total < kept:
        raise ResultsError(f"{where}: total is {sample.total}, but there are {kept} values. Correct it.")
    _check_values(sample.values, quantity, where)


def _check_median(told: Report | Summary, quantity: str, where: str) -> None:
    _check_count(told.count, f"{where}: count")
    low, high = _bounds(told)
    _check_values([told.median, low, high], quantity, where)
    if not low <= told.median <= high:
        raise ResultsError(f"{where}: the median lies outside low and high. Correct them.")


def _check_count(number: int, where: str) -> None:
    if not 0 <= number <= LARGEST:
        raise ResultsError(f"{where} is {'negative' if number < 0 else 'outside what a machine can do'}. Correct it.")


def _check_values(values: Iterable[float], quantity: str, where: str) -> None:
    for value in values:
        fault = _fault(value, quantity)
        if fault:
            raise ResultsError(f"{where}: a value is {fault}. {_REMEASURE}")


def _fault(value: float, quantity: str) -> str:
    """What is wrong with a number of this quantity; empty if nothing is."""
    if not math.isfinite(value):
        return "not a finite number"
    if quantity in UNITS_OF and value < 0:
        return "below zero" if quantity in MAY_BE_ZERO else "not above zero"
    if value == 0:
        return "not above zero" if quantity in UNITS_OF and quantity not in MAY_BE_ZERO else ""
    return "" if SMALLEST <= abs(value) <= LARGEST else f"outside what a machine can do ({value:g})"


def _check_time(text: str, where: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ResultsError(
            f"{where}: {_shown(text, quoted=True)} is not a date. Write it like 2026-11-29T13:45:00Z."
        ) from None


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
