"""What a cache-aware FastConformer transducer computes in a step, counted from its shape: the arithmetic by formula.

A multiplication and an addition are two operations. Norms, activations, softmax, masks and shifts are left out, as they
are by torch's counter, against which a measurement checks these formulas. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FRAME_MS = 80.0
"""Of sound in one encoder frame: features every 10 ms, subsampled eightfold."""

FEATURE_MS = 10.0
"""From one feature (mel) frame to the next."""


class Shape(NamedTuple):
    """Sizes of a FastConformer encoder, a language prompt, and an RNN transducer (RNNT)."""

    layers: int = 24
    hidden: int = 1024
    heads: int = 8
    expansion: int = 4
    """Width of the feed-forward layers over `hidden`."""
    kernel: int = 9
    """Frames that the depthwise convolution of a layer sees, none of them to the right."""
    subsampling: int = 8
    channels: int = 256
    """Of the subsampling convolutions, which are 3 x 3 with a stride of 2."""
    features: int = 128
    left: int = 56
    """Frames that a layer looks back on, and that its cache holds."""
    prediction: int = 640
    """Width of the prediction network's LSTM, and of the joint network."""
    prediction_layers: int = 2
    vocabulary: int = 13_087
    """Tokens, blank left out."""
    prompts: int = 128
    """Languages that a prompt can name; each frame gets them as a one-hot vector."""

    @property
    def cache_values(self) -> int:
        """Numbers that a stream's caches hold: inputs of attention and of the convolution, of each layer."""
        return self.layers * self.hidden * (self.left + self.kernel - 1)

    @property
    def parameters(self) -> int:
        """Numbers in the model; the encoder's layers have no biases."""
        hidden, width, convolutions = self.hidden, self.prediction, self.subsampling.bit_length() - 1
        stage = (9 + 1) * self.channels + (self.channels + 1) * self.channels
        projection = self.channels * subsampled(self.features, convolutions) * hidden + hidden
        layer = (4 * self.expansion + 8) * hidden**2 + (self.kernel + 14) * hidden
        encoder = (9 + 1) * self.channels + (convolutions - 1) * stage + projection + self.layers * layer
        lstm = self.prediction_layers * 8 * (width**2 + width)
        joint = (hidden + 1) * width + (width + 1) * width + (width + 1) * (self.vocabulary + 1)
        prompt = (hidden + self.prompts + 1) * 2 * hidden + (2 * hidden + 1) * hidden
        return encoder + (self.vocabulary + 1) * width + lstm + joint + prompt

    def chunk_ms(self, right: int) -> float:
        """Sound that a step takes in with so many frames of look-ahead."""
        return (right + 1) * FRAME_MS


NEMOTRON = Shape()
"""nvidia/nemotron-3.5-asr-streaming-0.6b: the sizes of its published configuration."""


def subsampled(size: int, stages: int = 1) -> int:
    """What causal convolutions of stride 2, padded by 2 ahead and 1 behind, leave of `size` frames or features."""
    for _ in range(stages):
        size = size // 2 + 1
    return size


def subsampling_flops(shape: Shape, times: Sequence[int]) -> int:
    """Of the convolutions that give so many frames one after another, and of the projection behind the last."""
    first, *others = times
    bins = subsampled(shape.features)
    total = 2 * 9 * shape.channels * first * bins
    for frames in others:
        bins = subsampled(bins)
        total += 2 * (9 + shape.channels) * shape.channels * frames * bins
    return total + 2 * times[-1] * bins * shape.channels * shape.hidden


def stages(shape: Shape, features: int) -> list[int]:
    """Frames behind each of the convolutions that `features` feature frames go through from their beginning."""
    return [subsampled(features, stage + 1) for stage in range(shape.subsampling.bit_length() - 1)]


def layer_flops(shape: Shape, frames: int, keys: int, projected: int) -> int:
    """Of one layer that computes `frames` frames which see `keys` keys, `projected` of them projected in this step.

    Relative positions are projected in each layer, one more than twice as many as keys less two.
    """
    hidden, positions = shape.hidden, 2 * keys - 1
    feed_forward = 2 * 2 * 2 * frames * hidden * shape.expansion * hidden
    query_and_output = 2 * 2 * frames * hidden * hidden
    keys_and_values = 2 * 2 * projected * hidden * hidden
    place = 2 * positions * hidden * hidden
    scores = 2 * frames * hidden * (keys + positions + keys)
    convolution = 2 * 3 * frames * hidden * hidden + 2 * frames * hidden * shape.kernel
    return feed_forward + query_and_output + keys_and_values + place + scores + convolution


def prompt_flops(shape: Shape, frames: int) -> int:
    """Of the two projections that mix the language into each frame."""
    return 2 * frames * (shape.hidden + shape.prompts + shape.hidden) * 2 * shape.hidden


def cached_flops(shape: Shape, right: int) -> int:
    """Of a step of encoder and prompt whose cache holds what goes into the layers, as NeMo's does.

    Keys and values of the cached frames are projected again, and nine feature frames of the chunk before are subsampled
    again.
    """
    frames = right + 1
    keys = shape.left + frames
    given = shape.subsampling * (frames + 1) + 1
    layers = shape.layers * layer_flops(shape, frames, keys, keys)
    return subsampling_flops(shape, stages(shape, given)) + layers + prompt_flops(shape, frames)


def keys_kept_flops(shape: Shape, right: int) -> int:
    """Of the same step with a cache of keys and values, and of what goes into each convolution, as transformers' is."""
    frames = right + 1
    times = [shape.subsampling * frames >> stage for stage in range(1, shape.subsampling.bit_length())]
    layers = shape.layers * layer_flops(shape, frames, shape.left + frames, frames)
    return subsampling_flops(shape, times) + layers + prompt_flops(shape, frames)


def window_flops(shape: Shape, frames: int, new: int) -> int:
    """Of a step that encodes a window of so many frames from its beginning, and gives the `new` last ones a prompt."""
    layer = layer_flops(shape, frames, frames, frames)
    given = window_features(shape, frames)
    return subsampling_flops(shape, stages(shape, given)) + shape.layers * layer + prompt_flops(shape, new)


def window_features(shape: Shape, frames: int) -> int:
    """Feature frames that encoding from the beginning makes so many encoder frames of: the first needs but one."""
    return shape.subsampling * (frames - 1) + 1


def joint_flops(shape: Shape, frames: int, tokens: float) -> float:
    """Of the transducer: frames projected, one joint a frame and a token, one prediction a token."""
    gates = 4 * shape.prediction
    prediction = shape.prediction_layers * 2 * 2 * shape.prediction * gates + 2 * shape.prediction**2
    joint = 2 * shape.prediction * (shape.vocabulary + 1)
    return 2 * frames * shape.hidden * shape.prediction + (frames + tokens) * joint + tokens * prediction
