"""A number's receipt is shown beside it: on hover, on focus or at a tap, within the screen, and from disk too."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from urllib.parse import urljoin

import pytest
from servers import SITE_URL
from sites import DEFAULT, LANGUAGES, PROJECT, markup, pages
from test_browser import DESKTOP, OVERFLOWING, PHONE, opened, rest

CARD = ".at-hand"
SHOWN = f"{CARD} :is(dl, ul)"
"""What a receipt has and the words that stand in for one do not."""

OPEN_MS = 300
"""How long a pointer rests on a number before its receipt opens: the same as in at-hand.js."""


@pytest.fixture(scope="module")
def hook():
    sys.path.insert(0, str(PROJECT / "hooks"))
    try:
        import at_hand

        yield at_hand
    finally:
        sys.path.remove(str(PROJECT / "hooks"))
        sys.modules.pop("at_hand", None)


def scripts(site, hook) -> dict[str, dict[str, str]]:
    """The receipts of each script by its address below the site's root."""
    found = {}
    for file in site.rglob(f"{hook.FOLDER}/*.js"):
        text = file.read_text(encoding="utf-8")
        assert text.startswith("receiptsAtHand({") and text.endswith("});\n"), file
        found[file.relative_to(site).as_posix()] = json.loads(text[len("receiptsAtHand(") : -len(");\n")])
    return found


def test_every_number_and_verdict_of_every_page_has_its_receipt_at_hand(site, hook):
    written, missing = scripts(site, hook), []
    for page in pages(site):
        for tag, attributes in markup(page.file).tags:
            classes = attributes.get("class", "").split()
            address, _, name = attributes.get("href", "").partition("#")
            if tag == "a" and {"fact", "claim"} & set(classes) and address.endswith("receipts/"):
                place = urljoin(SITE_URL + page.path, address).removeprefix(SITE_URL)
                script = f"{place}{hook.FOLDER}/{hook.chunk(hook.group(name))}.js"
                if not written.get(script, {}).get(name):
                    missing.append((page.path, name))
    assert not missing


def test_a_receipt_at_hand_tells_formula_interval_machine_and_date_and_leaves_the_rest_to_its_page(site, hook):
    cut = {}
    for script in scripts(site, hook).items():
        if script[0].startswith("en/h200/"):
            cut |= script[1]
    calculated, timed = cut["h200-engines.llama.gemma4-12b-bf16.share"], cut["h200-engines.llama.gemma4-12b-bf16.rate"]
    for receipt, names in (
        (calculated, ["Formula", "With values", "Interval", "Machine", "Date"]),
        (timed, ["Interval", "Repeats", "Repeated values", "Machine", "Date"]),
    ):
        assert set(names) <= set(re.findall("<dt>(.*?)</dt>", receipt)), receipt
        assert "NVIDIA H200" in receipt and re.search(r"\d{1,2} \w+ 20\d\d", receipt)
    assert "<dt>Configuration</dt>" not in timed and "<dt>Measure again</dt>" not in timed
    page = (site / "en/h200/receipts/index.html").read_text(encoding="utf-8")
    assert timed in page and "<dt>Configuration</dt>" in page.partition(timed)[2][:3000]
    assert cut["claim.read_is_shared"].count("</li>") > 1


def test_a_receipt_is_cut_after_its_first_list(hook):
    page = (
        '<section class="receipt" id="a.b.c.one"><h4>one</h4><dl>x</dl><dl>y</dl></section>'
        '<section class="receipt" id="claim.two"><h4>two</h4><ul><li>z</li></ul></section>'
        '<section class="receipt"><h4>a sample with no address</h4></section>'
        '<ul><li id="a.b.c.three"><span>unmeasured</span> three</li></ul>'
    )
    found = {name: receipt for chunk in hook.chunks(page) for name, receipt in chunk.items()}
    assert found == {
        "a.b.c.one": "<h4>one</h4><dl>x</dl>",
        "claim.two": "<h4>two</h4><ul><li>z</li></ul>",
        "a.b.c.three": "<span>unmeasured</span> three",
    }
    assert len(hook.chunks(page)) == hook.CHUNKS
    assert sum("a.b.c.one" in chunk and "a.b.c.three" in chunk for chunk in hook.chunks(page)) == 1


