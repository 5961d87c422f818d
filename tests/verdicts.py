"""The table of cases that the rules must judge rightly, and how a case is judged."""

from __future__ import annotations

from measure import models
from measure.results import Machine, Run, Sample

GIB, MIB = 2**30, 2**20
CPU = Machine("a machine", "cpu", cache_bytes=32 * MIB)
GPU = Machine("NVIDIA H200", "cuda", cache_bytes=32 * MIB, accelerators=1)
FOUR = Machine("4 x NVIDIA H200", "cuda", cache_bytes=32 * MIB, accelerators=4)
BANDWIDTH = {"bandwidth/sum": (90.0, "GB/s"), "bandwidth/copy": (100.0, "GB/s")}
ONE_SHAPE = {"matmul/throughput?dtype=bf16&n=4096": (1.0, "TFLOPS")}
MATMUL = {"matmul/throughput?dtype=bf16&n=2048": (0.8, "TFLOPS"), **ONE_SHAPE}
NOISY_MATMUL = {
    "matmul/throughput?dtype=fp32&n=1024": ([0.6, 0.8, 1.0, 1.2, 1.6], "TFLOPS"),
    "matmul/throughput?dtype=fp32&n=2048": (0.9, "TFLOPS"),
}
FP8_PRODUCT = {"matmul/throughput?dtype=fp8&n=4096": (2.0, "TFLOPS")}
MODEL = "decode_transformers/qwen3-0.6b-bf16"
WEIGHTS = {f"{MODEL}/loaded_weights": (1.0, "GiB")}
PARAMETERS = {f"{MODEL}/parameters_without_embeddings": (5e8, "param")}
LIMITS = {**BANDWIDTH, **MATMUL, **WEIGHTS, **PARAMETERS}
DATASHEET = {"datasheet/bandwidth": (100.0, "GB/s"), "datasheet/throughput?dtype=bf16": (1.0, "TFLOPS")}

RATE, RATE_4 = f"{MODEL}/rate?requests=1", f"{MODEL}/rate?requests=4"
PREFILL, PREFILL_TIME = f"{MODEL}/prefill_rate?tokens=256", f"{MODEL}/prefill_time?tokens=256"
FIRST = f"{MODEL}/first_token?requests=1"
PRODUCT = "matmul/throughput?dtype=bf16&n=1024"
WEIGHT = f"{MODEL}/loaded_weights"
SPOKEN = "tts_voxcpm/voxcpm2-bf16/utterance_time"
UTTERANCE = f"{SPOKEN}?patches=25"
CER = "asr_nemotron/nemotron-0.6b-bf16/cer?audio=fleurs&right=0"
GB_A_STEP = GIB / 1e9  # 1.0737: the weights, read once
FP8 = "decode_vllm/qwen3-4b-fp8"
FP8_LIMITS = {**MATMUL, f"{FP8}/parameters_without_embeddings": (5e8, "param")}
FP8_PREFILL = f"{FP8}/prefill_rate?tokens=256"
LONG = {"prompt_tokens": 1000, "output_tokens_short": 1, "output_tokens_long": 65}
KV_GB = 1033 * 114_688 / 1e9  # half-way: 1,000 + (1 + 65) / 2 tokens of 28 layers x 2 x 8 heads x 128 numbers x 2 bytes
PEER = MODEL.replace("decode_", "peer_")
GRAPHS = MODEL.replace("decode_", "graphs_")
STEP_MS, PROMPT_MS = f"{MODEL}/step_kernel_time", f"{MODEL}/short_prompt_kernel_time"
BATCH = f"{MODEL}/batch_time?output=128&prompt=32&requests=4"
HEARD = "asr_nemotron/nemotron-0.6b-bf16"
HEARD_LIMITS = {**BANDWIDTH, f"{HEARD}/loaded_weights": (1.25, "GiB"), f"{HEARD}/parameters": (6.7e8, "param")}
VOICE = "tts_voxcpm/voxcpm2-bf16"
VOICE_LIMITS = {**BANDWIDTH, f"{VOICE}/parameters": (6.25e8, "param")}  # 1.25 GB, of which a patch reads 1 GB at least
FRAMES = "tts_magpie/magpie-multilingual"
FRAMES_LIMITS = {
    **BANDWIDTH,
    f"{FRAMES}/loaded_weights": (9.0, "GiB"),
    f"{FRAMES}/parameters": (3e8, "param", {"decoder_parameters": 2.5e8}),
}  # 1 GB in fp32
BUFFER = {"unit": "GB/s", "others": {}}
ALONE = {"others": {}}
SECONDS = {"unit": "s", "others": {}}
MS, SECOND = {"unit": "ms"}, {"unit": "s"}
HEARD_MS, VOICE_MS, FRAMES_MS = ({"unit": "ms", "others": each} for each in (HEARD_LIMITS, VOICE_LIMITS, FRAMES_LIMITS))
SLOW_LIMITS = {**LIMITS, f"{MODEL}/loaded_weights": (30.0, "GiB")}
SLOW = 30 * GB_A_STEP  # GB a step
TRUE_GIB = models.weight_bytes("qwen3-0.6b-bf16") / GIB


def at(tokens, *seconds):
    """A prefill time by key."""
    return {f"{MODEL}/prefill_time?tokens={tokens}": (list(seconds), "s")}


