"""Text for Magpie: sentences in the languages it is said to speak, and which tokenizer each language comes to.

NeMo finds the tokenizer of a language by a table of names, and takes English phonemes where none of them is in the
checkpoint. A checkpoint has a table of its own, which NeMo 3.0.0 does not read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from measure.results import Config
from measure.synthesis import sentences

ENGLISH = "en"

WITHOUT_ONE = "english_phoneme"
"""The tokenizer that NeMo takes for a language for which it finds none."""

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The only word of the dictionary of `plain_english`: it makes every English letter known, and other words spelled."""


def confine_log() -> None:
    """Keep NeMo's log to errors."""
    from nemo.utils import logging as log

    log.setLevel(logging.ERROR)


def package_tokenizers() -> Mapping[str, Sequence[str]]:
    """The names that NeMo looks for, by language."""
    from nemo.collections.tts.parts.utils.tts_dataset_utils import LANGUAGE_TOKENIZER_MAP

    found: Mapping[str, Sequence[str]] = LANGUAGE_TOKENIZER_MAP
    return found


def own_tokenizers(config: Mapping[str, Any]) -> dict[str, str]:
    """The tokenizer that a checkpoint's configuration names for each language."""
    named = config.get("language_to_tokenizer_mapping") or {}
    first = {
        language: name if isinstance(name, str) else next(iter(name or ()), "") for language, name in named.items()
    }
    return {str(language): str(name) for language, name in first.items() if name}


def chosen(language: str, available: Sequence[str]) -> str:
    """The tokenizer that NeMo takes for a language, of those that a checkpoint has."""
    from nemo.collections.tts.parts.utils.tts_dataset_utils import get_tokenizer_for_language

    return str(get_tokenizer_for_language(language, list(available)))


def reached(language: str, available: Sequence[str]) -> bool:
    """Whether the checkpoint has a tokenizer that NeMo looks for."""
    return bool(set(package_tokenizers().get(language, ())) & set(available))


def told(language: str, config: Mapping[str, Any] | None) -> Config:
    """What a sample's configuration says of a language's tokenizers; `config` is a checkpoint's, if there is one."""
    table = package_tokenizers()
    found: Config = {
        "in_package_table": language in table,
        "looked_for": " ".join(table.get(language, ())) or "none",
        "package_languages": " ".join(sorted(table)),
        "without_one": chosen("none", [WITHOUT_ONE]),
    }
    if config is not None:
        available = list(config.get("text_tokenizers") or ())
        found |= {
            "checkpoint_tokenizers": " ".join(available),
            "chosen": chosen(language, available),
            "named_by_checkpoint": own_tokenizers(config).get(language, "none"),
        }
    return found


def plain_english() -> Any:  # noqa: ANN401  # NeMo's class
    """The tokenizer of the published English phonemes, with a dictionary of one word: its real one lies in checkpoints.

    A dictionary does not change what becomes of letters of other scripts, which no English one has.
    """
    from nemo.collections.common.tokenizers.text_to_speech.tts_tokenizers import IPATokenizer
    from nemo.collections.tts.g2p.models.i18n_ipa import IpaG2p

    confine_log()  # it tells of every letter that it leaves out
    spelled = IpaG2p(phoneme_dict={ALPHABET: [["ə"]]}, locale="en-US", phoneme_probability=1.0)
    return IPATokenizer(g2p=spelled, locale="en-US", punct=True, apostrophe=True, pad_with_space=False)


def kept_percent(tokenizer: Any, text: str) -> float:  # noqa: ANN401
    """Of how many words of a text anything but spaces and punctuation is left among the tokens, in percent."""
    words = text.split()
    left = [any(tokenizer.tokens[token].isalpha() for token in tokenizer.encode(word)) for word in words]
    return 100 * sum(left) / len(words)


def random_text(model: Any) -> Callable[[int], list[int]]:  # noqa: ANN401  # NeMo's class
    """Makes texts of random tokens; the last one ends the text."""
    random = Random(0)
    most, end = int(model.eos_id) - 2, int(model.eos_id)
    return lambda count: [*(random.randint(0, most) for _ in range(count - 1)), end]


def english_text(model: Any) -> Callable[[int], list[int]]:  # noqa: ANN401
    """Makes English texts, cut where they have as many tokens as were asked for; the last one ends the text."""
    name = chosen(ENGLISH, list(model.tokenizer.tokenizers))
    said = " ".join(sentences.sentences()[ENGLISH])
    whole = [int(token) for token in model.tokenizer.encode(text=said, tokenizer_name=name)]

    def text(count: int) -> list[int]:
        repeated = whole * (count // max(len(whole), 1) + 1)
        return [*repeated[: count - 1], int(model.eos_id)]

    return text
