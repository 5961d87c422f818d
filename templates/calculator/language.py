"""What the calculator's page needs to say numbers and units in one language: the tables of `templates.formats`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from templates import formats, printed, units
from templates.voice import COMMAS, SEMICOLONS


def language(name: str, spelled: Iterable[str]) -> dict[str, Any]:
    """Signs, units and words of scale for docs/assets/javascripts/quantity.js, for units spelled so."""
    smaller = printed.SMALLER
    wanted = dict.fromkeys([*spelled, *smaller, *smaller.values()])
    return {
        "comma": COMMAS.get(name, ", "),
        "semicolon": SEMICOLONS.get(name, "; "),
        "locale": formats.LOCALES[name].replace("_", "-"),
        "units": {unit: _unit(unit, name) for unit in wanted},
        "scaled": formats.SCALED,
        "scales": [[power, formats.scale(word, name)] for power, word in formats.SCALES[name]],
        "said": {"long": printed.LONG_MS, "short": printed.SHORT, "smaller": smaller},
    }


def _unit(spelled: str, name: str) -> dict[str, Any]:
    """A unit's size, and what follows one and many of it."""
    one, many = ("", "") if spelled == formats.SCALED else (_after(figure, spelled, name) for figure in (1, 2))
    return {"base": units.base(units.unit(spelled)), "one": one, "many": many}


def _after(figure: int, spelled: str, name: str) -> str:
    return formats.quantity(figure, spelled, name).removeprefix(str(figure))
