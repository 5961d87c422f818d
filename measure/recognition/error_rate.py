"""How many errors recognised texts have: character and word error rates over recordings, with a bootstrap interval.

An edit is a character or a word that is substituted, deleted or inserted (Levenshtein distance, counted by jiwer). The
rate of several recordings is the sum of their edits over the sum of their lengths, so that a long one weighs more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from measure.results import Config

NORMALISER = "NFKC, lower case; language tags, apostrophes and other punctuation removed; single spaces"
"""What `normalise` does, as a sample's configuration names it."""

RESAMPLES = 2000
"""Times that recordings are drawn anew for the interval."""

COVERED = 0.95
"""Share of the resampled rates that the interval holds."""

_LANGUAGE_TAG = re.compile(r"<[a-z]{2,3}-[a-z]{2,4}>", re.IGNORECASE)
_APOSTROPHES = re.compile(r"['\u2018\u2019]")


class Pair(NamedTuple):
    """A recording's transcript and what was recognised."""

    reference: str
    hypothesis: str


class Errors(NamedTuple):
    """Of one recording."""

    edits: int
    length: int
    """Characters or words of the transcript."""


class Score(NamedTuple):
    """Of all recordings. Rate and interval in percent."""

    rate: float
    low: float
    high: float
    errors: tuple[Errors, ...]
    empty: tuple[int, ...]
    """Places, from 1, of recordings with a transcript for which nothing was recognised; their edits are deletions."""

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the score."""
        return {
            "scored_recordings": len(self.errors),
            "empty_outputs": len(self.empty),
            "empty_places": ",".join(map(str, self.empty)) or "none",
            "edits": sum(each.edits for each in self.errors),
            "reference_length": sum(each.length for each in self.errors),
            "interval_low": self.low,
            "interval_high": self.high,
            "interval": f"{COVERED:.0%} percentile bootstrap over recordings, {RESAMPLES} resamples",
            "normaliser": NORMALISER,
        }


def normalise(text: str) -> str:
    """The text as it is compared: see NORMALISER. A removed apostrophe joins its neighbours, other signs part them."""
    plain = _APOSTROPHES.sub("", _LANGUAGE_TAG.sub(" ", unicodedata.normalize("NFKC", text).lower()))
    letters = "".join(" " if unicodedata.category(char)[0] in "PS" else char for char in plain)
    return " ".join(letters.split())


def characters(pair: Pair, *, spaces: bool = True) -> Errors:
    """Errors in characters of the normalised texts; without `spaces`, none counts as a character.

    Korean is spaced by rules that writers disagree on, so that both counts are told.
    """
    import jiwer

    made = jiwer.process_characters(*_comparable(pair, spaces))
    return _errors(made)


def words(pair: Pair) -> Errors:
    """Errors in words, which spaces part."""
    import jiwer

    return _errors(jiwer.process_words(*_comparable(pair, spaces=True)))


def _comparable(pair: Pair, spaces: bool) -> tuple[str, str]:
    reference, hypothesis = (normalise(text) for text in pair)
    return (reference, hypothesis) if spaces else (reference.replace(" ", ""), hypothesis.replace(" ", ""))


def _errors(made: object) -> Errors:
    hits, changed, lost, added = (getattr(made, name) for name in ("hits", "substitutions", "deletions", "insertions"))
    return Errors(changed + lost + added, hits + changed + lost)


def rate(errors: Sequence[Errors]) -> float:
    """Edits in percent of the transcripts' length. Where that is zero each edit counts whole, and none is no error."""
    edits, length = sum(each.edits for each in errors), sum(each.length for each in errors)
    return 100.0 * edits / max(length, 1)


def interval(errors: Sequence[Errors], seed: int = 0) -> tuple[float, float]:
    """Where the rate of other recordings of this kind would lie: the percentile bootstrap, recordings drawn anew.

    Source: Bisani and Ney, Bootstrap estimates for confidence intervals in ASR performance evaluation, ICASSP 2004.
    """
    random = Random(seed)
    rates = sorted(rate(random.choices(errors, k=len(errors))) for _ in range(RESAMPLES))
    outside = round((1 - COVERED) / 2 * RESAMPLES)
    return rates[outside], rates[-1 - outside]


def score(pairs: Sequence[Pair], errors: Sequence[Errors]) -> Score:
    """The rate over all recordings; `errors` are of the same `pairs`. Raises ValueError where there are none."""
    if not pairs or len(pairs) != len(errors):
        raise ValueError(f"{len(pairs)} recordings, {len(errors)} of them counted: each has to be, and one at least")
    lost = [
        place
        for place, pair in enumerate(pairs, start=1)
        if normalise(pair.reference) and not normalise(pair.hypothesis)
    ]
    return Score(rate(errors), *interval(errors), tuple(errors), tuple(lost))
