"""What the article concludes about streaming recognition."""

from __future__ import annotations

from itertools import pairwise

from templates.claims.register import Register
from templates.facts.edition import Edition
from templates.facts.recognition import Chunk
from templates.quantity import constant
from templates.truth import Truth, above, at_least, at_most, below, every

register = Register()
claim = register.claim

NONE = constant(0, "1", "zero")


@claim
def chunk_is_frames(e: Edition) -> Truth:
    """The chunk is (right context + 1) frames, for every setting of the model card."""
    chunks = e.recognition.chunks
    pairs = (at_most(c.length, c.card_length) & at_least(c.length, c.card_length) for c in chunks)
    return every(pairs, e.recognition.path)


@claim
def cache_pays(e: Edition) -> Truth:
    """A step with a cache takes less time than encoding the window again, for one stream."""
    gains = (at_least(chunk.cache_gain, e.thresholds.pays) for chunk in e.recognition.chunks)
    return every(gains, e.recognition.path)


@claim
def context_helps(e: Edition) -> Truth:
    """On synthetic voices the middle chunk has a lower error rate than the shortest, by more than counts as level."""
    return above(e.recognition.chunks[0].loss, e.thresholds.level)


@claim
def largest_chunk_best(e: Edition) -> Truth:
    """On synthetic voices no chunk has a lower error rate than the largest."""
    *others, largest = e.recognition.chunks
    return every((at_most(largest.error_synthetic, o.error_synthetic) for o in others), e.recognition.path)


@claim
def card_largest_best(e: Edition) -> Truth:
    """By the model card's rates no chunk has a lower error rate than the largest."""
    *others, largest = e.recognition.chunks
    return every((at_most(largest.card_error, o.card_error) for o in others), e.recognition.path)


@claim
def paper_look_ahead_helps(e: Edition) -> Truth:
    """In the paper on cache-aware recognition, each longer look-ahead has a lower error rate."""
    by_look_ahead = (e.evidence.noroozi_0, e.evidence.noroozi_240, e.evidence.noroozi_520, e.evidence.noroozi_1360)
    return every((below(longer, shorter) for shorter, longer in pairwise(by_look_ahead)), e.evidence.path)


@claim
def read_speech_level(e: Edition) -> Truth:
    """On read speech the chunk makes no difference worth the name. One chunk alone cannot differ."""
    return every((at_most(e.recognition.read_spread, e.thresholds.level) for _ in _compared(e)), e.recognition.path)


@claim
def nothing_empty(e: Edition) -> Truth:
    """Something came out for every recording of synthetic voices."""
    return every((at_most(chunk.empty_synthetic, NONE) for chunk in e.recognition.chunks), e.recognition.path)


@claim
def recognition_light(e: Edition) -> Truth:
    """A step takes a small part of its chunk's own length."""
    loads = (at_most(chunk.load, e.thresholds.light) for chunk in e.recognition.chunks)
    return every(loads, e.recognition.path)


def _compared(e: Edition) -> list[Chunk]:
    """Chunks whose error rate on read speech can be held against another's."""
    measured = [chunk for chunk in e.recognition.chunks if chunk.error_read.measured]
    return measured[:1] if len(measured) > 1 else []
