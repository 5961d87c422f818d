"""Rendering: current, repeatable, whole where a sample is missing, moving with the data, safe with any text."""

import copy
import html
import json
import os
import re
import subprocess
import sys

import jinja2
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import DOCS, RESULTS, ROOT, TEMPLATES

from measure.merge import renamed
from measure.results import Import, Machine, Results, Run, Sample, Summary, dump, parse
from measure.store import load
from templates import environment, render, write
from templates.changes import machine
from templates.config import ConfigError
from templates.facts.edition import editions
from templates.labels import LANGUAGES, Labels
from templates.quantity import FAMILIES, Constant, Kind, Sampled
from templates.receipts import Receipts
from templates.shared import Shared

SHIPPED = load(RESULTS)
KEYS = [
    (run.id, text)
    for run in SHIPPED.runs
    if run.id != "here"
    for text, sample in run.samples.items()
    if sample.median  # nothing times a factor stays nothing
]
TOLD = {edition.id: edition for edition in editions(SHIPPED)}


def command(*arguments: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "templates", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


# What is committed


def test_committed_pages_are_what_the_data_say():
    assert list(write.differences(render.pages(SHIPPED), DOCS)) == []


def test_rendering_twice_gives_the_same():
    assert render.pages(load(RESULTS)) == render.pages(load(RESULTS))


def test_two_processes_render_identical_bytes(tmp_path):
    """Whatever order sets and dictionaries of text take in a process."""
    folders = [tmp_path / seed for seed in ("1", "2")]
    for folder in folders:
        line = [sys.executable, "-m", "templates", "--out", str(folder)]
        subprocess.run(
            line, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": folder.name}, capture_output=True, check=True
        )
    first, second = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders)
    assert first.keys() == second.keys() and len(first) > len(render.pages(SHIPPED))
    assert [path for path in first if first[path] != second[path]] == []


def test_no_run_of_a_reader_is_committed():
    """In a checkout that measured itself the file holds one; what is staged or committed must not."""
    staged = subprocess.run(["git", "show", ":results.json"], cwd=ROOT, capture_output=True, check=False)
    shipped = parse(staged.stdout) if staged.returncode == 0 else SHIPPED
    assert shipped.run("here") is None, "leave the run `here` out of the commit: git restore --staged results.json"


def test_a_run_that_an_edition_names_and_nobody_measured_is_told(tmp_path):
    less = tmp_path / "results.json"
    less.write_bytes(dump(Results([run for run in SHIPPED.runs if run.id != "cpu"])).encode())
    done = command("--results", str(less), "--out", str(tmp_path / "docs"))
    assert done.returncode == 0 and "templates/editions.toml: [cpu]: results.json has no run 'cpu'" in done.stderr


def test_every_sample_is_used():
    unused = [pair for edition in TOLD.values() for pair in edition.unused_samples()]
    told = [run for edition in TOLD.values() for run in edition.runs]
    earlier = [machine.earlier(run, SHIPPED.runs) for run in told if run.kind == "executed"]
    assert unused == []
    known = {run.id for run in [*told, *earlier] if run}
    assert known == {run.id for run in SHIPPED.runs}, "a run that no edition tells, nor the page of a later one"


def test_check_sees_a_stale_page(tmp_path):
    out = tmp_path / "docs"
    write.write(render.pages(SHIPPED), out)
    assert command("--check", "--out", str(out)).returncode == 0
    page = out / "en/source/index.md"
    page.write_text(page.read_text().replace("905", "906", 1))
    checked = command("--check", "--out", str(out))
    assert checked.returncode == 1
    assert "+| memory bandwidth" in checked.stdout or "905" in checked.stdout
    assert "python -m templates" in checked.stderr


def test_writing_touches_only_what_changed(tmp_path):
    files = {"ko/a.md": "1", "ko/b.md": "2"}
    assert write.write(files, tmp_path) == ["ko/a.md", "ko/b.md"]
    (tmp_path / "ko/own.md").write_text("by hand")
    before = (tmp_path / "ko/a.md").stat().st_mtime_ns
    assert write.write({"ko/a.md": "1"}, tmp_path) == ["ko/b.md"]
    assert (tmp_path / "ko/a.md").stat().st_mtime_ns == before
    assert (tmp_path / "ko/own.md").exists() and not (tmp_path / "ko/b.md").exists()


def test_a_manifest_cannot_delete_outside(tmp_path):
    (tmp_path / "docs").mkdir()
    victim = tmp_path / "victim.md"
    victim.write_text("keep me")
    (tmp_path / "docs" / write.MANIFEST).write_text("../victim.md\n")
    write.write({"ko/a.md": "1"}, tmp_path / "docs")
    assert victim.exists()


