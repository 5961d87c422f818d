"""Kinds of machines, told apart by what they are, and the names of their runs, made of the same and of nothing else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from measure.fleet.cluster import Node
from measure.results import Machine, Results

NAME_LENGTH = 34
"""Of the 40 characters of a run's name, so many at most tell the machine; the others are for a number."""

_SAID_ANYWAY = r"\((r|tm)\)|\b(nvidia|amd|intel|cpu|gpu|processor)\b|@ ?[\d.]+ ?ghz"


class Found(NamedTuple):
    """A machine that has told what it is."""

    node: Node
    machine: Machine
    missing: frozenset[str]
    """Measurements that lack a package there."""
    unfit: frozenset[str]
    """Runs begun there that cannot be gone on with."""


def kinds(found: Iterable[Found], begun: Container[str] = ()) -> list[list[Found]]:
    """The machines of each kind; those on which a run was begun (by Ray's name) come first."""
    alike: dict[Machine, list[Found]] = {}
    for one in found:
        alike.setdefault(one.machine, []).append(one)
    return [sorted(group, key=lambda one: one.node.id not in begun) for _, group in sorted(alike.items(), key=_order)]


def _order(kind: tuple[Machine, list[Found]]) -> tuple[str, str]:
    return kind[0].name, repr(kind[0])


def name(machine: Machine) -> str:
    """What runs of such a machine are called: h200, epyc-2-cores."""
    told = re.sub(_SAID_ANYWAY, " ", machine.name.lower())
    words = re.sub(r"[^a-z0-9]+", "-", told).strip("-")
    return words[:NAME_LENGTH].strip("-") or "machine"


def run_id(one: Found, data: Results, taken: Container[str], here: Iterable[str]) -> str:
    """The run that a machine's samples go into: one that was begun on it, or the first name that is free.

    Args:
        data: the results that there are.
        taken: names given to other machines.
        here: runs that were begun on this machine.
    """
    ours = {text for text in here if text not in one.unfit}
    names = (text for text in _numbered(name(one.machine)) if text not in taken)
    return next(text for text in names if data.run(text) is None or text in ours)


def _numbered(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}-{number}" for number in itertools.count(2))
