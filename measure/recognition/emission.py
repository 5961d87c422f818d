"""What random weights emit: a token on as many frames as speech has tokens, drawn beforehand and not left to them.

Left as drawn, random weights emit nothing or without end. Nor can a bias be set by which they emit now and then: what
their encoder makes of a frame differs less from frame to frame than it drifts, since each layer sees the left context
of the layer below it, and so a stream has not settled after minutes. A bias set on some frames is soon beyond all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from measure.recognition import conformer

if TYPE_CHECKING:
    from torch import Tensor

    from measure.recognition.nemotron import Recogniser

TOKENS_PER_SECOND = 4.0
"""How often random weights are made to emit, about as often as speech has tokens: given, not measured."""

BLOCK = 25
"""Frames, two seconds, of which always the same number emit, in an order of their own: short samples keep the rate."""

LENGTH, APART = 40_000 * BLOCK, 37
"""Frames that are drawn, and how many of them one stream is ahead of the one before it."""

UNIT = 0
"""The unit of the joint network that decides."""

DRIVE = 1e3
"""What that unit takes from the blank: far more than all others add to any token."""

CHECKED_STREAMS, CHECKED_FRAMES = 4, 2 * BLOCK


class Pattern:
    """Frames that emit, for any number of streams: each reads the same draw from a place of its own, and goes on."""

    def __init__(self, share: float, where: str) -> None:
        import torch

        order = torch.rand(LENGTH // BLOCK, BLOCK, generator=torch.Generator().manual_seed(0)).argsort(1)
        self.drawn = (order < round(share * BLOCK)).flatten().float().to(where)
        self.place = 0

    def next(self, streams: int, frames: int) -> Tensor:
        """1 for each of the next frames that emits, 0 for the others: (streams, frames). Nothing is copied."""
        start = self.place % (LENGTH - APART * (streams - 1) - frames)
        self.place += frames
        return self.drawn.as_strided((streams, frames), (APART, 1), start)

    def drive(self, layer: object, given: object, projected: Tensor) -> Tensor:
        """Put the pattern in the deciding unit of what the joint network's layer makes of frames."""
        projected[..., UNIT] = self.next(*projected.shape[:2])
        return projected


def force(recogniser: Recogniser) -> float:
    """Make random weights emit TOKENS_PER_SECOND; returns the rate that a trial gives, per stream.

    One unit of the joint network gets what the pattern says of a frame, and the blank depends on it above all. That is
    one copy of a number a frame besides what the decoder does anyway. Which token is emitted is left to the weights.
    At most one token a frame is allowed, since only trained weights know when a frame is done: they evaluate the joint
    network once more for each token to find out.

    Raises ArithmeticError if the decoder does not emit as often as that, or half or twice as often.
    """
    joint, last, share = recogniser.model.joint, recogniser.last, TOKENS_PER_SECOND * conformer.FRAME_MS / 1e3
    recogniser.pattern = Pattern(share, recogniser.device)
    recogniser.computer.max_symbols = 1
    for tensor in (joint.pred.weight[UNIT], joint.pred.bias[UNIT : UNIT + 1], last.weight[:, UNIT]):
        tensor.fill_(0)
    last.weight[-1, UNIT] = -DRIVE
    recogniser.always(DRIVE / 2, f"forced: one token on about {share:.0%} of the frames, drawn beforehand")
    joint.enc.register_forward_hook(recogniser.pattern.drive)
    made = _emitted(recogniser)
    if not TOKENS_PER_SECOND / 2 < made < 2 * TOKENS_PER_SECOND:
        raise ArithmeticError(f"these weights emit {made:.1f} tokens a second in place of {TOKENS_PER_SECOND:g}")
    return made


def _emitted(recogniser: Recogniser) -> float:
    """Tokens a second and stream, on frames of random numbers."""
    import torch

    size, where = (CHECKED_STREAMS, CHECKED_FRAMES, recogniser.shape.hidden), recogniser.device
    frames = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(where, recogniser.dtype)
    lengths = torch.full((CHECKED_STREAMS,), CHECKED_FRAMES, dtype=torch.long, device=where)
    told: Any = recogniser.computer(x=frames, out_len=lengths)[0]
    recogniser.forget()
    return float(told.current_lengths.sum()) / CHECKED_STREAMS / (CHECKED_FRAMES * conformer.FRAME_MS / 1e3)
