"""Choosing among all runs that decoded, in a real browser: rows, points and columns, the address, without a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from sites import DEFAULT, LANGUAGES
from test_browser import OVERFLOWING, PHONE, opened, rest

from templates.labels import Labels

SAID = {
    "ko": ("표의 {all}행 가운데 {shown}행이 보입니다.", "고른 조건에 맞는 행이 없습니다."),
    "en": ("{shown} of the table's {all} rows are shown.", "No row fits this choice."),
    "zh": ("表中共 {all} 行，显示 {shown} 行。", "没有符合条件的行。"),
}
LABELS = {
    "ko": ("기기 종류", "모델", "엔진", "모두 보기"),
    "en": ("Kind of machine", "Model", "Engine", "Show all"),
    "zh": ("机器类型", "模型", "引擎", "显示全部"),
}
ROWS = """() => [...document.querySelectorAll("table.decoded tbody tr")]
  .filter(row => row.getBoundingClientRect().height)
  .map(({ dataset: { kind, model, engine } }) => [kind, model, engine])"""
"""What the rows that are seen are of."""

POINTS = """() => document.querySelector("#chart-machines .chart-canvas").data
  .filter(trace => trace.customdata).flatMap(trace => trace.customdata)"""
COLUMNS = """() => [...document.querySelectorAll("table.numbers thead th")]
  .filter(head => head.getBoundingClientRect().width).length"""


def path(language: str) -> str:
    return ("" if language == DEFAULT else f"{language}/") + "compare/"


def ready(page) -> None:
    """Waits until the form is there and the chart is drawn."""
    page.locator("form.choose").wait_for()
    page.locator("#chart-machines").scroll_into_view_if_needed()
    page.locator("#chart-machines[data-state=drawn]").wait_for()


def until(page, holds: Callable[[], bool]) -> None:
    """Waits for what a script does a moment later; the pages' policy lets no text be run as one."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("it did not come about")


def said(language: str, page) -> str:
    return SAID[language][0].format(all=page.locator("table.decoded").get_attribute("data-all"), shown=len(rows(page)))


def rows(page) -> list[list[str]]:
    return page.evaluate(ROWS)


def status(page) -> str:
    return page.locator("form.choose .chosen").inner_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_chosen_is_shown_and_said(browser, address, language):
    kind, model, engine, every = LABELS[language]
    form = "form.choose"
    with opened(browser, address, path(language)) as watched:
        page = watched.page
        ready(page)
        whole = rows(page)
        assert (
            len(whole) > 20 and status(page) == said(language, page) and sorted(page.evaluate(POINTS)) == sorted(whole)
        )
        chosen = {kind: "cuda", model: "qwen3-1.7b", engine: "vllm"}
        for number, (label, value) in enumerate(chosen.items(), 1):
            page.locator(form).get_by_label(label, exact=True).select_option(value)
            wanted = [row for row in whole if row[:number] == [*chosen.values()][:number]]
            assert rows(page) == wanted != [] and status(page) == said(language, page)
            until(page, lambda wanted=wanted: sorted(page.evaluate(POINTS)) == sorted(wanted))
        page.locator(form).get_by_label(kind, exact=True).select_option("cpu")
        assert rows(page) == [] and status(page).startswith(SAID[language][1])
        page.get_by_role("button", name=every).click()
        until(page, lambda: rows(page) == whole)
        assert status(page) == said(language, page) and not urlsplit(page.url).query
        assert watched.faults == []


