"""results.json: what is wrong in it is told by file, key and cure; what is right reads back as it was written."""

import json
import re
import statistics
import tomllib
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from measure import results
from measure.keys import PARAMETERS_OF, Key, key, parse_key
from measure.results import Failure, Import, Machine, Report, Results, ResultsError, Run, Sample, Summary

ROOT = Path(__file__).parent.parent
AT = "2026-11-29T13:45:00Z"
MACHINE = {"name": "a machine", "device": "cpu"}
SAMPLE = {"unit": "tok/s", "values": [1.0, 2.0], "at": AT, "command": "python -m measure run x --run here"}
IMPORT = {"unit": "tok/s", "tool": "llama-bench", "sha256": "0a" * 32, "values": [1.0, 2.0], "given": {"gpu": "0"}}
SUMMED = {**IMPORT, "values": [], "summary": {"median": 1.5, "low": 1.0, "high": 2.0, "count": 20}}
REPORT = {"unit": "GB/s", "median": 905.0, "low": 903.0, "high": 905.0, "source": "an article"}
RATE = "decode_vllm/qwen3-0.6b-bf16/rate?requests=4"


def document(**changes):
    """A file with one executed run; `changes` replace parts of the run."""
    run = {"id": "here", "kind": "executed", "machine": MACHINE, "started": AT, "samples": {RATE: SAMPLE}}
    return {"schema": 1, "runs": [{**run, **changes}]}


def parsed(data):
    return results.parse(json.dumps(data).encode())


# What is right


def test_a_file_is_read_as_it_was_written():
    data = parsed(document(failures={"x/rate": {"reason": "crashed", "at": AT}}))
    run = data.run("here")
    assert run.machine == Machine("a machine", "cpu") and run.samples[RATE].values == [1.0, 2.0]
    assert run.failures == {"x/rate": Failure("crashed", AT)}
    assert data.run("there") is None
    assert results.parse(results.dump(data).encode()) == data


def test_an_import_is_read_with_its_values_or_their_summary():
    samples = {RATE: SAMPLE, "decode_vllm/m-bf16/rate?requests=1": IMPORT, "decode_vllm/m-bf16/rate?requests=2": SUMMED}
    measured, imported, summed = parsed(document(samples=samples)).run("here").samples.values()
    assert isinstance(measured, Sample) and isinstance(imported, Import) and isinstance(summed, Import)
    assert (imported.median, imported.interval, imported.count) == (1.5, (1.0, 2.0), 2)
    assert (summed.median, summed.interval, summed.count) == (1.5, (1.0, 2.0), 20)
    assert list(parsed(document(kind="imported", samples={RATE: IMPORT})).run("here").samples) == [RATE]


def test_writing_twice_gives_the_same_bytes_in_a_stable_order(tmp_path):
    texts = [f"x/rate?requests={n}" for n in (16, 4, 1, 2)]
    data = parsed(document(samples=dict.fromkeys(texts, SAMPLE)))
    dumped = results.dump(data)
    assert list(json.loads(dumped)["runs"][0]["samples"]) == [f"x/rate?requests={n}" for n in (1, 2, 4, 16)]
    assert results.dump(results.parse(dumped.encode())) == dumped
    assert '"values": [1.0, 2.0]' in dumped and dumped.endswith("}\n")


