"""Particles: decided by the reading of numbers, units and words, against a second, slower reading."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.particles import particle, reading

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
    assert (
        particle(text, "을/를")
        == particle(unicodedata.normalize("NFD", text), "을/를")
        == ("을" if has_final else "를")
    )
    assert particle(text, "으로/로") == ("으로" if has_final and jamo != "\u11af" else "로")


@given(
    st.sampled_from(["905 GB/s", "80토큰", "66%", "H200", "vLLM", "1,000", "7"]),
    st.sampled_from(["**{}**", "“{}”", "[{}](x.md#y)", "<b>{}</b>", "{} ", "{}(≈)", "({})", "`{}`", "「{}」", "{}."]),
    st.sampled_from(["은/는", "으로/로", "이라/라"]),
)
def test_dressing_changes_no_particle(text, dress, pair):
    assert particle(dress.format(text), pair) == particle(text, pair)
