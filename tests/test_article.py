"""The article's templates: no figure typed in, three outcomes a claim, the same facts and claims in each language."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from jinja2 import nodes
from paths import RESULTS, TEMPLATES

from measure.store import load
from templates import render, typography
from templates.claims import CLAIMS, all_runs
from templates.environment import environment
from templates.labels import LANGUAGES
from templates.truth import Outcome
from templates.voice import Voice

FILES = sorted(TEMPLATES.glob("*/**/*.md.j2"))
HEADING = re.compile(r"^#+ .*\{#([a-z0-9-]+)\}", re.MULTILINE)

# What may hold a digit: headings' numbers, names of models, formats and machines, and definitions.
NAMES = re.compile(
    r"^#+ \d\. |^\d\. |\{#[a-z0-9-]+\}"
    r"|(?<![A-Za-z0-9])(?:Qwen3|VoxCPM2|H200|H100|A100|L4|fp8|fp16|bf16|fp32|q4_0|q6_K|4096|large-v3|Llama-2-13b"
    r"|Nemotron 3\.5|nemotron-3\.5-asr-streaming-0\.6b)(?![A-Za-z0-9])"
    r"|arXiv \d{4}\.\d{5}|(?:sections?|tables?|第|表) ?[\d.]+(?:(?:, | and |、| 和 ?)\d[\d.]*)*|[\d.]+절|표 \d|202[03]"
    r"|\bpython3\b|24\u00a0GB|(?:batch|배치) 1\b|\(right \+ 1\)"
    r"|16 bits|16-bit|16비트|16 位|right context \+ 1|오른쪽 문맥 \+ 1|右侧上下文 \+ 1",
    re.MULTILINE,
)
NUMBER_WORDS = {
    "en": r"\b(?:twice|thrice|half|halves|halved|doubled?|tripled?|quarter|thirds?|tenths?|dozen|hundred|thousand)\b",
    "ko": r"절반|두 배|세 배|네 배|몇 배|[0-9]분의|반으로",
    "zh": r"一半|两倍|三倍|四倍|减半|翻倍|翻番|[一二三四五六七八九十]分之",
}


def parse(path) -> nodes.Template:
    return environment().parse(path.read_text(encoding="utf-8"))


def language_of(path) -> str:
    return path.name.split(".")[0]


def folders() -> list:
    return sorted({path.parent for path in FILES})


def data_of(tree: nodes.Template) -> Iterator[nodes.TemplateData]:
    return tree.find_all(nodes.TemplateData)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_figure_is_typed_in(path):
    for data in data_of(parse(path)):
        text = NAMES.sub("", data.data)
        assert not re.search(r"\d", text), f"{path.name}:{data.lineno}: a digit in {text.strip()!r}"
        word = re.search(NUMBER_WORDS[language_of(path)], text, re.IGNORECASE)
        assert not word, f"{path.name}:{data.lineno}: {word[0]!r} stands for a number"


def test_the_lint_for_figures_sees_one():
    tree = environment().parse("It reaches 86% of the bandwidth.")
    assert any(re.search(r"\d", NAMES.sub("", data.data)) for data in data_of(tree))
    assert re.search(NUMBER_WORDS["en"], "about half of it")


def claim_asked(test: nodes.Node) -> tuple[str, str] | None:
    """`c.NAME.ASKED` as (NAME, ASKED), and of what is concluded from all runs `of_all.NAME.ASKED`."""
    if isinstance(test, nodes.Getattr) and isinstance(test.node, nodes.Getattr):
        owner = test.node.node
        if isinstance(owner, nodes.Name) and owner.name in ("c", "of_all"):
            return test.node.attr, test.attr
    return None


def faults_of_branches(tree: nodes.Template) -> list[str]:
    found = []
    for branch in tree.find_all(nodes.If):
        asked = claim_asked(branch.test)
        if asked is None or asked[1] != "holds":
            continue
        others = [claim_asked(other.test) for other in branch.elif_]
        if others != [(asked[0], "refuted")] or not branch.else_:
            found.append(f"line {branch.lineno}: {asked[0]}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_claim_has_three_sentences(path):
    assert faults_of_branches(parse(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{% if c.a.holds %}yes{% endif %}",
        "{% if c.a.holds %}yes{% else %}no{% endif %}",
        "{% if c.a.holds %}yes{% elif c.b.refuted %}no{% else %}?{% endif %}",
        "{% if c.a.holds %}yes{% elif c.a.refuted %}no{% endif %}",
        "{% if of_all.a.holds %}yes{% else %}?{% endif %}",
    ],
)
def test_the_lint_for_branches_sees_a_missing_one(text):
    assert faults_of_branches(environment().parse(text))


def sections(path) -> dict[str, dict[str, list[str]]]:
    """Facts and claims that a template names, by the heading they stand under."""
    found: dict[str, dict[str, list[str]]] = {"": {"facts": [], "claims": []}}
    current = ""
    for node in in_order(parse(path)):
        if isinstance(node, nodes.TemplateData):
            for heading in HEADING.finditer(node.data):
                current = heading[1]
                found[current] = {"facts": [], "claims": []}
        elif isinstance(node, nodes.Getattr):
            dotted = name_of(node)
            if dotted.startswith(("c.", "of_all.")):
                found[current]["claims"].append(dotted.split(".")[1])
            elif dotted:
                found[current]["facts"].append(dotted)
    return {name: {kind: sorted(set(names)) for kind, names in part.items()} for name, part in found.items()}


def in_order(node: nodes.Node) -> Iterator[nodes.Node]:
    for child in node.iter_child_nodes():
        yield child
        if not (isinstance(child, nodes.Getattr) and name_of(child)):
            yield from in_order(child)


def name_of(node: nodes.Node) -> str:
    """`focus.machine.bandwidth` for a chain of attributes that begins at a name; "" for any other."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        owner = name_of(node.node)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_languages_tell_the_same(folder):
    first, *others = (sections(folder / f"{language}.md.j2") for language in LANGUAGES)
    for other in others:
        assert list(other) == list(first), "the headings differ"
        for heading in first:
            assert other[heading] == first[heading], f"under {heading!r}"


