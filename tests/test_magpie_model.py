"""Where Magpie's weights come from, and the configuration that random ones are built from."""

import huggingface_hub
import pytest
from fake_magpie import Clock, FakeMagpie

from measure.synthesis import magpie_model
from measure.synthesis.magpie_model import Checkpoint
from measure.weights import WeightsError


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("hub:nvidia/magpie_tts", ("nvidia/magpie_tts", "magpie_tts.nemo")),
        ("hub:someone/copies/other/file.nemo", ("someone/copies", "other/file.nemo")),
    ],
)
def test_a_repository_of_the_hub_holds_a_file_of_its_name(monkeypatch, tmp_path, source, asked):
    told = []
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *given: told.append(given) or str(tmp_path / "x"))
    assert magpie_model.locate(source) == Checkpoint(tmp_path / "x")
    assert told == [asked]


def test_a_file_is_taken_as_it_is(tmp_path):
    (tmp_path / "any.nemo").touch()
    assert magpie_model.locate(str(tmp_path / "any.nemo")) == Checkpoint(tmp_path / "any.nemo")


def test_a_folder_is_searched_for_model_and_codec(tmp_path, monkeypatch):
    targets = {"a.nemo": "nemo.x.AudioCodecModel", "b.nemo": "nemo.y.MagpieTTSModel", "c.nemo": "nemo.z.FastPitchModel"}
    for name in targets:
        (tmp_path / name).touch()
    monkeypatch.setattr(magpie_model, "stored_config", lambda path: {"target": targets[path.name]})
    assert magpie_model.locate(str(tmp_path)) == Checkpoint(tmp_path / "b.nemo", tmp_path / "a.nemo")


@pytest.mark.parametrize("source", ["nowhere", "nowhere.nemo"])
def test_what_is_not_there_is_refused(tmp_path, source):
    with pytest.raises(WeightsError, match=r"no \.nemo file of Magpie there"):
        magpie_model.locate(str(tmp_path / source))


@pytest.mark.parametrize("stack", [1, 2, 4])
def test_a_stack_changes_only_what_the_class_wants_for_it(stack):
    config = magpie_model.model_config(stack)
    assert config["frame_stacking_factor"] == stack
    assert config["context_duration_max"] == max(10.0, 5.0 * stack)
    assert magpie_model.shape().model.items() <= config.items()


def test_an_error_leaves_no_length_forced():
    model = FakeMagpie(2, Clock())
    with pytest.raises(KeyError), magpie_model.frames_forced(model, 8):
        assert model.inference_parameters.max_decoder_steps == 8
        raise KeyError
    assert model.inference_parameters.max_decoder_steps == 500
