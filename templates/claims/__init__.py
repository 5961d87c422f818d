"""The conclusions of the article, as predicates over an edition's facts.

Each word that judges (near, much, most) is a threshold of thresholds.toml. A page has a sentence for each outcome.
"""

from __future__ import annotations

from templates.claims import cards, decoding, magpie, patch, recognition, step, synthesis, turn
from templates.claims.register import Predicate
from templates.facts.edition import Edition
from templates.truth import Claim

CLAIMS: dict[str, Predicate] = {
    **decoding.register,
    **step.register,
    **cards.register,
    **synthesis.register,
    **patch.register,
    **magpie.register,
    **recognition.register,
    **turn.register,
}


def judge(edition: Edition) -> dict[str, Claim]:
    """All claims of an edition, by name."""
    return {name: Claim(name, predicate(edition)) for name, predicate in CLAIMS.items()}
