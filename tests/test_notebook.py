"""The notebook: its outputs follow from the data, are the committed ones, and are known when they are stale."""

from __future__ import annotations

import copy
import gzip
import html
import json
import logging
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from paths import DOCS, RESULTS, ROOT
from sites import PROJECT, markup, pages

from measure.results import Machine, Results, Run, Sample
from measure.store import load
from templates import cli, render, typography, write
from templates.charts import checked
from templates.facts.edition import editions
from templates.labels import LANGUAGES
from templates.notebook import NotebookError, execute, show, source
from templates.quantity import Constant, missing

SHIPPED = load(RESULTS)
TOLD = render.tell(SHIPPED)
MODEL = "decode_vllm/qwen3-0.6b-bf16"
SPEECH = "tts_voxcpm/voxcpm2-bf16"


def sample(unit, value, **config):
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x", config)


def made_up() -> Results:
    """One model of 10 GB at 1000 GB/s, and utterances that take 0.5 s and a tenth of their sound."""
    lengths = {"output_tokens_short": 16, "output_tokens_long": 80, "prompt_tokens": 16}
    models = {
        "bandwidth/sum": sample("GB/s", 1000.0, buffer_bytes=2**33),
        "matmul/throughput?dtype=bf16&n=4096": sample("TFLOPS", 100.0),
        f"{MODEL}/loaded_weights": sample("GB", 10.0),
        f"{MODEL}/parameters_without_embeddings": sample("param", 5e9),
        f"{MODEL}/rate?requests=1": sample("tok/s", 50.0, requests=1, **lengths),
    }
    speech = {
        f"{SPEECH}/utterance_time?patches={patches}": sample("s", 0.5 + 0.1 * patches / 6.25)
        for patches in (25, 50, 75, 100)
    }
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    return Results(
        [
            Run(name, "executed", machine, "2026-11-01", samples)
            for name, samples in (("h200-engines", models), ("h200-speech", speech))
        ]
    )


@pytest.fixture
def ran(monkeypatch):
    """Runs the notebook's code in this process: what it shows for some results, with lines of it replaced."""

    def run(results: Results, **replaced: str) -> list[dict]:
        shown: list[dict] = []
        monkeypatch.setattr(show, "display", lambda bundle, raw: shown.append(bundle))
        monkeypatch.setattr("measure.store.load", lambda path: results)
        text = "\n".join(source.code("en").values())
        for name, value in replaced.items():
            text, found = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
            assert found == 1, name
        exec(compile(text, "cells.py", "exec"), {})
        return shown

    return run


def tables(bundle: dict) -> list[list[str]]:
    """The rows of an output's table as text."""
    rows = re.findall(r"<tr>(.*?)</tr>", bundle["text/html"], re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub("<[^>]*>", "", cell)).replace("\u00a0", " ") for cell in row] for row in cells]


def read(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def cells_of(notebook: dict, kind: str) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind}


# What it shows


def test_numbers_follow_from_the_samples():
    """In a kernel: reading 10 GB and little else takes 10 ms, so 50 tok/s are half of what the bandwidth allows."""
    results = made_up()
    notebook = json.loads(execute.executed(render.tell(results), results, "en"))
    outputs = {c["id"]: c["outputs"] for c in notebook["cells"] if c["cell_type"] == "code"}
    joined = {name: ["".join(one["data"]["text/html"]) for one in told] for name, told in outputs.items()}
    rows = {name: tables({"text/html": told[0]}) for name, told in joined.items()}
    assert ["Measured on an H200", "1,000 GB/s", "1", "4"] in rows["data"]
    single = rows["requests"][-1]
    assert single[:3] == ["1", "50.0 tok/s", "99.9 tok/s"] and single[-1] == "50.0%"
    assert rows["roofline"][-1][-1] == "50.0%", "what reading bounds is as far from the roof"
    assert rows["synthesis"][-1][:3] == ["16.0 s", "2.10 s", "2.10 s"]
    assert tables({"text/html": joined["synthesis"][1]})[-1] == ["0.100", "0.500 s"]


