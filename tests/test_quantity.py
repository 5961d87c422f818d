"""Quantities: units that do not fit are refused, absence and spread propagate, the formula is the one that ran."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from templates import units
from templates.quantity import Constant, Kind, Quantity, best, bounded, constant, crossing, least, median, missing
from templates.voice import Voice


def of(value, spelled, low=None, high=None):
    low, high = (value if end is None else end for end in (low, high))
    origin = Constant("one")
    return Quantity(value, units.unit(spelled), Kind.MEASURED, origin, low, high, shown_in=spelled)


absent = missing("GB/s", Constant("one"), "not_run", "bandwidth/sum")

UNFIT = [
    ("GB", "GHz"),
    ("GB", "tok"),
    ("tok/s", "GHz"),
    ("tok/s", "GB/s"),
    ("req", "tok"),
    ("FLOP", "param"),
    ("s", "1"),
]


@pytest.mark.parametrize(("left", "right"), UNFIT)
@pytest.mark.parametrize("apply", [lambda a, b: a + b, lambda a, b: a - b])
def test_units_that_do_not_fit_are_refused(left, right, apply):
    with pytest.raises(units.DimensionalityError):
        apply(of(1, left), of(1, right))


@pytest.mark.parametrize(("spelled", "wrong"), UNFIT)
def test_conversion_to_another_dimension_is_refused(spelled, wrong):
    with pytest.raises(units.DimensionalityError):
        of(1, spelled).to(wrong)


def test_weights_enter_rates_as_bytes_per_token():
    ceiling = of(905, "GB/s") / (of(7, "GB") / of(1, "tok"))
    assert ceiling.to("tok/s").value == pytest.approx(905 / 7)
    with pytest.raises(units.DimensionalityError):
        (of(905, "GB/s") / of(7, "GB")).to("tok/s")


def test_prefixes_are_told_apart():
    assert of(1, "GiB").to("GB").value == pytest.approx(1.073741824)
    assert (of(1, "GB") + of(1, "GiB")).to("GB").value == pytest.approx(2.073741824)


@pytest.mark.parametrize(
    "apply", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: b / a]
)
def test_absence_propagates(apply):
    result = apply(absent, of(2, "GB/s"))
    assert result.value is None
    assert result.kind is Kind.UNMEASURED
    assert result.absences == absent.absences


def test_best_goes_on_without_a_missing_member():
    chosen = best([absent, of(2, "GB/s"), of(3, "GB/s")], "GB/s", "bandwidth")
    assert chosen.value == 3
    assert chosen.kind is Kind.MEASURED
    assert least([absent, of(2, "GB/s"), of(3, "GB/s")], "GB/s", "bandwidth").value == 2
    assert best([absent], "GB/s", "bandwidth").absences[0].reason == "no_member"


def test_the_middle_one_is_chosen_or_the_mean_of_two():
    three = [of(1, "ms", 0.5, 1), absent, of(9, "ms", 8, 11), of(4, "ms", 3, 5)]
    chosen = median(three, "ms", "factor")
    assert (chosen.low, chosen.value, chosen.high, chosen.kind) == (3, 4, 5, Kind.CALCULATED)
    assert median([*three, of(0.006, "s")], "ms", "factor").value == pytest.approx(5)
    assert median([absent], "ms", "factor").absences[0].reason == "no_member"
    doubted = replace(of(2, "ms"), doubts=("drifts",))
    assert median([doubted, of(3, "ms")], "ms", "factor").doubts == ("drifts",)
    assert median([replace(doubted, kind=Kind.ESTIMATED)], "ms", "factor").kind is Kind.ESTIMATED


def test_division_by_zero_is_unmeasured():
    assert (of(1, "s") / of(0, "s")).absences[0].reason == "divided_by_zero"


positive = st.floats(0.1, 1e6)
ends = st.tuples(positive, positive, positive).map(sorted)


@given(ends, ends, st.sampled_from("+-*/"))
def test_interval_holds_every_corner(left, right, symbol):
    apply = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}[symbol]
    a, b = of(left[1], "1", left[0], left[2]), of(right[1], "1", right[0], right[2])
    result = apply(a, b)
    assert result.low <= result.value <= result.high
    for x in left:
        for y in right:
            assert result.low <= apply(x, y) <= result.high or math.isclose(apply(x, y), result.low)


def test_the_formula_shown_is_the_one_that_ran():
    bandwidth = constant(905, "GB/s", "memory").named("a.bandwidth", "GB/s", of(1, "1").digits)
    weights = constant(7, "GB", "memory").named("a.weights", "GB", of(1, "1").digits)
    token = constant(1, "tok", "token")
    ceiling = bandwidth / (weights / token)
    voice = Voice("en")
    assert voice.formula(ceiling, values=False).striptags() == "memory bandwidth ÷ (weights ÷ one token)"
    assert voice.formula(ceiling, values=True).striptags() == "905 GB/s ÷ (7.00 GB ÷ 1 token)"
    sum_first = (weights + weights) / token
    assert voice.formula(sum_first, values=False).striptags() == "(weights + weights) ÷ one token"


@pytest.mark.parametrize(
    ("margin", "reason"),
    [((4, 3, 5), None), ((-1, -2, -0.5), "never_crosses"), ((0, 0, 0), "never_crosses"), ((1, -1, 2), "straddles")],
)
def test_what_comes_nearer_meets_and_nothing_else_does(margin, reason):
    value, low, high = margin
    met = crossing(of(12, "GB"), of(value, "GB", low, high), "them")
    if reason is None:
        assert (met.value, met.low, met.high) == (3, 2.4, 4)
    else:
        assert not met.measured and [absence.reason for absence in met.absences] == [reason]
    missed = crossing(of(12, "GB"), missing("GB", Constant("one"), "not_run", "x"), "them")
    assert [absence.reason for absence in missed.absences] == ["not_run"]


@pytest.mark.parametrize(
    ("first", "limit", "value"), [(3, 5, 3), (3, 2, 2), (3, None, 3), (None, 2, None), (None, None, None)]
)
def test_what_is_bounded_must_exist_and_its_limits_need_not(first, limit, value):
    absent = missing("GB/s", Constant("one"), "not_run", "x")
    one, other = (absent if number is None else of(number, "GB/s") for number in (first, limit))
    made = bounded(one, [other], "GB/s", "them")
    assert made.value == value
    assert [absence.reason for absence in made.absences] == ([] if first else ["not_run"])
