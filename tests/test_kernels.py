"""Kernel times are the union of intervals in which the device works, and a step is what more tokens take more."""

from types import SimpleNamespace

import pytest
import torch
from tiny import session  # noqa: F401  # a fixture

from measure import kernels
from measure.kernels import Trace
from measure.keys import key


class Event:
    """What kineto tells of one activity; torch before 2.12 does not tell `activity_type`."""

    def __init__(self, name, start, length, activity="kernel", device="DeviceType.CUDA", old=False):
        self._told = (name, start, length, device)
        if not old:
            self.activity_type = lambda: activity
        self.is_user_annotation = lambda: activity == "gpu_user_annotation"

    def name(self):
        return self._told[0]

    def start_ns(self):
        return self._told[1]

    def duration_ns(self):
        return self._told[2]

    def device_type(self):
        return self._told[3]


@pytest.mark.parametrize(
    ("spans", "length"),
    [([], 0), ([(0, 5)], 5), ([(0, 5), (3, 8)], 8), ([(10, 12), (0, 5)], 7), ([(0, 9), (2, 3), (8, 10)], 10)],
)
def test_time_in_which_two_kernels_run_counts_once(spans, length):
    assert kernels.covered(spans) == length


@pytest.mark.parametrize("old", [False, True])
def test_waits_annotations_and_the_host_are_not_the_device_at_work(old):
    events = [
        Event("gemm", 0, 1000, old=old),
        Event("gemm", 500, 1000, old=old),
        Event("Memcpy DtoH", 3000, 500, "gpu_memcpy", old=old),
        Event("step 1", 0, 90_000, "gpu_user_annotation", old=old),
        Event("Stream Wait Event", 0, 90_000, "cuda_sync", old=old),
        Event("aten::mm", 0, 90_000, "cpu_op", device="DeviceType.CPU", old=old),
    ]
    found = kernels.gather(events)
    assert (found.busy_s, found.launched) == (pytest.approx(2.0e-6), 3)
    assert found.by_name == {"gemm": pytest.approx(2e-6), "Memcpy DtoH": pytest.approx(5e-7)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80", "attention"),
        ("nvjet_sm90_tst_8x64_64x16_2x1_v_bz_TNN", "matmul"),
        ("void mul_mat_vec_q<(ggml_type)2, 1, false>", "matmul"),
        ("cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise", "matmul"),
        ("Memcpy HtoD (Pinned -> Device)", "copy"),
        ("triton_red_fused_rms_norm_0", "other"),
    ],
)
def test_kinds_of_kernels_go_by_their_names(name, kind):
    assert kernels.kind_of(name) == kind


def test_a_step_is_what_more_tokens_take_more():
    """A prompt takes 7 ms in 90 kernels, a step 2 ms in 10, of which attention takes 0.5 ms."""

    def traced(prompt_tokens, tokens):
        steps = tokens - 1
        names = {"gemm": 1e-3 + 1.5e-3 * steps, "flash_fwd": 6e-3 + 0.5e-3 * steps}
        return Trace(7e-3 + 2e-3 * steps, 90 + 10 * steps, names)

    values, told = kernels.step_times(traced, 32)
    assert values == pytest.approx([2.0] * kernels.TRACES)
    assert (told["kernels_per_step"], told["prompt_tokens"]) == (10, 32)
    assert (told["attention_ms"], told["matmul_ms"], told["other_ms"]) == pytest.approx((0.5, 1.5, 0.0))
    assert kernels.attention_ms(traced, 3500) == pytest.approx(0.5)
    prompts, told = kernels.prompt_times(traced, 64)
    assert prompts == pytest.approx([7.0] * kernels.TRACES)
    assert (told["kernels_per_prompt"], told["prompt_tokens"]) == (90, 64)


def exchanging(short_waits, long_waits):
    """Steps of 1.5 ms, of which 0.5 ms exchange data; further milliseconds of waiting in each generation, in turn."""
    waits = iter([0.0, *(wait for pair in zip(short_waits, long_waits, strict=True) for wait in pair)])

    def traced(prompt_tokens, tokens):
        wait = next(waits) / 1e3
        exchange = 0.5e-3 * tokens + wait
        by_name = {"cross_device_reduce_1stage": exchange, "gemm": 1e-3 * tokens}
        return Trace(1.5e-3 * tokens + wait, 4 * tokens, by_name)

    return kernels.step_times(traced, 32)


def test_what_waits_for_another_card_is_in_the_median_and_not_in_the_least():
    """Of 32 steps: 64 ms of waiting in three of the longer generations add 2 ms to a step's median."""
    values, told = exchanging([0, 0, 0, 0, 0], [64, 0, 64, 0, 64])
    assert values == pytest.approx([3.5, 1.5, 3.5, 1.5, 3.5])
    assert told["exchange_ms"] == pytest.approx(2.5)
    assert (told["exchange_least_ms"], told["kernels_least_ms"]) == pytest.approx((0.5, 1.5))


def test_a_wait_in_the_shorter_generation_is_not_subtracted_from_the_least():
    """The second pair alone would tell a step of 0.5 ms, and less than nothing exchanged."""
    values, told = exchanging([0, 32, 0, 0, 0], [0, 0, 0, 0, 0])
    assert values[1] == pytest.approx(0.5)
    assert (told["exchange_least_ms"], told["kernels_least_ms"]) == pytest.approx((0.5, 1.5))


def test_of_one_card_no_least_is_told():
    *_, told = kernels.step_times(lambda prompt, tokens: Trace(1e-3 * tokens, tokens, {"gemm": 1e-3 * tokens}), 32)
    assert told["exchange_ms"] == 0 and not {"exchange_least_ms", "kernels_least_ms"} & told.keys()


def test_a_profiler_that_saw_nothing_gives_no_time():
    with pytest.raises(ArithmeticError, match="saw no kernels"):
        kernels.prompt_times(lambda prompt_tokens, tokens: Trace(0.0, 0, {}), 64)


def test_the_longest_kernels_are_named_with_their_share():
    found = Trace(1.0, 3, {"void mul_mat_vec_q<(ggml_type)2, 1>(char const*)": 0.6, "rms": 0.3, "a": 0.06, "b": 0.04})
    assert kernels.names(found) == "60% mul_mat_vec_q<2, 1>; 30% rms; 6% a"


def test_a_very_long_name_is_cut():
    assert kernels.short("void " + "x" * 100 + "(int)") == "x" * 57 + "..."


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA card")
def test_torch_shows_the_kernels_of_this_process():
    a = torch.randn(2048, 2048, device="cuda")
    found = kernels.trace(lambda: [a @ a for _ in range(3)])
    assert found.launched >= 3
    assert found.kind_s("matmul") > 0


def test_what_is_recorded_after_a_trace_says_so(session, monkeypatch):  # noqa: F811
    """Launches are slower from then on, which the rules are told; what was seen by the profiler is not meant."""
    before, after, seen = (key("decode_vllm", name, "qwen3-0.6b-bf16") for name in ("a", "b", "step_kernel_time"))
    monkeypatch.setattr(kernels, "_loaded", False)
    session.record(before, "tok/s", [1.0], {})
    monkeypatch.setattr(torch.profiler, "profile", lambda activities: SimpleNamespace(start=lambda: None))
    kernels.start()
    session.record(after, "tok/s", [1.0], {})
    session.record(seen, "ms", [1.0], {})
    told = [session.load(item).config.get("profiler_loaded") for item in (before, after, seen)]
    assert told == [None, True, None]
