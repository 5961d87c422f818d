"""What this machine is: read right from each system's own files, and nothing in it that tells whose it is."""

import ctypes
import getpass
import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from measure import doctor, invocation, machine, registry
from measure.machine import Accelerator, describe
from measure.results import Machine

CARD = Accelerator("NVIDIA H200", 1, 150_000_000_000, 50 * 2**20, "570.1")


def write(folder, **files):
    for name, text in files.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.fixture
def no_card(monkeypatch):
    monkeypatch.setattr(machine, "cuda", lambda: None)


@pytest.fixture
def card(monkeypatch):
    monkeypatch.setattr(machine, "cuda", lambda: CARD)


# This very machine


def test_this_machine_is_described(no_card):
    found = describe("cpu")
    assert found.device == "cpu" and found.processor and found.name.startswith(found.processor)
    assert 1 <= found.cores <= (os.cpu_count() or 1) and found.memory_bytes > 2**28
    assert found.accelerators == 0 and found.system.split()[0] in ("Linux", "Darwin", "Windows")


def test_the_description_tells_nobody_whose_it_is(no_card):
    text = json.dumps(msgspec.to_builtins(describe("cpu")))
    own = {socket.gethostname(), getpass.getuser(), str(Path.home()), str(Path.cwd())}
    assert not [name for name in own if f'"{name}"' in text or f" {name} " in text] and "/" not in text


def test_it_is_the_same_machine_twice(no_card):
    assert describe("cpu") == describe("cpu")


def test_no_device_of_this_machine_needs_torch(no_card):
    code = "import sys; from measure import machine; machine.describe('cpu'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Cores and memory


def test_cores_are_those_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4, 5}, raising=False)
    monkeypatch.setattr(machine, "control_groups", lambda: [])
    assert machine.cores() == 6


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, math.inf),
        ({"cpu.max": "250000 100000\n"}, 2.5),
        ({"cpu.cfs_quota_us": "400000\n", "cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, math.inf),
        ({"cpu.max": "nonsense"}, math.inf),
        ({}, math.inf),
    ],
)
def test_a_control_group_limits_the_cores(tmp_path, files, cores):
    write(tmp_path, **files)
    assert machine._quota([tmp_path, tmp_path / "absent"]) == cores


@pytest.mark.parametrize(("quota", "cores"), [(2.5, 2), (0.5, 1), (64.0, 8)])
def test_cores_are_whole_and_at_least_one(monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(machine, "_quota", lambda _: quota)
    assert machine.cores() == cores


def test_control_groups_of_both_versions_and_all_levels_are_found(tmp_path):
    write(tmp_path, own="0::/user/app\n5:cpu,cpuacct:/box\n")
    folders = machine.control_groups(tmp_path, tmp_path / "own")
    expected = ["", "user", "user/app", "cpu", "cpu/box", "memory"]
    assert {tmp_path / place for place in expected} <= set(folders)
    assert all(folder.is_relative_to(tmp_path) for folder in folders)


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        ({"memory.max": "max\n"}, []),
        ({"memory.max": "8589934592\n"}, [8 * 2**30]),
        ({"memory.limit_in_bytes": "4294967296\n"}, [4 * 2**30]),
    ],
)
def test_a_control_group_limits_the_memory(tmp_path, monkeypatch, files, limits):
    write(tmp_path, **files)
    assert machine._memory_limits([tmp_path]) == limits
    monkeypatch.setattr(machine, "control_groups", lambda: [tmp_path])
    monkeypatch.setattr(machine, "_physical_bytes", lambda: 16 * 2**30 + 12345)
    assert machine.memory_bytes() == min([16 * 2**30, *limits])


# Cache


def cache(folder, cpu, index, level, kind, size, shared):
    told = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
    write(folder, **{f"cpu{cpu}__cache__index{index}__{name}": text for name, text in told.items()})


def test_the_last_level_is_summed_over_what_the_cores_share(tmp_path):
    for cpu in range(4):
        cache(tmp_path, cpu, 0, "1", "Data\n", "32K\n", str(cpu))
        cache(tmp_path, cpu, 1, "4", "Instruction\n", "32K\n", str(cpu))
        cache(tmp_path, cpu, 2, "3", "Unified\n", "32768K\n", "0-1" if cpu < 2 else "2-3")
    assert machine._cache_of(tmp_path, range(4)) == 64 * 2**20
    assert machine._cache_of(tmp_path, {0, 1}) == 32 * 2**20
    assert machine._cache_of(tmp_path / "absent", range(4)) == 0


