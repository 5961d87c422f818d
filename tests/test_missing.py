"""The page for addresses that do not exist: in the language of the address, whole without scripts, at any depth."""

from __future__ import annotations

import pytest
from servers import ROOT
from sites import LANGUAGES, markup
from test_browser import OVERFLOWING, PHONE, opened, rest

SECTIONS = "sections => sections.map(section => [section.lang, section.getBoundingClientRect().height > 50])"


def test_its_links_lead_to_pages_of_each_language(site):
    tags = markup(site / "404.html").tags
    inside = tags.index(next(t for t in tags if "data-base" in t[1]))
    links = [a["href"] for tag, a in tags[inside:] if tag == "a" and a.get("href", "").startswith(ROOT)]
    places = [link.removeprefix(ROOT).removesuffix(".") for link in links]
    assert len(set(places)) == len(places) and {"", "en/", "zh/", "source/", "zh/method/"} <= set(places)
    assert [place for place in places if not (site / place / "index.html").is_file()] == []


@pytest.mark.parametrize(
    "address_of", [("nothing", "ko"), ("ko/source/", "ko"), ("en/no/such/page.html", "en"), ("zh/a/", "zh")]
)
def test_it_speaks_the_language_of_the_address(browser, address, address_of):
    path, language = address_of
    with opened(browser, address, path) as watched:
        page = watched.page
        assert page.locator(".no-page > section").evaluate_all(SECTIONS) == [[language, True]]
        assert page.locator("html").get_attribute("lang") == language
        assert not [fault for fault in watched.faults if "404" not in fault], watched.faults
        name = page.locator(".no-page > section").get_attribute("data-name")
        assert page.title() == f"404 - {name}" and page.locator(".md-header__topic").first.inner_text().strip() == name
        start = address + ("" if language == "ko" else f"{language}/")
        assert page.locator(".md-logo").evaluate("a => a.href") == start
        page.locator(".no-page a").nth(2).click()
        page.wait_for_url(f"{start}source/")
        assert page.locator("html").get_attribute("lang") == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_a_phone_nothing_overflows_and_the_languages_can_be_chosen(browser, address, language):
    with opened(browser, address, f"{language}/nothing/", viewport=PHONE) as watched:
        rest(watched.page)
        assert watched.page.evaluate(OVERFLOWING) == []
        watched.page.locator(".md-select").hover()
        rest(watched.page)
        menu = watched.page.locator(".md-select__inner").bounding_box()
        assert menu["x"] >= 0 and menu["x"] + menu["width"] <= PHONE["width"] and menu["height"] > 60


def test_without_javascript_it_speaks_all_languages(browser, address):
    with opened(browser, address, "en/nothing/here", viewport=PHONE, java_script_enabled=False) as watched:
        shown = watched.page.locator(".no-page > section").evaluate_all(SECTIONS)
        assert shown == [[language, True] for language in LANGUAGES]
        assert watched.page.evaluate(OVERFLOWING) == []
        assert watched.page.locator(":is(.md-search, [for=__drawer], [for=__search]):visible").count() == 0
        watched.page.locator(".no-page > [lang=zh] a").first.click()
        watched.page.wait_for_url(f"{address}zh/")
