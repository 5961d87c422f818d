"""What a page says of itself where it is linked or listed: one line for search engines and for cards in messages.

The theme prints it into an attribute as it is, so whatever comes from the data is HTML already.
"""

from __future__ import annotations

from collections.abc import Iterable

from templates.html import plain
from templates.truth import Claim, Outcome
from templates.voice import Voice


def article(edition: str, claims: Iterable[Claim], voice: Voice) -> str:
    """How many conclusions an edition's article tests, and how they came out."""
    outcomes = [claim.outcome for claim in claims]
    counts = {outcome.value: voice.number(outcomes.count(outcome)) for outcome in Outcome}
    name = voice.labels.get("edition", edition)
    return voice.labels.filled("description", "article", edition=name, all=voice.number(len(outcomes)), **counts)


def receipts(edition: str, voice: Voice) -> str:
    """What a receipt holds."""
    return voice.labels.filled("description", "receipts", edition=voice.labels.get("edition", edition))


def run(run_id: str, machine: str, date: str, voice: Voice) -> str:
    """Which machine, when, and what its page tells."""
    return voice.labels.filled("description", "run", run=plain(run_id), machine=plain(machine), date=date)
