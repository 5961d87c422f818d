"""A name that stands twice in one object is found wherever it is, however it is written, and told with its place."""

import json

import hypothesis
import pytest
from hypothesis import strategies as st
from test_cli_measure import call, refused, reported  # noqa: F401
from test_render import command
from test_results import RATE, SAMPLE, document

from measure import doubled, results, store
from measure.results import Results, ResultsError

CURE = "Remove the one that is wrong."


class Pairs(list):
    """An object of JSON as it is written, a name perhaps more than once."""


texts = st.text(alphabet='ab"\\:{}[], \n\u00e9\ud55c', max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(texts, inner), max_size=3).map(Pairs),
    max_leaves=20,
)


def written(value, say, colon):
    """A value as JSON, with the spaces and, by `say`, the escapes that a writer may choose."""
    if isinstance(value, Pairs):
        return "{" + " , ".join(f"{say(name)}{colon}{written(part, say, colon)}" for name, part in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(part, say, colon) for part in value) + "]"
    return say(value) if isinstance(value, str) else json.dumps(value)


WRITERS = (
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    lambda text: '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"',
)


def has_doubled(value):
    names = [name for name, _ in value] if isinstance(value, Pairs) else []
    parts = [part for _, part in value] if isinstance(value, Pairs) else value if isinstance(value, list) else []
    return len(set(names)) < len(names) or any(map(has_doubled, parts))


@hypothesis.given(values, st.sampled_from(WRITERS), st.sampled_from([":", " : ", "\n:\t"]))
def test_it_is_told_whether_a_name_stands_twice(value, say, colon):
    assert doubled.doubled(written(value, say, colon).encode()) == has_doubled(value)


def test_the_same_name_written_otherwise_is_the_same():
    assert doubled.doubled(b'{"a": 1, "\\u0061": 1}') and not doubled.doubled(b'{"a": 1, "\\\\u0061": 1}')
    assert doubled.repeated(["a", "b", "c", "b", "a"]) == "b" and doubled.repeated(["a", "b"]) is None


RUN = "results.json: run 'here': "


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"unit": "tok/s"', '"unit": "tok/s", "unit": "tok/s"', f"{RUN}{RATE}: 'unit' stands twice in one object"),
        ('"unit": "tok/s"', '"unit": "s", "unit": "tok/s"', f"{RUN}{RATE}: 'unit' stands twice"),
        ('"config": {', '"config": {"n": 1, "n": 2, ', f"{RUN}{RATE}: config: 'n' stands twice"),
        ('"samples": {', f'"samples": {{"{RATE}": 0, ', f"{RUN}'{RATE}' stands twice"),
        ('"samples": {', '"samples": {}, "samples": {', f"{RUN}'samples' stands twice"),
        ('"machine": {', '"machine": {"name": "x", ', f"{RUN}machine: 'name' stands twice"),
        ('"id": "here"', '"id": "there", "id": "here"', f"{RUN}'id' stands twice"),
        ('"schema": 1', '"schema": 2, "schema": 1', "results.json: 'schema' stands twice"),
        ('"runs": [', '"runs": [], "runs": [', "results.json: 'runs' stands twice"),
        ('"a": "b"', '"a\\n": 1, "a\\n": 2', f"{RUN}{RATE}: config: 'a\\n' stands twice"),
    ],
)
def test_a_doubled_name_in_a_results_file_is_refused_with_its_place(old, new, told):
    """Decoding takes the last, which would be right or wrong unseen."""
    text = json.dumps(document(samples={RATE: {**SAMPLE, "config": {"a": "b"}}}))
    assert results.parse(text.encode()) and text.count(old) == 1
    with pytest.raises(ResultsError) as caught:
        results.parse(text.replace(old, new).encode())
    assert str(caught.value).startswith(told) and str(caught.value).endswith(CURE)


@pytest.mark.parametrize("words", [["check"], ["list"], ["here"], ["run", "steady"], ["merge", "results.json"]])
def test_no_command_takes_a_doubled_name(call, tmp_path, words):  # noqa: F811
    file = tmp_path / "results.json"
    store.save(Results([reported()]), file)
    file.write_text(file.read_text().replace('"median": 905.0', '"median": 9.0, "median": 905.0'))
    before = file.read_bytes()
    assert refused(call(*words), "results.json: run 'source-a': bandwidth/sum: 'median' stands twice", CURE)
    assert file.read_bytes() == before


def test_no_page_is_rendered_of_a_doubled_name(tmp_path):
    file = tmp_path / "results.json"
    store.save(Results([reported()]), file)
    file.write_text(file.read_text().replace('"median": 905.0', '"median": 9.0, "median": 905.0'))
    done = command("--results", str(file), "--out", str(tmp_path / "docs"))
    assert done.returncode == 1 and "bandwidth/sum: 'median' stands twice in one object" in done.stderr, done.stderr
    assert not (tmp_path / "docs").exists()
