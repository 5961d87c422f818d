"""The plain engine decodes what transformers decodes, and its rates are tokens over the time that only they took."""

import dataclasses
import re

import pytest
import torch
from tiny import TINY, Watched, failures, session, tiny  # noqa: F401  # fixtures
from transformers import Qwen3ForCausalLM

from measure import decode_transformers, device, timing, weights
from measure.decode_transformers import Engine, Scope
from measure.keys import key

NAME, TEXT = "decode_transformers", "tiny-1k-fp32"


@pytest.fixture
def small(session, tiny, monkeypatch):  # noqa: F811
    """A session that measures the tiny model, by a clock on which a prompt takes 0.5 s and a further token 0.01 s."""
    generate, asked = Engine.generate, [1]

    def watched(self, prompts, tokens):
        asked.append(tokens)
        return generate(self, prompts, tokens)

    monkeypatch.setattr(Engine, "generate", watched)
    monkeypatch.setattr(timing, "wall_seconds", lambda work, where: (work(), 0.5 + 0.01 * (asked[-1] - 1))[1])
    monkeypatch.setattr(decode_transformers, "MOST_STEPS", 8)
    monkeypatch.setattr(decode_transformers, "scope", lambda _: Scope((TEXT,), 4, (8, 16), 3, 60.0))
    return session


@pytest.fixture
def engine(tiny):  # noqa: F811
    return Engine(weights.random(tiny, "cpu"), "cpu")


def test_every_planned_key_is_recorded(small):
    decode_transformers.measure(small)
    assert len(decode_transformers.plan(small)) == 8
    for item in decode_transformers.plan(small):
        sample = small.load(item)
        assert sample is not None, failures(small)
        assert sample.config["weights"] == "random"
        assert min(sample.values) > 0


def test_the_model_is_counted_as_built(small):
    decode_transformers.measure(small)
    held = {name: small.load(key(NAME, name, TEXT)).values for name in ("loaded_weights", "parameters")}
    assert held == {"loaded_weights": [4 * TINY.parameters / 2**30], "parameters": [TINY.parameters]}


@pytest.mark.parametrize("requests", [1, 4])
def test_greedy_tokens_are_those_of_transformers(engine, requests):
    prompts = engine.prompts(requests, 6)
    expected = engine.module.generate(prompts, max_new_tokens=9, min_new_tokens=9, do_sample=False, pad_token_id=0)
    assert torch.equal(engine.generate(prompts, 9), expected[:, 6:])


def test_the_end_of_sequence_does_not_end_it(engine):
    prompts = engine.prompts(1, 6)
    second = int(engine.generate(prompts, 2)[0, 1])
    engine.module.generation_config.eos_token_id = second
    engine.module.config.eos_token_id = second
    assert engine.generate(prompts, 12).shape == (1, 12)


def test_only_the_last_position_goes_through_the_head(engine):
    seen = []
    engine.module.lm_head.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[1]))
    engine.generate(engine.prompts(1, 7), 3)
    assert seen == [1, 1, 1]


def test_a_step_feeds_one_token_and_reads_the_cache(engine):
    seen = []
    engine.module.model.embed_tokens.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape))
    engine.generate(engine.prompts(2, 5), 3)
    assert seen == [(2, 5), (2, 1), (2, 1)]


def test_prompts_differ_each_time(engine):
    assert not torch.equal(engine.prompts(1, 20), engine.prompts(1, 20))
    assert len({tuple(row.tolist()) for row in engine.prompts(16, 20)}) == 16


def test_a_rate_is_what_two_lengths_differ_by(small):
    """A step takes 0.01 s, so 4 requests decode 400 tokens a second; the prompt's 0.5 s play no part."""
    decode_transformers.measure(small)
    sample = small.load(key(NAME, "rate", TEXT, requests=4))
    assert sample.values == pytest.approx([400] * 3)
    assert (sample.config["output_tokens_short"], sample.config["output_tokens_long"]) == (1, 9)
    assert sample.config["produced_tokens"] == 4 * 9
    assert small.load(key(NAME, "prefill_rate", TEXT, tokens=16)).values == pytest.approx([32] * 3)


def test_the_steps_fit_the_time(small, engine, monkeypatch):
    """12 s are 3 s for each of 3 repeats and the warm-up; two prompts take 1 s of them."""
    monkeypatch.setattr(decode_transformers, "MOST_STEPS", 10_000)
    part = decode_transformers.Part(small, engine, {}, decode_transformers.scope(small), 12.0)
    assert part._steps(first_s=0.5, step_s=0.01) == 200
    assert part._steps(first_s=0.5, step_s=10) == decode_transformers.FEWEST_STEPS


def test_prefill_says_that_prompts_were_distinct_and_nothing_was_cached(small):
    decode_transformers.measure(small)
    sample = small.load(key(NAME, "prefill_rate", TEXT, tokens=16))
    assert sample.config["cached_tokens"] == 0
    assert sample.config["distinct_prompts"] is True
    assert sample.config["prompt_tokens"] == 16


