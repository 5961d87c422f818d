"""All runs that decoded, on the page of comparison: which there are, what follows from them, and how they are shown."""

import copy
import html
import json
import re

import pytest
from hosts import of_model, run_on
from paths import RESULTS

from measure.results import Machine, Results, Run, Sample, dump, parse
from measure.store import load
from templates import all_runs, render
from templates.charts import checked
from templates.claims.all_runs import CLAIMS, judge
from templates.facts.edition import editions
from templates.labels import LANGUAGES
from templates.truth import Outcome

SHIPPED = load(RESULTS)
H, R, U = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED
CARD = Machine("Made-up card", "cuda", accelerators=1, accelerator_memory_bytes=80 * 10**9)


def sample(unit: str, value: float) -> Sample:
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x")


def decoded(run_id: str, bandwidth: float, rates: dict[str, tuple[float, float]], machine: Machine = CARD) -> Run:
    """A run of a machine of this bandwidth in GB/s; of each engine and model its weights in GB and its rate."""
    samples = {"bandwidth/sum": sample("GB/s", bandwidth)}
    for name, (weights, rate) in rates.items():
        samples[f"decode_{name}/loaded_weights"] = sample("GB", weights)
        samples[f"decode_{name}/rate?requests=1"] = sample("tok/s", rate)
    return Run(run_id, "executed", machine, "2026-11-01T00:00:00Z", samples)


def of(*runs: Run) -> all_runs.AllRuns:
    """All runs of a file with these alone, which no edition tells."""
    told = editions(Results([*runs]))
    return all_runs.AllRuns(told, all_runs.others(told))


SMALL, LARGE = "vllm/qwen3-1.7b-bf16", "vllm/gemma4-12b-bf16"


def test_a_point_is_a_model_on_an_engine_in_a_run():
    """3.5 GB × 200 tok/s = 700 GB/s of 2,000 GB/s: 35%."""
    rates = {SMALL: (3.5, 200), LARGE: (24, 50), "llama/qwen3-1.7b-bf16": (3.5, 100)}
    points = of(decoded("fast", 2000, rates)).points
    assert [(point.model.engine, point.model.subject, point.edition) for point in points] == [
        ("llama", "qwen3-1.7b-bf16", ""),
        ("vllm", "qwen3-1.7b-bf16", ""),
        ("vllm", "gemma4-12b-bf16", ""),
    ]
    assert [round(point.share.value, 9) for point in points] == [17.5, 35, 60]
    assert {(point.bandwidth.value, point.kind) for point in points} == {(2000, "cuda")}


def test_points_stand_by_bandwidth_and_then_by_weights():
    runs = decoded("b", 500, {SMALL: (3.5, 100)}), decoded("a", 2000, {LARGE: (24, 50), SMALL: (3.5, 100)})
    found = [(point.run.id, point.model.weights.value) for point in of(*reversed(runs)).points]
    assert found == [("b", 3.5), ("a", 3.5), ("a", 24)]


def test_what_lacks_a_bandwidth_or_a_rate_and_the_readers_own_run_are_no_points():
    whole = decoded("whole", 500, {SMALL: (3.5, 100)})
    without = [copy.copy(whole) for _ in range(3)]
    for run, lost in zip(without, ("bandwidth/sum", f"decode_{SMALL}/rate?requests=1", ""), strict=True):
        run.id = f"without-{lost[:2]}" if lost else "here"
        run.samples = {text: sample for text, sample in whole.samples.items() if text != lost}
    data = Results([whole, *without])
    told = [edition for edition in editions(data) if edition.id != "here"]
    assert [point.run.id for point in all_runs.AllRuns(told, all_runs.others(told)).points] == ["whole"]


def test_a_rejected_rate_is_no_point():
    """3.5 GB × 1,000 tok/s is seven times what the memory delivers."""
    assert of(decoded("wrong", 500, {SMALL: (3.5, 1000)})).points == []


def test_the_shipped_runs_are_all_there_each_where_its_receipt_is():
    told = editions(SHIPPED)
    points = all_runs.AllRuns(told, all_runs.others(told)).points
    found = {(point.run.id, point.edition) for point in points}
    assert {("source-a", "source"), ("source-b", "source"), ("h200-engines", "h200"), ("cpu", "cpu")} < found
    assert ("h200-pytorch", "") in found
    keys = [(point.run.id, point.model.engine, point.model.subject, point.model.cards) for point in points]
    assert len(keys) == len(set(keys)) > 20


