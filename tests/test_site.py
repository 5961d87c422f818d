"""The built site holds together: the same pages in every language, no link without an end, one rebuild an edit."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urljoin

import material
import plotly.offline
import pytest
import yaml
from conftest import mkdocs
from servers import ROOT, SITE_URL, Server, edit_results, serving
from sites import DEFAULT, LANGUAGES, PROJECT, copy_project, markup, pages

HOOK = "pages"

VENDOR = PROJECT / "docs" / "assets" / "vendor"
BUNDLE = VENDOR / "plotly-basic.min.js"


def names(site: Path, language: str) -> list[str]:
    return [page.name for page in pages(site) if page.language == language]


def test_every_language_has_the_same_pages(site):
    expected = names(site, DEFAULT)
    assert {"", "source/", "source/receipts/", "cpu/", "cpu/receipts/"} <= set(expected)
    assert {language: names(site, language) for language in LANGUAGES} == dict.fromkeys(LANGUAGES, expected)


def test_a_page_is_in_the_language_of_its_place(site):
    scripts = {"ko": {"hangul"}, "en": set(), "zh": {"han"}}
    for page in pages(site):
        found = markup(page.file)
        assert found.attributes("html", "lang") == [page.language], page.path
        text = "".join(found.text)
        used = {name for name, letters in (("hangul", "[가-힣]"), ("han", "[一-鿿]")) if re.search(letters, text)}
        assert used == scripts[page.language], page.path


def link_ends(page) -> list[str]:
    """Where a page points to inside the site, below its root, fragments kept."""
    ends = []
    for _, attributes in markup(page.file).tags:
        for name in ("href", "src", "data-chart"):
            target = urljoin(SITE_URL + page.path, attributes.get(name, ""))
            if name in attributes and target.startswith(SITE_URL):
                ends.append(unquote(target.removeprefix(SITE_URL)))
    return ends


def test_every_link_has_an_end(site):
    broken = []
    for page in pages(site):
        for end in link_ends(page):
            path, _, fragment = end.partition("#")
            file = site / path / "index.html" if path.endswith("/") or not path else site / path
            if not file.is_file() or (fragment and fragment not in markup(file).ids):
                broken.append(f"{page.path}: {end}")
    assert not broken


def test_headings_have_the_same_ids_in_every_language(site):
    """Else a link to a section works in one language only, and Korean and Chinese headings become #_1."""
    for name in names(site, DEFAULT):
        ids = {}
        for page in pages(site):
            if page.name == name:
                tags = markup(page.file).tags
                ids[page.language] = [a.get("id") for tag, a in tags if tag in ("h2", "h3", "section")]
        assert len(set(map(tuple, ids.values()))) == 1, (name, ids)
        assert not [i for i in ids[DEFAULT] if i and not re.fullmatch(r"[a-z][\w.:?&=/%-]*", i, re.ASCII)], name


def test_the_language_links_stay_on_the_page(site):
    for page in pages(site):
        links = {
            a["hreflang"]: urljoin(SITE_URL + page.path, a["href"])
            for tag, a in markup(page.file).tags
            if tag == "a" and "hreflang" in a
        }
        expected = {other: SITE_URL + ("" if other == DEFAULT else f"{other}/") + page.name for other in LANGUAGES}
        assert links == expected, page.path


def test_the_page_for_what_is_not_there_is_in_the_default_language(site):
    found = markup(site / "404.html")
    assert found.attributes("html", "lang") == [DEFAULT]
    links = [ROOT + ("" if language == DEFAULT else f"{language}/") for language in LANGUAGES]
    assert [a["href"] for tag, a in found.tags if tag == "a" and "hreflang" in a] == links


def test_nothing_is_loaded_from_elsewhere(site):
    for page in pages(site):
        for tag, attributes in markup(page.file).tags:
            loads = attributes.get("src", "") if tag != "link" else attributes.get("href", "")
            if attributes.get("rel") not in ("alternate", "canonical"):
                assert not re.match(r"(https?:)?//", loads), (page.path, tag, attributes)
    for sheet in (PROJECT / "docs" / "assets" / "stylesheets").glob("*.css"):
        assert not re.search(r"url\(|@import", sheet.read_text(encoding="utf-8")), sheet.name


