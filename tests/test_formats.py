"""Numbers, units, dates, lists and Korean particles, against tables written by hand and against a second reading."""

from __future__ import annotations

import math
import unicodedata
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import formats, units
from templates.formats import auto_unit, date, join, number, particle, quantity, reading, span

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


@pytest.mark.parametrize("unit", sorted(units._SPELLED))
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


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1.1, "s", (1.1, "s")),
        (0.5, "s", (500, "ms")),
        (1100, "ms", (1.1, "s")),
        (425, "ms", (425, "ms")),
        (0.9996, "s", (0.9996, "s")),
        (0.0, "s", (0.0, "ms")),
        (0.9, "GB/s", (0.9, "GB/s")),
        (9000, "GB/s", (9000, "GB/s")),
    ],
)
def test_auto_unit(value, unit, expected):
    assert auto_unit(value, unit) == (pytest.approx(expected[0]), expected[1])


@given(st.floats(0, 1e5), st.sampled_from(["s", "ms"]))
def test_auto_unit_settles_and_never_prints_a_thousand_milliseconds(value, unit):
    chosen, symbol = auto_unit(value, unit)
    assert auto_unit(chosen, symbol)[1] == symbol
    assert not (symbol == "ms" and number(chosen, "en", significant=3) == "1,000")


# Dates and lists


@pytest.mark.parametrize("iso", ["2026-10-06", "2026-10-06T23:30:00Z", "2026-10-06T00:10:00+09:00"])
def test_date(iso):
    assert date(iso, "ko") == "2026년 10월 6일"
    assert date(iso, "en") == "6 October 2026"
    assert date(iso, "zh") == "2026\u00a0年 10\u00a0月 6\u00a0日"


@pytest.mark.parametrize("iso", ["", "2026-13-01", "yesterday"])
def test_a_bad_date_is_refused_with_the_cure(iso):
    with pytest.raises(ValueError, match="write it as 2026-10-06"):
        date(iso, "ko")


@pytest.mark.parametrize(
    ("items", "ko", "en", "zh"),
    [
        (["vLLM"], "vLLM", "vLLM", "vLLM"),
        (["vLLM", "PyTorch"], "vLLM과 PyTorch", "vLLM and PyTorch", "vLLM 和 PyTorch"),
        (["a", "b", "c"], "a, b, c", "a, b and c", "a、b 和 c"),
        (["识别", "合成"], "识别 및 合成", "识别 and 合成", "识别和合成"),
        (["인식", "합성"], "인식과 합성", "인식 and 합성", "인식和합성"),
        (["<b>带宽</b>", "<b>KV</b>"], None, None, "<b>带宽</b>和 <b>KV</b>"),
        (["Acme Sock", "B"], "Acme Sock 및 B", "Acme Sock and B", "Acme Sock 和 B"),
    ],
)
def test_join(items, ko, en, zh):
    for language, expected in (("ko", ko), ("en", en), ("zh", zh)):
        assert expected is None or join(items, language) == expected


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="nothing to join"):
        join([], "en")


# Particles