MARKUP = ["[ 1 ]", "[\n 1\n]", "<script>alert(1)</script>", "{{ 7 * 7 }}", "{% raw %}", "# *h* `c`", "\x00\x1b[31m"]
texts = st.text() | st.sampled_from([*MARKUP, "\u2028", "名\U0001f600"])
numbers = st.floats(min_value=results.SMALLEST, max_value=results.LARGEST)
configs = st.dictionaries(
    texts, texts | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-results.LARGEST, results.LARGEST)
)
samples = st.builds(
    Sample, unit=st.just("tok/s"), values=st.lists(numbers, min_size=1, max_size=5), at=st.just(AT), command=texts,
    config=configs, versions=st.dictionaries(texts, texts),
)  # fmt: skip
reports = st.builds(Report, unit=st.just("tok/s"), median=numbers, source=texts, config=configs)
summaries = st.builds(Summary, median=numbers, count=st.integers(0, 1000))
given = st.dictionaries(texts, texts)
made = {"unit": st.just("tok/s"), "tool": texts.filter(bool), "sha256": st.just("0a" * 32), "given": given}
imports = st.builds(
    Import, **made, config=configs, at=st.sampled_from(["", AT]), values=st.lists(numbers, min_size=1, max_size=5)
) | st.builds(Import, **made, summary=summaries)
machines = st.builds(
    Machine,
    name=texts.filter(str.strip),
    device=st.sampled_from(results.DEVICES),
    cores=st.integers(0, 1000),
    driver=texts,
)
keys = st.builds(
    lambda n, subject, quantity: str(key("decode_vllm", quantity, subject, requests=n)),
    st.integers(1, 9999), st.sampled_from(["", "qwen3-4b-fp8", "m.n_o-p"]), st.just("rate"),
)  # fmt: skip


@hypothesis.given(
    machines,
    st.dictionaries(keys, samples | imports, max_size=4),
    st.dictionaries(keys, reports, max_size=4),
    st.dictionaries(keys, imports, max_size=4),
    texts,
)
def test_any_text_and_number_survives_the_round_trip(machine, executed, reported, imported, detail):
    failures = {"x/rate": Failure("crashed", AT, detail)}
    runs = [
        Run("a", "executed", machine, AT, executed, failures),
        Run("b", "reported", machine, AT, reported),
        Run("c", "imported", machine, AT, imported),
    ]
    assert results.parse(results.dump(Results(runs)).encode()) == Results(runs)


@hypothesis.given(st.binary())
def test_no_bytes_are_more_than_one_clear_error(data):
    try:
        results.parse(data)
    except ResultsError as error:
        assert str(error).startswith("results.json: ") and str(error).endswith(".")


@hypothesis.given(st.data())
def test_no_change_of_a_valid_file_is_more_than_one_clear_error(data):
    text = json.dumps(document())
    place = data.draw(st.integers(0, len(text) - 1))
    changed = text[:place] + data.draw(st.text(max_size=3)) + text[place + data.draw(st.integers(0, 9)) :]
    try:
        results.parse(changed.encode("utf-8"))
    except ResultsError as error:
        assert str(error).startswith("results.json: ")


