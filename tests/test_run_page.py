"""The page of an executed run: what was measured, what changed since the run before, which conclusions differ."""

import copy
import html
import re

import markdown
import msgspec
import pytest
from paths import RESULTS

from measure import limits, models
from measure.results import Failure, Results, Run
from measure.store import load
from templates import render, typography, write
from templates.changes import claim
from templates.claims import CLAIMS
from templates.labels import LANGUAGES, Labels
from templates.run_page import GROUPS, rests_on, standing
from templates.truth import Claim, Outcome, Truth

SHIPPED = load(RESULTS)
EXECUTED = [run for run in SHIPPED.runs if run.kind == "executed" and claim.telling(run.id)]
"""Those that an edition tells."""
RUN = SHIPPED.run("h200-engines")
CPU = SHIPPED.run("cpu")
SOUND = [text for text, verdict in limits.verdicts(RUN, models).items() if verdict.status != "rejected"]
PRODUCT = "matmul/throughput?dtype=fp8&n=8192"


def page(results: Results, run_id: str, language: str) -> str:
    return render.pages(results)[f"{language}/runs/{run_id}/index.md"]


def earlier() -> Run:
    """A run of the same machine, made before: prompts were slow, one product failed, the driver was another."""
    samples = dict(RUN.samples)
    del samples[PRODUCT]
    for text in samples:
        if "prefill_rate" in text:
            values = [value * 1e-4 for value in samples[text].values]
            config = {**samples[text].config, "threads": "a_b|c"}
            samples[text] = msgspec.structs.replace(samples[text], values=values, config=config)
    machine = msgspec.structs.replace(RUN.machine, driver="<b>1.0|2</b>")
    failures = {PRODUCT: Failure("out_of_memory")}
    return Run("h200-earlier", "executed", machine, "2026-11-29T20:00:00Z", samples, failures)


@pytest.fixture(scope="module")
def rendered() -> dict[str, str]:
    return render.pages(Results([*SHIPPED.runs, earlier()]))


def test_every_executed_run_has_a_page_and_no_other():
    pages = {path for path in render.pages(SHIPPED) if "/runs/" in path}
    assert pages == {f"{language}/runs/{run.id}/index.md" for language in LANGUAGES for run in EXECUTED}


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_tells_what_was_measured(language):
    text = html.unescape(page(SHIPPED, RUN.id, language))
    assert f">{RUN.machine.name}<" in text and f">{RUN.machine.processor}<" in text
    expected: dict[str, list[int]] = {}
    for key, sample in RUN.samples.items():
        expected.setdefault(key.split("/")[0], []).append(sample.count)
    table = re.findall(r"^\| <code>(\w+)</code> \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert table == [(name, f"{len(counts):,}", f"{sum(counts):,}") for name, counts in expected.items()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_first_run_says_that_there_is_none_before(language):
    first = page(SHIPPED, CPU.id, language)
    assert "h200-earlier" not in first
    words = {"ko": "견줄 대상이 없습니다", "en": "nothing to compare", "zh": "无从比较"}
    assert words[language] in first


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_tells_what_changed_since_the_run_before(rendered, language):
    text, labels = rendered[f"{language}/runs/{RUN.id}/index.md"], Labels(language)
    assert "h200-earlier" in text
    slow = [key for key in SOUND if "prefill_rate" in key]
    counts = {"changed": len(slow), "gained": 1, "within": len(SOUND) - len(slow) - 1}
    for kind, number in counts.items():
        assert f"| {labels.get('change', kind)} | {number} |" in text
    assert text.count(f"</small> | {labels.get('change', 'changed')} |") == len(slow)
    assert f"| {labels.get('change', 'gained')} | {labels.get('reason', 'out_of_memory')} |" in text
    assert text.count("<code>threads</code> a&#95;b&#124;c → 16</small>") == sum(
        "threads" in RUN.samples[key].config for key in slow
    )
    assert "1.0&#124;2" in text and "<b>" not in text, "a version is text, and no markup"
    assert f'| {labels.get("claim", "focus_prefill_faster")} | <span class="claim refuted">' in text
    assert typography.lint(text, language) == []


def test_a_run_that_no_edition_tells_has_no_page(rendered):
    assert not [path for path in rendered if "h200-earlier" in path]


def test_the_languages_tell_the_same(rendered):
    """The same links, to the same facts and claims, and tables of the same size."""
    pages = [rendered[f"{language}/runs/{RUN.id}/index.md"] for language in LANGUAGES]
    for found in (r'href="([^"]+)"', r"\]\(([^)]+)\)", r"\{#([\w-]+)\}", r"(?m)^(\|)"):
        first, *others = ([*re.findall(found, text)] for text in pages)
        assert first and all(other == first for other in others), found


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_lead_to_receipts(rendered, language):
    for run in EXECUTED:
        text = rendered[f"{language}/runs/{run.id}/index.md"]
        links = re.findall(r'href="\.\./\.\./([\w-]+)/receipts/#([^"]+)"', text)
        assert len(links) >= len(GROUPS)
        for edition, anchor in links:
            assert f'id="{anchor}"' in rendered[f"{language}/{edition}/receipts.md"]
    receipts = rendered[f"{language}/h200/receipts.md"]
    assert f'href="../../runs/{RUN.id}/"' in receipts


def test_a_readers_run_is_told_and_changes_no_committed_page(tmp_path):
    """Also where it is of a machine that has a page: `here` stays on the reader's computer."""
    here = msgspec.structs.replace(earlier(), id="here")
    alone, beside = render.pages(SHIPPED), render.pages(Results([*SHIPPED.runs, here]))
    assert {path: beside[path] for path in alone} == alone
    added = {path for path in beside if path not in alone and path.endswith(".md")}
    assert {f"{language}/runs/here/index.md" for language in LANGUAGES} <= added
    write.write(beside, tmp_path)
    assert "here" not in (tmp_path / write.MANIFEST).read_text()
    assert "en/runs/here/index.md" in (tmp_path / write.LOCAL).read_text()


def test_a_later_run_of_a_reader_is_compared_with_the_published_one():
    here = copy.copy(RUN)
    here.id, here.started = "here", "2027-01-01"
    before = [run for run in SHIPPED.runs if run.started <= RUN.started]
    text = page(Results([*before, here]), "here", "en")
    assert f"on the same machine is {RUN.id}," in text
    assert f"| within the spread | {len(SOUND)} |" in text
    assert "came out the same with the run before" in text


H, R, U = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("there", "here", "group"),
    [
        (H, H, "same"),
        (R, R, "same"),
        (H, R, "turned"),
        (R, H, "turned"),
        (U, H, "decided"),
        (U, R, "decided"),
        (H, U, "open"),
        (R, U, "open"),
        (U, U, "neither"),
    ],
)
def test_how_outcomes_stand_to_each_other(there, here, group):
    assert standing(Claim("a", Truth(there)), Claim("a", Truth(here))) == group


