"""What this machine is: processor, memory, cache, accelerator, driver; so that a number can be judged by its machine.

Asks the operating system and the accelerator's driver, never an engine, so that every environment on a machine sees
the same machine. Holds nothing that tells whose it is: no host name, user, path or serial number.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.metadata
import importlib.util
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from measure.results import DEVICES, Machine

_MEMORY_GRAIN = 2**26
"""Memory is rounded to 64 MiB: a kernel's update moves the total by less, and it is the same machine still."""


class Accelerator(NamedTuple):
    """What the CUDA driver tells of the first card, and how many there are. Sizes in bytes."""

    name: str
    cards: int
    memory_bytes: int
    cache_bytes: int
    driver: str


def describe(device: str = "") -> Machine:
    """This machine as it measures with `device`, by default the best that this environment can use.

    Raises ValueError for a device that is not there.
    """
    device = device or default_device()
    if device not in DEVICES:
        raise ValueError("no such device")
    if device == "cuda":
        return _with_cuda()
    if device == "mps" and not _has_mps():
        raise ValueError("needs a Mac with an Apple processor")
    return _without_cuda(device)


def present() -> list[str]:
    """The devices of this machine, as they can be asked for; CUDA numbers its cards in an order of its own."""
    names = cards()
    numbered = [f"cuda:{number}" for number in range(len(names))]
    told = [f"{', '.join(numbered)} ({', '.join(dict.fromkeys(names))})"] if names else []
    unlisted = ["cuda"] if not names and cuda() is not None else []
    return ["cpu", *told, *unlisted, *(["mps"] if _has_mps() else [])]


def default_device() -> str:
    """The accelerator if there is one and the torch of this environment, if any, can use it; else the processor."""
    if cuda() is not None and torch_accelerator() in (None, "cuda"):
        return "cuda"
    return "mps" if _has_mps() and torch_accelerator() in (None, "mps") else "cpu"


def torch_accelerator() -> str | None:
    """What the installed torch was built for: "cuda", "mps" or "cpu"; None without torch. Does not import it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    if re.search(r"^cuda\b[^=\n]*=\s*['\"]", text, re.MULTILINE):
        return "cuda"
    return "mps" if _has_mps() else "cpu"


def _with_cuda() -> Machine:
    card = cuda()
    if card is None:
        raise ValueError("needs an NVIDIA card and its driver")
    return Machine(
        name=card.name if card.cards == 1 else f"{card.cards} x {card.name}",
        device="cuda",
        processor=processor(),
        cores=cores(),
        memory_bytes=memory_bytes(),
        cache_bytes=card.cache_bytes,
        accelerators=card.cards,
        accelerator_memory_bytes=card.memory_bytes,
        driver=card.driver,
        system=_system(),
    )


def _without_cuda(device: str) -> Machine:
    return Machine(
        name=f"{processor()}, {cores()} {'core' if cores() == 1 else 'cores'}",
        device=device,
        processor=processor(),
        cores=cores(),
        memory_bytes=memory_bytes(),
        cache_bytes=cache_bytes(),
        accelerators=1 if device == "mps" else 0,
        system=_system(),
    )


def _system() -> str:
    return f"{platform.system()} {platform.machine()}".strip()


def _has_mps() -> bool:
    return platform.system() == "Darwin" and platform.machine() == "arm64"


def processor() -> str:
    """The processor's marketing name, or its architecture where the system does not tell."""
    if platform.system() == "Darwin":
        name = _sysctl("machdep.cpu.brand_string")
    elif platform.system() == "Linux":
        name = _cpuinfo_name() or _lscpu_name()
    else:
        name = platform.processor()
    return _clean(name) or platform.machine() or "unknown processor"


def _cpuinfo_name() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1] if found else ""


def _lscpu_name() -> str:
    """ARM's /proc/cpuinfo names no model; lscpu knows the part numbers."""
    found = re.search(r"^Model name:\s*(.+)$", _output("lscpu"), re.MULTILINE)
    return "" if found is None or found[1].strip() == "-" else found[1]


def _clean(name: str) -> str:
    """Trade marks and runs of spaces tell nothing."""
    printable = "".join(char if char.isprintable() else " " for char in name)
    return " ".join(re.sub(r"\((R|TM|tm|r)\)", "", printable).split())


def cores() -> int:
    """Cores this process may use: its affinity, and no more than the control group's quota."""
    return max(1, int(min(len(_available()), _quota(control_groups()))))


def _quota(folders: Iterable[Path]) -> float:
    """Cores' worth of time the control groups grant; infinity without a limit."""
    return min((_quota_of(folder) for folder in folders), default=math.inf)


def _quota_of(folder: Path) -> float:
    words = _read(folder / "cpu.max").split()
    if len(words) != 2:
        words = [_read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()]
    quota, period = words
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else math.inf


def memory_bytes() -> int:
    """Main memory in bytes, rounded to 64 MiB, and no more than the control group's limit; 0 if the system hides it."""
    total = int(_sysctl("hw.memsize") or 0) if platform.system() == "Darwin" else _physical_bytes()
    limited = min([total, *_memory_limits(control_groups())])
    return round(limited / _MEMORY_GRAIN) * _MEMORY_GRAIN


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def _memory_limits(folders: Iterable[Path]) -> list[int]:
    texts = [_read(folder / name).strip() for folder in folders for name in ("memory.max", "memory.limit_in_bytes")]
    return [int(text) for text in texts if text.isdigit()]


