"""What an importer finds in a file: the machine as far as it is named, and the measurements under their keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.keys import Key
from measure.results import ResultsError, Summary

T = TypeVar("T")

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Configuration: TypeAlias = Mapping[str, str | int | float | bool]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**18)]
Text = Annotated[str, msgspec.Meta(max_length=500)]
"""Names and descriptions: short enough to be shown in a message."""

Whole = Annotated[int, msgspec.Meta(gt=0, le=10**18)]

AGREEMENT = 0.02
"""Share by which a figure may differ from what the file's other figures make of it: tools round what they write."""

QUARTILES_HOLD = 16
"""From so many values on, the quartiles hold the median with more than 95% (binomial, as in Conover's interval)."""


class Entry(NamedTuple):
    """One measurement: its key, unit, every repetition or else their summary, and how it was made."""

    key: Key
    unit: str
    values: Sequence[float] = ()
    summary: Summary | None = None
    config: Configuration = MappingProxyType({})


@dataclass(frozen=True)
class Reading:
    """All that is taken from one file."""

    entries: Sequence[Entry]
    machine: str
    """The name of the card or processor."""
    device: str
    accelerators: int = 1
    driver: str = ""
    at: str = ""
    """ISO 8601; without a zone where the file tells none; empty if it tells no time."""
    versions: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    """What to keep in place of a setting's value that must not be kept, such as a path."""
    notes: Sequence[str] = ()
    """Sentences to show: what was left out, and what a human should compare."""


class Content(Protocol):
    """The typed content of a file."""

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        """What has to be told about it, and what can be."""

    def read(self, given: Given, where: str) -> Reading:
        """The measurements in it. Raises ResultsError for figures that cannot be."""


class Format(Protocol):
    """What the module of one format offers."""

    TOOL: str
    NAMES: frozenset[str]
    """Names that its object has, and that no other format's object has all of."""

    def decode(self, documents: Sequence[Document], where: str) -> Content:
        """Raises ResultsError naming the place of what is not as the tool writes it."""


def typed(document: Document, kind: type[T], tool: str, where: str) -> T:
    """Decode one JSON value; raises ResultsError naming the place in it that is not as `tool` writes it."""
    try:
        return msgspec.json.decode(document.text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise ResultsError(f"{where}: not as {tool} writes it: {error}. Import its file unchanged.") from None


def alone(documents: Sequence[Document], tool: str, where: str) -> Document:
    """The one JSON value of a file that has to hold one."""
    if len(documents) != 1:
        raise ResultsError(f"{where}: {tool} writes one result a file, here are {len(documents)}. Split the file.")
    return documents[0]


def agree(name: str, told: float, made: float, where: str) -> None:
    """Refuse a figure that contradicts the file's other figures."""
    if not (math.isfinite(made) and abs(told - made) <= AGREEMENT * abs(made)):
        what = f"{name} is {told:g}, but the other figures make {made:g}"
        raise ResultsError(f"{where}: contradicts itself: {what}. Import the tool's file unchanged.")


def middle(median: float, quartiles: tuple[float, float], ends: tuple[float, float], count: int) -> Summary:
    """A median with an interval that holds it: between the quartiles of enough values, else of all values."""
    low, high = quartiles if count >= QUARTILES_HOLD else ends
    return Summary(median, min(low, median), max(high, median), count)


def inverse(summary: Summary, factor: float) -> Summary:
    """The summary of `factor` over each value."""
    low = factor / summary.high if summary.high else None
    high = factor / summary.low if summary.low else None
    return Summary(factor / summary.median, low, high, summary.count)


def plain(number: float) -> int | float:
    """A whole number as one."""
    return int(number) if number == int(number) else number
