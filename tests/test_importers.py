"""Importing: each format's figures under the right key, unit and definition; whatever is wrong is one clear line."""

import copy
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import foreign
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measure import cli, limits
from measure.importers import source, store
from measure.results import Import, Machine, Report, Results, ResultsError, Run, Sample, Summary
from measure.store import load, save

ROOT = Path(__file__).parent.parent
AT = "2026-11-29T13:45:00Z"
MODEL = "qwen3-0.6b-bf16"
PLACE = {"machine": "NVIDIA H200", "device": "cuda"}
BATCH = {"model": MODEL, **PLACE, "requests": "8", "prompt_tokens": "32", "output_tokens": "129"}
SERVED = {"model": MODEL, "engine": "vllm", **PLACE, "output_tokens": "5"}
LLAMA = {"model": "qwen3-0.6b-q8_0"}
H200 = Machine("NVIDIA H200", "cuda", cores=16, accelerators=1, driver="580.159.04")
VLLM = f"decode_vllm/{MODEL}"
LLAMA_CPP = "decode_llama/qwen3-0.6b-q8_0"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def bring(data, told, run_id="imported", name="file.json"):
    """Import bytes, or what stands for a JSON document; returns the run's samples by key."""
    Path(name).write_bytes(data if isinstance(data, bytes) else foreign.text(data))
    store.bring(Path(name), Path("results.json"), run_id, told)
    return stored(run_id).samples


def stored(run_id="imported"):
    return load(Path("results.json")).run(run_id)


def refused(data, told, *parts):
    """One line that holds the parts, and no results file changed."""
    before = Path("results.json").read_bytes() if Path("results.json").exists() else b""
    with pytest.raises(ResultsError) as caught:
        bring(data, told)
    message = str(caught.value)
    assert all(part in message for part in parts) and "\n" not in message, message
    assert (Path("results.json").read_bytes() if Path("results.json").exists() else b"") == before
    return message


# vllm bench latency


def test_a_batchs_time_is_kept_as_what_it_is():
    (sample,) = bring(foreign.vllm_latency(), BATCH).items()
    assert sample[0] == f"{VLLM}/batch_time?output=129&prompt=32&requests=8"
    assert (sample[1].unit, sample[1].values, sample[1].tool) == ("s", [1.30, 1.28, 1.32], "vllm bench latency")


def test_two_lengths_give_the_decoding_rate():
    """128 more tokens of 8 requests in 1.28 s more than the 0.02 s of the short file: 800 tokens a second."""
    Path("short.json").write_bytes(foreign.text(foreign.vllm_latency((0.02, 0.02, 0.03))))
    told = {**BATCH, "short_file": "short.json", "short_output_tokens": "1", "engine_version": "0.25.1"}
    samples = bring(foreign.vllm_latency((1.30, 1.30, 1.62)), told)
    rate = samples[f"{VLLM}/rate?requests=8"]
    assert rate.values == pytest.approx([800.0, 800.0, 640.0]) and rate.unit == "tok/s"
    lengths = {"requests": 8, "prompt_tokens": 32, "output_tokens_short": 1, "output_tokens_long": 129}
    assert rate.config == lengths and rate.versions == {"vllm": "0.25.1"}
    assert rate.given["short_file"].startswith("SHA-256 ") and len(rate.given["short_file"]) == 8 + 64
    assert f"{VLLM}/batch_time?output=129&prompt=32&requests=8" in samples


@pytest.mark.parametrize(
    ("short", "more", "parts"),
    [
        (foreign.vllm_latency((0.02,)), {"short_output_tokens": "129"}, ["129 is not less than", "short_file"]),
        (foreign.vllm_latency((0.02,)), {}, ["two files", "--set short_output_tokens=1"]),
        (foreign.vllm_latency((1.29,)), {"short_output_tokens": "1"}, ["no longer", "Check which"]),
        (foreign.vllm_throughput(), {"short_output_tokens": "1"}, ["short.json", "not of vllm bench latency"]),
        ({**foreign.vllm_latency((0.02,)), "avg_latency": 2.0}, {"short_output_tokens": "1"}, ["short.json", "itself"]),
    ],
)
def test_a_second_file_that_does_not_fit_is_told(short, more, parts):
    Path("short.json").write_bytes(foreign.text(short))
    refused(foreign.vllm_latency(), {**BATCH, "short_file": "short.json", **more}, *parts)


def test_a_second_file_that_is_not_there_is_told():
    told = {**BATCH, "short_file": "nowhere.json", "short_output_tokens": "1"}
    refused(foreign.vllm_latency(), told, "nowhere.json: cannot be read")


# vllm bench throughput


def test_prompt_tokens_do_not_count_as_decoding():
    told = {"model": MODEL, **PLACE, "prompt_tokens": "32", "output_tokens": "128"}
    ((text, sample),) = bring(foreign.vllm_throughput(), told).items()
    assert text == f"{VLLM}/token_rate?output=128&prompt=32&prompts=1000"
    assert sample.values == [8000.0] and sample.config == {"total_tokens": 160000, "elapsed_s": 20.0}


