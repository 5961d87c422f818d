"""Verdicts: each rule accepts what can be true and finds what cannot, with its limit, its factor and what to do."""

from __future__ import annotations

import inspect
import re
import time

import pytest
from paths import ROOT
from verdicts import (
    BANDWIDTH,
    CASES,
    CPU,
    FOUR,
    FP8,
    FP8_LIMITS,
    GB_A_STEP,
    LIMITS,
    LONG,
    MODEL,
    PUBLIC,
    RATE,
    RATE_4,
    WEIGHT,
    judged,
    sample,
    wrong,
)

from measure import limits, models
from measure.keys import parse_key
from measure.limits import (
    ENTRIES,
    RULES,
    Stage,
    ceilings,
    clocks,
    implied,
    order,
    process,
    repeats,
    tokens,
    units,
    verdicts,
)
from measure.limits.case import Case, Sound
from measure.results import Machine, Report, Run
from measure.store import load


@pytest.mark.parametrize("case", [*CASES, *(case[1:] for case in PUBLIC)], ids=lambda case: f"{case[0]}-{case[1]}")
def test_verdict(case, monkeypatch):
    monkeypatch.setattr("verdicts.CASES", [case])
    monkeypatch.setattr("verdicts.PUBLIC", [])
    assert wrong(verdicts) == []


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_each_rule_has_cases_on_both_sides(rule):
    told = {status for name, status, *_ in CASES if name == rule}
    assert "accepted" in told and told & {"suspect", "rejected"}


def test_every_case_is_of_a_rule_and_every_rule_stands_once_and_in_its_stage():
    names = [rule.name for rule in RULES]
    assert {case[0] for case in CASES} == set(names) and len(set(names)) == len(names)
    assert [rule.stage for rule in RULES] == sorted(rule.stage for rule in RULES)
    assert all(limits.advice(name).endswith(".") for name in names)


def test_every_entry_that_is_described_is_read_by_a_rule():
    source = "".join(
        inspect.getsource(module)
        for module in (implied, ceilings, clocks, limits.case, order, process, repeats, tokens, units)
    )
    read = set(re.findall(r'"(\w+)"', source)) | {f"clock_mhz_{name}" for name in ("start", "end", "max")}
    assert set(ENTRIES) <= read


def test_an_entry_that_is_not_described_is_not_read():
    case = Case(parse_key(RATE), sample(1.0, "tok/s"), Run("here", "executed", CPU, ""), Sound({}))
    with pytest.raises(KeyError, match=r"entries\.py"):
        case.entry("no_such_entry")


# What a verdict tells


def test_the_best_kernel_is_the_limit():
    verdict = judged(verdicts, RATE, 50.0)
    assert (verdict.limit, verdict.unit, verdict.from_datasheet) == (100.0, "GB/s", False)
    assert verdict.basis == (f"{MODEL}/loaded_weights", "bandwidth/copy")
    assert verdict.value == pytest.approx(50 * GB_A_STEP) and verdict.factor == pytest.approx(0.5 * GB_A_STEP)


def spread_over(cards, *, rate, second=True):
    """The verdict on a rate of 1 GiB of weights in all; the first card reads 100 GB/s, the second 80."""
    others = {**BANDWIDTH, f"{WEIGHT}?tensor_parallel={cards}": (1.0, "GiB"), WEIGHT: (9.0, "GiB")}
    others |= {"bandwidth/sum?card=1": (80.0, "GB/s"), "bandwidth/copy?card=1": (70.0, "GB/s")} if second else {}
    key = f"{RATE}&tensor_parallel={cards}"
    return judged(verdicts, key, rate, others=others, machine=FOUR, cards=cards)


def test_a_limit_is_summed_over_the_cards_that_were_used_each_as_it_was_measured():
    verdict = spread_over(2, rate=50.0)
    assert (verdict.status, verdict.limit) == ("accepted", 180.0)
    assert verdict.basis == (f"{WEIGHT}?tensor_parallel=2", "bandwidth/copy")
    assert spread_over(2, rate=175 / GB_A_STEP).status == "accepted"
    assert spread_over(2, rate=187 / GB_A_STEP).status == "suspect"  # accepted, if the second were like the first
    assert spread_over(2, rate=225 / GB_A_STEP).status == "rejected"


def test_a_card_that_was_not_measured_counts_as_the_best_that_was():
    assert spread_over(2, rate=50.0, second=False).limit == 200.0
    assert spread_over(4, rate=50.0).limit == 380.0


def test_one_card_is_held_against_the_first():
    others = {**LIMITS, "bandwidth/sum?card=1": (300.0, "GB/s")}
    assert judged(verdicts, RATE, 50.0, others=others, machine=FOUR).limit == 100.0


