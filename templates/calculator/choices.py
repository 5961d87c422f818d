"""What a reader of the calculator can choose: measured machines, published models, and fields to type into."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from measure import models
from measure.models import Model
from measure.results import Run
from templates import units
from templates.calculator.facts import Shape
from templates.facts.edition import Edition
from templates.facts.language_model import THINKING_TOKENS, LanguageModel
from templates.facts.machine import WIDTHS, MachineFacts
from templates.facts.turn import AUDIO, SENTENCE
from templates.quantity import Operation, Quantity
from templates.voice import Voice

OWN = "own"
"""What is chosen where a reader types in values of their own."""


class Field(NamedTuple):
    """A number to type in: the input it gives, its unit, and what is neither too little nor too much for it."""

    name: str
    gives: str
    unit: str
    low: float
    high: float
    whole: bool = False
    optional: bool = False
    default: float | None = None


TYPED = {
    "machine": (
        Field("bandwidth", "bandwidth", "GB/s", 0.01, 1e6),
        Field("compute", "compute", "TFLOPS", 1e-4, 1e6),
        Field("first_audio", "first_audio", "ms", 0, 1e6, optional=True),
        Field("slope", "slope", "1", 0, 1e4, optional=True),
        Field("fixed", "fixed", "s", 0, 1e4, optional=True),
    ),
    "model": (
        Field("parameters", "parameters", "Gparam", 1e-3, 1e5),
        Field("bits", "bytes_per_parameter", "bit/param", 1, 32),
        Field("kv", "kv_per_token", "KB/tok", 0, 1e5),
    ),
}
"""Fields of a machine and of a model that are typed in."""

TALK = (
    Field("context", "context", "tok", 1, 1e8, whole=True, default=1000),
    Field("requests", "requests", "req", 1, 1e6, whole=True, default=1),
    Field("thinking", "thinking_tokens", "tok", 0, 1e6, whole=True, default=THINKING_TOKENS),
    Field("sentence", "sentence_tokens", "tok", 1, 1e5, whole=True, default=SENTENCE.value),
    Field("audio", "sentence_audio", "s", 0.1, 3600, default=AUDIO.value),
)
"""Fields that are always there."""

FIELDS = (*TYPED["machine"], *TYPED["model"], *TALK)


class Machine(NamedTuple):
    """A machine that was measured, as an edition tells it."""

    edition: Edition
    facts: MachineFacts
    run: Run

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def models(self) -> list[LanguageModel]:
        """Models that were timed on it."""
        told = dict.fromkeys([*self.edition.models, self.edition.focus])
        return [model for model in told if model.samples.run_id == self.id]


def machines(editions: Iterable[Edition]) -> list[Machine]:
    """Those of the editions, each once; the one that the models were compared on ahead of the worked example's."""
    found: dict[str, Machine] = {}
    for edition in editions:
        for facts in (edition.direct, edition.focus.machine):
            if run := facts.samples.run:
                found.setdefault(run.id, Machine(edition, facts, run))
    return list(found.values())


def described(machine: Machine, voice: Voice) -> dict[str, Any]:
    """A machine as data: its ceilings and what it speaks with, and the rates that were timed there."""
    facts, voxcpm, turn = machine.facts, machine.edition.voxcpm, machine.edition.turn
    inputs = {
        "bandwidth": facts.bandwidth,
        "first_audio": turn.speak_streaming,
        "slope": voxcpm.slope,
        "fixed": voxcpm.fixed,
    }
    widths = sorted({WIDTHS[name]: name for name in models.BYTES_PER_WEIGHT}.items())
    return {
        "inputs": {name: _input(quantity, voice) for name, quantity in inputs.items()},
        "compute": [[width, _compute(facts, facts.compute_in(dtype), voice)] for width, dtype in widths],
        "timed": _timed(machine.models, voice),
    }


