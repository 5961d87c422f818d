"""The calculator's formulas: what rendering writes down as data gives in a browser what the facts give in Python."""

from __future__ import annotations

import html
import math
from operator import add, mul, sub, truediv

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from paths import RESULTS, ROOT

from measure import models
from measure.store import load
from templates import formats, printed, units
from templates.calculator.export import Tree, formulas
from templates.calculator.facts import INPUT, INPUTS, Shape, chosen, results
from templates.calculator.language import language
from templates.facts.edition import editions
from templates.labels import LANGUAGES
from templates.quantity import (
    Constant,
    Digits,
    Kind,
    Operation,
    Quantity,
    Sampled,
    best,
    bounded,
    constant,
    crossing,
    least,
    median,
    missing,
    tree,
)
from templates.voice import Voice

SCRIPT = ROOT / "docs" / "assets" / "javascripts" / "quantity.js"
MANY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
EXAMPLE = {
    "bandwidth": 900.0,
    "compute": 70.0,
    "first_audio": 300.0,
    "slope": 0.5,
    "fixed": 0.2,
    "parameters": 4e9,
    "parameters_without_embeddings": 3.5e9,
    "head_parameters": 0.5e9,
    "bytes_per_parameter": 1.0,
    "kv_per_token": 100.0,
    "kv_of_whole": 20.0,
    "kv_in_window": 80.0,
    "window": 500.0,
    "context": 1000.0,
    "requests": 4.0,
    "thinking_tokens": 80.0,
    "sentence_tokens": 20.0,
    "sentence_audio": 3.0,
}


@pytest.fixture(scope="module")
def page(browser):
    """A page that has the evaluator and nothing else."""
    page = browser.new_page()
    page.add_script_tag(content=SCRIPT.read_text(encoding="utf-8"))
    yield page
    page.close()


# By hand


def answers(shape=Shape.PLAIN, **changed):
    found = results(chosen(**{**EXAMPLE, **changed}), shape)
    return {quantity.name.removeprefix("calculator."): quantity for quantity in found}


def test_the_answers_are_those_of_the_formulas_by_hand():
    """4 GB of weights and 4 x 0.1 GB of keys and values at 900 GB/s; 70 TFLOPS for 8 GFLOP a token."""
    told = answers()
    assert told["batch.step_bytes"].value == pytest.approx(4.4)
    assert told["batch.rate"].value == pytest.approx(900 * 4 / 4.4)
    assert told["rate"].value == pytest.approx(900 / 4.4)
    assert told["ceiling"].value == pytest.approx(225)
    assert told["crossover"].value == pytest.approx(70e12 / 2 * 1 / 900e9)
    readable = 8e9 / 70e12 * 900e9  # bytes in the time of one token's arithmetic
    assert told["crossover_with_kv"].value == pytest.approx(4e9 / (readable - 0.1e9))
    assert told["prompt.time"].to("ms").value == pytest.approx(1000 * 7e9 / 70e12 * 1000)
    assert told["silence"].value == pytest.approx(80 * 4.4 / 900)
    before = told["prompt.time"].to("s").value + 20 * 4.4 / 900
    assert told["turn.wait_streaming"].to("s").value == pytest.approx(before + 0.3)
    assert told["turn.wait_whole"].to("s").value == pytest.approx(before + 0.5 * 3 + 0.2)


def test_an_embedding_that_is_kept_wider_is_more_to_read():
    """3.5 billion parameters at 1 byte and 0.5 billion at 2; of a typed model, 4 billion at 1."""
    assert answers(bytes_per_head_parameter=2)["ceiling"].value == pytest.approx(900 / 4.5)
    assert answers(bytes_per_head_parameter=2)["batch.step_bytes"].value == pytest.approx(4.9)
    assert answers(Shape.TYPED, bytes_per_head_parameter=2)["ceiling"].value == pytest.approx(900 / 4)


@pytest.mark.parametrize(("subject", "near"), [("gemma4-12b-q4_0", 0.001), ("qwen3-1.7b-fp8", 0.01)])
def test_weights_with_a_wider_embedding_are_those_that_engines_load(subject, near):
    """By parameters and format alone they came out 4% and 16% too small."""
    h200 = next(edition for edition in editions(load(RESULTS)) if edition.id == "h200")
    loaded = next(model.weights for model in [*h200.models, h200.focus] if model.subject == subject)
    model, precision = models.subject(subject)
    inputs = {
        "parameters_without_embeddings": model.parameters_without_embeddings,
        "head_parameters": model.embedding_parameters,
        "bytes_per_parameter": models.BYTES_PER_WEIGHT[precision],
        "bytes_per_head_parameter": models.BYTES_PER_EMBEDDING[precision],
    }
    (weights,) = [q for q in tree(results(chosen(**inputs), Shape.PLAIN)) if q.name == "calculator.weights"]
    assert weights.value == pytest.approx(loaded.value, rel=near) and weights.value < loaded.value