def test_the_bound_by_reading_shares_weights_and_not_the_cache(ran):
    """114,688 B a token: 512 requests of 32,768 tokens read 1,924 GB more than the 10 GB, at 1000 GB/s 265 tok/s."""
    *_, contexts, _, _ = ran(made_up())
    assert tables(contexts)[0] == ["at once", "128 tokens", "1,024 tokens", "8,192 tokens", "32,768 tokens"]
    assert tables(contexts)[-1][-1] == "265 tok/s"


def test_a_shorter_utterance_can_be_left_out(ran):
    whole, longer = ran(made_up())[-2], ran(made_up(), shortest="5  # seconds")[-2]
    assert [row[0] for row in tables(whole)[1:]] == ["4.00 s", "8.00 s", "12.0 s", "16.0 s"]
    assert [row[0] for row in tables(longer)[1:]] == ["8.00 s", "12.0 s", "16.0 s"]


@pytest.mark.parametrize("edition", ["source", "h200", "cpu"])
@pytest.mark.parametrize("engines", ["edition.engines[-1:]", "edition.engines"])
def test_every_edition_and_engine_can_be_shown(ran, edition, engines):
    shown = ran(SHIPPED, EDITION=repr(edition), engines=engines)
    assert len(shown) == 6
    for bundle in shown:
        assert bundle["text/html"].startswith(("<table>", '<figure class="chart'))
        if show.PLOTLY in bundle:
            checked(bundle[show.PLOTLY])
            assert "var:" not in json.dumps(bundle[show.PLOTLY])


def test_what_was_not_measured_is_said_to_be(ran):
    for results in (Results([]), Results(made_up().runs[1:])):
        shown = ran(results)
        assert "chart missing" in shown[1]["text/html"] and "unmeasured" in shown[1]["text/html"]
    assert "chart missing" not in shown[-2]["text/html"] and "unmeasured" in shown[0]["text/html"]


def test_a_measured_number_leads_to_the_receipt_of_its_edition_and_others_tell_their_formula():
    told = {edition.id: edition for edition in editions(SHIPPED)}
    shown = show.Show(told, "h200", "en")
    model = told["cpu"].models[0]
    assert f'href="../cpu/receipts/#{model.rate.name}"' in shown.cell(model.rate)
    span = shown.cell(model.weights / told["cpu"].direct.bandwidth)
    assert span.startswith('<span class="fact calculated"') and "÷" in span and "href" not in span
    doubted = next(batch.rate for model in told["h200"].models for batch in model.batches if batch.rate.doubts)
    assert shown.cell(doubted / model.rate).startswith(
        '<span class="fact calculated doubted" title="calculated, suspect'
    )
    absent = shown.cell(missing("s", Constant("x"), "no_run", "x"))
    assert 'class="fact unmeasured"' in absent and "title=" in absent


# Three languages of one notebook


@pytest.mark.parametrize("language", LANGUAGES)
def test_executing_gives_the_committed_bytes(language):
    committed = (DOCS / language / source.FILE).read_text(encoding="utf-8")
    assert execute.executed(TOLD, SHIPPED, language) == committed, f"run `{source.COMMAND}`"


def test_the_code_is_the_same_in_all_languages():
    codes = [cells_of(read(DOCS / language / source.FILE), "code") for language in LANGUAGES]
    for language, code in zip(LANGUAGES, codes, strict=True):
        text = "\n".join(code.values())
        assert text.count(f'"{language}"  # or') == 1
        assert {name: part.replace(f'LANGUAGE = "{language}"', "") for name, part in code.items()} == {
            name: part.replace(f'LANGUAGE = "{LANGUAGES[0]}"', "") for name, part in codes[0].items()
        }
    assert list(codes[0]) == list(source.code("en")), "each cell once, in the order of cells.py"


def test_code_fits_the_page():
    assert [line for cell in source.code("en").values() for line in cell.splitlines() if len(line) > 79] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_typography(language):
    prose = cells_of(source.notebook(TOLD, language), "markdown").values()
    assert [finding for text in prose for finding in typography.lint(text, language)] == []


# Stale or not


def changed(run: str, key: str, factor: float = 1.5) -> Results:
    results = copy.deepcopy(SHIPPED)
    found = results.run(run).samples
    values = [value * factor for value in found[key].values]
    found[key] = Sample(found[key].unit, values, found[key].at, found[key].command, found[key].config)
    return results


