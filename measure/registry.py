"""The measurements there are: the package's files that define SUMMARY, found by name and never listed by hand.

A helper module is only read, not executed; a measurement is imported, which by its protocol imports no engine.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from measure.keys import Key
from measure.results import Machine
from measure.session import Session

PACKAGE = "measure"
"""Where measurements are looked for."""

DEFAULT = ("bandwidth", "matmul", "decode_transformers")
"""What `here` measures first and in this order: the limits before what they judge."""


@dataclass(frozen=True)
class Measurement:
    """A measurement's module, seen through its protocol: SUMMARY, NEEDS, OPTIONS, plan, seconds, measure.

    One that not every machine can carry out has a `refusal` too.
    """

    name: str
    module: ModuleType

    @property
    def summary(self) -> str:
        return cast(str, self.module.SUMMARY)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.module.NEEDS)

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages it needs that this environment lacks."""
        return tuple(package for package in self.needs if importlib.util.find_spec(package) is None)

    @property
    def options(self) -> tuple[str, ...]:
        """Names that `--set` may give it."""
        return tuple(self.module.OPTIONS)

    def refusal(self, machine: Machine) -> str:
        """Why such a machine cannot be measured, whatever is installed; empty if it can."""
        refusal = getattr(self.module, "refusal", None)
        return cast(str, refusal(machine)) if refusal else ""

    def plan(self, session: Session) -> list[Key]:
        return list(self.module.plan(session))

    def seconds(self, session: Session) -> float:
        return float(self.module.seconds(session))

    def measure(self, session: Session) -> None:
        self.module.measure(session)


def find(package: str = "") -> Mapping[str, Measurement]:
    """All measurements of `package` by name, the default ones first, the others in alphabetical order."""
    package = package or PACKAGE
    names = sorted(_names(package), key=lambda name: (DEFAULT.index(name) if name in DEFAULT else len(DEFAULT), name))
    return {name: get(name, package) for name in names}


def get(name: str, package: str = "") -> Measurement:
    """One measurement. Raises ModuleNotFoundError if there is no such file."""
    return Measurement(name, importlib.import_module(f"{package or PACKAGE}.{name}"))


def _names(package: str) -> list[str]:
    folders = importlib.import_module(package).__path__
    files = [file for folder in folders for file in Path(folder).glob("*.py")]
    return [file.stem for file in files if _defines_summary(file)]


def _defines_summary(file: Path) -> bool:
    return any("SUMMARY" in _assigned(node) for node in ast.parse(file.read_bytes()).body)


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