def test_with_many_requests_arithmetic_is_the_ceiling():
    """100,000 requests at a context of 1: 70 TFLOPS over 8 GFLOP a token, less than the memory could feed."""
    told = answers(requests=1e5, context=1)
    assert told["batch.rate"].value == pytest.approx(70e12 / 8e9)


def test_a_short_prompt_takes_at_least_the_reading_of_the_weights():
    assert answers(context=1)["prompt.time"].to("ms").value == pytest.approx(4 / 900 * 1000)


def test_a_window_holds_no_more_than_it_is_long():
    """20 KB for each of 1000 tokens, and 80 KB for each of the last 500."""
    assert answers(Shape.WINDOWED)["batch.step_bytes"].value == pytest.approx(4 + 4 * (0.02 + 0.04))


def test_what_is_not_known_of_a_typed_model_makes_an_estimate():
    told = answers(Shape.TYPED)
    assert told["prompt.time"].kind is Kind.ESTIMATED and told["ceiling"].kind is Kind.CALCULATED
    assert told["prompt.time"].to("ms").value == pytest.approx(1000 * 8e9 / 70e12 * 1000)


def test_a_missing_input_leaves_out_what_needs_it_and_nothing_else():
    inputs = chosen(**EXAMPLE) | {"first_audio": missing("ms", Constant(f"{INPUT}first_audio"), "not_run", "x")}
    found = {quantity.name: quantity.measured for quantity in results(inputs, Shape.PLAIN)}
    assert [name for name, measured in found.items() if not measured] == ["calculator.turn.wait_streaming"]


def test_without_the_arithmetic_the_memory_still_tells_the_ceiling_and_not_the_other_way_round():
    lost = missing("TFLOPS", Constant(f"{INPUT}compute"), "no_member", "x")
    found = {q.name: q.value for q in results(chosen(**EXAMPLE) | {"compute": lost}, Shape.PLAIN)}
    assert found["calculator.batch.rate"] == pytest.approx(900 * 4 / 4.4) and found["calculator.prompt.time"] is None
    lost = missing("GB/s", Constant(f"{INPUT}bandwidth"), "not_run", "x")
    found = {q.name: q.value for q in results(chosen(**EXAMPLE) | {"bandwidth": lost}, Shape.PLAIN)}
    assert found["calculator.batch.rate"] is None and found["calculator.prompt.time"] == pytest.approx(100)


def test_every_input_is_asked_for():
    asked = {
        part.origin.label
        for shape in Shape
        for part in tree(results(chosen(**EXAMPLE), shape))
        if isinstance(part.origin, Constant)
    }
    assert {label for label in asked if label.startswith(INPUT)} == {INPUT + name for name in INPUTS}


# As data


def test_a_node_stands_after_those_it_is_made_of_and_no_two_are_alike():
    nodes = formulas()["nodes"]
    for number, node in enumerate(nodes):
        operands = [piece for piece in node.get("formula", ()) if isinstance(piece, int)]
        assert all(operand < number for operand in [*node.get("of", ()), *operands])
    assert len({str(node) for node in nodes}) == len(nodes)


def test_a_formula_is_the_text_of_the_receipts_with_places():
    nodes = formulas()["nodes"]
    ceilings = [node for node in nodes if node.get("name") == "calculator.ceiling"]
    assert len(ceilings) == 2, "one of published models, one of typed ones, whose weights have another formula"
    for ceiling in ceilings:
        said = [nodes[piece]["name"] if isinstance(piece, int) else piece for piece in ceiling["formula"]]
        assert said == ["calculator.bandwidth", " ÷ ", "calculator.read_per_token"]


def test_the_trees_do_not_depend_on_what_is_chosen():
    written = formulas()
    for inputs in (chosen(**EXAMPLE), {name: absent(name) for name in INPUTS}):
        other = Tree()
        answers = {shape.value: [other.add(quantity) for quantity in results(inputs, shape)] for shape in Shape}
        assert [_shape(node) for node in other.nodes] == [_shape(node) for node in written["nodes"]]
        assert answers == written["answers"]


def _shape(node):
    return {name: value for name, value in node.items() if name != "estimated"}


def test_what_a_page_cannot_evaluate_is_refused():
    two = [constant(1, "1", f"{INPUT}requests")] * 2
    with pytest.raises(ValueError, match="median"):
        Tree().add(median(two, "1", "x"))
    with pytest.raises(ValueError, match="make it an input"):
        Tree().add(missing("1", Sampled("cpu", "bandwidth/sum"), "not_run", "x") + two[0])


# In the browser as in Python

