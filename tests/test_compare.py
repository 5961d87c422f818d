"""The editions side by side: where conclusions differ, what decided them, and the same models on several machines."""

import copy
import html
import re
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from paths import RESULTS

from measure.results import Results
from measure.store import load
from templates import across, config, render, write
from templates.claims import CLAIMS
from templates.compare import GROUPS, Side, Sides, bounded, deciding, standing
from templates.compare_page import Beside, path_of
from templates.labels import LANGUAGES
from templates.quantity import Digits, constant
from templates.truth import Claim, Outcome, Truth, above, at_least, at_most, every
from templates.voice import Voice

SHIPPED = load(RESULTS)
H, R, U = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED
CELL = re.compile(r'<td[^>]* data-edition="([^"]*)">(.*?)</td>')


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return render.pages(SHIPPED)


@pytest.fixture(scope="module")
def told() -> list[render.Told]:
    return render.tell(SHIPPED)


def rows(page: str) -> dict[str, list[tuple[str, str]]]:
    """The cells of each claim by its name, as edition and HTML."""
    found = re.findall(r'<tr id="claim\.(\w+)">(.*?)</tr>', page)
    assert len(found) == len(dict(found)), "a claim stands twice"
    return {name: cells(row) for name, row in found}


def cells(row: str) -> list[tuple[str, str]]:
    return [(html.unescape(edition), cell) for edition, cell in CELL.findall(row)]


