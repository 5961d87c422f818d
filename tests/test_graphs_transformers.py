"""What is replayed from a graph is what the plain engine decodes. A graph itself needs an NVIDIA card."""

import dataclasses

import pytest
from msgspec.structs import replace
from tiny import TINY, failures, session, tiny  # noqa: F401  # fixtures

from measure import decode_transformers, decoding, device, graphs_transformers, weights
from measure.graphs_transformers import Replayed
from measure.kernels import Trace
from measure.store import load

TEXT = "tiny-1k-fp32"


@pytest.fixture
def module(tiny):  # noqa: F811
    return weights.random(tiny, "cpu")


@pytest.mark.parametrize("length", [1, 6, 30])
def test_tokens_are_those_of_the_plain_engine(module, length):
    plain, replayed = decode_transformers.Engine(module, "cpu"), Replayed(module, "cpu")
    for _ in range(2):
        prompt = plain.prompts(1, length)
        expected = plain.generate(prompt, 9).flatten().tolist()
        assert replayed.tokens(prompt[0].tolist(), 9) == expected, "the cache was not emptied, or grew wrong"


class Graph:
    """A stand-in for a captured graph: what is replayed is the step itself."""

    def __init__(self, engine):
        self.engine, self.replayed = engine, 0

    def replay(self):
        self.replayed += 1
        self.engine._step()


def test_a_step_is_replayed_for_every_token_but_the_first(module):
    engine = Replayed(module, "cpu")
    expected = engine.tokens([1, 2, 3], 9)
    engine._graph = Graph(engine)
    assert engine.tokens([1, 2, 3], 9) == expected
    assert engine._graph.replayed == 8


@pytest.mark.parametrize(("requests", "tokens"), [(2, 10), (1, graphs_transformers.CONTEXT + 1)])
def test_what_the_graph_was_not_made_for_is_refused(module, requests, tokens):
    with pytest.raises(NotImplementedError, match="one request of up to 256 tokens"):
        Replayed(module, "cpu").prepare(requests, tokens)


def test_every_planned_key_is_recorded(session, tiny, module, monkeypatch):  # noqa: F811
    monkeypatch.setattr(graphs_transformers, "SUBJECTS", (TEXT,))
    monkeypatch.setattr(decode_transformers, "build", lambda session, subject: module)
    monkeypatch.setattr(device, "settle", lambda machine: {"device": "cuda"})
    monkeypatch.setattr(device, "release", lambda where: None)
    monkeypatch.setattr(graphs_transformers, "Replayed", lambda module, where: Replayed(module, "cpu"))
    monkeypatch.setattr(Replayed, "traced", lambda self, prompts, tokens: Trace(1e-3 * tokens, tokens, {"gemm": 1e-3}))
    monkeypatch.setattr(decoding, "timed", lambda work: ((answer := work()).produced[0] / 10, answer))
    card = dataclasses.replace(session, machine=replace(session.machine, device="cuda", accelerators=1), quick=False)
    graphs_transformers.measure(card)
    (run,) = load(card.results).runs
    assert set(run.samples) == {str(item) for item in graphs_transformers.plan(card)}, run.failures
    rate = run.samples[f"graphs_transformers/{TEXT}/rate?graphs=on&requests=1"]
    assert rate.values == pytest.approx([10.0] * 5)
    assert {"cache": "static", "cuda_graphs": "full", "weights": "random"}.items() <= rate.config.items()
    assert run.samples[f"graphs_transformers/{TEXT}/loaded_weights"].values == [4 * TINY.parameters / 2**30]


def test_without_a_card_it_says_so(session):  # noqa: F811
    graphs_transformers.measure(session)
    assert {reason for reason, _ in failures(session).values()} == {"unsupported"}