KINDS = [Kind.MEASURED, Kind.REPORTED, Kind.CITED, Kind.GIVEN, Kind.ESTIMATED]


def absent(name, reason="not_run"):
    return missing(INPUTS[name], Constant(INPUT + name), reason, name)


def as_input(quantity: Quantity) -> dict:
    """A quantity as the page holds one."""
    scale = units.base(quantity.unit)
    if quantity.value is None:
        ends = {"value": None, "low": None, "high": None}
    else:
        ends = {end: getattr(quantity, end) * scale for end in ("value", "low", "high")}
    reasons = list(dict.fromkeys(absence.reason for absence in quantity.absences))
    return {**ends, "kind": quantity.kind.value, "doubted": bool(quantity.doubts), "absent": reasons}


EVALUATE = """([nodes, inputs, wanted]) => {
  const open = value => Number.isFinite(value) ? value : null;
  const found = Quantities.evaluate(nodes, inputs);
  return wanted.map(number => ({ ...found[number], low: open(found[number].low), high: open(found[number].high) }));
}"""


def alike(page, nodes, inputs, wanted, quantities, rel):
    """Whether the page gives what Python has given."""
    found = page.evaluate(EVALUATE, [nodes, {name: as_input(q) for name, q in inputs.items()}, wanted])
    for quantity, got in zip(quantities, found, strict=True):
        expected = as_input(quantity)
        assert (got["kind"], got["doubted"]) == (expected["kind"], expected["doubted"]), quantity.name
        assert got["absent"] == expected["absent"], quantity.name
        for end in ("value", "low", "high"):
            told = expected[end] if expected[end] is not None and math.isfinite(expected[end]) else None
            assert got[end] == (told if told is None else pytest.approx(told, rel=rel, abs=1e-300)), quantity.name


RANGES = {
    "bandwidth": (1, 1e5),
    "compute": (0.01, 1e5),
    "parameters": (1e6, 1e13),
    "parameters_without_embeddings": (1e6, 1e13),
    "head_parameters": (0, 1e10),
    "bytes_per_parameter": (0.125, 4),
    "bytes_per_head_parameter": (0.125, 4),
    "kv_per_token": (0, 1e4),
    "kv_of_whole": (0, 1e4),
    "kv_in_window": (0, 1e4),
    "context": (1, 1e7),
    "requests": (1, 1e5),
    "window": (1, 1e5),
}


@st.composite
def inputs(draw):
    """Every input measured, with a spread, of any kind; or missing."""
    found = {}
    for name, spelled in INPUTS.items():
        value = draw(st.floats(*RANGES.get(name, (0, 1e4))))
        spread = draw(st.sampled_from([0.0, 0.0, 0.001, 0.2]))
        quantity = Quantity(
            value,
            units.unit(spelled),
            draw(st.sampled_from(KINDS)),
            Constant(INPUT + name),
            value * (1 - spread),
            value * (1 + spread),
            doubts=draw(st.sampled_from([(), (), ("drifts",)])),
            shown_in=spelled,
        )
        found[name] = absent(name) if draw(st.integers(0, 15)) == 0 else quantity
    return found


def on_the_edge(quantities):
    """Whether a margin is so near to nothing that the last digit decides."""
    for part in tree(quantities):
        if isinstance(part.origin, Operation) and part.origin.rule == "crossing" and part.origin.operands[1].measured:
            margin = part.origin.operands[1]
            size = max(abs(end) for operand in margin.origin.operands for end in (operand.low, operand.high))
            if min(abs(margin.low), abs(margin.high), abs(margin.value)) < 1e-9 * size:
                return True
    return False


@pytest.mark.parametrize("shape", Shape)
@given(inputs())
@MANY
def test_the_browser_gives_what_the_facts_give(page, shape, chosen_inputs):
    written = formulas()
    quantities = results(chosen_inputs, shape)
    assume(not on_the_edge(quantities))
    alike(page, written["nodes"], chosen_inputs, written["answers"][shape], quantities, rel=1e-9)


@st.composite
def trees(draw):
    """Any operations over numbers that are exact in both languages, so that even zero is hit."""
    names = list(INPUTS)[:5]
    made = []
    for name in names:
        low, value, high = sorted(draw(st.lists(st.integers(-4, 9), min_size=3, max_size=3)))
        measured = Quantity(
            float(value), units.unit("1"), draw(st.sampled_from(KINDS)), Constant(INPUT + name), low, high, shown_in="1"
        )
        lost = missing("1", Constant(INPUT + name), draw(st.sampled_from(["not_run", "rejected"])), name)
        made.append(lost if draw(st.integers(0, 6)) == 0 else measured)
    leaves = dict(zip(names, made, strict=True))
    for _ in range(draw(st.integers(1, 8))):
        members = [draw(st.sampled_from(made)) for _ in range(draw(st.integers(2, 3)))]
        symbol = draw(st.sampled_from("+-*/xmneb"))
        made.append(APPLY[symbol](members))
    return leaves, made[5:]


