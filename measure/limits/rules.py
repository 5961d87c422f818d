"""The table of rules: name (labels of the site go by it), judge, stage, and what to do, in English."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from measure.limits import ceilings, clocks, order, process, repeats, tokens, units
from measure.limits.case import Judge


class Stage(IntEnum):
    """When a rule is applied: what it rejects is no limit for the rules of later stages."""

    SAMPLE = 0
    """Rules that look at the sample and its machine alone."""
    LIMITS = 1
    """Rules that hold what limits are made of against what else tells of it."""
    CEILINGS = 2
    """Rules that hold a sample against these limits."""
    ORDER = 3
    """Rules that hold samples of one quantity against each other."""


@dataclass(frozen=True)
class Rule:
    """A line of the table."""

    name: str
    judge: Judge
    stage: Stage
    advice: str
    ceiling: bool = False
    """Whether an accepted sample's factor tells how near it came to the limit."""


RULES = (
    Rule(
        "buffer_in_cache",
        ceilings.buffer_in_cache,
        Stage.SAMPLE,
        "Measure with a buffer of at least four times the last-level cache.",
    ),
    Rule(
        "other_device",
        ceilings.other_device,
        Stage.SAMPLE,
        "Record it in a run of the machine and device that it was measured on, with the number of cards it used.",
    ),
    Rule(
        "token_count_differs",
        tokens.token_count_differs,
        Stage.SAMPLE,
        "Ignore the end of sequence, and count the tokens that were produced.",
    ),
    Rule(
        "prompts_repeated",
        tokens.prompts_repeated,
        Stage.SAMPLE,
        "Give every request a prompt of its own, of random tokens.",
    ),
    Rule(
        "tokens_cached",
        tokens.tokens_cached,
        Stage.SAMPLE,
        "Switch the engine's prefix cache off, or give every request new tokens.",
    ),
    Rule(
        "outputs_missing",
        tokens.outputs_missing,
        Stage.SAMPLE,
        "Score every recording, and count an empty output as deletions.",
    ),
    Rule(
        "parts_differ",
        order.parts_differ,
        Stage.SAMPLE,
        "Use one clock for first token, gaps and whole, and leave out what is not generation.",
    ),
    Rule(
        "start_up_inside",
        repeats.start_up_inside,
        Stage.SAMPLE,
        "Warm up with the same shapes until times settle, and do not count those passes.",
    ),
    Rule(
        "drifts",
        repeats.drifts,
        Stage.SAMPLE,
        "Warm up longer, let nothing else run, and watch clock and temperature.",
    ),
    Rule(
        "spread_wide",
        repeats.spread_wide,
        Stage.SAMPLE,
        "Repeat more often, let nothing else run, and time more work at once.",
    ),
    Rule(
        "percentile_beyond_count",
        repeats.percentile_beyond_count,
        Stage.SAMPLE,
        "Take more observations, or give a percentile nearer the median.",
    ),
    Rule(
        "profiler_loaded",
        process.profiler_loaded,
        Stage.SAMPLE,
        "Measure it in a process of its own, or before any kernels are traced.",
    ),
    Rule(
        "throttled",
        clocks.throttled,
        Stage.SAMPLE,
        "Cool the card or give it the power it needs, then measure again.",
    ),
    Rule(
        "clock_low",
        clocks.clock_low,
        Stage.SAMPLE,
        "Lift limits on clock and power, cool the card, and measure once the clock is steady.",
    ),
    Rule(
        "copy_counted",
        units.copy_counted,
        Stage.LIMITS,
        "Count a copy's bytes twice, once read and once written, and no more.",
    ),
    Rule(
        "unit_mistaken",
        units.unit_mistaken,
        Stage.LIMITS,
        "Check the unit: GB is 1,000³ bytes, GiB 1,024³, and a byte eight bits.",
    ),
    Rule(
        "above_datasheet",
        ceilings.above_datasheet,
        Stage.LIMITS,
        "Check that the datasheet is that of the device that ran, and the unit; measure with larger buffers.",
        ceiling=True,
    ),
    Rule(
        "above_bandwidth",
        ceilings.above_bandwidth,
        Stage.CEILINGS,
        "Check the clock, the count of tokens and the bytes of the weights; measure bandwidth with several kernels.",
        ceiling=True,
    ),
    Rule(
        "above_compute",
        ceilings.above_compute,
        Stage.CEILINGS,
        "Look for tokens that were not computed (a prefix cache); measure matrix products of several shapes and types.",
        ceiling=True,
    ),
    Rule(
        "far_below",
        ceilings.far_below,
        Stage.CEILINGS,
        "Look whether the work ran on the accelerator, with all layers there and the kernels meant for it.",
    ),
    Rule(
        "time_not_growing",
        order.time_not_growing,
        Stage.ORDER,
        "Measure all lengths again in turn; look for cached tokens in the long ones, for start-up in the short ones.",
    ),
    Rule(
        "held_up",
        order.held_up,
        Stage.ORDER,
        "Measure the single request again with more output tokens, while nothing else keeps the host busy.",
    ),
)
"""By stage. Of faults as bad as each other the first is told first: causes stand before what they lead to."""