def test_varied_lengths_are_left_out_of_the_key():
    told = {"model": MODEL, **PLACE, "prompt_tokens": "varied", "output_tokens": "varied"}
    assert list(bring(foreign.vllm_throughput(), told)) == [f"{VLLM}/token_rate?prompts=1000"]


def test_lengths_that_do_not_make_the_total_are_refused():
    told = {"model": MODEL, **PLACE, "prompt_tokens": "32", "output_tokens": "64"}
    refused(foreign.vllm_throughput(), told, "total_num_tokens is 160000", "make 96000")


# vllm bench serve


@pytest.mark.parametrize("detailed", [False, True])
def test_one_request_at_a_time_gives_the_decoding_rate(detailed):
    samples = bring(foreign.vllm_serve(detailed=detailed), SERVED)
    assert set(samples) == {
        f"{VLLM}/{name}?requests=1" for name in ("first_token", "token_time", "rate", "output_rate")
    }
    rate, first = samples[f"{VLLM}/rate?requests=1"], samples[f"{VLLM}/first_token?requests=1"]
    assert rate.median == pytest.approx(1000 / 10.15, rel=1e-3) and rate.unit == "tok/s"
    assert first.median == pytest.approx(21.5) and first.unit == "ms"
    assert (len(rate.values), rate.count) == ((4, 4) if detailed else (0, 4))
    assert rate.config["produced_tokens"] == 5 and rate.config["output_tokens_long"] == 5
    assert rate.config["prompt_tokens"] == 32 and rate.at == "2026-11-29T13:45:00"
    assert limits.verdicts(stored())[f"{VLLM}/rate?requests=1"].status == "accepted"


def test_tokens_that_were_not_produced_reject_the_rate():
    bring(foreign.vllm_serve(), {**SERVED, "output_tokens": "512"})
    verdicts = limits.verdicts(stored())
    rate = verdicts[f"{VLLM}/rate?requests=1"]
    assert (rate.status, rate.rule) == ("rejected", "token_count_differs")
    assert verdicts[f"{VLLM}/first_token?requests=1"].status == "accepted", "it came before the end"


@pytest.mark.parametrize(("concurrency", "requests"), [(8, 4), (3, 3), (None, 4)])
def test_several_requests_at_a_time_give_no_rate(concurrency, requests):
    samples = bring(foreign.vllm_serve(concurrency), SERVED)
    assert set(samples) == {
        f"{VLLM}/{name}?requests={requests}" for name in ("first_token", "token_time", "output_rate")
    }
    assert samples[f"{VLLM}/token_time?requests={requests}"].median == pytest.approx(10.15)
    assert samples[f"{VLLM}/token_time?requests={requests}"].config["produced_tokens"] == 5 * requests


def test_a_rate_of_arrival_is_no_number_of_requests():
    samples = bring(foreign.vllm_serve(rate=2.5), SERVED)
    names = ("first_token", "token_time", "output_rate")
    assert set(samples) == {f"{VLLM}/{name}_under_load?request_rate=2.5" for name in names}


def test_appended_results_are_all_read_and_those_alike_are_told():
    one, many = foreign.vllm_serve(1), foreign.vllm_serve(3)
    assert len(bring(foreign.lines(one, many), SERVED)) == 7
    refused(foreign.lines(one, one), SERVED, "stands in it twice", "Split the file")


def test_what_did_not_stream_has_no_first_token():
    zeros = {name: 0.0 for name in foreign.vllm_serve() if name.endswith(("_ttft_ms", "_tpot_ms"))}
    assert list(bring(foreign.vllm_serve(**zeros), SERVED)) == [f"{VLLM}/output_rate?requests=1"]


def test_failed_requests_count_neither_as_fast_nor_as_slow():
    document = foreign.vllm_serve(prompts=4, detailed=True, failed=1)
    document["output_lens"][0], document["ttfts"][0], document["itls"][0] = 0, 0.0, []
    first = bring(document, SERVED)[f"{VLLM}/first_token?requests=1"]
    assert first.values == pytest.approx([21.0, 22.0, 23.0]) and first.config["failed"] == 1


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"completed": 0}, ["no request was completed"]),
        ({"output_throughput": 1.0}, ["output_throughput is 1", "contradicts itself"]),
        ({"request_rate": "fast"}, ["neither a number nor 'inf'"]),
        ({"request_rate": -1.0}, ["request_rate"]),
        ({"request_rate": 0}, ["request_rate"]),
        ({"ramp_up_strategy": "linear"}, ["rises as it goes"]),
        ({"date": "yesterday"}, ["'yesterday' is not like"]),
        ({"detailed": True, "ttfts": [0.1]}, ["output_lens, ttfts and itls have 4, 1 and 4 entries"]),
        ({"median_ttft_ms": "21"}, ["Expected `float | null`, got `str`", "$.median_ttft_ms"]),
        ({"median_tpot_ms": -1.0}, ["$.median_tpot_ms"]),
        ({"total_output_tokens": 2.5}, ["$.total_output_tokens"]),
        ({"max_concurrency": 0}, ["$.max_concurrency"]),
        ({"duration": 0.0}, ["$.duration"]),
        ({"duration": 1e-320, "output_throughput": 1e300}, ["contradicts itself"]),
    ],
)
def test_a_result_that_cannot_be_is_told(changes, parts):
    refused(foreign.vllm_serve(**changes), SERVED, "file.json", *parts)


