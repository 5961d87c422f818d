"""A verdict is on the receipt in every language: how a sample was judged, against what limit, by what factor, and what
to do about it."""

from __future__ import annotations

import html
import re

import msgspec
import pytest
from paths import RESULTS
from verdicts import BANDWIDTH, MODEL, RATE, sample

from measure import limits, models
from measure.limits import RULES, Verdict
from measure.results import Machine, Results, Run
from measure.store import load
from templates import config, formats, render, verdicts
from templates.labels import LANGUAGES, Labels
from templates.shared import Shared
from templates.voice import Voice

NAMES = [rule.name for rule in RULES]
H200_RATE = "decode_transformers/qwen3-4b-bf16/rate?requests=1"


@pytest.mark.parametrize("section", ["rule", "advice"])
def test_every_rule_has_its_words_in_every_language_and_there_are_no_others(section):
    told = config.labels()[section]
    assert list(told) == NAMES
    for name in NAMES:
        assert set(told[name]) == set(LANGUAGES)
        assert all(text.strip() and not text.endswith((".", "。")) for text in told[name].values()), name


@pytest.mark.parametrize("name", NAMES)
def test_the_advice_is_the_programs_own(name):
    assert config.labels()["advice"][name]["en"] == limits.advice(name).removesuffix(".")


@pytest.fixture(scope="module")
def pages():
    return render.pages(load(RESULTS))


@pytest.fixture(scope="module")
def with_rejected():
    """The shipped results, but for one rate whose tokens were miscounted."""
    results = load(RESULTS)
    run = results.run("h200-engines")
    wrong = {**run.samples[H200_RATE].config, "output_tokens_long": 35, "produced_tokens": 34}
    run.samples[H200_RATE] = msgspec.structs.replace(run.samples[H200_RATE], config=wrong)
    return render.pages(results)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_method_page_lists_every_rule(pages, language):
    for name in NAMES:
        page = html.unescape(pages[f"{language}/method.md"])
        assert f"<code>{name}</code>" in page and Labels(language).get("rule", name) in page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("edition", ["source", "h200", "cpu"])
def test_every_faulty_sample_of_an_edition_stands_there_with_all_that_was_found(pages, language, edition):
    page, labels = pages[f"{language}/{edition}/receipts.md"], Labels(language)
    section = page.partition("{#faulty}")[2]
    faults = list(faults_of(edition))
    assert faults or edition not in ("h200", "cpu")
    for text, fault in faults:
        (told,) = re.findall(rf"<section[^>]*><h3><code>{re.escape(text)}</code>.*?</section>", plain(section))
        assert f"{labels.get('verdict', fault.status)}{Voice(language).colon}{labels.get('rule', fault.rule)}" in told
        assert f"<dd>{labels.get('advice', fault.rule)}</dd>" in told


def faults_of(edition):
    told = config.editions()[edition]
    names = {part.run if hasattr(part, "run") else part for part in msgspec.structs.astuple(told)}
    for run in load(RESULTS).runs:
        if run.id in names:
            for text, verdict in limits.verdicts(run, models).items():
                yield from ((text, fault) for fault in verdict.faults)


def plain(page):
    """The page without character references and no-break spaces."""
    return html.unescape(page).replace("\u00a0", " ")


LIMIT = {
    "ko": "비교</dt><dd>{limit} tok/s 대비 {value} tok/s, {factor}배 (<code>",
    "en": "Held against</dt><dd>{value} tok/s to {limit} tok/s: {factor} times (<code>",
    "zh": "对照</dt><dd>{value} tok/s，基准 {limit} tok/s：{factor} 倍（<code>",
}
HELD_UP = "decode_vllm/qwen3-0.6b-bf16/rate?requests=1"


