"""What search engines and messengers read of a page: its address in each language, a description, a card."""

from __future__ import annotations

import struct
import sys
from types import SimpleNamespace

import cards
import jinja2
import pytest
from paths import RESULTS
from servers import SITE_URL
from sites import DEFAULT, LANGUAGES, PROJECT, markup, pages

from measure.store import load
from templates import description, render
from templates.truth import Outcome
from templates.voice import Voice


def told(page) -> dict[str, str]:
    """The metadata of a page by name or property."""
    tags = [a for tag, a in markup(page.file).tags if tag == "meta" and "content" in a]
    return {a.get("property") or a.get("name") or "": a["content"] for a in tags}


def test_every_page_names_its_whole_address_in_each_language(site):
    for page in pages(site):
        links = [a for tag, a in markup(page.file).tags if tag == "link" and a.get("rel") == "alternate"]
        found = {a["hreflang"]: a["href"] for a in links}
        addresses = {
            language: SITE_URL + ("" if language == DEFAULT else f"{language}/") + page.name for language in LANGUAGES
        }
        assert found == {**addresses, "x-default": addresses["en"]}, page.path
        assert len(links) == len(found)
        assert markup(page.file).attributes("link", "href", rel="canonical") == [addresses[page.language]]


def test_every_page_describes_itself_in_its_language(site):
    """Each in its own words: what a search engine shows of two pages must not be the same."""
    for language in LANGUAGES:
        here = [page for page in pages(site) if page.language == language]
        descriptions = {page.name: told(page)["description"] for page in here}
        assert len(set(descriptions.values())) == len(descriptions)
        titles = {page.name: told(page)["og:title"] for page in here}
        assert len(set(titles.values())) == len(titles)
        for page in here:
            assert told(page)["og:description"] == descriptions[page.name]
            assert told(page)["og:locale"].startswith(language)
            assert f"<title>{titles[page.name]}" in page.html
    korean = {page.name: told(page)["description"] for page in pages(site) if page.language == DEFAULT}
    for page in pages(site):
        assert page.language == DEFAULT or told(page)["description"] != korean[page.name], page.path


def test_every_page_has_a_card_that_is_there(site):
    for page in pages(site):
        address = told(page)["og:image"]
        picture = (site / address.removeprefix(SITE_URL)).read_bytes()
        size = struct.unpack(">II", cards.chunks(picture)[b"IHDR"][:8])
        assert size == (int(told(page)["og:image:width"]), int(told(page)["og:image:height"])) == (1200, 630)
        assert address.endswith(f"/{page.language}.png")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_cards_are_drawn_from_the_sites_names(language):
    made_from = cards.chunks((cards.CARDS / f"{language}.png").read_bytes()).get(b"tEXt")
    current = b"Source\0" + cards.digest(cards.drawn_from(language))
    assert made_from == current, "run `python tests/cards.py` and commit the pictures"


@pytest.fixture
def elsewhere(monkeypatch):
    """Renders the metadata for a site at an address."""
    monkeypatch.syspath_prepend(PROJECT / "hooks")
    import languages as hook

    def rendered(site_url: str | None) -> str:
        env = jinja2.Environment(loader=jinja2.FileSystemLoader(PROJECT / "overrides"))
        config = SimpleNamespace(site_url=site_url, site_name="Site", site_description="What it is")
        hook.on_env(env, config, None)
        files = {language: SimpleNamespace(url=f"{language}/x/") for language in LANGUAGES}
        file = SimpleNamespace(alternates=files, locale="en")
        page = SimpleNamespace(file=file, meta=SimpleNamespace(title="Page"), canonical_url="here")
        return env.get_template("partials/elsewhere.html").render(page=page, config=config, is_start=False)

    yield rendered
    del sys.modules["languages"]


@pytest.mark.parametrize("site_url", ["", None])
def test_where_the_site_has_no_address_there_is_none_of_it(elsewhere, site_url):
    assert elsewhere(site_url).strip() == ""


@pytest.mark.parametrize("site_url", ["https://a.example/below", "https://a.example/below/"])
def test_addresses_are_whole_wherever_the_site_is(elsewhere, site_url):
    text = elsewhere(site_url)
    assert '<link rel="alternate" hreflang="zh" href="https://a.example/below/zh/x/">' in text
    assert 'content="https://a.example/below/assets/cards/en.png"' in text


def test_an_article_says_how_its_conclusions_came_out():
    outcomes = [Outcome.HOLDS] * 3 + [Outcome.REFUTED] * 2 + [Outcome.UNDECIDED]
    claims = [SimpleNamespace(outcome=outcome) for outcome in outcomes]
    for language in LANGUAGES:
        text = description.article("cpu", claims, Voice(language))
        assert [figure for figure in text if figure.isdigit()] == ["6", "3", "2", "1"], text
    told = render.tell(load(RESULTS))[0]
    page = render.article(told, Voice("en"))
    assert f'description: "{description.article("source", told.claims.values(), Voice("en"))}"' in page


def test_a_machines_name_cannot_leave_the_description():
    """The theme prints a description into an attribute as it is."""
    text = description.run("x", '"><script>alert(1)</script>', "1 May", Voice("en"))
    assert not set('<>"') & set(text) and "script" in text
