"""Decoding in llama.cpp without CUDA graphs: every kernel of a step is launched by the host, one after another.

Held against `decode_llama`, where llama.cpp replays a request's step as one graph, it tells what the launches cost.
"""

from __future__ import annotations

import os

from measure import decoding, device, models
from measure.decoding import Bench
from measure.engines import llama
from measure.keys import Key
from measure.session import Session

SUMMARY = "a language model in llama.cpp without CUDA graphs: decoding for one request, kernel time of a step"
NEEDS = llama.NEEDS
OPTIONS = llama.OPTIONS
refusal = device.graphs_refusal

NAME = "graphs_llama"

SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-1.7b-bf16")

SWITCH = "GGML_CUDA_DISABLE_GRAPHS"
"""The variable that llama.cpp looks for before its first step (ggml-cuda.cu)."""

SUBJECT_S = 30.0
"""Estimate for all keys of one model, its file included."""


def plan(session: Session) -> list[Key]:
    return [item for text in subjects(session) for item in decoding.step_keys(NAME, text, graphs=False)]


def seconds(session: Session) -> float:
    return SUBJECT_S * len(subjects(session))


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose file was given."""
    if given := llama.given(session):
        return (given,)
    return SUBJECTS[:1] if session.quick else SUBJECTS


def measure(session: Session) -> None:
    """Record weights (GiB), rate (tok/s, one value a repeat) and kernel time (ms) of each subject."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    os.environ[SWITCH] = "1"  # of this process, which measures nothing else
    for text, items in decoding.passes(wanted):
        with device.failing(session, *items), llama.loaded(session, models.subject(text)) as engine:
            config = {**llama.config(session), "cuda_graphs": "none"}
            Bench(session, engine, config, decoding.STEPS).measure(items)
