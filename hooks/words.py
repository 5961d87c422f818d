"""The words that the site's frame says, in three languages: labels.toml has them, with those of the pages."""

from __future__ import annotations

import tomllib
from pathlib import Path

LABELS = Path(__file__).parent.parent / "templates" / "labels.toml"

Words = dict[str, dict[str, str]]
"""Texts by name and language."""


def words(section: str) -> Words:
    """A section of labels.toml."""
    found: Words = tomllib.loads(LABELS.read_text(encoding="utf-8"))[section]
    return found
