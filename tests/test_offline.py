"""The copy of the site for the disk: it opens from there, in a folder of any name, and all of it works."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from servers import SITE_URL
from sites import DEFAULT, LANGUAGES, PROJECT, markup, pages
from test_browser import CHARTS, WORDS, draw_all, visitor, with_charts

HOOK = "archive"

ARCHIVE = "voice-in-numbers.zip"


@pytest.fixture(scope="module")
def copy(site, tmp_path_factory) -> Path:
    """The archive, unpacked where a reader might: with spaces and Korean on the way."""
    folder = tmp_path_factory.mktemp("내려받은 것 1")
    with zipfile.ZipFile(site / ARCHIVE) as archive:
        archive.extractall(folder)
    assert [path.name for path in folder.iterdir()] == ["voice-in-numbers"]
    return folder / "voice-in-numbers"


@pytest.fixture
def reader(browser, copy):
    """A visitor without a network, and what goes wrong."""
    with visitor(browser, f"{copy.as_uri()}/", offline=True) as watched:
        yield watched


def test_it_is_the_whole_site(site, copy):
    assert [page.path for page in pages(copy)] == [page.path for page in pages(site)]
    assert (copy / "results.json").read_bytes() == (PROJECT / "results.json").read_bytes()
    assert {file.relative_to(copy) for file in copy.rglob("*.csv")} == {
        f.relative_to(site) for f in site.rglob("*.csv")
    }


def test_every_link_names_a_file(copy):
    broken = []
    for page in pages(copy):
        for tag, attributes in markup(page.file).tags:
            for name in ("href", "src", "data-chart"):
                parts = urlsplit(attributes.get(name, ""))
                if name not in attributes or parts.scheme or not parts.path:
                    continue
                end = page.file.parent / unquote(parts.path)
                if not end.is_file() or (
                    tag == "a" and parts.fragment and end.suffix == ".html" and not_in(end, parts)
                ):
                    broken.append((page.path, attributes[name]))
    assert not broken


def not_in(file, parts) -> bool:
    return unquote(parts.fragment) not in markup(file).ids


def test_the_archive_is_named_where_it_can_be_had(copy):
    links = [href for page in pages(copy) for href in markup(page.file).attributes("a", "href") if ARCHIVE in href]
    assert links == [SITE_URL + ARCHIVE] * len(LANGUAGES)


def test_its_charts_are_drawn(reader, copy):
    for page in with_charts(copy):
        reader.visit(f"{page.path}index.html")
        draw_all(reader.page)
        assert reader.page.locator(f"{CHARTS}[data-state=drawn]").count() > 3
        assert reader.faults == []


def test_its_languages_lead_to_each_other_and_its_numbers_to_receipts(reader):
    reader.visit("source/index.html")
    for language in ("en", "zh", DEFAULT):
        reader.page.locator("header .md-select").hover()
        reader.page.locator(f"header .md-select a[hreflang={language}]").click()
        reader.page.wait_for_url(f"**/{'' if language == DEFAULT else f'{language}/'}source/index.html")
        assert reader.page.locator("html").get_attribute("lang") == language
    reader.page.locator("article a.fact[href*='#']").last.click()
    reader.page.wait_for_url("**/source/receipts/index.html#*")
    assert reader.page.locator(".receipt:target, .receipt-missing > li:target").count() == 1
    assert reader.faults == []


def test_its_receipts_are_at_hand_and_lead_on(reader, copy):
    reader.visit("en/cpu/index.html")
    reader.page.locator("article a.fact.calculated").first.hover()
    card = reader.page.locator(".at-hand .receipt")
    card.locator("dl").wait_for()
    for address in card.locator("a").evaluate_all("all => all.map(a => a.href)"):
        assert Path(unquote(urlsplit(address).path)).is_file(), address
    folders = [text for text in scripts(copy) if re.search(r'href=\\"(?!https?:)[^"]*/\\"', text)]
    assert folders == [] and reader.faults == []


def scripts(copy) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in copy.glob("**/at-hand/*.js")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_search_finds_words(reader, language):
    below = "" if language == DEFAULT else f"{language}/"
    reader.visit(f"{below}source/index.html")
    box, hits = reader.page.locator("input.md-search__input"), reader.page.locator("a.md-search-result__link")
    box.fill(WORDS[language][0] + {"ko": "에서는"}.get(language, ""))
    box.press("End")
    hits.locator("mark").first.wait_for()
    target = hits.first.evaluate("a => a.href")
    assert target.startswith(reader.address + below) and "index.html" in target
    hits.first.click()
    reader.page.wait_for_url(
        lambda url: url.partition("?")[0].partition("#")[0] == target.partition("?")[0].partition("#")[0]
    )
    assert reader.page.locator("html").get_attribute("lang") == language
    assert reader.faults == []


def test_its_calculator_answers_and_names_receipts_that_are_there(reader, copy):
    reader.visit("en/calculator/index.html")
    link = reader.page.locator(".calculator a.fact[href*=receipts]:visible").first
    link.wait_for()
    address = urlsplit(link.evaluate("a => a.href"))
    assert unquote(address.fragment) in markup(Path(unquote(address.path))).ids
    assert reader.faults == []


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("../", "../index.html"),
        ("..", "../index.html"),
        (".", "./index.html"),
        ("../source/receipts/", "../source/receipts/index.html"),
        ("../results.json", "../results.json"),
        ("", ""),
        ("https://a.example/", "https://a.example/"),
        ("mailto:a@a.example", "mailto:a@a.example"),
    ],
)
def test_an_address_of_a_folder_becomes_that_of_its_page(hook, address, file):
    assert hook.named(address, SITE_URL) == file


def test_the_same_site_makes_the_same_archive(hook, tmp_path):
    for name in ("b.html", "a/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<a href='a/'>")
    hook.pack(tmp_path, SITE_URL)
    first = (tmp_path / ARCHIVE).read_bytes()
    (tmp_path / "b.html").touch()
    hook.pack(tmp_path, SITE_URL)
    assert (tmp_path / ARCHIVE).read_bytes() == first
