"""The calculator's page in a real Chromium: it answers what Python does, keeps its state, and checks what is typed."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from paths import DOCS, RESULTS
from playwright.sync_api import expect
from sites import DEFAULT, LANGUAGES, markup
from test_browser import DESKTOP, PHONE, opened

from measure import models
from measure.results import Results, Run
from measure.store import load
from templates import formats, printed, render
from templates.calculator import choices
from templates.calculator.export import formulas
from templates.calculator.facts import INPUT, INPUTS, Shape, results
from templates.calculator.page import Calculator
from templates.facts.edition import editions
from templates.labels import Labels
from templates.quantity import Constant, constant, missing
from templates.shared import absent
from templates.voice import Voice

PUBLIC = [edition for edition in editions(load(RESULTS)) if edition.id != "here"]
MACHINES = {machine.id: machine for machine in choices.machines(PUBLIC)}
TALK = {"context": 1000, "requests": 1, "thinking": 80, "sentence": 20, "audio": 3}


def path(language: str) -> str:
    return "calculator/" if language == DEFAULT else f"{language}/calculator/"


def query(**given) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in given.items())


def talked(**given) -> dict:
    """Inputs of the conversation's fields."""
    values = TALK | {name: value for name, value in given.items() if name in TALK}
    fields = {field.name: field for field in choices.TALK}
    return {fields[name].gives: constant(value, fields[name].unit, "x") for name, value in values.items()}


def measured(machine: str, model: str, precision: str, **talk) -> tuple[dict, Shape]:
    """The inputs that a choice of a measured machine and a published model stands for, from the facts themselves."""
    told, shape, subject = MACHINES[machine], models.models()[model], f"{model}-{precision}"
    window = shape.windows[0] if shape.windows else 1
    counted = {
        "parameters": shape.parameters,
        "parameters_without_embeddings": shape.parameters_without_embeddings,
        "head_parameters": shape.embedding_parameters,
        "bytes_per_parameter": models.BYTES_PER_WEIGHT[precision],
        "bytes_per_head_parameter": models.BYTES_PER_EMBEDDING[precision],
        "kv_per_token": models.kv_bytes_per_token(subject) / 1000,
        "kv_of_whole": models.kv_bytes_per_token(subject, window=0) / 1000,
        "kv_in_window": models.kv_bytes_per_token(subject, window=window) / 1000,
        "window": window,
    }
    inputs = {name: constant(value, INPUTS[name], INPUT + name) for name, value in counted.items()}
    inputs["bandwidth"], inputs["compute"] = told.facts.bandwidth, told.facts.compute_in(precision)
    inputs["first_audio"] = told.edition.turn.speak_streaming
    inputs["slope"], inputs["fixed"] = told.edition.voxcpm.slope, told.edition.voxcpm.fixed
    return inputs | talked(**talk), Shape.WINDOWED if shape.windows else Shape.PLAIN


def expected(inputs: dict, shape: Shape, language: str) -> dict[str, str]:
    """The answers as the pages print them."""
    labels = Labels(language)
    return {
        quantity.name: printed.value(quantity, language) if quantity.measured else labels.get(*absent(quantity))
        for quantity in results(inputs, shape)
    }


ANSWERS = """() => Object.fromEntries([...document.querySelectorAll(".calculator-answers > section[id]")]
  .map(section => [section.id, section.querySelector("h3 > .fact").innerText]))"""


def answers(page) -> dict[str, str]:
    """The answers on the page, once it has settled."""
    page.locator(".calculator-answers > section[id]").first.wait_for()
    return page.evaluate(ANSWERS)


