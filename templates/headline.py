"""The headline numbers of every part, for all editions side by side: which rows there are, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from measure.results import Run
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.quantity import Quantity
from templates.voice import Voice

Number = Quantity | tuple[Quantity, Quantity]
"""A fact, or the lowest and the highest of a range."""

MIDDLE = 2
"""The chunk of recognition that a turn is told with, among those of the model."""


class Figure(NamedTuple):
    """Numbers in a cell. `machine` is theirs where it has to be named: it is not the one of the edition's models."""

    numbers: tuple[Number, ...]
    machine: Run | None = None


class Row(NamedTuple):
    """A row of the table: its name, and for each edition its figures; none where an edition has no such thing."""

    name: Callable[[Voice], str]
    cells: list[list[Figure]]
    model: str = ""
    engine: str = ""
    """What it was measured with, where it is one model on one engine."""


def parts(editions: Sequence[Edition]) -> list[tuple[str, list[Row]]]:
    """The rows of each part of the article, by the part's entry in labels.toml [compare]."""
    return [
        ("memory", list(_machines(editions))),
        ("decoding", [*_models(editions, "rate", "share"), _all_models(editions, "share")]),
        ("prefill", [*_models(editions, "best_prefill"), *_prefill(editions)]),
        ("synthesis", list(_rows(editions, _synthesis))),
        ("recognition", list(_rows(editions, _recognition))),
        ("turn", list(_rows(editions, _turn))),
    ]


def _rows(editions: Sequence[Edition], facts: Callable[[Edition], list[Quantity]]) -> Iterator[Row]:
    """A row for each of the facts that every edition has."""
    for row in zip(*(facts(edition) for edition in editions), strict=True):
        yield _row(row[0], [[Figure((fact,))] for fact in row])


def _row(named: Quantity, cells: list[list[Figure]]) -> Row:
    return Row(lambda voice: voice.label(named), cells)


def _synthesis(e: Edition) -> list[Quantity]:
    return [e.voxcpm.slope, e.voxcpm.fixed, e.turn.speak_streaming]


def _recognition(e: Edition) -> list[Quantity]:
    chunk = e.recognition.chunks[MIDDLE]
    return [chunk.card_length, chunk.step_time, chunk.load, chunk.cache_gain]


def _turn(e: Edition) -> list[Quantity]:
    turn = e.turn
    return [turn.recognise, turn.take_in, turn.generate, turn.speak_whole, turn.speak_streaming, turn.synthesis_share]


# The machines of the language models


def _machines(editions: Sequence[Edition]) -> Iterator[Row]:
    for name in ("bandwidth", "compute_ceiling"):
        yield _row(getattr(editions[0].direct, name), [list(_ceilings(edition, name)) for edition in editions])


def _ceilings(edition: Edition, name: str) -> Iterator[Figure]:
    own = list(dict.fromkeys([edition.direct, edition.focus.machine]))
    for machine in own:
        yield Figure((getattr(machine, name),), machine.samples.run if len(own) > 1 else None)


# Language models


def _models(editions: Sequence[Edition], *names: str) -> Iterator[Row]:
    """A row for each model and engine for which several editions have all of these facts."""
    found: dict[tuple[str, str], dict[str, LanguageModel]] = {}
    for edition in editions:
        for model in [*edition.models, edition.focus]:
            if all(getattr(model, name).measured for name in names):
                found.setdefault((model.subject, model.engine), {})[edition.id] = model
    for (subject, engine), models in found.items():
        if len(models) > 1:
            cells = [list(_figure(models.get(edition.id), edition, names)) for edition in editions]
            yield Row(_title(subject, engine), cells, subject.rpartition("-")[0], engine)


def _title(subject: str, engine: str) -> Callable[[Voice], str]:
    return lambda voice: voice.model(subject, engine)


def _figure(model: LanguageModel | None, edition: Edition, names: tuple[str, ...]) -> Iterator[Figure]:
    if model:
        elsewhere = model.samples.run if model.machine is not edition.direct else None
        yield Figure(tuple(getattr(model, name) for name in names), elsewhere)


def _prefill(editions: Sequence[Edition]) -> Iterator[Row]:
    yield _all_models(editions, "prefill_over_decode")
    yield _all_models(editions, "prefill_compute_share")


def _all_models(editions: Sequence[Edition], name: str) -> Row:
    """The range of a fact over all models of the direct check."""
    ends = [(getattr(e.overall, f"{name}_low"), getattr(e.overall, f"{name}_high")) for e in editions]
    return _row(getattr(editions[0].focus, name), [[Figure((pair,))] for pair in ends])