def digest(results: Results, language: str = "en") -> str:
    return source.digests(editions(results))[language]


def test_the_hash_changes_with_what_is_read_and_with_nothing_else():
    before = digest(SHIPPED)
    rate = "decode_vllm/qwen3-0.6b-bf16/rate?requests=1"
    assert digest(changed("h200-engines", rate, 0.9)) != before
    assert digest(changed("h200-speech", f"{SPEECH}/utterance_time?patches=25", 0.99)) != before
    elsewhere = next(key for key in SHIPPED.run("h200-speech").samples if key.startswith("asr_"))
    assert digest(changed("h200-speech", elsewhere)) == before
    assert digest(SHIPPED, "ko") != before
    own = copy.deepcopy(SHIPPED)
    own.runs.append(Run("here", "executed", made_up().runs[0].machine, "2026-11-01", made_up().runs[0].samples))
    assert digest(own) == before, "a reader's own run is never committed"


@pytest.mark.parametrize("what", ["code", "words"])
def test_the_hash_changes_with_code_and_words(monkeypatch, what):
    before = digest(SHIPPED)
    if what == "code":
        monkeypatch.setattr(source, "code", lambda language: {"data": "other()"})
    else:
        monkeypatch.setattr(source.Labels, "section", lambda self, section: {"model": "other"})
    assert digest(SHIPPED) != before


def test_the_code_shows_no_fact_that_is_not_hashed(ran):
    hashed = {fact.name for edition in editions(SHIPPED) for fact in source.read(edition)}
    for edition in ("source", "h200", "cpu"):
        for bundle in ran(SHIPPED, EDITION=repr(edition), engines="edition.engines"):
            linked = set(re.findall(r'href="[^"]*#([^"]+)"', bundle["text/html"]))
            assert linked <= hashed, linked - hashed


@pytest.fixture
def folder(tmp_path):
    """A folder with the committed pages."""
    write.write(render.pages_of(TOLD), tmp_path)
    for language in LANGUAGES:
        shutil.copy(DOCS / language / source.FILE, tmp_path / language / source.FILE)
    return tmp_path


