"""The content security policy: on every page, obeyed by what is ours, in the way of what is not."""

from __future__ import annotations

import re

from conftest import mkdocs
from servers import edit_results, serving
from sites import LANGUAGES, copy_project, markup, pages, serve
from test_browser import opened

HOOK = "policy"

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
INLINE = re.compile(r"<script(?: id=\"__config\" type=\"application/json\")?>")


def policy(html: str) -> dict[str, list[str]]:
    """What a page may load, by kind."""
    (found,) = POLICY.findall(html)
    return {name: sources for name, *sources in (directive.split() for directive in found.split(";"))}


def documents(site):
    """Every page of the site, and the one for what is not there."""
    return [*(page.file for page in pages(site)), site / "404.html"]


def test_every_page_has_the_policy_before_its_scripts(site):
    for file in documents(site):
        html = file.read_text(encoding="utf-8")
        allowed = policy(html)
        assert allowed["default-src"] == allowed["base-uri"] == ["'none'"]
        sources = {source for kind in allowed.values() for source in kind}
        assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "https:", "http:", "blob:"} & sources
        assert not [source for source in sources if source.startswith(("http", "//", "*"))]
        assert html.index("Content-Security-Policy") < html.index("<script"), file


def test_a_page_allows_the_scripts_it_has_and_no_other(site, hook):
    for file in documents(site):
        html = file.read_text(encoding="utf-8")
        inside = {hook.source_hash(script) for script in hook.SCRIPT.findall(html)}
        assert len(inside) == 3 and {"'self'", *inside} == set(policy(html)["script-src"]), file


def test_nothing_on_a_page_needs_more_than_the_policy_gives(site):
    """Handlers, scripts and styles as attributes would be blocked, wherever a browser shows it or not."""
    for file in documents(site):
        for tag, attributes in markup(file).tags:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], (
                file,
                tag,
                attributes,
            )
            assert tag not in ("style", "base", "object", "embed", "iframe"), file
            assert not attributes.get("href", "").lower().startswith(("javascript:", "data:")), (file, attributes)


INJECTED = """# x

before <script>window.injected = "script"</script> after

<script type="module">window.injected = "module"</script>

<img src="nothing.png" onerror="window.injected = 'handler'">

<a id="lure" href="javascript:void(window.injected = 'link')">link</a>

<iframe srcdoc="<script>parent.injected = 'frame'</script>"></iframe>

<p id="last">end</p>
"""


def test_what_came_in_through_the_text_does_not_run(tmp_path, browser):
    """The hashes are the theme's: a page that holds another script when it is built does not allow it."""
    project = copy_project(tmp_path / "project")
    for language in LANGUAGES:
        (project / "docs" / language / "injected.md").write_text(INJECTED, encoding="utf-8")
    built = mkdocs(project, "build")
    assert built.returncode == 0, built.stderr
    html = (project / "site" / "injected" / "index.html").read_text(encoding="utf-8")
    assert html.count("window.injected") == 4 and len(policy(html)["script-src"]) == 4
    with serve(project / "site", "/") as address, opened(browser, address, "injected/") as watched:
        assert ran(watched) is None and watched.page.locator("#last").is_visible()
        blocked = sorted(fault.split()[1] for fault in watched.faults if fault.startswith("policy: "))
        assert blocked == ["script-src-attr", *["script-src-elem"] * 4]
        watched.page.route(
            "**/injected/", lambda route: route.fulfill(body=POLICY.sub("", html), content_type="text/html")
        )
        watched.page.reload()
        assert ran(watched) == "link", "without the policy it would not run either: the test tells nothing"


def ran(watched) -> str | None:
    """Which of the injected scripts of a page ran last."""
    watched.page.locator("#lure").click()
    watched.page.wait_for_load_state("networkidle")
    return watched.page.evaluate("() => new Promise(requestAnimationFrame).then(() => window.injected)")


def test_pages_reload_while_they_are_served(tmp_path, browser):
    """The script that does it is MkDocs' own and differs each time, so serving allows it, after a rebuild too."""
    project = copy_project(tmp_path / "project")
    with serving(project) as server, opened(browser, server.address, "en/source/") as watched:
        for times in (1, 2):
            watched.page.evaluate("window.stale = true")
            with watched.page.expect_event("load", lambda page: page.evaluate("!window.stale"), timeout=60_000):
                edit_results(project / "results.json")
            server.wait("Reloading browsers", times)
        assert "'unsafe-inline'" in policy(watched.page.content())["script-src"]
        assert not [fault for fault in watched.faults if fault.startswith("policy: ")]