def test_the_numbers_side_by_side_follow(browser, address):
    """Its rows of one model on one engine, and the columns of editions that have such a machine."""
    model_rows = "table.numbers tr[data-model]"
    with opened(browser, address, path("en")) as watched:
        page = watched.page
        ready(page)
        before = page.locator(f"{model_rows}:visible").count()
        others = page.locator("table.numbers tr:not([data-model]):visible").count()
        assert page.evaluate(COLUMNS) == 4
        page.locator("form.choose").get_by_label("Engine", exact=True).select_option("vllm")
        shown = page.locator(f"{model_rows}:visible")
        assert 0 < shown.count() < before
        assert {row.get_attribute("data-engine") for row in shown.all()} == {"vllm"}
        assert page.locator("table.numbers tr:not([data-model]):visible").count() == others
        page.locator("form.choose").get_by_label("Kind of machine").select_option("cpu")
        assert page.evaluate(COLUMNS) == 2
        assert page.locator("table.numbers thead th:visible").last.inner_text() == "Measured on a CPU"
        page.set_viewport_size(PHONE)
        rest(page)
        labels = page.locator("table.numbers tbody tr:visible").nth(1).locator("td:visible")
        assert [cell.get_attribute("data-edition") for cell in labels.all()] == ["Measured on a CPU"]


def test_what_is_chosen_is_kept_in_the_address_and_in_other_languages(browser, address):
    with opened(browser, address, path("en") + "#machines") as watched:
        page = watched.page
        ready(page)
        assert page.url == address + path("en") + "#machines"
        page.locator("form.choose").get_by_label("Model", exact=True).select_option("qwen3-0.6b")
        page.wait_for_url("**/compare/?model=qwen3-0.6b#machines")
        chosen = rows(page)
        page.reload()
        ready(page)
        assert rows(page) == chosen and {model for _, model, _ in chosen} == {"qwen3-0.6b"}
        until(page, lambda: sorted(page.evaluate(POINTS)) == sorted(chosen))
        page.evaluate("scrollTo(0, 0)")
        page.locator("header .md-select").hover()
        page.locator("header .md-select a[hreflang=zh]").click()
        page.wait_for_url("**/zh/compare/?model=qwen3-0.6b*")
        page.locator("form.choose").wait_for()
        assert rows(page) == chosen and watched.faults == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_address_that_asks_for_what_nobody_offers_shows_everything_and_says_so(browser, address, language):
    labels, every = Labels(language), Labels(language).get("choose", "every")
    kind, model, _, reset = LABELS[language]
    asked = {model: "<b>" + "x" * 99, kind: "nope"}
    query = f"?model={asked[model]}&engine=&kind={asked[kind]}"
    with opened(browser, address, path(language) + query) as watched:
        page = watched.page
        page.locator("form.choose").wait_for()
        assert len(rows(page)) > 20
        told = page.locator("form.choose .calculator-unknown p")
        said = {
            field: labels.filled("calculator", "unknown", field=field, asked=text, shown=every)
            for field, text in {kind: "nope", model: f"{asked[model][:60]}…"}.items()
        }
        assert told.all_inner_texts() == [*said.values()]
        page.locator("form.choose").get_by_label(kind, exact=True).select_option("cpu")
        assert told.all_inner_texts() == [said[model]] and {kind for kind, _, _ in rows(page)} == {"cpu"}
        page.get_by_role("button", name=reset).click()
        page.wait_for_url(lambda url: not parse_qs(urlsplit(url).query))
        assert page.locator("form.choose .calculator-unknown").is_hidden() and watched.faults == []


def test_an_address_that_asks_for_what_is_offered_has_nothing_to_say(browser, address):
    with opened(browser, address, path("en") + "?kind=cpu&engine=") as watched:
        watched.page.locator("form.choose").wait_for()
        assert {kind for kind, _, _ in rows(watched.page)} == {"cpu"}
        assert watched.page.locator("form.choose .calculator-unknown").is_hidden()


def test_it_is_worked_by_the_keyboard_alone(browser, address):
    with opened(browser, address, path("en")) as watched:
        page = watched.page
        ready(page)
        page.locator("#choose-kind").focus()
        page.keyboard.type("CPU")
        assert {kind for kind, _, _ in rows(page)} == {"cpu"}
        for name in ("choose-model", "choose-engine"):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == name
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        until(page, lambda: len(rows(page)) > 20)


def test_without_a_script_the_form_is_hidden_and_every_row_is_there(browser, address):
    with opened(browser, address, path("en"), java_script_enabled=False) as watched:
        page = watched.page
        assert page.locator("form.choose").is_hidden()
        count = page.locator("table.decoded").get_attribute("data-all")
        assert page.locator("table.decoded tbody tr:visible").count() == int(count)


