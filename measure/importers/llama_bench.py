"""`llama-bench -o json` and `-o jsonl`: prefill and decoding in llama.cpp without a server, every repetition kept.

A test with a prompt alone (pp) is a prefill: `prefill_rate`, tokens per second. One with generation alone (tg) decodes
random tokens one by one, after `n_depth` tokens that are not timed: no prefill and no sampling is in it, so it is the
decoding `rate` of one request. One with both (pp+tg) counts prompt and generated tokens over the time of both: it is
kept as `token_rate`. A prefill behind `n_depth` tokens is `prefill_rate_at_depth`. Sizes are those of the tensors.

A file may hold many settings; where two tests would share a key, it is demanded which to take (`--set n_threads=8`).
Model and precision are demanded and held against the file's size and type; the machine is demanded where the file does
not say where all layers ran.
Source: ggml-org/llama.cpp, tools/llama-bench/llama-bench.cpp, `test::get_fields`, `json_printer`, `jsonl_printer`,
`test_prompt` and `test_gen`, at commit 0104b151c56d.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath, PureWindowsPath
from typing import Annotated, Any

import msgspec

from measure import models
from measure.importers import settings
from measure.importers.reading import Count, Entry, Positive, Reading, Text, Whole, agree, typed
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.keys import Key, key
from measure.results import ResultsError

TOOL = "llama-bench"
NAMES = frozenset({"model_type", "model_n_params", "n_prompt", "n_gen", "samples_ns", "samples_ts"})

MEASUREMENT = "decode_llama"
ALL_LAYERS = 99
"""Any number of layers from here on, or below zero (llama.h), puts all of them on the accelerator."""

EVERYTHING = {
    "n_cpu_moe": 0,
    "no_kv_offload": False,
    "tensor_buft_overrides": "none",
    "fit_target": 0,
    "devices": "auto",
    "split_mode": "layer",
}
"""Settings under which all of a model is spread over all cards; a version that lacks one has no other."""

ONE_OF = (
    "model_filename",
    "model_type",
    "model_size",
    "model_n_params",
    "cpu_info",
    "gpu_info",
    "backends",
    "n_gpu_layers",
    "build_number",
    *EVERYTHING,
)
"""Fields in which the tests that are taken must not differ: one model on one machine, by one program."""

RESULTS = ("test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts")
LENGTHS = ("n_prompt", "n_gen")
"""Fields that are zero in the tests that they say nothing of."""

CONFIGURATION = ("model_type", "backends", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers")
"""Fields kept with each sample, besides `flash_attn` and the commit."""

MOST_TESTS = 10**4
"""In one file. Tests are held against one another."""

PARAMETERS_MARGIN = 0.1
LONGEST = 100
"""Characters of a field's value that are shown, and that a choice goes by."""

_FIELD = re.compile(r"[a-z][a-z0-9_]{0,39}")
PRECISIONS = {"F32": "fp32", "F16": "fp16", "BF16": "bf16"}
"""llama.cpp's names of types that the project calls otherwise; the others differ in case alone."""


Layers = Annotated[int, msgspec.Meta(ge=-(10**6), le=10**6)]


