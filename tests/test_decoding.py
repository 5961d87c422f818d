"""Rates come from two output lengths, engines are asked for what a sceptic would ask, and faults are recorded."""

import dataclasses

import pytest
from msgspec.structs import replace
from tiny import failures, session  # noqa: F401  # a fixture

from measure import decoding, device, kernels, limits, timing
from measure.card import Card, Reading
from measure.decoding import Answer, Bench, Held, Scope
from measure.kernels import Trace
from measure.keys import key
from measure.store import load

NAME, TEXT = "decode_vllm", "qwen3-0.6b-bf16"
SCOPE = Scope((1, 4), (8, 16), repeats=3, prompt_repeats=3, long=17)


class Clock:
    """Seconds that only an engine's work makes pass."""

    now = 0.0


class Engine:
    """An engine on whose clock a prompt token takes 0.01 s and a further token 0.02 s."""

    vocabulary = 1000
    config = {"prefix_cache": False}  # noqa: RUF012

    def __init__(self):
        self.asked, self.cached, self.missing = [], 0, 0

    def held(self):
        return Held(2.0 * 2**30, 700, 400)

    def prepare(self, requests, tokens):
        if requests * tokens > 10_000:
            raise device.NotEnoughMemoryError("the cache holds 10000 tokens")

    def noted(self):
        return {"library_tok_s": 49.0}

    def generate(self, prompts, tokens):
        self.asked.append((prompts, tokens))
        Clock.now += 0.01 * len(prompts[0]) + 0.02 * (tokens - 1)
        return Answer((tokens - self.missing,) * len(prompts), self.cached)

    def traced(self, prompts, tokens):
        prompt_s = 1e-4 * len(prompts[0])
        return Trace(prompt_s + 2e-3 * (tokens - 1), 10 * tokens, {"flash_fwd": 1e-3 * tokens, "gemm": 5e-4})


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(Clock, "now", 0.0)
    monkeypatch.setattr(decoding.time, "perf_counter", lambda: Clock.now)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: Clock.now)
    return Engine()


@pytest.fixture
def bench(session, engine):  # noqa: F811
    return Bench(session, engine, {"weights": "random"}, SCOPE)


def sample(bench, quantity, **parameters):
    return bench.session.load(key(NAME, quantity, TEXT, **parameters))


def test_every_key_is_recorded_with_what_engine_and_measurement_say(bench):
    planned = decoding.keys(NAME, TEXT, SCOPE)
    bench.measure(planned)
    assert len(planned) == 3 + 2 + 2 + 2
    for item in planned:
        found = bench.session.load(item)
        assert found is not None, failures(bench.session)
        assert (found.config["weights"], found.config["prefix_cache"]) == ("random", False)


def test_a_rate_is_what_two_lengths_differ_by(bench):
    """A step takes 0.02 s, so 4 requests decode 200 tokens a second; the prompt's 0.32 s play no part."""
    bench.measure([key(NAME, "rate", TEXT, requests=4)])
    found = sample(bench, "rate", requests=4)
    assert found.values == pytest.approx([200] * 3)
    told = {"requests": 4, "prompt_tokens": 32, "output_tokens_short": 9, "output_tokens_long": 17}
    assert told.items() <= found.config.items()
    assert (found.config["produced_tokens"], found.config["library_tok_s"]) == (68, 49.0)


def test_no_prompt_is_sent_twice(bench, engine):
    bench.measure(decoding.keys(NAME, TEXT, SCOPE)[3:7])
    sent = [tuple(prompt) for prompts, _ in engine.asked for prompt in prompts]
    assert len(sent) == len(set(sent))
    assert sample(bench, "prefill_rate", tokens=16).config["distinct_prompts"] is True


def test_prefill_is_the_whole_time_to_the_first_token(bench):
    bench.measure([key(NAME, "prefill_rate", TEXT, tokens=16)])
    found = sample(bench, "prefill_rate", tokens=16)
    assert found.values == pytest.approx([100] * 3)
    assert (found.config["prompt_tokens"], found.config["cached_tokens"]) == (16, 0)


