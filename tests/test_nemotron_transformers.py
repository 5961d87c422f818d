"""transformers' class of the same model: its size, its arithmetic and its streaming, on a tiny one."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from measure.recognition import conformer
from measure.recognition.conformer import Shape
from measure.recognition.nemotron import LOOK_AHEADS
from measure.recognition.nemotron_transformers import KeysKept

TINY = Shape(layers=2, hidden=64, heads=4, channels=16, prediction=32, vocabulary=254)


@pytest.fixture(scope="module")
def kept():
    torch.set_num_threads(1)
    with torch.inference_mode():
        return KeysKept(TINY, "fp32", "cpu")


def test_it_has_the_parameters_of_nemos(kept):
    """transformers gives the prediction network a projection of its own, and the joint none: as many all in all."""
    assert sum(each.numel() for each in kept.model.parameters()) == TINY.parameters


@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_the_arithmetic_of_a_step_is_the_formula(kept, right):
    """Up to the angles of positions: a matrix product in transformers 5.17, none in 5.24."""
    with torch.inference_mode():
        kept.attend("eager")
        kept.look_ahead(right)
        for _ in range(kept.steps_to_fill + 2):
            kept.encode(kept.chunk())
        with FlopCounterMode(display=False) as counter:
            frames = kept.prompt(kept.encode(kept.chunk()))
    kept.attend("sdpa")
    assert frames.shape == (1, right + 1, TINY.hidden)
    angles = TINY.hidden * (2 * (TINY.left + right + 1) - 1)
    assert counter.get_total_flops() - conformer.keys_kept_flops(TINY, right) in (0, angles)


@pytest.mark.parametrize("right", [0, 3])
def test_streamed_frames_are_those_of_the_whole(kept, right):
    """So the cache keeps what it has to: 20 chunks against all of them at once."""
    with torch.inference_mode():
        kept.look_ahead(right)
        kept._caches = {}
        first, later = kept.chunk(1 + 8 * right), [kept.chunk() for _ in range(20)]
        streamed = torch.cat([kept.encode(each) for each in (first, *later)], 1)
        whole = kept.model.encoder(
            input_features=torch.cat((first, *later), 1), num_lookahead_tokens=right
        ).last_hidden_state
    assert streamed.shape == whole.shape
    assert torch.allclose(streamed, whole, atol=1e-4)