def test_the_readers_own_edition_is_listed_apart(tmp_path):
    write.write({"ko/a.md": "1", "ko/here/index.md": "2"}, tmp_path)
    assert (tmp_path / write.MANIFEST).read_text() == "ko/a.md\n"
    write.write({"ko/a.md": "1"}, tmp_path)
    assert not (tmp_path / "ko/here/index.md").exists() and not (tmp_path / write.LOCAL).exists()


def test_what_is_no_longer_rendered_is_told_as_removed_and_leaves_no_empty_folder(tmp_path):
    out, results = tmp_path / "docs", tmp_path / "r.json"
    words = ("--out", str(out), "--results", str(results))
    own = renamed(SHIPPED.run("cpu"), "here")
    results.write_text(dump(Results([*SHIPPED.runs, own])))
    assert "changed en/here/index.md" in command(*words).stdout.splitlines()
    (out / "zh/here/note.md").write_text("by hand")
    results.write_text(dump(SHIPPED))
    lines = command(*words).stdout.splitlines()
    assert "removed en/here/index.md" in lines and "changed en/here/index.md" not in lines
    assert re.fullmatch(r"\d+ files rendered, \d+ changed, \d+ removed", lines[-1])
    assert [str(place.relative_to(out)) for place in out.rglob("here")] == ["zh/here"]
    assert all(any(folder.iterdir()) for folder in out.rglob("*") if folder.is_dir())


# Without a sample, and with another value


def without(run_id, text):
    changed = Results([copy.copy(run) for run in SHIPPED.runs])
    run = changed.run(run_id)
    run.samples = {key: sample for key, sample in run.samples.items() if key != text}
    return changed


def scaled(run_id, text, factor):
    changed = without(run_id, text)
    sample = SHIPPED.run(run_id).samples[text]
    if isinstance(sample, Sample):
        new = msgspec.structs.replace(sample, values=[value * factor or factor for value in sample.values])
    else:
        ends = {end: None if (value := getattr(sample, end)) is None else value * factor for end in ("low", "high")}
        new = msgspec.structs.replace(sample, median=sample.median * factor, **ends)
    run = changed.run(run_id)
    run.samples = {key: new if key == text else sample for key, sample in SHIPPED.run(run_id).samples.items()}
    return changed


def reaches(quantity, run_id, text, *, strictly):
    """Whether a formula needs a sample; strictly: not only as one member of a family."""
    origin = quantity.origin
    if isinstance(origin, Sampled):
        return (origin.run, origin.key) == (run_id, text)
    if isinstance(origin, Constant):
        return origin.source == f"{run_id}: {text}"
    if strictly and origin.symbol in FAMILIES:
        return False
    return any(reaches(operand, run_id, text, strictly=strictly) for operand in origin.operands)


def telling(run_id):
    return [edition.id for edition in TOLD.values() if any(run.id == run_id for run in edition.runs)]


@pytest.mark.parametrize(("run_id", "text"), KEYS, ids=[f"{run}:{text}" for run, text in KEYS])
def test_without_a_sample(run_id, text):
    """Everything renders; what strictly needs the sample is unmeasured, or no longer made from it; the rest stays."""
    after = {told.edition.id: told for told in render.tell(without(run_id, text))}
    for name in telling(run_id):
        facts = after[name].edition.facts
        for fact in TOLD[name].facts.values():
            new = facts.get(fact.name)
            if not fact.measured or new is None:
                continue
            if reaches(fact, run_id, text, strictly=True):
                assert not new.measured or not reaches(new, run_id, text, strictly=True), fact.name
            elif not reaches(fact, run_id, text, strictly=False):
                stays = (new.value, new.kind) == (fact.value, fact.kind)
                # Without it another limit holds, and a sample may be rejected by that.
                rejected = any(absence.reason in ("rejected", "not_rejected") for absence in new.absences)
                assert stays or rejected or is_a_choice(fact), fact.name
        for language in LANGUAGES:
            assert render.article(after[name], render.Voice(language))


def is_a_choice(fact):
    """Facts over "the most requests timed", "all prompts", "the worked example" or "what ran on one card and on two":
    about others once one is gone.
    """
    last = fact.name.rsplit(".", 1)[1]
    return last in CHOSEN or ".models." in fact.name or ".turn." in fact.name


