"""The arithmetic and the sizes of a FastConformer by formula, against sums written out for one small shape."""

import pytest

from measure.recognition import conformer
from measure.recognition.conformer import (
    NEMOTRON,
    Shape,
    cached_flops,
    keys_kept_flops,
    layer_flops,
    subsampling_flops,
    window_features,
    window_flops,
)

TINY = Shape(
    layers=2, hidden=8, heads=2, channels=4, features=16, left=4, kernel=3, prediction=6, vocabulary=9, prompts=3
)


def test_parameters_are_those_that_nemo_builds():
    """Counted on the built model: encoder 609,141,760, prediction 14,940,160, joint 9,455,648, prompt 4,459,520."""
    assert NEMOTRON.parameters == 637_997_088


def test_the_cache_of_a_stream():
    assert NEMOTRON.cache_values * 2 / 2**20 == 3.0


@pytest.mark.parametrize(("right", "chunk"), [(0, 80), (1, 160), (3, 320), (6, 560), (13, 1120)])
def test_chunks_are_those_of_the_model_card(right, chunk):
    assert NEMOTRON.chunk_ms(right) == chunk


@pytest.mark.parametrize("frames", [1, 2, 57, 100])
def test_a_window_gives_the_frames_it_is_meant_to(frames):
    assert conformer.subsampled(window_features(NEMOTRON, frames), 3) == frames


def test_a_layer_written_out():
    """2 frames, 6 keys of which 6 are projected, hidden 8: every product once, two operations a multiplication."""
    products = (
        2 * (2 * 8 * 32 + 2 * 32 * 8)  # two feed-forward blocks
        + 2 * 8 * 8  # queries
        + 2 * 6 * 8 * 8  # keys and values
        + 11 * 8 * 8  # positions, from five before to five after
        + 2 * 6 * 8
        + 2 * 11 * 8  # scores by content and by place
        + 2 * 6 * 8  # weighted values
        + 2 * 8 * 8  # output
        + 2 * 8 * 16
        + 2 * 8 * 3
        + 2 * 8 * 8  # convolution: in, depthwise, out
    )
    assert layer_flops(TINY, 2, 6, 6) == 2 * products


def test_keeping_keys_and_values_saves_their_projection_and_the_second_subsampling():
    right = 3
    saved = cached_flops(TINY, right) - keys_kept_flops(TINY, right)
    twice = subsampling_flops(TINY, [21, 11, 6]) - subsampling_flops(TINY, [16, 8, 4])
    assert saved == TINY.layers * 2 * 2 * TINY.left * TINY.hidden**2 + twice


@pytest.mark.parametrize("right", [0, 1, 3, 6, 13])
def test_a_cache_saves_arithmetic_and_less_of_it_the_larger_the_chunk(right):
    frames = NEMOTRON.left + right + 1
    gain = window_flops(NEMOTRON, frames, right + 1) / cached_flops(NEMOTRON, right)
    assert 3 < gain < 6
    if right:
        smaller = window_flops(NEMOTRON, frames - 1, right) / cached_flops(NEMOTRON, right - 1)
        assert gain < smaller


def test_the_transducer_by_frames_and_tokens():
    frame, token = conformer.joint_flops(TINY, 1, 0), conformer.joint_flops(TINY, 0, 1)
    assert frame == 2 * (8 * 6 + 6 * 10)
    assert token == 2 * (6 * 10 + 2 * 2 * 6 * 24 + 6 * 6)
    assert conformer.joint_flops(TINY, 3, 2) == 3 * frame + 2 * token