WITHOUT, RIEUL, WITH = "는로", "은로", "은으로"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("864.2", WITHOUT),
        ("0", WITH), ("1", RIEUL), ("2", WITHOUT), ("3", WITH), ("4", WITHOUT),
        ("5", WITHOUT), ("6", WITH), ("7", RIEUL), ("8", RIEUL), ("9", WITHOUT),
        ("10", WITH), ("100", WITH), ("1,000", WITH), ("2,484", WITHOUT), ("1,000,000,000,000", WITHOUT),
        ("24.0", WITH), ("-3", WITH), ("0.31.0", WITH), ("2026-10-06", WITH), ("007", RIEUL),
        ("905\u00a0GB/s", WITHOUT), ("85.6 tok/s", WITHOUT), ("45 ms", WITHOUT), ("0.93 s", WITHOUT), ("66%", WITHOUT),
        ("86~98%", WITHOUT), ("8.2×", WITHOUT), ("61°C", WITHOUT), ("31.8 TFLOPS", WITHOUT), ("1.12 GiB", WITHOUT),
        ("6,900 MiB", WITHOUT), ("7.0 GB", WITHOUT), ("7 GB/tok", WITH), ("0.3 J/tok", WITH), ("5 J", RIEUL),
        ("63 FLOP/B", WITHOUT), ("8.4 ms/step", WITH), ("80 tok", WITH), ("300 W", WITHOUT), ("1.4 GHz", WITHOUT),
        ("8.2배", WITHOUT), ("16개", WITHOUT), ("80토큰", WITH), ("14억", WITH), ("3만", WITH), ("10초", WITHOUT),
        ("B", WITHOUT), ("M", WITH), ("L", RIEUL), ("R", RIEUL), ("J", WITHOUT), ("1.7B", WITHOUT), ("364M", WITH),
        ("GPU", WITHOUT), ("CPU", WITHOUT), ("LLM", WITH), ("vLLM", WITH), ("CER", RIEUL), ("KV", WITHOUT),
        ("HBM", WITH), ("NVIDIA", WITHOUT), ("CUDA", WITHOUT), ("H200", WITH), ("RTX 4090", WITH), ("A100", WITH),
        ("llama.cpp", WITHOUT), ("PyTorch", WITHOUT), ("transformers", WITHOUT), ("TensorRT", WITHOUT),
        ("NeMo", WITHOUT), ("Qwen3", WITH), ("Qwen3-0.6B", WITHOUT), ("Gemma 4", WITHOUT), ("Gemma 4 12B", WITHOUT),
        ("VoxCPM2", WITHOUT), ("Magpie", WITHOUT), ("Nemotron", WITH), ("Whisper", WITHOUT), ("Python", WITH),
        ("bf16", WITH), ("fp8", RIEUL), ("fp32", WITHOUT), ("q4_0", WITH), ("qwen3-1.7b-fp8", RIEUL),
        ("gemma4-12b-q4_0", WITH), ("file", RIEUL), ("kernel", RIEUL), ("machine", WITH), ("runtime", WITH),
        ("streaming", WITH), ("batch", WITHOUT), ("cache", WITHOUT), ("decode", WITHOUT), ("prefill", RIEUL),
        ("prompt", WITHOUT), ("triad", WITHOUT), ("copy", WITHOUT), ("sum", WITH), ("PCIe", WITHOUT),
        ("말", RIEUL), ("메모리", WITHOUT), ("대역폭", WITH),
    ],
)  # fmt: skip
def test_particle_follows_the_reading(text, expected):
    assert particle(text, "은/는") + particle(text, "으로/로") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("905 GB/s(측정)", "는"),
        ("대역폭(GB/s)", "은"),
        ("오류율 (CER)", "은"),
        ("H200(HBM3e(141 GB))", "은"),
        ("메모리[1]", "는"),
        ("메모리（DRAM）", "는"),
        ("(905 GB/s)", "는"),
        ("a)", "는"),
        ("“말”", "은"),
        ("「메모리」", "는"),
        ("**H200**", "은"),
        ("`sum`", "은"),
        ("[905](receipts.md#bandwidth)", "는"),
        ('<a href="x#3" title="a > b">905&nbsp;GB/s</a>', "는"),
        ('<span class="fact">80토큰</span> ', "은"),
        ("대역폭{ #bandwidth }", "은"),
        ("그렇다.", "는"),
    ],
)
def test_markup_quotes_and_brackets_are_passed_over(text, expected):
    assert particle(text, "은/는") == expected


