"""A CSV file for each table: the facts' numbers with their units, nothing lost, and nothing that a spreadsheet runs."""

from __future__ import annotations

import csv
import io
import re

import pytest
from sites import DEFAULT, LANGUAGES, PROJECT, markup, pages

from measure.store import load
from templates import render

HOOK = "tables"

WORDS = {"csv": "CSV", "group": "group", "unit": "unit", "unmeasured": "unmeasured"}


def fact(name: str, text: str) -> str:
    return f'<a class="fact measured" href="receipts/#{name}" title="measured: 1 ÷ 2">{text}</a>'


def read(hook, markup: str) -> list[list[str]]:
    """The file of one table on the page of the edition e, whose facts are these."""
    values = {"a": (0.0012, "s"), "b": (1 / 3, "s"), "n": (5.0, "1"), "x": (None, "s"), "r": (1234.5, "GB/s")}
    numbers = {name: hook.Number(*value) for name, value in values.items()}
    table = hook.Table(markup, "/en/e/", {"e": numbers}, WORDS)
    return list(csv.reader(io.StringIO(table.csv().decode("utf-8-sig"))))


def rows(*cells: tuple[str, ...]) -> str:
    return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)


def table(heads: tuple[str, ...], *cells: tuple[str, ...]) -> str:
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows(*cells)}</table>"


def test_a_column_of_one_unit_has_it_in_its_head_and_all_digits(hook):
    made = table(("Model", "Time"), ("one &amp; two", fact("a", "1.2 ms")), ("three", fact("b", "0.33 s")))
    assert read(hook, made) == [["Model", "Time [s]"], ["one & two", "0.0012"], ["three", "0.333333333333"]]


def test_what_is_not_measured_is_an_empty_cell(hook):
    made = table(("Time",), (fact("a", "1.2 ms"),), (fact("x", "unmeasured"),))
    assert read(hook, made) == [["Time [s]"], ["0.0012"], [""]]


def test_a_number_that_is_no_more_is_an_empty_cell(hook):
    """A notebook may be older than the data, which rendering warns of."""
    made = table(("Time",), (fact("a", "1.2 ms"),), (fact("gone", "unmeasured"),))
    assert [row[0] for row in read(hook, made)[1:]] == ["0.0012", ""]


def test_what_stands_in_place_of_a_value_is_kept(hook):
    made = table(("Where", "Time"), ("a", fact("a", "1.2 ms")), ("x", fact("x", "never")))
    assert read(hook, made) == [["Where", "Time", "Time (1) [s]"], ["a", "1.2 ms", "0.0012"], ["x", "never", ""]]


def test_units_that_differ_have_a_column_of_their_own(hook):
    made = table(
        ("What", "Value"), ("time", fact("a", "1.2 ms")), ("rate", fact("r", "1,230 GB/s")), ("n", fact("n", "5"))
    )
    assert read(hook, made) == [
        ["What", "Value", "Value [unit]"],
        ["time", "0.0012", "s"],
        ["rate", "1234.5", "GB/s"],
        ["n", "5", ""],
    ]


def test_several_numbers_in_a_cell_are_columns_and_prose_stays(hook):
    made = table(("Speed (share)",), (f"{fact('r', '1,230 GB/s')} ({fact('n', '5')})",), ("–",))
    assert read(hook, made) == [["Speed (share) (1) [GB/s]", "Speed (share) (2)"], ["1234.5", "5"], ["", ""]]
    made = table(("Seen",), (f"at most {fact('r', '1,230 GB/s')}",))
    assert read(hook, made) == [["Seen", "Seen (1) [GB/s]"], ["at most 1,230 GB/s", "1234.5"]]
    verdict = f'<a class="claim holds" href="receipts/#claim.x">holds</a><p>time: {fact("a", "1.2 ms")}</p><p>b</p>'
    assert read(hook, table(("Verdict",), (verdict,))) == [["Verdict"], ["holds; time: 1.2 ms; b"]]


