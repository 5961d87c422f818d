"""Verdicts: each rule accepts what can be true and rejects what cannot, and none of its numbers can be wrong unseen."""

import time
import types
from pathlib import Path

import pytest

from measure import limits, models
from measure.limits import RULES, verdicts
from measure.results import Machine, Report, Run, Sample, parse_key

GIB = 2**30
CPU = Machine("a machine", "cpu", cache_bytes=32 * 2**20)
BANDWIDTH = {"bandwidth/sum": (90.0, "GB/s"), "bandwidth/copy": (100.0, "GB/s")}
ONE_SHAPE = {"matmul/throughput?dtype=bf16&n=4096": (1.0, "TFLOPS")}
MATMUL = {"matmul/throughput?dtype=bf16&n=2048": (0.8, "TFLOPS"), **ONE_SHAPE}
MODEL = "decode_transformers/qwen3-0.6b-bf16"
WEIGHTS = {f"{MODEL}/loaded_weights": (1.0, "GiB")}
PARAMETERS = {f"{MODEL}/parameters_without_embeddings": (5e8, "param")}
LIMITS = {**BANDWIDTH, **MATMUL, **WEIGHTS, **PARAMETERS}


def sample(value, unit, **config):
    return Sample(unit, [value], "2026-11-29T00:00:00Z", "python -m measure run x --run here", config)


def judged(key, value, unit="tok/s", others=LIMITS, machine=CPU, using=None, **config):
    """The verdict on one sample beside others."""
    samples = {text: sample(*given) for text, given in others.items()}
    run = Run("here", "executed", machine, "2026-11-29", {**samples, key: sample(value, unit, **config)})
    return verdicts(run, using)[key]


RATE, RATE_4 = f"{MODEL}/rate?requests=1", f"{MODEL}/rate?requests=4"
PREFILL = f"{MODEL}/prefill_rate?tokens=256"
GB_A_STEP = GIB / 1e9  # 1.0737: the weights, read once
FP8 = "decode_vllm/qwen3-4b-fp8"
FP8_LIMITS = {**MATMUL, f"{FP8}/parameters_without_embeddings": (5e8, "param")}
LONG = {"prompt_tokens": 1000, "output_tokens_short": 1, "output_tokens_long": 65}
KV_GB = 1033 * 114_688 / 1e9  # half-way: 1,000 + (1 + 65) / 2 tokens of 28 layers x 2 x 8 heads x 128 numbers x 2 bytes
BUFFER = {"unit": "GB/s", "others": {}}