# What is wrong: file, key, cure


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"id": "Here!"}, ["run 'Here!'", "lower-case", "Rename it"]),
        ({"id": ""}, ["run ''", "Rename it"]),
        ({"kind": "guessed"}, ["run 'here'", "'guessed'", "none of 'executed', 'imported', 'reported'", "Correct it"]),
        ({"started": "yesterday"}, ["run 'here'", "started", "'yesterday' is not a date", "Write it like 2026"]),
        ({"machine": {"name": "x"}}, ["run 'here': machine", "`device`", "Correct or remove"]),
        ({"machine": {**MACHINE, "host": "h"}}, ["run 'here': machine", "`host`", "Correct or remove"]),
        ({"machine": {**MACHINE, "cores": "2"}}, ["run 'here': machine", "int", "Correct or remove"]),
        ({"machine": {**MACHINE, "cores": -1}}, ["run 'here': machine: cores is negative", "Correct it"]),
        ({"machine": {**MACHINE, "cache_bytes": -1}}, ["cache_bytes is negative"]),
        ({"machine": {**MACHINE, "memory_bytes": 10**400}}, ["memory_bytes is outside what a machine can do"]),
        ({"machine": {**MACHINE, "device": "toaster"}}, ["machine: device 'toaster' is none of cpu, cuda, mps"]),
        ({"machine": {**MACHINE, "device": ""}}, ["machine: device '' is none of", "Correct it"]),
        ({"machine": {**MACHINE, "name": " "}}, ["machine: name is empty", "Say which"]),
        ({"machine": {**MACHINE, "name": "x" * 201}}, ["machine: name has 201 characters", "200 are", "Shorten it"]),
        ({"samples": {RATE: {**SAMPLE, "config": {"device": "abacus"}}}}, [RATE, "config: device 'abacus' is none of"]),
        ({"samples": {RATE: {**SAMPLE, "config": {"device": 7}}}}, [RATE, "config: device '7' is none of"]),
        ({"failures": {"x/rate": {"reason": "crashed", "at": "noon"}}}, ["failure x/rate: at", "'noon' is not a date"]),
        ({"machine": {**MACHINE, "a\nb": 1}}, ["run 'here': machine", "Correct or remove"]),
        ({"surprise": 1}, ["run 'here'", "surprise", "$.runs[0]", "Correct this entry, or restore"]),
        ({"samples": 5}, ["run 'here'", "$.runs[0].samples", "Correct this entry"]),
        ({"id": 5}, ["$.runs[0].id", "Restore"]),
        ({"samples": {"rate": SAMPLE}}, ["rate: not a key", "Rename it"]),
        ({"samples": {"x/\n\x1b[2Jrate": SAMPLE}}, [r"'x/\n\x1b[2Jrate': not a key", "Rename it"]),
        ({"samples": {"x/y\n" + "z" * 9999: SAMPLE}}, [r"'x/y\nzzz", "zzz...': not a key", "Rename it"]),
        ({"failures": {"x/\u2028": {"reason": "crashed"}}}, [r"failure 'x/\u2028': not a key", "Rename it"]),
        ({"failures": {"x/rate": {"reason": "tired\n"}}}, ["failure x/rate", r"'tired\n'", "Choose from engine_"]),
        ({"samples": {"x/rate?b=1&a=2": SAMPLE}}, ["x/rate?b=1&a=2: not a key", "alphabetical", "Rename it"]),
        ({"samples": {"x/rate?a=1&a=2": SAMPLE}}, ["x/rate?a=1&a=2: not a key", "each once"]),
        ({"samples": {RATE: {**SAMPLE, "mean": 1}}}, [RATE, "`mean`", "Correct or remove"]),
        ({"samples": {RATE: {"unit": "tok/s"}}}, [RATE, "missing", "Correct or remove"]),
        ({"samples": {RATE: {**SAMPLE, "values": "1"}}}, [RATE, "array", "Correct or remove"]),
        ({"samples": {RATE: {**SAMPLE, "values": []}}}, [RATE, "no values", "measure again"]),
        ({"samples": {RATE: {**SAMPLE, "values": [1, 0]}}}, [RATE, "not above zero", "measure again"]),
        ({"samples": {RATE: {**SAMPLE, "values": [1.0] * 201}}}, [RATE, "201 values", "at most 200", "total"]),
        ({"samples": {RATE: {**SAMPLE, "total": -1}}}, [RATE, "total is negative", "Correct it"]),
        ({"samples": {RATE: {**SAMPLE, "total": 1}}}, [RATE, "total is 1, but there are 2 values", "Correct it"]),
        ({"samples": {RATE: {**SAMPLE, "total": 10**400}}}, [RATE, "total is outside"]),
        ({"samples": {RATE: {**SAMPLE, "config": {"a\nb": 1e308}}}}, [RATE, r"config 'a\nb' is not"]),
        ({"samples": {RATE: {**SAMPLE, "config": {"a": 10**400}}}}, [RATE, "config a is not a", "measure again"]),
        ({"samples": {RATE: {**SAMPLE, "unit": "GB/s"}}}, [RATE, "unit 'GB/s' does not fit", "tok/s"]),
        ({"samples": {"x/y": {**SAMPLE, "unit": "furlong"}}}, ["x/y", "'furlong'", "Correct the unit"]),
        ({"samples": {RATE: {**SAMPLE, "at": "noon"}}}, [RATE, "at", "'noon' is not a date"]),
        ({"samples": {RATE: {**SAMPLE, "config": {"a": [1]}}}}, [RATE, "config", "Correct or remove"]),
        ({"samples": {RATE: REPORT}}, [RATE, "that of reported samples"]),
        ({"failures": {"x/rate": {"at": AT}}}, ["failure x/rate", "reason", "Correct or remove"]),
        ({"failures": {"no key": {"reason": "crashed"}}}, ["failure 'no key'", "not a key", "Rename it"]),
        ({"kind": "reported"}, [RATE, "the run's kind is"]),
        ({"kind": "imported"}, [RATE, "the run's kind is"]),
        ({"kind": "imported", "samples": {RATE: {**IMPORT, "sha256": "0A" * 32}}}, [RATE, "sha256", "Import the"]),
        ({"samples": {RATE: {**IMPORT, "sha256": "0a"}}}, [RATE, "sha256", "64 lower-case", "Import the file again"]),
        ({"samples": {RATE: {**IMPORT, "tool": ""}}}, [RATE, "tool is empty"]),
        ({"samples": {RATE: {**IMPORT, "values": []}}}, [RATE, "either values or a summary"]),
        ({"samples": {RATE: {**SUMMED, "values": [1.0]}}}, [RATE, "either values or a summary"]),
        ({"samples": {RATE: {**SUMMED, "summary": {"median": 0.5, "low": 1.0}}}}, [RATE, "outside low and high"]),
        ({"samples": {RATE: {**SUMMED, "summary": {"median": 1.0, "count": -1}}}}, [RATE, "count", "negative"]),
        ({"samples": {RATE: {**IMPORT, "values": [-1.0]}}}, [RATE, "not above zero"]),
        ({"samples": {RATE: {**IMPORT, "total": 1}}}, [RATE, "total is 1"]),
        ({"samples": {RATE: {**IMPORT, "at": "yesterday"}}}, [RATE, "'yesterday' is not a date"]),
        ({"kind": "reported", "samples": {"bandwidth/sum": {**REPORT, "low": 906}}}, ["bandwidth/sum", "outside"]),
        ({"kind": "reported", "samples": {"bandwidth/sum": {**REPORT, "low": -1}}}, ["bandwidth/sum", "above zero"]),
        ({"kind": "reported", "samples": {"bandwidth/sum": {**REPORT, "count": -1}}}, ["bandwidth/sum", "negative"]),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_place_and_cure(changes, told):
    with pytest.raises(ResultsError) as caught:
        parsed(document(**changes))
    message = str(caught.value)
    assert message.startswith("results.json: ") and "\n" not in message
    assert all(part in message for part in told), message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("matmul/throughput", "tell dtype and n, and no more"),
        ("matmul/throughput?dtype=bf16", "tell dtype and n, and no more"),
        ("matmul/throughput?n=4096", "tell dtype and n, and no more"),
        ("matmul/throughput?dtype=bf16&k=1&n=4096", "tell dtype and n, and no more"),
        ("matmul/throughput?dtype=bf16&n=abc", "n in the key is not a whole number from 1"),
        ("matmul/throughput?dtype=bf16&n=1e3", "n in the key is not a whole number from 1"),
        ("matmul/throughput?dtype=bf16&n=0", "n in the key is not a whole number from 1"),
        ("matmul/throughput?dtype=bf16&n=" + "9" * 5000, "n in the key is not a whole number from 1"),
        ("matmul/qwen3-0.6b-bf16/throughput?dtype=bf16&n=4096", "tell dtype and n, and no more"),
        ("bandwidth/sum?requests=4", "tell nothing of its own, and no more. Rename it like bandwidth/sum."),
        ("bandwidth/copy?card=1&moon=full", "tell nothing of its own, and no more"),
        ("link/copy", "tell to and ways, and no more. Rename it like link/copy?to=1&ways=2."),
        ("link/copy?to=1", "tell to and ways, and no more"),
        ("link/copy?card=1&to=1&ways=1", "tell to and ways, and no more"),
        ("link/qwen3-0.6b-bf16/copy?to=1&ways=1", "tell to and ways, and no more"),
        ("link/copy?to=1&ways=3", "ways in the key is none of 1, 2"),
        ("link/copy?to=0&ways=1", "to in the key is not a whole number from 1"),
        ("link/copy?to=one&ways=1", "to in the key is not a whole number from 1"),
        ("link/all_reduce_time?bytes=8192", "tell bytes and graphs, and no more"),
        ("link/all_reduce_time?bytes=8KB&graphs=on", "bytes in the key is not a whole number from 1"),
        ("link/all_reduce_time?bytes=8192&graphs=maybe", "graphs in the key is none of off, on"),
        ("link/all_reduce_bandwidth?bytes=-5", "bytes in the key is not a whole number from 1"),
        ("link/all_reduce_bandwidth?bytes=8&graphs=on", "tell bytes, and no more"),
        ("bandwidth/sum?card=1025", "card in the key is not a whole number from 1 to 1024"),
        ("link/copy?to=999999999&ways=1", "to in the key is not a whole number from 1 to 1024"),
        ("x/rate?requests=1&tensor_parallel=999999999", "not a whole number from 2 to 1024"),
        ("x/rate", "tell requests"),
        ("x/rate?tokens=4", "tell requests"),
        ("x/rate?requests=0", "requests in the key is not a whole number from 1"),
        ("x/rate?requests=04", "requests in the key is not a whole number from 1"),
        ("x/rate?requests=" + "4" * 400, "requests in the key is not a whole number from 1"),
        ("x/rate?requests=-1", "requests in the key is not a whole number from 1"),
        ("x/first_token?tokens=1", "tell requests"),
        ("x/prefill_rate", "tell tokens or input"),
        ("x/prefill_rate?tokens=abc", "tokens in the key is not a whole number from 1"),
        ("x/prefill_time?requests=1", "tell tokens or input"),
        ("x/patch_time?steps=1.5", "steps in the key is not a whole number from 0"),
        ("x/real_time_factor?stack=two", "stack in the key is not a whole number from 0"),
        ("x/cer?audio=a&right=00", "right in the key is not a whole number from 0"),
    ],
)
def test_a_key_that_tells_too_little_or_no_number_is_refused(text, told):
    unit = results.UNITS_OF[parse_key(text).quantity][0]
    with pytest.raises(ResultsError) as caught:
        parsed(document(samples={text: {**SAMPLE, "unit": unit}}))
    message = str(caught.value)
    assert message.startswith("results.json: run 'here': ") and text[:90] in message and told in message
    assert message.endswith(".") and "Rename it" in message and len(message) < 300