CHOSEN = (
    "context",
    "kv_per_request",
    "share_with_kv",
    "crossover_with_kv",
    "short_prompt_loss",
    "short_prompt_fixed",
    "count",
    "share_low",
    "share_high",
    "one_share_low",
    "one_share_high",
    "speed_gain_low",
    "speed_gain_high",
)


@pytest.mark.parametrize(("run_id", "text"), KEYS, ids=[f"{run}:{text}" for run, text in KEYS])
def test_with_another_value(run_id, text):
    """A sample times 1.37, or 1.37 for 0: its receipt changes in each language, so does that of a fact that changes."""
    after = {edition.id: edition for edition in editions(scaled(run_id, text, 1.37))}
    for name in telling(run_id):
        old, new = (Receipts(edition, {}, Shared()) for edition in (TOLD[name], after[name]))
        for language in LANGUAGES:
            before, now = (render.Voice(language, shared=page.shared) for page in (old, new))
            changed = 0
            for fact in TOLD[name].facts.values():
                other = after[name].facts.get(fact.name)
                own = fact.measured and fact.origin == Sampled(run_id, text)
                if own or (other is not None and before.value(fact) != now.value(other)):
                    assert receipt(old, before, fact) != receipt(new, now, other), fact.name
                    changed += 1
            assert changed


def receipt(page, voice, fact):
    if fact is None:
        return None
    return voice.spoken(page.fact(fact, 4) if fact.measured else page.missing(fact))


def told_on(results, edition_id, name, language="en"):
    """Machine and date on the receipt of a fact."""
    edition = next(one for one in editions(results) if one.id == edition_id)
    page = Receipts(edition, {}, Shared())
    text = receipt(page, render.Voice(language, shared=page.shared), edition.facts[name])
    rows = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    labels = Labels(language)
    wanted = [rows.get(labels.get("receipt", row), "") for row in ("machine", "date")]
    return [html.unescape(re.sub("<[^>]*>", "", row)).replace("\u00a0", " ") for row in wanted]


def test_a_calculated_number_tells_the_machine_and_the_days_of_all_its_samples():
    """Of the share of the bandwidth: the rate was timed on the 7th of January, the bandwidth on the 5th."""
    results = parse(RESULTS.read_bytes())
    run, share = results.run("cpu"), "cpu.transformers.qwen3-0.6b-fp32.share"
    machine = run.machine.name
    for key, sample in run.samples.items():
        day = 5 if key.startswith("bandwidth/") else 7 if key.endswith("fp32/rate?requests=1") else 6
        run.samples[key] = msgspec.structs.replace(sample, at=f"2027-01-{day:02}T12:00:00Z")
    assert told_on(results, "cpu", share) == [machine, "5 January 2027 … 7 January 2027"]
    assert told_on(results, "cpu", share.replace("share", "rate")) == [machine, "7 January 2027"]
    assert told_on(results, "cpu", share.replace("share", "rate"), "zh") == [machine, "2027 年 1 月 7 日"]


def test_a_reported_number_has_the_date_of_its_source_and_a_given_one_has_none():
    told = [told_on(load(RESULTS), "source", f"source-b.vllm.qwen3-1.7b-bf16.{name}") for name in ("share", "rate")]
    assert told == [["machine B, an 8 GB-class GPU", "6 October 2026 (date of the source article)"]] * 2
    assert told_on(load(RESULTS), "source", "threshold.near") == ["", ""]


# Bad input


def damaged(**changes):
    text = json.loads(RESULTS.read_text())
    text.update(changes)
    return text