# llama-bench

TESTS = [foreign.llama_test(prompt=512), foreign.llama_test(output=128), foreign.llama_test(prompt=512, output=128)]


@pytest.mark.parametrize("data", [foreign.text(TESTS), foreign.lines(*TESTS)], ids=["json", "jsonl"])
def test_pp_is_prefill_and_tg_is_decoding_and_both_are_neither(data):
    samples = bring(data, LLAMA)
    assert list(samples) == [
        f"{LLAMA_CPP}/loaded_weights",
        f"{LLAMA_CPP}/parameters",
        f"{LLAMA_CPP}/prefill_rate?tokens=512",
        f"{LLAMA_CPP}/rate?requests=1",
        f"{LLAMA_CPP}/token_rate?output=128&prompt=512&requests=1",
    ]
    rate = samples[f"{LLAMA_CPP}/rate?requests=1"]
    assert (rate.unit, rate.values, rate.at) == ("tok/s", [100.0, 110.0, 105.0], AT)
    assert rate.config["output_tokens_long"] == 128 and rate.config["prompt_tokens"] == 0
    assert rate.config["flash_attn"] == -1 and rate.versions == {"llama.cpp": "b11429"}
    weights = samples[f"{LLAMA_CPP}/loaded_weights"]
    assert (weights.unit, weights.values) == ("GB", [0.633])
    assert stored().machine == Machine("NVIDIA H200", "cuda", accelerators=1) and stored().started == AT


def test_tokens_before_the_timed_ones_are_told_apart():
    data = [foreign.llama_test(prompt=512, depth=4096), foreign.llama_test(output=128, depth=4096)]
    samples = bring(data, LLAMA)
    assert f"{LLAMA_CPP}/prefill_rate_at_depth?depth=4096&tokens=512" in samples
    assert samples[f"{LLAMA_CPP}/rate?requests=1"].config["prompt_tokens"] == 4096


@pytest.mark.parametrize(
    ("tests", "name", "value", "shown"),
    [
        ([foreign.llama_test(output=64), foreign.llama_test(output=128)], "n_gen", "128", "64, 128"),
        ([foreign.llama_test(output=9), foreign.llama_test(output=9, n_threads=4)], "n_threads", "4", "8, 4"),
        ([foreign.llama_test(output=9), foreign.llama_test(output=9, depth=64)], "n_depth", "64", "0, 64"),
        (
            [foreign.llama_test(output=9), foreign.llama_test(prompt=9, model_filename=r"C:\m\other.gguf")],
            "model_filename", "other.gguf", "Qwen3-0.6B-Q8_0.gguf, other.gguf",
        ),
    ],
)  # fmt: skip
def test_of_several_tests_for_one_key_one_has_to_be_chosen(tests, name, value, shown):
    refused(tests, LLAMA, f"differ in {name}: {shown}", f"--set {name}=")
    samples = bring([*tests, foreign.llama_test(prompt=32, model_filename=tests[-1]["model_filename"])],
                    {**LLAMA, name: value})  # fmt: skip
    assert samples and all(sample.given[name] == value for sample in samples.values())
    refused(tests, {**LLAMA, name: "7"}, f"--set {name}=7", "no test has it", shown)


def test_many_tests_are_held_against_one_another_in_bounded_time():
    tests = [foreign.llama_test(output=9, **{f"f{place % 7}": place}) for place in range(10**4)]
    started = time.monotonic()
    assert len(refused(tests, LLAMA, "tests for", "and others")) < 500
    refused(foreign.lines(*tests) + foreign.lines(tests[0]), LLAMA, "more than 10000 lines")
    refused([*tests, tests[0]], LLAMA, "more than 10000 tests")
    assert time.monotonic() - started < 60


def test_the_same_test_twice_is_told():
    refused([foreign.llama_test(output=9), foreign.llama_test(output=9)], LLAMA, "holds tg9 twice")


