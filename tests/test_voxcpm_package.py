"""The package voxcpm itself, where it is installed: built tiny on the processor, and measured as the true one is."""

import copy
import dataclasses
import importlib.metadata
import importlib.util
import wave

import pytest
import torch

if importlib.util.find_spec("voxcpm") is None:
    pytest.skip("voxcpm has an environment of its own", allow_module_level=True)

from measure import limits, machine, tts_voxcpm
from measure.keys import key
from measure.session import Session
from measure.store import load
from measure.synthesis import audio_file, speaking, voxcpm2_bench, voxcpm2_weights
from measure.synthesis.speaking import Ask, Lengths, Texts
from measure.synthesis.voxcpm2 import VoxCPM2
from measure.synthesis.voxcpm2_weights import Shape
from measure.weights import WeightsError

NAME, SUBJECT = "tts_voxcpm", "voxcpm2-bf16"
VERSION = importlib.metadata.version("voxcpm")
PUBLISHED = voxcpm2_weights.published()
SMALL = {"hidden_dim": 32, "ffn_dim": 64, "num_heads": 2, "num_layers": 1, "kv_channels": 16}
FACTORS = [1.0] * 8


def tiny():
    """The published configuration with everything small; a patch is 96 samples."""
    config = copy.deepcopy(PUBLISHED.config)
    config["lm_config"] |= {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
    }
    config["lm_config"] |= {
        "num_key_value_heads": 1,
        "kv_channels": 16,
        "vocab_size": 512,
        "max_position_embeddings": 256,
    }
    rotation = {"long_factor": FACTORS, "short_factor": FACTORS, "original_max_position_embeddings": 256}
    config["lm_config"]["rope_scaling"] |= rotation
    config["encoder_config"] |= SMALL
    config["dit_config"] |= SMALL
    vae = {"encoder_dim": 8, "encoder_rates": [2, 2, 2], "latent_dim": 8, "decoder_dim": 16, "decoder_rates": [4, 3, 2]}
    config["audio_vae_config"] |= vae
    more = {"residual_lm_num_layers": 1, "feat_dim": 8, "scalar_quantization_latent_dim": 16, "max_length": 256}
    return {**config, **more}


def counted(config):
    """What the package's classes hold for a configuration, built without storage."""
    _, kinds = voxcpm2_weights._package()
    made = kinds.VoxCPMConfig.model_validate({**config, "max_length": 8})
    with torch.device("meta"):
        vae = kinds.AudioVAEV2(config=made.audio_vae_config)
        return voxcpm2_weights.count(kinds.VoxCPM2Model(made, voxcpm2_weights.tokenizer(), vae, device="cpu"))


@pytest.fixture(scope="module")
def shape():
    config = tiny()
    return Shape(config, *counted(config))


