"""Changed copies of the real results file, and texts of every script in it: one clear error, or whole pages."""

from __future__ import annotations

import functools
import html.parser
import json
import re
import unicodedata

import markdown
import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from paths import RESULTS

from measure.results import LONGEST_NAME, Failure, Machine, Report, Results, ResultsError, Run, dump, parse
from measure.store import load
from templates import cli as command
from templates import render
from templates.html import plain
from templates.labels import LANGUAGES

REAL = RESULTS.read_bytes()
SHIPPED = load(RESULTS)
EXTENSIONS = ["toc", "tables", "fenced_code", "attr_list"]
"""Those that mkdocs.yml and MkDocs itself use."""

bounded = functools.partial(settings, deadline=None, suppress_health_check=list(HealthCheck))


# The file


numbers = st.integers() | st.floats(allow_nan=False) | st.sampled_from([0, -1, 1e-13, 1e19, 2**63, 10**400])
values = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | st.text(max_size=8)
    | st.sampled_from(["here", "executed", "tok/s", "2026-02-30"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    """The way to each value of a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*path, name))


PLACES = [path for path in places(json.loads(REAL)) if path]


def changed(draw) -> bytes:
    """The real file with one to three of its values replaced, removed, renamed or repeated."""
    document = json.loads(REAL)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(PLACES))
        try:
            part = functools.reduce(lambda inner, name: inner[name], way, document)
            old = part[last]
            how = draw(st.sampled_from(["replace", "scale", "remove", "rename", "repeat"]))
            if how == "replace":
                part[last] = draw(values)
            elif how == "scale" and isinstance(old, int | float):
                part[last] = old * draw(st.floats(-2, 1e6))
            elif how == "remove":
                del part[last]
            elif how == "rename" and isinstance(part, dict):
                part[draw(st.text(max_size=8) | st.sampled_from(sorted(part)))] = part.pop(last)
            elif how == "repeat" and isinstance(part, list):
                part.append(old)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return json.dumps(document, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


def damaged(draw) -> bytes:
    """The real file with some bytes replaced, removed or added."""
    data = bytearray(REAL)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 20))] = draw(st.binary(max_size=20) | st.sampled_from(ODD))
    return bytes(data)


ODD = [
    b'"',
    b"\\ud800",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"1e999",
    b"-0",
    b"NaN",
    b"{}",
    b"[]",
    b"}",
    b"\\u0000",
]


@bounded(max_examples=300)
@given(st.data())
def test_a_changed_file_is_read_or_refused_in_one_line(data):
    made = data.draw(st.sampled_from([changed, damaged]))(data.draw)
    try:
        parse(made)
    except ResultsError as error:
        assert re.fullmatch(r"results\.json: [^\n]+\.", str(error)), str(error)


@bounded(max_examples=25)
@given(st.data())
def test_a_changed_file_is_rendered_whole_or_refused_with_nothing_written(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("changed")
    file, out = folder / "results.json", folder / "docs"
    file.write_bytes(data.draw(st.sampled_from([changed, changed, damaged]))(data.draw))
    code, errors = told(["--results", str(file), "--out", str(out)])
    try:
        whole = render.pages(load(file))
    except ResultsError as error:
        assert (code, errors) == (1, f"error: {' '.join(str(error).split())}\n") and not out.exists()
    else:
        assert code == 0, errors
        assert {path: (out / path).read_text(encoding="utf-8") for path in whole} == whole


def told(arguments) -> tuple[int, str]:
    """Exit code of the renderer and the last line that it printed for errors."""
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("builtins.print", lambda *words, file=None, **_: lines.append(" ".join(map(str, words))))
        code = command.main(arguments)
    return code, f"{lines[-1]}\n" if lines else ""


# Texts


class Read(html.parser.HTMLParser):
    """A page's tags in order, with their attributes, and its text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_endtag(self, tag):
        self.tags.append(("/", tag))

    def handle_data(self, data):
        self.words.append(data)

    def handle_comment(self, data):
        self.tags.append(("comment", data))

    @property
    def text(self) -> str:
        return squeezed("".join(self.words))


def squeezed(text: str) -> str:
    """Without what isolates text of another direction, and each space once."""
    return re.sub(r"\s+", " ", re.sub("[\u2068\u2069]", "", text)).strip()


def seen(text: str) -> str:
    """What a reader sees of a text: what cannot be printed is a space, but for the joiners that scripts need."""
    return squeezed("".join(char if char.isprintable() or char in "\u200c\u200d" else " " for char in text))


PIECES = [
    "한국어 기계", "김치은(는)", "서버이/가 ", "H200을(를)", "값", "नमस्ते क्‍ष", "می‌خواهم ۱۲۳", "עברית 12",
    "ไทย", "日本語ﾊﾝｶｸ", "汉字，。", "é", "é", "Å", "ﬁ", "①", "🧑‍🚀", "🇰🇷", "\U00013000", "̸", "\u202e",
    "\u2066", "\u200b", "\ufeff", "\u00ad", "\u2028", "\x00", "\x1b[31m", "<script>alert(1)</script>",
    "</dd></dl>", "<!--", "-->", "<b title='", '"><img src=x onerror=alert(1)>', "&lt;", "&#60;", "&", "**b**",
    "_i_", "`c`", "[a](javascript:x)", "![x](y)", "| a | b |", "\n\n# h\n", "\n- i", "\n    code", "```", "~~~",
    "1. ", "[^1]", "{: #x }", "{{ 7 * 7 }}", "{% raw %}", "{# c #}", "{{ c.x }}", "$x$", "\\", "\\<",
    "klzzwxh:0001", "\x02klzzwxh:0001\x03", "+ ", "=== ", ":",
]  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), min_size=1, max_size=6).map("".join)
texts = st.builds(unicodedata.normalize, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), pieces)