def prefix(language: str) -> str:
    return "" if language == DEFAULT else f"{language}/"


def number(page, kind: str = "calculated", at: int = 20):
    """A number on a page, in the middle of the screen."""
    link = page.locator(f"article a.fact.{kind}").nth(at)
    link.evaluate("e => e.scrollIntoView({ block: 'center' })")
    rest(page)
    return link


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_receipt_opens_where_a_pointer_rests_and_moves_nothing(browser, address, language):
    with opened(browser, address, f"{prefix(language)}source/") as watched:
        page = watched.page
        link = number(page)
        before, path = link.locator("xpath=..").bounding_box(), page.url.partition("#")[0]
        link.hover()
        page.wait_for_timeout(OPEN_MS / 3)
        assert page.locator(CARD).count() == 0
        page.locator(SHOWN).wait_for()
        assert link.locator("xpath=..").bounding_box() == before
        assert page.locator(f"{CARD} dt").count() >= 4
        way = page.locator(".at-hand-way")
        assert way.evaluate("e => e.href") == link.evaluate("e => e.href")
        way.hover()
        page.wait_for_timeout(OPEN_MS * 2)
        assert page.locator(CARD).count() == 1, "a pointer that goes into the card keeps it"
        page.locator("article h1").evaluate("e => e.scrollIntoView()")
        page.locator("article h1").hover()
        page.locator(CARD).wait_for(state="detached")
        assert page.url.partition("#")[0] == path and watched.faults == []


def test_only_one_tooltip_at_a_time(browser, address):
    """The theme makes one of a title; the words of the title are kept for whoever cannot see the card."""
    with opened(browser, address, "en/source/") as watched:
        link = number(watched.page)
        assert link.get_attribute("title") is None
        assert link.get_attribute("aria-description").startswith("calculated: ")
        link.hover()
        watched.page.locator(SHOWN).wait_for()
        watched.page.wait_for_timeout(OPEN_MS)
        assert watched.page.locator(".md-tooltip2--active, .md-tooltip--active").count() == 0


def test_with_the_keyboard_a_receipt_opens_is_described_walked_into_and_closed(browser, address):
    with opened(browser, address, "en/source/") as watched:
        page = watched.page
        link = number(page)
        link.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        page.locator(SHOWN).wait_for()
        described = link.get_attribute("aria-describedby")
        assert page.locator(f"[id='{described}']").inner_text().count("\n") > 4
        assert page.locator(CARD).get_attribute("role") == "dialog" and page.locator(CARD).get_attribute("aria-label")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.at-hand') !== null")
        page.keyboard.press("Escape")
        assert page.locator(CARD).count() == 0
        assert link.evaluate("e => e === document.activeElement") and link.get_attribute("aria-describedby") is None
        page.keyboard.press("Enter")
        page.wait_for_url("**/source/receipts/#*")


def test_the_way_in_the_card_leads_to_the_receipt(browser, address):
    with opened(browser, address, "en/h200/") as watched:
        link = number(watched.page)
        target = link.evaluate("e => e.href")
        link.hover()
        watched.page.locator(SHOWN).wait_for()
        operand = watched.page.locator(f"{CARD} dd a").first.evaluate("e => e.href")
        assert operand.startswith(target.partition("#")[0] + "#")
        watched.page.locator(".at-hand-way").click()
        watched.page.wait_for_url(target)


def test_a_tap_opens_a_second_one_follows_and_one_elsewhere_closes(browser, address):
    with opened(browser, address, "source/", viewport=PHONE, has_touch=True) as watched:
        page = watched.page
        link, path = number(page), page.url.partition("#")[0]
        link.tap()
        page.locator(SHOWN).wait_for()
        assert page.url.partition("#")[0] == path
        page.touchscreen.tap(2, 60)
        page.locator(CARD).wait_for(state="detached")
        link.tap()
        page.locator(SHOWN).wait_for()
        link.tap()
        page.wait_for_url("**/receipts/#*")