APPLY = {
    "+": lambda m: add(m[0], m[1]),
    "-": lambda m: sub(m[0], m[1]),
    "*": lambda m: mul(m[0], m[1]),
    "/": lambda m: truediv(m[0], m[1]),
    "x": lambda m: best(m, "1", "x"),
    "m": lambda m: least(m, "1", "m"),
    "n": lambda m: crossing(m[0], m[1], "n"),
    "b": lambda m: bounded(m[0], m[1:], "1", "b"),
    "e": lambda m: (m[0] + m[1]).estimated(),
}


@given(trees())
@MANY
def test_the_browser_applies_every_operation_as_python_does(page, drawn):
    leaves, made = drawn
    ends = [end for quantity in made for end in (quantity.low, quantity.high) if quantity.measured]
    assume(all(math.isfinite(end) and abs(end) < 1e15 for end in ends))
    written = Tree()
    numbers = [written.add(quantity) for quantity in made]
    alike(page, written.nodes, leaves, numbers, made, rel=1e-15)


SAID = (
    "GB/s",
    "tok/s",
    "ms",
    "s",
    "GB",
    "MB/req",
    "KB/tok",
    "TFLOPS",
    "tok",
    "req",
    "param",
    "B/param",
    "1",
    "%",
    "times",
)


@st.composite
def facts(draw):
    """A value in some unit with some digits: any number, and the short decimals that are halfway between two."""
    spelled = draw(st.sampled_from(SAID))
    short = st.builds(lambda a, b: a / 10**b, st.integers(0, 10**6), st.integers(0, 9))
    value = draw(short | st.floats(0, 1e15, allow_subnormal=False).filter(lambda v: not 0 < v < 1e-12))
    significant = Digits(None, draw(st.integers(1, 5)))
    digits = (
        significant if spelled == "param" else draw(st.sampled_from([significant, Digits(0, None), Digits(2, None)]))
    )
    return constant(value, spelled, "one").named("a.fact", spelled, digits)


HALFWAY = constant(0.0074385, "param", "one").named("a.fact", "param", Digits(None, 4))
"""Below half in binary, half as it is written."""


@pytest.mark.parametrize("name", LANGUAGES)
@given(facts())
@example(HALFWAY)
@MANY
def test_the_browser_says_numbers_as_the_pages_do(page, name, fact):
    told = language(name, SAID)
    node = {"unit": fact.shown_in, "decimals": fact.digits.decimals, "significant": fact.digits.significant}
    node = {key: value for key, value in node.items() if value is not None}
    value = fact.value * units.base(fact.unit)
    said = page.evaluate(
        "([v, node, l]) => [Quantities.say(v, node, l), Quantities.exact(v, node.unit, l)]", [value, node, told]
    )
    assert said == [printed.value(fact, name), printed.exact(fact, name)]


def test_a_language_has_the_words_of_its_units():
    english, korean, chinese = (language(name, ["tok", "GB/s"]) for name in ("en", "ko", "zh"))
    assert (english["units"]["tok"]["one"], english["units"]["tok"]["many"]) == ("\u00a0token", "\u00a0tokens")
    assert korean["units"]["tok"]["many"] == "토큰" and chinese["units"]["tok"]["many"] == "\u00a0个 token"
    assert english["units"]["GB/s"] == {"base": 1e9, "one": "\u00a0GB/s", "many": "\u00a0GB/s"}
    assert english["scales"][1] == [9, "\u00a0billion"] and korean["scales"][1] == [8, "억"]
    assert english["locale"] == formats.LOCALES["en"].replace("_", "-") == "en-GB"


@pytest.mark.parametrize("name", LANGUAGES)
@given(facts().filter(lambda fact: fact.shown_in != "param"), st.floats(0, 0.9), st.floats(0, 3))
@MANY
def test_the_browser_says_a_spread_as_the_receipts_do(page, name, fact, below, above):
    spread = replace(fact, low=fact.value * (1 - below), high=fact.value * (1 + above))
    voice = Voice(name)
    wanted = html.unescape(voice.spoken(voice.shared.interval(spread)))
    ends = {end: getattr(spread, end) * units.base(fact.unit) for end in ("value", "low", "high")}
    node = {"unit": fact.shown_in, "decimals": fact.digits.decimals, "significant": fact.digits.significant}
    node = {key: value for key, value in node.items() if value is not None}
    said = page.evaluate("([q, node, l]) => Quantities.spread(q, node, l)", [ends, node, language(name, SAID)])
    assert said == wanted