def command(*arguments: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "templates", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


def test_committed_outputs_are_fresh():
    kept, stale = source.kept(TOLD, DOCS)
    assert stale == [] and list(kept) == [f"{language}/{source.FILE}" for language in LANGUAGES]
    assert {path: (DOCS / path).read_text(encoding="utf-8") for path in kept} == kept


@pytest.mark.parametrize("damage", ["{", "[]", '{"metadata": {}}', '{"cells": 1, "metadata": {}}', ""])
def test_a_damaged_or_missing_notebook_is_stale(folder, damage):
    path = folder / "en" / source.FILE
    path.write_text(damage) if damage else path.unlink()
    assert source.kept(TOLD, folder)[1] == [f"en/{source.FILE}"]


def test_a_stale_notebook_stays_and_the_command_is_named(folder, capsys):
    path = folder / "en" / source.FILE
    stale = path.read_text(encoding="utf-8").replace('"inputs": "', '"inputs": "0')
    path.write_text(stale, encoding="utf-8")
    assert cli.main(["--out", str(folder)]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("en/notebook.ipynb: ") and source.COMMAND in said
    assert path.read_text(encoding="utf-8") == stale
    assert cli.main(["--check", "--out", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "en/notebook.ipynb" in said and "ko/" not in said and source.COMMAND in said


def test_new_prose_needs_no_execution(folder, capsys):
    """A notebook with older prose, and the same outputs, gets that of the templates by rendering."""
    path = folder / "en" / source.FILE
    current = path.read_text(encoding="utf-8")
    path.write_text(current.replace("Arithmetic intensity", "Intensity of arithmetic"), encoding="utf-8")
    assert cli.main(["--check", "--out", str(folder)]) == 1
    assert "+" in capsys.readouterr().out
    assert cli.main(["--out", str(folder)]) == 0
    assert "changed en/notebook.ipynb" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == current


def test_a_folder_without_notebooks_asks_for_none(tmp_path, capsys):
    assert cli.main(["--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


def test_the_command_executes_only_what_is_stale(folder, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(execute, "executed", lambda told, results, language: made.append(language) or "{}")
    (folder / "zh" / source.FILE).unlink()
    assert cli.main(["notebook", "--out", str(folder)]) == 0
    assert made == ["zh"] and (folder / "zh" / source.FILE).read_text() == "{}"
    assert "executed zh/notebook.ipynb\n1 notebook" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "told"), [("1 / 0", "ZeroDivisionError: division by zero"), ("print('hello')", "hello")]
)
def test_a_cell_that_fails_or_prints_is_an_error(monkeypatch, capsys, tmp_path, cell, told):
    real = source.code
    monkeypatch.setattr(source, "code", lambda language: {**dict.fromkeys(real(language), "pass"), "data": cell})
    assert cli.main(["notebook", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: templates/notebook/cells.py: ") and told in said and said.count("\n") == 1


def test_a_readers_own_run_is_not_shown(monkeypatch):
    """What is executed gets results without it."""
    seen = []

    def look(made, environment):
        seen.append(load(execute.Path(environment["NOTEBOOK_RESULTS"])))
        raise NotebookError

    monkeypatch.setattr(execute, "_run", look)
    own = Results([*SHIPPED.runs, Run("here", "executed", made_up().runs[0].machine, "2026-11-01", {})])
    with pytest.raises(NotebookError):
        execute.executed(TOLD, own, "en")
    assert [run.id for run in seen[0].runs] == [run.id for run in SHIPPED.runs]


def test_a_build_passes_the_renderers_warnings_on(monkeypatch, tmp_path, caplog):
    monkeypatch.syspath_prepend(PROJECT / "hooks")
    import pages as hook

    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "__main__.py").write_text("import sys; print('en/x: stale. Run y.', file=sys.stderr)")
    with caplog.at_level(logging.WARNING):
        hook.render(tmp_path)
    del sys.modules["pages"]
    assert [record.getMessage() for record in caplog.records if "stale" in record.getMessage()]


# The page


def notebooks(site) -> list[SimpleNamespace]:
    return [page for page in pages(site) if page.name == "notebook/"]


def test_each_language_has_a_page_with_headings_charts_and_a_download(site):
    found = notebooks(site)
    assert [page.language for page in found] == list(LANGUAGES)
    for page in found:
        parsed = markup(page.file)
        assert {"notebook", "data", "roofline", "requests", "synthesis"} <= parsed.ids
        charts = [a for tag, a in parsed.tags if tag == "figure" and "data-chart" in a]
        assert len(charts) == 4 and all(a["data-chart"].removeprefix("#") in parsed.ids for a in charts)
        assert page.html.count("<table>") == 6
        assert parsed.attributes("a", "href", href=source.FILE) == [source.FILE]
        assert (page.file.parent / source.FILE).read_bytes() == (DOCS / page.language / source.FILE).read_bytes()
        titles = re.findall(r'<a href="#(\w+)" class="md-nav__link">', page.html)
        assert {"data", "roofline", "requests", "synthesis"} <= set(titles), "the table of contents"


def test_the_page_brings_no_script_style_or_address_of_its_own(site):
    """It has the scripts of any other page, and neither MathJax, RequireJS nor Mermaid."""
    scripts = {page.path: re.findall(r"<script(?![^>]*application/json)[^>]*>", page.html) for page in pages(site)}
    for page in notebooks(site):
        assert scripts[page.path] == scripts[page.path.replace("notebook/", "source/")]
        assert not re.search("<style|mathjax|require(?:.min)?.js|mermaid|cdn", page.html, re.IGNORECASE)


def test_the_page_is_light(site):
    """Before its charts are drawn, as a server sends it."""
    for page in notebooks(site):
        assert len(gzip.compress(page.file.read_bytes())) < 60_000, page.language


def test_it_is_not_searched(site):
    for language in LANGUAGES:
        folder = site if language == LANGUAGES[0] else site / language
        index = json.loads((folder / "search" / "search_index.json").read_text(encoding="utf-8"))
        assert not [entry for entry in index["docs"] if entry["location"].startswith("notebook/")]
