"""An utterance is what was asked for, or an error; and what it took adds up."""

import pytest
import torch
from fake_magpie import Clock, FakeMagpie, loop_s

from measure import timing
from measure.synthesis.magpie_speech import FEWEST_TOKENS, Made, Speaker, Way


@pytest.fixture
def model(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return FakeMagpie(2, clock)


@pytest.fixture
def speaker(model):
    return Speaker(model, "cpu", lambda count: [7] * count)


def test_steps_add_up_to_the_loop(speaker):
    made = speaker.speak(Way(2, 20))
    assert sum(made.steps_ms()) == pytest.approx(1e3 * loop_s(2, 20)) == pytest.approx(1e3 * made.loop_s)
    assert made.step_ms == pytest.approx(1e3 * loop_s(2, 20) / 10)
    assert len(made.steps_ms()) == 10


def test_a_cache_is_dropped_afterwards(speaker, model):
    speaker.speak(Way(2, 8, cache=True))
    assert model.asked == [(1, True, True)]
    assert not model.cached, "do_tts would take it for its own"


def test_a_forced_length_is_forced_no_longer_afterwards(speaker, model):
    speaker.speak(Way(2, 8))
    assert (model.inference_parameters.max_decoder_steps, model.inference_parameters.min_generated_frames) == (500, 4)


def given(model, frames=8, samples=400):
    """Let the loop and the codec give other lengths than they made."""
    loop = model.generate_speech

    def generate(*args, **kwargs):
        made = loop(*args, **kwargs)
        made.predicted_codes_lens = torch.tensor([frames])
        return made

    model.generate_speech = generate
    model._codec_helper.codes_to_audio = lambda codes, lengths: (None, torch.tensor([samples]), codes)


@pytest.mark.parametrize("lengths", [{"frames": 7}, {"samples": 399}])
def test_other_lengths_than_were_asked_for_are_an_error(speaker, model, lengths):
    given(model, **lengths)
    with pytest.raises(ArithmeticError, match="asked for 1 x 8 frames of 50 samples, got 4 steps"):
        speaker.speak(Way(2, 8))


def test_other_steps_than_were_asked_for_are_an_error(speaker, model):
    model.lacking = 1
    given(model)
    with pytest.raises(ArithmeticError, match="got 3 steps"):
        speaker.speak(Way(2, 8))


def test_lengths_that_are_as_asked_for_pass(speaker, model):
    given(model)
    assert speaker.speak(Way(2, 8)).frames == 8


def test_a_text_is_as_long_as_its_speech(speaker):
    assert speaker.frame_rate == 20
    assert speaker.text_tokens(40) == 28
    assert speaker.text_tokens(4) == FEWEST_TOKENS


def test_the_device_is_waited_for_before_each_reading(speaker, monkeypatch):
    waited = []
    monkeypatch.setattr(timing, "synchronize", waited.append)
    speaker.speak(Way(2, 8))
    assert waited == ["cpu"] * 3, "at the start, after the loop, and at the end"


def test_the_factor_counts_one_utterances_sound():
    assert Made(3.0, (0.5, 1.0), 2.0, 40, 2.0).factor == 1.5