def telling(text: str) -> Results:
    """A reader's run in which every text that is free is this one, and a reported run with it as its source."""
    executed = SHIPPED.run("cpu")
    samples = {
        key: msgspec.structs.replace(sample, command=text, config={**sample.config, text: text}, versions={text: text})
        for key, sample in executed.samples.items()
    }
    samples["x/unheard_of"] = msgspec.structs.replace(next(iter(samples.values())), unit="1")
    name = text[:LONGEST_NAME]
    machine = Machine(name if name.strip() else "a machine", "cpu", text, driver=text, system=text)
    failures = {"x/rate?requests=1": Failure("crashed", executed.started, text)}
    here = Run("here", "executed", machine, executed.started, samples, failures)
    source = SHIPPED.run("source-a")
    reports = {key: sourced(report, text) for key, report in source.samples.items()}
    return parse(dump(Results([here, msgspec.structs.replace(source, samples=reports)])).encode())


def sourced(report: Report, text: str) -> Report:
    return msgspec.structs.replace(report, source=text, versions={text: text})


@functools.cache
def ordinary(path: str) -> list:
    """The tags of a page whose texts are a word."""
    return Read(converted(telling("word"), path)).tags


def converted(data: Results, path: str) -> str:
    return markdown.markdown(render.pages(data)[path], extensions=EXTENSIONS)


PAGES = [f"{lang}/{name}" for lang in LANGUAGES for name in ("here/index.md", "here/receipts.md", "source/receipts.md")]


@bounded(max_examples=25)
@given(texts, st.sampled_from(PAGES))
@example("".join(PIECES), "en/here/receipts.md")
@example(unicodedata.normalize("NFD", "".join(PIECES)), "ko/here/index.md")
@example(unicodedata.normalize("NFD", "한글 이름은(는)"), "ko/here/receipts.md")
@example("<b>x</b>", "zh/source/receipts.md")
def test_any_text_in_any_field_comes_out_as_text(text, path):
    """The page has the tags it has for a word, and reads as the text was written, in its own normal form."""
    page = Read(converted(telling(text), path))
    assert page.tags == ordinary(path)
    assert seen(text[:LONGEST_NAME] if path.endswith("index.md") else text) in page.text


@given(texts)
def test_what_is_plain_stays_on_its_line_and_keeps_its_characters(text):
    said = plain(text)
    assert "\n" not in said and not re.search(r"[<>`*_|{}\[\]]", said)
    assert squeezed(html.unescape(said)) == seen(text)


@pytest.mark.parametrize(
    ("text", "isolated"), [("نص 12", True), ("עברית", True), ("한글", False), ("a", False), ("é", False)]
)
def test_text_from_right_to_left_does_not_turn_what_stands_around_it(text, isolated):
    said = plain(text)
    assert (said[0], said[-1]) == ("\u2068", "\u2069") if isolated else said == text


@pytest.mark.parametrize("text", ["한글 이름은(는) 서버을(를)", "서울 GPU이/가"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_particles_in_data_are_left_as_they_are(text, form):
    """A machine's name is data: no particle is chosen after it or in it, composed or decomposed."""
    written = unicodedata.normalize(form, text)
    page = Read(converted(telling(written), "ko/here/receipts.md"))
    assert written in page.text