def test_kernel_times_are_of_one_step_and_of_the_shortest_prompt(bench):
    bench.measure([key(NAME, "step_kernel_time", TEXT), key(NAME, "short_prompt_kernel_time", TEXT)])
    step, prompt = sample(bench, "step_kernel_time"), sample(bench, "short_prompt_kernel_time")
    assert step.values == pytest.approx([2.0] * kernels.TRACES)
    assert (step.config["attention_ms"], step.config["kernels_per_step"]) == (pytest.approx(1.0), 10)
    assert prompt.values == pytest.approx([0.8] * kernels.TRACES)
    assert prompt.config["prompt_tokens"] == 8


def test_too_few_tokens_are_no_rate(bench, engine):
    engine.missing = 1
    bench.measure(decoding.keys(NAME, TEXT, SCOPE)[3:5])
    reason, detail = failures(bench.session)[f"{NAME}/{TEXT}/rate?requests=1"]
    assert (reason, detail) == (
        "crashed",
        "ArithmeticError: asked for 1 requests of 17 tokens, got 1 requests of 16 to 16",
    )


def test_cached_tokens_are_told_and_rejected(bench, engine):
    engine.cached = 7
    bench.measure(decoding.keys(NAME, TEXT, SCOPE)[3:5])
    (run,) = load(bench.session.results).runs
    verdicts = limits.verdicts(run)
    assert {verdict.rule for verdict in verdicts.values()} == {"tokens_cached"}
    assert {verdict.status for verdict in verdicts.values()} == {"rejected"}


def test_a_repeated_prompt_is_rejected_by_the_rules(bench):
    repeated = key(NAME, "prefill_rate", TEXT, input="repeated")
    bench.send(repeated, 16, [bench.prompts(1, 16)] * 5, warmups=2)
    (run,) = load(bench.session.results).runs
    verdict = limits.verdicts(run)[str(repeated)]
    assert (verdict.status, verdict.rule) == ("rejected", "prompts_repeated")
    assert len(sample(bench, "prefill_rate", input="repeated").values) == 3


def test_what_does_not_fit_is_left_out_and_the_rest_goes_on(bench):
    bench.measure([key(NAME, "rate", TEXT, requests=400), key(NAME, "rate", TEXT, requests=4)])
    assert failures(bench.session) == {
        f"{NAME}/{TEXT}/rate?requests=400": ("not_enough_memory", "the cache holds 10000 tokens")
    }
    assert sample(bench, "rate", requests=4) is not None


def test_energy_is_that_of_the_longer_generations(session, engine, monkeypatch):  # noqa: F811
    """100 W throughout: 17 tokens of 4 requests in 0.64 s."""
    reading = lambda self: Reading(1980, 100.0, 100.0 * Clock.now, ("sw_power_cap",))  # noqa: E731
    monkeypatch.setattr(Card, "read", reading)
    machine = replace(session.machine, device="cuda", accelerators=1)
    bench = Bench(dataclasses.replace(session, machine=machine), engine, {}, SCOPE)
    bench.measure([key(NAME, "rate", TEXT, requests=4)])
    told = sample(bench, "rate", requests=4).config
    assert told["joules_per_token"] == pytest.approx(64 / 68)
    assert (told["clock_mhz_end"], told["throttle_reasons"]) == (1980, "sw_power_cap")


def test_what_is_traced_comes_after_all_that_is_timed():
    """A profiler slows what its process does later, the next model's steps too."""
    items = [item for text in (TEXT, "qwen3-1.7b-bf16") for item in decoding.keys(NAME, text, SCOPE)]
    made = list(decoding.passes(items))
    assert [subject for subject, _ in made] == [TEXT, "qwen3-1.7b-bf16"] * 2
    assert sorted(map(str, items)) == sorted(str(item) for _, part in made for item in part)
    traced = [item.quantity in kernels.QUANTITIES for _, part in made for item in part]
    assert traced == sorted(traced) and True in traced


def test_a_busy_machine_gives_no_rate():
    with pytest.raises(ArithmeticError, match="kept the machine busy"):
        decoding.rates(1, 8, [1.0, 3.0, 3.0], [2.5, 4.0])


def test_many_requests_take_fewer_repeats(session, engine):  # noqa: F811
    wide = Bench(session, engine, {}, SCOPE._replace(repeats=5))
    wide.measure([key(NAME, "rate", TEXT, requests=4), key(NAME, "rate", TEXT, requests=64)])
    counts = [len(session.load(key(NAME, "rate", TEXT, requests=number)).values) for number in (4, 64)]
    assert counts == [5, timing.AT_LEAST]
