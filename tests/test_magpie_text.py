"""Which tokenizer a language comes to, by NeMo's table and by a checkpoint's own."""

from types import SimpleNamespace

import fake_magpie
import pytest

from measure.synthesis import magpie_text, sentences


@pytest.fixture(autouse=True)
def package(monkeypatch):
    fake_magpie.install(monkeypatch)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"ko": "korean"}, {"ko": "korean"}),
        ({"ko": ["korean", "other"]}, {"ko": "korean"}),
        ({"ko": [], "en": ["english"], "de": None}, {"en": "english"}),
        (None, {}),
    ],
)
def test_a_checkpoints_own_table_is_read_in_either_form(named, expected):
    assert magpie_text.own_tokenizers({"language_to_tokenizer_mapping": named}) == expected


def test_a_tokenizer_that_the_table_does_not_name_is_not_reached():
    """As in the published checkpoint, whose Italian one is called otherwise."""
    config = {
        "text_tokenizers": {"english_phoneme": {}, "german_chartokenizer": {}},
        "language_to_tokenizer_mapping": {"de": "german_chartokenizer"},
    }
    told = magpie_text.told("de", config)
    assert told["in_package_table"] is True
    assert told["chosen"] == "english_phoneme"
    assert told["named_by_checkpoint"] == "german_chartokenizer"
    assert not magpie_text.reached("de", list(config["text_tokenizers"]))
    assert magpie_text.reached("en", list(config["text_tokenizers"]))


def test_every_language_says_the_same_sentences():
    spoken = sentences.sentences()
    assert {"en", "ko"} <= set(spoken)
    assert {len(texts) for texts in spoken.values()} == {3}
    every = [text for texts in spoken.values() for text in texts]
    assert len(set(every)) == len(every) and all(text.strip() == text for text in every)


def test_words_count_of_which_a_letter_is_left():
    tokenizer = fake_magpie.IPATokenizer({"A": None, "B": None})
    assert magpie_text.kept_percent(tokenizer, "ab, c a. 비가") == 50.0


def encode(text, tokenizer_name):
    assert tokenizer_name == "english_phoneme"
    return list(range(5))


MODEL = SimpleNamespace(eos_id=51, tokenizer=SimpleNamespace(tokenizers={"english_phoneme": None}, encode=encode))
"""As much of the model as texts are made with."""


@pytest.mark.parametrize("maker", [magpie_text.random_text, magpie_text.english_text])
@pytest.mark.parametrize("count", [2, 8, 13])
def test_a_text_has_as_many_tokens_as_are_asked_for(maker, count):
    made = maker(MODEL)(count)
    assert len(made) == count and made[-1] == 51
    assert all(0 <= token < 50 for token in made[:-1])


def test_random_texts_differ():
    text = magpie_text.random_text(MODEL)
    assert text(20) != text(20)