def test_each_language_searches_its_own_articles(site):
    for language in LANGUAGES:
        folder = site if language == DEFAULT else site / language
        index = json.loads((folder / "search" / "search_index.json").read_text(encoding="utf-8"))
        found = {entry["location"].partition("#")[0] for entry in index["docs"]}
        assert found <= set(names(site, language)), language
        assert {"", "source/"} <= found, language
        assert not [name for name in found if name.endswith("receipts/")], language


def test_the_plotly_bundle_is_the_recorded_one():
    digest, name = (VENDOR / "plotly-basic.min.js.sha256").read_text(encoding="utf-8").split()
    assert name == BUNDLE.name
    assert hashlib.sha256(BUNDLE.read_bytes()).hexdigest() == digest
    assert "MIT License" in (VENDOR / "plotly-LICENSE.txt").read_text(encoding="utf-8")


def test_every_other_script_is_ours_or_the_themes(site):
    """In docs/ what is not ours is the recorded bundle; the site adds receipts and the theme's files, as installed."""
    docs, built = scripts(PROJECT / "docs"), scripts(site)
    ours = PROJECT / "docs" / "assets" / "javascripts"
    names = ("alternates", "at-hand", "calculator", "charts", "choose", "missing", "quantity", "search")
    assert set(docs.values()) == {BUNDLE, *(ours / f"{name}.js" for name in names)}
    assert docs.keys() < built.keys()
    theme = Path(material.__file__).parent / "templates"
    made = {place for place in built if place.parts[-3:-1] == ("receipts", "at-hand")}
    assert all(built[place].read_text(encoding="utf-8").startswith("receiptsAtHand({") for place in made)
    built = {place: file for place, file in built.items() if place not in made}
    strange = [str(p) for p, file in built.items() if file.read_bytes() != docs.get(p, theme / p).read_bytes()]
    assert strange == []


def scripts(folder: Path) -> dict[Path, Path]:
    """The files of a folder that a browser could run, by their place in it."""
    suffixes = (".js", ".mjs", ".wasm")
    return {file.relative_to(folder): file for file in folder.rglob("*") if file.suffix in suffixes}


def test_the_plotly_bundle_is_the_version_that_figures_are_made_for():
    first = BUNDLE.read_text(encoding="utf-8")[:100]
    assert f"plotly.js (basic - minified) v{plotly.offline.get_plotlyjs_version()}\n" in first, (
        "take plotly.js-basic-dist-min of that version from npm, with its LICENSE, and record the sha256"
    )


def palettes() -> dict[str, dict[str, str]]:
    """The variables of the style sheets by palette."""
    found = {}
    for sheet in (PROJECT / "docs" / "assets" / "stylesheets").glob("*.css"):
        for palette, body in re.findall(r'\[data-md-color-scheme="(\w+)"\] \{(.*?)\}', sheet.read_text(), re.DOTALL):
            found.setdefault(palette, {}).update(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", body))
    return found


def linear(colour: str) -> list[float]:
    """Red, green and blue of #rrggbb, 0 to 1, in proportion to the light."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, WCAG 2.2."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", ["default", "slate"])
def test_colours_can_be_told_from_the_page(palette):
    """4.5 : 1 for text and 3 : 1 for lines and areas that carry meaning (WCAG 2.2, 1.4.3 and 1.4.11)."""
    variables = palettes()[palette]
    paper = variables["--md-default-bg-color"]
    lines = [*(f"--chart-{n}" for n in range(1, 7)), "--chart-ideal", "--chart-limit", "--fact-line", "--field-line"]
    texts = ["--chart-text", "--fact-mark", "--claim-holds", "--claim-refuted", "--claim-undecided", "--field-fault"]
    texts += ["--md-typeset-color", "--md-typeset-a-color", "--md-default-fg-color--light"]
    least = {**dict.fromkeys(lines, 3), **dict.fromkeys(texts, 4.5)}
    reached = {name: round(contrast(variables[name], paper), 2) for name in least}
    assert {name: value for name, value in reached.items() if value < least[name]} == {}


BLIND = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""What is left of linear red, green and blue: Machado, Oliveira and Fernandes 2009, severity 1."""
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.95047, 1.0, 1.08883)