def test_every_claim_that_rests_on_the_run_stands_once_and_no_other():
    told = {each.edition.id: each for each in render.tell(SHIPPED)}
    for run, edition in ((RUN, "h200"), (CPU, "cpu")):
        text = page(SHIPPED, run.id, "en")
        here = re.findall(rf'href="\.\./\.\./{edition}/receipts/#claim\.(\w+)"', text.partition("{#run-claims}")[2])
        resting = [name for name in CLAIMS if rests_on(told[edition].claims[name], run)]
        assert sorted(here) == sorted(resting) and 0 < len(resting) < len(CLAIMS)


def test_a_claim_about_others_does_not_rest_on_the_run():
    told = {each.edition.id: each for each in render.tell(SHIPPED)}
    judged = told["h200"].claims
    assert rests_on(judged["models_near_bandwidth"], RUN)
    assert rests_on(judged["datasheet_reached"], RUN), "of its two sides one is measured"
    assert not rests_on(judged["models_near_bandwidth"], CPU)
    assert not rests_on(told["cpu"].claims["faster_than_playback"], CPU), "it asks for samples that the run lacks"


@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_of_one_measurement_that_lack_for_one_reason_are_folded_into_a_row(language):
    """A reader without an engine has a hundred of them, each for the same reason."""
    many = [f"decode_vllm/qwen3-4b-fp8/rate?requests={n}" for n in range(1, 100)]
    failures = {**dict.fromkeys(many, Failure("engine_missing")), "bandwidth/sum": Failure("crashed")}
    failures["decode_vllm/qwen3-4b-fp8/memory"] = Failure("crashed")
    told = msgspec.structs.replace(RUN, failures=failures)
    text = page(Results([told if run is RUN else run for run in SHIPPED.runs]), RUN.id, language)
    reasons = Labels(language)
    cells = [line.strip("| ").split(" | ") for line in html.unescape(text).splitlines() if "<details>" in line]
    ((folded, number, reason),) = cells
    assert folded.startswith("<details><summary><code>decode_vllm</code></summary>")
    assert number == "99" and reason == reasons.get("reason", "engine_missing")
    assert all(f"<code>{key}</code><br>" in folded for key in many)
    for single in ("bandwidth/sum", "decode_vllm/qwen3-4b-fp8/memory"):
        assert f"| <code>{single}</code> | 1 | {reasons.get('reason', 'crashed')} |" in html.unescape(text)
    assert "<details>" in markdown.markdown(text, extensions=["tables", "attr_list"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_failed_and_was_never_run_before_is_no_change(language):
    """It is among what has no sample, and counted; a row each would be the longest table of the page."""
    before = msgspec.structs.replace(CPU, id="cpu-before", started="2026-11-28T00:00:00Z")
    failed = {"decode_vllm/qwen3-4b-fp8/rate?requests=77": Failure("engine_missing")}
    now = msgspec.structs.replace(CPU, failures=failed)
    data = Results([before, *(now if run is CPU else run for run in SHIPPED.runs)])
    text = html.unescape(page(data, CPU.id, language))
    assert "cpu-before" in text and text.count("requests=77") == 1
    assert f"| {Labels(language).get('change', 'still_none')} | 1 |" in text
