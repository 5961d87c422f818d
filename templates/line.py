"""A straight line through points of facts, by least squares: its slope, where it begins, and how much it explains.

Points whose figures are missing are left out, and stay in the formula. The x of a point is taken as exact; an interval
is that of the worst case, each y at that end of its own which moves the result the furthest, as in other formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from templates import units
from templates.quantity import LINES, Absence, Kind, Operation, Quantity
from templates.units import Unit

FEWEST = 3
"""Points of a line: through any two there is one that fits."""

SLOPE, INTERCEPT, DETERMINATION, POINTS = LINES
"""What a formula calls them."""


class Point(NamedTuple):
    """Two facts that belong together."""

    x: Quantity
    y: Quantity

    @property
    def measured(self) -> bool:
        return self.x.measured and self.y.measured


class _Data(NamedTuple):
    """Numbers of the points that count, in the units of the first point: x, y, and the ends of y."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]

    def ends(self, weights: Sequence[float]) -> tuple[float, float, float]:
        """Σ weight · y, and its least and largest value."""
        pairs = [(w, *told) for w, *told in zip(weights, self.y, self.low, self.high, strict=True)]
        value = sum(w * y for w, y, _, _ in pairs)
        low = sum(min(w * least, w * most) for w, _, least, most in pairs)
        return value, low, sum(max(w * least, w * most) for w, _, least, most in pairs)

    def slope_weights(self) -> list[float]:
        """What each y counts for in the slope."""
        mean = sum(self.x) / len(self.x)
        spread = sum((x - mean) ** 2 for x in self.x)
        return [(x - mean) / spread for x in self.x]

    def intercept_weights(self) -> list[float]:
        mean = sum(self.x) / len(self.x)
        return [1 / len(self.x) - mean * weight for weight in self.slope_weights()]

    def explained(self) -> tuple[float, float, float]:
        """1 - Σ residual² / Σ (y - mean)², and the same with each y where it is farthest from the line, and nearest."""
        slope, begin = self.ends(self.slope_weights())[0], self.ends(self.intercept_weights())[0]
        mean = sum(self.y) / len(self.y)
        total = sum((y - mean) ** 2 for y in self.y)
        if not total:
            return 0.0, 0.0, 0.0
        left, nearest, farthest = 0.0, 0.0, 0.0
        for x, y, low, high in zip(*self, strict=True):
            line = begin + slope * x
            left += (y - line) ** 2
            nearest += max(low - line, line - high, 0.0) ** 2
            farthest += max(abs(low - line), abs(high - line)) ** 2
        return 1 - left / total, 1 - farthest / total, 1 - nearest / total


def slope(points: Iterable[Point], spelled: str, what: str) -> Quantity:
    """By how much y grows for each x. `what` names the line where there are too few points for one."""
    return _fitted(SLOPE, list(points), spelled, what, units.ratio, lambda data: data.ends(data.slope_weights()))


def intercept(points: Iterable[Point], spelled: str, what: str) -> Quantity:
    """y where x is zero."""
    return _fitted(INTERCEPT, list(points), spelled, what, _of_y, lambda data: data.ends(data.intercept_weights()))


def determination(points: Iterable[Point], what: str) -> Quantity:
    """The share of the variance of y that the line explains (R²)."""
    return _fitted(DETERMINATION, list(points), "1", what, _plain, _Data.explained)


def count(points: Iterable[Point], what: str) -> Quantity:
    """How many points the line was fitted to."""

    def number(data: _Data) -> tuple[float, float, float]:
        return (float(len(data.x)),) * 3

    return _fitted(POINTS, list(points), "1", what, _plain, number)


def _fitted(
    symbol: str,
    points: list[Point],
    spelled: str,
    what: str,
    unit_of: Callable[[Unit, Unit], Unit],
    fit: Callable[[_Data], tuple[float, float, float]],
) -> Quantity:
    origin = Operation(symbol, tuple(quantity for point in points for quantity in point))
    told = [point for point in points if point.measured]
    if len(told) < FEWEST or len({point.x.value for point in told}) < FEWEST:
        missing = tuple(dict.fromkeys(a for point in points for quantity in point for a in quantity.absences))
        absences = missing or (Absence("too_few_points", what),)
        return Quantity(None, units.unit(spelled), Kind.UNMEASURED, origin, absences=absences, shown_in=spelled)
    value, low, high = fit(_data(told))
    unit = unit_of(told[0].y.unit, told[0].x.unit)
    estimated = any(quantity.kind is Kind.ESTIMATED for point in told for quantity in point)
    doubts = tuple(sorted({doubt for point in told for quantity in point for doubt in quantity.doubts}))
    kind = Kind.ESTIMATED if estimated else Kind.CALCULATED
    return Quantity(value, unit, kind, origin, low, high, doubts=doubts).to(spelled)


def _data(points: list[Point]) -> _Data:
    across, up = points[0].x.unit, points[0].y.unit
    data = _Data([], [], [], [])
    for x, y in points:
        scale = units.factor(y.unit, up)
        data.x.append((x.value or 0.0) * units.factor(x.unit, across))
        data.y.append((y.value or 0.0) * scale)
        data.low.append(y.low * scale)
        data.high.append(y.high * scale)
    return data


def _of_y(y: Unit, _: Unit) -> Unit:
    return y


def _plain(_: Unit, __: Unit) -> Unit:
    return units.unit("1")