def times(matrix, vector) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour: str, blindness: str) -> tuple[float, float, float]:
    """CIELAB of #rrggbb as somebody with that blindness sees it."""
    seen = [min(1, max(0, part)) for part in times(BLIND[blindness], linear(colour))]
    x, y, z = (
        (part / white) ** (1 / 3) if part / white > 0.008856 else 7.787 * part / white + 16 / 116
        for part, white in zip(times(TO_XYZ, seen), WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("blindness", BLIND)
@pytest.mark.parametrize("palette", ["default", "slate"])
def test_series_can_be_told_apart_by_the_colour_blind(palette, blindness):
    """At least 15 in CIELAB between any two series, where about 2 is just noticeable."""
    colours = {n: lab(palettes()[palette][f"--chart-{n}"], blindness) for n in range(1, 7)}
    near = [pair for pair in itertools.combinations(colours, 2) if math.dist(*(colours[n] for n in pair)) < 15]
    assert near == []


@pytest.mark.parametrize("workflow", sorted((PROJECT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.name)
def test_workflows_are_pinned_and_may_do_little(workflow):
    text = workflow.read_text(encoding="utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    given = yaml.safe_load(text)
    assert given["permissions"] == {"contents": "read"}
    allowed = {"deploy": {"pages": "write", "id-token": "write"}}
    assert {name: job["permissions"] for name, job in given["jobs"].items() if "permissions" in job} in ({}, allowed)


def configuration(project: Path, building: bool) -> SimpleNamespace:
    return SimpleNamespace(
        config_file_path=str(project / "mkdocs.yml"),
        docs_dir=str(project / "docs"),
        nav=["index.md"],
        plugins={"i18n": SimpleNamespace(building=building)},
    )


def test_pages_are_rendered_once_a_build_not_once_a_language(hook, monkeypatch, tmp_path):
    rendered = []
    monkeypatch.setattr(hook, "render", rendered.append)
    for building in (False, True, True):
        hook.on_config(configuration(tmp_path, building))
    assert rendered == [tmp_path]


def test_the_readers_own_edition_is_in_the_navigation_where_it_was_rendered(hook, monkeypatch, tmp_path):
    monkeypatch.setattr(hook, "render", lambda project: None)
    assert hook.on_config(configuration(tmp_path, building=False)).nav == ["index.md"]
    (tmp_path / "docs" / "ko" / "here").mkdir(parents=True)
    (tmp_path / "docs" / "ko" / "here" / "index.md").touch()
    config = hook.on_config(hook.on_config(configuration(tmp_path, building=False)))
    assert config.nav == ["index.md", hook.HERE]


def test_the_start_page_has_the_readers_own_edition_where_it_was_rendered(hook, tmp_path):
    """In its language, and no other page of the name is touched."""
    config, place = configuration(tmp_path, building=False), tmp_path / "docs" / "ko" / "here" / "start.md"
    start, article = (SimpleNamespace(file=SimpleNamespace(src_uri=uri)) for uri in ("ko/index.md", "ko/here/index.md"))
    assert hook.on_page_read_source(start, config) is None
    place.parent.mkdir(parents=True)
    place.write_text("# with my own", encoding="utf-8")
    assert hook.on_page_read_source(start, config) == "# with my own"
    assert hook.on_page_read_source(article, config) is None
    assert hook.on_page_read_source(SimpleNamespace(file=SimpleNamespace(src_uri="en/index.md")), config) is None


def test_the_pages_of_runs_are_in_the_navigation(hook, monkeypatch, tmp_path):
    monkeypatch.setattr(hook, "render", lambda project: None)
    for run in ("one", "another"):
        folder = tmp_path / "docs" / "ko" / "runs" / run
        folder.mkdir(parents=True)
        (folder / "index.md").touch()
    config = hook.on_config(hook.on_config(configuration(tmp_path, building=False)))
    runs = {"runs": [{"another": "runs/another/index.md"}, {"one": "runs/one/index.md"}]}
    assert config.nav == ["index.md", runs]


def test_every_page_of_a_run_is_in_the_navigation_of_its_language(site):
    runs = [page for page in pages(site) if page.name.startswith("runs/")]
    assert {page.name for page in runs} >= {"runs/cpu/", "runs/h200-engines/"}
    for page in runs:
        start = next(other for other in pages(site) if (other.language, other.name) == (page.language, ""))
        assert page.path in link_ends(start), page.path


def test_results_that_cannot_be_used_fail_the_build_with_one_error(tmp_path):
    project = copy_project(tmp_path / "project")
    (project / "results.json").write_text('{"schema": 1, "runs": [')
    result = mkdocs(project, "build", "--strict", "--quiet")
    assert result.returncode == 1
    assert "could not render" in result.stderr and "results.json" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (project / "site" / "index.html").exists()


def edit_template(project: Path) -> None:
    """Adds a remark that every Chinese article shows, whole, by a file that takes the old one's place.

    One file alone: the server looks twice a second, and where a look falls between two writes it rebuilds for both.
    """
    template = project / "templates/article/00-opening/zh.md.j2"
    new = project / ".template.new"
    new.write_text(template.read_text(encoding="utf-8") + "\n\nremark-of-a-test\n", encoding="utf-8")
    new.replace(template)


def rebuilt_once(server: Server, edit, path: str, times: int) -> float:
    """Edits, for the given time, and waits until the page shows it: the seconds that took beyond the one rebuild."""
    before, start = server.page(path), time.monotonic()
    edit()
    while server.page(path) in (before, b""):
        assert time.monotonic() < start + 60, "the page never changed"
        time.sleep(0.02)
    shown = time.monotonic() - start
    server.wait("Reloading browsers", times)
    time.sleep(1.5)
    assert server.count("Building documentation...") == times + 1
    built = [re.search(r"Documentation built in ([\d.]+) seconds", line) for _, line in server.lines]
    return shown - float([match for match in built if match][-1].group(1))


def test_an_edit_while_serving_makes_one_rebuild(tmp_path):
    """Twice the data, as a replaced file must go on being watched; then a template."""
    project = copy_project(tmp_path / "project")
    with serving(project) as server:
        assert all(server.page(path) for path in ("", "en/", "zh/", "source/", "en/cpu/receipts/"))
        late = [rebuilt_once(server, lambda: edit_results(project / "results.json"), "zh/source/", n) for n in (1, 2)]
        late.append(rebuilt_once(server, lambda: edit_template(project), "zh/source/", 3))
        assert b"remark-of-a-test" in server.page("zh/source/")
    assert max(late) < 1, late


def without_epochs(page: bytes) -> bytes:
    """A page but for the numbers by which MkDocs' script knows of a rebuild."""
    return re.sub(rb"livereload\(\d+, \d+\)", b"", page)


def test_an_edit_that_cannot_be_rendered_is_told_and_the_site_stays_until_it_is_mended(tmp_path):
    """MkDocs alone would let every browser wait."""
    project = copy_project(tmp_path / "project")
    results = project / "results.json"
    whole = results.read_bytes()
    with serving(project) as server:
        before = without_epochs(server.page("zh/source/"))
        for times, broken in enumerate(
            (b'{"schema": 1, "runs": [', whole.replace(b'"unit"', b'"unit": "s", "unit"', 1)), 1
        ):
            results.write_bytes(broken)
            server.wait("The site is served as it was before", times)
            assert server.count("error: results.json: ") == times and server.count("appear stuck") == 0
            assert without_epochs(server.page("zh/source/")) == before
        results.write_bytes(whole)
        edit_results(results)
        server.wait("Documentation built in", 2)
        server.wait("Reloading browsers", 3)
        assert without_epochs(server.page("zh/source/")) not in (before, b"")


@pytest.mark.parametrize(("error", "kept"), [("NotRendered", True), ("PluginError", False)])
def test_only_what_cannot_be_rendered_leaves_the_site_as_it_was(hook, error, kept):
    """Another error may come once the site is cleared away."""

    def build():
        hook.on_build_error(error=getattr(hook, error)("wrong"))
        raise hook.Abort("Aborted")

    if kept:
        hook.patient(build)()
    else:
        with pytest.raises(hook.Abort):
            hook.patient(build)()