@pytest.mark.parametrize(("text", "size"), [("512K\n", 2**19), ("96M", 96 * 2**20), ("100", 100), ("", 0), ("big", 0)])
def test_a_size_is_read(text, size):
    assert machine._size(text) == size


# Names


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8480C", "Intel Xeon Platinum 8480C"),
        ("AMD  EPYC\t7763 ", "AMD EPYC 7763"),
        ("\x1b[31mred\n", "[31mred"),
    ],
)
def test_a_name_is_cleaned(raw, name):
    assert machine._clean(raw) == name


def test_an_arm_processor_is_named_by_lscpu(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machine, "_read", lambda _: "processor : 0\nBogoMIPS : 50\n")
    monkeypatch.setattr(machine, "_output", lambda *_: "Architecture: aarch64\nModel name:  Neoverse-N1\n")
    assert machine.processor() == "Neoverse-N1"
    monkeypatch.setattr(machine, "_output", lambda *_: "Model name:  -\n")
    assert machine.processor() == machine.platform.machine()


def test_a_mac_is_described_by_sysctl(monkeypatch, no_card):
    told = {"machdep.cpu.brand_string": "Apple M3 Pro", "hw.memsize": str(36 * 2**30)}
    told["hw.perflevel0.l2cachesize"] = str(16 * 2**20)
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    monkeypatch.setattr(machine, "_sysctl", lambda name: told.get(name, ""))
    monkeypatch.setattr(machine, "torch_accelerator", lambda: "mps")
    monkeypatch.setattr(machine, "_available", lambda: set(range(12)))
    monkeypatch.setattr(machine, "control_groups", lambda: [])
    assert describe() == Machine(
        "Apple M3 Pro, 12 cores", "mps", "Apple M3 Pro", 12, 36 * 2**30, 16 * 2**20, 1, system="Darwin arm64"
    )


# Accelerators


def test_a_card_is_described_with_its_own_cache(card):
    found = describe("cuda")
    assert (found.name, found.device, found.accelerators) == ("NVIDIA H200", "cuda", 1)
    assert (found.accelerator_memory_bytes, found.cache_bytes, found.driver) == (150_000_000_000, 50 * 2**20, "570.1")
    assert found.processor == machine.processor()


def test_several_cards_are_counted(monkeypatch):
    monkeypatch.setattr(machine, "cuda", lambda: CARD._replace(cards=8))
    assert describe("cuda").name == "8 x NVIDIA H200" and describe("cuda").accelerators == 8


@pytest.mark.parametrize(("built", "device"), [(None, "cuda"), ("cuda", "cuda"), ("cpu", "cpu")])
def test_a_card_is_used_if_this_torch_can(monkeypatch, card, built, device):
    monkeypatch.setattr(machine, "torch_accelerator", lambda: built)
    assert machine.default_device() == device


@pytest.mark.parametrize(
    ("device", "told"), [("cuda", "NVIDIA card"), ("mps", "Apple processor"), ("tpu", "no such device")]
)
def test_a_device_that_is_not_there_is_refused(no_card, device, told, monkeypatch):
    monkeypatch.setattr(machine, "_has_mps", lambda: False)
    with pytest.raises(ValueError, match=told):
        describe(device)


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("cuda: Optional[str] = '12.8'\nhip = None\n", "cuda"),
        ("__version__ = '2.13.0'\ncuda = None\n", "cpu"),
        ("cuda: Optional[str] = None\n", "cpu"),
    ],
)
def test_what_torch_was_built_for_is_read_without_importing_it(tmp_path, monkeypatch, text, built):
    write(tmp_path, **{"torch__version.py": text, "torch__init.py": ""})
    spec = machine.importlib.machinery.ModuleSpec("torch", None, origin=str(tmp_path / "torch" / "init.py"))
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda _: spec)
    monkeypatch.setattr(machine, "_has_mps", lambda: False)
    assert machine.torch_accelerator() == built