CHOSEN = [
    ("source-b", "qwen3-4b", "fp8", {}),
    ("source-a", "gemma4-12b", "q4_0", {"context": 500, "requests": 2}),
    ("h200-engines", "qwen3-1.7b", "bf16", {"context": 200, "requests": 300, "thinking": 0}),
    ("h200-engines", "gemma4-12b", "q8_0", {"context": 30000, "requests": 16}),
    ("cpu", "qwen3-0.6b", "fp32", {"sentence": 40, "audio": 6.5}),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_answers_what_the_facts_say(browser, address, language):
    with opened(browser, address, path(language)) as watched:
        for machine, model, precision, talk in CHOSEN:
            chosen = {"machine": machine, "model": model, "format": precision, **TALK, **talk}
            watched.visit(path(language) + query(**chosen))
            assert answers(watched.page) == expected(*measured(machine, model, precision, **talk), language), machine
            assert watched.faults == []


def test_what_is_chosen_by_hand_is_answered_and_kept_in_the_address(browser, address):
    """Chosen, typed, loaded again from the address, and taken along into another language."""
    chosen = expected(*measured("h200-engines", "qwen3-4b", "bf16", context=12345, requests=7), "en")
    with opened(browser, address, path("en")) as watched:
        page = watched.page
        page.get_by_label("Machine", exact=True).select_option("h200-engines")
        page.get_by_label("Model", exact=True).select_option("qwen3-4b")
        page.get_by_label("Format of the weights").select_option("bf16")
        page.get_by_label("Context length").fill("12,345")
        page.get_by_label("Requests at once").fill("7")
        page.wait_for_url("**/*requests=7*")
        assert answers(page) == chosen
        kept = parse_qs(urlsplit(page.url).query)
        assert (kept["machine"], kept["model"], kept["context"]) == (["h200-engines"], ["qwen3-4b"], ["12,345"])
        page.reload()
        assert answers(page) == chosen
        page.locator("header .md-select").hover()
        page.locator("header .md-select a[hreflang=zh]").click()
        page.wait_for_url("**/zh/calculator/?*")
        found = answers(page)
        assert found == expected(*measured("h200-engines", "qwen3-4b", "bf16", context=12345, requests=7), "zh")
        assert watched.faults == []


def test_a_page_that_nobody_changed_keeps_its_address(browser, address):
    with opened(browser, address, path("en")) as watched:
        answers(watched.page)
        watched.page.wait_for_timeout(400)
        assert watched.page.url == address + path("en")


OWN = {"machine": "own", "model": "own", "bandwidth": 1000, "compute": 100, "first_audio": 250}
OWN |= {"slope": 0.5, "fixed": 0.25}
OWN |= {"parameters": 8, "bits": 4.5, "kv": 128}


def own(**changed) -> dict[str, str]:
    """The answers to values that are typed in, in English."""
    typed = {"bandwidth": 1000, "compute": 100, "first_audio": 250, "parameters": 8e9, "kv_per_token": 128}
    typed |= {"slope": 0.5, "fixed": 0.25}
    inputs = {name: missing(unit, Constant(INPUT + name), "not_given", name) for name, unit in INPUTS.items()}
    inputs |= {name: constant(value, INPUTS[name], INPUT + name) for name, value in typed.items()}
    inputs["bytes_per_parameter"] = constant(4.5 / 8, "B/param", "x")
    return expected(inputs | talked(**changed), Shape.TYPED, "en")


def test_a_machine_and_a_model_that_are_typed_in_are_answered(browser, address):
    with opened(browser, address, path("en") + query(**OWN, **TALK)) as watched:
        wanted = own()
        assert answers(watched.page) == wanted
        assert "unmeasured" not in (wanted["calculator.turn.wait_streaming"], wanted["calculator.turn.wait_whole"])
        estimated = watched.page.locator("[id='calculator.prompt.time'] h3 > .fact.estimated")
        assert estimated.count() == 1 and watched.faults == []


def test_values_of_ones_own_begin_with_those_of_the_choice_before(browser, address):
    with opened(browser, address, path("en")) as watched:
        page = watched.page
        page.get_by_label("Machine", exact=True).select_option("h200-engines")
        page.get_by_label("Machine", exact=True).select_option("own")
        page.get_by_label("Model", exact=True).select_option("own")
        typed = {name: float(page.locator(f"#calculator-{name}").input_value()) for name in ("bandwidth", "compute")}
        facts = MACHINES["h200-engines"].facts
        assert typed["bandwidth"] == pytest.approx(facts.bandwidth.value, rel=1e-3)
        assert typed["compute"] == pytest.approx(facts.compute_in("bf16").value, rel=1e-3)
        assert page.locator("#calculator-bits").input_value() == "16"
        voxcpm = MACHINES["h200-engines"].edition.voxcpm
        for name, fact in (("slope", voxcpm.slope), ("fixed", voxcpm.fixed)):
            assert float(page.locator(f"#calculator-{name}").input_value()) == pytest.approx(fact.value, rel=1e-3)
        assert page.locator("#calculator-format").is_hidden()


def test_a_typed_models_bits_begin_with_its_wider_embedding(browser, address):
    """As many bytes in all as the published model has."""
    shape, precision = models.models()["qwen3-1.7b"], "fp8"
    with opened(
        browser, address, path("en") + query(machine="h200-engines", model="qwen3-1.7b", format="fp8")
    ) as watched:
        before = answers(watched.page)["calculator.batch.step_bytes"]
        watched.page.get_by_label("Model", exact=True).select_option("own")
        bits = float(watched.page.locator("#calculator-bits").input_value())
        assert before == answers(watched.page)["calculator.batch.step_bytes"]
    head, all_ = shape.embedding_parameters, shape.parameters
    wanted = models.BYTES_PER_WEIGHT[precision] * (all_ - head) + models.BYTES_PER_EMBEDDING[precision] * head
    assert bits == pytest.approx(8 * wanted / all_, rel=1e-3) and bits > 9


def test_what_was_loaded_stands_beside_a_timed_rate(browser, address):
    chosen = query(machine="h200-engines", model="qwen3-1.7b", format="fp8", requests=1)
    with opened(browser, address, path("en") + chosen) as watched:
        line = watched.page.locator(".calculator-answers > section:not([id]) li").filter(has_text="vLLM")
        assert re.fullmatch(
            r"[\d,.]+ tok/s vLLM, mean context of \d+ tokens, 2\.04 GB of weights loaded",
            line.inner_text().replace("\u00a0", " "),
        )
        loaded = line.locator("small a.fact.measured").get_attribute("href")
        assert loaded == "../h200/receipts/#h200-engines.vllm.qwen3-1.7b-fp8.weights"


STRANGE = {"machine": "here", "model": "gpt-6", "format": "q2_k", "context": "500", "requests": "3"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_address_asks_for_and_is_not_offered_is_said(browser, address, language):
    """In a line for each; what is offered stays, and a line goes when the reader chooses there."""
    labels = Labels(language)
    with opened(browser, address, path(language) + query(**STRANGE)) as watched:
        page, told = watched.page, watched.page.locator(".calculator-unknown p")
        answers(page)
        shown = [page.locator(f"#calculator-{name}").evaluate("e => e.selectedOptions[0].text") for name in UNKNOWN]
        wanted = [
            labels.filled("calculator", "unknown", field=labels.get("field", name), asked=STRANGE[name], shown=chosen)
            for name, chosen in zip(UNKNOWN, shown, strict=True)
        ]
        assert told.all_inner_texts() == wanted and page.locator("[role=status]:visible").count() == 1
        assert page.locator("#calculator-context").input_value() == "500"
        assert page.locator("#calculator-requests").input_value() == "3"
        page.locator("#calculator-model").select_option("own")
        assert told.all_inner_texts() == wanted[:1], "a format that no typed model has is not missed"
        page.locator("#calculator-model").select_option("qwen3-4b")
        assert told.all_inner_texts() == [wanted[0], wanted[2]]
        page.locator("#calculator-machine").select_option("cpu")
        page.locator("#calculator-format").select_option("bf16")
        assert page.locator(".calculator-unknown").is_hidden() and watched.faults == []


UNKNOWN = ("machine", "model", "format")


@pytest.mark.parametrize("language", LANGUAGES)
def test_reasons_are_joined_as_the_language_does(browser, address, language):
    """An answer that lacks a number that is wrong and one that is not there."""
    typed = OWN | {"bandwidth": "x", "first_audio": ""}
    with opened(browser, address, path(language) + query(**typed, **TALK)) as watched:
        answers(watched.page)
        said = watched.page.locator("[id='calculator.turn.wait_streaming'] h3 > small").inner_text()
    labels = Labels(language)
    both = [labels.get("calculator", reason) for reason in ("invalid", "not_given")]
    assert said in (Voice(language).semicolon.join(both), Voice(language).semicolon.join(both[::-1]))


def test_a_field_that_was_emptied_stays_empty(browser, address):
    """Also where something else is typed afterwards, and in the address that is shared."""
    with opened(browser, address, path("en") + query(**OWN, **TALK)) as watched:
        page = watched.page
        page.locator("#calculator-first_audio").fill("")
        page.locator("#calculator-requests").fill("2")
        page.locator("#calculator-requests").press("Tab")
        page.wait_for_url("**/*requests=2*")
        for _ in range(2):
            assert page.locator("#calculator-first_audio").input_value() == ""
            assert answers(page)["calculator.turn.wait_streaming"] == "needs a number"
            page.reload()


FAULTS = [
    ("bandwidth", "", "empty"),
    ("bandwidth", "-5", "negative"),
    ("bandwidth", "−5", "negative"),
    ("bandwidth", "fast", "no_number"),
    ("bandwidth", "1,00", "no_number"),
    ("bandwidth", "e5", "no_number"),
    ("bandwidth", "1e999", "no_number"),
    ("bandwidth", "0", "too_low"),
    ("bandwidth", "1e12", "too_high"),
    ("bits", "64", "too_high"),
    ("context", "1.5", "whole"),
    ("requests", "0", "too_low"),
    ("thinking", "", "empty"),
]
SOUND = [
    ("bandwidth", "1,000.5"),
    ("bandwidth", "\uff19\uff10\uff10"),
    ("kv", "0"),
    ("thinking", "0"),
    ("first_audio", ""),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_be_is_said_beside_its_field(browser, address, language):
    labels, fields = Labels(language), {field.name: field for field in choices.FIELDS}
    with opened(browser, address, path(language) + query(**OWN, **TALK)) as watched:
        page = watched.page
        for name, text, fault in FAULTS:
            field = fields[name]
            limit = formats.number(field.low if fault == "too_low" else field.high, language)
            box = page.locator(f"#calculator-{name}")
            before = box.input_value()
            box.fill(text)
            page.locator(f"#calculator-{name}[aria-invalid=true]").wait_for()
            error = page.locator(f"#calculator-{name}-error")
            assert error.inner_text().removeprefix("✗ ") == labels.filled("calculator", fault, limit=limit), text
            assert error.get_attribute("id") in box.get_attribute("aria-describedby").split()
            box.fill(before)
            page.locator(f"#calculator-{name}:not([aria-invalid])").wait_for()
            assert error.inner_text() == ""
        for name, text in SOUND:
            page.locator(f"#calculator-{name}").fill(text)
        page.wait_for_timeout(400)
        assert page.locator("[aria-invalid]").count() == 0 and watched.faults == []


def test_an_answer_without_its_number_says_so(browser, address):
    """And leads to the field that needs it; what does not need the number is answered all the same."""
    with opened(browser, address, path("en") + query(**OWN | {"bandwidth": "x"}, **TALK)) as watched:
        found, whole = answers(watched.page), own()
        assert found["calculator.batch.rate"] == found["calculator.ceiling"] == "needs a number"
        assert found["calculator.prompt.time"] == whole["calculator.prompt.time"]
        reason = watched.page.locator("[id='calculator.ceiling'] h3 > small").inner_text()
        assert reason == Labels("en").get("calculator", "invalid")
        link = watched.page.locator("[id='calculator.ceiling'] dd a.fact.unmeasured")
        assert link.get_attribute("href") == "#calculator-bandwidth"
        link.click()
        # The theme writes the fragment anew while it scrolls, so the place tells and not the address.
        expect(watched.page.locator("#calculator-bandwidth")).to_be_in_viewport()


def test_an_unmeasured_input_says_so_and_links_its_receipt(browser, address):
    with opened(browser, address, path("en") + query(machine="cpu", model="qwen3-0.6b", format="bf16")) as watched:
        card = watched.page.locator("[id='calculator.turn.wait_streaming']")
        card.locator("h3 > .fact.unmeasured").wait_for()
        assert card.locator("h3 > small").inner_text() == Labels("en").get("reason", "not_run")
        link = card.locator("dd a.fact.unmeasured").get_attribute("href")
        assert link == "../cpu/receipts/#cpu.turn.speak_streaming"


@pytest.mark.parametrize("language", LANGUAGES)
def test_measured_inputs_and_timed_rates_lead_to_receipts(browser, address, site, language):
    with opened(browser, address, path(language)) as watched:
        for machine in MACHINES:
            chosen = query(machine=machine, model="qwen3-0.6b", format="bf16", requests=1)
            watched.visit(path(language) + chosen)
            answers(watched.page)
            links = watched.page.evaluate(LINKS)
            assert any("bandwidth" in link for link in links), machine
            for link in links:
                end, _, fragment = urljoin(address + path(language), link).partition("#")
                file = site / end.removeprefix(address) / "index.html"
                assert fragment in markup(file).ids, link
            if machine == "source-b":
                assert any("rate" in link.rpartition(".")[2] for link in links), "no rate that was timed"


LINKS = """() => [...document.querySelectorAll(".calculator a.fact")]
  .map(link => link.getAttribute("href")).filter(href => !href.startsWith("#"))"""


def test_every_formula_leads_to_steps_that_unfold(browser, address):
    with opened(browser, address, path("en")) as watched:
        answers(watched.page)
        ends = watched.page.evaluate(
            "() => [...document.querySelectorAll('.calculator a[href^=\"#\"]')].map(a => a.hash.slice(1))"
        )
        assert len(set(ends)) > 10
        assert [
            end for end in ends if not watched.page.evaluate("id => document.getElementById(id) !== null", end)
        ] == []
        step = watched.page.locator("[id='calculator.read_per_token']")
        assert not step.is_visible()
        watched.page.locator("[id='calculator.ceiling'] a[href='#calculator.read_per_token']").first.click()
        step.wait_for()


def test_every_control_has_a_label_and_is_reached_by_keyboard(browser, address):
    with opened(browser, address, path("en") + query(**OWN, **TALK)) as watched:
        page = watched.page
        answers(page)
        visible = "one => one.name && one.offsetParent"
        names = page.evaluate(
            f"() => [...document.querySelector('.calculator form').elements].filter({visible}).map(o => o.name)"
        )
        labelled = (
            "() => [...document.querySelectorAll('.calculator input, .calculator select')].every(o => o.labels.length)"
        )
        assert page.evaluate(labelled) and {"machine", "model", "bandwidth", "context"} <= set(names)
        page.locator("#calculator-machine").focus()
        reached = []
        for _ in names:
            reached.append(page.evaluate("document.activeElement.name"))
            page.keyboard.press("Tab")
        assert reached == names
        page.locator("#calculator-machine").focus()
        page.keyboard.press("ArrowUp")
        page.wait_for_url("**/*machine=cpu*")
        assert page.locator("#calculator-bandwidth").is_hidden()
        assert page.locator(".calculator-answers[aria-live=polite]").count() == 1


def test_the_enter_key_sends_nothing(browser, address):
    with opened(browser, address, path("en")) as watched:
        answers(watched.page)
        watched.page.evaluate("window.stayed = true")
        watched.page.locator("#calculator-context").press("Enter")
        watched.page.wait_for_timeout(200)
        assert watched.page.evaluate("window.stayed") and watched.faults == []


def test_an_address_from_anybody_is_text(browser, address):
    hostile = "%3Cimg%20src%3Dx%20onerror%3D%22window.injected%3D1%22%3E"
    given = {"machine": hostile, "model": "__proto__", "format": hostile, "context": hostile, "requests": "1"}
    with opened(browser, address, path("en") + query(**given)) as watched:
        found = answers(watched.page)
        assert watched.page.locator("#calculator-machine").input_value() == next(iter(MACHINES))
        assert found["calculator.ceiling"] and found["calculator.batch.rate"] == "needs a number"
        assert watched.page.evaluate("window.injected") is None
        assert watched.page.locator(".calculator img").count() == 0 and watched.faults == []
        assert "<img src=x" in watched.page.locator(".calculator-unknown").inner_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_javascript_the_page_says_what_it_needs(browser, address, language):
    with opened(browser, address, path(language), java_script_enabled=False, viewport=PHONE) as watched:
        assert watched.page.locator(".calculator").is_hidden()
        needs = watched.page.locator(".calculator-needs")
        assert needs.is_visible() and "JavaScript" in needs.inner_text()
        links = needs.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        assert links == [f"../{edition.id}/" for edition in PUBLIC]


def test_with_javascript_it_does_not(browser, address):
    with opened(browser, address, path("en")) as watched:
        answers(watched.page)
        assert watched.page.locator(".calculator-needs").is_hidden()


@pytest.mark.parametrize("broken", ["quantity.js", "calculator.js"])
def test_where_a_script_is_missing_the_page_still_says_what_it_needs(browser, address, broken):
    with opened(browser, address) as watched:
        watched.page.route(f"**/{broken}", lambda route: route.abort())
        watched.page.goto(address + path("en"), wait_until="networkidle")
        assert watched.page.locator(".calculator").is_hidden()
        assert watched.page.locator(".calculator-needs").is_visible()


def test_it_works_from_disk(browser, site):
    file = (site / "en" / "calculator" / "index.html").as_uri()
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    page.goto(file + query(machine="source-b", model="qwen3-4b", format="fp8"))
    assert answers(page) == expected(*measured("source-b", "qwen3-4b", "fp8"), "en")
    page.locator("#calculator-requests").fill("3")
    page.wait_for_function(
        "document.getElementById('calculator.batch.rate').innerText.includes('3 requests') === false"
    )
    page.wait_for_timeout(400)
    assert answers(page) == expected(*measured("source-b", "qwen3-4b", "fp8", requests=3), "en")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1440])
def test_it_fits(browser, address, width, scheme):
    """Also with every field shown, with faults beside them, and with the steps unfolded."""
    chosen = OWN | {"bandwidth": "x", "parameters": "-1"}
    viewport = {"width": width, "height": 800}
    with opened(
        browser, address, path("ko") + query(**chosen, **TALK), viewport=viewport, color_scheme=scheme
    ) as watched:
        answers(watched.page)
        watched.page.locator(".calculator > details").evaluate("e => { e.open = true; }")
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
        assert watched.page.evaluate(WIDE) == [] and watched.faults == []


WIDE = """() => [...document.querySelectorAll(".calculator *")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


# What is written into the page


def calculator(language: str, told=PUBLIC) -> Calculator:
    return Calculator(
        told, {edition.id: Voice(language, f"../{edition.id}/receipts/") for edition in told}, language, "../"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_data_have_a_word_for_all_that_is_shown(language):
    data = calculator(language).data()
    for node in data["nodes"]:
        if "name" in node or "of" not in node:
            assert data["labels"][node.get("name") or node.get("label") or f"constant.{node['input']}"]
    assert {field["gives"] for field in data["fields"].values()} <= set(INPUTS)
    assert set(data["machines"]) == set(MACHINES)
    kinds = {kind for machine in data["machines"].values() for kind in _values(machine, "kind")}
    reasons = {reason for machine in data["machines"].values() for reason in _values(machine, "absent")}
    assert kinds <= set(data["words"]["kind"]) and kinds >= {"measured", "reported"}
    assert reasons and reasons <= set(data["words"]["reason"])


def _values(tree, name):
    """All values of a name in nested data."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        if key == name:
            yield from value if isinstance(value, list) else [value]
        else:
            yield from _values(value, name)


def test_nothing_in_the_data_ends_the_element_that_holds_them(monkeypatch):
    monkeypatch.setattr(choices, "published", lambda: {"x</script><b>": {"title": "<!-- & </script>"}})
    made = calculator("en")
    monkeypatch.setattr(made, "_first", lambda: {})
    text = re.search(r'<script type="application/json" id="calculator-data">(.*?)</script>', str(made._scripts()))[1]
    assert "<" not in text and json.loads(text)["models"] == {"x</script><b>": {"title": "<!-- & </script>"}}


def test_without_any_run_there_is_still_a_page():
    data = calculator("en", []).data()
    assert data["machines"] == {} and data["first"]["machine"] == choices.OWN
    assert 'value="own"' in calculator("en", []).form


def test_the_formulas_of_a_page_are_the_same_in_every_language():
    texts = [(DOCS / path / "calculator.md").read_text(encoding="utf-8") for path in LANGUAGES]
    nodes = [json.loads(re.search(r'id="calculator-data">(.*?)</script>', text)[1])["nodes"] for text in texts]
    assert nodes[0] == nodes[1] == nodes[2] == formulas()["nodes"]


def test_a_readers_own_machine_is_offered_first_on_a_page_of_its_own():
    """Which is never committed; the committed page does not change."""
    shipped = load(RESULTS)
    runs = [run for run in shipped.runs if run.id != "here"]
    cpu = next(run for run in runs if run.id == "cpu")
    mine = Run("here", "executed", cpu.machine, cpu.started, cpu.samples)
    before, after = render.pages(Results(runs)), render.pages(Results([*runs, mine]))
    for language in LANGUAGES:
        name = f"{language}/calculator.md"
        assert before[name] == after[name] and f"{language}/here/calculator.md" not in before
        page = after[f"{language}/here/calculator.md"]
        offered = re.findall(r'<option value="([^"]*)"', page)
        assert offered[0] == "here" and offered[1:5] == list(MACHINES)
        up = "../../" if language == DEFAULT else "../../../"
        assert f'src="{up}assets/javascripts/quantity.js"' in page and 'href="../../here/"' in page
        data = json.loads(re.search(r'id="calculator-data">(.*?)</script>', page)[1])
        assert data["first"]["machine"] == "here"
        assert data["machines"]["here"]["inputs"]["bandwidth"]["at"] == "../../here/receipts/#here.bandwidth"
