"""The source edition reproduces the figures of the article it retells: as published, and as the formulas give them."""

import pytest
from paths import RESULTS

from measure.store import load
from templates.facts.edition import editions

A = "source-a.llama.gemma4-12b-q4_0"
B = "source-b.vllm.qwen3"
V = "source-voxcpm.voxcpm"
N = "source-asr.nemotron"

# Fact, value as it should be, and the decimal places that were published or that the check needs.
FIGURES = [
    # Machine A
    ("source-a.sum", 905, 0),
    ("source-a.copy", 865, 0),
    ("source-a.bandwidth", 905, 0),
    ("source-a.datasheet", 936, 0),
    ("source-a.datasheet_share", 97, 0),
    ("source-a.sum_repeats", 3, 0),
    ("source-a.memory", 24, 0),
    (f"{A}.weights", 7.0, 1),
    (f"{A}.parameters", 13e9, 0),
    (f"{A}.rate", 85.6, 1),
    (f"{A}.token_time", 11.7, 1),
    (f"{A}.ceiling", 129, 0),
    (f"{A}.traffic", 599, 0),
    (f"{A}.share", 66, 0),
    (f"{A}.unused_share", 34, 0),
    (f"{A}.share_of_datasheet", 64, 0),
    (f"{A}.p67.rate", 700, 0),
    (f"{A}.p67.timed", 95.7, 1),
    (f"{A}.p67.time", 95.7, 1),
    (f"{A}.prefill_over_decode", 8.2, 1),
    (f"{A}.thinking_tokens", 80, 0),
    (f"{A}.silence", 0.93, 2),
    (f"{A}.silence_timed", 1.0, 1),
    (f"{A}.sixteen_bit_weights", 26, 0),
    (f"{A}.sixteen_bit_ceiling", 35, 0),
    (f"{A}.sixteen_bit_ratio", 3.7, 1),
    (f"{A}.format_ratio", 3.56, 2),
    (f"{A}.x2.first_token", 0.206, 3),
    (f"{A}.x4.first_token", 0.352, 3),
    (f"{A}.x4.slots", 2, 0),
    # Machine B, one request
    ("source-b.bandwidth", 250, 0),
    ("source-b.copy", 227, 0),
    ("source-b.fp16.n4096.throughput", 31.8, 1),
    (f"{B}-0.6b-bf16.loaded", 1.12, 2),
    (f"{B}-1.7b-bf16.loaded", 3.22, 2),
    (f"{B}-1.7b-fp8.loaded", 1.90, 2),
    (f"{B}-4b-fp8.loaded", 4.32, 2),
    (f"{B}-1.7b-bf16.weights", 3.46, 2),
    (f"{B}-1.7b-fp8.weights", 2.04, 2),
    (f"{B}-0.6b-bf16.rate", 180.4, 1),
    (f"{B}-1.7b-bf16.rate", 68.8, 1),
    (f"{B}-1.7b-fp8.rate", 105.7, 1),
    (f"{B}-4b-fp8.rate", 52.7, 1),
    (f"{B}-4b-fp8.output_tokens", 128, 0),
    (f"{B}-4b-fp8.repeats", 5, 0),
    (f"{B}-0.6b-bf16.traffic", 217, 0),
    (f"{B}-1.7b-bf16.traffic", 238, 0),
    (f"{B}-1.7b-fp8.traffic", 216, 0),
    (f"{B}-4b-fp8.traffic", 244, 0),
    (f"{B}-0.6b-bf16.share", 87, 0),
    (f"{B}-1.7b-bf16.share", 95, 0),
    (f"{B}-1.7b-fp8.share", 86, 0),
    (f"{B}-4b-fp8.share", 98, 0),
    ("source.models.share_low", 86, 0),
    ("source.models.share_high", 98, 0),
    ("source.models.extra_time_low", 0.4, 1),
    ("source.models.extra_time_high", 1.3, 1),
    (f"{B}-1.7b-fp8.against-bf16.weights_ratio", 1.69, 2),
    (f"{B}-1.7b-fp8.against-bf16.gain", 1.54, 2),
    # Requests at once
    (f"{B}-0.6b-bf16.x4.rate", 670, 0),
    (f"{B}-1.7b-bf16.x4.rate", 264, 0),
    (f"{B}-1.7b-fp8.x4.rate", 405, 0),
    (f"{B}-4b-fp8.x4.rate", 205, 0),
    (f"{B}-0.6b-bf16.x16.rate", 2484, 0),
    (f"{B}-1.7b-bf16.x16.rate", 1007, 0),
    (f"{B}-1.7b-fp8.x16.rate", 1544, 0),
    (f"{B}-4b-fp8.x16.rate", 775, 0),
    (f"{B}-0.6b-bf16.x16.gain", 13.8, 1),
    (f"{B}-1.7b-bf16.x16.gain", 14.6, 1),
    (f"{B}-1.7b-fp8.x16.gain", 14.6, 1),
    (f"{B}-4b-fp8.x16.gain", 14.7, 1),
    (f"{B}-0.6b-bf16.x16.single", 155, 0),
    (f"{B}-1.7b-bf16.x16.single", 63, 0),
    (f"{B}-1.7b-fp8.x16.single", 97, 0),
    (f"{B}-4b-fp8.x16.single", 48, 0),
    (f"{B}-0.6b-bf16.x16.efficiency", 86, 0),
    (f"{B}-1.7b-bf16.x16.efficiency", 91, 0),
    (f"{B}-1.7b-fp8.x16.efficiency", 91, 0),
    (f"{B}-4b-fp8.x16.efficiency", 92, 0),
    ("source.models.efficiency_low", 86, 0),
    ("source.models.efficiency_high", 92, 0),
    (f"{B}-1.7b-bf16.crossover", 127, 0),
    (f"{B}-1.7b-fp8.crossover", 64, 0),
    (f"{B}-4b-fp8.parameters_without_embeddings", 3.6e9, 0),
    (f"{B}-4b-fp8.x16.compute", 5.6, 1),
    (f"{B}-4b-fp8.x16.compute_share", 18, 0),
    (f"{B}-4b-fp8.x16.compute_with_head", 6.2, 1),
    (f"{B}-4b-fp8.x16.compute_share_with_head", 19, 0),
    # Prefill
    (f"{B}-1.7b-bf16.p256.rate", 5709, 0),
    (f"{B}-1.7b-bf16.p1024.rate", 8634, 0),
    (f"{B}-1.7b-bf16.p2048.rate", 8730, 0),
    (f"{B}-1.7b-bf16.p3500.rate", 8244, 0),
    (f"{B}-4b-fp8.p256.rate", 3129, 0),
    (f"{B}-4b-fp8.p1024.rate", 3438, 0),
    (f"{B}-4b-fp8.p2048.rate", 3365, 0),
    (f"{B}-4b-fp8.p3500.rate", 3182, 0),
    (f"{B}-1.7b-bf16.p256.time", 45, 0),
    (f"{B}-1.7b-bf16.p1024.time", 119, 0),
    (f"{B}-1.7b-bf16.p2048.time", 235, 0),
    (f"{B}-1.7b-bf16.p3500.time", 425, 0),
    (f"{B}-4b-fp8.p256.time", 82, 0),
    (f"{B}-4b-fp8.p1024.time", 298, 0),
    (f"{B}-4b-fp8.p2048.time", 609, 0),
    (f"{B}-4b-fp8.p3500.time", 1100, 0),
    (f"{B}-1.7b-bf16.prefill_over_decode", 127, 0),
    (f"{B}-4b-fp8.prefill_over_decode", 65, 0),
    (f"{B}-1.7b-bf16.prefill_compute", 24.4, 1),
    (f"{B}-4b-fp8.prefill_compute", 24.8, 1),
    (f"{B}-1.7b-bf16.prefill_compute_share", 77, 0),
    (f"{B}-4b-fp8.prefill_compute_share", 78, 0),
    (f"{B}-1.7b-bf16.p3500.compute_share", 73, 0),
    (f"{B}-4b-fp8.p3500.compute_share", 72, 0),
    (f"{B}-1.7b-bf16.short_prompt_loss", 35, 0),
    (f"{B}-4b-fp8.short_prompt_loss", 9, 0),
    (f"{B}-4b-fp8.repeated.rate", 91240, 0),
    (f"{B}-4b-fp8.repeated.compute", 657, 0),
    (f"{B}-4b-fp8.repeated.over_limit", 21, 0),
    # Synthesis
    (f"{V}.slope", 0.475, 3),
    (f"{V}.fixed", 0.23, 2),
    (f"{V}.fit_points", 12, 0),
    (f"{V}.utterance_low", 1.2, 1),
    (f"{V}.utterance_high", 2.1, 1),
    (f"{V}.real_time_factor", 0.521, 3),
    (f"{V}.time_steps", 10, 0),
    (f"{V}.memory_low", 6600, 0),
    (f"{V}.memory_high", 6900, 0),
    (f"{V}.parameters", 2e9, 0),
    (f"{V}.share_of_turn_low", 60, 0),
    (f"{V}.share_of_turn_high", 85, 0),
    (f"{V}.patches_per_second", 6.25, 2),
    (f"{V}.patch_audio", 160, 0),
    (f"{V}.patch_time", 76, 0),
    (f"{V}.time_step_bound", 7.6, 1),
    (f"{V}.call_bound", 8.4, 1),
    (f"{V}.first_audio", 306, 0),
    (f"{V}.slope_over_paper", 1.6, 1),
    (f"{V}.factor_over_paper", 1.7, 1),
    ("source-magpie.magpie.real_time_factor", 0.466, 3),
    ("source-magpie.magpie.memory_low", 750, 0),
    ("source-magpie.magpie.parameters", 364e6, 0),
    ("source.synthesis.parameters_ratio", 5.5, 1),
    ("source.synthesis.memory_ratio_low", 8.8, 1),
    ("source.synthesis.memory_ratio_high", 9.2, 1),
    # Recognition
    (f"{N}.left_context", 4.48, 2),
    *[(f"{N}.right{right}.length", ms, 0) for right, ms in ((0, 80), (1, 160), (3, 320), (6, 560), (13, 1120))],
    *[(f"{N}.right{right}.look_ahead", ms, 0) for right, ms in ((0, 0), (1, 80), (3, 240), (6, 480), (13, 1040))],
    *[
        (f"{N}.right{r}.errors.error_synthetic", cer, 1)
        for r, cer in ((0, 4.3), (1, 4.0), (3, 3.9), (6, 3.9), (13, 11.3))
    ],
    *[(f"{N}.right{r}.errors.error_read", cer, 1) for r, cer in ((0, 6.1), (1, 6.2), (3, 5.6), (6, 5.9), (13, 5.8))],
    (f"{N}.synthetic_voices", 12, 0),
    (f"{N}.read_sentences", 30, 0),
]

INTERVALS = [
    ("source-a.sum", 903, 905),
    (f"{V}.real_time_factor", 0.494, 0.582),
    ("source-magpie.magpie.real_time_factor", 0.447, 0.541),
]


@pytest.fixture(scope="module")
def facts():
    return editions(load(RESULTS))[0].facts


@pytest.mark.parametrize(("name", "value", "places"), FIGURES, ids=[name for name, *_ in FIGURES])
def test_figure(facts, name, value, places):
    found = facts[name].value
    assert found is not None, facts[name].absences
    # Half a unit of the last place, on either side: Python's round() would decide ties by the binary digits.
    assert abs(found - value) <= 0.5 * 10**-places * (1 + 1e-9)


@pytest.mark.parametrize(("name", "low", "high"), INTERVALS)
def test_interval(facts, name, low, high):
    assert (facts[name].low, facts[name].high) == (low, high)