def test_rows_that_the_page_has_no_room_for_join_the_table_at_their_place(browser, address):
    more = [
        2.5,
        "mps",
        "qwen3-4b",
        "llama",
        "far-away",
        "<b>Made up</b>",
        "Qwen3 4B bf16",
        "llama.cpp",
        "1",
        "2",
        "3",
        "4",
    ]

    def answer(route):
        figure = route.fetch().json()
        figure["layout"]["meta"]["rows"] = [more]
        route.fulfill(status=200, content_type="application/json", body=json.dumps(figure))

    with opened(browser, address, "en/") as watched:
        page = watched.page
        page.route("**/all/machines.en.json", answer)
        page.goto(address + path("en"))
        before = page.locator("table.decoded tbody tr").count()
        ready(page)
        joined = page.locator("table.decoded tbody tr")
        assert joined.count() == before + 1
        cells = joined.nth(3).locator("th, td").all_inner_texts()
        assert cells == ["<b>Made up</b>\nfar-away", *more[6:]]
        heads = page.locator("table.decoded thead th").all_inner_texts()
        named = [cell.get_attribute("data-head") for cell in joined.nth(3).locator("td").all()]
        assert named == [joined.nth(0).locator("td").nth(at).get_attribute("data-head") for at in range(6)]
        assert len(heads) == 7 and watched.faults == []


@pytest.mark.parametrize("query", ["", "?kind=cpu"])
def test_rows_that_an_address_chooses_do_not_wait_for_the_chart_to_be_seen(browser, address, query):
    more = [2.5, "cpu", "qwen3-4b", "llama", "far-away", "Made up", "Qwen3 4B bf16", "llama.cpp", "1", "2", "3", "4"]

    def answer(route):
        figure = route.fetch().json()
        figure["layout"]["meta"]["rows"] = [more]
        route.fulfill(status=200, content_type="application/json", body=json.dumps(figure))

    def one_row_more(route):
        text = re.sub(r'data-all="(\d+)"', lambda found: f'data-all="{int(found[1]) + 1}"', route.fetch().text())
        route.fulfill(status=200, content_type="text/html", body=text)

    with opened(browser, address, "en/") as watched:
        page = watched.page
        page.route("**/all/machines.en.json", answer)
        page.route("**/en/compare/*", one_row_more)
        page.goto(address + path("en") + query)
        page.locator("form.choose").wait_for()
        if query:
            until(page, lambda: ["cpu", "qwen3-4b", "llama"] in rows(page))
            assert status(page) == said("en", page)
        page.wait_for_timeout(500)
        assert bool(watched.loaded("machines.en.json")) is bool(query), "nothing is loaded that is not asked for"


@pytest.mark.parametrize("at", ["en/", "en/compare/"])
@pytest.mark.parametrize("viewport", [PHONE, {"width": 768, "height": 900}, {"width": 1440, "height": 900}])
def test_a_machine_whose_name_is_one_long_word_widens_no_page(browser, address, at, viewport):
    with opened(browser, address, at, viewport=viewport) as watched:
        names = watched.page.locator("table:is(.decoded, .bars) tbody th span")
        assert names.count()
        names.evaluate_all("all => all.forEach(name => (name.textContent = 'Z'.repeat(200)))")
        rest(watched.page)
        assert watched.page.evaluate(OVERFLOWING) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_a_phone_each_number_says_what_it_is_and_nothing_overflows(browser, address, language):
    with opened(browser, address, path(language), viewport=PHONE) as watched:
        page = watched.page
        ready(page)
        page.locator("form.choose").get_by_label(LABELS[language][0], exact=True).select_option("cuda")
        cell = page.locator("table.decoded tbody tr:visible").first.locator("td").nth(2)
        assert cell.evaluate("e => getComputedStyle(e, '::before').content").strip('"') == cell.get_attribute(
            "data-head"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
