"""What the article concludes about one patch of VoxCPM2: what it spends its time on, and what streaming makes of it."""

from __future__ import annotations

from templates.claims.alike import agrees
from templates.claims.register import Register
from templates.facts.edition import Edition
from templates.truth import Truth, at_least, at_most, below, every

register = Register()
claim = register.claim


@claim
def calls_on_line(e: Edition) -> Truth:
    """A straight line explains the time of a patch by the calls of its diffusion network."""
    return at_least(e.voxcpm.loop.fit_r2, e.thresholds.linear)


@claim
def diffusion_most_of_patch(e: Edition) -> Truth:
    """By that line, the calls are most of a patch with the most time steps."""
    return at_least(e.voxcpm.steps[0].network_share, e.thresholds.most)


@claim
def patch_is_kernels(e: Edition) -> Truth:
    """As the package compiles it, a kernel runs most of a patch."""
    return at_least(e.voxcpm.compiled.busy_share, e.thresholds.most)


@claim
def eager_patch_is_gaps(e: Edition) -> Truth:
    """With every kernel launched by itself, none runs most of a patch."""
    return below(e.voxcpm.eager.busy_share, e.thresholds.most)


@claim
def compiling_pays(e: Edition) -> Truth:
    """Compiling makes a patch faster, with the most time steps and with the fewest."""
    return every((at_least(steps.compile_gain, e.thresholds.pays) for steps in e.voxcpm.both_ways), e.voxcpm.path)


@claim
def small_cache_pays(e: Edition) -> Truth:
    """Caches with fewer places, most of them as unused as before, make a patch faster."""
    return at_least(e.voxcpm.cache.gain, e.thresholds.pays)


@claim
def parts_add_up(e: Edition) -> Truth:
    """Taken apart, a patch takes about as long as it does otherwise."""
    return agrees(e.voxcpm.parts_over_patch, e.thresholds.agrees)


@claim
def prefill_most_of_fixed(e: Edition) -> Truth:
    """Taking in the text is most of the fixed time."""
    return at_least(e.voxcpm.prefill_share, e.thresholds.most)


@claim
def first_sound_as_calculated(e: Edition) -> Truth:
    """The first sound comes after the fixed time and one patch."""
    return agrees(e.voxcpm.streaming.over_estimate, e.thresholds.agrees)


@claim
def never_dry(e: Edition) -> Truth:
    """A player that starts with the first chunk always has something to play."""
    return at_most(e.voxcpm.streaming.underrun, e.thresholds.unheard)


@claim
def streaming_costs(e: Edition) -> Truth:
    """A patch takes longer when it is streamed."""
    return at_least(e.voxcpm.streaming.slower, e.thresholds.pays)
