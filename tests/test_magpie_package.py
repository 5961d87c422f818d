"""Magpie in NeMo itself, at a tiny size, where NeMo is installed: counts, forced lengths, every key, checkpoints."""

import importlib
import importlib.util
import wave

import pytest
import tiny_magpie
import torch
from msgspec.structs import replace
from tiny import failures

from measure import machine, tts_magpie
from measure.keys import parse_key
from measure.session import Session
from measure.synthesis import magpie_bench, magpie_model, magpie_text, sentences
from measure.synthesis.magpie_bench import Scope
from measure.synthesis.magpie_speech import Speaker, Way
from measure.synthesis.stopwatch import replaced

pytestmark = pytest.mark.skipif(importlib.util.find_spec("nemo") is None, reason="NeMo has an environment of its own")

SMALL = Scope((2, 1), 16, mixed=(8, 16), lengths=(8, 24), depths=(4, 8), requests=(3,), apart=True)

STORED_NUMBERS = 359_698_319
"""In the published checkpoint, causal masks included."""

TOKENIZERS = "nemo.collections.common.tokenizers.text_to_speech.tts_tokenizers."


@pytest.fixture(autouse=True)
def one_thread():
    """At this size several would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tiny():
    made = tiny_magpie.shape()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(magpie_model, "shape", lambda: made)
        yield made


@pytest.fixture(scope="module")
def session(tiny, tmp_path_factory):
    """A run in which everything was measured with random weights."""
    here = replace(machine.describe("cpu"), cores=1)
    made = Session(tmp_path_factory.mktemp("tiny") / "results.json", "tiny", here, packages=tts_magpie.NEEDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tts_magpie, "CPU", SMALL)
        tts_magpie.measure(made)
        yield made


def sample(session, text):
    return session.load(parse_key(f"tts_magpie/magpie-multilingual/{text}"))


def test_the_shape_holds_as_many_numbers_as_the_published_checkpoint():
    """Built without storage: what counts are the tensors that the classes make of the configuration."""

    def bare(made):
        def build(cfg):
            with torch.device("meta"):
                return made(cfg=cfg)

        return build

    with replaced(magpie_model.package(), "MagpieTTSModel", bare):
        model = magpie_model.build(magpie_model.shape().stack)
    counts = magpie_model.count(model)
    assert counts.stored == STORED_NUMBERS
    assert counts.masks == (6 + 12) * 2048**2 + 2 * 18**2
    assert counts.parameters == STORED_NUMBERS - counts.masks - 2 - 5  # lengths of the voices are stored too
    assert sum(counts.parts.values()) == counts.parameters
    assert not any("context_encoder" in name for name, _ in model.named_parameters())


@pytest.mark.parametrize("stack", [1, 2, 4])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("cache", [True, False])
def test_as_many_frames_come_out_as_are_asked_for(tiny, stack, local, cache):
    model = magpie_model.random(stack, "cpu")
    speaker = Speaker(model, "cpu", magpie_text.random_text(model))
    told = []
    made = speaker.speak(Way(stack, 16, local, cache, requests=2), told.append)
    assert told == list(range(16 // stack))
    assert len(made.starts) == 16 // stack
    assert made.sound_s == pytest.approx(16 * 1024 / 22050)
    assert 0 < made.starts[0] < made.starts[-1] < made.loop_end < made.seconds
    assert model.inference_parameters.max_decoder_steps == 500
    assert "embed_audio_tokens" not in vars(model)


def test_the_cache_gives_the_codes_that_are_computed_without_it(tiny):
    """The prior on the text changes from step to step, and cached positions keep theirs: without it, both agree."""
    codes = []
    for cache in (False, True):
        model = magpie_model.random(2, "cpu")
        model.inference_parameters.apply_attention_prior = False
        model.inference_parameters.topk = 1
        speaker = Speaker(model, "cpu", magpie_text.random_text(model))
        decode, given = model._codec_helper.codes_to_audio, []
        model._codec_helper.codes_to_audio = lambda made, lengths, d=decode, g=given: (
            g.append(made),
            d(made, lengths),
        )[1]
        speaker.speak(Way(2, 24, cache=cache))
        codes.append(given[0])
    assert torch.equal(*codes)


def test_every_key_is_measured(session):
    for item in tts_magpie.plan(session):
        assert session.load(item) is not None, failures(session)
    assert sample(session, "frame_rate").values == [22050 / 1024]
    assert sample(session, "real_time_factor?requests=3&stack=2").config["produced_frames"] == 48
    assert sample(session, "step_time?stack=1").config["steps"] == 16
    assert sample(session, "real_time_factor?stack=2").versions["nemo"]
    assert sample(session, "memory") is None, "no card, whose memory it is"


def test_the_parts_of_a_step_make_up_the_whole(session):
    parts = [sample(session, f"step_part_time?part={part}&stack=2").values for part in tts_magpie.STEP_NAMES]
    whole = [sum(values) for values in zip(*parts, strict=True)]
    told = sample(session, "step_part_time?part=rest&stack=2").config
    assert sorted(whole)[1] == pytest.approx(told["step_ms_with_stopwatch"])
    assert all(value > 0 for values in parts for value in values)


def test_korean_has_no_tokenizer_in_the_packages_table(session):
    korean, english = (sample(session, f"tokenizers?language={language}") for language in ("ko", "en"))
    assert (korean.values, english.values) == ([0.0], [2.0])
    assert korean.config["in_package_table"] is False
    assert korean.config["without_one"] == "english_phoneme"
    assert "ko" not in korean.config["package_languages"].split()


def test_nothing_of_a_korean_sentence_is_left_by_english_phonemes(session):
    korean, english = (sample(session, f"words_kept?language={language}") for language in ("ko", "en"))
    assert (korean.values, english.values) == ([0.0] * 3, [100.0] * 3)
    assert (korean.config["class"], korean.config["tokenizer"]) == ("IPATokenizer", "english_phoneme")


def test_a_run_that_holds_everything_loads_nothing(session, monkeypatch):
    monkeypatch.setattr(magpie_bench.Bench, "speaker", lambda *_: pytest.fail("a model was loaded"))
    tts_magpie.measure(session)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A folder with a Magpie and its codec, saved by the package; its text tokenizers need no dictionary."""
    magpietts, create = magpie_model.package(), importlib.import_module("omegaconf").OmegaConf.create
    folder = tmp_path_factory.mktemp("magpie")
    tokenizers = {
        "english_phoneme": {"_target_": f"{TOKENIZERS}EnglishCharsTokenizer"},
        "german_chartokenizer": {"_target_": f"{TOKENIZERS}GermanCharsTokenizer"},
    }
    named = {"en": ["english_phoneme"], "de": ["german_chartokenizer"], "xx": []}
    with pytest.MonkeyPatch.context() as patch:
        made = tiny_magpie.shape(text_tokenizers=tokenizers, language_to_tokenizer_mapping=named)
        made.model["inference_parameters"]["max_decoder_steps"] = 16  # random weights never end an utterance
        patch.setattr(magpie_model, "shape", lambda: made)
        codec = magpietts.AudioCodecModel(cfg=create(magpie_model.codec_config()))
        codec.save_to(str(folder / "codec.nemo"))
        config = {**magpie_model.model_config(2), "codecmodel_path": str(folder / "codec.nemo")}
        model = magpietts.MagpieTTSModel(cfg=create(config))
        magpie_model.draw_voices(model)
        model.save_to(str(folder / "magpie.nemo"))
    return folder