@pytest.mark.parametrize(
    ("changes", "device", "name"),
    [
        ({"backends": "CPU"}, "cpu", "A Processor 9000"),
        ({"gpu_info": "NVIDIA H200, NVIDIA H200"}, "cuda", "2 x NVIDIA H200"),
        ({"gpu_info": "NVIDIA H200, NVIDIA L4"}, "cuda", "NVIDIA H200, NVIDIA L4"),
        ({"n_gpu_layers": -1}, "cuda", "NVIDIA H200"),
        ({"backends": "MTL,BLAS", "gpu_info": "Apple M4"}, "mps", "Apple M4"),
    ],
)
def test_the_machine_is_the_one_the_file_names(changes, device, name):
    bring([foreign.llama_test(output=9, **changes)], LLAMA)
    assert (stored().machine.device, stored().machine.name) == (device, name)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_gpu_layers": 12},
        {"n_gpu_layers": 0},
        {"backends": "Vulkan"},
        {"gpu_info": ""},
        {"n_cpu_moe": 4},
        {"no_kv_offload": True},
        {"tensor_buft_overrides": "blk=CPU"},
        {"fit_target": 512},
        {"devices": "CUDA1"},
        {"split_mode": "none"},
    ],
)
def test_where_layers_ran_is_demanded_if_the_file_leaves_it_open(changes):
    tests = [foreign.llama_test(output=9, **changes)]
    refused(tests, LLAMA, "does not say: machine, device", "--set 'machine=NVIDIA H200' --set device=cuda")
    bring(tests, {**LLAMA, **PLACE})
    assert stored().machine.name == "NVIDIA H200"


def test_tests_of_two_programs_or_places_are_not_mixed():
    tests = [foreign.llama_test(output=9), foreign.llama_test(prompt=9, n_gpu_layers=12)]
    refused(tests, {**LLAMA, **PLACE}, "its tests differ in n_gpu_layers: 99, 12")
    tests = [foreign.llama_test(output=9), foreign.llama_test(prompt=9, build_number=11430)]
    refused(tests, LLAMA, "its tests differ in build_number: 11429, 11430", "--set build_number=11429")


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("qwen3-4b-q8_0", ["5.96e+08 parameters", "Correct the name"]),
        ("qwen3-0.6b-q4_0", ["the file says Q8_0", "Correct the precision"]),
    ],
)
def test_a_model_that_the_file_contradicts_is_refused(model, parts):
    refused([foreign.llama_test(output=9)], {"model": model}, *parts)


def test_a_model_that_nobody_knows_is_taken():
    test = foreign.llama_test(output=9, model_type="llama 8B Q4_K - Medium", model_n_params=8030261312)
    assert "decode_llama/llama-8b-q4_k_m/rate?requests=1" in bring([test], {"model": "llama-8b-q4_k_m"})


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"samples_ns": []}, ["$.samples_ns"]),
        ({"samples_ns": [0, 1, 1]}, ["$.samples_ns["]),
        ({"samples_ts": [1.0]}, ["3 samples_ns, 1 samples_ts"]),
        ({"samples_ts": [100.0, 110.0, 1e9]}, ["contradicts itself", "samples_ts"]),
        ({"n_gen": 0, "n_prompt": 0}, ["no tokens"]),
        ({"n_gen": -1}, ["$.n_gen"]),
        ({"n_gen": 10**30}, ["<= 1000000000000000000", "$.n_gen"]),
        ({"model_size": 0}, ["$.model_size"]),
        ({"test_time": "noon"}, ["'noon' is not a date"]),
    ],
)
def test_a_test_that_cannot_be_is_told(changes, parts):
    refused([foreign.llama_test(output=9, **changes)], LLAMA, *parts)


# GuideLLM


@pytest.mark.parametrize("version", [1, 2])
def test_a_report_tells_of_each_load(version):
    samples = bring(foreign.guidellm(version=version), SERVED | {"output_tokens": "128"})
    names = ["first_token", "token_time", "token_time_with_first"]
    assert set(samples) == {*(f"{VLLM}/{n}?requests={r}" for n in names for r in (1, 8)), f"{VLLM}/rate?requests=1"}
    rate = samples[f"{VLLM}/rate?requests=1"]
    assert rate.median == pytest.approx(100.0) and rate.count == 20
    assert rate.interval == pytest.approx((1000 / 10.5, 1000 / 9.5)), "the quartiles' inverses, the other way round"
    assert samples[f"{VLLM}/token_time_with_first?requests=8"].median == 10.5
    assert samples[f"{VLLM}/token_time?requests=8"].config["produced_tokens"] == 128 * 8
    assert rate.versions == {"guidellm": {1: "0.6.0", 2: "0.7.3"}[version]} and rate.at == "2026-11-29T13:45:00Z"
    assert "localhost" not in Path("results.json").read_text()


def test_few_requests_have_their_whole_range_as_interval():
    samples = bring(foreign.guidellm(foreign.guidellm_benchmark("synchronous", requests=15)), SERVED)
    assert samples[f"{VLLM}/first_token?requests=1"].interval == pytest.approx((27.0, 33.0))


