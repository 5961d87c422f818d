"""Labels: the short texts of labels.toml in one language. A label that is missing is an error, never a blank."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

LANGUAGES = ("ko", "en", "zh")
"""Languages of the site; the first is the default."""

_FILE = Path(__file__).with_name("labels.toml")


class LabelError(Exception):
    """A label that labels.toml does not have; the message names section, label and language."""


class Labels:
    """The labels of one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def get(self, section: str, name: str) -> str:
        """The label `name` of a section. Raises LabelError if it, or its text in this language, is missing."""
        try:
            return _labels()[section][name][self.language]
        except KeyError:
            place = f"templates/labels.toml [{section}] {name}"
            raise LabelError(f"{place}: no text in {self.language!r}. Add the label in all languages.") from None

    def has(self, section: str, name: str) -> bool:
        return name in _labels().get(section, {})


@cache
def _labels() -> dict[str, dict[str, dict[str, str]]]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)
