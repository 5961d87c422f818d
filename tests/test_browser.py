"""The site in a real Chromium: quiet, self-contained, fit for a phone and without scripts, charts in both palettes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from sites import DEFAULT, LANGUAGES, markup, pages

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
CHARTS = "figure.chart[data-chart]"
NEAR = 600
"""How near a chart may be to the viewport before it loads, in px: the same as in charts.js."""

WORDS = {
    "ko": ("대역폭", "가중치", "디코딩"),
    "en": ("bandwidth", "weights", "decoding"),
    "zh": ("带宽", "权重", "解码"),
}
"""Words that a reader of each language would look for."""


class Watched:
    """A browser page and all that went wrong in it: errors, failed answers, requests to other hosts."""

    def __init__(self, page, address: str):
        self.page, self.address = page, address
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("console", lambda message: message.type == "error" and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self.see)
        page.on("response", lambda r: r.status >= 400 and self.faults.append(f"{r.status} {r.url}"))

    def visit(self, path: str) -> None:
        """Goes to a page and forgets what was wrong on the one before."""
        self.requests.clear()
        self.faults.clear()
        self.page.goto(self.address + path)

    def see(self, request):
        self.requests.append(request.url)
        if urlsplit(request.url).scheme not in ("data", "blob") and not request.url.startswith(self.address):
            self.faults.append(f"request to another place: {request.url}")

    def loaded(self, part: str) -> list[str]:
        return [url for url in self.requests if part in url]


REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation",
  e => console.error(`policy: ${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`))"""
"""Makes whatever the content security policy blocks one of a page's faults."""


@contextmanager
def visitor(browser, address: str, **options):
    """A fresh visitor, who comes from nowhere and has nothing cached."""
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(20_000)
    context.add_init_script(REPORT_VIOLATIONS)
    try:
        yield Watched(context.new_page(), address)
    finally:
        context.close()


@contextmanager
def opened(browser, address: str, path: str = "", **options):
    """A fresh visitor on a page of the site."""
    with visitor(browser, address, **options) as watched:
        watched.page.goto(address + path)
        yield watched


def with_charts(site) -> list:
    """A page with several charts in each language: the first article."""
    found = {}
    for page in pages(site):
        if len(markup(page.file).attributes("figure", "data-chart")) > 1:
            found.setdefault(page.language, page)
    assert set(found) == set(LANGUAGES)
    return list(found.values())


def draw_all(page) -> None:
    """Scrolls to each chart that can be seen and waits until it is drawn, or has failed."""
    for chart in page.locator(CHARTS).all():
        if chart.is_visible():
            chart.scroll_into_view_if_needed()
            chart.and_(page.locator("[data-state]")).wait_for()


OVERFLOWING = """() => {
  const scrolls = e => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const wide = [...document.querySelectorAll("article *")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && (box.right > innerWidth + 1 || box.left < -1) && !scrolls(e.parentElement);
  });
  const width = document.documentElement.scrollWidth;
  return [...wide.map(e => e.outerHTML.slice(0, 90)), ...(width > innerWidth ? [`the page: ${width}`] : [])];
}"""


def rest(page) -> None:
    """Waits until a page has the layout of its width and nothing on it has moved for three frames."""
    page.evaluate(REST, page.viewport_size["width"])


REST = """async width => {
  const end = performance.now() + 5000;
  for (let calm = 0; calm < 3; ) {
    await new Promise(requestAnimationFrame);
    const moving = document.getAnimations().filter(a => a instanceof CSSTransition);
    calm = innerWidth === width && !moving.length ? calm + 1 : 0;
    if (performance.now() > end) throw Error(`${innerWidth} px wide, ${moving.length} transitions after 5 s`);
  }
}"""
"""The theme's drawer and search glide to their places of a narrower page."""


def test_what_is_too_wide_is_seen_at_rest(browser, address):
    """Also what glides out of the page: the test below waits for that to end, and must not take its start for good."""
    with opened(browser, address, viewport=PHONE) as watched:
        rest(watched.page)
        assert watched.page.evaluate(OVERFLOWING) == []
        watched.page.locator("article").evaluate("e => e.append(document.createElement('aside'))")
        aside = watched.page.locator("article > aside")
        aside.evaluate("e => { e.style.width = '10px'; e.style.transition = 'width 0.4s'; e.innerText = 'wide'; }")
        aside.evaluate("e => { getComputedStyle(e).width; e.style.width = '500px'; }")
        rest(watched.page)
        assert watched.page.evaluate(OVERFLOWING) != []


def test_every_page_is_quiet_draws_its_charts_and_fits_a_phone(browser, address, site, subtests):
    with visitor(browser, address) as watched:
        for page in pages(site):
            with subtests.test(page.path or "/"):
                watched.page.set_viewport_size(DESKTOP)
                watched.visit(page.path)
                assert watched.page.locator("article h1").count() == 1
                draw_all(watched.page)
                assert watched.page.locator(f"{CHARTS}[data-state=failed]").count() == 0
                watched.page.set_viewport_size(PHONE)
                rest(watched.page)
                assert watched.page.evaluate(OVERFLOWING) == []
                assert watched.faults == []