def test_loads_of_unknown_concurrency_are_left_out_and_told():
    load = foreign.guidellm_benchmark("poisson", rate=3.0)
    outcome = foreign.guidellm(foreign.guidellm_benchmark("throughput"), load)
    assert set(bring(outcome, SERVED)) == {
        f"{VLLM}/{name}_under_load?request_rate=3" for name in ("first_token", "token_time", "token_time_with_first")
    }
    report = foreign.guidellm(foreign.guidellm_benchmark("throughput"))
    refused(report, SERVED, "nothing in it to take", "'throughput'")
    refused(
        foreign.guidellm(foreign.guidellm_benchmark("synchronous", requests=0)), SERVED, "no request was successful"
    )


def test_another_version_of_the_report_is_told():
    document = foreign.guidellm()
    document["metadata"]["version"] = 3
    refused(document, SERVED, "report version 3, read are 1 and 2")


# nvbandwidth


def test_a_copy_reads_and_writes_each_byte():
    samples = bring(foreign.nvbandwidth(), {"buffer_mib": "512"})
    assert set(samples) == {"bandwidth/copy", "nvbandwidth/host_to_device_memcpy_ce"}
    copied = samples["bandwidth/copy"]
    assert (copied.median, copied.unit, copied.summary.count) == (2 * 2000.5, "GB/s", 0)
    assert copied.config == {"buffer_bytes": 2**29, "test": "device_local_copy"}
    assert samples["nvbandwidth/host_to_device_memcpy_ce"].median == 55.2
    assert stored().machine == Machine("NVIDIA H200", "cuda", accelerators=1, driver="580.159.04")
    assert "a-host-name" not in Path("results.json").read_text()


def test_of_several_cards_one_has_to_be_chosen():
    document = foreign.nvbandwidth(2)
    refused(document, {}, "does not say: buffer_mib, gpu", "--set buffer_mib=512 --set gpu=0")
    refused(document, {"buffer_mib": "512", "gpu": "2"}, "2 cards, numbered from 0")
    assert bring(document, {"buffer_mib": "512", "gpu": "1"})["bandwidth/copy"].median == 2 * 2010.5


LOCAL = ("device_local_copy", "memcpy local GPU(column) bandwidth (GB/s)")


@pytest.mark.parametrize(
    ("testcase", "parts"),
    [
        (foreign.testcase(*LOCAL, ["1.0", "2.0"]), ["not one row of 1 figures"]),
        (foreign.testcase(*LOCAL, ["1.0"], ["1.0"]), ["not one row"]),
        (foreign.testcase(*LOCAL, ["0"]), ["'0' is no bandwidth above zero"]),
        ({**foreign.testcase(*LOCAL), "bandwidth_matrix": [["-1.0"]]}, ["no bandwidth"]),
        ({**foreign.testcase(*LOCAL), "bandwidth_matrix": [["inf"]]}, ["no bandwidth"]),
        ({**foreign.testcase(*LOCAL), "bandwidth_matrix": [["N/A"]]}, ["nothing in it to take"]),
        ({**foreign.testcase(*LOCAL), "bandwidth_matrix": [[1.0]]}, ["Expected `str`, got `float`"]),
        ({**foreign.testcase(*LOCAL, ["1.0"]), "bandwidth_description": "in (ns)"}, ["not described"]),
        ({**foreign.testcase(*LOCAL, ["1.0"]), "status": "Error"}, ["nothing in it to take", "device_local_copy"]),
    ],
)
def test_a_test_of_another_form_is_told(testcase, parts):
    refused(foreign.nvbandwidth(1, testcase), {"buffer_mib": "512"}, *parts)


def test_no_more_is_told_than_can_be_read():
    waived = [{"name": f"test_{place}", "status": "Waived"} for place in range(1000)]
    Path("many.json").write_bytes(foreign.text(foreign.nvbandwidth(1, *foreign.copies(1), *waived)))
    notes = store.bring(Path("many.json"), Path("results.json"), "imported", {"buffer_mib": "512"}).notes
    assert len(notes) == 21 and notes[-1] == "and 981 more of the kind"
    endless = foreign.nvbandwidth(1, {"name": "x" * 10**6, "status": "Waived"})
    assert len(refused(endless, {"buffer_mib": "512"}, "of length <= 500", "$.nvbandwidth.testcases[0].name")) < 300


def test_an_error_of_the_tool_is_told():
    document = foreign.nvbandwidth()
    document["nvbandwidth"]["error"] = "out of memory"
    refused(document, {"buffer_mib": "512"}, "ended with an error (out of memory)")


# Whatever the format

LATENCY = foreign.text(foreign.vllm_latency())

ALL = [
    (foreign.vllm_latency(), BATCH),
    (foreign.vllm_throughput(), {"model": MODEL, **PLACE, "prompt_tokens": "32", "output_tokens": "128"}),
    (foreign.vllm_serve(), SERVED),
    (foreign.vllm_serve(detailed=True), SERVED),
    (TESTS, LLAMA),
    (foreign.guidellm(), SERVED),
    (foreign.nvbandwidth(2), {"buffer_mib": "512", "gpu": "0"}),
]