def test_a_datasheet_is_the_limit_where_nothing_was_measured_and_says_so():
    others = {f"{MODEL}/loaded_weights": (1.0, "GiB"), "datasheet/bandwidth": (936.0, "GB/s")}
    verdict = judged(verdicts, RATE, 50.0, others=others)
    assert (verdict.limit, verdict.basis[-1], verdict.from_datasheet) == (936.0, "datasheet/bandwidth", True)


def test_the_worst_verdict_counts_and_tells_all_others_causes_first():
    verdict = judged(verdicts, RATE, [1e6, 9e6, 9e6], output_tokens_long=8, produced_tokens=7, distinct_prompts=False)
    assert (verdict.status, verdict.rule) == ("rejected", "token_count_differs")
    told = [(fault.rule, fault.status) for fault in verdict.faults]
    assert told[1:] == [
        ("prompts_repeated", "rejected"),
        ("above_bandwidth", "rejected"),
        ("above_compute", "rejected"),
        ("start_up_inside", "suspect"),
        ("spread_wide", "suspect"),
    ]


def test_an_accepted_sample_tells_the_ceiling_it_came_nearest_to_and_all_that_was_checked():
    verdict = judged(verdicts, RATE, 50.0, distinct_prompts=True)
    assert (verdict.status, verdict.rule, verdict.faults) == ("accepted", "above_bandwidth", ())
    assert verdict.checked == ("prompts_repeated", "above_bandwidth", "above_compute")


# What a limit is made of


def rejected_are_no_limits(verdicts=verdicts):
    """A bandwidth of the cache, a copy counted twice over and an impossible rate judge nothing else."""
    rate = sample(500.0, "tok/s")
    weights = {f"{MODEL}/loaded_weights": sample(1.0, "GiB"), RATE: rate}
    small = {"bandwidth/sum": sample(3868.0, "GB/s", {"buffer_bytes": 2**20})}
    twice = {"bandwidth/sum": sample(450.0, "GB/s"), "bandwidth/copy": sample(900.0, "GB/s")}
    many = {"bandwidth/sum": sample(1000.0, "GB/s"), RATE_4: sample(40_000.0, "tok/s")}

    def judge(others):
        return verdicts(Run("here", "executed", CPU, "2026-11-29", {**others, **weights}))[RATE]

    return (
        judge(small).checked == ()
        and judge(twice).status == "rejected"
        and "held_up" not in judge(many).checked
        and judge({"bandwidth/sum": sample(1000.0, "GB/s")}).status == "accepted"
    )


def test_a_rejected_sample_is_no_limit_for_others():
    assert rejected_are_no_limits()


def test_the_stages_are_all_used():
    assert {rule.stage for rule in RULES} == set(Stage)


def test_an_unknown_model_has_no_cache_traffic_and_no_size():
    key = "decode_vllm/mystery-7b-bf16/rate?requests=1"
    weights = "decode_vllm/mystery-7b-bf16/loaded_weights"
    others = {**BANDWIDTH, weights: (1.0, "GiB")}
    assert judged(verdicts, key, 90 / GB_A_STEP, others=others, using=models, **LONG).factor == pytest.approx(0.9)
    assert judged(verdicts, weights, 1.0, "GiB", others={}, using=models).checked == ()


@pytest.mark.parametrize("percentile", [1e-15, 99.99999999999999, 100, -1, "many", 1e300])
def test_no_percentile_takes_for_ever(percentile):
    verdict = judged(verdicts, RATE, 1.0, others={}, percentile=percentile, observations=1e17)
    assert verdict.status in limits.STATUSES


@pytest.mark.parametrize(
    "config",
    [
        {"produced_tokens": "many", "output_tokens_long": 8},
        {"produced_tokens": True, "output_tokens_long": 8},
        {"produced_tokens": 3, "output_tokens_long": 0},
        {"requests": 0},
        {"buffer_bytes": "big"},
        {"cached_tokens": "none"},
        {"cards": 0},
        {"cards": "all"},
        {"slots": 0},
        {"slots": -1},
        {"tokens_per_step": 0},
        {"tokens_per_step": -3},
        {"device": 7},
        {"throttle_reasons": 64},
        {"clock_mhz_start": 0, "clock_mhz_end": 0, "clock_mhz_max": 0},
        {"first_s": 1, "gap_s": 1, "gaps": 1, "whole_s": 0},
        {"warmups": "none"},
    ],
    ids=str,
)
def test_an_odd_configuration_is_no_crash(config):
    for key, unit in ((f"{MODEL}/rate", "tok/s"), (RATE, "tok/s"), ("bandwidth/sum", "GB/s")):
        assert judged(verdicts, key, 1.0, unit, **config).status in limits.STATUSES