def test_prompts_that_repeat_are_told(small, monkeypatch):
    monkeypatch.setattr(Engine, "prompts", lambda self, requests, tokens: torch.ones(requests, tokens, dtype=int))
    decode_transformers.measure(small)
    assert small.load(key(NAME, "prefill_rate", TEXT, tokens=16)).config["distinct_prompts"] is False


def test_too_few_tokens_are_no_rate(small, monkeypatch):
    short = Engine.generate
    monkeypatch.setattr(Engine, "generate", lambda self, prompts, n: short(self, prompts, max(n - 1, 1)))
    decode_transformers.measure(small)
    reason, detail = failures(small)[f"{NAME}/{TEXT}/rate?requests=1"]
    assert reason == "crashed"
    assert "asked for 1 x 3 tokens, got 1 x 2" in detail


def test_a_machine_kept_busy_gives_no_rate(small, monkeypatch):
    monkeypatch.setattr(timing, "wall_seconds", lambda work, where: (work(), 0.1)[1])
    decode_transformers.measure(small)
    assert failures(small)[f"{NAME}/{TEXT}/rate?requests=1"][0] == "crashed"


def test_what_others_left_no_time_for_is_told_from_what_is_too_slow(small, monkeypatch):
    monkeypatch.setattr(decode_transformers, "scope", lambda _: Scope((TEXT,), 4, (8,), 3, 1000.0))
    monkeypatch.setattr(timing.Deadline, "share", lambda *_: 0.0)
    decode_transformers.measure(small)
    reason, detail = failures(small)[f"{NAME}/{TEXT}/rate?requests=4"]
    assert reason == "out_of_time" and re.fullmatch(r"about \d+ s needed, 0 s of 1000 s left for it", detail)


def test_what_would_take_too_long_is_left_out_with_the_reason(small, monkeypatch):
    monkeypatch.setattr(decode_transformers, "scope", lambda _: Scope((TEXT,), 4, (8,), 3, 1e-6))
    decode_transformers.measure(small)
    assert failures(small)[f"{NAME}/{TEXT}/rate?requests=4"][0] == "too_slow"
    assert small.load(key(NAME, "parameters", TEXT)) is not None


def test_a_model_too_large_for_the_memory_is_not_tried(small, monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda machine: 1000)
    monkeypatch.setattr(weights, "random", lambda *_: pytest.fail("built"))
    decode_transformers.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"not_enough_memory"}


def test_running_out_of_memory_ends_one_key_alone(small, monkeypatch):
    real = Engine.generate

    def short_of_memory(self, prompts, tokens):
        if len(prompts) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(self, prompts, tokens)

    monkeypatch.setattr(Engine, "generate", short_of_memory)
    decode_transformers.measure(small)
    assert {text: reason for text, (reason, _) in failures(small).items()} == {
        f"{NAME}/{TEXT}/rate?requests=4": "out_of_memory"
    }


def test_what_was_measured_is_not_measured_again(small, monkeypatch):
    decode_transformers.measure(small)
    monkeypatch.setattr(weights, "random", lambda *_: pytest.fail("built again"))
    decode_transformers.measure(small)
    assert failures(small) == {}


def test_real_weights_are_measured_in_place_of_random_ones(small, tmp_path):
    Qwen3ForCausalLM(weights.qwen3_config(TINY)).save_pretrained(tmp_path / "tiny")
    given = dataclasses.replace(small, options={"weights": str(tmp_path / "tiny")})
    decode_transformers.measure(given)
    (item, *_) = [item for item in decode_transformers.plan(given) if item.quantity == "rate"]
    assert given.load(item).config["weights"] == "real"


def test_a_type_without_instructions_is_measured_for_one_request_alone(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(device, "fast_precision", lambda where: "fp32")
    whole = dataclasses.replace(session, quick=False)
    planned = [str(item).split("/", 1)[1] for item in decode_transformers.plan(whole)]
    assert [text for text in planned if text.startswith("qwen3-0.6b-bf16/") and "?" in text] == [
        "qwen3-0.6b-bf16/rate?requests=1",
        "qwen3-0.6b-bf16/prefill_rate?tokens=64",
    ]
    assert "qwen3-1.7b-fp32/rate?requests=16" in planned


@pytest.mark.parametrize("where", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("quick", [True, False])
def test_every_device_has_a_plan(session, where, quick):  # noqa: F811
    from msgspec.structs import replace

    there = dataclasses.replace(session, quick=quick, machine=replace(session.machine, device=where))
    planned = [str(item) for item in decode_transformers.plan(there)]
    assert len(planned) == len(set(planned)) >= 8
    assert decode_transformers.seconds(there) > 0


def test_every_figure_tells_the_clock_before_and_after(small, monkeypatch):
    monkeypatch.setattr(decode_transformers, "Watch", Watched)
    decode_transformers.measure(small)
    assert {
        small.load(item).config["clock"]
        for item in [item for item in decode_transformers.plan(small) if "rate" in item.quantity]
    } == {"begin end"}