def spoken(patches, seconds):
    """The time of an utterance by key."""
    return {f"{SPOKEN}?patches={patches}": (seconds, "s")}


def single(many, requests=4, **config):
    return {"others": {f"{MODEL}/rate?requests={requests}": (many, "tok/s", config)}}


def rising(low, high):
    """Nine repeats whose first and last third are these, to a thousandth."""
    return [low, low * 0.999, low * 1.001, low, high, high, high, high * 0.999, high * 1.001]


CASES = [
    # rule, status (None: the rule does not apply), key, value or values, more: from both sides of each edge
    ("above_bandwidth", "accepted", RATE, 90 / GB_A_STEP, {}),
    ("above_bandwidth", "accepted", RATE, 102.9 / GB_A_STEP, {}),
    ("above_bandwidth", "suspect", RATE, 103.1 / GB_A_STEP, {}),  # the cache may hold 3.2% of these weights
    ("above_bandwidth", "rejected", RATE, 107 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE, 103.1 / GB_A_STEP, {"machine": Machine("no cache told", "cpu")}),
    ("above_bandwidth", "suspect", RATE, 900 / GB_A_STEP, {"machine": Machine("huge", "cpu", cache_bytes=GIB)}),
    ("above_bandwidth", "accepted", RATE_4, 400 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE_4, 430 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", RATE_4, 300 / GB_A_STEP, {"slots": 2}),  # two wait: every other step is theirs
    ("above_bandwidth", "accepted", RATE_4, 300 / GB_A_STEP, {"slots": 16}),
    ("above_bandwidth", "accepted", RATE, 300 / GB_A_STEP, {"tokens_per_step": 3.2}),  # guessed ahead, checked at once
    ("above_bandwidth", "rejected", RATE, 300 / GB_A_STEP, {"tokens_per_step": 2.0}),
    ("above_bandwidth", "accepted", RATE, 390 / GB_A_STEP, {"cards": 4, "machine": FOUR}),
    ("above_bandwidth", "rejected", RATE, 480 / GB_A_STEP, {"cards": 4, "machine": FOUR}),
    ("above_bandwidth", "rejected", RATE, 390 / GB_A_STEP, {"machine": FOUR}),
    ("above_bandwidth", "rejected", RATE, 190 / GB_A_STEP,
     {"others": {"bandwidth/sum": (340.0, "GB/s", {"cards": 4}), **WEIGHTS}, "machine": FOUR}),
    ("above_bandwidth", "rejected", RATE, 103 / GB_A_STEP, {"others": {**LIMITS, "bandwidth/copy": (20.0, "GB/s")}}),
    ("above_bandwidth", "suspect", RATE, 103 / GB_A_STEP, {"others": {"bandwidth/sum": (90.0, "GB/s"), **WEIGHTS}}),
    ("above_bandwidth", "rejected", RATE, 108 / GB_A_STEP, {"others": {"bandwidth/sum": (90.0, "GB/s"), **WEIGHTS}}),
    ("above_bandwidth", "suspect", RATE, 114 / GB_A_STEP, {"others": {**DATASHEET, **WEIGHTS}}),  # none was measured
    ("above_bandwidth", "rejected", RATE, 120 / GB_A_STEP, {"others": {**DATASHEET, **WEIGHTS}}),
    ("above_bandwidth", "rejected", RATE, 97 / GB_A_STEP,
     {"others": {**DATASHEET, "bandwidth/sum": (80.0, "GB/s"), **WEIGHTS}}),
    ("above_bandwidth", "accepted", RATE_4, 4 * 95 / (GB_A_STEP + 4 * KV_GB), {**LONG, "using": models}),
    ("above_bandwidth", "rejected", RATE_4, 4 * 107 / (GB_A_STEP + 4 * KV_GB), {**LONG, "using": models}),
    ("above_bandwidth", "accepted", RATE_4, 4 * 107 / (GB_A_STEP + 4 * KV_GB), LONG),
    ("above_bandwidth", "rejected", RATE_4, 430 / GB_A_STEP, {**LONG, "prompt_tokens": -1e9, "using": models}),
    ("above_bandwidth", "rejected", RATE_4, 4 * 107 / (GB_A_STEP + 4 * KV_GB),
     {"prompt_tokens": 1000, "output_tokens": 66, "using": models}),
    ("above_bandwidth", "accepted", PREFILL, 256 * 90 / GB_A_STEP, {"others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_bandwidth", "rejected", PREFILL, 256 * 110 / GB_A_STEP, {"others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_bandwidth", "accepted", PREFILL_TIME, 1000 * GB_A_STEP / 90,
     {"unit": "ms", "others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_bandwidth", "rejected", PREFILL_TIME, 1000 * GB_A_STEP / 110,
     {"unit": "ms", "others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_bandwidth", "rejected", FIRST, 1e-9, {"unit": "s"}),
    ("above_bandwidth", None, RATE, 1e9, ALONE),
    ("above_bandwidth", None, f"{MODEL}/rate", 1e9, {"others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_bandwidth", None, RATE.replace("transformers", "vllm"), 1e9, {}),  # another engine may hold other weights
    # what a sibling measurement loaded in the same engine
    ("above_bandwidth", "accepted", f"{PEER}/rate?requests=1", 102.9 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", f"{PEER}/rate?requests=1", 107 / GB_A_STEP, {}),
    ("above_bandwidth", None, f"{PEER}/rate?requests=1&tensor_parallel=2", 1e9, {"machine": FOUR, "cards": 2}),
    ("above_bandwidth", "accepted", f"{PEER}/rate?requests=1", 51 / GB_A_STEP,
     {"others": {**LIMITS, f"{PEER}/loaded_weights": (2.0, "GiB")}}),
    ("above_bandwidth", "rejected", f"{PEER}/rate?requests=1", 54 / GB_A_STEP,
     {"others": {**LIMITS, f"{PEER}/loaded_weights": (2.0, "GiB")}}),
    ("above_bandwidth", "accepted", f"{PEER}/first_token?requests=4", GB_A_STEP / 102.9, SECOND),
    ("above_bandwidth", "rejected", f"{PEER}/first_token?requests=4", GB_A_STEP / 107, SECOND),
    ("above_bandwidth", "accepted", f"{GRAPHS}/step_kernel_time?graphs=off", 1000 * GB_A_STEP / 102.9, MS),
    ("above_bandwidth", "rejected", f"{GRAPHS}/step_kernel_time?graphs=off", 1000 * GB_A_STEP / 107, MS),
    ("above_compute", "accepted", f"{PEER}/prefill_rate?tokens=256", 1029.0, {}),
    ("above_compute", "rejected", f"{PEER}/prefill_rate?tokens=256", 1031.0, {}),
    # kernels, and times of other tools
    ("above_bandwidth", "accepted", STEP_MS, 1000 * GB_A_STEP / 102.9, MS),
    ("above_bandwidth", "rejected", STEP_MS, 1000 * GB_A_STEP / 107, MS),
    ("above_bandwidth", "accepted", PROMPT_MS, 1000 * GB_A_STEP / 102.9, MS),
    ("above_bandwidth", "rejected", PROMPT_MS, 1000 * GB_A_STEP / 107,
     {"unit": "ms", "others": {**BANDWIDTH, **WEIGHTS}}),
    ("above_compute", "accepted", PROMPT_MS, 256_000 / 1029, {**MS, "prompt_tokens": 256}),
    ("above_compute", "rejected", PROMPT_MS, 256_000 / 1031, {**MS, "prompt_tokens": 256}),
    ("above_bandwidth", "accepted", f"{MODEL}/token_time?requests=8", 1000 * GB_A_STEP / 102.9, MS),
    ("above_bandwidth", "rejected", f"{MODEL}/token_time?requests=8", 1000 * GB_A_STEP / 107, MS),
    ("above_bandwidth", "accepted", f"{MODEL}/token_time?requests=8", 500 * GB_A_STEP / 102.9,
     {**MS, "tokens_per_step": 2}),
    ("above_bandwidth", "rejected", f"{MODEL}/token_time_with_first?requests=1", 1000 * GB_A_STEP / 107, MS),
    ("above_bandwidth", "rejected", f"{MODEL}/token_time_under_load?request_rate=2", 1000 * GB_A_STEP / 107, MS),
    ("above_bandwidth", "rejected", f"{MODEL}/first_token_under_load?request_rate=2", 1000 * GB_A_STEP / 107, MS),
    ("above_bandwidth", "accepted", BATCH, 128 * GB_A_STEP / 102.9, SECOND),
    ("above_bandwidth", "rejected", BATCH, 128 * GB_A_STEP / 107, SECOND),
    ("above_bandwidth", "accepted", BATCH, 64 * GB_A_STEP / 102.9, {**SECOND, "tokens_per_step": 2}),
    ("above_bandwidth", "accepted", f"{MODEL}/output_rate?requests=4", 400 / GB_A_STEP, {}),
    ("above_bandwidth", "rejected", f"{MODEL}/output_rate?requests=4", 430 / GB_A_STEP, {}),
    ("above_compute", "rejected", f"{MODEL}/output_rate_under_load?request_rate=2", 1031.0, {}),
    ("above_compute", "rejected", f"{MODEL}/prefill_rate_at_depth?depth=512&tokens=256", 1031.0, {}),
    # speech: a pass reads four fifths of what was loaded, or the part that runs in a step
    ("above_bandwidth", "accepted", f"{HEARD}/step_time?right=0", 1000 * GB_A_STEP / 102, HEARD_MS),
    ("above_bandwidth", "rejected", f"{HEARD}/step_time?right=0", 1000 * GB_A_STEP / 108, HEARD_MS),
    ("above_bandwidth", "rejected", f"{HEARD}/step_kernel_time?right=0", 1000 * GB_A_STEP / 108, HEARD_MS),
    ("above_bandwidth", "rejected", f"{HEARD}/buffered_step_time?right=0&window=5.6", 1000 * GB_A_STEP / 108, HEARD_MS),
    ("above_bandwidth", "rejected", f"{HEARD}/buffered_step_kernel_time?right=0", 1000 * GB_A_STEP / 108, HEARD_MS),
    ("above_bandwidth", None, f"{HEARD}/step_part_time?part=encoder&right=0", 1e-9, HEARD_MS),
    ("above_bandwidth", "accepted", f"{VOICE}/patch_time?steps=10", 1000 / 102, VOICE_MS),
    ("above_bandwidth", "rejected", f"{VOICE}/patch_time?steps=10", 1000 / 108, VOICE_MS),
    ("above_bandwidth", "rejected", f"{VOICE}/patch_kernel_time", 1000 / 108, {**VOICE_MS, "prompt_tokens": 30}),
    ("above_bandwidth", "rejected", f"{VOICE}/first_audio", 1000 / 108, VOICE_MS),
    ("above_bandwidth", "accepted", UTTERANCE, 25 / 102, {"unit": "s", "others": VOICE_LIMITS}),
    ("above_bandwidth", "rejected", UTTERANCE, 25 / 108, {"unit": "s", "others": VOICE_LIMITS}),
    ("above_bandwidth", "rejected", f"{SPOKEN}?language=ko&sentence=1", 25 / 108,
     {"unit": "s", "others": VOICE_LIMITS, "patches": 25}),
    ("above_bandwidth", None, f"{SPOKEN}?end=low", 1e-9, {"unit": "s", "others": VOICE_LIMITS}),  # of unknown length
    ("above_bandwidth", None, f"{VOICE}/patch_part_time?part=vae", 1e-9, VOICE_MS),
    ("above_bandwidth", None, f"{VOICE}/chunk_gap", 1e-9, VOICE_MS),  # what was held back comes at once
    ("above_bandwidth", "accepted", f"{FRAMES}/step_time?stack=1", 1000 / 102.9, {**FRAMES_MS, "dtype": "fp32"}),
    ("above_bandwidth", "rejected", f"{FRAMES}/step_time?stack=1", 1000 / 107, {**FRAMES_MS, "dtype": "fp32"}),
    ("above_bandwidth", "accepted", f"{FRAMES}/step_kernel_time?stack=1", 500 / 102.9, {**FRAMES_MS, "dtype": "bf16"}),
    ("above_bandwidth", None, f"{FRAMES}/step_time?stack=1", 1e-9, FRAMES_MS),  # of unknown width
    ("above_compute", "accepted", PREFILL, 1000.0, {}),
    ("above_compute", "accepted", PREFILL, 1029.0, {}),
    ("above_compute", "rejected", PREFILL, 1031.0, {}),
    ("above_compute", "rejected", f"{MODEL}/prefill_rate?input=repeated", 1031.0, {}),
    ("above_compute", "accepted", PREFILL_TIME, 256 / 1029, {"unit": "s"}),
    ("above_compute", "rejected", PREFILL_TIME, 256 / 1031, {"unit": "s"}),
    ("above_compute", "rejected", FIRST, 256 / 1031, {"unit": "s", "prompt_tokens": 256}),
    ("above_compute", "rejected", f"{MODEL}/rate?requests=64", 1031.0, {}),
    ("above_compute", "accepted", PREFILL, 3900.0, {"cards": 4, "machine": FOUR}),
    ("above_compute", "rejected", PREFILL, 4200.0, {"cards": 4, "machine": FOUR}),
    ("above_compute", "suspect", PREFILL, 1140.0, {"others": {**PARAMETERS, **ONE_SHAPE}}),
    ("above_compute", "rejected", PREFILL, 1160.0, {"others": {**PARAMETERS, **ONE_SHAPE}}),
    ("above_compute", "rejected", PREFILL, 1160.0, {"others": {**PARAMETERS, **DATASHEET}}),
    ("above_compute", "suspect", FP8_PREFILL, 2050.0, {"others": FP8_LIMITS}),
    ("above_compute", "rejected", FP8_PREFILL, 2070.0, {"others": FP8_LIMITS}),
    ("above_compute", "rejected", FP8_PREFILL, 2050.0,
     {"others": {**FP8_LIMITS, "matmul/throughput?dtype=fp8_e4m3&n=4096": (1.5, "TFLOPS")}}),
    ("above_compute", "suspect", PREFILL, 1500.0, {"others": {**PARAMETERS, **NOISY_MATMUL}}),  # a repeat came so far
    ("above_compute", "suspect", PREFILL, 1640.0, {"others": {**PARAMETERS, **NOISY_MATMUL}}),
    ("above_compute", "rejected", PREFILL, 1650.0, {"others": {**PARAMETERS, **NOISY_MATMUL}}),
    ("above_compute", "suspect", PREFILL, 4 * 1640.0,
     {"others": {**PARAMETERS, **NOISY_MATMUL}, "cards": 4, "machine": FOUR}),
    ("above_datasheet", "accepted", "bandwidth/triad", 97.0, {**BUFFER, "others": DATASHEET}),
    ("above_datasheet", "suspect", "bandwidth/triad", 104.0, {**BUFFER, "others": DATASHEET}),
    ("above_datasheet", "rejected", "bandwidth/triad", 384.0, {**BUFFER, "others": DATASHEET}),
    ("above_datasheet", "accepted", "bandwidth/triad", 384.0,
     {**BUFFER, "others": DATASHEET, "cards": 4, "machine": FOUR}),
    ("above_datasheet", "rejected", "bandwidth/triad", 800.0, {**BUFFER, "others": DATASHEET}),  # bits for bytes
    ("above_datasheet", "accepted", PRODUCT, 0.8, {"unit": "TFLOPS", "others": DATASHEET}),
    ("above_datasheet", "rejected", PRODUCT, 1.9, {"unit": "TFLOPS", "others": DATASHEET}),
    ("above_datasheet", None, PRODUCT.replace("bf16", "fp8"), 1.9, {"unit": "TFLOPS", "others": DATASHEET}),
    ("far_below", "suspect", RATE, 14.9 / SLOW, {"others": SLOW_LIMITS, "machine": GPU}),
    ("far_below", "accepted", RATE, 15.1 / SLOW, {"others": SLOW_LIMITS, "machine": GPU}),
    ("far_below", None, RATE, 14.9 / SLOW, {"others": SLOW_LIMITS}),  # it was said to run on the processor
    ("far_below", "suspect", RATE, 9.9, {"machine": GPU}),
    ("far_below", "accepted", RATE, 10.1, {"machine": GPU}),  # a host can take so long to launch a step
    ("far_below", "accepted", f"{MODEL}/rate?requests=64", 64 * 3.0, {"machine": GPU}),  # it computes, if it reads not
    ("far_below", "suspect", f"{MODEL}/rate?requests=64", 64 * 1.0, {"machine": GPU}),
    ("far_below", "suspect", PREFILL, 100.0, {"machine": GPU}),
    ("far_below", "accepted", PREFILL, 200.0, {"machine": GPU}),
    ("far_below", "accepted", PREFILL, 200.0, {"machine": GPU, "others": {**LIMITS, **FP8_PRODUCT}}),  # widened weights
    ("far_below", "suspect", PREFILL, 100.0, {"machine": GPU, "others": {**LIMITS, **FP8_PRODUCT}}),
    ("far_below", "suspect", PREFILL, 100.0, {"machine": GPU, "others": {**BANDWIDTH, **PARAMETERS, **FP8_PRODUCT}}),
    ("far_below", None, PREFILL, 100.0, {"machine": GPU, "others": {**BANDWIDTH, **WEIGHTS}}),
    ("far_below", "suspect", "bandwidth/triad", 14.0, {**BUFFER, "others": DATASHEET, "machine": GPU}),
    ("far_below", "accepted", "bandwidth/triad", 57.0, {**BUFFER, "others": DATASHEET, "machine": GPU}),
    ("token_count_differs", "rejected", RATE, 10.0, {"output_tokens_long": 512, "produced_tokens": 43}),
    ("token_count_differs", "rejected", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 64}),
    ("token_count_differs", "rejected", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 257}),
    ("token_count_differs", "accepted", RATE_4, 10.0, {"output_tokens_long": 64, "produced_tokens": 256}),
    ("token_count_differs", "accepted", RATE_4, 10.0, {"output_tokens": 64, "produced_tokens": 256}),
    ("token_count_differs", "rejected", FIRST, 5.0, {**SECONDS, "produced_tokens": 0}),
    ("token_count_differs", None, FIRST, 5.0, {**SECONDS, "produced_tokens": 9}),
    ("buffer_in_cache", "rejected", "bandwidth/triad", 3868.0, {**BUFFER, "buffer_bytes": 32 * MIB}),
    ("buffer_in_cache", "suspect", "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": 127 * MIB}),
    ("buffer_in_cache", "accepted", "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": 128 * MIB}),
    ("buffer_in_cache", None, "bandwidth/triad", 90.0, {**BUFFER, "buffer_bytes": MIB, "machine": Machine("m", "cpu")}),
    ("prompts_repeated", "rejected", PREFILL, 10.0, {"distinct_prompts": False}),
    ("prompts_repeated", "accepted", PREFILL, 10.0, {"distinct_prompts": True}),
    ("tokens_cached", "rejected", PREFILL, 10.0, {"cached_tokens": 16}),
    ("tokens_cached", "accepted", PREFILL, 10.0, {"cached_tokens": 0}),
    ("outputs_missing", "rejected", CER, 5.0, {"unit": "%", "recordings": 30, "scored_recordings": 29}),
    ("outputs_missing", "accepted", CER, 5.0, {"unit": "%", "recordings": 30, "scored_recordings": 30}),
    ("outputs_missing", "rejected", CER, 0.0, {"unit": "%", "recordings": 30, "empty_outputs": 1}),
    ("outputs_missing", "accepted", CER, 3.3, {"unit": "%", "recordings": 30, "empty_outputs": 1}),
    ("outputs_missing", "accepted", CER, 0.0, {"unit": "%", "recordings": 30, "empty_outputs": 0}),
    ("outputs_missing", None, CER, 5.0, {"unit": "%", "recordings": 30}),
    ("other_device", "rejected", "bandwidth/sum", 30.0, {**BUFFER, "machine": GPU, "device": "cpu"}),
    ("other_device", "accepted", "bandwidth/sum", 30.0, {**BUFFER, "machine": GPU, "device": "cuda"}),
    ("other_device", "rejected", "bandwidth/sum", 30.0, {**BUFFER, "machine": GPU, "device_name": "NVIDIA A100"}),
    ("other_device", "accepted", "bandwidth/sum", 30.0, {**BUFFER, "machine": FOUR, "device_name": "NVIDIA H200"}),
    ("other_device", "rejected", RATE, 1.0, {**ALONE, "machine": FOUR, "cards": 5}),
    ("other_device", "rejected", "link/copy?to=4&ways=1", 1.0, {**ALONE, "machine": FOUR, "cards": 2}),
    ("other_device", "accepted", "link/copy?to=3&ways=1", 1.0, {**ALONE, "machine": FOUR, "cards": 2}),
    ("other_device", "accepted", RATE, 1.0, {**ALONE, "machine": FOUR, "cards": 4}),
    ("time_not_growing", "suspect", PREFILL_TIME, 0.5, {**SECONDS, "others": {**at(64, 1.0), **at(32, 1.0)}}),
    ("time_not_growing", "accepted", PREFILL_TIME, 1.0, {**SECONDS, "others": {**at(64, 0.5), **at(1024, 2.0)}}),
    ("time_not_growing", "accepted", PREFILL_TIME, 0.98, {**SECONDS, "others": at(64, 1.0)}),  # launched, both of them
    ("time_not_growing", "suspect", PREFILL_TIME, 0.96, {**SECONDS, "others": at(64, 1.0)}),
    ("time_not_growing", "accepted", PREFILL_TIME, [0.9, 0.95, 1.0], {**SECONDS, "others": at(64, 0.99, 1.05, 1.1)}),
    ("time_not_growing", "suspect", f"{MODEL}/prefill_time?tokens=32", 0.7,
     {**SECONDS, "others": {**at(64, 0.3), **at(256, 0.4), **at(1024, 0.5)}}),  # the short one is at odds with all
    ("time_not_growing", "accepted", PREFILL_TIME, 0.4,
     {**SECONDS, "others": {**at(32, 0.7), **at(64, 0.3), **at(1024, 0.5)}}),
    ("time_not_growing", "suspect", PREFILL, 8000.0,
     {"others": {f"{MODEL}/prefill_rate?tokens=64": (1000.0, "tok/s")}}),
    ("time_not_growing", None, PREFILL_TIME, 0.5, {**SECONDS, "others": {}}),
    ("time_not_growing", "suspect", UTTERANCE, 0.4, {**SECONDS, "others": spoken(12, 0.5)}),
    ("time_not_growing", "accepted", UTTERANCE, 0.6, {**SECONDS, "others": {**spoken(12, 0.5), **spoken(50, 0.9)}}),
    ("time_not_growing", None, UTTERANCE, 0.4, {**SECONDS, "others": {f"{SPOKEN}?engine=nano&patches=12": (0.5, "s")}}),
    ("held_up", "suspect", RATE, 36.6, single(189.5)),
    ("held_up", "accepted", RATE, 48.0, single(189.5)),
    ("held_up", "accepted", RATE, [44.0, 42.0, 47.5], single(189.5)),  # its best repeat is as fast
    ("held_up", "accepted", RATE, 36.6, single([100.0, 189.5, 200.0])),
    ("held_up", None, RATE, 36.6, single(189.5, prompt_tokens=64)),  # shorter or longer prompts: no comparison
    ("held_up", None, RATE_4, 36.6, single(189.5, requests=1)),
    ("parts_differ", "accepted", FIRST, 0.5, {**SECONDS, "first_s": 0.5, "gap_s": 0.01, "gaps": 99, "whole_s": 1.49}),
    ("parts_differ", "accepted", FIRST, 0.5, {**SECONDS, "first_s": 0.5, "gap_s": 0.01, "gaps": 54, "whole_s": 1.0}),
    ("parts_differ", "rejected", FIRST, 0.5, {**SECONDS, "first_s": 0.5, "gap_s": 0.01, "gaps": 56, "whole_s": 1.0}),
    ("parts_differ", "accepted", FIRST, 0.5, {**SECONDS, "first_s": 0.5, "gap_s": 0.01, "gaps": 46, "whole_s": 1.0}),
    ("parts_differ", "suspect", FIRST, 0.5, {**SECONDS, "first_s": 0.5, "gap_s": 0.01, "gaps": 44, "whole_s": 1.0}),
    ("start_up_inside", "suspect", FIRST, [2.02, 1.0, 1.0, 1.0, 1.0], SECONDS),
    ("start_up_inside", "accepted", FIRST, [1.1, 1.0, 1.02, 1.0, 1.0], SECONDS),
    ("start_up_inside", "accepted", FIRST, [1.98, 1.0, 1.0, *[1.0] * 20], SECONDS),
    ("start_up_inside", "suspect", PRODUCT, [0.29, *[1.0] * 19], {**ALONE, "unit": "TFLOPS"}),
    ("start_up_inside", "accepted", PRODUCT, [1.0] * 20, {**ALONE, "unit": "TFLOPS"}),
    ("start_up_inside", "accepted", PRODUCT, [0.4, 1.0, 0.3, *[1.0] * 17], {**ALONE, "unit": "TFLOPS"}),  # not worst
    ("start_up_inside", "accepted", PRODUCT, [3.0, *[1.0] * 19], {**ALONE, "unit": "TFLOPS"}),  # faster is no start-up
    ("start_up_inside", "rejected", FIRST, [42.0, 1.0], SECONDS),
    ("start_up_inside", None, WEIGHT, [2.0, 1.0, 1.0], {**ALONE, "unit": "GiB"}),
    ("start_up_inside", None, FIRST, 42.0, {**SECONDS, "warmups": 2}),
    ("drifts", "suspect", PRODUCT, rising(1.0, 0.9), {**ALONE, "unit": "TFLOPS"}),
    ("drifts", "suspect", PRODUCT, rising(1.0, 1.0505), {**ALONE, "unit": "TFLOPS"}),
    ("drifts", "accepted", PRODUCT, rising(1.0, 1.0495), {**ALONE, "unit": "TFLOPS"}),
    ("drifts", "accepted", PRODUCT, [1.0, 1.1, 0.9, 1, 1, 1, 1.1, 1.2, 0.95], {**ALONE, "unit": "TFLOPS"}),  # they mix
    ("drifts", None, PRODUCT, [1.0, 1.0, 1, 1, 1, 1, 1.2, 1.2], {**ALONE, "unit": "TFLOPS"}),
    ("spread_wide", "suspect", FIRST, [0.87, 1.0, 1.123], SECONDS),
    ("spread_wide", "accepted", FIRST, [0.88, 1.0, 1.127], SECONDS),
    ("spread_wide", None, FIRST, 1.0, SECONDS),
    ("spread_wide", None, CER, [1.0, 2.0, 3.0], {"unit": "%"}),
    ("percentile_beyond_count", "accepted", FIRST, 0.1, {**SECONDS, "percentile": 90, "observations": 64}),
    ("percentile_beyond_count", "suspect", FIRST, 0.1, {**SECONDS, "percentile": 90, "observations": 63}),
    ("percentile_beyond_count", "accepted", FIRST, 0.1, {**SECONDS, "percentile": 99, "observations": 662}),
    ("percentile_beyond_count", "suspect", FIRST, 0.1, {**SECONDS, "percentile": 99, "observations": 661}),
    ("percentile_beyond_count", "rejected", FIRST, 0.1, {**SECONDS, "percentile": 99, "observations": 20}),
    ("percentile_beyond_count", "rejected", FIRST, 0.1, {**SECONDS, "percentile": 1, "observations": 20}),
    ("percentile_beyond_count", "rejected", f"{FIRST.replace('?', '?percentile=99&')}", [0.1] * 20, SECONDS),
    ("percentile_beyond_count", None, FIRST, 0.1, {**SECONDS, "percentile": 50, "observations": 3}),
    ("profiler_loaded", "suspect", RATE, 10.0, {**ALONE, "profiler_loaded": True}),
    ("profiler_loaded", "accepted", RATE, 10.0, {**ALONE, "profiler_loaded": False}),
    ("profiler_loaded", None, RATE, 10.0, {**ALONE, "profiler_loaded": "yes"}),
    ("profiler_loaded", None, CER, 10.0, {"unit": "%", "profiler_loaded": True}),
    ("throttled", "suspect", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "throttle_reasons": "sw_power_cap,hw_slowdown"}),
    ("throttled", "accepted", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "throttle_reasons": "sw_power_cap"}),
    ("throttled", "accepted", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "throttle_reasons": "none"}),
    ("clock_low", "suspect", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "clock_mhz_end": 595, "clock_mhz_max": 1000}),
    ("clock_low", "accepted", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "clock_mhz_end": 605, "clock_mhz_max": 1000}),
    ("clock_low", "suspect", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "clock_mhz_end": 895, "clock_mhz_start": 1000}),
    ("clock_low", "accepted", PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "clock_mhz_end": 905, "clock_mhz_start": 1000}),
    ("clock_low", "suspect", PRODUCT, 1.0,
     {**ALONE, "unit": "TFLOPS", "clock_mhz_end": 800, "clock_mhz_start": 1000, "clock_mhz_max": 1000}),
    ("clock_low", None, PRODUCT, 1.0, {**ALONE, "unit": "TFLOPS", "clock_mhz_max": 1980}),
    ("copy_counted", "suspect", "bandwidth/copy", 49.0, {"unit": "GB/s", "others": {"bandwidth/sum": (90.0, "GB/s")}}),
    ("copy_counted", "accepted", "bandwidth/copy", 50.0, {"unit": "GB/s", "others": {"bandwidth/sum": (90.0, "GB/s")}}),
    ("copy_counted", "suspect", "bandwidth/copy", 45.0, {"unit": "GB/s", "others": {"bandwidth/sum": (90.0, "GB/s")}}),
    ("copy_counted", "rejected", "bandwidth/copy", 180.0,
     {"unit": "GB/s", "others": {"bandwidth/sum": (90.0, "GB/s"), "bandwidth/triad": (89.0, "GB/s")}}),
    ("copy_counted", "accepted", "bandwidth/copy", 60.0, {"unit": "GB/s", "others": {"bandwidth/sum": (90.0, "GB/s")}}),
    ("unit_mistaken", "accepted", WEIGHT, TRUE_GIB * 1.009, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "suspect", WEIGHT, TRUE_GIB, {"unit": "GB", "using": models, "others": {}}),
    ("unit_mistaken", "suspect", WEIGHT, TRUE_GIB * 1.024**3, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "suspect", WEIGHT, TRUE_GIB * 1.024**3 * 1.011, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "accepted", WEIGHT, TRUE_GIB * 1.024**3 * 1.013, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "suspect", WEIGHT, TRUE_GIB * 1.024**2, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "rejected", WEIGHT, TRUE_GIB * 8, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", "rejected", WEIGHT, TRUE_GIB / 8, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", None, f"{FP8}/loaded_weights", 4.32, {"unit": "GiB", "using": models, "others": {}}),
    ("unit_mistaken", None, WEIGHT, TRUE_GIB, {"unit": "GB", "others": {}}),
    ("unit_mistaken", None, f"{WEIGHT}?tensor_parallel=2", TRUE_GIB * 1.024**2, {"unit": "GiB", "using": models}),
    ("unit_mistaken", None, WEIGHT, TRUE_GIB * 1.024**2, {"unit": "GiB", "using": models, "cards": 2}),
]  # fmt: skip

