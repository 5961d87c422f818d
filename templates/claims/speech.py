"""What the article concludes about synthesis, recognition and the turn that they are parts of."""

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


# Synthesis


@claim
def time_proportional(e: Edition) -> Truth:
    """A straight line explains the time of an utterance by its length."""
    return at_least(e.voxcpm.fit_r2, e.thresholds.linear)


@claim
def factors_fit_line(e: Edition) -> Truth:
    """No utterance has a smaller real-time factor than the line gives the longest one."""
    return at_least(e.voxcpm.factor_low, e.voxcpm.factor_by_line)


@claim
def faster_than_playback(e: Edition) -> Truth:
    """One more second of sound takes less than a second of work, so that a player keeps being supplied."""
    return below(e.voxcpm.slope, e.thresholds.realtime)


@claim
def slower_than_paper(e: Edition) -> Truth:
    """A second of sound takes longer than the paper's real-time factor."""
    return at_least(e.voxcpm.slope_over_paper, e.thresholds.pays)


@claim
def fewer_steps_pay(e: Edition) -> Truth:
    """Fewer diffusion steps speed synthesis up almost in proportion."""
    fewer = e.voxcpm.steps[1:]
    return every((at_least(steps.gain_share, e.thresholds.proportionate) for steps in fewer), e.voxcpm.path)


@claim
def stacking_pays(e: Edition) -> Truth:
    """Stacking frames speeds Magpie up almost in proportion."""
    stacked = e.magpie.stacks[1:]
    return every((at_least(stack.gain_share, e.thresholds.proportionate) for stack in stacked), e.magpie.path)


@claim
def steps_not_size(e: Edition) -> Truth:
    """A model far larger in parameters is about as fast, or faster: steps count, not parameters."""
    pair, t = e.synthesis, e.thresholds
    return at_least(pair.parameters_ratio, t.apart) & at_most(pair.factor_ratio, t.alike)


@claim
def streaming_shortens(e: Edition) -> Truth:
    """The first sound, streaming, comes before a whole utterance is done."""
    return below(e.turn.speak_streaming, e.voxcpm.utterance_low)


# Recognition


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


# One turn


@claim
def synthesis_most_of_turn(e: Edition) -> Truth:
    """Synthesis, played when whole, is most of what follows recognition."""
    return at_least(e.turn.synthesis_share, e.thresholds.most)


@claim
def streaming_changes_turn(e: Edition) -> Truth:
    """Played from the first patch on, synthesis takes a smaller share."""
    return above(e.turn.synthesis_share, e.turn.streaming_share)


def _compared(e: Edition) -> list[Chunk]:
    """Chunks whose error rate on read speech can be held against another's."""
    measured = [chunk for chunk in e.recognition.chunks if chunk.error_read.measured]
    return measured[:1] if len(measured) > 1 else []
