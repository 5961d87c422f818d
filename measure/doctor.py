"""What this machine and this environment have and lack, and what to install for each measurement."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from measure import invocation
from measure import machine as machines
from measure.registry import Measurement
from measure.results import Machine

PROJECT = "voice-in-numbers"


class Finding(NamedTuple):
    """One line of the diagnosis."""

    subject: str
    good: bool
    text: str


def examine(machine: Machine, measurements: Mapping[str, Measurement], folder: Path) -> list[Finding]:
    """Everything there is to say, what is lacking with its remedy. `folder` is where results would be saved."""
    found = [*_machine(machine), _torch(machine), _place(folder), _site(folder)]
    return [*found, *(_measurement(measurement, machine) for measurement in measurements.values())]


def _machine(machine: Machine) -> Iterable[Finding]:
    yield Finding("machine", True, f"{machine.name}; {machine.system}")
    yield Finding("processor", True, f"{machine.processor}, {machine.cores} usable")
    yield _size("memory", machine.memory_bytes, 2**30, "GiB")
    cure = "" if machine.cache_bytes else " (a bandwidth buffer cannot be checked against it)"
    yield _size("last-level cache", machine.cache_bytes, 2**20, f"MiB{cure}")
    if machine.accelerators and machine.device == "cuda":
        memory = machine.accelerator_memory_bytes / 2**30
        yield Finding("accelerator", True, f"{machine.accelerators}, {memory:.1f} GiB each, driver {machine.driver}")
    elif machine.device == "mps":
        yield Finding("accelerator", True, "Apple's, which shares the main memory")
    else:
        yield Finding("accelerator", False, "none that can be used: the processor is measured")


def _size(subject: str, size: int, unit: int, name: str) -> Finding:
    return Finding(subject, bool(size), f"{size / unit:.1f} {name}" if size else f"not told by the system, {name}")


def _torch(machine: Machine) -> Finding:
    built = machines.torch_accelerator()
    if built is None:
        return Finding("torch", False, f"not installed; {install('torch')}")
    version = machines.versions(["torch"]).get("torch", "")
    if machines.cuda() is not None and built != "cuda":
        cure = "install a CUDA build from https://pytorch.org/get-started"
        return Finding("torch", False, f"{version}, a build that cannot use the card there is; {cure}")
    return Finding("torch", True, f"{version}, built for {built}, measures on {machine.device}")


def _place(folder: Path) -> Finding:
    probe = folder / ".measure-probe"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        return Finding("results", False, f"cannot be saved here ({error.strerror}); name another place with --results")
    return Finding("results", True, "can be saved here")


def _site(folder: Path) -> Finding:
    if not has_site(folder):
        return Finding("site", False, "not here: measure with `run`, and bring the results to the site with `merge`")
    if importlib.util.find_spec("mkdocs") is None:
        return Finding("site", False, f"mkdocs is not installed; {install('mkdocs-material')}")
    return Finding("site", True, "can be rendered and served")


def has_site(folder: Path) -> bool:
    """Whether the site's sources are here to be rendered."""
    if not (folder / "mkdocs.yml").exists() or importlib.util.find_spec("templates") is None:
        return False
    return importlib.util.find_spec("templates.__main__") is not None


def _measurement(measurement: Measurement, machine: Machine) -> Finding:
    if why := measurement.refusal(machine):
        return Finding(measurement.name, False, f"cannot be measured on this machine: {why}")
    if not measurement.missing:
        return Finding(measurement.name, True, "can be measured")
    cures = "; ".join(dict.fromkeys(install(package) for package in measurement.missing))
    return Finding(measurement.name, False, f"lacks {', '.join(measurement.missing)}; {cures}")


def install(package: str) -> str:
    """The command that installs a package: the project's extra that holds it, else the package itself.

    Each extra but torch has an environment of its own, and constraints of that name.
    """
    extra = _extra(_normal(package))
    if not extra:
        return invocation.command("pip", "install", _normal(package))
    if extra == "torch":
        return invocation.install(extra)
    own = f".venv-{extra}"
    pins = f"-c constraints/{extra}.txt -e '.[{extra}]'"
    return f"python3 -m venv {own} && {own}/bin/python -m pip install {pins}"


def _extra(name: str) -> str:
    """The extra with the package that is imported as `name`; llama-cpp-python, say, is imported as llama_cpp."""
    held = _extras()
    longer = (extra for package, extra in held.items() if package.startswith(f"{name}-"))
    return held.get(name) or next(longer, "")


def _extras() -> dict[str, str]:
    """Extra of this project, the first of several, by normalised name of the package in it.

    Empty where the project is not installed.
    """
    try:
        required = importlib.metadata.requires(PROJECT) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    pairs = [re.match(r"([\w.-]+).*extra == ['\"]([\w.-]+)['\"]", line) for line in reversed(required)]
    return {_normal(pair[1]): pair[2] for pair in pairs if pair}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