@pytest.mark.parametrize(
    ("pair", "after_consonant", "after_vowel", "after_rieul"),
    [
        ("은/는", "은", "는", "은"),
        ("이/가", "이", "가", "이"),
        ("을/를", "을", "를", "을"),
        ("과/와", "과", "와", "과"),
        ("과의/와의", "과의", "와의", "과의"),
        ("으로/로", "으로", "로", "로"),
        ("으로는/로는", "으로는", "로는", "로는"),
        ("으로써/로써", "으로써", "로써", "로써"),
        ("이라/라", "이라", "라", "이라"),
        ("이라고/라고", "이라고", "라고", "이라고"),
        ("이다/다", "이다", "다", "이다"),
        ("이며/며", "이며", "며", "이며"),
        ("이나/나", "이나", "나", "이나"),
        ("이므로/므로", "이므로", "므로", "이므로"),
        ("이었습니다/였습니다", "이었습니다", "였습니다", "이었습니다"),
        ("이에요/예요", "이에요", "예요", "이에요"),
    ],
)
def test_pairs(pair, after_consonant, after_vowel, after_rieul):
    assert [particle(text, pair) for text in ("3", "2", "1")] == [after_consonant, after_vowel, after_rieul]


@pytest.mark.parametrize("pair", ["는/은", "은", "은/는/이", "은(는)", "이/은", "으로/으로", "이라/다", ""])
def test_a_pair_in_the_wrong_order_is_refused(pair):
    with pytest.raises(ValueError, match="pair of particles"):
        particle("3", pair)


@pytest.mark.parametrize("text", ["", "  ", "Intel Xeon Sock", "3/4", "10^12", "带宽", "≈", "n²", "<br>", "GB/sock"])
def test_an_unknown_ending_is_refused_by_name(text):
    with pytest.raises(ValueError) as caught:
        particle(text, "은/는")
    assert repr(text) in str(caught.value)
    assert "READINGS" in str(caught.value)


def sino_korean(value: int) -> str:
    """The number in Hangul, written out whole: a second way to its last syllable, by groups of four from the left."""
    digits = "영일이삼사오육칠팔구"
    if value == 0:
        return digits[0]
    written = ""
    for power in range(19, -1, -1):
        digit = value // 10**power % 10
        place = ("", "십", "백", "천")[power % 4]
        if digit:
            written += (digits[digit] if digit > 1 or not place else "") + place
        if power % 4 == 0 and value // 10**power % 10**4:
            written += ("", "만", "억", "조", "경")[power // 4]
    return written


def test_the_second_reading_is_right_itself():
    assert sino_korean(20_484) == "이만사백팔십사"
    assert sino_korean(10_010_000) == "천일만"
    assert sino_korean(1_000_000_000_000) == "일조"


def test_particles_agree_with_the_whole_reading_of_small_numbers():
    for value in range(3_000):
        assert reading(f"{value:,}") == sino_korean(value)[-1]


@given(st.integers(0, 10**6) | st.integers(0, 10**20 - 1) | st.integers(0, 9999).map(lambda n: n * 10**12))
def test_particles_agree_with_the_whole_reading(value):
    spoken = sino_korean(value)
    for text in (str(value), f"{value:,}", f"-{value}"):
        assert reading(text) == spoken[-1]
        assert particle(text, "으로/로") == particle(spoken, "으로/로")
        assert particle(text, "이/가") == particle(spoken, "이/가")


@given(st.integers(0, 10**6), st.integers(0, 9), st.integers(0, 3))
def test_decimals_are_read_digit_by_digit(whole, last, more):
    assert reading(f"{whole}.{'5' * more}{last}") == "영일이삼사오육칠팔구"[last]


@given(st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1))
def test_hangul_agrees_with_its_decomposition(text):
    jamo = unicodedata.normalize("NFD", text)[-1]
    has_final = 0x11A8 <= ord(jamo) <= 0x11C2
    assert particle(text, "을/를") == ("을" if has_final else "를")
    assert particle(text, "으로/로") == ("으로" if has_final and jamo != "\u11af" else "로")


@given(
    st.sampled_from(["905 GB/s", "80토큰", "66%", "H200", "vLLM", "1,000", "7"]),
    st.sampled_from(["**{}**", "“{}”", "[{}](x.md#y)", "<b>{}</b>", "{} ", "{}(≈)", "({})", "`{}`", "「{}」", "{}."]),
    st.sampled_from(["은/는", "으로/로", "이라/라"]),
)
def test_dressing_changes_no_particle(text, dress, pair):
    assert particle(dress.format(text), pair) == particle(text, pair)