def test_without_javascript_every_table_and_number_is_there_and_fits_a_phone(browser, address, site, subtests):
    with visitor(browser, address, viewport=PHONE, java_script_enabled=False) as watched:
        for page in pages(site):
            with subtests.test(page.path or "/"):
                watched.visit(page.path)
                assert watched.page.evaluate(OVERFLOWING) == []
                assert watched.page.evaluate(HIDDEN) == []
                assert watched.page.locator(".chart-canvas:visible").count() == 0
                assert watched.faults == []


HIDDEN = """() => [...document.querySelectorAll("article table, article .fact")]
  .filter(e => !e.closest("details:not([open])") && !e.getBoundingClientRect().width)
  .map(e => e.outerHTML.slice(0, 90))"""


def test_where_columns_have_no_room_each_cell_names_its_edition(browser, address):
    with opened(browser, address, "compare/", viewport=DESKTOP) as watched:
        rows = watched.page.locator("table.beside").first.locator("tbody tr")
        assert rows.first.evaluate(CELLS) == [["none", True]] * 3
        watched.page.set_viewport_size(PHONE)
        rest(watched.page)
        named = rows.first.evaluate(CELLS)
        assert len(named) == 3 and all(label.strip('"') and not beside for label, beside in named)
        assert watched.page.locator("table.beside thead").first.is_hidden()


CELLS = """row => [...row.querySelectorAll("td")].map(cell => [
  getComputedStyle(cell, "::before").content,
  cell.getBoundingClientRect().top === row.querySelector("th").getBoundingClientRect().top,
])"""
"""Of each cell of a row, what stands before it, and whether it is beside the row's head."""


def test_no_plotly_is_loaded_before_a_chart_is_near(browser, address, site):
    for page in with_charts(site):
        with opened(browser, address, page.path) as watched:
            watched.page.wait_for_load_state("networkidle")
            top = watched.page.locator(CHARTS).first.bounding_box()["y"]
            assert top > DESKTOP["height"] + NEAR, "the first chart is too near the top for this test to tell anything"
            assert watched.loaded("plotly") == watched.loaded("/charts/") == []
            draw_all(watched.page)
            assert len(watched.loaded("plotly-basic.min.js")) == 1


def test_a_page_without_charts_never_loads_plotly(browser, address, site):
    bare = [page for page in pages(site) if not markup(page.file).attributes("figure", "data-chart")]
    with opened(browser, address, bare[0].path) as watched:
        watched.page.mouse.wheel(0, 100_000)
        watched.page.wait_for_load_state("networkidle")
        assert watched.loaded("plotly") == []


COLOURS = """figure => {
  const probe = document.createElement("span");
  const colour = name => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  figure.append(probe);
  const wanted = colour("--chart-text");
  probe.remove();
  return [wanted, getComputedStyle(figure.querySelector(".xtick text, .ytick text")).fill];
}"""


def text_colour(page) -> str:
    """The colour of a chart's axis labels, once it is the palette's."""
    figure = page.locator(f"{CHARTS}[data-state=drawn]").first
    for _ in range(100):
        wanted, drawn = figure.evaluate(COLOURS)
        if wanted == drawn:
            return drawn
        page.wait_for_timeout(50)
    return pytest.fail(f"the chart's text is {drawn}, the palette's {wanted}")


def test_charts_follow_the_palette(browser, address, site):
    """The system's preference, and the reader's own choice over it."""
    for page in with_charts(site):
        with opened(browser, address, page.path, color_scheme="light") as watched:
            draw_all(watched.page)
            light = text_colour(watched.page)
            watched.page.emulate_media(color_scheme="dark")
            watched.page.locator("body[data-md-color-scheme=slate]").wait_for()
            dark = text_colour(watched.page)
            watched.page.locator("label[for^=__palette]:visible").click()
            watched.page.locator("body[data-md-color-scheme=default]").wait_for()
            assert text_colour(watched.page) == light != dark
            assert watched.faults == []


def test_the_chosen_palette_stays_on_other_pages_and_in_other_languages(browser, address):
    with opened(browser, address, "source/", color_scheme="light") as watched:
        for _ in range(2):
            watched.page.locator("label[for^=__palette]:visible").click()
        watched.page.goto(address + "en/")
        assert watched.page.locator("body").get_attribute("data-md-color-scheme") == "slate"


