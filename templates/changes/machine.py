"""Whether two runs are of one machine: what it is made of has to agree, not what is installed on it."""

from __future__ import annotations

from measure.keys import parse_key
from measure.results import Machine, Run

MADE_OF = (
    "name",
    "device",
    "processor",
    "cores",
    "memory_bytes",
    "cache_bytes",
    "accelerators",
    "accelerator_memory_bytes",
)
"""Fields of a machine that make it another one if they differ."""

INSTALLED = ("driver", "system")
"""Fields that an update changes; told beside the versions of packages."""

ALIKE = 0.01
"""Two sizes of memory are of one machine if they differ by at most this share: drivers keep some of it back."""

CEILINGS = {"bandwidth", "matmul"}
"""Measurements that many runs begin with, whatever they are for."""

Differences = dict[str, tuple[str, str]]
"""What differs, by name: before and after, "" where one does not tell."""


def unlike(before: Run, after: Run) -> Differences:
    """How the machines of two runs differ in what they are made of; empty if it is one machine.

    A reported run only names its machine, so two of them are never known to be of one.
    """
    fields = {name: (getattr(before.machine, name), getattr(after.machine, name)) for name in MADE_OF}
    found = {name: (_said(a), _said(b)) for name, (a, b) in fields.items() if not _agree(name, a, b)}
    if not found and "reported" in (before.kind, after.kind) and before.id != after.id:
        return {"kind": (before.kind, after.kind)}
    return found


def installed(before: Run, after: Run) -> Differences:
    """Versions that differ: packages that the samples were made with, the driver, the system."""
    old, new = _versions(before), _versions(after)
    return {
        name: (old.get(name, ""), new.get(name, ""))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def earlier(run: Run, runs: list[Run]) -> Run | None:
    """The last executed run before `run` that measured something of the same on the same machine; no reader's own."""
    candidates = [
        other
        for other in runs
        if other.kind == "executed"
        and other.id not in (run.id, "here")
        and other.started < run.started
        and not unlike(other, run)
        and _purpose(run) & _measurements(other)
    ]
    return max(candidates, key=lambda other: (other.started, other.id), default=None)


def _purpose(run: Run) -> set[str]:
    """What a run measured beside the machine's ceilings; these, if there is nothing else."""
    return _measurements(run) - CEILINGS or _measurements(run)


def _measurements(run: Run) -> set[str]:
    return {parse_key(text).measurement for text in run.samples}


def _agree(name: str, one: str | int, other: str | int) -> bool:
    if name.endswith("memory_bytes") and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= ALIKE * max(one, other)
    return one == other


def _versions(run: Run) -> dict[str, str]:
    """Versions by name; several of one name joined, as a run may be measured in several environments."""
    found: dict[str, set[str]] = {}
    for sample in run.samples.values():
        for name, version in sample.versions.items():
            found.setdefault(name, set()).add(version)
    told = {name: ", ".join(sorted(versions)) for name, versions in found.items()}
    return told | {name: text for name in INSTALLED if (text := _told(run.machine, name))}


def _told(machine: Machine, name: str) -> str:
    return str(getattr(machine, name))


def _said(value: str | int) -> str:
    return str(value) if value else ""
