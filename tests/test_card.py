"""The card is watched through NVIDIA's management library: by a stand-in for it, since few machines have one."""

import ctypes
import subprocess
import sys

import pytest

from measure import card, machine
from measure.card import Card, Reading
from measure.limits import ENTRIES
from measure.limits.clocks import FAULTS


class Library:
    """NVML with some cards; a call that it does not have is an AttributeError, as in a real library."""

    def __init__(self, cards=1, lacks=()):
        self._cards, self._lacks = cards, lacks

    def __getattr__(self, name):
        if name in self._lacks or not hasattr(Library, f"do_{name}"):
            raise AttributeError(name)
        return lambda *arguments: getattr(self, f"do_{name}")(*arguments)

    def do_nvmlDeviceGetCount_v2(self, count):
        count._obj.value = self._cards
        return 0

    def do_nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        handle._obj.value = 100 + index.value
        return 0

    def do_nvmlDeviceGetName(self, handle, name, size):
        name.value = b"Some  Card"[: size - 1]
        return 0

    def do_nvmlShutdown(self):
        return 0

    def do_nvmlDeviceGetHandleByPciBusId_v2(self, address, handle):
        handle._obj.value = 200
        return 0 if address == b"0000:1b:00.0" else 6

    def do_nvmlDeviceGetClockInfo(self, handle, which, clock):
        clock._obj.value = 1980 if which.value == 1 else 3201
        return 0

    def do_nvmlDeviceGetMaxClockInfo(self, handle, which, clock):
        clock._obj.value = 2010 if which.value == 1 else 3201
        return 0

    def do_nvmlDeviceGetPowerUsage(self, handle, power):
        power._obj.value = 250_500
        return 0

    def do_nvmlDeviceGetTotalEnergyConsumption(self, handle, energy):
        energy._obj.value = 7_000
        return 0

    def do_nvmlDeviceGetCurrentClocksThrottleReasons(self, handle, reasons):
        reasons._obj.value = 0x1 | 0x4
        return 0

    def do_nvmlDeviceGetMemoryInfo(self, handle, memory):
        memory._obj.free = handle.value * 2**30
        return 0


@pytest.fixture
def use(monkeypatch):
    return lambda library: monkeypatch.setattr(machine, "management_library", lambda: library)


@pytest.mark.parametrize(
    ("library", "usable", "told"),
    [
        (Library(2), 0, ["cpu", "cuda:0, cuda:1 (Some Card)"]),
        (Library(0), 0, ["cpu"]),
        (None, 0, ["cpu"]),
        (None, 1, ["cpu", "cuda"]),
    ],
)
def test_the_devices_there_are_can_be_told(use, monkeypatch, library, usable, told):
    """Also the cards that this process hid from itself, and one whose driver has no management library."""
    use(library)
    monkeypatch.setattr(machine, "cuda", lambda: machine.Accelerator("Some Card", 1, 1, 1, "") if usable else None)
    monkeypatch.setattr(machine, "_has_mps", lambda: False)
    assert machine.present() == told


def test_a_reading_has_clock_power_energy_and_what_holds_it_back(use):
    use(Library())
    assert Card().read() == Reading(1980, 250.5, 7.0, ("sw_power_cap",), 2010)


def test_what_a_card_does_not_tell_is_left_out(use):
    use(Library(lacks=("nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo")))
    reading = Card().read()
    assert (reading.sm_clock_mhz, reading.energy_j, reading.power_w) == (None, None, 250.5)
    assert card.told(reading, reading) == {"power_w_before": 250.5, "power_w_after": 250.5}


def test_one_card_is_found_without_opening_it(use, monkeypatch):
    """A process that opened the card could not be forked into an engine that uses it."""
    use(Library())
    monkeypatch.setattr(machine, "card_address", lambda: pytest.fail("opened the card"))
    monkeypatch.setattr(card.subprocess, "run", lambda *_, **__: pytest.fail("asked another process"))
    assert Card().free_bytes() == 100 * 2**30


def test_of_several_cards_it_is_the_one_that_is_used(use, monkeypatch):
    use(Library(cards=4))
    monkeypatch.setattr(card, "_address", lambda number: b"0000:1b:00.0")
    assert Card().free_bytes() == 200 * 2**30


def test_without_a_card_nothing_is_told(use):
    use(None)
    found = Card()
    assert (found.read(), found.free_bytes()) == (Reading(), None)
    assert card.told(found.read(), found.read()) == {}


def test_the_address_is_asked_in_a_process_of_its_own():
    """Where there is no card the answer is empty, and no error."""
    assert isinstance(card._address(), bytes)


def test_what_holds_a_card_back_is_told_of_either_reading():
    first, last = Reading(1980, reasons=("sw_power_cap",)), Reading(1700, reasons=("hw_thermal_slowdown",))
    told = card.told(first, last)
    assert told == {
        "clock_mhz_start": 1980,
        "clock_mhz_end": 1700,
        "throttle_reasons": "sw_power_cap,hw_thermal_slowdown",
    }
    assert card.told(Reading(1980), Reading(1980))["throttle_reasons"] == "none"


def test_a_watch_tells_what_the_rules_read_of_the_card(use):
    use(Library())
    watch = card.Watch("cuda")
    watch.begin()
    assert watch.config == {}
    watch.end()
    assert watch.config == {
        "clock_mhz_start": 1980,
        "clock_mhz_end": 1980,
        "clock_mhz_max": 2010,
        "throttle_reasons": "sw_power_cap",
        "power_w_before": 250.5,
        "power_w_after": 250.5,
    }
    assert {name for name in watch.config if not name.startswith("power")} <= set(ENTRIES)
    assert set(FAULTS) <= set(card.REASONS.values())


@pytest.mark.parametrize("device", ["cpu", "mps", ""])
def test_a_watch_of_another_device_tells_nothing(use, device):
    use(Library())
    watch = card.Watch(device)
    watch.begin()
    watch.end()
    assert watch.config == {}


def test_importing_it_imports_no_engine():
    code = "import sys; from measure import card; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_memory_is_laid_out_as_the_library_fills_it():
    assert ctypes.sizeof(card._Memory) == 24