@pytest.mark.parametrize(
    "text",
    [
        "matmul/throughput?dtype=bf16&n=1",
        "x/rate?requests=999999999",
        "x/prefill_rate?input=repeated",
        "x/prefill_rate?tokens=1",
        "x/cer?audio=a&right=0",
        "x/unheard_of?n=1",
    ],
)
def test_a_key_that_tells_enough_is_taken(text):
    unit = results.UNITS_OF.get(parse_key(text).quantity, ("1",))[0]
    assert text in parsed(document(samples={text: {**SAMPLE, "unit": unit}})).runs[0].samples


def quantity_keys():
    """A valid key for each quantity whose units are known."""
    told = {**{name: f"?{names[0]}=4" for name, names in PARAMETERS_OF.items()}, "throughput": "?dtype=a&n=1"}
    return [f"{'matmul' if q == 'throughput' else 'x'}/{q}{told.get(q, '')}" for q in results.UNITS_OF]


@pytest.mark.parametrize("text", quantity_keys())
def test_a_quantity_takes_its_units_and_what_a_machine_can_do(text):
    quantity = parse_key(text).quantity
    fitting = results.UNITS_OF[quantity]
    assert set(fitting) <= set(results.UNITS)
    good = [(unit, 0.5) for unit in fitting] + [(fitting[0], 1e-12), (fitting[0], 1e18)]
    bad = [("B", 0.5), (fitting[0], -1.0), (fitting[0], -1e-300), (fitting[0], 1.1e18), (fitting[0], 5e-324)]
    (good if quantity in results.MAY_BE_ZERO else bad).append((fitting[0], 0.0))
    for unit, value in good:
        parsed(document(samples={text: {**SAMPLE, "unit": unit, "values": [value]}}))
    for unit, value in bad:
        with pytest.raises(ResultsError, match=r"does not fit|zero|outside what a machine can do"):
            parsed(document(samples={text: {**SAMPLE, "unit": unit, "values": [value]}}))


