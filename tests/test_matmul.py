"""A throughput is 2 n³ over the time of a product that is right; a type too slow for the machine says so."""

import dataclasses
from contextlib import nullcontext

import msgspec
import pytest
import torch
from tiny import Watched, failures, session  # noqa: F401  # a fixture

from measure import device, matmul, timing
from measure.keys import key


@pytest.fixture
def small(session, monkeypatch):  # noqa: F811
    """A session whose products take milliseconds."""
    monkeypatch.setattr(matmul, "QUICK_SIZES", {"cpu": (48, 64)})
    monkeypatch.setattr(matmul, "PROBE_SIZE", 32)
    monkeypatch.setattr(device, "fast_precision", lambda where: "bf16")
    return session


def test_every_type_and_size_is_recorded(small):
    matmul.measure(small)
    assert len(matmul.plan(small)) == 4
    for item in matmul.plan(small):
        sample = small.load(item)
        assert sample.unit == "TFLOPS"
        assert sample.count >= timing.AT_LEAST
        assert sample.config["operands"] == "normal"


def test_a_throughput_counts_multiply_and_add(small, monkeypatch):
    def two_seconds(work, *_, **__):
        work()
        return [2.0]

    monkeypatch.setattr(timing, "repeat", two_seconds)
    monkeypatch.setattr(matmul, "_probe", lambda name, _: 1e9)
    matmul.measure(small)
    assert small.load(key("matmul", "throughput", dtype="fp32", n=64)).values == [64**3 / 1e12]


def test_a_wrong_product_is_not_reported(small, monkeypatch):
    right = matmul.product

    def lazy(name, n, where):
        a, b, _ = right(name, n, where)
        return a, b, lambda: torch.zeros(n, n)

    monkeypatch.setattr(matmul, "product", lazy)
    matmul.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"crashed"}
    assert all(small.load(item) is None for item in matmul.plan(small))


@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16", "fp8"])
def test_the_check_accepts_the_product_and_no_other(name):
    a, b, work = matmul.product(name, 256, "cpu")
    assert matmul.right(a, b, work())
    assert not matmul.right(a, b, 1.1 * work())
    assert not matmul.right(a, b, a)


def test_operands_are_normally_distributed():
    a, b, _ = matmul.product("fp32", 512, "cpu")
    assert a.std().item() == pytest.approx(1, abs=0.02)
    assert not torch.equal(a, b)


def test_a_type_too_slow_for_the_machine_is_left_out_with_the_reason(small, monkeypatch):
    monkeypatch.setattr(matmul, "_probe", lambda name, _: 1e12 if name == "fp32" else 1e3)
    matmul.measure(small)
    assert small.load(key("matmul", "throughput", dtype="fp32", n=64)) is not None
    reason, detail = failures(small)["matmul/throughput?dtype=bf16&n=64"]
    assert reason == "too_slow"
    assert detail.startswith("about 524 s")


def test_a_type_without_instructions_is_measured_at_one_size_alone(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(device, "fast_precision", lambda where: "fp32")
    whole = dataclasses.replace(session, quick=False)
    assert matmul.sizes("bf16", session) == ()
    assert matmul.sizes("bf16", whole) == matmul.SIZES["cpu"][:1]
    assert matmul.sizes("fp32", whole) == matmul.SIZES["cpu"]


def test_fp8_is_unsupported_without_a_card(small, monkeypatch):
    monkeypatch.setattr(matmul, "DTYPES", {"cpu": ("fp8",)})
    monkeypatch.setattr(matmul, "sizes", lambda name, _: (64,))
    matmul.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"unsupported"}


def test_every_figure_tells_the_clock_before_and_after(small, monkeypatch):
    monkeypatch.setattr(matmul, "Watch", Watched)
    matmul.measure(small)
    assert {small.load(item).config["clock"] for item in matmul.plan(small)} == {"begin end"}


def test_products_are_measured_on_each_card(small, monkeypatch):
    used = []
    monkeypatch.setattr(device, "on_card", lambda where, number: used.append(number) or nullcontext())
    monkeypatch.setattr(matmul, "SIZES", {"cpu": (64,)})
    two = dataclasses.replace(small, quick=False, machine=msgspec.structs.replace(small.machine, accelerators=2))
    matmul.measure(two)
    assert used == [0, 1]
    keys = {str(item) for item in matmul.plan(two) if two.load(item) is not None}
    assert {"matmul/throughput?dtype=fp32&n=64", "matmul/throughput?card=1&dtype=fp32&n=64"} <= keys
