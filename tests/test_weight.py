"""What a reader has to load before any chart is drawn: compressed, over the wire, the search index included."""

from __future__ import annotations

from sites import LANGUAGES, pages
from test_browser import visitor

MOST = 300_000
"""Bytes of an article page."""


def loaded(browser, address: str, path: str) -> dict[str, int]:
    """Bytes that came over the wire for a page, head lines included, by where they came from."""
    with visitor(browser, address) as watched:
        finished = []
        watched.page.on("requestfinished", lambda request: finished.append(request))
        with watched.page.expect_request_finished(lambda request: "workers/search." in request.url):
            watched.page.goto(address + path, wait_until="networkidle")
        assert not watched.page.locator("figure.chart[data-state]").count(), "a chart was drawn"
        sizes = {}
        for request in finished:
            if request.url.startswith(address):
                size = request.sizes()
                sizes[request.url.removeprefix(address)] = size["responseBodySize"] + size["responseHeadersSize"]
    return sizes


def test_an_article_page_is_light_before_any_chart_is_drawn(browser, address, site, subtests):
    articles = [page for page in pages(site) if page.name in ("source/", "h200/", "cpu/")]
    assert len(articles) == 3 * len(LANGUAGES)
    for page in articles:
        with subtests.test(page.path):
            sizes = loaded(browser, address, page.path)
            names = " ".join(sizes)
            assert all(part in names for part in ("search_index.json", "workers/search", "bundle", "site.css")), sizes
            assert page.file.stat().st_size > 2 * sizes[page.path], "the page did not come compressed"
            assert sum(sizes.values()) <= MOST, sizes
