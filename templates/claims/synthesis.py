"""What the article concludes about speech synthesis."""

from __future__ import annotations

from templates.claims.alike import agrees
from templates.claims.register import Register
from templates.facts.constants import ONE
from templates.facts.edition import Edition
from templates.truth import Truth, at_least, at_most, below, every

register = Register()
claim = register.claim


@claim
def time_proportional(e: Edition) -> Truth:
    """A straight line explains the time of an utterance by its length, and longer ones grow no faster than shorter."""
    straight, growth = at_least(e.voxcpm.fit_r2, e.thresholds.linear), e.voxcpm.slope_growth
    return straight & agrees(growth, e.thresholds.agrees) if growth.measured else straight


@claim
def factors_fit_line(e: Edition) -> Truth:
    """No utterance has a real-time factor that lies by more than the margin below the longest one's by the line."""
    return at_least(e.voxcpm.factor_low, e.voxcpm.factor_by_line * (ONE - e.thresholds.fitting))


@claim
def faster_than_playback(e: Edition) -> Truth:
    """One more second of sound takes less than a second of work, so that a player keeps being supplied."""
    return below(e.voxcpm.slope, e.thresholds.realtime)


@claim
def slower_than_paper(e: Edition) -> Truth:
    """Whole utterances have a larger real-time factor than the paper's."""
    return at_least(e.voxcpm.factor_over_paper, e.thresholds.pays)


@claim
def fewer_steps_pay(e: Edition) -> Truth:
    """Fewer diffusion steps speed synthesis up almost in proportion."""
    fewer = e.voxcpm.steps[1:]
    return every((at_least(steps.gain_share, e.thresholds.proportionate) for steps in fewer), e.voxcpm.path)


@claim
def steps_not_size(e: Edition) -> Truth:
    """A model far larger in parameters is about as fast, or faster: steps count, not parameters."""
    pair, t = e.synthesis, e.thresholds
    return at_least(pair.parameters_ratio, t.apart) & at_most(pair.factor_ratio, t.alike)


@claim
def streaming_shortens(e: Edition) -> Truth:
    """The first sound, as it was timed, comes before a whole utterance is done. No estimate could refute that."""
    return below(e.voxcpm.first_audio_timed, e.voxcpm.utterance_low)