# Several cards


def test_each_number_of_cards_is_a_point_of_its_own():
    """4,000 GB/s a card, 8 GB: 200, 330 and 500 tokens a second are 40, 33 and 25%."""
    told = of(run_on(4, (1, 2, 4), run_id="host"))
    assert [(point.model.cards, point.bandwidth.value) for point in told.points] == [(1, 4000), (2, 8000), (4, 16000)]
    assert [point.share.value for point in told.points] == pytest.approx([40, 33, 25])


def test_what_ran_on_several_cards_alone_is_a_point():
    assert [point.model.cards for point in of(run_on(4, (2, 4), run_id="host")).points] == [2, 4]


def test_conclusions_are_about_the_memory_of_one_card():
    """Two cards of 900 GB/s are no fast memory: one card takes up 78% of its own, both together 19% of theirs."""
    run = run_on(2, (1, 2), run_id="host")
    run.samples |= {text: sample("GB/s", 900) for text in run.samples if text.startswith("bandwidth/")}
    run.samples |= of_model(1, 100.0, 1000.0, 7.0) | of_model(2, 50.0, 1000.0, 7.0)
    found = of(run)
    assert [point.share.value for point in found.points] == pytest.approx([700 / 9, 350 / 18])
    assert [found.is_fast(point) and found.is_small(point) for point in found.points] == [False, True]
    assert [point.model.cards for point in found.best_on_slow] == [1] and found.small_on_fast == []
    assert judge(found)["fast_memory_unused"].outcome is U and judge(found)["slow_memory_used"].outcome is H


@pytest.mark.parametrize(
    ("language", "said"), [("en", "vLLM, 4 cards"), ("ko", "vLLM, GPU 4개"), ("zh", "vLLM，4 块 GPU")]
)
def test_a_row_and_a_point_tell_the_number_of_cards_beside_the_engine(language, said):
    pages = render.pages(Results([run_on(4, (1, 4), run_id="host")]))
    one, four = (text(row[4]) for row in ROW.findall(pages[f"{language}/compare.md"]))
    assert said in four and said not in one and "16,000 GB/s" in four
    drawing = json.loads(pages[f"assets/charts/all/machines.{language}.json"])
    names = [name for trace in drawing["data"] if "customdata" in trace for name in trace["text"]]
    assert [said in name for name in names] == [False, True]


# What follows


@pytest.mark.parametrize(
    ("runs", "unused", "used"),
    [
        # 3.5 GB × 200 tok/s is 35% of 2,000 GB/s, and below most; × 80 it is 56% of 500 GB/s, which is most.
        ([decoded("fast", 2000, {SMALL: (3.5, 200)}), decoded("slow", 500, {SMALL: (3.5, 80)})], H, H),
        # 70% of fast memory; 28% of slow.
        ([decoded("fast", 2000, {SMALL: (3.5, 400)}), decoded("slow", 500, {SMALL: (3.5, 40)})], R, R),
        # Large models on fast memory do not count, and of two engines on slow memory the better one does.
        ([decoded("fast", 2000, {LARGE: (24, 50)})], U, U),
        ([decoded("slow", 500, {SMALL: (3.5, 80), "llama/qwen3-1.7b-bf16": (3.5, 10)})], U, H),
        # Exactly the threshold is fast memory, and not a small model.
        ([decoded("edge", 1000, {SMALL: (3.5, 100)})], H, U),
        ([decoded("edge", 1000, {SMALL: (8, 100)})], U, U),
    ],
)
def test_what_follows_from_all_runs(runs, unused, used):
    found = judge(of(*runs))
    assert {name: claim.outcome for name, claim in found.items()} == {
        "fast_memory_unused": unused,
        "slow_memory_used": used,
    }


def test_which_come_near():
    """90% of 500 GB/s does, 70% of 2,000 does not."""
    runs = decoded("slow", 500, {SMALL: (3.5, 450 / 3.5)}), decoded("fast", 2000, {SMALL: (3.5, 400)})
    assert [point.run.id for point in of(*runs).near] == ["slow"]


# The page


@pytest.fixture(scope="module", params=[None, *Outcome], ids=str)
def pages(request):
    return render.pages(SHIPPED, dict.fromkeys(CLAIMS, request.param) if request.param else None)