def control_groups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[Path]:
    """Folders that may limit this process: its control group and every one above, of version 2 and of version 1."""
    folders = [root, root / "cpu", root / "memory"]
    for line in _read(own).splitlines():
        _, controllers, path = line.split(":", 2)
        base = root.joinpath(*controllers.split(",")[:1])
        place = base / path.lstrip("/")
        folders += [place, *(above for above in place.parents if above.is_relative_to(base))]
    return list(dict.fromkeys(folders))


def cache_bytes() -> int:
    """Last-level cache in bytes, summed over the caches that the available cores share; 0 if the system hides it.

    The sum, since a buffer split over all cores fits as soon as it fits all their caches together. Apple does not tell
    the size of its system-level cache: there it is the second level of the fast cores.
    """
    if platform.system() == "Darwin":
        return int(_sysctl("hw.perflevel0.l2cachesize") or _sysctl("hw.l3cachesize") or _sysctl("hw.l2cachesize") or 0)
    return _cache_of(Path("/sys/devices/system/cpu"), _available())


def _available() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _cache_of(root: Path, cpus: Iterable[int]) -> int:
    caches: dict[tuple[int, str], int] = {}
    for cpu in cpus:
        for index in (root / f"cpu{cpu}" / "cache").glob("index*"):
            if _read(index / "type").strip() != "Instruction":
                level = int(_read(index / "level") or 0)
                caches[level, _read(index / "shared_cpu_list").strip()] = _size(_read(index / "size"))
    last = max((level for level, _ in caches), default=0)
    return sum(size for (level, _), size in caches.items() if level == last)


def _size(text: str) -> int:
    """Bytes of a size as /sys writes it: 32768K."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(found[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[found[2]] if found else 0


def cuda() -> Accelerator | None:
    """The NVIDIA cards this process may use (CUDA_VISIBLE_DEVICES counts), or None. Needs no torch, only the driver."""
    driver = library("libcuda.so.1", "nvcuda.dll")
    count, card = ctypes.c_int(), ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    name, memory, cache = ctypes.create_string_buffer(128), ctypes.c_size_t(), ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(card), 0) or driver.cuDeviceGetName(name, 128, card):
        return None
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), card)
    driver.cuDeviceGetAttribute(ctypes.byref(cache), _L2_CACHE_SIZE, card)
    return Accelerator(_clean(_text(name)), count.value, memory.value, cache.value, _driver_version())


_L2_CACHE_SIZE = 38
"""CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE of cuda.h."""


def card_address(number: int = 0) -> bytes:
    """A usable card's place on the PCI bus, by which the management library knows it; empty if there is none.

    Opens the CUDA driver: a process that does so must not be forked into one that uses the card.
    """
    driver, card = library("libcuda.so.1", "nvcuda.dll"), ctypes.c_int()
    address = ctypes.create_string_buffer(32)
    if driver is None or driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(card), number):
        return b""
    return address.value if driver.cuDeviceGetPCIBusId(address, 32, card) == 0 else b""


def management_library() -> ctypes.CDLL | None:
    """NVIDIA's management library, initialised, or None. Does not open the card for computing."""
    nvml = library("libnvidia-ml.so.1", "nvml.dll")
    return None if nvml is None or nvml.nvmlInit_v2() else nvml


def cards() -> list[str]:
    """Names of all NVIDIA cards, also of those this process may not use; empty where the driver does not list them."""
    nvml, count = management_library(), ctypes.c_uint()
    if nvml is None:
        return []
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    names = [_card_name(nvml, number) for number in range(count.value)]
    nvml.nvmlShutdown()
    return names


def _card_name(nvml: ctypes.CDLL, number: int) -> str:
    handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number), ctypes.byref(handle)):
        return "unknown"
    nvml.nvmlDeviceGetName(handle, name, 96)
    return _clean(_text(name))


def _driver_version() -> str:
    nvml = management_library()
    version = ctypes.create_string_buffer(96)
    if nvml is None:
        return ""
    nvml.nvmlSystemGetDriverVersion(version, 96)
    nvml.nvmlShutdown()
    return _clean(_text(version))


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.value.decode("utf-8", "replace")


def library(linux: str, windows: str) -> ctypes.CDLL | None:
    """A library of the driver by its name on each system, or None where it is not installed."""
    try:
        return ctypes.CDLL(windows if platform.system() == "Windows" else linux)
    except OSError:
        return None


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of Python and of those of `packages` (by the name they are imported with) that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        version = _version(package)
        if version:
            found[package] = version
    return found


def _version(package: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    distributions = _distributions()
    return importlib.metadata.version(distributions[package][0]) if package in distributions else ""


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """The distributions of each importable package; to tell, all that are installed are read, which takes a while."""
    return importlib.metadata.packages_distributions()


def _sysctl(name: str) -> str:
    return _output("sysctl", "-n", name)


def _output(*command: str) -> str:
    """What a command of the system prints in English; nothing if it is not there or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
