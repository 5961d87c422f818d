"""When two quantities count as the same."""

from __future__ import annotations

from templates.facts.constants import ONE
from templates.quantity import Quantity
from templates.truth import Truth, at_least, at_most


def agrees(ratio: Quantity, margin: Quantity) -> Truth:
    """Whether a ratio is one, to within a margin."""
    return at_least(ratio, ONE - margin) & at_most(ratio, ONE + margin)


def equal(one: Quantity, other: Quantity) -> Truth:
    return at_most(one, other) & at_least(one, other)