CASES = [
    # rule, status, key, value, more: what each rule must say, from both sides of its edge
    ("above_bandwidth", "accepted", RATE, 90 / GB_A_STEP, {}),
    ("above_bandwidth", "accepted", RATE, 102.9 / GB_A_STEP, {}),
    ("above_bandwidth", "suspect", RATE, 103.1 / GB_A_STEP, {}),  # the cache may hold 3.2% of these weights
    ("above_bandwidth", "rejected", RATE, 107 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE, 103.1 / GB_A_STEP, {"machine": Machine("no cache told", "cpu")}),
    ("above_bandwidth", "suspect", RATE, 900 / GB_A_STEP, {"machine": Machine("huge", "cpu", cache_bytes=GIB)}),
    ("above_bandwidth", "accepted", RATE_4, 400 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE_4, 430 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE, 103 / GB_A_STEP, {"others": {**LIMITS, "bandwidth/copy": (20.0, "GB/s")}}),
    ("above_bandwidth", "suspect", RATE, 103 / GB_A_STEP, {"others": {"bandwidth/sum": (90.0, "GB/s"), **WEIGHTS}}),
    ("above_bandwidth", "rejected", RATE, 108 / GB_A_STEP, {"others": {"bandwidth/sum": (90.0, "GB/s"), **WEIGHTS}}),
    ("above_bandwidth", "accepted", RATE_4, 4 * 95 / (GB_A_STEP + 4 * KV_GB), {**LONG, "using": models}),
    ("above_bandwidth", "rejected", RATE_4, 4 * 107 / (GB_A_STEP + 4 * KV_GB), {**LONG, "using": models}),
    ("above_bandwidth", "accepted", RATE_4, 4 * 107 / (GB_A_STEP + 4 * KV_GB), LONG),
    ("above_bandwidth", "rejected", RATE_4, 430 / GB_A_STEP, {**LONG, "prompt_tokens": -1e9, "using": models}),
    ("above_compute", "accepted", PREFILL, 1000.0, {}),
    ("above_compute", "accepted", PREFILL, 1029.0, {}),
    ("above_compute", "rejected", PREFILL, 1031.0, {}),
    ("above_compute", "rejected", f"{MODEL}/rate?requests=64", 1031.0, {}),
    ("above_compute", "suspect", PREFILL, 1100.0, {"others": {**PARAMETERS, **ONE_SHAPE}}),
    ("above_compute", "rejected", PREFILL, 1200.0, {"others": {**PARAMETERS, **ONE_SHAPE}}),
    ("above_compute", "suspect", f"{FP8}/prefill_rate?tokens=256", 2000.0, {"others": FP8_LIMITS}),
    ("above_compute", "rejected", f"{FP8}/prefill_rate?tokens=256", 2070.0, {"others": FP8_LIMITS}),
    (
        "above_compute", "rejected", f"{FP8}/prefill_rate?tokens=256", 2000.0,
        {"others": {**FP8_LIMITS, "matmul/throughput?dtype=fp8_e4m3&n=4096": (1.5, "TFLOPS")}},
    ),
    ("token_count_differs", "rejected", RATE, 10.0, {"output_tokens_long": 512, "produced_tokens": 43}),
    ("token_count_differs", "rejected", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 64}),
    ("token_count_differs", "rejected", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 257}),
    ("above_bandwidth", "accepted", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 256}),
    ("buffer_in_cache", "rejected", "bandwidth/triad", 3868.0, {**BUFFER, "buffer_bytes": 32 * 2**20}),
    ("buffer_in_cache", "suspect", "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": 127 * 2**20}),
    ("buffer_in_cache", "accepted", "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": 128 * 2**20}),
    ("", "accepted", "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": 2**20, "machine": Machine("m", "cpu")}),
    ("prompts_repeated", "rejected", PREFILL, 10.0, {"distinct_prompts": False}),
    ("above_compute", "accepted", PREFILL, 10.0, {"distinct_prompts": True}),
    ("tokens_cached", "rejected", PREFILL, 10.0, {"cached_tokens": 16}),
    ("above_compute", "accepted", PREFILL, 10.0, {"cached_tokens": 0}),
    ("", "accepted", RATE, 1e9, {"others": {}}),
    ("", "accepted", f"{MODEL}/rate", 1e9, {"others": {**BANDWIDTH, **WEIGHTS}}),
    ("", "accepted", f"{MODEL}/first_token?requests=1", 1e-9, {"unit": "s"}),
    ("", "accepted", RATE.replace("transformers", "vllm"), 1e9, {}),  # another engine may hold other weights
]  # fmt: skip


@pytest.mark.parametrize(("rule", "status", "key", "value", "more"), CASES)
def test_verdict(rule, status, key, value, more):
    verdict = judged(key, value, **more)
    assert (verdict.status, verdict.rule) == (status, rule), verdict


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_each_rule_has_cases_on_both_sides_and_advice(rule):
    assert {status for name, status, *_ in CASES if name == rule} >= {"rejected"}
    assert any(status == "accepted" and _applies(rule, *case) for _, status, *case in CASES)
    assert limits.advice(rule).endswith(".")


