"""Formulas as data: the trees of the calculator's facts, for a page to evaluate and to show.

A node is an input, a number or an operation over nodes that stand before it. Numbers are in units without prefixes
(bytes, seconds, operations), so that evaluating needs no units; what is shown names its unit. A formula is a list of
text and numbers of nodes: the text that the receipts pages have, with a place for what each operand is called or worth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from templates import units
from templates.calculator.facts import INPUT, INPUTS, Shape, chosen, results
from templates.quantity import Constant, Kind, Operation, Quantity, Sampled
from templates.shared import Shared

SYMBOLS = ("+", "-", "*", "/", "max", "min")
"""Operations that docs/assets/javascripts/quantity.js knows."""

_PLACE = "\x00"
_PLACES = re.compile(f"{_PLACE}(\\d+){_PLACE}")

Node = dict[str, Any]


class Formulas(Shared):
    """Formulas in which each operand is a place with its node's number."""

    def __init__(self, number: dict[int, int]) -> None:
        super().__init__()
        self._number = number
        """Numbers of nodes by the identity of their quantities."""

    def _operand(self, quantity: Quantity, values: bool) -> str:
        if isinstance(quantity.origin, Operation) and not quantity.name:
            return super()._operand(quantity, values)
        return f"{_PLACE}{self._number[id(quantity)]}{_PLACE}"

    def pieces(self, quantity: Quantity) -> list[str | int]:
        """A formula as text and numbers of nodes, in turn."""
        split = _PLACES.split(self.formula(quantity, values=True))
        found = [int(piece) if position % 2 else piece for position, piece in enumerate(split)]
        return [piece for piece in found if piece != ""]


class Tree:
    """Nodes, each once, whatever quantity they were met in."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[str, int] = {}
        self._number: dict[int, int] = {}
        self._kept: list[Quantity] = []
        """Quantities whose identities are keys: while they are kept, no other takes one."""
        self._formulas = Formulas(self._number)

    def add(self, quantity: Quantity) -> int:
        """The number of a quantity's node. Raises ValueError for what no page could evaluate."""
        if id(quantity) not in self._number:
            node = self._node(quantity)
            key = json.dumps(node)
            if key not in self._known:
                self._known[key] = len(self.nodes)
                self.nodes.append(node)
            self._number[id(quantity)] = self._known[key]
            self._kept.append(quantity)
        return self._number[id(quantity)]

    def _node(self, quantity: Quantity) -> Node:
        node = self._made(quantity) | {"unit": quantity.shown_in}
        if quantity.name:
            node |= {"name": quantity.name, **_digits(quantity)}
            if isinstance(quantity.origin, Operation):
                node["formula"] = self._formulas.pieces(quantity)
        return node

    def _made(self, quantity: Quantity) -> Node:
        origin = quantity.origin
        if isinstance(origin, Operation):
            return self._operation(origin, quantity.kind)
        if isinstance(origin, Sampled):
            raise ValueError(f"{origin.key} of {origin.run} is measured: make it an input of the calculator")
        if origin.label.startswith(INPUT):
            estimated = {"estimated": True} if quantity.kind is Kind.ESTIMATED else {}
            return {"input": origin.label.removeprefix(INPUT), **estimated}
        return {"value": in_base(quantity.value or 0.0, quantity), "label": _constant_label(origin)}

    def _operation(self, origin: Operation, kind: Kind) -> Node:
        if origin.symbol not in SYMBOLS:
            raise ValueError(
                f"the calculator's page has no operation {origin.symbol!r}: add it to quantity.js, and here"
            )
        node: Node = {"op": origin.symbol, "of": [self.add(operand) for operand in origin.operands]}
        if origin.rule:
            node["rule"] = origin.rule
        if kind is Kind.ESTIMATED and not any(operand.kind is Kind.ESTIMATED for operand in origin.operands):
            node["estimated"] = True
        return node


def in_base(value: float, quantity: Quantity) -> float:
    """A value in the quantity's unit as one in the unit without prefix."""
    return value * units.base(quantity.unit)


def _digits(quantity: Quantity) -> Node:
    digits = quantity.digits
    return {"decimals": digits.decimals} if digits.decimals is not None else {"significant": digits.significant}


def _constant_label(origin: Constant) -> str:
    """Section and name of a constant in labels.toml."""
    section, _, name = origin.label.rpartition(".")
    return f"{section or 'constant'}.{name}"


@cache
def formulas() -> dict[str, Any]:
    """The calculator's formulas: nodes, and by shape of the model the numbers of those that it answers."""
    tree = Tree()
    # Any values do: the trees are made of names. A margin has to be above nothing for nothing to be missing.
    inputs = chosen(compute=1e-6, bandwidth=1e6)
    answers = {shape.value: _numbers(tree, results(inputs, shape)) for shape in Shape}
    return {"nodes": tree.nodes, "answers": answers, "inputs": dict(INPUTS)}


def _numbers(tree: Tree, quantities: Iterable[Quantity]) -> list[int]:
    return [tree.add(quantity) for quantity in quantities]