@pytest.fixture
def small(monkeypatch, shape):
    """The tiny shape in place of the published one, on one thread: at this size several would only wait."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(voxcpm2_weights, "published", lambda: shape)
    yield shape
    torch.set_num_threads(threads)


@pytest.fixture
def engine(small):
    return VoxCPM2(voxcpm2_weights.random("cpu", compiled=False), "cpu")


@pytest.fixture
def session(small, monkeypatch, tmp_path):
    """A session that measures on the processor, a little of everything."""
    little = Lengths((2, 4, 6), short=2, long=6, repeats=3)
    for name in ("FULL", "EAGER"):
        monkeypatch.setattr(tts_voxcpm, name, little)
    monkeypatch.setattr(tts_voxcpm, "DEVICES", ("cpu",))
    monkeypatch.setattr(tts_voxcpm, "SMALL_CACHE", 64)
    monkeypatch.setattr(speaking, "FIRST_PATCHES", 2)
    monkeypatch.setattr(speaking, "FIRST_REPEATS", 3)
    monkeypatch.setattr(voxcpm2_bench, "STAGED", (1, 5))
    monkeypatch.setattr(voxcpm2_bench, "STREAMS", 3)
    monkeypatch.setattr(voxcpm2_bench, "STREAMED_PATCHES", 4)
    monkeypatch.setattr(voxcpm2_bench, "VOICE_S", 0.05)
    return Session(tmp_path / "results.json", "cpu", machine.describe("cpu"), packages=("voxcpm", "torch"))


def test_the_published_shape_is_what_the_package_counts():
    assert counted(PUBLISHED.config) == (PUBLISHED.parameters, PUBLISHED.vae_parameters)


def test_a_patch_is_the_sound_that_the_package_makes_of_one(engine):
    assert engine.patch_samples == 96
    assert engine.speak(Ask("the quick brown fox", 3, 4)).size == 3 * 96
    assert engine.sample_rate == engine._model.sample_rate


def test_every_key_is_measured_but_for_what_needs_a_card(session):
    tts_voxcpm.measure(session)
    (run,) = load(session.results).runs
    unmeasured = {text for text in map(str, tts_voxcpm.plan(session)) if text not in run.samples}
    card = {text for text in unmeasured if "/memory" in text or "/patch_kernel_time" in text}
    nano = set(map(str, tts_voxcpm.nano_keys()))
    assert unmeasured - card - nano - noisy(run) == set(), run.failures
    assert {run.failures[text].reason for text in card} == {"unsupported"}
    assert {run.failures[text].reason for text in nano} == {"engine_missing"}
    found = run.samples[f"{NAME}/{SUBJECT}/utterance_time?patches=6"]
    assert (found.versions["voxcpm"], found.config["compiled"], found.config["max_length"]) == (VERSION, False, 256)
    assert {verdict.status for verdict in limits.verdicts(run).values()} <= {"accepted", "suspect"}


def noisy(run):
    """Keys that a busy machine left without a value: differences of no more than the spread, as of a VAE so small."""
    words = ("not the slower one", "no longer than the spread")
    return {text for text, failure in run.failures.items() if any(word in failure.detail for word in words)}


def test_stages_are_those_of_the_packages_loop_and_add_up(engine):
    text = Texts(voxcpm2_weights.WORDS, engine.tokens).of(12)
    engine.stages_s(Ask(text, 4, 4), streamed=False)
    for streamed in (False, True):
        found, switches = engine.stages_s(Ask(text, 6, 4), streamed=streamed)
        stages = {"tokenising", "prefill", "cache_clearing", "diffusion", "local_encoder", "stop_check"}
        assert set(found) == {*stages, "language_model", "vae", "other"}
        # Two for each call of tokenising, cache clearing and VAE, six a patch, one for prefill and one at the end.
        assert switches == 2 * 3 + 2 * 2 + 2 * (6 if streamed else 1) + 6 * 6 + 2
        assert min(found.values()) > 0 and found["other"] < sum(found.values()) / 2


def test_a_reference_voice_is_loaded_and_encoded(engine, tmp_path):
    audio_file.write_noise(tmp_path / "voice.wav", 0.05, 48_000)
    found, _ = engine.stages_s(Ask("the quick brown fox", 2, 4, tmp_path / "voice.wav"), streamed=False)
    assert found["reference_voice"] > 0


def test_compiled_parts_are_taken_apart_without_being_compiled_again(engine):
    """Compiled as `optimize()` does on a card, but by a compiler that changes nothing."""
    from torch._dynamo.utils import counters

    model, how = engine._model, {"backend": "eager", "fullgraph": True}
    for part in (model.base_lm, model.residual_lm):
        part.forward_step = torch.compile(part.forward_step, **how)
    model._feat_encoder_raw, model.feat_encoder = model.feat_encoder, torch.compile(model.feat_encoder, **how)
    model.feat_decoder.estimator = torch.compile(model.feat_decoder.estimator, **how)
    assert engine.compiled and engine.parameters == voxcpm2_weights.published()[1:]
    ask = Ask("the quick brown fox", 3, 4)
    engine.speak(ask)
    counters.clear()
    engine.stages_s(ask, streamed=False)
    engine.stages_s(ask, streamed=True)
    with engine.eager():
        assert not engine.compiled
        engine.speak(ask)
    engine.speak(ask)
    assert not counters["stats"]["unique_graphs"]
    engine.resize(64)
    engine.speak(ask)
    assert counters["stats"]["unique_graphs"] >= 2
    torch.compiler.reset()


def test_a_folder_is_loaded_as_published_ones_are(small, tmp_path):
    voxcpm2_weights.write(tmp_path, "cpu")
    loaded = VoxCPM2(voxcpm2_weights.real("cpu", str(tmp_path), compiled=False), "cpu")
    made = VoxCPM2(voxcpm2_weights.random("cpu", compiled=False), "cpu")
    assert loaded.tokens("the quick brown fox") == made.tokens("the quick brown fox") == 4
    sounds = []
    for engine in (loaded, made):
        engine.seed(0)
        sounds.append(torch.from_numpy(engine.speak(Ask("the quick brown fox", 3, 4))))
    assert torch.equal(*sounds)


def test_a_folder_of_another_shape_is_refused(small, tmp_path, monkeypatch):
    voxcpm2_weights.write(tmp_path, "cpu")
    monkeypatch.setattr(voxcpm2_weights, "published", lambda: PUBLISHED)
    with pytest.raises(WeightsError, match="VoxCPM2 has 2290004544 and 94213954 in the audio VAE"):
        voxcpm2_weights.real("cpu", str(tmp_path), compiled=False)
    with pytest.raises(WeightsError, match="cannot be loaded"):
        voxcpm2_weights.real("cpu", str(tmp_path / "nothing"), compiled=False)


def test_sentences_are_said_and_kept(session, tmp_path, monkeypatch):
    """With weights from a folder. Random ones never stop, so the package ends each utterance at its own limit."""
    said = {"ko": ("오늘은 맑습니다.",), "en": ("the quick fox",), "zh": ("今天天气晴朗。",)}
    for module in (tts_voxcpm, voxcpm2_bench):
        monkeypatch.setattr(module, "sentences", lambda: said)
    planned = [*tts_voxcpm.first_keys(tts_voxcpm.FULL), *tts_voxcpm.sentence_keys()]
    monkeypatch.setattr(tts_voxcpm, "plan", lambda session: planned)
    (tmp_path / "model").mkdir()
    voxcpm2_weights.write(tmp_path / "model", "cpu")
    options = {"weights": str(tmp_path / "model"), "audio": str(tmp_path / "said")}
    real = dataclasses.replace(session, options=options)
    tts_voxcpm.measure(real)
    for language in said:
        found = real.load(key(NAME, "utterance_time", SUBJECT, language=language, sentence=1))
        assert found is not None, load(real.results).runs[0].failures
        assert found.config["patches"] == 6 * found.config["text_tokens"] + 10
        with wave.open(str(tmp_path / "said" / f"{SUBJECT}-{language}-1.wav")) as file:
            assert file.getnframes() == 96 * found.config["patches"]
    assert str(tmp_path) not in real.results.read_text()
