"""The words that the site's frame says, in three languages: labels.toml has them, with those of the pages."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

LABELS = Path(__file__).parent.parent / "templates" / "labels.toml"

Words = dict[str, dict[str, str]]
"""Texts by name and language."""


def words(section: str) -> Words:
    """A section of labels.toml."""
    return _read(LABELS.stat().st_mtime_ns)[section]


@lru_cache(maxsize=1)
def _read(changed: int) -> dict[str, Words]:
    """The whole file, once for each of its states: reading it takes a tenth of a second."""
    return tomllib.loads(LABELS.read_text(encoding="utf-8"))
