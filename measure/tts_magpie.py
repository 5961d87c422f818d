"""Synthesis by Magpie TTS Multilingual in NeMo's own classes: where the time of an utterance goes, and what changes it.

The time is a number of steps, each over all frames so far: so the figures tell one step, its parts and its kernels, and
whole utterances of several lengths, with frames stacked, with and without local transformer and cache, alone and many.
"""

from __future__ import annotations

import time
from typing import Any

from measure import device
from measure.keys import Key, key
from measure.results import Config
from measure.session import OptionError, Session
from measure.synthesis import magpie_model, magpie_text, sentences
from measure.synthesis.magpie_apart import FIXED_PARTS, REST, STEP_PARTS
from measure.synthesis.magpie_bench import Bench, Scope, TooSlowError
from measure.synthesis.magpie_speech import Way

SUMMARY = "Magpie TTS: real-time factors of several stacks, lengths and batches, a step's parts and kernels, memory"
NEEDS = ("nemo", "torch", "omegaconf")
OPTIONS = ("weights", "audio")
"""weights=FILE.nemo, FOLDER, hub:OWNER/NAME or hub:OWNER/NAME/FILE.nemo speaks real text; audio=FOLDER keeps it."""

NAME, SUBJECT = "tts_magpie", "magpie-multilingual"

FULL = Scope(
    (2, 1, 4),
    84,
    mixed=(48, 60, 72, 84),
    lengths=(42, 324),
    depths=(8, 42, 84, 168, 300),
    requests=(4, 16, 32),
    apart=True,
    traced=True,
)
"""84 frames are 3.9 seconds of sound; NeMo speaks a text of up to 20 seconds without dividing it."""

QUICK = Scope((2, 1), 48, mixed=(32, 40, 48), requests=(4,), apart=True, traced=True)
CPU = Scope((2, 1), 8)

SECONDS = {"full": 350.0, "quick": 100.0, "cpu": 240.0}
"""Estimates for all keys: on an H200, whose host is the limit, and on a processor of two cores."""

STEP_NAMES, FIXED_NAMES = (*STEP_PARTS, REST), (*FIXED_PARTS, REST)
"""Parts in keys: those of a step, and those of the rest of an utterance."""

QUESTIONED = ("en", "ko")
"""Languages whose tokenizers are told of: one that comes out right, and the source article's that did not."""


def plan(session: Session) -> list[Key]:
    """Those first that matter most should the time run out; tracing last, since it may slow down what follows.

    Raises OptionError for recordings that are asked of random weights.
    """
    if "audio" in session.options and "weights" not in session.options:
        raise OptionError("audio= keeps what real weights speak, and random ones make noise. Pass weights= too.")
    part, (published, *others) = scope(session), stacks(session)
    held = [_key(name, language=language) for name in ("tokenizers", "words_kept") for language in QUESTIONED]
    held += [_key(name) for name in ("frame_rate", "parameters", "loaded_weights")]
    first = [*_compared(Way(published, part.frames)), *([_key("memory")] if part.traced else [])]
    first += [_key("real_time_factor")] if part.mixed else []
    stacked = [item for stack in others for item in _compared(Way(stack, part.frames))]
    apart = [item for stack in _apart(session) for item in _parts(stack) + _changed(stack, part)]
    many = [_key("real_time_factor", stack=published, requests=number) for number in part.requests]
    traced = [_key("step_kernel_time", stack=stack) for stack in _apart(session) if part.traced]
    return [*held, *first, *stacked, *apart, *_languages(session), *_growth(published, part), *many, *traced]


def _key(quantity: str, **parameters: object) -> Key:
    return key(NAME, quantity, SUBJECT, **parameters)


def _compared(way: Way) -> list[Key]:
    """The whole and a step of the utterance that settings are compared by."""
    told: dict[str, object] = {"stack": way.stack}
    if way.cache:
        told["cache"] = "on"
    if not way.local_transformer:
        told["local_transformer"] = "off"
    return [_key(name, **told) for name in ("real_time_factor", "step_time")]


def _parts(stack: int) -> list[Key]:
    """What a step is made of, and what is done once an utterance."""
    return [
        *(_key("step_part_time", part=name, stack=stack) for name in STEP_NAMES),
        *(_key("fixed_part_time", part=name, stack=stack) for name in FIXED_NAMES),
    ]


def _changed(stack: int, part: Scope) -> list[Key]:
    """Without the local transformer, with the cache, and both."""
    ways = [Way(stack, part.frames, local, cache) for local, cache in ((False, False), (True, True), (False, True))]
    return [item for way in ways for item in _compared(way)]


def _growth(stack: int, part: Scope) -> list[Key]:
    """Utterances by their length, and a step by the frames that are there already, without the cache and with it."""
    steps = [_key("step_time", frames=frames, stack=stack) for frames in part.depths]
    cached = [_key("step_time", cache="on", frames=frames, stack=stack) for frames in part.depths]
    return [*(_key("real_time_factor", frames=frames, stack=stack) for frames in part.lengths), *steps, *cached]


def _languages(session: Session) -> list[Key]:
    """Real text, with the tokenizer that NeMo takes, and with the one that the checkpoint names for the language."""
    if "weights" not in session.options:
        return []
    named = magpie_text.own_tokenizers(_stored(session))
    spoken = [_key("real_time_factor", language=language) for language in sentences.sentences()]
    own = [language for language in sentences.sentences() if language in named]
    return spoken + [_key("real_time_factor", language=language, tokenizer="own") for language in own]


def seconds(session: Session) -> float:
    return SECONDS["cpu" if session.device == "cpu" else "quick" if session.quick else "full"]


def scope(session: Session) -> Scope:
    whole = CPU if session.device == "cpu" else QUICK if session.quick else FULL
    return whole if session.device == "cuda" else whole._replace(traced=False)


def stacks(session: Session) -> tuple[int, ...]:
    """Frames a step that are measured, the published number first; real weights are of one number alone."""
    if "weights" not in session.options:
        return scope(session).stacks
    return (int(_stored(session).get("frame_stacking_factor", 1)),)


def _apart(session: Session) -> tuple[int, ...]:
    """Stacks that are taken apart: the published one, and a single frame."""
    return stacks(session)[:2] if scope(session).apart else ()


def _stored(session: Session) -> dict[str, Any]:
    return magpie_model.stored_config(magpie_model.locate(session.options["weights"]).model)


def measure(session: Session) -> None:
    """Record real-time factors, milliseconds of steps and parts (a value a repeat), and what the model is."""
    config: Config = {**device.settle(session.machine), "weights": "real" if "weights" in session.options else "random"}
    bench = Bench(session, config, scope(session), stacks(session)[0])
    for item in plan(session):
        if session.wanted(item):
            start = time.perf_counter()
            with device.failing(session, item):
                try:
                    bench.measure(item)
                except TooSlowError as error:
                    session.fail(item, "too_slow", str(error))
            print(f"{item}: {time.perf_counter() - start:.1f} s", flush=True)