def test_every_claim_is_told():
    told = {name for path in FILES for part in sections(path).values() for name in part["claims"]}
    assert told == {*CLAIMS, *all_runs.CLAIMS}


@pytest.fixture(scope="module", params=[None, *Outcome], ids=str)
def rendered(request):
    force = None if request.param is None else dict.fromkeys([*CLAIMS, *all_runs.CLAIMS], request.param)
    return render.pages(load(RESULTS), force)


@pytest.mark.parametrize("language", LANGUAGES)
def test_typography(rendered, language):
    """Prose only: receipts are formulas and records."""
    pages = {
        path: text for path, text in rendered.items() if path.startswith(f"{language}/") and "receipts" not in path
    }
    found = {f"{path}: {finding}" for path, text in pages.items() for finding in typography.lint(text, language)}
    assert not found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_outcome_has_words_of_its_own(language):
    """Forced to another outcome, the sentences of every claim change in every language, in some edition at least."""
    told = render.tell(load(RESULTS))
    for name in CLAIMS:
        assert any(
            len({sentences(each, language, name, outcome) for outcome in Outcome}) == len(Outcome) for each in told
        ), name


def sentences(told: render.Told, language: str, name: str, outcome: Outcome) -> str:
    """An article with one claim forced, without the marks that lead to a claim's test."""
    forced = {**told.claims, name: replace(told.claims[name], forced=outcome)}
    return re.sub(r'<a class="claim .*?</a>', "", render.article(replace(told, claims=forced), Voice(language)))


def test_links_lead_to_receipts(rendered):
    """Every number and claim of an article has its place on the receipts page of the same edition and language."""
    for path, text in rendered.items():
        if path.endswith("/index.md") and path.count("/") == 2:
            receipts = rendered[path.replace("index.md", "receipts.md")]
            anchors = set(re.findall(r'(?:id="|\{#)([^"}]+)', receipts))
            wanted = set(re.findall(r'href="receipts/#([^"]+)"', text))
            assert wanted and wanted <= anchors, sorted(wanted - anchors)


def test_headings_are_ascii_and_shared(rendered):
    for edition in ("source", "cpu"):
        ids = [HEADING.findall(rendered[f"{language}/{edition}/index.md"]) for language in LANGUAGES]
        assert ids[0] == ids[1] == ids[2]
        assert len(ids[0]) == len(set(ids[0]))


def test_a_prompt_of_one_length_is_told_without_a_shortest_one():
    """As of a run that was interrupted: the kernels of the shortest prompt were traced, but no longer one was timed."""
    results, longer = load(RESULTS), re.compile(r"prefill_(rate|time)\?tokens=\d{3}")
    for run in results.runs:
        run.samples = {text: sample for text, sample in run.samples.items() if not longer.search(text)}
    text = render.pages_of(render.tell(results))["en/h200/index.md"]
    assert re.search(r"Time of the shortest prompt beyond .*unmeasured", text)
