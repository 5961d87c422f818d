"""The typographic lint: each rule on what breaks it and on what must pass, and the skipping of what is no prose."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import formats, particles
from templates.typography import RULES, Finding, lint, visible

LANGUAGES = tuple(formats.LOCALES)
NBSP = formats.NO_BREAK_SPACE


def rules(text: str, language: str) -> list[str]:
    return [finding.rule for finding in lint(text.replace("_", NBSP), language)]


# An underscore stands for the no-break space


BROKEN = {
    "all": [
        ("unit-space", "905 GB/s"),
        ("unit-space", "905GB/s"),
        ("unit-space", "0.93 s,"),
        ("unit-space", "24 GB-class"),
        ("unit-space", "[7.0 GB](x.md)"),
        ("unit-space", '<a href="x">85.6 tok/s</a>'),
        ("unit-space", "| 2,484 tok/s |"),
        ("unit-space", "*45* ms"),
        ("close-space", "66 %"),
        ("close-space", "66_%"),
        ("double-space", "one  two"),
        ("double-space", "- one  two"),
    ],
    "zh": [
        ("zh-space", "带宽905_GB/s"),
        ("zh-space", "905_GB/s是带宽"),
        ("zh-space", "达到66%的带宽"),
        ("zh-space", "在**GPU**上"),
        ("zh-space", "约 8.2×快"),
        ("zh-space", '带宽为<a href="r#x">905_GB/s</a>。'),
        ("zh-sign-space", "带宽 ，"),
        ("zh-sign-space", "带宽是 905_GB/s 。"),
        ("zh-sign-space", "第一， 第二"),
        ("zh-sign-space", "带宽 （实测）"),
        ("zh-sign-space", "（ 实测）"),
        ("zh-sign-space", "说 “话”"),
        ("zh-sign-space", "“话” 说"),
        ("zh-half-width", "带宽,速度"),
        ("zh-half-width", "带宽."),
        ("zh-half-width", "带宽.速度"),
        ("zh-half-width", "为什么?"),
        ("zh-half-width", "结论: 带宽"),
        ("zh-half-width", "905_GB/s, 即带宽"),
        ("zh-half-width", "用 vLLM. 然后"),
        ("zh-half-width", "带宽(实测)"),
        ("zh-half-width", "带宽 (GB/s)"),
        ("zh-half-width", "(SXM)的"),
        ("zh-quotes", '"话"'),
        ("zh-quotes", "他说'话'"),
    ],
    "ko": [
        ("ko-both-particles", "값은(는) 큽니다."),
        ("ko-both-particles", "값이(가) 큽니다."),
        ("ko-both-particles", "값을(를) 잽니다."),
        ("ko-both-particles", "메모리와(과) 연산입니다."),
        ("ko-both-particles", "GPU(으)로 잽니다."),
        ("ko-both-particles", "905_GB/s은/는 큽니다."),
        ("ko-particle-space", "GPU 의 메모리입니다."),
        ("ko-particle-space", "905_GB/s 는 큽니다."),
        ("ko-particle-space", "<b>66%</b> 를 씁니다."),
        ("ko-particle-space", "(측정) 은 큽니다."),
        ("ko-particle-space", "vLLM 에서 쟀습니다."),
        ("ko-particle", "905_GB/s은 큽니다."),
        ("ko-particle", "<a href='x'>864.3</a>는 큽니다."),
        ("ko-particle", "H200로 쟀습니다."),
        ("ko-particle", "**GPU**을 씁니다."),
        ("ko-particle", "대역폭(GB/s)는 큽니다."),
        ("ko-particle", "66%이 됩니다."),
        ("ko-ending", "대역폭이 상한을 정한다."),
        ("ko-ending", "상한은 대역폭이다(추정)."),
        ("ko-ending", "원인이 아니다."),
        ("ko-ending", "왜 느린가?"),
        ("ko-ending", "느리니까."),
        ("ko-ending", "빨라요."),
        ("ko-ending", "대역폭 측정."),
        ("ko-ending", "- 대역폭이 상한을 정한다."),
        ("ko-ending", "| 대역폭이 상한이다. |"),
        ("ko-ending", "## 대역폭이 상한이다."),
        ("ko-ending", "잽니다. (자세한 값은 뒤에 있다.)"),
    ],
}


@pytest.mark.parametrize(
    ("language", "rule", "text"),
    [
        (one, rule, text)
        for language, cases in BROKEN.items()
        for rule, text in cases
        for one in (LANGUAGES if language == "all" else (language,))
    ],
)
def test_broken(language, rule, text):
    assert rule in rules(text, language)


def test_every_rule_is_broken_by_some_example():
    assert {rule for cases in BROKEN.values() for rule, _ in cases} == set(RULES)


CLEAN = {
    "en": [
        "Reading takes 905_GB/s, or 66% of it; the 4B model needs 3 passes.",
        'He said "yes", and the H200 took 0.93_s. A 24_GB-class card, 8-bit.',
        "| one  | two   |\n|------|-------|\n| 1    | 905_GB/s |",
        "1.  first\n2.  second\n\n-   third",
        "a [^1] b, 2 * 3 is 6",
        "Qwen3 s and fp8 ms are no units of a number.",
    ],
    "zh": [
        "带宽是 905_GB/s，达到 66%（实测）。",
        "在 **GPU** 上，“解码”读取全部权重；为什么？",
        "- （一）带宽\n- “解码”\n\n1. 首先\n2) 其次\n\n## （二）速度",
        "| 带宽 | （实测） |\n|---|---|\n| 905_GB/s | 速度， |",
        "H200 (SXM) 的带宽，见 [收据](receipts.md#a)。",
        "86%～98%，2026_年 10_月 6_日，16_个请求，14_亿",
        "用 `pip` 安装：`a,b`后再看。",
        "第一——第二……《论文》、「引文」",
        '!!! note "说明"\n    内容。\n\n=== "中文"\n    内容。',
        "<td>速度</td><td>905_GB/s</td><td> （实测） </td>",
        "上限 = 带宽 ÷ (权重 + (请求数 × KV))，即 max(读取, 复制) ÷ 权重",
        "Pope et al., arXiv 2211.05102, section 2",
        "比例 16:9，版本 0.31.0。",
        ":material-home: 首页 :material-clock:",
    ],
    "ko": [
        "대역폭은 905_GB/s이고 66%를 씁니다(측정).",
        "H200은 빠릅니다. H200으로 쟀습니까? 다시 재십시오.",
        "“오늘 날씨가 어때?”라고 물었습니다. 「느리다.」라는 말도 있습니다.",
        "- 대역폭 측정.\n  이어지는 줄.\n- 요청마다.\n\n| 대역폭 측정. |\n\n## 왜 느린가",
        "오류율(CER)은 낮고, 대역폭(GB/s)은 높습니다.",
        "`sum`는 코드이고 Sock는 읽는 법을 모릅니다.",
        "값은 85.6_tok/s이며 이는 905_GB/s 이 값과 다릅니다.",
        "vLLM과 PyTorch, fp8로 잰 8.2배가 큽니다. 7로 나눕니다.",
        "[^1]: 논문 2절.",
        "<figcaption>\n</figcaption>\n<td>대역폭 측정.</td>",
    ],
}


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in CLEAN.items() for text in texts])
def test_clean(language, text):
    assert rules(text, language) == []


SKIPPED = [
    "---\ntitle: 带宽,905 GB/s는  한다.\n---\n",
    "```python\n带宽,905 GB/s  한다.\n```",
    "    ~~~\n    905 GB/s\n    ~~~",
    "````\n```\n905 GB/s\n````",
    "```\n905 GB/s",
    "`905 GB/s`",
    "``905 ` GB/s``",
    "<code>905 GB/s</code>",
    "<pre>905 GB/s\n66 %</pre>",
    "<script>x = '905 GB/s';\ny = '66 %'</script>",
    "<!-- 905 GB/s\n66 % -->",
    '<span translate="no">Xeon @ 2.80GHz</span>',
    '<img alt="905 GB/s" src="a  b">',
    '<a title="905 GB/s > 66 %">x</a>',
    "[x](a%20905 GB/s)",
    "[x]: https://example.org/905 GB/s",
    "https://example.org/905GB/s?a=66",
    "<https://example.org/905GB>",
    "## x { #a-905 .b  c }",
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", SKIPPED)
def test_what_is_no_prose_is_skipped(text, language):
    assert lint(text, language) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", SKIPPED)
def test_what_follows_is_not_skipped_and_keeps_its_line(text, language):
    closed = text + ("\n```" if text == "```\n905 GB/s" else "") + "\n\n45 ms\n"
    assert lint(closed, language) == [Finding(closed.count("\n"), "unit-space", "45 ms")]


def test_escapes_and_entities_are_read():
    assert visible(r"2 \* 3 \[x\]&nbsp;&lt;b&gt;") == f"2 * 3 [x]{NBSP}<b>"
    assert lint("905&nbsp;GB/s, 45&#160;ms", "en") == []


def test_links_leave_their_text():
    text = "[a](x.md 'b') [c][ref] [d][] ![e](f.png) [g](h(i)) [^1] **j** _k_ q4_0 2 * 3"
    assert visible(text) == "a c d e g  j k q4_0 2 * 3"


def test_findings_come_by_line_with_the_place_and_the_cure():
    findings = lint("第一行。\n\n带宽905_GB/s,速度66 %\n".replace("_", NBSP), "zh")
    assert [(finding.line, finding.rule) for finding in findings] == [
        (3, "close-space"),
        (3, "zh-half-width"),
        (3, "zh-space"),
        (3, "zh-space"),
    ]
    assert str(findings[0]).startswith("line 3: close-space: …")
    assert RULES["close-space"] in str(findings[0])
    assert "GB/s" in findings[0].excerpt


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="unknown language 'fr'"):
        lint("x", "fr")


markdown = st.text(st.sampled_from("a9 \n`*_[](){}<>/\"'|#-.,:!&;\\~$가은다带，（” GBs%^="), max_size=80)


@given(markdown)
def test_prose_keeps_the_lines_of_its_page(text):
    assert visible(text).count("\n") == text.count("\n")


@given(markdown, st.sampled_from(LANGUAGES))
def test_any_text_is_linted_the_same_twice(text, language):
    findings = lint(text, language)
    assert findings == lint(text, language)
    assert all(1 <= finding.line <= text.count("\n") + 1 for finding in findings)


UNIT = st.sampled_from([*formats.SYMBOLS, *formats.WORDS, *formats.CLOSE, "GB/s", "tok/s", "1"])
FIGURE = st.integers(0, 10**7).map(lambda value: value / 100)


@given(FIGURE, FIGURE, UNIT, st.sampled_from(LANGUAGES))
def test_what_formats_prints_passes(one, other, unit, language):
    single = formats.quantity(one, unit, language, significant=3)
    between = formats.span(*sorted((one, other)), unit, language, significant=3)
    frame = {"en": "It is {}.", "ko": "값은 {}입니다.", "zh": "约为 {}，而{}不是。"}[language].replace("而{}", "而 {} ")
    assert lint(frame.format(single, single), language) == []
    assert lint(frame.format(between, between), language) == []


@given(FIGURE, UNIT, st.sampled_from(["은/는", "이/가", "을/를", "과/와", "으로/로"]))
def test_the_lint_and_the_filter_agree_on_particles(value, unit, pair):
    text = formats.quantity(value, unit, "ko")
    right = particles.particle(text, pair)
    wrong = next(form for form in pair.split("/") if form != right)
    assert rules(f"{text}{right} 씁니다.", "ko") == []
    if re.search(r"[A-Za-z0-9%°×]$", text):
        assert rules(f"{text}{wrong} 씁니다.", "ko") == ["ko-particle"]


def test_thirty_pages_take_less_than_a_second():
    page = "\n\n".join(text for texts in CLEAN.values() for text in texts).replace("_", NBSP) * 15
    assert len(page) > 15_000
    started = time.process_time()
    for language in LANGUAGES:
        for _ in range(10):
            lint(page, language)
    assert time.process_time() - started < 1