@pytest.mark.parametrize(("document", "told"), ALL)
def test_what_the_file_does_not_say_is_demanded_all_at_once(document, told):
    message = refused(document, {}, f"does not say: {', '.join(sorted(told, key=list(told).index))}", "for example")
    assert all(f"{name}=" in message for name in told)


@pytest.mark.parametrize(("document", "told"), ALL)
def test_a_sample_shows_where_it_comes_from(document, told):
    samples = bring(document, told)
    digest = hashlib.sha256(Path("file.json").read_bytes()).hexdigest()
    for sample in samples.values():
        assert isinstance(sample, Import) and sample.sha256 == digest and sample.tool and sample.given == told
    assert stored().kind == "imported"


@pytest.mark.parametrize(("document", "told"), ALL)
def test_importing_again_changes_nothing(document, told):
    bring(document, told)
    before = Path("results.json").read_bytes()
    outcome = store.bring(Path("file.json"), Path("results.json"), "imported", told)
    assert outcome.keys == () and outcome.known == len(stored().samples)
    assert Path("results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ({"speed": "5"}, ["--set speed: not to be told", "Choose from model, machine"]),
        ({"requests": "0"}, ["requests='0': malformed", "whole number from 1"]),
        ({"requests": "8.0"}, ["malformed"]),
        ({"requests": "9" * 500}, ["malformed"]),
        ({"requests": "٣"}, ["malformed"]),
        ({"model": "Qwen3 0.6B"}, ["malformed", "--set model=qwen3-0.6b-bf16"]),
        ({"model": "../x-y"}, ["malformed"]),
        ({"device": "gpu"}, ["malformed", "cpu, cuda or mps"]),
        ({"machine": "two\nlines"}, ["malformed"]),
    ],
)
def test_a_setting_that_does_not_fit_is_told(told, parts):
    refused(foreign.vllm_latency(), {**BATCH, **told}, *parts)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ["empty"]),
        (b" \n", ["empty"]),
        (b"\xef\xbb\xbf", ["empty"]),
        (b"{}", ["not a file that is read", "llama-bench", "nvbandwidth"]),
        (b"[]", ["not a file that is read"]),
        (b"null", ["not a file that is read"]),
        (b'{"a": 1}\n{"b": 2}', ["not a file that is read"]),
        (b"5" * 10**5, ["not a file that is read"]),
        (foreign.text({**foreign.vllm_latency(), **foreign.vllm_throughput()}), ["not a file that is read"]),
        (foreign.lines(foreign.vllm_latency(), foreign.vllm_latency()), ["one result a file, here are 2"]),
        (LATENCY[:-3], ["brackets do not match"]),
        (LATENCY.replace(b":", b";"), ["broken JSON: Expecting ':' delimiter in line 2"]),
        (LATENCY.replace(b"1.28", b"NaN"), ["NaN is no number"]),
        (LATENCY.replace(b"1.28", b"-Infinity"), ["-Infinity is no number"]),
        (LATENCY.replace(b"1.28", b"1e999"), ["$.latencies"]),
        (LATENCY.replace(b"1.28", b"-1.28"), [">", "$.latencies["]),
        (LATENCY.replace(b"1.28", b"0"), ["$.latencies["]),
        (LATENCY.replace(b"1.28", b'"1.28"'), ["got `str`", "$.latencies["]),
        (LATENCY.replace(b'"avg', b'"latencies": [1], "avg'), ["'latencies' stands twice"]),
        (LATENCY.replace(b'"avg', b'"\\u006catencies": [1], "avg'), ["stands twice"]),
        (LATENCY.decode().encode("utf-16"), ["no text in UTF-8"]),
        (b'{"avg_latency": "\xff"}', ["no text in UTF-8 (byte 17)"]),
        (random.Random(5).randbytes(10**5), ["no text in UTF-8"]),
        (bytes(1000), ["broken JSON"]),
        (b"[" * 10**6, ["brackets do not match, or are more than 64 deep"]),
        (b"[" * 65 + b"]" * 65, ["more than 64 deep"]),
        (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, ["64 deep"]),
        (b"[" + b"[]," * 10**6 + b"[]]", ["more than 1000000 lists and objects"]),
        (b"[" + b"1," * (4 * 10**6 + 1) + b"1]", ["more than 4000000 values"]),
        (b"1\n" * 20000, ["more than 10000 lines"]),
        (b"\x1f\x8b\x08\x00" + bytes(50), ["no text in UTF-8"]),
    ],
)  # fmt: skip
def test_a_broken_or_hostile_file_is_told(data, parts):
    refused(data, BATCH, "file.json", *parts)


def test_brackets_in_texts_do_not_count():
    quoted = '"' + "[{" * 100 + '\\"' + "]" * 100 + '\\\\"'
    data = foreign.text(foreign.vllm_serve()).replace(b'"label": null', b'"label": ' + quoted.encode())
    assert len(bring(data, SERVED)) == 4


