"""Every number that decides a verdict, in one place, so that a test can move each of them and see a case turn red."""

TOLERANCE = 1.03
"""A limit is a measured median, and repeats of it spread by a percent or two; what it limits spreads as much."""

ONE_KERNEL = 1.15
"""A limit that rests on one kernel, one shape or a datasheet can lie this much below the machine's best: one matrix
shape was 13% below another on an H200. Up to there a sample is suspect; beyond, rejected."""

NARROW = 2.0
"""Arithmetic of half the width is at most twice as fast; where a limit was measured with wider arithmetic than a sample
may have used, it lies at most so far below."""

CACHE_FACTOR = 4
"""A buffer below four times the last-level cache is partly served from it (the rule of the STREAM benchmark)."""

READ = 0.8
"""Share of a speech model's weights that a step or patch reads at least: of an embedding, 7% of VoxCPM2, it reads rows,
and some small parts run less often."""

FAR_BELOW = 0.15
"""Engines reach from a third to nearly all of a limit. A share below this calls for a look at the path."""

HOST_S = 0.1
"""A pass through a model that takes less may be the host's: plain PyTorch takes 20 to 60 ms to launch one."""

PARTS = 1.05
"""A first token and the gaps after it, as medians or means over requests, add up to the whole within 5%."""

START_UP = 2.0
"""A first repeat that took so many times as long as the others, and longer than each of them, did something else."""

DRIFT = 0.05
"""Change from the first third of the repeats to the last that is no longer noise if the two also lie apart."""

THIRD = 3
"""Repeats that a third needs for its ends to be compared."""

WIDE = 0.25
"""An interval wider than a quarter of the median leaves the second digit of the figure open."""

TAIL = 0.01
"""Chance of error at which a percentile counts as supported, and the one MLPerf's LoadGen takes: it needs 64
observations for the 90th and 662 for the 99th."""

CLOCK_LOW = 0.6
"""Share of the card's highest clock below which a card is held back. An H200 at its power cap keeps 0.73 of it."""

CLOCK_FALLS = 0.9
"""Share of the first clock below which the last one has fallen."""

UNIT_MATCH = 1.012
"""How close a quotient has to come to 1.024², 1.024³ or 8 to be taken for a mistake of units: a tenth of their distance
from 1, and more than the rounding of a published figure."""

COPY_MATCH = 1.1
"""How close to two, or to a half, copying over reading has to be: kernels of one memory differ by some percent."""
