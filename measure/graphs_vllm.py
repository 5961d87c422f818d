"""Decoding in vLLM without CUDA graphs: every kernel of a step is launched by the host, one after another.

Held against `decode_vllm`, which replays a step as one graph, it tells what the launches cost. The model is compiled
either way, so nothing else differs.
"""

from __future__ import annotations

from measure import decoding, device, models, spread, weights
from measure.decoding import Bench
from measure.engines import vllm
from measure.keys import Key
from measure.models import Subject
from measure.session import Session

SUMMARY = "a language model in vLLM without CUDA graphs: decoding for one request, kernel time of a step"
NEEDS = vllm.NEEDS
OPTIONS = vllm.OPTIONS
refusal = vllm.refusal

NAME = "graphs_vllm"

SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-1.7b-bf16")

SUBJECT_S = 30.0
"""Estimate for all keys of one model."""


def plan(session: Session) -> list[Key]:
    cards = spread.cards(session)
    return [item for text in subjects(session) for item in decoding.step_keys(NAME, text, graphs=False, cards=cards)]


def seconds(session: Session) -> float:
    return len(subjects(session)) * (vllm.START_S + SUBJECT_S)


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose weights were given."""
    source = session.options.get("weights")
    if source is not None:
        return (str(weights.subject(source)),)
    return SUBJECTS[:1] if session.quick else SUBJECTS


def measure(session: Session) -> None:
    """Record weights (GiB), rate (tok/s, one value a repeat) and kernel time (ms) of each subject."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    for text in subjects(session):
        items = [item for item in wanted if item.subject == text]
        with device.failing(session, *items):
            if items:
                _measure_subject(session, models.subject(text), items)


def _measure_subject(session: Session, subject: Subject, items: list[Key]) -> None:
    with vllm.checkpoint(session, subject) as settings, vllm.started(settings._replace(graphs=False)) as engine:
        Bench(session, engine, vllm.config(session), decoding.STEPS, settings.cards).measure(items)
