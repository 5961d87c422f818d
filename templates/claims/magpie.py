"""What the article concludes about Magpie: where a step's time goes, what shortens it, and why its Korean failed."""

from __future__ import annotations

from templates.claims.register import Register
from templates.facts.constants import ONE
from templates.facts.edition import Edition
from templates.truth import Truth, at_least, at_most, below, every

register = Register()
claim = register.claim


@claim
def stacking_pays(e: Edition) -> Truth:
    """Stacking frames speeds Magpie up almost in proportion."""
    stacked = e.magpie.stacks[1:]
    return every((at_least(stack.gain_share, e.thresholds.proportionate) for stack in stacked), e.magpie.path)


@claim
def local_transformer_grows(e: Edition) -> Truth:
    """With a second frame in a step the local transformer takes longer almost in proportion, the decoder does not."""
    magpie, t = e.magpie, e.thresholds
    in_proportion = t.proportionate * magpie.published.count / magpie.single.count
    return at_least(magpie.local_growth, in_proportion) & at_most(magpie.decoder_growth, t.alike)


@claim
def local_transformer_most(e: Edition) -> Truth:
    """The local transformer takes most of a step, with as many frames to it as published."""
    return at_least(e.magpie.published.part("local_transformer").part_share, e.thresholds.most)


@claim
def stacking_pays_without(e: Edition) -> Truth:
    """Without the local transformer, stacking speeds Magpie up almost in proportion."""
    return at_least(e.magpie.published.without.gain_share, e.thresholds.proportionate)


@claim
def magpie_cache_pays(e: Edition) -> Truth:
    """The package's cache makes utterances faster, with the local transformer and without."""
    stacks = (e.magpie.single, e.magpie.published)
    gains = [gain for stack in stacks for gain in (stack.cached.gain, stack.bare_cache_gain)]
    return every((at_least(gain, e.thresholds.pays) for gain in gains), e.magpie.path)


@claim
def steps_even(e: Edition) -> Truth:
    """A step late in a long utterance takes about as long as one at its beginning, without the cache and with it."""
    growths = (e.magpie.step_growth, e.magpie.cached_growth)
    return every((at_most(growth, e.thresholds.alike) for growth in growths), e.magpie.path)


@claim
def magpie_waits(e: Edition) -> Truth:
    """No kernel runs most of the time of a step."""
    stacks = (e.magpie.single, e.magpie.published)
    return every((at_most(stack.kernels.kernel_share, ONE - e.thresholds.most) for stack in stacks), e.magpie.path)


@claim
def batching_pays(e: Edition) -> Truth:
    """Several utterances at once take less time than one after another."""
    return every((at_least(crowd.gain, e.thresholds.pays) for crowd in e.magpie.crowds[1:]), e.magpie.path)


@claim
def korean_lost(e: Edition) -> Truth:
    """The package names no tokenizer for Korean, and most Korean words are lost on the way to the model."""
    korean = e.magpie.korean
    return below(korean.tokenizers, ONE) & at_most(korean.words_kept, ONE - e.thresholds.most)