@pytest.mark.parametrize("name", sorted(ENTRIES))
@pytest.mark.parametrize(
    "size",
    [1e308, -1e308, 10**400, 10**5000, "1e400", "1e308", "nan", "-inf", 1e18, -1e18, 1e-300, 0],
    ids=lambda size: str(size)[:6] if isinstance(size, float | str) else "long",
)
def test_no_size_of_a_configured_number_is_a_crash(name, size):
    first = f"{MODEL}/first_token?requests=4"
    for key, unit in ((RATE_4, "tok/s"), (first, "s")):
        config = {**LONG, "first_s": 1, "gap_s": 1, "gaps": 1, "whole_s": 1, "percentile": 90, name: size}
        assert judged(verdicts, key, 1.0, unit, using=models, **config).status in limits.STATUSES


def test_no_time_at_all_is_no_crash():
    key = "tts_voxcpm/voxcpm2-bf16/fixed_time"
    for values in ([0.0] * 12, [0.0, 0.1, 0.2], [0.0]):
        assert judged(verdicts, key, values, "s").status == "accepted"


def test_many_samples_are_judged_in_linear_time():
    """Every sample asks for the same few limits and families: looking each up anew took minutes for as many."""
    rates = {f"{FP8}/rate?requests={n}": (5.0, "tok/s") for n in range(1, 5001)}
    products = {f"matmul/throughput?dtype=fp8&n={n}": (30.0, "TFLOPS") for n in range(1, 5001)}
    # A time that falls with every token: each prompt is at odds with all others.
    prompts = {f"{FP8}/prefill_rate?tokens={n}": (n * n / 1e6, "tok/s") for n in range(1, 5001)}
    samples = {text: sample(*given) for text, given in {**LIMITS, **FP8_LIMITS, **rates, **products, **prompts}.items()}
    begun = time.process_time()
    found = verdicts(Run("here", "executed", CPU, "2026-11-29", samples), models)
    assert len(found) == len(samples) > 15_000 and found[f"{FP8}/prefill_rate?tokens=9"].rule == "time_not_growing"
    assert found[f"{FP8}/rate?requests=9"].rule == "above_compute"
    assert time.process_time() - begun < 10


def test_no_samples_no_verdicts():
    assert verdicts(Run("here", "executed", CPU, "2026-11-29")) == {}


def test_drift_compares_the_ends_and_not_the_middle():
    assert repeats.drift([100, 100, 500, 500, 90, 90]) == pytest.approx(-0.1)
    assert repeats.drift([7.0]) == 0


# The shipped figures


def reported(**figures):
    unit = {"loaded_weights": "GiB", "parameters_without_embeddings": "param"}
    samples = {
        "bandwidth/sum": Report("GB/s", 250.0, "the article"),
        "bandwidth/copy": Report("GB/s", 227.0, "the article"),
        "matmul/throughput?dtype=fp16&n=4096": Report("TFLOPS", 31.8, "the article"),
    }
    for text, value in figures.items():
        samples[text] = Report(unit.get(text.rpartition("/")[2], "tok/s"), value, "the article")
    return Run("source-b", "reported", Machine("8 GB-class", "cuda"), "2026-10-06", samples)


def test_the_impossible_prefill_is_rejected_by_the_rule_for_all():
    right, wrong = f"{FP8}/prefill_rate?tokens=1024", f"{FP8}/prefill_rate?input=repeated"
    found = verdicts(reported(**{f"{FP8}/parameters_without_embeddings": 3.6e9, right: 3438.0, wrong: 91_240.0}))
    assert (found[wrong].status, found[wrong].rule) == ("rejected", "above_compute")
    assert found[wrong].value == pytest.approx(656.9, abs=0.1) and found[wrong].factor == pytest.approx(20.66, abs=0.01)
    assert found[right].status == "accepted" and found[right].factor == pytest.approx(0.78, abs=0.01)


@pytest.mark.parametrize(
    ("model", "gib", "rate", "share"),
    [
        ("qwen3-0.6b-bf16", 1.12, 180.4, 0.87),
        ("qwen3-1.7b-bf16", 3.22, 68.8, 0.95),
        ("qwen3-1.7b-fp8", 1.90, 105.7, 0.86),
        ("qwen3-4b-fp8", 4.32, 52.7, 0.98),
    ],
)
def test_the_reported_decoding_is_accepted(model, gib, rate, share):
    key = f"decode_vllm/{model}/rate?requests=1"
    verdict = verdicts(reported(**{f"decode_vllm/{model}/loaded_weights": gib, key: rate}))[key]
    assert (verdict.status, round(verdict.factor, 2)) == ("accepted", share)


def test_of_the_shipped_runs_only_the_wrong_measurement_is_rejected_and_no_third_is_suspect():
    for run in load(ROOT / "results.json").runs:
        found = {text: verdict.status for text, verdict in verdicts(run, models).items()}
        if run.kind == "executed":
            assert all("?input=repeated" in text for text, status in found.items() if status == "rejected")
        assert list(found.values()).count("suspect") < len(found) / 3, run.id
