"""Lines through facts: exact where points are, with intervals that hold the worst case, silent with too few points."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import line
from templates.line import Point
from templates.quantity import Absence, Constant, Kind, Quantity, constant, missing
from templates.units import unit
from templates.voice import Voice


def of(value, spelled="s", low=None, high=None, kind=Kind.MEASURED, doubts=()):
    ends = value if low is None else low, value if high is None else high
    return Quantity(value, unit(spelled), kind, Constant("memory"), *ends, doubts=doubts, shown_in=spelled)


def points(*pairs, **more):
    return [Point(constant(x, "s", "memory"), of(y, **more)) for x, y in pairs]


STRAIGHT = points((1, 0.7), (2, 1.2), (4, 2.2), (8, 4.2))
GONE = Point(constant(3, "s", "memory"), missing("s", Constant("memory"), "too_slow", "three"))


def test_a_straight_line_is_found():
    assert line.slope(STRAIGHT, "1", "a").value == pytest.approx(0.5)
    assert line.intercept(STRAIGHT, "s", "a").value == pytest.approx(0.2)
    assert line.determination(STRAIGHT, "a").value == pytest.approx(1)
    assert line.count(STRAIGHT, "a").value == 4


def test_a_crooked_one_is_explained_in_part():
    """Residuals of 1, -2, 1 around the line through (1, 2), (2, 4), (3, 6): what numpy.polyfit gives, too."""
    crooked = points((1, 3.0), (2, 2.0), (3, 7.0))
    assert line.slope(crooked, "1", "a").value == pytest.approx(2)
    assert line.intercept(crooked, "s", "a").value == pytest.approx(0)
    assert line.determination(crooked, "a").value == pytest.approx(1 - 6 / 14)


def test_a_level_line_explains_nothing():
    assert line.determination(points((1, 2.0), (2, 2.0), (3, 2.0)), "a").value == 0


def test_units_are_those_of_the_points():
    timed = [Point(constant(n, "step", "memory"), of(1e3 * (0.1 + n / 4), "ms")) for n in (1, 2, 3)]
    assert line.slope(timed, "ms/step", "a").value == pytest.approx(250)
    assert line.intercept(timed, "s", "a").value == pytest.approx(0.1)
    mixed = [*timed[:2], Point(timed[2].x, of(0.85, "s"))]
    assert line.slope(mixed, "ms/step", "a").value == pytest.approx(250)


def test_missing_points_are_left_out_and_stay_in_the_formula():
    slope = line.slope([*STRAIGHT, GONE], "1", "a")
    assert (slope.value, slope.kind) == (pytest.approx(0.5), Kind.CALCULATED)
    assert GONE.y in slope.origin.operands
    assert line.count([*STRAIGHT, GONE], "a").value == 4


@pytest.mark.parametrize("number", [0, 1, 2])
def test_two_points_are_no_line(number):
    for found in (
        line.slope(STRAIGHT[:number], "1", "a"),
        line.intercept(STRAIGHT[:number], "s", "a"),
        line.determination(STRAIGHT[:number], "a"),
        line.count(STRAIGHT[:number], "a"),
    ):
        assert (found.value, found.kind) == (None, Kind.UNMEASURED)
        assert found.absences == (Absence("too_few_points", "a"),)


def test_points_that_are_missing_tell_why():
    assert line.slope([STRAIGHT[0], GONE], "1", "a").absences == (Absence("too_slow", "three"),)


def test_points_of_one_length_are_no_line():
    assert line.slope(points((1, 2.0), (1, 3.0), (1, 4.0)), "1", "a").value is None


def test_estimates_and_doubts_are_passed_on():
    assert line.slope(points((1, 1.0), (2, 2.0), (3, 3.0), kind=Kind.ESTIMATED), "1", "a").kind is Kind.ESTIMATED
    assert line.slope(points((1, 1.0), (2, 2.0), (3, 3.0), doubts=("drifts",)), "1", "a").doubts == ("drifts",)


spread = st.tuples(*[st.floats(0.1, 100)] * 3).map(sorted)


@given(st.lists(spread, min_size=3, max_size=4))
def test_an_interval_holds_every_corner(told):
    made = [Point(constant(n, "s", "memory"), of(y, "s", low, high)) for n, (low, y, high) in enumerate(told)]
    for fit, unit_of in ((line.slope, "1"), (line.intercept, "s")):
        whole = fit(made, unit_of, "a")
        corners = itertools.product(*[(low, y, high) for low, y, high in told])
        for corner in corners:
            one = fit([Point(point.x, of(y)) for point, y in zip(made, corner, strict=True)], unit_of, "a")
            assert whole.low - 1e-9 <= one.value <= whole.high + 1e-9
    explained = line.determination(made, "a")
    assert explained.low <= explained.value <= explained.high <= 1


def test_a_formula_names_a_point_once_and_gives_all_values():
    named = [
        Point(p.x.named(f"a.u{n}.length", "s", p.x.digits), p.y.named(f"a.u{n}.time", "s", p.y.digits))
        for n, p in enumerate(STRAIGHT[:3])
    ]
    slope = line.slope(named, "1", "a")
    told = Voice("en").formula(slope, values=True).striptags()
    assert told == "slope(1.00 s → 0.700 s, 2.00 s → 1.20 s, 4.00 s → 2.20 s)"
    names = Voice("en").formula(slope, values=False).striptags()
    assert names == "slope(length → time (length over rate))"
