"""The search, typed into: what a reader of each language looks for comes first, and no hit is in another language."""

from __future__ import annotations

import re
import tomllib

import pytest
from playwright.sync_api import TimeoutError
from sites import DEFAULT, LANGUAGES, PROJECT, pages
from test_browser import opened

WANTED = tomllib.loads((PROJECT / "tests" / "search.toml").read_text(encoding="utf-8"))

HITS = """start => [...document.querySelectorAll(".md-search-result__item")].map(
  item => [...item.querySelectorAll("a.md-search-result__link")].map(
    a => a.href.replace(start, "").replace(/[?]h=[^#]*/, "")))"""
"""Where the hits lead below a language's start page: a list a page, the page itself before its sections."""

FIRST = f"""([start, wanted]) => {{
  const [page, section] = ({HITS})(start)[0] ?? [];
  return page === wanted.split("#")[0] && section === wanted;
}}"""


def start(address: str, language: str) -> str:
    return address + ("" if language == DEFAULT else f"{language}/")


def searched(page, words: str) -> None:
    """Types into the search, key by key; the last key makes up for those that an input method sends."""
    box = page.locator("input.md-search__input")
    box.fill("")
    box.press("End")
    page.locator(".md-search-result__item").first.wait_for(state="detached")
    box.press_sequentially(words)
    box.press("End")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_looked_for_comes_first(browser, address, site, language, subtests):
    below = start(address, language)
    own = {page.name for page in pages(site) if page.language == language}
    assert len(WANTED[language]) >= 8
    with opened(browser, address, below.removeprefix(address) + "source/") as watched:
        for words, wanted in WANTED[language].items():
            with subtests.test(words):
                searched(watched.page, words)
                still = [first(watched.page, below, wanted) for _ in range(2)]
                hits = watched.page.evaluate(HITS, below)
                assert all(still), hits[:2]
                assert {re.sub("#.*", "", hit) for page in hits for hit in page} <= own
        assert watched.faults == []


def first(page, below: str, wanted: str) -> bool:
    """Whether the wanted hit comes first, within five seconds; and after a pause, as the last key's hits come last."""
    page.wait_for_timeout(100)
    try:
        page.wait_for_function(FIRST, arg=[below, wanted], timeout=5000)
    except TimeoutError:
        return False
    return True


FORMS = {"ko": "캐시 캐시는 캐시를 캐시의 캐시에서는 캐시까지", "en": "stream streams Streams"}
"""A noun, and what it looks like in sentences."""


@pytest.mark.parametrize("language", FORMS)
def test_every_form_of_a_noun_finds_what_the_noun_finds(browser, address, language):
    below = start(address, language)
    noun, *forms = FORMS[language].split()
    with opened(browser, below, "source/") as watched:
        found = {}
        for words in (noun, *forms):
            searched(watched.page, words)
            watched.page.locator(".md-search-result__item").first.wait_for()
            watched.page.wait_for_timeout(300)
            found[words] = watched.page.evaluate(HITS, below)
    assert [words for words in forms if found[words] != found[noun]] == []