@pytest.mark.parametrize(("value", "good"), [(0.0, True), (-5.0, True), (1e19, False), (-1e19, False), (1e-13, False)])
def test_an_unknown_quantity_takes_what_a_machine_can_do(value, good):
    data = document(samples={"x/y": {**SAMPLE, "values": [value]}})
    if good:
        assert parsed(data)
    else:
        with pytest.raises(ResultsError, match=r"x/y: a value is outside what a machine can do .*measure again"):
            parsed(data)


@pytest.mark.parametrize("reason", results.REASONS)
def test_a_known_reason_is_taken_and_has_its_words_on_the_site(reason):
    assert parsed(document(failures={"x/rate": {"reason": reason}}))
    labels = tomllib.loads((ROOT / "templates" / "labels.toml").read_text())
    assert set(labels["reason"][reason]) == {"ko", "en", "zh"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("place", ["value", "config", "median"])
def test_what_is_no_finite_number_is_refused(number, place):
    kind = "reported" if place == "median" else "executed"
    changed = {
        "value": {**SAMPLE, "values": ["@"]},
        "config": {**SAMPLE, "config": {"a": "@"}},
        "median": {**REPORT, "median": "@"},
    }
    text = json.dumps(document(kind=kind, samples={"bandwidth/x": changed[place]})).replace('"@"', number)
    with pytest.raises(ResultsError, match=r"^results\.json: "):
        results.parse(text.encode())


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"samples": {RATE: {**SAMPLE, "values": [1.0, "@"]}}}, f"run 'here': {RATE}: values[1] is @,"),
        ({"samples": {RATE: {**SAMPLE, "config": {"id": "x", "a": "@"}}}}, f"run 'here': {RATE}: config: a is @,"),
        ({"machine": {**MACHINE, "cores": "@"}}, "run 'here': machine: cores is @,"),
        ({"samples": {"x" * 300: "@"}}, "run 'here': xxx"),
    ],
)
@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_lacks_is_named_with_run_and_key(constant, place, told):
    text = json.dumps({**document(), "runs": [document(id="first")["runs"][0], *document(**place)["runs"]]})
    with pytest.raises(ResultsError) as caught:
        results.parse(text.replace('"@"', constant).encode())
    message = str(caught.value)
    assert message.startswith("results.json: not a results file: ") and len(message) < 400
    assert told.replace("@", constant) in message
    assert f"{constant}, and JSON has no such number. Remove the entry and measure again, or restore" in message or (
        "..." in message
    )