def text(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\u00a0", " ")


def decided(cell: str) -> str:
    """The text of a cell without the way to the article."""
    return text(re.sub(r'<p class="why">.*?</p>', "", cell))


# How outcomes stand to each other


@pytest.mark.parametrize(
    ("outcomes", "group"),
    [
        ([H, R], "differ"),
        ([H, U, R], "differ"),
        ([H, H], "agree"),
        ([R, R, U], "agree"),
        ([H, U, U], "single"),
        ([U, R], "single"),
        ([U, U], "none"),
    ],
)
def test_how_outcomes_stand_to_each_other(outcomes, group):
    assert standing([Claim("a", Truth(outcome)) for outcome in outcomes]) == group


def test_every_claim_stands_once_in_the_group_of_its_outcomes(pages, told):
    page = pages["en/compare.md"]
    assert set(rows(page)) == set(CLAIMS)
    for name in CLAIMS:
        expected = standing([each.claims[name] for each in told])
        before = page.partition(f'<tr id="claim.{name}">')[0]
        place = re.findall(r"\{#(\w+)\}", before)[-1]
        assert place == expected or (place, expected) == ("cited", "agree"), name


def test_the_table_at_the_head_counts_the_groups(pages):
    page = pages["en/compare.md"]
    counted = {name: int(number) for name, number in re.findall(r"\(#(\w+)\) \| (\d+) \|", page)}
    assert tuple(counted) == GROUPS
    parts = {part.partition("}")[0]: part for part in page.split("{#")}
    assert counted == {group: parts[group].count('<tr id="claim.') for group in GROUPS}


def test_what_rests_on_no_measurement_stands_apart_and_once(pages):
    cited = rows(pages["en/compare.md"].partition("{#cited}")[2].partition("{#undecided}")[0])
    assert {"card_largest_best", "paper_look_ahead_helps"} <= set(cited)
    assert "models_near_bandwidth" not in cited
    assert all(len(row) == 1 for row in cited.values())


# What decided a claim


def fact(name: str, value: float, spread: float = 0.0, unit: str = "%"):
    quantity = constant(value, unit, "made-up")
    return msgspec.structs.replace(quantity, low=value - spread, high=value + spread).named(name, unit, Digits(0, None))


NEAR = fact("threshold.near", 80)


def decided_by(truth: Truth) -> list[tuple[float, float, int, int]]:
    return [(t.low.left.value, t.high.left.value, t.deciding, t.made) for t in deciding(Claim("a", truth))]


def test_against_one_value_the_range_of_those_that_came_out_so_is_told():
    """Of 90, 60 and 70 against 80, two are what refutes."""
    shares = [at_least(fact(f"m{value}.share", value), NEAR) for value in (90, 60, 70)]
    assert decided_by(every(shares, "a")) == [(60, 70, 2, 3)]
    assert decided_by(every(shares[:1], "a")) == [(90, 90, 1, 1)]


@pytest.mark.parametrize(
    ("judge", "pairs", "worst"),
    [
        (above, [(30, 10), (12, 10), (40, 20)], 12),  # all hold: 1.2 is the least of the ratios
        (above, [(30, 10), (9, 10), (4, 10)], 4),  # refuted: 0.4 is farthest from more than 1
        (at_most, [(5, 10), (9, 10)], 9),
        (at_most, [(11, 10), (50, 10)], 50),
        (above, [(3, 0), (1, 0.0)], 1),  # over zero, the left side itself
    ],
)
def test_against_several_values_the_case_that_speaks_most_against_it_is_told(judge, pairs, worst):
    made = [judge(fact(f"m{n}.rate", left), fact(f"m{n}.other", right)) for n, (left, right) in enumerate(pairs)]
    (low, high, *_), *others = decided_by(every(made, "a"))
    one_right = len({right for _, right in pairs}) == 1
    assert not others and worst in (low, high) and (low == high or one_right)


def test_where_it_cannot_be_said_the_case_that_leaves_it_open_is_told():
    open_case = at_least(fact("b.share", 81, spread=5), NEAR)
    truth = every([at_least(fact("a.share", 95), NEAR), open_case, at_least(fact("c.share", 83, spread=4), NEAR)], "a")
    assert truth.outcome is U
    assert decided_by(truth) == [(81, 81, 2, 3)]


def test_both_sides_of_a_claim_are_told():
    truth = at_least(fact("a.share", 90), NEAR) & at_most(fact("a.factor", 2), fact("threshold.alike", 3))
    assert [made[0] for made in decided_by(truth)] == [90, 2]


def test_bounds_of_one_and_the_same_are_one_test():
    """90 within 80 and 100, and equal to 90. What another value is held against stays apart, and what is refuted."""
    left, other, same = fact("a.ratio", 90), fact("b.ratio", 70), fact("c.ratio", 90)
    within = at_least(left, fact("threshold.low", 80)) & at_most(left, fact("threshold.high", 100))
    (test,) = bounded(deciding(Claim("a", within)))
    assert (test.low.right.value, test.upper.right.value) == (80, 100)
    (equal,) = bounded(deciding(Claim("a", at_most(left, same) & at_least(left, same))))
    assert equal.upper and (equal.low.symbol, equal.upper.symbol) == ("≥", "≤")
    apart = at_least(left, NEAR) & at_most(other, NEAR)
    assert [one.upper for one in bounded(deciding(Claim("a", apart)))] == [None, None]
    refuted = at_least(other, NEAR) & at_most(other, fact("threshold.high", 60))
    assert [one.upper for one in bounded(deciding(Claim("a", refuted)))] == [None, None]


def test_an_equality_is_one_line_and_bounds_stand_on_both_sides(pages):
    told = {name: [text(cell) for _, cell in row] for name, row in rows(pages["en/compare.md"]).items()}
    assert "length: 80 ms = 80 ms (chunk on the model card; 5 of 5 comparisons)" in told["chunk_is_frames"][0]
    assert not any(re.search("[≤≥]", cell) for cell in told["chunk_is_frames"])
    assert re.search(r"parts over the time of a patch: 90\.00% ≤ \d+% ≤ 110\.0%$", told["parts_add_up"][1])


def test_a_part_is_told_with_whose_it_is(pages):
    """The parts of a chunk, of a model: their headings alone are alike."""
    told = {name: [text(cell) for _, cell in row] for name, row in rows(pages["en/compare.md"]).items()}
    errors = r"\(Right context of \d+\sframes?, Error rates\) > .*\(Right context of \d+\sframes?, Error rates;"
    assert re.search(errors, told["largest_chunk_best"][0])
    cells = [cell for row in told.values() for cell in row]
    assert any(re.search(r"Right context of \d+\sframes?, What a step consists of, transducer", cell) for cell in cells)
    assert re.search(r"Gemma 4 12B: from q8_0 to q4_0, llama\.cpp, gain", told["gain_below_calculation"][1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_editions_differ_each_verdict_leads_to_what_its_article_says(pages, language):
    page = pages[f"{language}/compare.md"]
    differ = rows(page.partition("{#differ}\n")[2].partition("{#numbers}")[0])
    for name, row in differ.items():
        for edition, (_, cell) in zip(("source", "h200", "cpu"), row, strict=True):
            links = re.findall(r'<p class="why"><a href="\.\./(\w+)/#([\w-]+)">', cell)
            _, overview, article = pages[f"{language}/{edition}/index.md"].partition("{#overview}")
            told = f"#claim.{name}" in article.partition("\n## ")[2]
            assert overview and [of for of, _ in links] == [edition] * told, (name, edition)
            for _, place in links:
                part = re.split(r"\n##+ ", article.partition(f"{{#{place}}}")[2])[0]
                assert f"#claim.{name}" in part, (name, edition)
    assert page.count('class="why"') > 2 * len(differ) > 0


def test_a_formula_is_of_what_all_its_facts_belong_to():
    """0.5 = 1 ÷ 2 of one chunk is the chunk's, of two chunks what both are of; a threshold belongs to nothing."""
    one, two, other = (
        fact("r.nemotron.right1.step.a", 1),
        fact("r.nemotron.right1.step.b", 2),
        fact("r.nemotron.right3.a", 2),
    )
    assert path_of(one / two) == "r.nemotron.right1.step" and path_of(one) == "r.nemotron.right1.step"
    assert path_of(one / other) == "r.nemotron" and path_of(one * NEAR) == "r.nemotron.right1.step"
    assert path_of(NEAR) == path_of(constant(1, "%", "x")) == ""


def test_what_differs_comes_first_then_all_runs_and_the_numbers(pages):
    order = re.findall(r"^##+ .*\{#([\w-]+)\}", pages["en/compare.md"], re.MULTILINE)
    machines = ["machines", "machines-limit", "machines-rows"]
    assert order == ["differ", *machines, "numbers", "agree", "cited", "undecided", "single", "none"]


def test_a_conclusion_is_explained_below_its_heading_and_not_in_the_overview():
    text = '# A\n\n## 1 {#overview}\n\n[x](#claim.a")\n\n## 2 {#two}\n\n### 3 {#three}\n\n#claim.a" #claim.ab"\n'
    side = Side(render.tell(SHIPPED)[0].edition, {}, text)
    assert [side.place(name) for name in ("a", "ab", "b")] == ["three", "three", ""]


def test_a_claim_that_says_the_opposite_is_told_by_what_was_compared():
    assert decided_by(~at_least(fact("a.share", 90), NEAR)) == [(90, 90, 1, 1)]


def test_a_cell_says_what_was_found_and_not_what_was_asked(pages):
    """Of a refuted comparison the opposite is true."""
    differ = rows(pages["en/compare.md"])["models_near_bandwidth"]
    said = {edition: decided(cell) for edition, cell in differ}
    assert re.fullmatch(r"holdsshare of the bandwidth: 86–98% ≥ 80%", said["The source article's figures"])
    assert re.fullmatch(r"does not hold.*share of the bandwidth: \d+–\d+% < 80%", said["Measured on an H200"])


def test_a_case_among_several_is_named(pages):
    (_, cell), *_ = rows(pages["en/compare.md"])["speed_follows_bytes"]
    wanted = "rate: 68.8 tok/s (Qwen3 1.7B bf16 on vLLM) > 52.7 tok/s (Qwen3 4B fp8 on vLLM; 3 of 3 comparisons)"
    assert text(cell) == f"holds{wanted}"


def test_the_other_side_is_named_where_it_is_another_fact_and_no_threshold(pages):
    told = rows(pages["en/compare.md"])
    assert decided(told["sixteen_bit_fits"][0][1]).endswith("weights in 16 bits: 26.0 GB > 24 GB (memory size)")
    assert "(“near”" not in pages["en/compare.md"]


def test_why_it_cannot_be_said_stands_in_the_cell(pages):
    told = {name: text(row[0][1]) for name, row in rows(pages["en/compare.md"]).items()}
    assert told["step_is_kernels"] == "cannot be saidthe source does not give it"
    wanted = r"straddles.*ratio of real-time factors: 1\.1 times \(0\.9131 … 1\.302 times\), held against 1\.25 times"
    assert re.search(wanted, told["steps_not_size"])


# The page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["index", "compare"])
def test_links_lead_to_receipts(pages, language, name):
    links = re.findall(r'href="(?:\.\./)?([\w-]+)/receipts/#([^"]+)"', pages[f"{language}/{name}.md"])
    assert {edition for edition, _ in links} == {"source", "h200", "cpu"}
    for edition, anchor in links:
        assert f'id="{anchor}"' in pages[f"{language}/{edition}/receipts.md"], anchor


@pytest.mark.parametrize("name", ["index", "compare"])
def test_the_languages_tell_the_same(pages, name):
    told = [pages[f"{language}/{name}.md"] for language in LANGUAGES]
    for found in (r'href="([^"]+)"', r"\]\(([^)]+)\)", r"\{#([\w-]+)\}", r"(<tr)"):
        first, *others = (sorted(re.findall(found, text)) for text in told)
        assert first and all(other == first for other in others), found


def test_every_edition_has_its_column_of_numbers(pages, told):
    numbers = pages["en/compare.md"].partition("{#numbers}")[2].partition("{#agree}")[0]
    assert "250 GB/s" in text(numbers) and "905 GB/s machine A" in text(numbers)
    for row in re.findall(r"<tr(?! class)[^>]*><th.*?</tr>", numbers.partition("<tbody>")[2]):
        assert [edition for edition, _ in cells(row)] == [
            config.labels()["edition"][each.edition.id]["en"] for each in told
        ]
    (row,) = re.findall(r"<tr[^>]*><th[^>]*>Qwen3 0\.6B bf16, vLLM</th>.*?180\.4.*?</tr>", numbers)
    first, second, none = (text(cell) for _, cell in cells(row))
    assert (first, none) == ("180.4 tok/s, 87%", "–") and re.fullmatch(r"[\d,.]+ tok/s, \d+%", second)


@pytest.mark.parametrize("outcome", Outcome)
def test_it_reads_well_where_all_editions_say_the_same(outcome):
    pages = render.pages(SHIPPED, dict.fromkeys(CLAIMS, outcome))
    empty = {
        U: "Every conclusion that editions share rests on a measurement",
        H: "No conclusion that holds in one edition is refuted in another",
        R: "Every conclusion can be told by some edition",
    }
    assert empty[outcome] in pages["en/compare.md"]


def test_a_claim_without_a_statement_is_missed_by_name(told, monkeypatch):
    labels = {**config.labels(), "claim": {}}
    monkeypatch.setattr(config, "labels", lambda: labels)
    sides = Sides(Side(each.edition, each.claims) for each in told)
    voices = {each.edition.id: Voice("en", shared=each.shared) for each in told}
    with pytest.raises(config.ConfigError, match=r"\[claim\] models_near_bandwidth"):
        Beside(sides, voices).rows("differ")


def test_a_claim_of_any_kind_can_be_told(told):
    """One that nothing was compared for, one that holds against all odds, one of sides without names."""
    claims = {"models_near_bandwidth": Claim("models_near_bandwidth", Truth(U))}
    named = at_least(constant(2, "1", "one") / constant(1, "1", "one"), constant(1, "times", "one"))
    claims["within_ceiling"] = Claim("within_ceiling", named)
    sides = Sides(Side(each.edition, claims) for each in told)
    voices = {each.edition.id: Voice("en", shared=each.shared) for each in told}
    assert sides.lines[0].group == "none" and "cannot be said" in Beside(sides, voices).rows("none")
    shown = text(Beside(sides, voices).rows("cited"))
    assert "1 ÷ 1: 2.000 ≥ 1" in shown, shown


def test_a_readers_edition_is_compared_on_a_page_of_its_own(tmp_path):
    here = copy.copy(SHIPPED.run("cpu"))
    here.id = "here"
    pages = render.pages(Results([*SHIPPED.runs, here]))
    for language in LANGUAGES:
        start = pages[f"{language}/here/start.md"]
        assert "](here/index.md)" in start and "](here/compare.md)" in start and 'href="here/receipts/#' in start
        assert "here/" not in pages[f"{language}/index.md"]
    columns = {edition for row in rows(pages["en/here/compare.md"]).values() for edition, _ in row}
    assert "Measured on this computer" in columns and len(columns) == 5
    assert "Measured on this computer" not in pages["en/compare.md"]
    links = re.findall(r'href="\.\./\.\./([\w-]+)/receipts/#([^"]+)"', pages["en/here/compare.md"])
    assert {edition for edition, _ in links} == {"source", "h200", "cpu", "here"}
    assert all(f'id="{anchor}"' in pages[f"en/{edition}/receipts.md"] for edition, anchor in links)
    write.write(pages, tmp_path)
    assert "here/" not in (tmp_path / write.MANIFEST).read_text()


# The same models on several machines


class Model:
    """A model as it was decoded on one machine, as far as bars ask."""

    def __init__(self, subject: str, run: str, share: float) -> None:
        self.subject, self.samples = subject, SimpleNamespace(run=SimpleNamespace(id=run))
        self.share = fact(f"{run}.{subject}.share", share)


def edition(*models):
    return SimpleNamespace(focus=models[0], models=list(models))


def chosen(*editions) -> list[tuple[str, str]]:
    return [(bar.model.subject, bar.run.id) for bar in across.bars(editions)]


def test_the_model_on_the_most_machines_comes_first_its_largest_share_on_top():
    one = edition(Model("a", "x", 40), Model("b", "x", 50))
    two = edition(Model("a", "y", 10), Model("b", "y", 90))
    three = edition(Model("b", "z", 70), Model("b", "z", 20))
    assert chosen(one, two, three) == [("b", "y"), ("b", "z"), ("b", "x"), ("b", "z")]


def test_a_machine_that_has_not_had_its_turn_gets_a_model_that_it_shares():
    one = edition(Model("a", "x", 40), Model("a", "y", 50), Model("c", "y", 9))
    two = edition(Model("b", "z", 60), Model("b", "y", 30), Model("d", "w", 80))
    assert chosen(one, two) == [("a", "y"), ("a", "x"), ("b", "z"), ("b", "y")]


def test_a_model_on_one_machine_compares_nothing():
    assert chosen(edition(Model("a", "x", 40)), edition(Model("b", "y", 50))) == []


def test_each_bar_is_as_long_as_its_share(pages, told):
    drawn = re.findall(r'<rect width="([\d.]+)".*?<a [^>]*#([^"]+)\.share"', pages["en/index.md"])
    facts = {name: fact for each in told for name, fact in each.edition.facts.items()}
    assert len(drawn) == len(across.bars([each.edition for each in told])) > 3
    for width, name in drawn:
        assert float(width) == pytest.approx(facts[f"{name}.share"].value, abs=0.01)
    assert f'd="M{facts["threshold.near"].value:.0f} 0V10"' in pages["en/index.md"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_bars_of_one_machine_and_engine_name_their_runs(language):
    here = copy.copy(SHIPPED.run("cpu"))
    here.id = "here"
    names = bar_names(render.pages(Results([*SHIPPED.runs, here]))[f"{language}/here/start.md"])
    assert len(names) == len(set(names))
    named = {run for name in names for run in re.findall(r"<small[^>]*>(.*?)</small>", name)}
    assert named == {"cpu", "here"}, "and no other, which need not be told apart"


def test_bars_that_differ_name_no_run(pages):
    assert not [name for name in bar_names(pages["en/index.md"]) if "<small" in name]


def bar_names(page: str) -> list[str]:
    """What each bar is of: its model and its name."""
    table = re.search(r'<table class="bars">.*?</table>', page, re.DOTALL)[0]
    parts = re.findall(r'<tr class="part"><th[^>]*>(.*?)</th>(.*?)</tbody>', table, re.DOTALL)
    return [f"{model}: {name}" for model, rows in parts for name in re.findall(r'<th scope="row">(.*?)</th>', rows)]


def test_an_interval_is_drawn_where_it_can_be_seen():
    wide, narrow = fact("a.share", 50, spread=5), fact("b.share", 50, spread=0.5)
    assert 'd="M45.00 5H55.00"' in across._drawn(wide, 80, 104)
    assert "spread" not in across._drawn(narrow, 80, 104)


def test_the_start_page_says_where_nothing_can_be_set_side_by_side():
    alone = Results([run for run in SHIPPED.runs if run.id == "cpu"])
    for language, words in (("ko", "두 대 이상의 기기"), ("en", "more than one machine"), ("zh", "多台机器上测过")):
        page = render.pages(alone)[f"{language}/index.md"]
        assert words in page and "<svg" not in page


@pytest.mark.parametrize("outcome", Outcome)
def test_the_start_page_tells_how_each_edition_came_out(told, outcome):
    forced = [replace(each, claims={n: replace(c, forced=outcome) for n, c in each.claims.items()}) for each in told]
    page = render.pages_of(forced)["en/index.md"]
    assert page.count(f'class="claim {outcome.value}"') == len(told)


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_sides_of_a_comparison_are_in_percent_or_neither_is(pages, language):
    """A side that is no fact, such as a quotient, is told as the other side is."""
    said = re.sub("<[^>]*>", "", pages[f"{language}/compare.md"])
    compared = re.findall(r"([\d.,]*\d)(%?) (?:&[gl]t;|[≤≥]) ([\d.,]*\d)(%?)", said)
    assert len(compared) > 20 and [pair for pair in compared if pair[1] != pair[3]] == []