def test_brackets_in_long_texts_do_not_count_either():
    assert len(bring(foreign.vllm_serve(detailed=True, generated_texts=["[" * 3 * 2**20]), SERVED)) == 4


def test_a_byte_order_mark_is_no_fault():
    assert len(bring(b"\xef\xbb\xbf" + LATENCY, BATCH)) == 1


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), os.mkfifo, lambda p: p.symlink_to("/dev/zero"), lambda p: None])
def test_what_is_no_file_is_told_at_once(make):
    make(Path("thing"))
    started = time.monotonic()
    with pytest.raises(ResultsError, match=r"^thing: (is no regular file|cannot be read)"):
        store.bring(Path("thing"), Path("results.json"), "imported", BATCH)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_can_have_is_told(name):
    with pytest.raises(ResultsError, match="cannot be read"):
        store.bring(Path(name), Path("results.json"), "imported", BATCH)


def limited(code, mebibytes):
    """Run Python code with bounded memory; returns what it printed."""
    bound = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({mebibytes} * 2**20,) * 2)\n"
    command = [sys.executable, "-c", bound + code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=True)
    return done.stdout


READ = (
    "from pathlib import Path\nfrom measure.importers import source\n"
    """
try:
    source.read(Path("large.json"))
    print("read")
except source.ResultsError as error:
    print(error)
"""
)


def test_a_gigabyte_is_refused_without_reading_it():
    Path("large.json").touch()
    os.truncate("large.json", 10**9)
    started = time.monotonic()
    assert "is larger than 64 MiB" in limited(READ, 400)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        (b"[", "holds more than 1000000"),
        (b'"', "more than 10000 lines"),
        (b'"["', "more than 10000 lines"),
        (b'"["[', "holds more than 1000000"),
        (b'\\"', "broken JSON"),
        (b" ", "empty"),
        (b'{"a":', "holds more than 1000000"),
    ],
)
def test_the_largest_file_of_the_worst_kind_takes_bounded_time_and_memory(unit, told):
    Path("large.json").write_bytes(unit * (source.MOST_BYTES // len(unit)))
    started = time.monotonic()
    assert told in limited(READ, 1000)
    assert time.monotonic() - started < 60


def test_the_most_figures_that_a_file_may_hold_take_bounded_memory():
    figures = ",".join(["1.5"] * (source.MOST_VALUES - 10))
    Path("large.json").write_text(f'{{"avg_latency": 1.5, "latencies": [{figures}], "percentiles": {{"50": 1.5}}}}')
    code = "from pathlib import Path\nfrom measure.importers import store\n"
    bring = f"store.bring(Path('large.json'), Path('results.json'), 'imported', {BATCH})"
    assert "vllm bench latency" in limited(f"{code}print({bring})", 1000)
    assert next(iter(stored().samples.values())).count == source.MOST_VALUES - 10


# Runs


def put(*runs):
    save(Results(list(runs)), Path("results.json"))


def test_an_executed_run_of_the_same_machine_takes_imports():
    """So that a tool's rate is judged by the bandwidth that this program measured."""
    command = "python -m measure run bandwidth --run h200"
    put(Run("h200", "executed", H200, AT, {"bandwidth/sum": Sample("GB/s", [4000.0], AT, command)}))
    samples = bring(foreign.vllm_serve(), SERVED, "h200")
    run = stored("h200")
    assert run.kind == "executed" and run.machine == H200 and run.started == AT
    assert isinstance(samples["bandwidth/sum"], Sample) and isinstance(samples[f"{VLLM}/rate?requests=1"], Import)


def test_a_processor_goes_by_its_own_name():
    here = Machine("A Processor 9000, 8 cores", "cpu", processor="A Processor 9000", cores=8)
    put(Run("cpu", "executed", here, AT, {}))
    bring([foreign.llama_test(output=9, backends="CPU")], LLAMA, "cpu")
    assert stored("cpu").machine == here and len(stored("cpu").samples) == 3


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (Machine("NVIDIA L4", "cuda"), "name 'NVIDIA L4' against 'NVIDIA H200' here"),
        (Machine("NVIDIA H200", "cpu"), "device 'cpu' against 'cuda' here"),
        (Machine("NVIDIA H200", "cuda", driver="1.0"), "driver '1.0' against '580.159.04' here"),
    ],
)
@pytest.mark.parametrize("kind", ["executed", "imported"])
def test_machines_are_never_mixed(machine, told, kind):
    put(Run("imported", kind, machine, AT, {}))
    refused(foreign.nvbandwidth(), {"buffer_mib": "512"}, "run 'imported'", "another machine", told, "--run")


def test_a_machine_whose_name_no_page_has_room_for_is_refused(monkeypatch):
    monkeypatch.setattr("measure.results.LONGEST_NAME", 5)
    told = "run 'imported': machine: name has 11 characters"
    refused(foreign.nvbandwidth(), {"buffer_mib": "512"}, told, "Shorten it")


