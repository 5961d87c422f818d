"""A Qwen3 of a few thousand parameters and a session on this machine, for tests that measure in a second."""

import pytest
import torch

from measure import machine, models, store
from measure.models import Attention, Model
from measure.session import Session

TINY = Model(
    title="Tiny",
    architecture="qwen3",
    source="tests",
    hidden=32,
    ffn=64,
    vocabulary=500,
    attention=(Attention(layers=2, heads=4, kv_heads=2, head=16),),
    name="tiny-1k",
)


@pytest.fixture
def tiny(monkeypatch):
    """The only model there is, on one thread: at this size several would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(models, "models", lambda: {TINY.name: TINY})
    yield models.subject("tiny-1k-fp32")
    torch.set_num_threads(threads)


@pytest.fixture
def session(tmp_path):
    """A run on this machine's processor that starts empty."""
    return Session(tmp_path / "results.json", "cpu", machine.describe("cpu"), quick=True, packages=("torch",))


def failures(session):
    """Key to (reason, detail) of what failed in the session's run."""

    (run,) = store.load(session.results).runs
    return {key: (failure.reason, failure.detail) for key, failure in run.failures.items()}


class Watched:
    """A stand-in for the watch of a card's clock, which tells when it was asked."""

    def __init__(self, _device, _number=0):
        self.asked = []

    def begin(self):
        self.asked.append("begin")

    def end(self):
        self.asked.append("end")

    @property
    def config(self):
        return {"clock": " ".join(self.asked)}