RTX_4090 = Machine("RTX 4090", "cuda", cache_bytes=72 * MIB, accelerators=1)
A100 = Machine("A100", "cuda", accelerators=1)

PUBLIC = [
    # where, rule, status, key, value or values, more: how numbers went wrong in public
    ("mli/transformers-benchmarks#4", "buffer_in_cache", "rejected", "bandwidth/copy", 3868.0,
     {**BUFFER, "machine": RTX_4090, "buffer_bytes": 16 * MIB}),
    ("the same, the buffer not told of", "above_datasheet", "rejected", "bandwidth/copy", 3868.0,
     {**BUFFER, "machine": RTX_4090, "others": {"datasheet/bandwidth": (1008.0, "GB/s")}}),
    ("vllm-project/vllm#10753", "prompts_repeated", "rejected", f"{FP8}/rate?requests=152", 152.0,
     {**ALONE, "distinct_prompts": False}),
    ("vllm-project/vllm#54227", "tokens_cached", "rejected", PREFILL_TIME, 1 / 49, {**SECONDS, "cached_tokens": 256}),
    ("the same, the cache not told of", "time_not_growing", "suspect", PREFILL_TIME, 1 / 49,
     {**SECONDS, "others": {**at(64, 0.3), **at(128, 0.5)}}),
    ("NVIDIA/aicr#1096", "start_up_inside", "rejected", FIRST, 42.0, {**SECONDS, "warmups": 0}),
    ("pytorch/torchchat#721", "start_up_inside", "rejected", "decode_gpt_fast/llama2-7b-bf16/rate?requests=1", 2.28,
     {"machine": A100, "warmups": 0, "others": {}}),
    ("vllm-project/vllm#13333", "token_count_differs", "rejected", RATE, 10.0,
     {**ALONE, "output_tokens": 512, "produced_tokens": 43}),
    ("vllm-project/vllm#10847", "token_count_differs", "rejected", RATE, 10.0,
     {**ALONE, "output_tokens": 10_000, "produced_tokens": 5827.5}),
    ("paiml/aprender#2846", "far_below", "suspect", RATE, 6.2,
     {"machine": A100, "others": {**WEIGHTS, "bandwidth/sum": (58 * GB_A_STEP, "GB/s")}}),
    ("flashinfer-ai/flashinfer#2899", "drifts", "suspect", "matmul/throughput?dtype=fp4&n=8192",
     [1425 - (1425 - 1237) * i / 99 for i in range(100)], {**ALONE, "unit": "TFLOPS"}),
    ("PigeonDan1/sure-evaluation#1", "outputs_missing", "rejected", CER, 5.0,
     {"unit": "%", "recordings": 30, "scored_recordings": 28}),
    ("the same, a file that could not be read", "outputs_missing", "rejected", CER, 0.0,
     {"unit": "%", "recordings": 30, "scored_recordings": 29}),
    ("vllm-project/vllm-omni#3674", "token_count_differs", "rejected", f"{MODEL}/first_token?requests=1", 5876.0,
     {**ALONE, "unit": "ms", "produced_tokens": 0}),
    ("sgl-project/sglang#13934", "prompts_repeated", "rejected", FIRST, 0.1, {**SECONDS, "distinct_prompts": False}),
    ("llm-rig#97", "clock_low", "suspect", RATE, 10.0, {**ALONE, "clock_mhz_start": 1875, "clock_mhz_end": 1155}),
    ("quda#39", "unit_mistaken", "suspect", WEIGHT, TRUE_GIB, {"unit": "GB", "using": models, "others": {}}),
    ("MegaQwen on an RTX 5090, 72% of what it reads", "above_bandwidth", "accepted", RATE, 1008.0,
     {"machine": GPU, "others": {"bandwidth/sum": (1008 * GB_A_STEP / 0.72, "GB/s"), **WEIGHTS}}),
    ("vLLM on it: the host launches", "far_below", "accepted", RATE, 107.0,
     {"machine": GPU, "others": {"bandwidth/sum": (1008 * GB_A_STEP / 0.72, "GB/s"), **WEIGHTS}}),
]  # fmt: skip


def sample(value, unit, config=None):
    """A sample of one value, or of several."""
    values = value if isinstance(value, list) else [value]
    return Sample(unit, values, "2026-11-29T00:00:00Z", "python -m measure run x --run here", config or {})


def judged(verdicts, key, value, unit="tok/s", others=LIMITS, machine=CPU, using=None, **config):
    """What `verdicts` says of one sample beside others."""
    samples = {text: sample(*given) for text, given in others.items()}
    run = Run("here", "executed", machine, "2026-11-29", {**samples, key: sample(value, unit, config)})
    return verdicts(run, using)[key]


def wrong(verdicts):
    """The cases that come out otherwise than they must, with what came out."""
    table = [*CASES, *(case[1:] for case in PUBLIC)]
    found = [(case, judged(verdicts, *case[2:4], **case[4])) for case in table]
    return [(case, verdict) for case, verdict in found if not _holds(case[0], case[1], verdict)]


def _holds(rule, status, verdict):
    if status is None:
        return rule not in verdict.checked
    if status == "accepted":
        return verdict.status == "accepted" and rule in verdict.checked
    return verdict.status == status and (rule, status) in [(fault.rule, fault.status) for fault in verdict.faults]
