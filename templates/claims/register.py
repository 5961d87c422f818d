"""The register that a file of claims fills: predicates over an edition's facts, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from templates.facts.edition import Edition
from templates.truth import Truth

Predicate: TypeAlias = Callable[[Edition], Truth]


class Register(dict[str, Predicate]):
    """Predicates by name, in the order they are written."""

    def claim(self, predicate: Predicate) -> Predicate:
        """Take a predicate in under its own name."""
        self[predicate.__name__] = predicate
        return predicate
