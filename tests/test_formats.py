"""Numbers, units, dates, lists and Korean particles, against tables written by hand and against a second reading."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import formats, units
from templates.formats import date, number, quantity, span
from templates.particles import particle

LANGUAGES = tuple(formats.LOCALES)
finite = st.floats(allow_nan=False, allow_infinity=False)
ordinary = st.decimals(min_value=-(10**9), max_value=10**9, allow_nan=False, places=4).map(float)


# Numbers


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("value", "precision", "expected"),
    [
        (2484, {}, "2,484"),
        (2484.0, {}, "2,484"),
        (85.6, {}, "85.6"),
        (7.0, {}, "7"),
        (0.1 + 0.2, {}, "0.3"),
        (1e-7, {}, "0.0000001"),
        (1e21, {}, "1,000,000,000,000,000,000,000"),
        (2**60, {}, "1,152,921,504,606,846,976"),
        (0.475 / 6.25 * 1000, {"decimals": 1}, "76.0"),
        (11.65, {"decimals": 1}, "11.7"),
        (2.675, {"decimals": 2}, "2.68"),
        (0.285 * 100, {"decimals": 0}, "29"),
        (0.5, {"decimals": 0}, "1"),
        (-2.5, {"decimals": 0}, "-3"),
        (-0.04, {"decimals": 1}, "0.0"),
        (-0.0, {}, "0"),
        (0, {"decimals": 2}, "0.00"),
        (1000 / 85.6, {"decimals": 1}, "11.7"),
        (24, {"significant": 3}, "24.0"),
        (129.2857, {"significant": 3}, "129"),
        (9.996, {"significant": 3}, "10.0"),
        (0.99951, {"significant": 3}, "1.00"),
        (91240, {"significant": 2}, "91,000"),
        (0.0020449, {"significant": 2}, "0.0020"),
        (0, {"significant": 3}, "0"),
        (-24.96, {"significant": 3}, "-25.0"),
    ],
)
def test_number(value, precision, expected, language):
    assert number(value, language, **precision) == expected


@given(ordinary, st.integers(0, 6), st.sampled_from(LANGUAGES))
def test_decimals_agree_with_rounding_by_hand(value, decimals, language):
    by_hand = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert number(value, language, decimals=decimals) == f"{by_hand + 0 if by_hand else abs(by_hand):,.{decimals}f}"


@given(finite.filter(bool), st.integers(1, 12), st.sampled_from(LANGUAGES))
def test_significant_keeps_as_many_figures_as_asked(value, significant, language):
    figures = number(value, language, significant=significant).lstrip("-").replace(",", "")
    shown = figures.replace(".", "").lstrip("0")
    assert len(shown) == significant or ("." not in figures and len(shown) > significant)
    assert set(shown[significant:]) <= {"0"}


@given(finite, st.sampled_from(LANGUAGES), st.integers(0, 8) | st.none())
def test_a_printed_number_is_printed_alike(value, language, decimals):
    printed = number(value, language, decimals=decimals)
    again = float(printed.replace(",", ""))
    assert number(again, language, decimals=decimals) == printed or abs(value) > 1e14


@given(finite, st.integers(0, 5))
def test_never_scientific_never_minus_zero(value, decimals):
    printed = number(value, "en", decimals=decimals)
    assert "e" not in printed.lower()
    assert not printed.startswith("-") or printed.strip("-0.,")


@given(ordinary, ordinary, st.integers(0, 4))
def test_a_larger_number_is_never_printed_smaller(one, other, decimals):
    low, high = (float(number(value, "ko", decimals=decimals).replace(",", "")) for value in sorted((one, other)))
    assert low <= high


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((math.nan, "en", {}), "nan"),
        ((math.inf, "en", {}), "inf"),
        ((1.0, "fr", {}), "unknown language 'fr'"),
        ((1.0, "en", {"decimals": 1, "significant": 2}), "choose one"),
        ((1.0, "en", {"decimals": -1}), "-1 decimals"),
        ((1.0, "en", {"significant": 0}), "0 significant"),
    ],
)
def test_number_refuses(arguments, complaint):
    value, language, precision = arguments
    with pytest.raises(ValueError, match=complaint):
        number(value, language, **precision)


# Quantities: an underscore stands for the no-break space


QUANTITIES = [
    (905, "GB/s", "905_GB/s", "905_GB/s", "905_GB/s"),
    (85.6, "tok/s", "85.6_tok/s", "85.6_tok/s", "85.6_tok/s"),
    (7, "GB/tok", "7_GB/tok", "7_GB/tok", "7_GB/tok"),
    (76, "ms", "76_ms", "76_ms", "76_ms"),
    (1.12, "GiB", "1.12_GiB", "1.12_GiB", "1.12_GiB"),
    (66, "%", "66%", "66%", "66%"),
    (61, "°C", "61°C", "61°C", "61°C"),
    (8.2, "×", "8.2×", "8.2×", "8.2×"),
    (8.2, "times", "8.2배", "8.2_times", "8.2_倍"),
    (1, "times", "1배", "1_times", "1_倍"),
    (80, "token", "80토큰", "80_tokens", "80_个 token"),
    (1, "token", "1토큰", "1_token", "1_个 token"),
    (80, "tok", "80토큰", "80_tokens", "80_个 token"),
    (16, "request", "16개", "16_requests", "16_个请求"),
    (1, "req", "1개", "1_request", "1_个请求"),
    (1.5, "second", "1.5초", "1.5_seconds", "1.5_秒"),
    (4, "model", "4개", "4_models", "4_个模型"),
    (10, "step", "10스텝", "10_steps", "10_步"),
    (3, "repeat", "3회", "3_repeats", "3_次"),
    (4.5, "bit", "4.5비트", "4.5_bits", "4.5_位"),
    (0.4, "point", "0.4%포인트", "0.4_percentage points", "0.4_个百分点"),
    (1.4e9, "param", "14억", "1.4_billion", "14_亿"),
    (13e9, "param", "130억", "13_billion", "130_亿"),
    (364e6, "param", "3.64억", "364_million", "3.64_亿"),
    (1_720_574_976, "param", "17.2억", "1.72_billion", "17.2_亿"),
    (999_900_000, "param", "10억", "1_billion", "10_亿"),
    (2e12, "param", "2조", "2_trillion", "2_万亿"),
    (120_000, "param", "12만", "120,000", "12_万"),
    (0, "param", "0", "0", "0"),
    (3, "1", "3", "3", "3"),
    (3, "", "3", "3", "3"),
]


@pytest.mark.parametrize(("value", "unit", "ko", "en", "zh"), QUANTITIES)
def test_quantity(value, unit, ko, en, zh):
    printed = [quantity(value, unit, language) for language in ("ko", "en", "zh")]
    assert printed == [text.replace("_", formats.NO_BREAK_SPACE) for text in (ko, en, zh)]


def test_the_plural_follows_the_printed_number():
    assert quantity(1.04, "token", "en", decimals=0) == "1\u00a0token"
    assert quantity(1, "token", "en", decimals=1) == "1.0\u00a0tokens"


def test_parameters_take_figures_of_their_own():
    assert quantity(1_720_574_976, "param", "ko", significant=2) == "17억"
    with pytest.raises(ValueError, match="significant"):
        quantity(1.4e9, "param", "ko", decimals=1)


@pytest.mark.parametrize("unit", ["furlong", "GB/furlong", "GB/", "gb/s", "%/s"])
def test_an_unknown_unit_is_refused_by_name(unit):
    with pytest.raises(ValueError, match=f"unknown unit {unit!r}"):
        quantity(1, unit, "en")


@pytest.mark.parametrize("unit", sorted(set(units._SPELLED) - {"Gparam", "bit/param"}))  # typed in, never printed
def test_every_unit_that_a_fact_can_have_is_printed_and_read(unit):
    for language in LANGUAGES:
        assert quantity(12.5, unit, language)
    assert particle(quantity(12.5, unit, "ko"), "은/는") in ("은", "는")


@pytest.mark.parametrize(
    ("low", "high", "unit", "decimals", "ko", "en", "zh"),
    [
        (86.4, 98.2, "%", 0, "86~98%", "86–98%", "86%～98%"),
        (0.4, 1.3, "ms", None, "0.4~1.3_ms", "0.4–1.3_ms", "0.4～1.3_ms"),
        (3, 4, "token", None, "3~4토큰", "3–4_tokens", "3～4_个 token"),
        (8.8, 9.2, "times", None, "8.8~9.2배", "8.8–9.2_times", "8.8～9.2_倍"),
        (1.4e9, 3.6e9, "param", None, "14~36억", "1.4–3.6_billion", "14～36_亿"),
        (364e6, 2e9, "param", None, "3.64~20억", "0.364–2_billion", "3.64～20_亿"),
        (-2, 5, "%", None, "-2~5%", "-2 to 5%", "-2%～5%"),
        (86.1, 86.4, "%", 0, "86%", "86%", "86%"),
        (0.96, 1.04, "token", 0, "1토큰", "1_token", "1_个 token"),
        (5, 5, "param", None, "5", "5", "5"),
    ],
)
def test_span(low, high, unit, decimals, ko, en, zh):
    printed = [span(low, high, unit, language, decimals=decimals) for language in ("ko", "en", "zh")]
    assert printed == [text.replace("_", formats.NO_BREAK_SPACE) for text in (ko, en, zh)]


def test_a_backward_span_is_refused():
    with pytest.raises(ValueError, match="backwards"):
        span(2, 1, "%", "en")


@given(ordinary, st.sampled_from(["%", "ms", "token", "times", "GB/s"]), st.sampled_from(LANGUAGES))
def test_a_span_of_one_point_is_a_quantity(value, unit, language):
    assert span(value, value, unit, language, decimals=1) == quantity(value, unit, language, decimals=1)


@pytest.mark.parametrize("iso", ["2026-10-06", "2026-10-06T23:30:00Z", "2026-10-06T00:10:00+09:00"])
def test_date(iso):
    assert date(iso, "ko") == "2026년 10월 6일"
    assert date(iso, "en") == "6 October 2026"
    assert date(iso, "zh") == "2026\u00a0年 10\u00a0月 6\u00a0日"


@pytest.mark.parametrize("iso", ["", "2026-13-01", "yesterday"])
def test_a_bad_date_is_refused_with_the_cure(iso):
    with pytest.raises(ValueError, match="write it as 2026-10-06"):
        date(iso, "ko")
