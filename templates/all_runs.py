"""Every run that decoded for one request on a machine of measured bandwidth: those of editions, and all others.

What the page of comparison tells of them costs a little for each run; nothing else of a run that no edition tells is
looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from measure.results import Run
from templates.facts.cards import Cards
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.facts.machine import MachineFacts
from templates.facts.samples import Samples
from templates.facts.table import Thresholds
from templates.quantity import Quantity
from templates.shared import Shared
from templates.truth import Outcome, at_least

OWN = "here"
"""The reader's own run: told of where its edition is, and nowhere else."""

MOST = 200
"""Points that have a row in the page. What is beyond them comes with the chart, so that the page stays light."""


class Point(NamedTuple):
    """A model as one run decoded it on one engine, on one card or several.

    `edition` has its receipts; "" where none tells the run.
    """

    run: Run
    model: LanguageModel
    edition: str = ""

    @property
    def bandwidth(self) -> Quantity:
        return self.model.machine.bandwidth

    @property
    def share(self) -> Quantity:
        return self.model.share

    @property
    def alone(self) -> bool:
        """Whether one card, or the processor, did all; conclusions are about the memory of one."""
        return self.model.cards == 1

    @property
    def kind(self) -> str:
        """What kind of machine it is: one of DEVICES."""
        return self.run.machine.device


class AllRuns:
    """The points of all runs, in the order of their machines' bandwidth; made once for all languages."""

    def __init__(self, editions: Sequence[Edition], others: Iterable[Point] = ()) -> None:
        self.thresholds: Thresholds = editions[0].thresholds
        told = {_key(point): point for edition in reversed(editions) for point in _told(edition)}
        self.points = sorted([*told.values(), *others], key=_place)
        self.shared = Shared()
        """What is said of the runs that no edition tells, in every language."""

    @property
    def alone(self) -> list[Point]:
        """Those on one card."""
        return [point for point in self.points if point.alone]

    @cached_property
    def small_on_fast(self) -> list[Point]:
        """Small models on machines with fast memory."""
        return [point for point in self.alone if self.is_fast(point) and self.is_small(point)]

    @cached_property
    def best_on_slow(self) -> list[Point]:
        """Each model on each machine without fast memory, on the engine with which it reads most."""
        found: dict[tuple[str, str], Point] = {}
        for point in self.alone:
            of = (point.run.id, point.model.subject)
            if not self.is_fast(point) and (of not in found or _value(found[of].share) < _value(point.share)):
                found[of] = point
        return list(found.values())

    @cached_property
    def near(self) -> list[Point]:
        """Those that come near the bandwidth."""
        near = self.thresholds.near
        return [point for point in self.alone if at_least(point.share, near).outcome is Outcome.HOLDS]

    @property
    def shown(self) -> list[tuple[int, Point]]:
        """The points that have a row in the page, each with its place among all."""
        beyond = {number for number, _ in self.beyond}
        return [(number, point) for number, point in enumerate(self.points) if number not in beyond]

    @cached_property
    def beyond(self) -> list[tuple[int, Point]]:
        """Those for which the page has no room: of runs that no edition tells, the earliest."""
        untold = [(number, point) for number, point in enumerate(self.points) if not point.edition]
        earliest = sorted(untold, key=lambda each: each[1].run.started)[: max(0, len(self.points) - MOST)]
        return sorted(earliest, key=lambda each: each[0])

    def is_fast(self, point: Point) -> bool:
        return _value(point.bandwidth) >= _value(self.thresholds.fast)

    def is_small(self, point: Point) -> bool:
        return _value(point.model.weights) < _value(self.thresholds.small)


def others(editions: Sequence[Edition]) -> list[Point]:
    """The points of the runs that no edition tells."""
    told = {run.id for edition in editions for run in edition.runs}
    return [
        point
        for run in editions[0].results.runs
        if run.id not in told and run.id != OWN and _decodes(run)
        for point in _untold(run, editions[0])
    ]


def _decodes(run: Run) -> bool:
    """Whether its keys tell of a rate and of a bandwidth; asked before the run is judged, which takes longer."""
    return any(text.startswith("bandwidth/") for text in run.samples) and any(
        text.startswith("decode_") and "/rate?" in text for text in run.samples
    )


def _told(edition: Edition) -> Iterator[Point]:
    spread = [model for each in edition.cards.models for model in (each.one, each.several)]
    for model in dict.fromkeys([edition.focus, *edition.models, *spread]):
        if model.samples.run and model.share.measured:
            yield Point(model.samples.run, model, edition.id)


def _untold(run: Run, edition: Edition) -> Iterator[Point]:
    machine = MachineFacts(Samples(run.id, run, edition.verdicts))
    models = [LanguageModel(machine.samples, machine, *of) for of in machine.samples.subjects("rate")]
    spread = [each.several for each in Cards(run.id, machine, models).models]
    for model in [*models, *spread]:
        if model.share.measured:
            yield Point(run, model)


def _key(point: Point) -> tuple[str, str, str, int]:
    return point.run.id, point.model.measurement, point.model.subject, point.model.cards


def _place(point: Point) -> tuple[float, str, float, str, str]:
    model = point.model
    return _value(point.bandwidth), point.run.id, _value(model.weights), model.subject, model.engine


def _value(quantity: Quantity) -> float:
    return quantity.value or 0.0