def test_reported_figures_stay_among_themselves():
    put(Run("imported", "reported", H200, AT, {"bandwidth/sum": Report("GB/s", 905.0, "an article")}))
    refused(foreign.nvbandwidth(), {"buffer_mib": "512"}, "others reported", "Choose another with --run")


def test_a_sample_is_never_overwritten():
    bring(foreign.vllm_latency(), BATCH)
    refused(foreign.vllm_latency((2.0, 2.0)), BATCH, "batch_time", "another sample of that name", "--run")


def test_nothing_is_stored_of_a_file_that_fits_in_part():
    put(Run("imported", "executed", H200, AT, {f"{VLLM}/rate?requests=1": Sample("tok/s", [1.0], AT, "x")}))
    refused(foreign.vllm_serve(), SERVED, "rate?requests=1: there is another sample")
    assert len(stored().samples) == 1


def test_many_repetitions_are_thinned_and_counted():
    sample = bring(foreign.vllm_latency([1.0 + 0.0001 * place for place in range(1000)]), BATCH)
    (kept,) = sample.values()
    assert len(kept.values) == 200 and kept.count == 1000


def test_places_are_not_kept():
    document = foreign.vllm_serve(model_id="/home/ann/secret/Qwen3-0.6B", backend="ann@host.example")
    bring(document, {**SERVED, "machine": "/home/ann/card"})
    assert "ann" not in Path("results.json").read_text()


# The command


@pytest.fixture
def call(monkeypatch, capfd):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["measure", *words])
        code = cli.main()
        return code, *capfd.readouterr()

    return run


def words(told):
    return [word for name, value in told.items() for word in ("--set", f"{name}={value}")]


def test_the_command_imports_and_shows_the_run(call):
    Path("bench.json").write_bytes(foreign.text(foreign.vllm_serve()))
    code, out, err = call("import", "bench.json", "--run", "h200-vllm", *words(SERVED))
    assert code == 0, err
    assert "vllm bench serve: 4 imported" in err and "the file calls the model 'Qwen/Qwen3-0.6B'" in err
    assert out.count("new") == 4 and f"{VLLM}/rate?requests=1" in out
    code, out, err = call("import", "bench.json", "--run", "h200-vllm", *words(SERVED))
    assert code == 0 and "0 imported, 4 there from before" in err
    assert call("check")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["bench.json"], ["bench.json: vllm bench serve: does not say: model, engine, machine, device, output_tokens"]),
        (["nowhere.json"], ["nowhere.json: cannot be read (No such file or directory)"]),
        (["bench.json", "--run", "No Id"], ["--run 'No Id'", "Rename it"]),
        (["bench.json", "--set", "model"], ["--set 'model'", "name=value"]),
        (["bench.json", "--set", "model=a-b", "--set", "model=c-d"], ["--set model: told twice, 'a-b' and 'c-d'"]),
        (["bench.json", "--results", "nowhere/results.json"], ["no file can be made in the folder 'nowhere'"]),
        ([], ["Missing argument", "--help"]),
    ],
)
def test_the_command_refuses_in_one_line(call, arguments, parts):
    Path("bench.json").write_bytes(foreign.text(foreign.vllm_serve()))
    code, out, err = call("import", *arguments)
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1 and not out, (code, out, err)
    assert all(part in err for part in parts), err


# Any file

PIECES = [None, True, -1, 0, 1e308, 5e-324, 10**40, "", "x", "inf", [], {}, [[]], "\ud800"]
leaves = st.sampled_from(PIECES) | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5)


def places(document, path=()):
    """The way to every value in a document."""
    yield path
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in items:
        yield from places(value, (*path, name))


def changed(document, path, value):
    if not path:
        return value
    copied = copy.deepcopy(document)
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    if value is DROPPED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copied


DROPPED = object()
small = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def survives(data, told):
    """Imported, and then a valid file; or refused in one line."""
    Path("results.json").unlink(missing_ok=True)
    try:
        bring(data, told)
    except ResultsError as error:
        assert str(error) and "\n" not in str(error)
    else:
        load(Path("results.json"))


@pytest.mark.parametrize(("document", "told"), ALL)
def test_a_changed_file_is_never_more_than_one_clear_error(document, told):
    ways = list(places(document))

    @small
    @given(st.sampled_from(ways), leaves | st.just(DROPPED))
    def check(path, value):
        if path or value is not DROPPED:
            survives(json.dumps(changed(document, path, value)).encode(), told)

    check()


@pytest.mark.parametrize(("document", "told"), ALL)
def test_changed_bytes_are_never_more_than_one_clear_error(document, told):
    data = json.dumps(document).encode()

    @small
    @given(st.integers(0, len(data) - 1), st.integers(0, 20), st.binary(max_size=8))
    def check(start, length, piece):
        survives(data[:start] + piece + data[start + length :], told)

    check()


def test_a_summary_stands_for_values():
    assert Import("ms", "GuideLLM", "0" * 64, summary=Summary(2.0, 1.0, 3.0, 5)).interval == (1.0, 3.0)
