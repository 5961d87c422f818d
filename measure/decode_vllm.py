"""Decoding and prefill of a language model in vLLM, the engine that many people serve with.

Called as a library, without its server: what a request waits for on the network is not the engine's. Prompts are random
tokens, each its own. One measurement is wrong on purpose: the same prompt sent again with the prefix cache on. It has a
key of its own, and has to be rejected by what it implies.
"""

from __future__ import annotations

from measure import decoding, device, models, spread, weights
from measure.decoding import Bench, Scope
from measure.engines import vllm
from measure.keys import Key, key
from measure.models import Subject
from measure.session import Session

SUMMARY = "a language model in vLLM: decoding for 1 to 512 requests, prefill at several lengths, kernel times"
NEEDS = vllm.NEEDS
OPTIONS = vllm.OPTIONS
refusal = vllm.refusal

NAME = "decode_vllm"

SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-1.7b-bf16", "qwen3-1.7b-fp8", "qwen3-4b-fp8")
QUICK_SUBJECTS = SUBJECTS[:1]

SPREAD_SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-4b-bf16", "gemma4-12b-bf16")
"""Models to hold against each other on one card and on several: where it is told on how many, these are measured."""

FULL = Scope((1, 2, 4, 8, 16, 32, 64, 128, 256, 512), (64, 256, 1024, 2048, 3500), first_tokens=(1, 2, 4))
SPREAD = Scope((1, 16, 64, 256), ())
QUICK = Scope((1, 4, 16), (64, 256, 1024, 2048), repeats=3)

REPEATED_TOKENS = 3500
"""Of the prompt that is sent again and again."""

SUBJECT_S = 100.0
"""Estimate for all keys of one model."""

SPREAD_S = 30.0
"""The same for those that are measured to be held against another number of cards."""


def plan(session: Session) -> list[Key]:
    chosen, cards = scope(session), spread.cards(session)
    listed = [item for text in subjects(session) for item in decoding.keys(NAME, text, chosen, cards)]
    return [*listed, *([repeated(subjects(session)[-1])] if chosen is FULL else [])]


def seconds(session: Session) -> float:
    each = vllm.START_S + (SPREAD_S if scope(session) is SPREAD else SUBJECT_S)
    return len(subjects(session)) * each + (vllm.START_S if scope(session) is FULL else 0.0)


def scope(session: Session) -> Scope:
    return QUICK if session.quick else SPREAD if spread.NAME in session.options else FULL


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose weights were given."""
    source = session.options.get("weights")
    if source is not None:
        return (str(weights.subject(source)),)
    listed = SPREAD_SUBJECTS if spread.NAME in session.options else SUBJECTS
    return listed[:1] if session.quick else listed


def repeated(text: str) -> Key:
    """The measurement that is wrong on purpose."""
    return key(NAME, "prefill_rate", text, input="repeated")


def measure(session: Session) -> None:
    """Record weights (GiB), parameters, rates (tok/s, one value a repeat) and kernel times (ms) of each subject."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    # Loading vLLM here must leave the card alone: a process that has opened it cannot be forked into the engine's.
    for text in subjects(session):
        items = [item for item in wanted if item.subject == text and item != repeated(text)]
        _measure_subject(session, models.subject(text), items)
        wrong = [item for item in wanted if item == repeated(text)]
        _measure_repeated(session, models.subject(text), wrong)


def _measure_subject(session: Session, subject: Subject, items: list[Key]) -> None:
    with device.failing(session, *items):
        if items:
            with vllm.checkpoint(session, subject) as settings, vllm.started(_sized(settings, session)) as engine:
                Bench(session, engine, vllm.config(session), scope(session), settings.cards).measure(items)


def _measure_repeated(session: Session, subject: Subject, items: list[Key]) -> None:
    """The first time is not timed: it fills the cache, from which all others are answered."""
    with device.failing(session, *items):
        if items:
            with vllm.checkpoint(session, subject) as settings:
                caching = _sized(settings, session)._replace(prefix_cache=True)
                with vllm.started(caching) as engine:
                    bench = Bench(session, engine, vllm.config(session), scope(session))
                    sent = [bench.prompts(1, REPEATED_TOKENS)] * (2 + scope(session).prompt_repeats)
                    bench.send(items[0], REPEATED_TOKENS, sent, warmups=2)


def _sized(settings: vllm.Settings, session: Session) -> vllm.Settings:
    return settings._replace(requests=max(scope(session).requests))