INSIDE = """card => {
  const [box, { clientWidth, clientHeight }] = [card.getBoundingClientRect(), document.documentElement];
  return box.left >= 0 && box.right <= clientWidth && box.top >= 0 && box.bottom <= clientHeight;
}"""


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_no_edge_cuts_a_receipt_off(browser, address, size):
    """Wherever on the screen the number stands, in a table that scrolls too."""
    with opened(browser, address, "en/source/", viewport=size, has_touch=True) as watched:
        page = watched.page
        links = [page.locator("article p a.fact").nth(5), page.locator("article td a.fact").nth(9)]
        for link in [*links, page.locator("article a.claim").first]:
            for block in ("start", "center", "end"):
                link.evaluate("(e, block) => e.scrollIntoView({ block, inline: 'center' })", block)
                page.evaluate("far => scrollBy(0, far)", {"start": -60, "center": 0, "end": 4}[block])
                rest(page)
                link.dispatch_event("pointerover", {"pointerType": "mouse", "bubbles": True})
                page.locator(SHOWN).wait_for()
                assert page.locator(CARD).evaluate(INSIDE), (link, block)
                assert page.locator(".at-hand-way").evaluate(INSIDE)
                assert page.evaluate(OVERFLOWING) == []
                page.keyboard.press("Escape")


@contextmanager
def from_disk(browser, file, **options):
    context = browser.new_context(viewport=DESKTOP, **options)
    context.set_default_timeout(20_000)
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        yield page
    finally:
        context.close()


def test_a_page_opened_from_disk_has_its_receipts_at_hand(browser, site):
    with from_disk(browser, site / "zh" / "source" / "index.html") as page:
        number(page).hover()
        page.locator(SHOWN).wait_for()


def test_without_its_script_the_card_says_what_the_title_said(browser, address):
    with opened(browser, address, "en/source/") as watched:
        watched.page.route("**/at-hand/*.js", lambda route: route.abort())
        link = number(watched.page)
        link.hover()
        watched.page.locator(CARD).wait_for()
        assert watched.page.locator("#at-hand-receipt").inner_text() == link.get_attribute("aria-description")
        assert watched.page.locator(".at-hand-way").is_visible()


def test_without_javascript_a_number_has_its_title_and_leads_to_its_receipt(browser, address):
    with opened(browser, address, "en/source/", java_script_enabled=False) as watched:
        link = watched.page.locator("article a.fact.calculated").nth(20)
        assert link.get_attribute("title").startswith("calculated: ")
        link.click()
        watched.page.wait_for_url("**/source/receipts/#*")


def test_nothing_is_loaded_before_a_receipt_is_asked_for(browser, address):
    with opened(browser, address, "source/") as watched:
        watched.page.wait_for_load_state("networkidle")
        assert watched.loaded("/at-hand/") == []
        number(watched.page).hover()
        watched.page.locator(SHOWN).wait_for()
        assert len(watched.loaded("/at-hand/")) == 1


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_receipt_fades_in_only_for_who_likes_motion(browser, address, motion):
    with opened(browser, address, "source/", reduced_motion=motion) as watched:
        number(watched.page).hover()
        watched.page.locator(SHOWN).wait_for()
        fades = watched.page.locator(CARD).evaluate("e => getComputedStyle(e).animationName") != "none"
    assert fades == (motion == "no-preference")


def test_a_number_that_the_calculator_made_has_its_receipt_at_hand(browser, address):
    with opened(browser, address, "en/calculator/") as watched:
        watched.page.locator(".calculator-answers a.fact[href*='receipts/#']").first.hover()
        watched.page.locator(SHOWN).wait_for()
        assert watched.faults == []