def test_a_number_that_json_lacks_amid_other_faults_is_still_one_line():
    for data in (b'{"runs": NaN', b"[" * 100_000 + b"NaN", b"NaN", b'{"schema": NaN, "runs": []}'):
        with pytest.raises(ResultsError, match=r"^results\.json: not a results file: .*\.$"):
            results.parse(data)
    with pytest.raises(ResultsError, match=r"runs\[0\]: started is NaN, and JSON has no such number"):
        results.parse(b'{"schema": 1, "runs": [{"started": NaN}]}')


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("wrong", ["nan", "NaN,", "+1"])
def test_what_is_no_json_is_shown_with_its_line(wrong, indent):
    text = json.dumps(document(samples={"x/y": {**SAMPLE, "values": ["@"]}}), indent=indent).replace('"@"', wrong)
    number = text[: text.index(wrong)].count("\n") + 1
    with pytest.raises(ResultsError, match=rf"malformed.* \(line {number}: .*{re.escape(wrong)}.*\)\. ") as caught:
        results.parse(text.encode())
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(("kind", "of"), [("reported", "executed"), ("imported", "executed"), ("executed", "reported")])
def test_a_kind_that_is_not_that_of_the_samples_is_told(kind, of):
    sample = REPORT if of == "reported" else SAMPLE
    told = f"x/y: its form is that of {of} samples, but the run's kind is '{kind}'. Correct the kind, or remove this"
    with pytest.raises(ResultsError, match=re.escape(told)):
        parsed(document(kind=kind, samples={"x/y": sample}))