def _input(quantity: Quantity, voice: Voice) -> dict[str, Any]:
    """A fact as an input: what it is worth in units without prefixes, how it is said, where its receipt is."""
    found = {"at": voice.address(quantity), "title": html.unescape(voice.title(quantity))}
    if quantity.value is None:
        return found | {"absent": list(dict.fromkeys(absence.reason for absence in quantity.absences))}
    scale = units.base(quantity.unit)
    value, low, high = (number * scale for number in (quantity.value, quantity.low, quantity.high))
    spread = {} if low == value == high else {"low": low, "high": high}
    doubted = {"doubted": True} if quantity.doubts else {}
    return found | {"value": value, **spread, "kind": quantity.kind.value, **doubted, "said": voice.value(quantity)}


def _compute(facts: MachineFacts, ceiling: Quantity, voice: Voice) -> dict[str, Any]:
    """The ceiling of the arithmetic: the matrix product that reached it."""
    members = ceiling.origin.operands if isinstance(ceiling.origin, Operation) else ()
    reached = next((member for member in members if member.measured and member.value == ceiling.value), None)
    if reached is None:
        return _input(facts.compute_ceiling, voice)
    product = next(product for product in facts.products if product.throughput is reached)
    named = voice.labels.filled("group", product.heading, **product.named)
    return _input(reached, voice) | {"title": f"{voice.labels.get('kind', reached.kind.value)}{voice.colon}{named}"}


def _timed(timed: Iterable[LanguageModel], voice: Voice) -> dict[str, list[dict[str, Any]]]:
    """Rates by model and format: of so many requests, on which engine, at which mean context, with which weights."""
    found: dict[str, list[dict[str, Any]]] = {}
    for model in timed:
        loaded = {"loaded": _input(model.weights, voice)} if model.weights.measured else {}
        for batch in model.timed_batches:
            rate = _input(batch.rate, voice)
            told = {"requests": batch.requests, "engine": html.unescape(voice.engine(model.engine))}
            context = {"context": voice.value(batch.context)} if batch.context.measured else {}
            found.setdefault(model.subject, []).append({**told, **context, **loaded, **rate})
    return found


def published() -> dict[str, dict[str, Any]]:
    """The models of models.toml as data."""
    return {name: _model(model) for name, model in models.models().items()}


def _model(model: Model) -> dict[str, Any]:
    if len(model.windows) > 1:
        raise ValueError(f"{model.name} has windows of several lengths: give the calculator a shape for such a model")
    counted = {
        "parameters": model.parameters,
        "parameters_without_embeddings": model.parameters_without_embeddings,
        "head_parameters": model.embedding_parameters,
    }
    windows = {"window": model.windows[0]} if model.windows else {}
    return {
        "title": model.title,
        "shape": (Shape.WINDOWED if windows else Shape.PLAIN).value,
        "inputs": counted | windows,
        "formats": {precision: _kept(model, precision) for precision in models.BYTES_PER_WEIGHT},
    }


def _kept(model: Model, precision: str) -> Mapping[str, float]:
    """Bytes of keys and values for each token, of a model in a format."""
    subject = f"{model.name}-{precision}"
    kept = {"kv_per_token": models.kv_bytes_per_token(subject)}
    if model.windows:
        kept["kv_of_whole"] = models.kv_bytes_per_token(subject, window=0)
        kept["kv_in_window"] = models.kv_bytes_per_token(subject, window=model.windows[0])
    return kept


def formats() -> dict[str, dict[str, Any]]:
    """Formats as data: what a parameter takes, one of the embedding too, and how wide arithmetic has to be at least."""
    heads = models.BYTES_PER_EMBEDDING
    return {
        name: {"inputs": {"bytes_per_parameter": size, "bytes_per_head_parameter": heads[name]}, "width": WIDTHS[name]}
        for name, size in models.BYTES_PER_WEIGHT.items()
    }


def fields() -> dict[str, dict[str, Any]]:
    """Fields as data: the input that each gives, in units without prefixes, and its limits as typed."""
    return {field.name: _field(field) for field in FIELDS}


def _field(field: Field) -> dict[str, Any]:
    marks = {"whole": field.whole, "optional": field.optional}
    limits = {"low": field.low, "high": field.high}
    size = units.base(units.unit(field.unit))
    return {"gives": field.gives, "base": size, **limits, **{name: True for name, set_ in marks.items() if set_}}
