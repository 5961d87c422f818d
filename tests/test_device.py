"""The device is used as far as this process may, and what goes wrong on it is told apart."""

import subprocess
import sys

import pytest
import torch
from msgspec.structs import replace
from tiny import failures, session  # noqa: F401  # a fixture

from measure import device, machine
from measure.keys import key
from measure.results import ResultsError

ITEM = key("bandwidth", "sum")


def test_no_more_threads_than_cores_and_waiting_ones_sleep():
    code = (
        "from measure import device, machine; from msgspec.structs import replace; import os;"
        "os.environ.pop('OMP_WAIT_POLICY', None);"
        "print(device.settle(replace(machine.describe('cpu'), cores=1)), os.environ['OMP_WAIT_POLICY'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'device': 'cpu', 'threads': 1, 'omp_wait_policy': 'PASSIVE'} PASSIVE"


@pytest.mark.parametrize("precision", device.DTYPES)
def test_every_precision_is_a_type_of_torch(precision):
    assert isinstance(device.dtype(precision), torch.dtype)


def test_free_memory_is_some_of_the_memory():
    here = machine.describe("cpu")
    assert 0 < device.free_bytes(here) <= here.memory_bytes
    assert device.free_bytes(replace(here, memory_bytes=1000)) <= 1000


def test_a_processor_without_bf16_instructions_is_measured_in_fp32(monkeypatch):
    for flags, expected in (("flags : avx2 avx512f", "fp32"), ("flags : avx512_bf16 avx2", "bf16"), ("", "fp32")):
        monkeypatch.setattr(device, "_text", lambda path, flags=flags: flags)
        assert device.fast_precision("cpu") == expected
    assert device.fast_precision("cuda") == "bf16"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
        (device.NotEnoughMemoryError("12 GiB"), "not_enough_memory"),
        (RuntimeError("something else"), "crashed"),
    ],
)
def test_an_error_becomes_a_failure_of_its_keys(session, error, reason):  # noqa: F811
    with device.failing(session, ITEM):
        raise error
    assert failures(session)[str(ITEM)][0] == reason


def test_a_results_file_that_cannot_be_written_ends_it(session):  # noqa: F811
    with pytest.raises(ResultsError), device.failing(session, ITEM):
        session.record(ITEM, "tok/s", [1.0], {})


def test_an_interrupt_is_not_swallowed(session):  # noqa: F811
    with pytest.raises(KeyboardInterrupt), device.failing(session, ITEM):
        raise KeyboardInterrupt