def test_a_title_across_the_table_is_a_column(hook):
    part = '<tr class="part"><th colspan="3" scope="rowgroup">All</th></tr>'
    head = '<thead><tr><th scope="col">Machine</th><th colspan="2">Share</th></tr></thead>'
    made = f"<table>{head}<tbody>{part}{rows(('m', '<svg></svg>', fact('a', '1.2 ms')))}</tbody></table>"
    assert read(hook, made) == [["group", "Machine", "Share [s]"], ["All", "m", "0.0012"]]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1,234.5", "1234.5"), ("−3", "-3"), ("-3", "-3"), ("12,34", "12,34"), ("=1+1", "'=1+1"), ("@a", "'@a"),
        ("+x", "'+x"), ("-x", "'-x"), ("a", "a"), ("29 November 2026", "29 November 2026"),
    ],
)  # fmt: skip
def test_text_is_text(hook, text, kept):
    assert hook.as_text(text) == kept


def test_a_table_is_named_after_the_figure_around_it_or_the_heading_before(hook):
    page = (
        f'<h2 class="x" id="one">One</h2>{table(("A",))}{table(("B",))}<figure class="chart" id="chart-c">'
        f'{table(("C",))}</figure>{table(("D",))}<h3 id="two">Two</h3>{table(("E",))}'
    )
    found = [
        (name, made.head, page[:end].endswith("</table>")) for name, made, end in hook.tables(page, "/", {}, WORDS)
    ]
    names = ["one", "one-2", "chart-c", "one-3", "two"]
    assert found == [(name, [head], True) for name, head in zip(names, "ABCDE", strict=True)]


# In the site


def files(site, page) -> list:
    """The files that a page links, in order."""
    return [
        page.file.parent / a["href"]
        for tag, a in markup(page.file).tags
        if tag == "a" and a.get("href", "").endswith(".csv")
    ]


def test_every_table_has_its_file(site):
    for page in pages(site):
        found = files(site, page)
        assert len(found) == page.html.count("<table") == len(set(found)), page.path
        for file in found:
            head, *cells = csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig")))
            assert cells and head and {len(row) for row in cells} == {len(head)}, file


def test_numbers_are_the_same_in_every_language(site):
    listed = {language: [p for p in pages(site) if p.language == language] for language in LANGUAGES}
    for page, *others in zip(*listed.values(), strict=True):
        for file, *translated in zip(*(files(site, each) for each in (page, *others)), strict=True):
            first, *rest = (figures(each) for each in (file, *translated))
            assert rest == [first, first], file


def figures(file) -> list[list[str]]:
    """The columns of a file that hold numbers of one unit."""
    head, *cells = csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig")))
    units = [re.search(r" \[([\w/%µ]+)\]$", name, re.ASCII) for name in head]
    return [[u[0], *(row[at] for row in cells)] for at, u in enumerate(units) if u and u[1] != "unit"]


def test_a_number_is_that_of_the_fact(site):
    """Those of a chart, against the facts themselves."""
    told = next(each for each in render.tell(load(PROJECT / "results.json")) if each.edition.id == "cpu")
    head, *cells = csv.reader(io.StringIO((site / "en/cpu/tables/chart-share.csv").read_text(encoding="utf-8-sig")))
    assert head == ["model", "weights [GB]", "share of the bandwidth [%]"]
    expected = [(weights.value, share.value) for _, weights, share in told.charts["share"].rows]
    assert [(float(w), float(s)) for _, w, s in cells] == [pytest.approx(pair, rel=1e-9) for pair in expected]


def test_the_measurements_are_at_the_root_and_every_language_leads_there(site):
    assert (site / "results.json").read_bytes() == (PROJECT / "results.json").read_bytes()
    for page in pages(site):
        if page.name == "data/":
            links = [a["href"] for tag, a in markup(page.file).tags if tag == "a" and "download" in a]
            up = "../" if page.language == DEFAULT else "../../"
            assert links == [f"{up}results.json", f"{up}voice-in-numbers.zip"]
