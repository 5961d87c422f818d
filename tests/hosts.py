"""Made-up runs on a host of several cards, for tests of what is said of models that are spread over them."""

from measure.results import Machine, Run, Sample

MODEL = "qwen3-4b-bf16"
RATES = {1: 200.0, 2: 330.0, 4: 500.0, 8: 560.0}
"""Tokens a second by the number of cards: 1.65, 2.5 and 2.8 times that of one."""


def sample(unit, value, **config):
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x", config)


def of_model(cards, rate, many, weights, model=MODEL):
    """The samples of a model on so many cards: one request, 64 requests, GB of weights."""
    told = f"tensor_parallel={cards}" if cards > 1 else ""
    path, more = f"decode_vllm/{model}", {"cards": cards, "tensor_parallel": cards}
    kernels = {"matmul_ms": 0.8 if cards == 1 else 0.5, "attention_ms": 0.1, "other_ms": 0.2, "copy_ms": 0.0}
    kernels["exchange_ms"] = 0.5 * (cards - 1)
    return {
        f"{path}/loaded_weights{told and '?' + told}": sample("GB", weights, **more),
        f"{path}/parameters_without_embeddings{told and '?' + told}": sample("param", 3.6e9, **more),
        f"{path}/rate?requests=1{told and '&' + told}": sample("tok/s", rate, requests=1, **more),
        f"{path}/rate?requests=64{told and '&' + told}": sample("tok/s", many, requests=64, **more),
        f"{path}/step_kernel_time{told and '?' + told}": sample("ms", 3.0 if cards == 1 else 1.5, **kernels, **more),
    }


def of_host(cards):
    """What each card reaches, 4,000 GB/s and 700 TFLOPS, and the link between them."""
    samples = {
        "link/all_reduce_bandwidth?bytes=268435456": sample("GB/s", 350.0, cards=cards),
        **{
            f"link/all_reduce_time?bytes=8192&graphs={graphs}": sample("ms", time, cards=cards, nvlink_multicast="off")
            for graphs, time in (("on", 0.005), ("off", 0.02))
        },
    }
    for card in range(cards):
        told = f"card={card}" if card else ""
        samples[f"bandwidth/sum{told and '?' + told}"] = sample("GB/s", 4000.0)
        samples[f"matmul/throughput?{told and told + '&'}dtype=bf16&n=8192"] = sample("TFLOPS", 700.0)
        if card:
            samples[f"link/copy?to={card}&ways=1"] = sample("GB/s", 380.0 - card)
            samples[f"link/copy?to={card}&ways=2"] = sample("GB/s", 700.0 - card)
    return samples


def run_on(cards, numbers, models=(MODEL,), run_id="here"):
    """A run on a host of so many cards with models of 8 GB that decoded on each of the numbers of them."""
    machine = Machine(f"{cards} x a card", "cuda", "a processor", memory_bytes=2**34, accelerators=cards)
    samples = of_host(cards)
    for model in models:
        for number in numbers:
            samples |= of_model(number, RATES[number], 10_000.0 * number, 8.0, model)
    return Run(run_id, "executed", machine, "2026-11-01T00:00:00Z", samples)