def _applies(rule, key, value, more):
    (judge,) = (entry.judge for entry in RULES if entry.name == rule)
    settings = {"unit", "others", "machine", "using"}
    others = {text: sample(*given) for text, given in more.get("others", LIMITS).items()}
    one = sample(value, more.get("unit", "tok/s"), **{n: v for n, v in more.items() if n not in settings})
    run = Run("here", "executed", more.get("machine", CPU), "2026-11-29", {**others, key: one})
    return judge(limits.Case(parse_key(key), one, run, limits.Sound(run.samples))) is not None


def test_rules_of_the_sample_alone_are_rules():
    assert set(limits.OF_SAMPLE_ALONE) < {rule.name for rule in RULES}


# A fault in a rule turns a case red

MUTATIONS = [
    ("TOLERANCE = 1.03", "TOLERANCE = 1.1"),
    ("TOLERANCE = 1.03", "TOLERANCE = 1.0"),
    ("ONE_KERNEL = 1.15", "ONE_KERNEL = 1.03"),
    ("ONE_KERNEL = 1.15", "ONE_KERNEL = 1.5"),
    ("NARROW = 2.0", "NARROW = 1.0"),
    ("NARROW = 2.0", "NARROW = 4.0"),
    ("CACHE_FACTOR = 4", "CACHE_FACTOR = 2"),
    ('"GiB": 2.0**30', '"GiB": 1e9'),
    ("case.sample.median / requests", "case.sample.median"),
    ("weight_bytes + requests * _cache_read(case)", "weight_bytes + _cache_read(case)"),
    ("weight_bytes + requests * _cache_read(case)", "weight_bytes"),
    ("long) / 2, 0)", "long) / 2, -1e9)"),
    ("prompt + ((short or 0) + long) / 2", "prompt"),
    ("prompt + ((short or 0) + long) / 2", "((short or 0) + long) / 2"),
    ("_slack(ceiling) * _kept(weight_bytes, case.run.machine.cache_bytes)", "_slack(ceiling)"),
    ('else float("inf")', "else 1.0"),
    ('("sum", "copy", "triad")', '("copy", "triad")'),
    ("first = max(", "first = min("),
    ("2 * parameters[1].median * case.sample.median / 1e12", "parameters[1].median * case.sample.median / 1e12"),
    ('not in ("rate", "prefill_rate")', 'not in ("prefill_rate",)'),
    ('not in ("rate", "prefill_rate")', 'not in ("rate",)'),
    ("and not ceiling.narrow", ""),
    ("_narrow(subject.rpartition", "(lambda _: True)(subject.rpartition"),
    ('asked *= case.parameter("requests") or 1', ""),
    ("if produced == asked", "if produced >= asked"),
    ("if produced == asked", "if produced <= asked"),
    ("if buffer <= cache", "if buffer < cache"),
    ('"accepted" if distinct else "rejected"', '"accepted"'),
    ('"accepted" if distinct else "rejected"', '"rejected"'),
    ('"rejected" if cached else "accepted"', '"accepted"'),
    ('"rejected" if cached else "accepted"', '"rejected"'),
    ("self.key.measurement, self.key.subject, quantity", '"decode_transformers", self.key.subject, quantity'),
    ("            del kept[text]", "            pass"),
]


def _cases_hold():
    found = [judged(key, value, **more) for _, _, key, value, more in CASES]
    return [(verdict.rule, verdict.status) for verdict in found] == [(rule, status) for rule, status, *_ in CASES]


@pytest.mark.parametrize(("right", "wrong"), MUTATIONS)
def test_a_fault_turns_a_case_red(monkeypatch, right, wrong):
    source = Path(limits.__file__).read_text()
    assert source.count(right) >= 1, "the line has changed: change the mutation with it"
    module = types.ModuleType("measure.limits")
    monkeypatch.setitem(__import__("sys").modules, "measure.limits", module)
    exec(compile(source.replace(right, wrong), "limits.py", "exec"), module.__dict__)
    monkeypatch.setitem(globals(), "verdicts", module.verdicts)
    assert not _cases_hold() or not _rejected_is_no_limit()


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_a_rule_left_out_turns_a_case_red(monkeypatch, rule):
    monkeypatch.setattr(limits, "RULES", tuple(entry for entry in RULES if entry.name != rule))
    assert not _cases_hold()