@pytest.fixture(scope="module")
def held_up():
    """The shipped results, but for one rate of a request alone, below what each of many gets; and their pages."""
    results = load(RESULTS)
    samples = results.run("h200-engines").samples
    slow = [value / 2 for value in samples[HELD_UP].values]
    samples[HELD_UP] = msgspec.structs.replace(samples[HELD_UP], values=slow)
    return results, render.pages(results)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_suspect_sample_is_shown_with_limit_factor_and_the_samples_they_rest_on(held_up, language):
    results, pages = held_up
    page = plain(pages[f"{language}/h200/receipts.md"])
    (receipt,) = re.findall(
        r'<section class="receipt" id="h200-engines\.vllm\.qwen3-0\.6b-bf16\.rate">.*?</section>', page
    )
    verdict = limits.verdicts(results.run("h200-engines"), models)[HELD_UP]
    figures = {"limit": (verdict.limit, 4), "value": (verdict.value, 4), "factor": (verdict.factor, 3)}
    said = {name: formats.number(value, language, significant=n) for name, (value, n) in figures.items()}
    told = LIMIT[language].format(**said)
    assert verdict.rule == "held_up" and f"{told}{verdict.basis[0]}</code>" in receipt
    assert Labels(language).get("rule", "held_up") in receipt


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_from_a_suspect_sample_says_so_wherever_it_stands(pages, language):
    doubted = re.findall(r'<a class="fact \w+ doubted"[^>]*title="([^"]*)"', pages[f"{language}/h200/index.md"])
    word = Labels(language).get("verdict", "suspect")
    assert doubted and all(word in title for title in doubted)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_rejected_sample_leaves_unmeasured_says_why(with_rejected, language):
    page, labels = with_rejected[f"{language}/h200/receipts.md"].replace("\u00a0", " "), Labels(language)
    (item,) = re.findall(r'<li id="h200-engines\.transformers\.qwen3-4b-bf16\.rate">.*?</li>', page)
    for text in (
        labels.get("verdict", "rejected"),
        labels.get("rule", "token_count_differs"),
        labels.get("advice", "token_count_differs"),
    ):
        assert text in item
    assert re.search(r"\b34\b.*\b35\b.*0\.971|\b35\b.*\b34\b.*0\.971", item)


# Words alone


def told(verdict, language="en"):
    voice = Voice(language)
    return {name: voice.spoken(text) for name, text in verdicts.rows(verdict, voice.shared)}


def judged(others):
    samples = {text: sample(*given) for text, given in others.items()}
    run = Run("here", "executed", Machine("m", "cpu"), "2026-11-29", {**samples, RATE: sample(50.0, "tok/s")})
    return limits.verdicts(run)[RATE]


WEIGHTS = {f"{MODEL}/loaded_weights": (1.0, "GiB")}


def test_an_accepted_sample_tells_the_nearest_limit():
    rows = told(judged({**BANDWIDTH, **WEIGHTS}))
    assert rows["verdict"] == "accepted" and "advice" not in rows
    assert rows["limit"].replace("\u00a0", " ").startswith("53.69 GB/s to 100.0 GB/s: 0.537 times (<code>")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_datasheets_limit_is_called_one(language):
    words = Labels(language).get("receipt", "datasheet")
    assert words in str(told(judged({"datasheet/bandwidth": (100.0, "GB/s"), **WEIGHTS}), language))
    assert words not in str(told(judged({**BANDWIDTH, **WEIGHTS}), language))


def test_every_fault_has_its_rows():
    both = Verdict("rejected", "prompts_repeated", also=(Verdict("suspect", "throttled"),))
    rows = list(verdicts.rows(both, Shared()))
    assert [name for name, _ in rows] == ["verdict", "advice"] * 2


@pytest.mark.parametrize(
    "unit", ["", "B", "MiB", "GiB", "GB", "GB/s", "TFLOPS", "tok", "tok/s", "step/s", "s", "ms", "MHz"]
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_unit_of_a_verdict_can_be_said(unit, language):
    assert told(Verdict("suspect", "throttled", 1.0, 2.0, unit, 2.0), language)


def test_results_without_faults_have_no_section_of_them():
    assert not any("{#faulty}" in text for path, text in render.pages(Results([])).items() if "receipts" in path)
