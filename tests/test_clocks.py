"""The clock of a card as NVML tells it: a stand-in for the driver's two libraries, since few machines have them."""

import ctypes
import subprocess
import sys

import pytest

from measure import clocks
from measure.limits import ENTRIES
from measure.limits.clocks import FAULTS

SM = 1


class Driver:
    """libcuda and NVML in one: a card at 0000:1B:00.0 whose clock and reasons change with each reading."""

    def __init__(self, readings=((1980, 0x1), (1455, 0x4)), refuses=()):
        self.readings, self.refuses, self.made = readings, refuses, 0

    def __getattr__(self, name):
        return lambda *arguments: 1 if name in self.refuses else self.answer(name, *arguments)

    def answer(self, name, *arguments):
        if name == "cuDeviceGetPCIBusId":
            arguments[0].value = b"0000:1B:00.0"
        if name == "nvmlDeviceGetHandleByPciBusId_v2":
            if arguments[0].value != b"0000:1B:00.0":
                return 1
            arguments[1]._obj.value = 7
        if name in ("nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo"):
            assert arguments[1] == SM
            arguments[2]._obj.value = 1980 if "Max" in name else self.readings[self.made][0]
        if name == "nvmlDeviceGetCurrentClocksThrottleReasons":
            arguments[1]._obj.value = self.readings[self.made][1]
            self.made += 1
        return 0


@pytest.fixture(autouse=True)
def _forget():
    yield
    clocks.card.cache_clear()
    clocks._nvml.cache_clear()


def use(monkeypatch, driver):
    clocks.card.cache_clear()
    clocks._nvml.cache_clear()
    monkeypatch.setattr(clocks, "library", lambda *_: driver)


def watched(device="cuda"):
    watch = clocks.Watch(device)
    watch.begin()
    watch.end()
    return watch.config


def test_a_watch_tells_both_clocks_the_highest_and_every_reason(monkeypatch):
    use(monkeypatch, Driver(((1980, 0x1), (1455, 0x4 | 0x40))))
    assert watched() == {
        "clock_mhz_start": 1980,
        "clock_mhz_end": 1455,
        "clock_mhz_max": 1980,
        "throttle_reasons": "sw_power_cap,hw_thermal_slowdown",
    }


def test_an_idle_card_is_not_held_back(monkeypatch):
    use(monkeypatch, Driver(((345, 0x1), (1980, 0x0))))
    assert watched()["throttle_reasons"] == "none"


@pytest.mark.parametrize("refuses", ["cuInit", "cuDeviceGet", "nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2"])
def test_nothing_is_told_where_the_driver_refuses(monkeypatch, refuses):
    use(monkeypatch, Driver(refuses=(refuses,)))
    assert watched() == {}


def test_a_clock_that_is_not_told_is_left_out(monkeypatch):
    use(monkeypatch, Driver(refuses=("nvmlDeviceGetClockInfo",)))
    assert watched() == {}
    use(monkeypatch, Driver(refuses=("nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetCurrentClocksThrottleReasons")))
    assert watched() == {"clock_mhz_start": 1980, "clock_mhz_end": 1980, "throttle_reasons": "none"}


@pytest.mark.parametrize("device", ["cpu", "mps", ""])
def test_no_card_no_clock(monkeypatch, device):
    use(monkeypatch, Driver())
    assert watched(device) == {}
    use(monkeypatch, None)
    assert watched() == {}


def test_a_watch_that_did_not_end_tells_nothing(monkeypatch):
    use(monkeypatch, Driver())
    watch = clocks.Watch("cuda")
    watch.begin()
    assert watch.config == {}


def test_what_is_recorded_is_what_the_rules_read(monkeypatch):
    use(monkeypatch, Driver())
    assert set(watched()) <= set(ENTRIES) and set(FAULTS) <= set(clocks.REASONS.values())


def test_a_handle_is_a_pointer(monkeypatch):
    use(monkeypatch, Driver())
    assert isinstance(clocks.card(), ctypes.c_void_p)


def test_importing_it_imports_no_engine():
    code = "import sys; from measure import clocks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
