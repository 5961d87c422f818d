"""What the languages share is made once: marks are filled on every page, figures are alike, runs are judged once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from paths import RESULTS

from measure import limits
from measure.store import load
from templates import formats, render, units
from templates.changes import machine
from templates.html import plain
from templates.labels import LANGUAGES
from templates.quantity import Digits, constant
from templates.shared import MARK, Shared
from templates.voice import Voice

TYPED = {"Gparam", "bit/param"}
"""A reader of the calculator types numbers in these; none is printed."""
UNITS = [
    "",
    "1",
    *(unit for unit in units._SPELLED if unit not in TYPED),
    *formats.SYMBOLS,
    *formats.CLOSE,
    *formats.WORDS,
    *formats.ALIASES,
    formats.SCALED,
]


def test_no_page_has_a_mark_left():
    assert [path for path, text in render.pages(load(RESULTS)).items() if MARK in text] == []


@pytest.mark.parametrize("text", [MARK, f"{MARK}0{MARK}", f"a{MARK}b"])
def test_text_from_data_makes_no_mark(text):
    assert MARK not in plain(text)


@pytest.mark.parametrize("unit", sorted({unit for unit in UNITS if formats.alike(unit)}))
@given(value=st.floats(1e-9, 1e15), significant=st.none() | st.integers(1, 6))
def test_what_counts_as_alike_is_written_alike(unit, value, significant):
    assert len({formats.quantity(value, unit, language, significant=significant) for language in LANGUAGES}) == 1


def test_a_unit_with_a_word_does_not_count_as_alike():
    words = {unit for unit in UNITS if len({formats.quantity(2e9, unit, language) for language in LANGUAGES}) > 1}
    assert words == {unit for unit in UNITS if not formats.alike(unit)} >= {"tok", "times", "point", "param"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_voice_says_its_own_words_in_the_place_of_marks(language):
    shared = Shared()
    twice = shared.quantity(2, "times", significant=1)
    text = f"{shared.word('kind', 'measured')}{shared.colon}{twice}, {shared.number(1234.5)}"
    voice = Voice(language, shared=shared)
    said = f"{voice.labels.get('kind', 'measured')}{voice.colon}{formats.quantity(2, 'times', language)}, 1,234.5"
    assert voice.spoken(text) == said != text
    assert shared.quantity(2, "times", significant=1) == twice, "one key has one mark"


def test_each_run_is_judged_once(monkeypatch):
    judged = []
    judge = limits.verdicts
    monkeypatch.setattr(limits, "verdicts", lambda run, models: judged.append(run.id) or judge(run, models))
    results = load(RESULTS)
    told = render.tell(results)
    render.pages_of(told)
    runs = {run.id: run for each in told for run in each.edition.runs}
    before = [machine.earlier(run, results.runs) for run in runs.values() if run.kind == "executed"]
    assert sorted(judged) == sorted({*runs, *(run.id for run in before if run)})


def test_facts_that_nothing_needs_are_not_made():
    (told,) = [each for each in render.tell(load(RESULTS)) if each.edition.id == "h200"]
    text = Voice("en", shared=told.shared)
    render.article(told, text)
    needed = told.needed(text.said)
    made = [name for group in told.edition.all_groups() for name in group.fact_names if name in vars(group)]
    assert needed and len(made) < 1.2 * len(needed) < 0.7 * len(told.edition.facts)


def test_what_a_language_says_is_made_once_for_all_its_pages():
    """But links are each page's own."""
    asked = []
    shared = Shared()
    mark = shared.mark("a word", lambda voice: asked.append(voice.language) or "word")
    (told, *_) = render.tell(load(RESULTS))
    fact = told.edition.focus.rate
    for language in LANGUAGES:
        pages = [Voice(language, place, shared) for place in ("one/", "another/")]
        assert [voice.spoken(mark) for voice in pages] == ["word", "word"]
        assert pages[0].said == set()
        links = [voice.fact(fact) for voice in pages]
        assert links[0] == links[1].replace("another/", "one/") and 'href="another/#' in links[1]
        assert pages[0].said == pages[1].said == {fact.name}
    assert asked == list(LANGUAGES)


@pytest.mark.parametrize(("language", "expected"), [("ko", "0.5~40%"), ("en", "0.5–40%"), ("zh", "0.5%～40%")])
def test_a_range_of_what_is_no_fact_has_no_link_and_in_chinese_both_signs(language, expected):
    """Also where one end needs more digits than the other."""
    ends = (constant(0.5, "%", "share"), 1), (constant(40, "%", "share"), 0)
    low, high = (replace(end, shown_in="%", digits=Digits(decimals, None)) for end, decimals in ends)
    assert str(Voice(language).span(low, high)) == expected
    named = Voice(language).span(replace(low, name="a.low"), replace(high, name="a.high"))
    assert named.count("<a ") == 2 and named.striptags() == expected