class Test(msgspec.Struct, frozen=True):
    """One test: nanoseconds and tokens per second of each repetition."""

    model_type: Text
    model_size: Whole
    model_n_params: Whole
    n_prompt: Count
    n_gen: Count
    test_time: Text
    samples_ns: Annotated[list[Whole], msgspec.Meta(min_length=1)]
    samples_ts: Annotated[list[Positive], msgspec.Meta(min_length=1)]
    n_depth: Count = 0
    cpu_info: Text = ""
    gpu_info: Text = ""
    backends: Text = ""
    build_commit: Text = ""
    build_number: Count = 0
    n_gpu_layers: Layers = 0
    fields: dict[str, Any] = {}
    """All of it as the file has it, by name; results left out."""

    @property
    def name(self) -> str:
        """As llama-bench prints it."""
        parts = [f"pp{self.n_prompt}"] if self.n_prompt else []
        parts += [f"tg{self.n_gen}"] if self.n_gen else []
        return "+".join(parts) + (f" at depth {self.n_depth}" if self.n_depth else "")

    def key(self, subject: str) -> Key:
        """The key of what it timed."""
        depth = {"depth": self.n_depth} if self.n_depth else {}
        if self.n_prompt and self.n_gen:
            lengths = {"prompt": self.n_prompt, "output": self.n_gen, **depth}
            return key(MEASUREMENT, "token_rate", subject, requests=1, **lengths)
        if self.n_gen:
            return key(MEASUREMENT, "rate", subject, requests=1)
        return key(
            MEASUREMENT, "prefill_rate_at_depth" if depth else "prefill_rate", subject, tokens=self.n_prompt, **depth
        )

    def entry(self, subject: str, where: str) -> Entry:
        """What it timed, with its configuration in the words of the facts."""
        where = f"{where}: {self.name}"
        if not self.n_prompt + self.n_gen:
            raise ResultsError(f"{where}: a test of no tokens. Import the tool's file unchanged.")
        if len(self.samples_ns) != len(self.samples_ts):
            what = f"{len(self.samples_ns)} samples_ns, {len(self.samples_ts)} samples_ts"
            raise ResultsError(f"{where}: contradicts itself: {what}. Import the tool's file unchanged.")
        for taken_ns, rate in zip(self.samples_ns, self.samples_ts, strict=True):
            agree("a rate of samples_ts", rate, 1e9 * (self.n_prompt + self.n_gen) / taken_ns, where)
        return Entry(self.key(subject), "tok/s", self.samples_ts, config={**self._lengths(), **self._configuration()})

    def _lengths(self) -> dict[str, int]:
        if self.n_gen and not self.n_prompt:
            return {"requests": 1, "prompt_tokens": self.n_depth, "output_tokens_long": self.n_gen}
        return {"prompt_tokens": self.n_prompt}

    def _configuration(self) -> dict[str, str | int | float | bool]:
        told = {name: self.fields[name] for name in (*CONFIGURATION, "flash_attn") if name in self.fields}
        kept = {name: value for name, value in told.items() if isinstance(value, str | int | float)}
        return {**kept, **({"build_commit": self.build_commit} if self.build_commit else {})}

    @property
    def place(self) -> tuple[str, str] | None:
        """Device and names of the cards or the processor; None where the file does not say where all layers ran."""
        backend = self.backends.upper()
        if backend == "CPU" and self.cpu_info:
            return "cpu", self.cpu_info
        layers = self.n_gpu_layers < 0 or self.n_gpu_layers >= ALL_LAYERS
        everything = layers and all(self.fields.get(name, usual) == usual for name, usual in EVERYTHING.items())
        device = {"CUDA": "cuda", "METAL": "mps", "MTL": "mps"}.get(backend.removesuffix(",BLAS"))
        return (device, self.gpu_info) if device and everything and self.gpu_info else None


class Tests(msgspec.Struct, frozen=True):
    """The tests of a file."""

    tests: list[Test]

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        placed = all(test.place for test in self.tests)
        needed = (settings.MODEL,) if placed else (settings.MODEL, settings.MACHINE, settings.DEVICE)
        return needed, [Setting(name, shown[0], r".+", f"one of {_some(shown)}") for name, shown in self._choices()]

    def _choices(self) -> Iterator[tuple[str, list[str]]]:
        """Fields in which the tests differ, with their values."""
        for name in dict.fromkeys(name for test in self.tests for name in test.fields):
            shown = _values(self.tests, name)
            if len(shown) > 1 and name not in (settings.MODEL.name, settings.MACHINE.name, settings.DEVICE.name):
                yield name, shown

    def read(self, given: Given, where: str) -> Reading:
        tests = self._chosen(given, where)
        subject = given.text(settings.MODEL)
        for name in ONE_OF:
            _refuse_choice(tests, [name], "its tests", where)
        _check_model(tests[0], subject, where)
        self._check_keys(tests, subject, where)
        found = [test.entry(subject, where) for test in tests]
        told = (given.text(settings.DEVICE), given.text(settings.MACHINE)) if settings.MACHINE in given else None
        device, name = told or tests[0].place or ("", "")
        cards = name.split(", ") if device == "cuda" else [name]
        return Reading(
            [*found, *_sizes(tests[0], subject)],
            f"{len(cards)} x {cards[0]}" if len(cards) > 1 and len(set(cards)) == 1 else name,
            device,
            accelerators=len(cards) if device != "cpu" else 0,
            at=tests[0].test_time,
            versions={"llama.cpp": f"b{tests[0].build_number}"} if tests[0].build_number else {},
            notes=[f"the file calls the model {tests[0].model_type!r}; it goes in as {subject}"],
        )

    def _check_keys(self, tests: Sequence[Test], subject: str, where: str) -> None:
        """Demand a choice where two tests would share a key."""
        by_key: dict[Key, list[Test]] = {}
        for test in tests:
            by_key.setdefault(test.key(subject), []).append(test)
        for of, alike in by_key.items():
            if len(alike) > 1:
                _refuse_choice(alike, [name for name, _ in self._choices()], f"tests for {of}", where)
                raise ResultsError(f"{where}: holds {alike[0].name} twice. Import a file in which it stands once.")

    def _chosen(self, given: Given, where: str) -> list[Test]:
        """The tests with the values that were told."""
        tests = self.tests
        for name, shown in self._choices():
            if name in given.values:
                wanted = given.values[name]
                if wanted not in shown:
                    raise ResultsError(f"{where}: --set {name}={wanted[:100]}: no test has it. It has {_some(shown)}.")
                tests = [test for test in tests if _shown(test, name) in (wanted, "")]
        if not tests:
            raise ResultsError(f"{where}: no test has all that was told. Tell less with --set.")
        return tests


