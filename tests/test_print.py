"""On paper: no navigation, charts as their tables, dark on white whatever the screen shows, nothing past the edge."""

from __future__ import annotations

import pytest
from sites import DEFAULT, LANGUAGES
from test_browser import CHARTS, OVERFLOWING, draw_all, opened, with_charts

PAPER = {"width": 687, "height": 1000}
"""What the margins leave of A4, in px."""

LINKED = (
    """() => [...document.querySelectorAll("article a[href^=http]")].map(a => getComputedStyle(a, "::after").content)"""
)


@pytest.fixture(scope="module", params=LANGUAGES)
def printed(request, browser, address, site):
    """An article with charts as it goes to the printer, from a reader with a dark screen, once its charts are drawn."""
    path = next(page.path for page in with_charts(site) if page.language == request.param)
    with opened(browser, address, path, color_scheme="dark") as watched:
        draw_all(watched.page)
        watched.page.emulate_media(media="print", color_scheme="dark")
        watched.page.set_viewport_size(PAPER)
        yield watched.page


def test_only_the_article_is_printed(printed):
    frame = ".md-header, .md-sidebar, .md-footer, .md-skip, .headerlink, .md-top, .download"
    assert printed.locator(frame).count() > 3 and printed.locator(f":is({frame}):visible").count() == 0


def test_charts_are_printed_as_their_tables(printed):
    charts = printed.locator(CHARTS).count()
    assert charts > 3 and printed.locator(f"{CHARTS} .chart-canvas:visible").count() == 0
    assert printed.locator(f"{CHARTS} details:not([open]) table:visible").count() == charts
    assert printed.locator(f"{CHARTS} td:visible").count() == printed.locator(f"{CHARTS} td").count()


def test_a_dark_screen_prints_dark_on_white(printed):
    assert printed.locator("body").get_attribute("data-md-color-scheme") == "slate"
    assert printed.locator("article").evaluate("e => getComputedStyle(e).color") == "rgb(31, 38, 46)"
    for paper in ("html", "body"):  # the first is the sheet with its margins
        assert printed.locator(paper).evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
        assert printed.locator(paper).evaluate("e => getComputedStyle(e).colorScheme") == "light"


def test_addresses_elsewhere_are_legible_and_the_pages_own_too(printed):
    shown = printed.evaluate(LINKED)
    assert len(shown) > 1 and all(content != "none" for content in shown[:-1])
    own = printed.locator(".printed-address:visible")
    assert own.inner_text() == printed.locator("link[rel=canonical]").get_attribute("href")


def test_nothing_is_wider_than_the_paper(printed):
    assert printed.evaluate(OVERFLOWING) == []


FORM = "form.choose"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", [False, True])
def test_the_page_of_comparison_prints_neither_form_nor_caption_of_a_chart_but_how_many_rows(
    browser, address, language, part
):
    path = ("" if language == DEFAULT else f"{language}/") + "compare/" + ("?kind=cpu" if part else "")
    with opened(browser, address, path) as watched:
        page = watched.page
        page.locator(FORM).wait_for()
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)
        assert page.locator(f"{FORM} :is(select, label, button, p):visible").count() == int(part)
        assert page.locator(f"{FORM} .chosen").is_visible() is part
        assert page.locator("#chart-machines").is_hidden() and page.locator("table.decoded tbody tr:visible").count()
        assert page.evaluate(OVERFLOWING) == []


def test_it_can_be_made_a_pdf(browser, address):
    with opened(browser, address, "en/method/") as watched:
        assert watched.page.pdf(format="A4").startswith(b"%PDF")
