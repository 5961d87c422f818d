"""What the page on data promises: addresses that neither order nor number of receipts changes, and a true citation."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import msgspec
import pytest
import yaml
from paths import RESULTS, ROOT
from sites import markup, pages

from measure.results import Results
from measure.store import load
from templates import render
from templates.data_page import Data
from templates.facts.edition import editions
from templates.labels import LANGUAGES
from templates.receipts import Receipts
from templates.shared import Shared
from templates.voice import Voice

SHIPPED = load(RESULTS)
SECTION = re.compile(r'<(section|li) (?:class="receipt" )?id="([^"]+)">(.*?)</\1>', re.DOTALL)
TOLD = re.compile(r'<span class="(?:fact|claim)[^>]*>.*?</span>')


def receipts(results: Results, edition: str) -> dict[str, str]:
    """What each receipt of an edition tells at its address: the number, or the outcome."""
    told = next(each for each in render.tell(results) if each.edition.id == edition)
    page = Voice("en", shared=(shared := Shared())).spoken(Receipts(told.edition, told.claims, shared).page())
    found = [(name, "".join(TOLD.findall(body))) for _, name, body in SECTION.findall(page)]
    assert len(dict(found)) == len(found), "an address that leads to two receipts"
    return dict(found)


@pytest.fixture(scope="module")
def addresses():
    return receipts(SHIPPED, "h200")


def test_the_order_of_runs_and_samples_is_no_part_of_an_address(addresses):
    turned = [
        msgspec.structs.replace(run, samples=dict(reversed(run.samples.items()))) for run in reversed(SHIPPED.runs)
    ]
    assert receipts(Results(turned), "h200") == addresses


def test_further_or_missing_receipts_move_no_other(addresses):
    """Without the samples of one model each other receipt stands where it stood, and with another run too."""
    fewer = [
        msgspec.structs.replace(run, samples={key: s for key, s in run.samples.items() if "/qwen3-4b-fp8/" not in key})
        for run in SHIPPED.runs
    ]
    left = receipts(Results(fewer), "h200")
    assert len(left) < len(addresses)
    kept = {name: said for name, said in left.items() if name.startswith("h200-engines.llama.")}
    assert len(kept) > 100 and kept == {name: addresses[name] for name in kept}
    run = next(run for run in SHIPPED.runs if run.id == "cpu")
    more = Results([msgspec.structs.replace(run, id="another"), *SHIPPED.runs])
    assert receipts(more, "h200") == addresses


def test_an_address_is_made_of_the_numbers_key():
    """The one that the page gives as an example: run, engine, model and quantity, in the edition that tells it."""
    focus = editions(SHIPPED)[0].focus
    assert focus.rate.name == "source-a.llama.gemma4-12b-q4_0.rate"
    page = render.pages(SHIPPED)["en/data.md"]
    assert f'<a href="../source/receipts/#{focus.rate.name}">' in page


def test_the_page_counts_what_is_published():
    own = msgspec.structs.replace(SHIPPED.runs[0], id="here")
    data = Data(Results([*SHIPPED.runs, own]), Voice("en"))
    public = [run for run in SHIPPED.runs if run.id != "here"]
    assert len(data.runs) == len(public) and data.samples == sum(len(run.samples) for run in public)
    assert data.latest == max(run.started[:10] for run in public)
    assert Data(Results([]), Voice("en")).latest == "2026-10-06"


def test_the_entry_for_bibtex_says_what_the_citation_file_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    data = Data(SHIPPED, Voice("en"))
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", data.bibtex, re.MULTILINE))
    assert fields == {
        "author": f"{{{cited['authors'][0]['name']}}}",
        "title": f"{{{cited['title']}}}",
        "year": data.latest[:4],
        "version": cited["version"],
        "note": f"measured up to {data.latest}",
        "url": "SITE_URL",
    }
    assert data.bibtex.startswith("@misc{voice-in-numbers,\n") and data.bibtex.endswith("\n}")


def test_the_built_page_names_the_sites_address(site):
    found = [page for page in pages(site) if page.name == "data/"]
    assert [page.language for page in found] == list(LANGUAGES)
    for page in found:
        text = "".join(markup(page.file).text)
        assert "url = {https://example.github.io/voice-in-numbers/}," in text and "SITE_URL" not in text


@pytest.mark.parametrize(
    ("site_url", "told"), [("https://a.example/", "a\nurl = {https://a.example/},\nb"), ("", "a\nb")]
)
def test_without_an_address_the_line_is_left_out(site_url, told, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "hooks")
    import downloads as hook

    config = SimpleNamespace(site_url=site_url)
    assert hook.on_page_markdown("a\nurl = {SITE_URL},\nb", None, config, None) == told
    for name in ("downloads", "pages", "tables", "words"):
        del sys.modules[name]