def test_the_cases_hold_without_a_fault():
    assert _cases_hold() and _rejected_is_no_limit()


# What a limit is made of


def _rejected_is_no_limit():
    """A bandwidth measured in the cache is no limit: without another, a rate is not judged by it."""
    small = sample(3868.0, "GB/s", buffer_bytes=2**20)
    weights, rate = sample(1.0, "GiB"), sample(500.0, "tok/s")
    samples = {"bandwidth/sum": small, f"{MODEL}/loaded_weights": weights, RATE: rate}
    return verdicts(Run("here", "executed", CPU, "2026-11-29", samples))[RATE].rule == ""


def test_a_rejected_sample_is_no_limit_for_others():
    assert _rejected_is_no_limit()


def test_the_best_kernel_is_the_limit():
    verdict = judged(RATE, 50.0)
    assert (verdict.limit, verdict.unit) == (100.0, "GB/s")
    assert verdict.basis == (f"{MODEL}/loaded_weights", "bandwidth/copy")
    assert verdict.value == pytest.approx(50 * GB_A_STEP) and verdict.factor == pytest.approx(0.5 * GB_A_STEP)


def test_the_worst_verdict_counts():
    verdict = judged(RATE, 1e6, output_tokens_long=8, produced_tokens=7, distinct_prompts=False)
    assert (verdict.status, verdict.rule) == ("rejected", "above_bandwidth")


def test_an_unknown_model_has_no_cache_traffic():
    key = "decode_vllm/mystery-7b-bf16/rate?requests=1"
    others = {**BANDWIDTH, "decode_vllm/mystery-7b-bf16/loaded_weights": (1.0, "GiB")}
    assert judged(key, 90 / GB_A_STEP, others=others, using=models, **LONG).factor == pytest.approx(0.9)


@pytest.mark.parametrize(
    "config",
    [
        {"produced_tokens": "many", "output_tokens_long": 8},
        {"produced_tokens": True, "output_tokens_long": 8},
        {"produced_tokens": 3, "output_tokens_long": 0},
        {"requests": 0},
        {"buffer_bytes": "big"},
        {"cached_tokens": "none"},
    ],
)
def test_an_odd_configuration_is_no_crash(config):
    assert judged(f"{MODEL}/rate", 1.0, **config).status in limits.STATUSES


@pytest.mark.parametrize("name", ["prompt_tokens", "output_tokens_short", "output_tokens_long", "produced_tokens"])
@pytest.mark.parametrize(
    "size",
    [1e308, -1e308, 10**400, 10**5000, "1e400", "1e308", "nan", "-inf", 1e18, -1e18],
    ids=lambda size: str(size)[:6] if isinstance(size, float | str) else "long",
)
def test_no_size_of_a_configured_number_is_a_crash(name, size):
    assert judged(RATE_4, 1.0, using=models, **{**LONG, name: size}).status in limits.STATUSES


def test_many_samples_are_judged_in_linear_time():
    """Every sample asks for the same few limits: looking each up anew took minutes for as many."""
    rates = {f"{FP8}/rate?requests={n}": (5.0, "tok/s") for n in range(1, 5001)}
    products = {f"matmul/throughput?dtype=fp8&n={n}": (30.0, "TFLOPS") for n in range(1, 5001)}
    samples = {text: sample(*given) for text, given in {**LIMITS, **FP8_LIMITS, **rates, **products}.items()}
    begun = time.process_time()
    found = verdicts(Run("here", "executed", CPU, "2026-11-29", samples), models)
    assert len(found) == len(samples) > 10_000 and found[f"{FP8}/rate?requests=9"].rule == "above_compute"
    assert time.process_time() - begun < 10


def test_no_samples_no_verdicts():
    assert verdicts(Run("here", "executed", CPU, "2026-11-29")) == {}


# The source article's figures


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
