"""VoxCPM2 is built as published, asked as its package wants to be asked, and taken apart where its stages end."""

import json

import msgspec
import pytest
import torch
from voxcpm_package import COSTS, SHAPE, Clock, Model, package  # noqa: F401  # a fixture

from measure.synthesis import speaking, voxcpm2_weights
from measure.synthesis.speaking import Ask
from measure.synthesis.voxcpm2 import VOICE_STAGE, VoxCPM2
from measure.synthesis.voxcpm2_weights import Shape
from measure.weights import WeightsError

TEXT = " ".join(voxcpm2_weights.WORDS[:10])


@pytest.fixture
def engine(package):  # noqa: F811
    return VoxCPM2(voxcpm2_weights.random("cpu", compiled=False), "cpu")


def test_the_published_shape_tells_what_a_patch_is():
    shape = voxcpm2_weights.published()
    assert (shape.patch_samples, shape.sample_rate) == (7680, 48_000), "160 ms"
    assert shape.parameters == pytest.approx(2.29e9, rel=1e-3)
    assert len(shape.config["lm_config"]["rope_scaling"]["short_factor"]) == 64


# Weights


def test_random_weights_are_in_the_published_precision_and_the_vae_in_fp32(package):  # noqa: F811
    model = voxcpm2_weights.random("cpu", compiled=False).tts_model
    kinds = {name: tensor.dtype for name, tensor in model.named_parameters()}
    assert {kind for name, kind in kinds.items() if not name.startswith("audio_vae.")} == {torch.bfloat16}
    assert kinds["audio_vae.weight"] == torch.float32
    assert torch.get_default_dtype() == torch.float32, "it is set back"
    assert not model.training and not any(tensor.requires_grad for tensor in model.parameters())


def test_random_weights_never_say_stop(package):  # noqa: F811
    assert not voxcpm2_weights.random("cpu", compiled=False).tts_model.stop_head.weight.any()


def test_a_wrong_shape_is_noticed(package, monkeypatch):  # noqa: F811
    monkeypatch.setattr(voxcpm2_weights, "published", lambda: Shape(SHAPE, 43, 7))
    with pytest.raises(WeightsError, match=r"random weights: has 42 numbers and 7, VoxCPM2 has 43 and 7"):
        voxcpm2_weights.random("cpu", compiled=False)


def test_a_checkpoint_goes_to_the_package_as_it_is(package):  # noqa: F811
    asked = {}

    def from_pretrained(place, **options):
        asked.update(options, place=place)
        return voxcpm2_weights.random("cpu", compiled=False)

    package["voxcpm.core"].VoxCPM.from_pretrained = from_pretrained
    voxcpm2_weights.real("cpu", "hub:openbmb/VoxCPM2", compiled=True)
    assert asked == {"place": "openbmb/VoxCPM2", "load_denoiser": False, "optimize": True, "device": "cpu"}


@pytest.mark.parametrize("error", [OSError("no such file"), ValueError("architecture"), KeyError("lm_config")])
def test_a_checkpoint_that_cannot_be_read_is_named(package, error):  # noqa: F811
    def from_pretrained(place, **options):
        raise error

    package["voxcpm.core"].VoxCPM.from_pretrained = from_pretrained
    with pytest.raises(WeightsError, match=r"^somewhere: cannot be loaded: .* Check the folder"):
        voxcpm2_weights.real("cpu", "somewhere", compiled=False)


def test_another_model_or_precision_is_refused(package, monkeypatch):  # noqa: F811
    pipeline = voxcpm2_weights.random("cpu", compiled=False)
    package["voxcpm.core"].VoxCPM.from_pretrained = lambda place, **options: pipeline
    pipeline.tts_model.config.dtype = "float32"
    with pytest.raises(WeightsError, match="folder: runs in float32, not in bfloat16"):
        voxcpm2_weights.real("cpu", "folder", compiled=False)
    monkeypatch.setattr(voxcpm2_weights, "published", lambda: Shape(SHAPE, 42, 8))
    with pytest.raises(WeightsError, match="folder: has 42 numbers and 7"):
        voxcpm2_weights.real("cpu", "folder", compiled=False)


def test_a_written_checkpoint_has_what_engines_read(package, tmp_path):  # noqa: F811
    from safetensors.torch import load_file

    voxcpm2_weights.write(tmp_path, "cpu")
    own = load_file(tmp_path / "model.safetensors")
    vae = torch.load(tmp_path / "audiovae.pth", weights_only=True)["state_dict"]
    assert "base_lm.weight" in own and not any(name.startswith("audio_vae.") for name in own)
    assert sum(tensor.numel() for tensor in own.values()) == 42
    assert set(vae) == {"weight"}
    assert json.loads((tmp_path / "config.json").read_bytes()) == msgspec.to_builtins(SHAPE)
    assert (tmp_path / "tokenizer.json").exists()


