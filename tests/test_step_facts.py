"""What is said of a step, its launches, a server and the engines' own tools follows from samples made by hand."""

import pytest

from measure import models
from measure.results import Machine, Results, Run, Sample
from templates import claims
from templates.config import Told
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.facts.machine import MachineFacts
from templates.facts.samples import Samples
from templates.facts.verdicts import Verdicts
from templates.quantity import Constant, constant, missing

MODEL = "qwen3-0.6b-bf16"
RATE = f"decode_transformers/{MODEL}/rate?requests=1"
KERNELS = f"decode_transformers/{MODEL}/step_kernel_time"
WITH = f"graphs_transformers/{MODEL}/rate?graphs=on&requests=1"
WITH_KERNELS = f"graphs_transformers/{MODEL}/step_kernel_time?graphs=on"


def sample(unit, value, **config):
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x", config)


STEP = {"matmul_ms": 1.0, "attention_ms": 0.5, "other_ms": 0.4, "copy_ms": 0.1, "prompt_tokens": 32}

SAMPLES = {
    "bandwidth/sum": sample("GB/s", 4000.0, buffer_bytes=2**33),
    f"decode_transformers/{MODEL}/loaded_weights": sample("GB", 1.2),
    RATE: sample("tok/s", 50.0, requests=1),
    KERNELS: sample("ms", 2.0, **STEP, long_prompt_tokens=3200, attention_ms_long_prompt=0.8),
    f"graphs_transformers/{MODEL}/loaded_weights": sample("GB", 1.2),
    WITH: sample("tok/s", 250.0, requests=1),
    WITH_KERNELS: sample("ms", 3.1),
}


def edition(**more):
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    run = Run("a", "executed", machine, "2026-11-01", {**SAMPLES, **dict(more.values())})
    return Edition("x", Told(models="a"), Results([run]))


def outcome(told, name):
    return claims.judge(told)[name].outcome.value


@pytest.mark.parametrize(
    ("billions", "expected"), [(0.5, "refuted"), (0.58, "holds"), (0.61, "holds"), (0.64, "refuted")]
)
def test_parameters_fit_the_weights_if_they_are_neither_more_nor_much_less(billions, expected):
    """In 16 bits 1.2 GB are 0.6 billion."""
    counted = sample("param", billions * 1e9)
    told = edition(parameters=(f"decode_transformers/{MODEL}/parameters", counted))
    assert outcome(told, "parameters_fit_file") == expected


def test_what_the_kernels_of_a_step_do():
    step = edition().models[0].step
    assert (step.matmul.value, step.attention.value, step.long_attention.value) == (1.0, 0.5, 0.8)
    assert step.other.value == pytest.approx(0.5)
    assert step.read_speed.to("GB/s").value == pytest.approx(1200)
    assert step.read_share.to("%").value == pytest.approx(30)
    assert step.long_kv_read.value == pytest.approx(100 * step.kv_read.value)  # no window in this model


def test_what_a_graph_makes_of_a_step():
    """20 ms a token with kernels of 2 ms, 4 ms with kernels of 3.1 ms: of 18 ms without a kernel 0.9 are left."""
    told = edition()
    graphs = told.models[0].graphs
    assert graphs.gain.value == pytest.approx(5)
    assert graphs.without_gaps.value == pytest.approx(18)
    assert graphs.with_gaps.value == pytest.approx(0.9)
    assert graphs.closed.to("%").value == pytest.approx(95)
    assert graphs.with_share.to("%").value == pytest.approx(7.5)
    assert (outcome(told, "graphs_pay"), outcome(told, "gaps_are_launches")) == ("holds", "holds")


def test_gaps_that_stay_have_another_cause():
    slow = edition(rate=(WITH, sample("tok/s", 60.0)))
    assert slow.models[0].graphs.closed.to("%").value == pytest.approx(100 * (1 - (1e3 / 60 - 3.1) / 18))
    assert (outcome(slow, "graphs_pay"), outcome(slow, "gaps_are_launches")) == ("holds", "refuted")


def test_a_step_full_of_kernels_has_no_gaps_to_close():
    """Nothing is said of launches there, and a graph that gains little refutes that graphs pay."""
    full = edition(kernels=(KERNELS, sample("ms", 19.0, **STEP)), rate=(WITH, sample("tok/s", 52.0)))
    assert (outcome(full, "graphs_pay"), outcome(full, "gaps_are_launches")) == ("refuted", "undecided")


def test_an_engine_that_has_graphs_is_held_against_itself_without():
    rate = f"decode_vllm/{MODEL}/rate?requests=1"
    off = f"graphs_vllm/{MODEL}/rate?graphs=off&requests=1"
    told = edition(on=(rate, sample("tok/s", 600.0)), off=(off, sample("tok/s", 60.0)))
    (graphs,) = [model.graphs for model in told.models if model.engine == "vllm"]
    assert (graphs.with_rate.value, graphs.without_rate.value) == (600, 60)
    assert graphs.gain.value == pytest.approx(10)


def first(through, value, requests=2):
    return f"{through}_vllm/{MODEL}/first_token?requests={requests}", sample("s", value, prompt_tokens=67)


@pytest.mark.parametrize(("served", "expected"), [(0.016, "holds"), (0.009, "refuted")])
def test_what_a_server_adds(served, expected):
    rate = (f"decode_vllm/{MODEL}/rate?requests=1", sample("tok/s", 600.0))
    told = edition(rate=rate, library=first("decode", 0.010), server=first("serve", served))
    (batch,) = told.overall.served
    assert (batch.requests, batch.asked_tokens.value) == (2, 67)
    assert batch.served_extra.value == pytest.approx(1e3 * (served - 0.010))
    assert outcome(told, "server_later") == expected


@pytest.mark.parametrize(("tool", "expected"), [(50.5, "holds"), (49.0, "holds"), (52.0, "refuted"), (48.0, "refuted")])
def test_rates_agree_within_the_threshold_either_way(tool, expected):
    told = edition(tool=(f"peer_transformers/{MODEL}/rate?requests=1", sample("tok/s", tool)))
    assert told.models[0].peer.tool_ratio.value == pytest.approx(100 * 50 / tool)
    assert outcome(told, "peers_agree") == expected


def test_the_engines_own_clock_is_a_peer_too():
    clock = sample("tok/s", 50.0, requests=1, library_tok_s=50.5)
    told = edition(rate=(RATE, clock))
    assert [ratio.value for ratio in told.models[0].peer.ratios] == pytest.approx([100 * 50 / 50.5])


def test_without_measurements_nothing_is_claimed():
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34)
    told = Edition("x", Told(models="a"), Results([Run("a", "executed", machine, "2026-11-01", {})]))
    names = ("graphs_pay", "gaps_are_launches", "server_later", "peers_agree")
    assert {outcome(told, name) for name in names} == {"undecided"}


@pytest.mark.parametrize("precision", models.BYTES_PER_WEIGHT)
@pytest.mark.parametrize("name", models.models())
def test_keys_and_values_are_those_of_the_shape_windows_included(name, precision):
    samples = Samples("nobody", None, Verdicts())
    model = LanguageModel(samples, MachineFacts(samples), "decode_x", f"{name}-{precision}")
    for length in (1, 1023, 1024, 1025, 100_000):
        counted = model.kv_of(constant(length, "tok", "prompt_length")).to("B").value
        assert counted == pytest.approx(models.kv_bytes(f"{name}-{precision}", length))
    unknown = model.kv_of(missing("tok", Constant("prompt_length"), "not_recorded", "x"))
    assert [absence.reason for absence in unknown.absences] == ["not_recorded"]