class Driver:
    """A CUDA driver with two cards, answering through pointers as the real one does."""

    def __init__(self, failing=""):
        self.failing = failing

    def __getattr__(self, name):
        return lambda *arguments: 100 if name == self.failing else self.answer(name, *arguments)

    def answer(self, name, *arguments):
        if "do_" + name in vars(Driver):
            getattr(self, "do_" + name)(*arguments)
        return 0

    def do_cuDeviceGetCount(self, count):
        count._obj.value = 2

    def do_cuDeviceGetName(self, name, size, card):
        name.value = b"Some  Card"[: size - 1]

    def do_cuDeviceTotalMem_v2(self, memory, card):
        memory._obj.value = 80 * 10**9

    def do_cuDeviceGetAttribute(self, cache, attribute, card):
        cache._obj.value = 40 * 2**20 if attribute == 38 else 7

    def do_nvmlSystemGetDriverVersion(self, version, size):
        version.value = b"570.86.15"


def test_the_driver_is_asked(monkeypatch):
    monkeypatch.setattr(machine, "library", lambda *_: Driver())
    assert machine.cuda() == Accelerator("Some Card", 2, 80 * 10**9, 40 * 2**20, "570.86.15")


@pytest.mark.parametrize("failing", ["cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName"])
def test_a_driver_that_fails_is_no_card(monkeypatch, failing):
    monkeypatch.setattr(machine, "library", lambda *_: Driver(failing))
    assert machine.cuda() is None


def test_without_a_driver_there_is_no_card(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: (_ for _ in ()).throw(OSError()))
    assert machine.cuda() is None and machine._driver_version() == ""


# Versions


def test_versions_are_of_what_is_installed():
    import platform

    found = machine.versions(["msgspec", "no_such_package", "yaml"])
    assert found == {"python": platform.python_version(), "msgspec": msgspec.__version__, "yaml": found["yaml"]}


# Doctor


def findings(folder, found, names=("steady", "absent")):
    measurements = {name: one for name, one in registry.find("fakes").items() if name in names}
    return {finding.subject: finding for finding in doctor.examine(found, measurements, folder)}


def test_the_doctor_tells_what_is_lacking_and_the_cure(tmp_path, no_card):
    told = findings(tmp_path, Machine("m", "cpu", "p", 2, 2**34, 0, system="Linux x86_64"))
    assert told["steady"].good and not told["absent"].good
    assert told["absent"].text == f"lacks no_such_engine; {invocation.python()} -m pip install no-such-engine"
    assert told["memory"].good and told["memory"].text == "16.0 GiB"
    assert not told["last-level cache"].good and not told["accelerator"].good
    assert told["results"].good and list(tmp_path.iterdir()) == []
    assert not told["site"].good and "merge" in told["site"].text


def test_the_doctor_knows_what_no_installation_brings(tmp_path):
    """Of a machine without a card: also where the package is missing, which would be installed in vain."""
    found = doctor.examine(Machine("m", "cpu"), registry.find("measure"), tmp_path)
    told = {finding.subject: finding.text for finding in found if "on this machine: " in finding.text}
    assert {name for name, text in told.items() if text.endswith("vLLM's wheels need an NVIDIA card")} == {
        "decode_vllm",
        "graphs_vllm",
        "peer_vllm",
        "serve_vllm",
    }
    assert told.keys() - {name for name in told if name.endswith("_vllm")} == {
        "graphs_llama",
        "graphs_transformers",
        "link",
    }


def test_the_doctor_sees_a_torch_that_cannot_use_the_card(tmp_path, card, monkeypatch):
    monkeypatch.setattr(machine, "torch_accelerator", lambda: "cpu")
    told = findings(tmp_path, Machine("m", "cpu"))
    assert not told["torch"].good and "CUDA build" in told["torch"].text


def test_the_doctor_sees_a_place_that_cannot_be_written(tmp_path, no_card):
    told = findings(tmp_path / "nowhere", Machine("m", "cpu"))
    assert not told["results"].good and "No such file" in told["results"].text


def test_an_extra_of_this_project_is_the_cure(monkeypatch):
    extras = {"torch": "torch>=2.13", "llama": "llama-cpp-python>=0.3", "test": "llama-cpp-python>=0.3"}
    required = ["rich>=15", *(f'{package}; extra == "{extra}"' for extra, package in extras.items())]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: required)
    pip = f"{invocation.python()} -m pip install"
    assert doctor.install("torch") == f"{pip} -c constraints/default.txt -e '.[torch]'"
    own = "python3 -m venv .venv-llama && .venv-llama/bin/python -m pip install -c constraints/llama.txt -e '.[llama]'"
    assert doctor.install("llama_cpp") == doctor.install("llama") == own
    assert doctor.install("lla") == f"{pip} lla"
