"""The server is started, asked and ended as it should be, with a stand-in for vLLM's command line."""

import dataclasses
import sys

import fake_vllm
import pytest
from msgspec.structs import replace
from tiny import TINY, failures, session, tiny  # noqa: F401  # fixtures
from transformers import AutoTokenizer

from measure import limits, peer_vllm, serve_vllm, weights
from measure.card import Card
from measure.decoding import LONG, SHORT
from measure.engines import vllm
from measure.engines.streaming import Server
from measure.keys import parse_key
from measure.store import load

TEXT = "tiny-1k-bf16"


@pytest.fixture
def small(session, tiny, monkeypatch):  # noqa: F811
    """A session on a machine with an NVIDIA card, for one tiny model, and the stand-in."""
    monkeypatch.setattr(Card, "free_bytes", lambda self: 2**33)
    for module in (serve_vllm, peer_vllm):
        monkeypatch.setattr(module, "SUBJECT", TEXT)
    monkeypatch.setattr(serve_vllm, "REPEATS", 2)
    monkeypatch.setattr(serve_vllm, "WARMUPS", 1)
    monkeypatch.setattr(serve_vllm, "STREAMED_TOKENS", 3)
    pretend(monkeypatch, "no fault")
    return dataclasses.replace(session, machine=replace(session.machine, device="cuda", accelerators=1), quick=False)


def pretend(monkeypatch, fault):
    monkeypatch.setattr(vllm, "COMMAND", (sys.executable, fake_vllm.__file__, fault))


def run(session):  # noqa: F811
    return load(session.results).runs[0]


def test_the_first_token_is_timed_for_every_request(small):
    serve_vllm.measure(small)
    for requests in serve_vllm.REQUESTS:
        sample = small.load(parse_key(f"serve_vllm/{TEXT}/first_token?requests={requests}"))
        assert len(sample.values) == 2 * requests
        assert all(fake_vllm.FIRST_S <= value < 20 * fake_vllm.FIRST_S for value in sample.values)
        assert sample.config["produced_tokens"] == 3 * requests
        assert sample.config["distinct_prompts"] is True
    assert {verdict.status for verdict in limits.verdicts(run(small)).values()} <= {"accepted", "suspect"}


def test_an_empty_part_is_not_the_first_token(small, tmp_path, monkeypatch):
    """It arrives at once, the first token a twentieth of a second later."""
    settings = vllm.Settings(str(tmp_path), "dummy")
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    with serve_vllm.served(settings, TINY.vocabulary) as server:
        (answer,) = server.ask([[1, 2, 3]], 3)
        assert answer.first_s >= fake_vllm.FIRST_S
        assert answer.whole_s >= answer.first_s + 2 * fake_vllm.STEP_S
        assert answer.produced == 3
    assert not server.healthy(), "it was left running"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("refuses", "ServerError: the server refused: 400 no such model"),
        ("short", "ServerError: asked for 3 tokens, 2 were streamed"),
        ("breaks", "ServerError: the server broke off"),
        ("dies", "RuntimeError: the server ended with 1: ValueError: no room for the model"),
    ],
)
def test_what_the_server_does_wrong_is_told(small, monkeypatch, fault, told):
    pretend(monkeypatch, fault)
    serve_vllm.measure(small)
    details = [detail for _, detail in failures(small).values()]
    assert len(details) == len(serve_vllm.REQUESTS)
    assert all(detail.startswith(told) for detail in details)


def test_a_server_that_never_answers_is_given_up(small, monkeypatch):
    monkeypatch.setattr(serve_vllm, "START_LIMIT_S", 0.3)
    monkeypatch.setattr(Server, "healthy", lambda self: False)
    serve_vllm.measure(small)
    assert all("did not answer within" in detail for _, detail in failures(small).values())


def test_the_tools_two_lengths_make_a_rate(small):
    """A step takes a hundredth of a second by decree, and a ten-thousandth more with each repeat.

    The shorter generation is told by its median repeat, the third.
    """
    peer_vllm.measure(small)
    sample = small.load(parse_key(f"peer_vllm/{TEXT}/rate?requests=1"))
    steps = [fake_vllm.STEP_S + repeat / 1e4 for repeat in range(peer_vllm.REPEATS)]
    short_s = (SHORT - 1) * steps[2]
    assert sample.values == pytest.approx([(LONG - SHORT) / ((LONG - 1) * step - short_s) for step in steps])
    assert sample.config["tool"] == "vllm bench latency"


def test_a_tool_that_fails_is_told(small, monkeypatch):
    pretend(monkeypatch, "dies")
    peer_vllm.measure(small)
    (told,) = failures(small).values()
    assert told[1] == "RuntimeError: vllm bench latency ended with 1: ValueError: no room for the model"


@pytest.mark.parametrize("module", [serve_vllm, peer_vllm])
def test_without_a_card_they_say_so(session, module):  # noqa: F811
    module.measure(session)
    assert {reason for reason, _ in failures(session).values()} == {"unsupported"}


@pytest.mark.parametrize("module", [serve_vllm, peer_vllm])
def test_what_was_measured_is_not_measured_again(small, monkeypatch, module):
    module.measure(small)
    pretend(monkeypatch, "dies")
    module.measure(small)
    assert failures(small) == {}


def test_the_written_tokenizer_turns_tokens_into_words(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    weights.write_tokenizer(TINY.vocabulary, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.decode([3, 499]) == "w3 w499"
    assert tokenizer("w3 w499", add_special_tokens=False)["input_ids"] == [3, 499]
    assert len(tokenizer) == TINY.vocabulary


def test_settings_are_the_same_words_and_arguments():
    settings = vllm.Settings("somewhere", "dummy", cards=2, graphs=False)
    words, arguments = settings.words(), settings.arguments()
    assert "--tensor-parallel-size=2" in words and arguments["tensor_parallel_size"] == 2
    assert '--compilation-config={"cudagraph_mode":"NONE"}' in words
    assert arguments["compilation_config"] == {"cudagraph_mode": "NONE"}
    assert "--no-enable-prefix-caching" in words and "--disable-log-stats" in words