BROKEN = {
    "truncated": (RESULTS.read_text()[:400], "not a results file"),
    "not JSON": ("hello", "not a results file"),
    "no runs": ('{"schema": 1}', "runs"),
    "schema": (json.dumps(damaged(schema=99)), "schema 99"),
    "unknown field": (json.dumps(damaged(extra=1)), "extra"),
    "NaN": (RESULTS.read_text().replace("85.6", "NaN", 1), "not a results file"),
    "infinity": (RESULTS.read_text().replace("85.6", "1e999", 1), "rate?requests=1"),
    "wrong type": (RESULTS.read_text().replace("85.6", '"fast"', 1), "rate?requests=1"),
    "unit": (RESULTS.read_text().replace('"unit": "tok/s"', '"unit": "GB/s"', 1), "tok/s"),
    "unknown key": (RESULTS.read_text().replace("bandwidth/sum", "bandwidth sum", 1), "bandwidth sum"),
    "date": (RESULTS.read_text().replace('"started": "2026-10-06"', '"started": "yesterday"', 1), "yesterday"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gets_one_clear_error(name, tmp_path):
    text, told = BROKEN[name]
    file = tmp_path / "broken.json"
    file.write_text(text)
    out = tmp_path / "docs"
    run = command("--results", str(file), "--out", str(out))
    assert run.returncode == 1
    assert told in run.stderr and "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not out.exists(), "something was written"


def test_a_missing_file_is_named(tmp_path):
    run = command("--results", str(tmp_path / "nothing.json"))
    assert run.returncode == 1 and "nothing.json" in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("{{ focus.sharee }}", "sharee"),
        ("{{ c.no_such_claim }}", "no_such_claim"),
        ("{{ t.nearr }}", "nearr"),
        ("{{ unknown_name }}", "unknown_name"),
        ("{% if %}", "expression"),
        ('{{ label("kind", "wrong") }}', "wrong"),
    ],
)
def test_a_misspelt_name_is_an_error_with_file_and_line(wrong, named, tmp_path, monkeypatch):
    page = tmp_path / "article/99-wrong/en.md.j2"
    page.parent.mkdir(parents=True)
    page.write_text(f"one\n\n{wrong}\n")
    monkeypatch.setattr(render, "HERE", tmp_path)
    monkeypatch.setattr(environment, "HERE", tmp_path)
    environment.environment.cache_clear()
    try:
        told = render.tell(SHIPPED)[0]
        with pytest.raises((render.RenderError, ConfigError), match=r"article/99-wrong/en\.md\.j2:3\b") as error:
            render.Page(told, render.Voice("en")).render("article/99-wrong/en.md.j2")
        assert named in str(error.value)
    finally:
        monkeypatch.undo()
        environment.environment.cache_clear()


