"""Files as other benchmarks write them, field by field; the numbers agree with one another but are made up for tests.

Each function says which source file its fields were read from. Parts that no importer reads are there, but short.
"""

import json
import statistics


def vllm_latency(times=(1.30, 1.28, 1.32)):
    """vllm-project/vllm, vllm/benchmarks/latency.py, `main`, at commit 00cae0753b8d; seconds."""
    ordered = sorted(times)
    percentiles = {str(p): ordered[min(len(ordered) * p // 100, len(ordered) - 1)] for p in (10, 25, 50, 75, 90, 99)}
    return {
        "avg_latency": statistics.fmean(times),
        "std_latency": statistics.pstdev(times),
        "latencies": list(times),
        "percentiles": percentiles,
    }


def vllm_throughput(prompts=1000, tokens=160, elapsed=20.0):
    """vllm-project/vllm, vllm/benchmarks/throughput.py, `main`, at commit 1a91bc2dc0dd."""
    return {
        "elapsed_time": elapsed,
        "num_requests": prompts,
        "total_num_tokens": prompts * tokens,
        "requests_per_second": prompts / elapsed,
        "tokens_per_second": prompts * tokens / elapsed,
    }


def vllm_serve(concurrency=1, rate="inf", prompts=4, output=5, detailed=False, **changes):
    """vllm-project/vllm, vllm/benchmarks/serve.py, `main_async` and `benchmark`, at commit 009e6d4a1cd6.

    Lists are seconds, statistics milliseconds. Without `--save-detailed` the tool leaves seven of the lists out.
    """
    ttfts = [0.020 + 0.001 * place for place in range(prompts)]
    itls = [[0.010 + 0.0001 * place] * (output - 1) for place in range(prompts)]
    latencies = [ttft + sum(gaps) for ttft, gaps in zip(ttfts, itls, strict=True)]
    tpots = [1000 * sum(gaps) / max(output - 1, 1) for gaps in itls]
    duration = sum(latencies)
    result = {
        "date": "20261129-134500",
        "endpoint_type": "openai",
        "backend": "openai",
        "label": None,
        "model_id": "Qwen/Qwen3-0.6B",
        "tokenizer_id": "Qwen/Qwen3-0.6B",
        "num_prompts": prompts,
        "request_rate": rate,
        "burstiness": 1.0,
        "max_concurrency": concurrency,
        "duration": duration,
        "completed": prompts,
        "failed": 0,
        "total_input_tokens": 32 * prompts,
        "total_output_tokens": output * prompts,
        "request_throughput": prompts / duration,
        "request_goodput": None,
        "output_throughput": output * prompts / duration,
        "total_token_throughput": (32 + output) * prompts / duration,
        "latencies": latencies,
        "queue_times": [0.0] * prompts,
        "max_output_tokens_per_s": float(output * prompts),
        "max_concurrent_requests": concurrency or prompts,
        "rtfx": 0.0,
        **statistic("ttft", [1000 * ttft for ttft in ttfts]),
        **statistic("tpot", tpots),
        **statistic("itl", [1000 * gap for gaps in itls for gap in gaps]),
    }
    lists = {
        "input_lens": [32] * prompts,
        "output_lens": [output] * prompts,
        "ttfts": ttfts,
        "itls": itls,
        "start_times": [float(place) for place in range(prompts)],
        "generated_texts": ["a [text] with \"quotes\" and {brackets}"] * prompts,
        "errors": [""] * prompts,
    }  # fmt: skip
    return {**result, **(lists if detailed else {}), **changes}


def statistic(name, values):
    """`process_one_metric` of the same file."""
    return {
        f"mean_{name}_ms": statistics.fmean(values),
        f"median_{name}_ms": statistics.median(values),
        f"std_{name}_ms": statistics.pstdev(values),
        f"p99_{name}_ms": max(values),
    }


def llama_test(prompt=0, output=0, depth=0, rates=(100.0, 110.0, 105.0), **changes):
    """ggml-org/llama.cpp, tools/llama-bench/llama-bench.cpp, `get_fields`, `json_printer`, at commit 0104b151c56d."""
    tokens = prompt + output
    took_ns = [round(1e9 * tokens / rate) for rate in rates]
    return {
        "build_commit": "0104b151c",
        "build_number": 11429,
        "cpu_info": "A Processor 9000",
        "gpu_info": "NVIDIA H200",
        "backends": "CUDA",
        "model_filename": "/home/ann/models/Qwen3-0.6B-Q8_0.gguf",
        "model_type": "qwen3 0.6B Q8_0",
        "model_size": 633000000,
        "model_n_params": 596049920,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_threads": 8,
        "cpu_mask": "0x0",
        "cpu_strict": False,
        "poll": 50,
        "type_k": "f16",
        "type_v": "f16",
        "n_gpu_layers": 99,
        "n_cpu_moe": 0,
        "split_mode": "layer",
        "main_gpu": 0,
        "no_kv_offload": False,
        "flash_attn": -1,
        "devices": "auto",
        "tensor_split": "0.00",
        "tensor_buft_overrides": "none",
        "load_mode": "mmap",
        "embeddings": False,
        "no_op_offload": 0,
        "no_host": False,
        "fit_target": 0,
        "fit_min_ctx": 0,
        "n_prompt": prompt,
        "n_gen": output,
        "n_depth": depth,
        "test_time": "2026-11-29T13:45:00Z",
        "avg_ns": round(statistics.fmean(took_ns)),
        "stddev_ns": round(statistics.stdev(took_ns)),
        "avg_ts": statistics.fmean(rates),
        "stddev_ts": statistics.stdev(rates),
        "samples_ns": took_ns,
        "samples_ts": list(rates),
        **changes,
    }


def guidellm(*benchmarks, version=2):
    """vllm-project/guidellm, src/guidellm/benchmark/schemas/report.py, v0.6.0 (version 1) and v0.7.3 (version 2)."""
    usual = [guidellm_benchmark("synchronous"), guidellm_benchmark("concurrent", streams=8)]
    metadata = {"version": version, "guidellm_version": {1: "0.6.0", 2: "0.7.3"}[version]}
    asked = {
        "backend": {"kind": "openai_http", "target": "http://localhost:8000/v1"},
        "profile": {"kind": "concurrent"},
    }
    return {
        "metadata": {**metadata, "python_version": "3.12.3", "platform": "Linux-6.8-x86_64-with-glibc2.39"},
        **({"args": asked} if version == 1 else {"config": {"spec": asked}}),
        "benchmarks": list(benchmarks) or usual,
    }


def guidellm_benchmark(kind, requests=20, **strategy):
    """benchmark.py, base.py and metrics.py in the same folder, scheduler/strategies.py; with a `sample_size` of 0."""
    counts = {"successful": requests, "errored": 0, "incomplete": 0, "total": requests}
    none = {"tokens": None, "words": None, "characters": None}
    return {
        "type_": "generative_benchmark",
        "config": {
            "id_": "b7f6", "run_id": "51c0", "run_index": 0,
            "strategy": {"type_": kind, "worker_count": 1, "max_concurrency": None, **strategy},
            "constraints": {"max_requests": {"kind": "max_requests", "value": requests}}, "sample_size": 0,
            "warmup": {"percent": None, "value": None, "mode": "prefer_duration"},
            "cooldown": {"percent": None, "value": None, "mode": "prefer_duration"},
            "prefer_response_metrics": True, "profile": {}, "requests": {}, "backend": {}, "environment": {},
        },
        "scheduler_state": {"node_id": 0, "num_processes": 1, "start_time": 1795959900.0},
        "scheduler_metrics": {"start_time": 1795959900.0, "requests_made": counts, "measure_start_time": 1795959900.5},
        "metrics": {
            "request_totals": counts,
            "requests_per_second": by_status(0.7), "request_concurrency": by_status(1.0),
            "request_latency": by_status(1.4), "request_streaming_iterations_count": by_status(128.0, 0.0),
            "prompt_token_count": by_status(256.0, 0.0), "output_token_count": by_status(128.0, 0.0),
            "total_token_count": by_status(384.0, 0.0),
            "time_to_first_token_ms": by_status(30.0), "time_to_first_output_token_ms": by_status(30.0),
            "time_per_output_token_ms": by_status(10.5), "inter_token_latency_ms": by_status(10.0),
            "prompt_tokens_per_second": by_status(180.0), "output_tokens_per_second": by_status(90.0),
            "tokens_per_second": by_status(270.0), "output_tokens_per_iteration": by_status(1.0, 0.0),
            "iter_tokens_per_iteration": by_status(1.0, 0.0),
            "text": none, "image": none, "video": none, "audio": none, "tool_call": none,
        },
        "requests": {"successful": [], "errored": [], "incomplete": [], "total": None},
        "start_time": 1795959900.5, "end_time": 1795959928.5, "duration": 28.0,
        "warmup_duration": 0.0, "cooldown_duration": 0.0,
    }  # fmt: skip


def by_status(median, spread=0.1):
    """`StatusDistributionSummary` of src/guidellm/schemas/statistics.py, where all requests were successful."""
    empty = distribution(0.0, 0.0, 0)
    return {
        "successful": distribution(median, spread, 20),
        "errored": empty,
        "incomplete": empty,
        "total": distribution(median, spread, 20),
    }


def distribution(median, spread, count):
    """`DistributionSummary` and `Percentiles` of the same file."""
    low, high = median * (1 - spread), median * (1 + spread)
    lower, upper = median * (1 - spread / 2), median * (1 + spread / 2)
    names = ("p001", "p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999")
    values = (low, low, low, low, lower, median, upper, high, high, high, high)
    return {
        "mean": median, "median": median, "mode": median,
        "variance": (median * spread) ** 2, "std_dev": median * spread,
        "min": low, "max": high, "count": count, "total_sum": median * count,
        "percentiles": dict(zip(names, values, strict=True)), "pdf": None,
    }  # fmt: skip


def nvbandwidth(cards=1, *testcases):
    """NVIDIA/nvbandwidth, json_output.cpp, v0.8: figures are text, and a device's line ends with the host's name."""
    lines = [f"{card}: NVIDIA H200 (00000000:0{card + 1}:00): (a-host-name)" for card in range(cards)]
    return {
        "nvbandwidth": {
            "CUDA Runtime Version": 13000,
            "Driver Version": "580.159.04",
            "GPU Device list": lines,
            "git_version": "66746a3",
            "testcases": list(testcases) or copies(cards),
            "version": "v0.8",
        }
    }


def copies(cards):
    """What a run of some tests leaves, one of them waived."""
    local = [f"{2000 + 10 * card}.5" for card in range(cards)]
    return [
        testcase("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", ["55.2"] * cards),
        testcase("device_local_copy", "memcpy local GPU(column) bandwidth (GB/s)", local),
        {"name": "device_to_device_memcpy_read_ce", "status": "Waived"},
    ]


def testcase(name, description, *rows):
    return {
        "bandwidth_description": description,
        "bandwidth_matrix": list(rows),
        "name": name,
        "status": "Passed",
        "sum": sum(float(figure) for row in rows for figure in row),
    }


def text(document):
    """A file's bytes."""
    return json.dumps(document, indent=4).encode()


def lines(*documents):
    """A file of JSON lines."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)
