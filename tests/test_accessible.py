"""What axe finds against a page: nothing, on a wide screen and on a phone, in the light and in the dark."""

from __future__ import annotations

from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe
from sites import DEFAULT, LANGUAGES
from test_browser import DESKTOP, PHONE, opened

LIGHT = {"viewport": DESKTOP, "color_scheme": "light"}
DARK = {"viewport": PHONE, "color_scheme": "dark"}

# One article stands for all, as they are one template; `python tests/audit.py` looks at every page.
LOOKS = [
    *((language, page, LIGHT) for language, page in product(LANGUAGES, ("", "source/"))),
    *zip(LANGUAGES, ("own/", "calculator/", "method/"), [DARK] * 3, strict=True),
    ("en", "", DARK),
    ("en", "compare/", LIGHT),
    ("zh", "source/receipts/", LIGHT),
    ("ko", "compare/", DARK),
]


def violations(page) -> list[str]:
    """Each rule that a page breaks, with the first element that does and why."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html']}: {rule['nodes'][0]['failureSummary']}" for rule in found]


@pytest.mark.parametrize(("language", "name", "look"), LOOKS)
def test_axe_finds_nothing(browser, address, language, name, look):
    path = ("" if language == DEFAULT else f"{language}/") + name
    with opened(browser, address, path, **look) as watched:
        assert violations(watched.page) == []


def test_axe_would_find_a_link_that_only_its_colour_tells(browser, address):
    with opened(browser, address, "en/") as watched:
        links = watched.page.locator("article a:not([class])")
        links.evaluate_all("all => all.forEach(link => (link.style.textDecoration = 'none'))")
        assert [fault.partition(":")[0] for fault in violations(watched.page)] == ["link-in-text-block"]