def _shown(test: Test, name: str) -> str:
    """A field's value as a word; empty where it does not apply."""
    value = test.fields.get(name, "")
    if name in LENGTHS and not value:
        return ""
    if name == "model_filename":
        return PureWindowsPath(PurePath(str(value)).name).name[:LONGEST]
    return str(value)[:LONGEST]


def _values(tests: Sequence[Test], name: str) -> list[str]:
    return [shown for shown in dict.fromkeys(_shown(test, name) for test in tests) if shown]


def _refuse_choice(tests: Sequence[Test], names: Sequence[str], what: str, where: str) -> None:
    """Demand a choice where tests differ in one of these fields."""
    for name in names:
        shown = _values(tests, name)
        if len(shown) > 1:
            cure = f"Choose with {settings.example([Setting(name, shown[0], '', '')])}"
            raise ResultsError(f"{where}: {what} differ in {name}: {_some(shown)}. {cure}")


def _some(words: Sequence[str]) -> str:
    return ", ".join(word[:60] for word in words[:8]) + (" and others" if len(words) > 8 else "")


def _check_model(test: Test, subject: str, where: str) -> None:
    """Refuse a model or precision that the file's own figures contradict."""
    name, _, precision = subject.rpartition("-")
    known = models.models().get(name)
    if known:
        least, most = known.parameters, known.parameters + known.embedding_parameters
        if not (1 - PARAMETERS_MARGIN) * least <= test.model_n_params <= (1 + PARAMETERS_MARGIN) * most:
            told = f"the file's model has {test.model_n_params:.4g} parameters, {name} has {known.parameters:.4g}"
            raise ResultsError(f"{where}: --set model={subject}: {told}. Correct the name.")
    typed_as = re.findall(r"\b(?:BF16|F16|F32|I?Q[0-9]\w*)\b", test.model_type)
    if typed_as and not precision.startswith(PRECISIONS.get(typed_as[-1], typed_as[-1].lower())):
        raise ResultsError(f"{where}: --set model={subject}: the file says {typed_as[-1]}. Correct the precision.")


def _sizes(test: Test, subject: str) -> list[Entry]:
    """Bytes and parameters of the model's tensors."""
    return [
        Entry(key(MEASUREMENT, "loaded_weights", subject), "GB", [test.model_size / 1e9]),
        Entry(key(MEASUREMENT, "parameters", subject), "param", [float(test.model_n_params)]),
    ]


def decode(documents: Sequence[Document], where: str) -> Tests:
    raw = [part for document in documents for part in _parts(document, where)]
    if not raw:
        raise ResultsError(f"{where}: holds no test. Run the benchmark again.")
    if len(raw) > MOST_TESTS:
        raise ResultsError(f"{where}: holds more than {MOST_TESTS} tests. Import a part of them.")
    return Tests([_test(part, where) for part in raw])


def _parts(document: Document, where: str) -> list[Document]:
    """The objects of a list, or the one object of a line."""
    if not document.text.startswith(b"["):
        return [document]
    parts = typed(document, list[msgspec.Raw], TOOL, where)
    return [Document(bytes(part), frozenset()) for part in parts]


def _test(part: Document, where: str) -> Test:
    test = typed(part, Test, TOOL, where)
    fields = typed(part, dict[str, Any], TOOL, where)
    scalars = {
        name: value
        for name, value in fields.items()
        if name not in RESULTS and _FIELD.fullmatch(name) and isinstance(value, str | int | float)
    }
    return msgspec.structs.replace(test, fields=scalars)