@pytest.mark.parametrize("damage", [b"", b"j2", None, b"garbage" * 50])
def test_a_damaged_compiled_template_is_compiled_anew(damage, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    source = tmp_path / "one.j2"
    source.write_text("{{ 1 + 1 }}")

    def rendered():
        cache = environment.Compiled(str(kept), pattern="%s.cache")
        loader = jinja2.FileSystemLoader(tmp_path)
        return jinja2.Environment(loader=loader, bytecode_cache=cache).get_template("one.j2").render()

    assert rendered() == "2"
    (compiled,) = kept.iterdir()
    whole = compiled.read_bytes()
    compiled.write_bytes(whole[: len(whole) // 3] if damage is None else damage)
    assert rendered() == "2"
    assert compiled.read_bytes() == whole


def test_templates_are_rendered_where_nothing_can_be_kept(tmp_path):
    cache = environment.Compiled(str(tmp_path / "no such folder"), pattern="%s.cache")
    loader = jinja2.DictLoader({"one.j2": "{{ 1 + 1 }}"})
    assert jinja2.Environment(loader=loader, bytecode_cache=cache).get_template("one.j2").render() == "2"


HOSTILE = [
    "<script>alert(1)</script>",
    "**bold** _it_ `code` [a](http://x.example)",
    "{{ 7 * 7 }} {% raw %}",
    "| a | b |\n|---|---|",
    "# heading\n\n- item",
    "&lt;b&gt; &amp;",
    "[ 1 ]",
    "](receipts/#x) ![x](y)",
    "1. one",
    "은(는) 이(가)",
    "\u202eright to left\u0000",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_machine_name_comes_out_as_text(text):
    assert_text(text)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(min_size=1, max_size=40))
def test_any_text_comes_out_as_text(text):
    assert_text(text)


JOINERS = "\u200c\u200d"
"""Characters of no width that belong to the spelling of some scripts, and to emoji."""


def assert_text(text):
    """The name of an executed run's machine, converted by the site's Markdown, reads as it was written."""
    import markdown

    from templates.html import plain

    converted = markdown.markdown(f"before {plain(text)} after", extensions=["tables", "attr_list", "md_in_html"])
    assert converted.startswith("<p>before ") and converted.endswith(" after</p>")
    inner = converted.removeprefix("<p>before ").removesuffix(" after</p>")
    assert "<" not in inner
    seen = re.sub(r"\s+", " ", "".join(c if c.isprintable() or c in JOINERS else " " for c in text))
    isolated = html.unescape(inner)
    assert isolated.removeprefix("\u2068").removesuffix("\u2069") == seen, "but for what keeps its direction to itself"


def test_a_hostile_machine_does_not_change_the_pages_structure():
    results = parse(dump(SHIPPED).encode())
    run = copy.copy(results.runs[0])
    run.id, run.kind = "here", "executed"
    run.samples, run.failures = {}, {}
    run.machine = Machine(name="<b>|{{ 1 }}|</b>", device="cpu", processor="**x**", driver="`y`", system="[z](q)")
    results.runs.append(run)
    pages = render.pages(results)
    for path, text in pages.items():
        if "/here/" in path and path.endswith(".md"):
            for piece in ("<b>", "**x**", "`y`", "[z](q)"):
                assert piece not in text, path


def told_of_imports(kind):
    """The shipped data with a run `here` that holds imports: all values of one, a summary of the other."""
    subject = "decode_llama/qwen3-0.6b-q8_0"
    made = {"tool": "llama-bench <b>", "sha256": "0a" * 32, "given": {"model": "qwen3-0.6b-q8_0"}}
    samples = {
        f"{subject}/rate?requests=1": Import("tok/s", **made, values=[98.0, 100.0, 101.0], at="2026-11-29T13:45:00Z"),
        f"{subject}/prefill_rate?tokens=512": Import("tok/s", **made, summary=Summary(5000.0, 4900.0, 5100.0, 20)),
    }
    results = parse(dump(SHIPPED).encode())
    results.runs.append(Run("here", kind, Machine("NVIDIA H200", "cuda"), "2026-11-29", samples))
    return parse(dump(results).encode())


@pytest.mark.parametrize("kind", ["imported", "executed"])
def test_an_import_is_told_apart_and_its_receipt_names_tool_file_and_what_was_told(kind):
    results = told_of_imports(kind)
    edition = next(edition for edition in editions(results) if edition.id == "here")
    rate, prefill = (edition.facts[f"here.llama.qwen3-0.6b-q8_0.{name}"] for name in ("rate", "p512.rate"))
    assert (rate.kind, rate.value) == (Kind.IMPORTED, 100.0)
    assert (prefill.low, prefill.value, prefill.high) == (4900.0, 5000.0, 5100.0)
    assert edition.facts["here.llama.qwen3-0.6b-q8_0.token_time"].kind is Kind.CALCULATED
    missing = edition.facts["here.llama.qwen3-0.6b-q8_0.weights"].absences[0].reason
    assert missing == {"imported": "not_imported", "executed": "not_run"}[kind]
    pages = render.pages(results)
    for language, words in (("ko", "가져온 값"), ("en", "imported"), ("zh", "导入")):
        text = pages[f"{language}/here/receipts.md"]
        receipt = text[text.index('id="here.llama.qwen3-0.6b-q8_0.rate"') :].partition("</section>")[0]
        assert "<b>" not in receipt
        told = (words, f"SHA-256 {'0a' * 32}", "model=qwen3-0.6b-q8_0", "98.00, 100.0, 101.0", "llama-bench <b>")
        assert all(part in html.unescape(receipt) for part in told), receipt
        assert "python -m measure" not in receipt


def test_facts_as_json():
    described = json.loads(command("facts", "--edition", "source", "--json").stdout)
    ceiling = described["facts"]["source-a.llama.gemma4-12b-q4_0.ceiling"]
    assert ceiling["value"] == pytest.approx(905 / 7)
    assert ceiling["unit"] == "tok/s"
    assert ceiling["formula"] == "memory bandwidth ÷ weights read per token"
    assert ceiling["inputs"] == ["source-a.bandwidth", "source-a.llama.gemma4-12b-q4_0.read_per_token"]
    assert described["facts"]["source-a.triad"]["reason"]
    assert described["claims"]["models_near_bandwidth"]["outcome"] == "holds"
    assert described["claims"]["focus_near_bandwidth"]["outcome"] == "refuted"


def test_an_unknown_edition_is_named():
    run = command("facts", "--edition", "nowhere")
    assert run.returncode == 1 and "nowhere" in run.stderr and "source" in run.stderr


def test_rendering_imports_no_engine():
    code = "import sys, templates.cli; print([m for m in ('torch', 'transformers', 'vllm') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert run.stdout.strip() == "[]"


def test_measuring_does_not_import_rendering():
    for path in (ROOT / "measure").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) templates", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
    for path in TEMPLATES.rglob("*.py"):
        for module in re.findall(
            r"^from measure(?:\.(\w+))? import (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            assert (module[0] or module[1]) in ("results", "keys", "store", "limits", "models", "invocation"), path.name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", TOLD)
def test_each_group_of_receipts_has_a_heading_of_its_own(name, language):
    """Its part of the contents is a landmark, which one has to be able to tell from the others."""
    page = (ROOT / "docs" / language / name / "receipts.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*) \{#", page, re.MULTILINE)
    assert len(headings) > 5 and len(set(headings)) == len(headings)
