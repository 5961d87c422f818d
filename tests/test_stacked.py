"""Tables of sentences on a phone: their rows stand one below the other, and each cell tells its column's head."""

from __future__ import annotations

import re

import pytest
from sites import DEFAULT, LANGUAGES, pages
from test_browser import opened

HOOK = "stacked"

LONG = "a sentence that is longer than what a column of a phone holds in a line or two of its own width"
ROW_WIDTH = 110
PHONE = {"width": 360, "height": 780}


def table(heads: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def stacked(hook, markup: str) -> str:
    return hook.on_page_content(markup, None, None, None)


def test_a_cell_of_a_sentence_tells_its_head_and_the_first_of_a_row_does_not(hook):
    made = stacked(hook, table(("Part", 'The "principle"', "What <b>follows</b>"), ("decoding", LONG, LONG)))
    assert "<table data-stacked>" in made
    assert f'<td>decoding</td><td data-head="The &quot;principle&quot;">{LONG}</td>' in made
    assert f'<td data-head="What follows">{LONG}</td></tr>' in made


def test_nothing_else_of_the_table_changes(hook):
    before = table(("Part", "Is", "Does"), ("a", LONG, LONG), ("b", LONG, ""))
    after = stacked(hook, before)
    assert re.sub(r' data-(head="[^"]*"|stacked)', "", after) == before
    assert after.count("data-head") == 4


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "1,234 tok/s", "12%")],
        [("a", *(["123 ms (45%)"] * 12))],  # wide, but of numbers
        [("a", "a phrase of some thirty letters")],  # narrow enough for a phone
        [],
    ],
)
def test_tables_of_numbers_and_narrow_ones_stay_as_they_are(hook, rows):
    before = table(("Part", *(["Value"] * (len(rows[0]) - 1 if rows else 1))), *rows)
    assert stacked(hook, before) == before


def test_a_wide_letter_takes_the_room_of_two(hook):
    narrow, wide = "a" * (ROW_WIDTH // 2), "字" * (ROW_WIDTH // 2)
    assert "data-stacked" not in stacked(hook, table(("A", "B"), ("a", narrow)))
    assert "data-stacked" in stacked(hook, table(("A", "B"), ("a", wide)))


VERDICT = '<a class="claim holds" href="#x">holds</a>'
CHANGED = "<code>decode/model/rate</code>"


@pytest.mark.parametrize("row", [("It is so", VERDICT, VERDICT), (CHANGED, "1 ms", "2 ms")])
def test_a_table_of_conclusions_or_of_samples_is_stacked(hook, row):
    heads = ("About", "Before", "Now")
    assert "<table data-stacked>" in stacked(hook, table(heads, row, row))
    other = ("<code>decode</code>", "1 ms", "2 ms")
    assert "data-stacked" not in stacked(hook, table(heads, row, other)), "what not each row tells of"


def test_tables_that_are_made_for_phones_already_stay_as_they_are(hook):
    made = table(("A", "B"), ("a", LONG * 2)).replace("<table>", '<table class="beside">')
    assert stacked(hook, made) == made


def test_the_same_tables_are_stacked_in_every_language(site):
    found: dict[str, dict[str, int]] = {language: {} for language in LANGUAGES}
    for page in pages(site):
        if count := page.html.count("<table data-stacked>"):
            found[page.language][page.name] = count
    first = found[LANGUAGES[0]]
    assert first["method/"] == 1 and first["source/"] >= 3, "the methods; overview, remedies and what others say"
    assert first["runs/h200-engines/"] >= 3, "what changed, what turned, conclusions"
    assert all(found[language] == first for language in LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["source/", "runs/h200-engines/"])
def test_on_a_phone_they_need_no_scrolling_and_every_head_is_seen(browser, address, name, language):
    path = name if language == DEFAULT else f"{language}/{name}"
    with opened(browser, address, path, viewport=PHONE) as watched:
        boxes = watched.page.eval_on_selector_all(
            "table[data-stacked]", "all => all.map(t => [t.scrollWidth, t.parentElement.parentElement.clientWidth])"
        )
        assert boxes and all(0 < width <= room for width, room in boxes)
        told = "cell => getComputedStyle(cell, '::before').content.slice(1, -1) === cell.dataset.head"
        assert watched.page.eval_on_selector_all("td[data-head]", f"all => all.length && all.every({told})")
