"""Decoding and prefill of a language model in llama.cpp, the engine that runs quantised models everywhere."""

from __future__ import annotations

from measure import decoding, device, models
from measure.decoding import Bench, Scope
from measure.engines import llama
from measure.keys import Key
from measure.session import Session

SUMMARY = "a language model in llama.cpp: decoding for 1 to 256 requests, prefill at several lengths, kernel times"
NEEDS = llama.NEEDS
OPTIONS = llama.OPTIONS

NAME = "decode_llama"

SUBJECTS = ("qwen3-0.6b-bf16", "gemma4-12b-q4_0", "qwen3-1.7b-bf16", "gemma4-12b-q8_0", "gemma4-12b-bf16")
QUICK_SUBJECTS = ("qwen3-0.6b-q8_0",)
CPU_SUBJECTS = ("qwen3-0.6b-q8_0", "qwen3-0.6b-bf16", "qwen3-1.7b-q8_0")

FULL = Scope((1, 2, 4, 8, 16, 32, 64, 128, 256), (64, 67, 256, 1024, 2048, 3500), first_tokens=(1, 2, 4))
"""67 tokens are the source article's prompt."""
QUICK = Scope((1, 4, 16), (64, 256, 1024), repeats=3)
CPU = Scope((1, 4), (64, 256), repeats=3, prompt_repeats=5, long=33, traced=False)

SUBJECT_S = 90.0
"""Estimate for all keys of one model, its file included."""


def plan(session: Session) -> list[Key]:
    return [item for text in subjects(session) for item in decoding.keys(NAME, text, scope(session))]


def seconds(session: Session) -> float:
    return SUBJECT_S * len(subjects(session))


def scope(session: Session) -> Scope:
    whole = CPU if session.device == "cpu" else QUICK if session.quick else FULL
    return whole if session.device == "cuda" else whole._replace(traced=False)


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose file was given."""
    if given := llama.given(session):
        return (given,)
    if session.quick:
        return QUICK_SUBJECTS
    return CPU_SUBJECTS if session.device == "cpu" else SUBJECTS


def measure(session: Session) -> None:
    """Record weights (GiB), parameters, rates (tok/s, one value a repeat) and kernel times (ms) of each subject."""
    for text, items in decoding.passes(item for item in plan(session) if session.wanted(item)):
        with device.failing(session, *items), llama.loaded(session, models.subject(text)) as engine:
            Bench(session, engine, llama.config(session), scope(session)).measure(items)