def text(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\u00a0", " ")


def section(page: str) -> str:
    return page.partition("{#machines}")[2].partition("{#numbers}")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_outcome_is_told_with_its_verdict(pages, language):
    part = section(pages[f"{language}/compare.md"])
    said = text(part)
    for name in CLAIMS:
        assert part.count(f'href="#claim.{name}"') == part.count(f'<li id="claim.{name}">') == 1
    assert not re.search(r"\{\{|\}\}|None|undefined", said)


def test_each_outcome_has_a_sentence_of_its_own():
    said = {
        outcome: [
            section(render.pages(SHIPPED, dict.fromkeys(CLAIMS, outcome))[f"{lang}/compare.md"]) for lang in LANGUAGES
        ]
        for outcome in Outcome
    }
    wanted = {H: "every model with weights under", R: "some model with weights under", U: "Whether models with weights"}
    for outcome, start in wanted.items():
        others = [one for one in Outcome if one is not outcome]
        assert start in text(said[outcome][1]) and not any(start in text(said[one][1]) for one in others)
    for languages in zip(*said.values(), strict=True):
        assert len({text(part.partition("{#machines-limit}")[2].partition("<ul")[0]) for part in languages}) == 3


ROW = re.compile(r'<tr data-at="(\d+)" data-kind="(\w+)" data-model="([^"]+)" data-engine="([^"]+)">(.*?)</tr>')


def test_a_number_leads_to_its_receipt_where_an_edition_has_one(pages):
    page = pages["en/compare.md"]
    rows = ROW.findall(page)
    assert [int(at) for at, *_ in rows] == list(range(len(rows))) and f'data-all="{len(rows)}"' in page
    for _, _, _, _, inside in rows:
        run = re.search(r"<small[^>]*>([\w-]+)</small>", inside)[1]
        links = re.findall(r'href="\.\./([\w-]+)/receipts/#([^"]+)"', inside)
        facts = inside.count('class="fact ')
        assert facts == 4 and len(links) == (0 if run == "h200-pytorch" else 4), run
        for edition, name in links:
            assert name.startswith(f"{run}.") and f'id="{name}"' in pages[f"en/{edition}/receipts.md"]
    assert sum("h200-pytorch" in row[4] for row in rows) == 3


def test_the_languages_have_the_same_rows(pages):
    first, *others = ([row[:4] for row in ROW.findall(pages[f"{language}/compare.md"])] for language in LANGUAGES)
    assert first and others == [first, first]


def test_the_chart_has_every_point_and_is_what_plotly_draws():
    pages = render.pages(SHIPPED)
    for language in LANGUAGES:
        drawing = json.loads(pages[f"assets/charts/all/machines.{language}.json"])
        checked(drawing)
        series = [trace for trace in drawing["data"] if "customdata" in trace]
        points = [point for trace in series for point in trace["customdata"]]
        rows = [row[1:4] for row in ROW.findall(pages[f"{language}/compare.md"])]
        assert sorted(map(tuple, points)) == sorted(rows)
        assert all(len(trace["x"]) == len(trace["y"]) == len(trace["text"]) for trace in series)
        looks = {(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in series}
        assert len(looks) == len(series)
        assert drawing["layout"]["meta"] == {"rows": []}
        assert not any(name.startswith("@") for trace in drawing["data"] for name in [trace["name"]])


def test_filled_points_are_small_models():
    runs = decoded("a", 2000, {SMALL: (3.5, 100), LARGE: (24, 40)}), decoded("b", 2000, {LARGE: (7.9, 40)})
    drawing = json.loads(render.pages(Results([*runs]))["assets/charts/all/machines.en.json"])
    series = {trace["marker"]["symbol"]: trace for trace in drawing["data"] if "customdata" in trace}
    assert {symbol: len(trace["x"]) for symbol, trace in series.items()} == {"circle": 2, "circle-open": 1}
    assert series["circle-open"]["showlegend"] is False and series["circle"]["showlegend"] is True


def test_a_crowd_of_points_is_drawn_smaller_and_without_intervals(monkeypatch):
    """As many as are not yet a crowd have both."""
    for most, size, visible in ((2, 9, True), (1, 5, False)):
        monkeypatch.setattr("templates.charts.all_runs.CROWD", most)
        runs = [decoded(f"run-{n}", 500, {SMALL: (3.5, 100)}) for n in range(2)]
        spread = sample("tok/s", 100)
        spread.values[:] = [90, 95, 100, 105, 110]
        runs[0].samples[f"decode_{SMALL}/rate?requests=1"] = spread
        drawing = json.loads(render.pages(Results([*runs]))["assets/charts/all/machines.en.json"])
        (trace,) = [trace for trace in drawing["data"] if "customdata" in trace]
        assert (trace["marker"]["size"], trace["error_y"]["visible"]) == (size, visible)
        checked(drawing)


def test_what_the_page_has_no_room_for_comes_with_the_chart(monkeypatch):
    """Of five rows two have no room: those of the earliest run that no edition tells."""
    runs = [decoded(f"run-{n}", 500 + n, {SMALL: (3.5, 100)}) for n in range(5)]
    for n, run in zip((3, 1, 2, 5, 4), runs, strict=True):
        run.started = f"2026-11-0{n}T00:00:00Z"
    monkeypatch.setattr(all_runs, "MOST", 3)
    pages = render.pages(Results([*runs]))
    page, drawing = pages["en/compare.md"], json.loads(pages["assets/charts/all/machines.en.json"])
    assert [row[0] for row in ROW.findall(page)] == ["0", "3", "4"] and 'data-all="5"' in page
    rows = drawing["layout"]["meta"]["rows"]
    assert [row[:5] for row in rows] == [[n, "cuda", "qwen3-1.7b", "vllm", f"run-{n}"] for n in (1, 2)]
    assert rows[0][5:] == ["Made-up card", "Qwen3 1.7B bf16", "vLLM", "501 GB/s", "3.50 GB", "100 tok/s", "70%"]
    assert "2 rows of earlier runs" in text(page)


def test_rows_that_editions_tell_always_have_room(monkeypatch):
    monkeypatch.setattr(all_runs, "MOST", 1)
    found = all_runs.AllRuns(editions(SHIPPED), all_runs.others(editions(SHIPPED)))
    assert [point.edition for _, point in found.beyond] == [""] * 3
    assert len(found.shown) + 3 == len(found.points)


def test_a_machine_of_any_name_is_text_in_the_chart_and_in_its_rows(monkeypatch):
    monkeypatch.setattr(all_runs, "MOST", 0)
    hostile = Machine("@near <b>|{{ 1 }}", "cuda", accelerators=1)
    results = parse(dump(Results([decoded("x", 500, {SMALL: (3.5, 100)}, hostile)])).encode())
    drawing = json.loads(render.pages(results)["assets/charts/all/machines.en.json"])
    (trace,) = [trace for trace in drawing["data"] if "customdata" in trace]
    assert trace["text"] == ["Qwen3 1.7B bf16, vLLM, @near &lt;b&gt;|{{ 1 }}"]
    assert drawing["layout"]["meta"]["rows"][0][5] == "\u2060@near <b>|{{ 1 }}"


def test_where_nothing_decoded_the_page_says_so():
    page = render.pages(Results([]))["en/compare.md"]
    assert "No run on file has both" in page and "<form" not in page and "choose.js" not in page


def test_a_readers_own_run_is_on_the_readers_page_alone():
    here = decoded("here", 500, {SMALL: (3.5, 100)})
    pages = render.pages(Results([*SHIPPED.runs, here]))
    before = render.pages(SHIPPED)
    for name in ("en/compare.md", "assets/charts/all/machines.en.json"):
        assert pages[name] == before[name]
    assert "Made-up card" in pages["en/here/compare.md"]
    assert "Made-up card" in pages["assets/charts/here/machines.en.json"]
    assert 'href="../../here/receipts/#here.vllm.qwen3-1.7b-bf16.share"' in pages["en/here/compare.md"]
    assert 'data-chart="../../../assets/charts/here/machines.en.json"' in pages["en/here/compare.md"]


def test_kinds_of_machine_have_a_name_in_every_language():
    from measure.results import DEVICES
    from templates.labels import Labels

    for language in LANGUAGES:
        assert all(Labels(language).get("choose", kind) for kind in DEVICES)


@pytest.mark.parametrize(("length", "label"), [(60, "M" * 60), (61, f"{'M' * 60}…")])
def test_a_long_name_is_cut_in_the_chart_alone(length, label):
    run = decoded("fast", 2000, {SMALL: (3.5, 200)}, Machine("M" * length, "cuda"))
    pages = render.pages(Results([*SHIPPED.runs, run]))
    chart, page = pages["assets/charts/all/machines.en.json"], pages["en/compare.md"]
    labels = [text for trace in json.loads(chart)["data"] for text in trace.get("text", [])]
    assert any(text.endswith(f", {label}") for text in labels) and f">{'M' * length}<" in page
