"""The data files of the pages, read with their types: editions, thresholds, evidence, labels.

A mistake in one of them is one error that names the file, the place in it and the cure.
"""

from __future__ import annotations

import datetime
import math
import re
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from templates import units

T = TypeVar("T")

FOLDER = Path(__file__).parent


class ConfigError(Exception):
    """A data file that cannot be used; the message names file, place and cure."""


class Focus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The worked example of an edition: a run, and measurement/model-precision in it."""

    run: str
    model: str


PARTS = ("models", "voxcpm", "magpie", "recognition", "cards")
"""Parts of the article that a run tells."""


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs tell which part of the article; a part that names none is asked of the run of `models`."""

    models: str
    voxcpm: str = ""
    magpie: str = ""
    recognition: str = ""
    cards: str = ""
    """Models that were spread over several cards."""
    focus: Focus | None = None
    optional: bool = False

    @property
    def runs(self) -> set[str]:
        """Every run that it names."""
        return {*(getattr(self, part) for part in PARTS), *([self.focus.run] if self.focus else [])}

    def seating(self, run: str, seat: str) -> Told:
        """The same with `run` wherever the run `seat` stands."""
        parts = {name: run for name in PARTS if getattr(self, name) == seat}
        focus = msgspec.structs.replace(self.focus, run=run) if self.focus and self.focus.run == seat else self.focus
        return msgspec.structs.replace(self, **parts, focus=focus)


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The article that the site retells. `address` is empty where none is known."""

    date: datetime.date
    address: str = ""


class Author(msgspec.Struct, frozen=True):
    """One of those whom CITATION.cff names."""

    name: str


class Citation(msgspec.Struct, frozen=True):
    """What the site tells of CITATION.cff, at the root of the project."""

    title: str
    authors: list[Author]
    version: str
    license: list[str]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure with its unit. A value in quotation marks keeps the zeros at its end."""

    value: float | str
    unit: str
    source: str = ""
    place: str = ""

    @property
    def number(self) -> float:
        return float(self.value)

    @property
    def places(self) -> int | None:
        """Decimal places as written, where the value is in quotation marks."""
        return len(self.value.partition(".")[2]) if isinstance(self.value, str) else None


Label = dict[str, str]


@cache
def editions() -> dict[str, Told]:
    """editions.toml. Raises ConfigError."""
    told = {name: _whole(entry) for name, entry in _read("editions.toml", dict[str, Told]).items()}
    for name, entry in told.items():
        if entry.focus and entry.focus.model.count("/") != 1:
            raise _error("editions.toml", f"[{name}] focus: model reads measurement/model-precision")
    if all(entry.optional for entry in told.values()):
        raise _error("editions.toml", "there is no edition that is always told")
    return told


def _whole(told: Told) -> Told:
    return msgspec.structs.replace(told, **{part: getattr(told, part) or told.models for part in PARTS})


@cache
def source() -> Source:
    """source.toml. Raises ConfigError."""
    found = _read("source.toml", Source)
    if found.address and not re.fullmatch(r"https://[\w.~:/?#@!$&*+,;=%-]+", found.address):
        raise _error("source.toml", f"address {found.address!r} is no https address")
    return found


@cache
def citation() -> Citation:
    """CITATION.cff. Raises ConfigError."""
    file = FOLDER.parent / "CITATION.cff"
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=Citation)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{file.name}: {str(error).rstrip('.')}. Correct this file.") from None


@cache
def lines(name: str) -> dict[str, Line]:
    """A file of figures, such as thresholds.toml. Raises ConfigError."""
    found = _read(name, dict[str, Line])
    for place, line in found.items():
        try:
            fits = math.isfinite(line.number) and line.number > 0 and units.unit(line.unit) is not None
        except (KeyError, ValueError):
            fits = False
        if not fits:
            raise _error(name, f"{place}: a positive number and a unit of templates/units.py are needed")
    return found


@cache
def labels() -> dict[str, dict[str, Label]]:
    """labels.toml by section and name. Raises ConfigError."""
    return _read("labels.toml", dict[str, dict[str, Label]])


def _read(name: str, kind: type[T]) -> T:
    try:
        return msgspec.toml.decode((FOLDER / name).read_bytes(), type=kind)
    except OSError as error:
        raise _error(name, str(error.strerror)) from None
    except (msgspec.DecodeError, ValueError) as error:
        raise _error(name, str(error)) from None


def _error(name: str, what: str) -> ConfigError:
    return ConfigError(f"templates/{name}: {what.rstrip('.')}. Correct this file.")