def test_each_word_is_one_token():
    tokenizer = voxcpm2_weights.tokenizer()
    assert tokenizer.tokenize(TEXT) == [f"▁{word}" for word in TEXT.split()]
    assert len(set(tokenizer.convert_tokens_to_ids(tokenizer.tokenize(TEXT)))) == len(set(TEXT.split()))


# The engine


def test_lengths_are_forced_and_bad_cases_not_tried_again(engine):
    assert engine.speak(Ask(TEXT, 9, 10)).size == 9 * engine.patch_samples
    assert [chunk.size for chunk in engine.stream(Ask(TEXT, 4, 10))] == [engine.patch_samples] * 4


def test_a_length_that_is_not_forced_is_the_models(engine):
    assert speaking.patches_of(engine, engine.speak(Ask(TEXT, None, 10))) == Model.natural + 1


def test_time_steps_are_passed_on(engine):
    slow, fast = (speaking.whole_s(engine, Ask(TEXT, 5, steps)) for steps in (10, 2))
    assert slow - fast == pytest.approx(5 * 8 * COSTS["call"] / 1e3)


def test_an_utterance_comes_apart_into_its_stages(engine):
    found, switches = engine.stages_s(Ask(TEXT, 6, 10), streamed=False)
    patch = {"diffusion": 12.0, "local_encoder": 2.5, "stop_check": 0.5, "language_model": 6.0}
    fixed = {"tokenising": 3.0, "prefill": 20.125, "cache_clearing": 4.0, "other": 5 * 0.125 + 0.75}
    expected = {**{stage: 6 * ms for stage, ms in patch.items()}, **fixed, "vae": 5.0 + 6 * 0.25}
    assert {stage: pytest.approx(ms / 1e3) for stage, ms in expected.items()} == found
    assert sum(found.values()) == pytest.approx(Clock.now)
    assert switches > 6 * 5


def test_streaming_decodes_each_patch(engine):
    found, _ = engine.stages_s(Ask(TEXT, 6, 10), streamed=True)
    assert found["vae"] == pytest.approx(6 * 5.25e-3)
    assert found["other"] == pytest.approx((6 * COSTS["copy"] + 5 * COSTS["projection"]) / 1e3)
    assert sum(found.values()) == pytest.approx(Clock.now)


def test_a_reference_voice_is_a_stage_and_lengthens_the_prefill(engine, tmp_path):
    found, _ = engine.stages_s(Ask(TEXT, 1, 10, tmp_path / "voice.wav"), streamed=False)
    assert (found[VOICE_STAGE], found["prefill"]) == (pytest.approx(0.030), pytest.approx(0.030125))


def test_taking_apart_leaves_no_trace(engine):
    before = {name: id(value) for name, value in vars(engine._model).items()}
    engine.stages_s(Ask(TEXT, 2, 10), streamed=True)
    assert {name: id(value) for name, value in vars(engine._model).items()} == before
    assert "forward" not in vars(engine._model.feat_decoder)


def test_a_package_whose_loop_has_changed_is_not_taken_apart(engine):
    del engine._model.stop_proj
    with pytest.raises(AttributeError, match="stop_proj"):
        engine.stages_s(Ask(TEXT, 2, 10), streamed=False)
    assert engine._model.text_tokenizer == engine._model._tokenize


def test_the_engine_says_how_it_runs(package):  # noqa: F811
    engine = VoxCPM2(voxcpm2_weights.random("cpu", compiled=True), "cpu")
    told = {"compiled": True, "max_length": 8192, "cfg_value": 2.0, "retry_badcase": False}
    assert engine.config == told
    with engine.eager():
        assert engine.config == {**told, "compiled": False}
    assert engine.config == told
    assert VoxCPM2(voxcpm2_weights.random("cpu", compiled=False), "cpu").config == {**told, "compiled": False}


def test_nothing_is_compiled_while_eager(engine):
    traced = []

    def backend(graph, inputs):
        traced.append(graph)
        return graph.forward

    double = torch.compile(lambda tensor: 2 * tensor, backend=backend)
    with engine.eager():
        double(torch.ones(1))
    assert not traced
    double(torch.ones(1))
    assert traced


def test_a_cache_of_another_size_is_made_as_the_package_makes_it(engine):
    before = engine.cache_bytes
    engine.resize(1024)
    assert engine.config["max_length"] == 1024
    assert engine.cache_bytes == before / 8
    for part in (engine._model.base_lm, engine._model.residual_lm):
        assert part.asked_for[-1] == (1, 1024, "cpu", torch.bfloat16)


def test_a_seed_makes_draws_repeat(engine):
    engine.seed(3)
    first = torch.rand(4)
    engine.seed(3)
    assert torch.equal(first, torch.rand(4))
