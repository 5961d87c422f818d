"""What `check` tells besides verdicts: unknown names are warned of, and dates that are to come refused."""

import itertools
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from paths import RESULTS
from test_cli_measure import AT, MACHINE, call, executed, imported, put, refused, reported  # noqa: F401

from measure import inspection, registry, store
from measure.results import Failure, Machine, Run, Sample
from measure.session import Session

SHIPPED = store.load(RESULTS)
MEASUREMENTS = registry.find()


def of(*keys, **more):
    samples = {text: Sample("1", [1.0], AT, "c") for text in keys}
    return Run("here", "executed", MACHINE, AT, samples, **more)


def test_the_shipped_file_has_nothing_odd():
    now = datetime.fromisoformat(max(run.started for run in SHIPPED.runs)) + timedelta(days=1)
    for run in SHIPPED.runs:
        assert list(inspection.unknown(run, MEASUREMENTS)) == [], run.id
        assert list(inspection.to_come(run, now.isoformat())) == [], run.id


@pytest.mark.parametrize(("where", "cards"), [("cpu", 0), ("cuda", 2), ("mps", 1)])
def test_every_key_that_is_planned_is_known(tmp_path, where, cards):
    """Whatever a measurement may record, so that a new name is made known together with it."""
    there = Machine("a machine", where, "p", 4, 64 * 2**30, 2**20, cards)
    keys = []
    for measurement, quick in itertools.product(MEASUREMENTS.values(), (False, True)):
        session = Session(tmp_path / "r.json", "here", there, quick, {})
        keys += map(str, measurement.plan(session))
    assert len(set(keys)) > 100
    assert list(inspection.unknown(of(*keys), MEASUREMENTS)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bandwith/sum", "measurement 'bandwith' (bandwith/sum)"),
        ("bandwidth/summ", "quantity 'summ'"),
        ("decode_vllm/qwen9-1b-bf16/memory", "model in this precision 'qwen9-1b-bf16'"),
        ("decode_vllm/qwen3-1.7b-fp99/memory", "model in this precision 'qwen3-1.7b-fp99'"),
        ("decode_vllm/nonsense/memory", "model in this precision 'nonsense'"),
        ("decode_vllm/qwen3-1.7b-bf16/memory?moon=full", "parameter 'moon'"),
    ],
)
def test_a_name_that_nobody_knows_is_warned_of(text, told):
    (warning,) = inspection.unknown(of(text), MEASUREMENTS)
    assert warning.startswith(f"run 'here': this version knows no {told}") and warning.endswith("if it is a slip.")


def test_a_name_is_told_once_with_its_count_and_of_failures_too():
    run = of("new/memory", "new/cer", failures={"new/plan": Failure("crashed"), "bandwidth/plan": Failure("crashed")})
    (warning,) = inspection.unknown(run, MEASUREMENTS)
    assert "no measurement 'new' (3 keys, the first new/memory)" in warning


def test_names_of_imports_are_free():
    run = imported()
    (sample,) = run.samples.values()
    run.samples = {"decode_sglang/my-model/other?moon=full": sample}
    assert list(inspection.unknown(run, MEASUREMENTS)) == []


def test_check_warns_and_is_content(call):  # noqa: F811
    put(of("bandwith/slope"))
    code, _, err = call("check")
    assert code == 0 and err.startswith(
        "warning: results.json: run 'here': this version knows no measurement 'bandwith'"
    )


# Dates


NOW = "2026-11-30T12:00:00Z"


@pytest.mark.parametrize(
    ("date", "ahead"),
    [
        ("2026-12-01T11:59:59Z", False),
        ("2026-12-01T12:00:01Z", True),
        ("2026-12-01T20:00:00+09:00", False),
        ("2026-12-01", False),
        ("2026-12-02", True),
        ("2099-01-01T00:00:00Z", True),
    ],
)
def test_a_date_is_to_come_if_it_is_more_than_a_day_ahead(date, ahead):
    sample, failure = Sample("1", [1.0], date, "c"), Failure("crashed", date)
    started, within = (
        Run("a", "executed", MACHINE, date),
        Run("b", "executed", MACHINE, AT, {"x/y": sample}, {"x/z": failure}),
    )
    imports = imported()
    imports.samples = {text: msgspec.structs.replace(each, at=date) for text, each in imports.samples.items()}
    found = [place for run in (started, within, imports, reported()) for place in inspection.to_come(run, NOW)]
    places = ["run 'a': started", "run 'b': x/y", "run 'b': failure x/z", f"run 'here': {next(iter(imports.samples))}"]
    assert found == ([f"{place}: {date} is still to come" for place in places] if ahead else [])


def test_check_refuses_a_date_to_come(call):  # noqa: F811
    before = put(Run("here", "executed", MACHINE, "2999-01-01", {"x/cer": Sample("%", [1.0], "2999-01-01", "c")}))
    answer = call("check")
    assert (answer[0], "run 'here': started: 2999-01-01 is still to come, and 1 more. Correct it, or" in answer[2]) == (
        1,
        True,
    )
    assert Path("results.json").read_bytes() == before