def test_a_chart_in_details_is_drawn_when_they_open(browser, address, site):
    page = with_charts(site)[0]
    html = re.sub(r'(<figure class="chart".*?</figure>)', r"<details>\1</details>", page.html, flags=re.DOTALL)
    with opened(browser, address) as watched:
        watched.page.route(address + page.path, lambda route: route.fulfill(body=html, content_type="text/html"))
        watched.page.goto(address + page.path, wait_until="networkidle")
        assert watched.page.locator(f"{CHARTS}[data-state]").count() == 0
        watched.page.locator("details:has(figure.chart) > summary, details:has(figure.chart)").first.evaluate(
            "e => e.closest('details').open = true"
        )
        draw_all(watched.page)
        drawn = watched.page.locator("details[open] .main-svg").first
        assert drawn.bounding_box()["width"] > 400


def test_a_chart_that_cannot_be_loaded_says_so_in_the_pages_language(browser, address, site):
    messages = set()
    for page in with_charts(site):
        with opened(browser, address) as watched:
            watched.page.route("**/charts/**", lambda route: route.abort())
            watched.page.goto(address + page.path)
            draw_all(watched.page)
            assert watched.page.locator(f"{CHARTS}[data-state=drawn]").count() == 0
            messages.add(watched.page.locator(".chart-message").first.text_content())
    assert len(messages) == len(LANGUAGES)


def test_the_language_switch_stays_on_the_page(browser, anywhere):
    """Through all languages and back, at a server's root and below a path."""
    for name in ("source/receipts/", ""):
        with opened(browser, anywhere, name) as watched:
            for language in ("en", "zh", "ko"):
                watched.page.locator("header .md-select").hover()
                watched.page.locator(f"header .md-select a[hreflang={language}]").click()
                prefix = "" if language == DEFAULT else f"{language}/"
                watched.page.wait_for_url(anywhere + prefix + name)
                assert watched.page.locator("html").get_attribute("lang") == language
            assert watched.faults == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_finds_words_of_the_pages_language_there(browser, address, site, language):
    start = address + ("" if language == DEFAULT else f"{language}/")
    texts = {start + page.name: "".join(markup(page.file).text) for page in pages(site) if page.language == language}
    with opened(browser, start, "source/") as watched:
        box = watched.page.locator("input.md-search__input")
        hits = watched.page.locator("a.md-search-result__link")
        for word in WORDS[language]:
            box.fill(word)
            box.press("End")
            hits.locator("mark", has_text=re.compile(word, re.IGNORECASE)).first.wait_for()
            targets = hits.evaluate_all("all => all.map(a => a.href)")
            box.fill("")
            box.press("End")
            hits.first.wait_for(state="detached")
            found = {re.sub(r"[?#].*", "", target) for target in targets}
            assert found <= set(texts), word
            assert all(word in texts[target].lower() for target in found), word
        indexes = watched.loaded("search_index.json")
    assert indexes == [start + "search/search_index.json"]


def test_the_kinds_of_numbers_differ_without_colour(browser, address, site):
    """Line, mark and frame of each kind on a page that shows them all: the legend."""
    page = with_charts(site)[0]
    with opened(browser, address, page.path) as watched:
        looks = watched.page.locator("article").evaluate(LOOKS)
    assert len(looks) == 7 and len(set(looks)) == 7, looks


LOOKS = """article => "measured imported calculated reported cited estimated unmeasured".split(" ").map(kind => {
  const fact = Object.assign(document.createElement("a"), { className: `fact ${kind}`, textContent: "1" });
  article.append(fact);
  const [own, mark] = [getComputedStyle(fact), getComputedStyle(fact, "::after")];
  return [own.textDecorationLine, own.textDecorationStyle, own.borderTopStyle, mark.content].join(" ");
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_takes_the_systems_palette(browser, address, scheme):
    with opened(browser, address, color_scheme=scheme) as watched:
        background = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (brightness > 128) == (scheme == "light")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_text_is_set_in_the_sites_fonts(browser, address, language):
    """The theme sets its own on the body; a rule above that has no effect and nothing says so."""
    with opened(browser, address, "" if language == DEFAULT else f"{language}/") as watched:
        family = watched.page.locator("article p").first.evaluate("e => getComputedStyle(e).fontFamily")
    assert ("PingFang SC" if language == "zh" else "Apple SD Gothic Neo") in family


def test_a_linked_receipt_stands_out(browser, address, site):
    """Where a number's link leads is marked, and not hidden under the header."""
    page = with_charts(site)[0]
    with opened(browser, address, page.path) as watched:
        watched.page.locator("article a.fact[href*='#']").last.click()
        watched.page.wait_for_url("**/receipts/#*")
        target = watched.page.locator(".receipt:target, .receipt:has(> :target), .receipt-missing > li:target")
        assert target.count() == 1
        header = watched.page.locator(".md-header").bounding_box()
        watched.page.wait_for_function("window.scrollY >= 0")
        box = target.bounding_box()
        assert box["y"] >= header["y"] + header["height"] - 1 and box["y"] < DESKTOP["height"]
        assert target.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