@pytest.mark.parametrize(("coding", "told"), [("utf-8-sig", "byte order mark"), ("utf-16", "it is UTF-16")])
def test_what_an_editor_made_of_the_characters_is_named(coding, told):
    with pytest.raises(ResultsError, match=rf"{told}.*\. Save it as UTF-8 without BOM\.$"):
        results.parse(json.dumps(document()).encode(coding))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff", b'{"schema": "1", "runs": []}', b"[" * 100_000]
)
def test_what_is_no_results_file_is_told(data):
    with pytest.raises(ResultsError, match=r"^results\.json: not a results file: .*Restore the file"):
        results.parse(data)


def test_every_truncation_is_told():
    whole = json.dumps(document()).encode()
    for length in range(len(whole)):
        with pytest.raises(ResultsError, match=r"^results\.json: "):
            results.parse(whole[:length])


def test_another_schema_is_told():
    with pytest.raises(ResultsError, match=r"schema 2, but this version reads 1\. Use the version that wrote it"):
        parsed({"schema": 2, "runs": []})


def test_two_runs_of_one_name_are_told():
    runs = document()["runs"]
    with pytest.raises(ResultsError, match=r"run 'here' stands there twice\. Give one of them another id"):
        parsed({"schema": 1, "runs": runs + runs})


# Keys and statistics


@hypothesis.given(keys)
def test_a_key_reads_back_as_it_was_written(text):
    assert str(parse_key(text)) == text


def test_a_key_sorts_its_names():
    built = key("matmul", "throughput", n=4096, dtype="bf16")
    assert str(built) == "matmul/throughput?dtype=bf16&n=4096"
    assert str(Key("matmul", "", "throughput", (("n", "4096"), ("dtype", "bf16")))) == str(built)


def test_the_interval_covers_the_median_as_often_as_it_says():
    assert results.median_interval([float(n) for n in range(1, 11)]) == (2.0, 9.0)  # binomial: 97.9% for ranks 2 and 9
    assert results.median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert results.median_interval([7.0]) == (7.0, 7.0)


@hypothesis.given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_the_interval_holds_the_median(values):
    low, high = results.median_interval(values)
    assert low <= statistics.median(values) <= high


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"interval_low": 3.0, "interval_high": 7}, (3.0, 7)),
        ({"interval_low": 6.0, "interval_high": 7.0}, (5.0, 7.0)),
        ({"interval_low": 3.0}, (5.0, 5.0)),
        ({"interval_low": "3", "interval_high": 7.0}, (5.0, 5.0)),
    ],
)
def test_what_is_one_value_by_nature_brings_its_interval(config, expected):
    sample = Sample("%", [5.0], "2026-11-30T00:00:00Z", "", config)
    assert sample.interval == expected