@pytest.fixture(scope="module")
def real(checkpoint, tmp_path_factory):
    """A run in which a folder's checkpoint spoke a few sentences; what was spoken lies in `audio`."""
    texts = {"en": ["The train leaves.", "It rains."], "de": ["Es regnet."], "ko": ["비가 옵니다."]}
    folder = tmp_path_factory.mktemp("real")
    options = {"weights": str(checkpoint), "audio": str(folder / "audio")}
    here = replace(machine.describe("cpu"), cores=1)
    made = Session(folder / "results.json", "real", here, options=options, packages=tts_magpie.NEEDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "sentences", lambda: texts)
        patch.setattr(tts_magpie, "CPU", Scope((2, 1), 8, mixed=(8,), requests=(2,)))
        tts_magpie.measure(made)
        yield made


def test_a_folder_with_a_checkpoint_is_measured_and_spoken(real):
    planned = [str(item) for item in tts_magpie.plan(real)]
    assert not any("stack=1" in text for text in planned)
    assert failures(real) == {}
    assert all(real.load(parse_key(text)) for text in planned)
    spoken = sample(real, "real_time_factor?language=en")
    assert len(spoken.values) == 2
    assert (spoken.config["weights"], spoken.config["tokenizer"]) == ("real", "english_phoneme")
    with wave.open(str(real.results.parent / "audio" / "en-english_phoneme-1.wav")) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels()) == (22050, 2, 1)
        assert file.getnframes() / 22050 == pytest.approx(float(spoken.config["sound_s"].split()[0]), abs=0.01)


def test_a_language_without_a_tokenizer_is_spoken_with_english_ones(real):
    korean, german = (sample(real, f"real_time_factor?language={language}") for language in ("ko", "de"))
    assert {korean.config["tokenizer"], german.config["tokenizer"]} == {"english_phoneme"}
    assert sample(real, "words_kept?language=ko").values == [0.0]
    assert sample(real, "words_kept?language=ko").config["dictionary"] == "the checkpoint's"
    assert int(korean.config["text_tokens"]) < len("비가 옵니다."), "letters that the tokenizer does not know are lost"
    own = sample(real, "real_time_factor?language=de&tokenizer=own")
    assert own.config["tokenizer"] == "german_chartokenizer"
    assert german.config["named_by_checkpoint"] == "german_chartokenizer"
    assert (
        sample(real, "tokenizers?language=ko").config["checkpoint_tokenizers"] == "english_phoneme german_chartokenizer"
    )
    assert sample(real, "real_time_factor").config["languages"] == "en"


def test_a_single_file_takes_the_codec_that_its_configuration_names(checkpoint):
    file = magpie_model.locate(str(checkpoint / "magpie.nemo"))
    assert file.codec is None
    model = magpie_model.real(file, "cpu")
    assert model.codec_model_samples_per_frame == 1024
    assert not any(tensor.requires_grad for tensor in model.parameters())


def test_what_is_no_checkpoint_is_refused(checkpoint, tmp_path):
    (tmp_path / "broken.nemo").write_bytes(b"not an archive")
    with pytest.raises(magpie_model.WeightsError, match=r"model_config\.yaml"):
        magpie_model.stored_config(tmp_path / "broken.nemo")
    with pytest.raises(magpie_model.WeightsError, match="cannot be loaded"):
        magpie_model.real(magpie_model.Checkpoint(tmp_path / "broken.nemo"), "cpu")
    (tmp_path / "empty").mkdir()
    with pytest.raises(magpie_model.WeightsError, match=r"no \.nemo file of Magpie"):
        magpie_model.locate(str(tmp_path / "empty"))
