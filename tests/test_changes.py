"""What changed between two runs: noise is no change, machines are not mixed, measuring again turns no claim around."""

import copy
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import RESULTS, ROOT

from measure import limits, models
from measure.results import Failure, Machine, Report, Results, Run, Sample, dump, median_interval
from measure.store import load
from templates import claims, config
from templates.changes import claim, machine, runs, sample, spread
from templates.changes.sample import Kind
from templates.changes.spread import Difference, Spread
from templates.facts.edition import Edition, editions
from templates.facts.verdicts import Verdicts
from templates.quantity import Absence
from templates.truth import Claim, Outcome, Truth

SHIPPED = load(RESULTS)
EXECUTED = [run for run in SHIPPED.runs if run.kind == "executed" and claim.telling(run.id)]
"""Those that an edition tells."""
PLACE = "bandwidth/sum"

# The rule


def apart_by_chance(one: int, other: int) -> float:
    """How often the two intervals are apart, counted over every order of one + other different values."""
    apart = total = 0
    for chosen in itertools.combinations(range(one + other), one):
        rest = [float(rank) for rank in range(one + other) if rank not in chosen]
        (low, high), (least, most) = median_interval([float(rank) for rank in chosen]), median_interval(rest)
        apart += high < least or most < low
        total += 1
    return apart / total


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 6), (2, 2), (3, 3), (4, 4), (5, 5), (3, 9), (6, 9), (9, 6)])
def test_the_chance_of_intervals_apart_is_exact(one, other):
    assert spread.chance(one, other) == pytest.approx(apart_by_chance(one, other))


def test_an_unknown_number_of_repetitions_proves_nothing():
    assert spread.chance(0, 20) == spread.chance(20, 0) == 1


def of(values, unit="tok/s") -> Spread:
    return Spread.of(Sample(unit, list(values), "2026-11-29", "python -m measure run x"))


FIVE = [100, 101, 102, 103, 104]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (of(FIVE), of(FIVE), Difference.WITHIN),
        (of(FIVE), of([104, 110, 120, 130, 140]), Difference.WITHIN),  # the intervals touch
        (of(FIVE), of([105, 110, 120, 130, 140]), Difference.CHANGED),
        (of(FIVE), of([50, 51, 52, 53, 54]), Difference.CHANGED),
        (of([100.0, 100.1, 100.2, 100.3, 100.4]), of([101, 101.1, 101.2, 101.3, 101.4]), Difference.WITHIN),  # 1%
        (of([100]), of([200]), Difference.UNDECIDED),
        (of([100]), of([100]), Difference.WITHIN),
        (of([100]), of(FIVE), Difference.WITHIN),
        (of([100, 101, 102]), of([200, 201, 202]), Difference.UNDECIDED),
        (of([100, 101, 102, 103]), of([200, 201, 202, 203]), Difference.CHANGED),
        (of([7.5], "GiB"), of([7.5], "GiB"), Difference.WITHIN),
        (of([7.5], "GiB"), of([7.5001], "GiB"), Difference.CHANGED),  # counted: no noise
        (of([1e9], "B"), of([1e9 + 1e-3], "B"), Difference.WITHIN),  # a conversion's rounding
    ],
)
def test_the_rule(before, after, expected):
    assert spread.compare(before, after) is spread.compare(after, before) is expected


def test_a_reported_figure_without_range_or_count_cannot_be_told_from_noise():
    figures = [Spread.of(Report("tok/s", median, "somewhere")) for median in (100, 200)]
    assert spread.compare(*figures) is Difference.UNDECIDED


def test_measuring_the_same_again_is_seldom_a_change():
    """Values drawn twice from one skewed distribution, as times are, with 10% of noise: 5 and 20 repetitions."""
    rng = random.Random(1)
    for count in (5, 20):
        pairs = [[of(rng.lognormvariate(4, 0.1) for _ in range(count)) for _ in "ab"] for _ in range(2000)]
        changed = sum(spread.compare(*pair) is Difference.CHANGED for pair in pairs)
        assert changed / len(pairs) < spread.CHANCE / 2


def test_a_change_is_seen():
    rng = random.Random(1)
    pairs = [[of(rng.gauss(mean, 2) for _ in range(20)) for mean in (100, 110)] for _ in range(200)]
    assert all(spread.compare(*pair) is Difference.CHANGED for pair in pairs)


# Samples


def run_of(samples=None, failures=None, **machine_of) -> Run:
    described = {"name": "a machine", "device": "cpu", "processor": "a processor", "memory_bytes": 2**34, **machine_of}
    return Run("a", "executed", Machine(**described), "2026-11-01", samples or {}, failures or {})


def measured(values=FIVE, unit="GB/s", **config_of) -> Sample:
    return Sample(unit, [float(v) for v in values], "2026-11-01", "python -m measure run x", config_of)


def kinds(before: Run, after: Run) -> dict[str, Kind]:
    return {change.key: change.kind for change in sample.changes(before, after, Verdicts())}


CRASHED, MISSING = Failure("crashed"), Failure("engine_missing")
CACHE = {"cache_bytes": 2**20}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (run_of({PLACE: measured()}), run_of({PLACE: measured()}), Kind.WITHIN),
        (run_of({PLACE: measured()}), run_of({PLACE: measured([2 * v for v in FIVE])}), Kind.CHANGED),
        (run_of({PLACE: measured([1])}), run_of({PLACE: measured([2])}), Kind.UNDECIDED),
        (run_of(), run_of({PLACE: measured()}), Kind.GAINED),
        (run_of({PLACE: measured()}), run_of(), Kind.LOST),
        (run_of(failures={PLACE: CRASHED}), run_of({PLACE: measured()}), Kind.GAINED),
        (run_of(failures={"bandwidth/plan": CRASHED}), run_of({PLACE: measured()}), Kind.GAINED),
        (run_of({PLACE: measured()}), run_of(failures={PLACE: CRASHED}), Kind.LOST),
        (run_of(failures={PLACE: CRASHED}), run_of(failures={PLACE: MISSING}), Kind.STILL_NONE),
        (run_of(failures={PLACE: CRASHED}), run_of(failures={PLACE: CRASHED}), None),
        # A buffer that fits the cache: the sample is rejected, and its value no value.
        (run_of({PLACE: measured()}, **CACHE), run_of({PLACE: measured(buffer_bytes=2**19)}, **CACHE), Kind.LOST),
        (run_of({PLACE: measured(buffer_bytes=2**19)}, **CACHE), run_of({PLACE: measured()}, **CACHE), Kind.GAINED),
        (run_of({PLACE: measured(buffer_bytes=2**19)}, **CACHE), run_of(failures={PLACE: CRASHED}), Kind.STILL_NONE),
    ],
)
def test_what_becomes_of_a_sample(before, after, expected):
    assert kinds(before, after) == ({PLACE: expected} if expected else {})


def test_a_suspect_sample_is_compared_and_stays_suspect():
    before, after = (run_of({PLACE: measured(buffer_bytes=2**21)}, **CACHE) for _ in "ab")
    (change,) = sample.changes(before, after, Verdicts())
    assert (change.kind, change.before.state, change.before.reason) == (Kind.WITHIN, "suspect", "buffer_in_cache")
    found = runs.diff(Results([before]), before, after)
    assert runs.described(found)["samples"][0]["after"]["state"] == "suspect"


def test_units_are_converted_and_those_that_do_not_fit_are_told():
    seconds, milliseconds = measured([1, 1, 1, 1], "s"), measured([1000, 1000, 1000, 1000], "ms")
    (change,) = sample.changes(run_of({"x/first_token": seconds}), run_of({"x/first_token": milliseconds}), Verdicts())
    assert (change.kind, change.new.unit, change.ratio) == (Kind.WITHIN, "s", 1)
    rate = measured([1, 1, 1, 1], "tok/s")
    (change,) = sample.changes(run_of({"x/anything": seconds}), run_of({"x/anything": rate}), Verdicts())
    assert (change.kind, change.ratio) == (Kind.UNFIT, None)


def test_other_settings_are_told_and_by_products_are_not():
    before = run_of({PLACE: measured(buffer_bytes=2**30, probed=1.5)})
    after = run_of({PLACE: measured(buffer_bytes=2**31, probed=1.6, threads=2)})
    (change,) = sample.changes(before, after, Verdicts())
    assert change.settings == {"buffer_bytes": (2**30, 2**31), "threads": (None, 2)}


@pytest.mark.parametrize("run", EXECUTED, ids=lambda run: run.id)
def test_a_run_does_not_differ_from_itself(run):
    found = runs.diff(SHIPPED, run, run)
    assert {change.kind for change in found.changes} == {Kind.WITHIN}
    assert len(found.changes) == len(run.samples) - len(rejected(run)), "a rejected sample counts as no value"
    assert not (found.machines or found.versions or any(found.claims.values()))


# Machines


def test_every_field_of_a_machine_is_either_made_of_or_installed():
    assert {*machine.MADE_OF, *machine.INSTALLED} == set(Machine.__struct_fields__)
    assert not {*machine.MADE_OF} & {*machine.INSTALLED}


@pytest.mark.parametrize("field", [*machine.MADE_OF, *machine.INSTALLED])
def test_what_a_machine_is_made_of_makes_it_another_and_versions_do_not(field):
    value = getattr(run_of().machine, field)
    other = run_of(**{field: f"{value}x" if isinstance(value, str) else value * 2 + 1})
    assert list(machine.unlike(run_of(), other)) == ([field] if field in machine.MADE_OF else [])
    assert list(machine.installed(run_of(), other)) == ([field] if field in machine.INSTALLED else [])


def test_memory_that_a_driver_keeps_makes_no_other_machine():
    card = {"accelerator_memory_bytes": 150109880320}
    other = {"accelerator_memory_bytes": 150109880320 - 2**26}
    assert machine.unlike(run_of(**card), run_of(**other)) == {}
    assert machine.unlike(run_of(**card), run_of(accelerator_memory_bytes=2**36))


def test_reported_runs_are_never_known_to_be_of_one_machine():
    one, other = (SHIPPED.run(name) for name in ("source-voxcpm", "source-asr"))
    assert one.machine == other.machine
    assert list(machine.unlike(one, other)) == ["kind"]
    assert machine.unlike(one, one) == {}


def dated(run_id: str, started: str, measured=("bandwidth/copy", "decode_llama/m/rate"), **changes) -> Run:
    samples = dict.fromkeys(measured, CPU.samples[COPY])
    return msgspec.structs.replace(run_of(samples, **changes), id=run_id, started=started)


def test_the_run_before_is_the_last_one_of_the_same_machine():
    now = dated("now", "2026-11-05")
    others = [
        dated("oldest", "2026-11-01"),
        dated("before", "2026-11-02"),
        dated("elsewhere", "2026-11-03", cores=99),
        dated("here", "2026-11-04"),
        msgspec.structs.replace(dated("told", "2026-11-04"), kind="reported"),
        now,
        dated("later", "2026-11-06"),
    ]
    assert machine.earlier(now, others).id == "before"
    assert machine.earlier(others[0], others) is None


def test_a_run_of_something_else_is_not_the_run_before():
    """Its ceilings alone would be compared, and all else be gained or lost."""
    speech, other = "tts_voxcpm/m/first_audio", dated("models", "2026-11-02")
    others = [dated("speech", "2026-11-01", ("bandwidth/copy", speech)), other]
    assert machine.earlier(dated("now", "2026-11-05", ("bandwidth/copy", speech)), others).id == "speech"
    assert machine.earlier(dated("now", "2026-11-05", ("bandwidth/copy", "asr_nemotron/m/step_time")), others) is None
    assert machine.earlier(dated("now", "2026-11-05", ("bandwidth/copy",)), others).id == "models"


# Claims


def redrawn(run: Run, rng: random.Random, widen: float = 1.0) -> Run:
    """The run measured again: every sample's values are others within the interval of its median.

    Drawn evenly, or only from the two ends, or all from one end, which moves medians most. With `widen` above 1 from
    beyond the interval, by that factor.
    """
    again = copy.copy(run)
    again.samples = {text: _redrawn(measured, rng, widen) for text, measured in run.samples.items()}
    return again


def _redrawn(measured: Sample, rng: random.Random, widen: float) -> Sample:
    low, high = measured.interval
    ends = low / widen, high * widen
    end = rng.choice(ends)
    draw = rng.choice([lambda: rng.uniform(*ends), lambda: rng.choice(ends), lambda: end])
    return msgspec.structs.replace(measured, values=[draw() for _ in measured.values])


def outcomes(run: Run) -> list[dict[str, Outcome]]:
    """Of the claims of each edition that tells the run, with this run in its place."""
    seated = [claim.judged(SHIPPED, name, told, run.id, run) for name, told in claim.telling(run.id).items()]
    return [{name: judged.outcome for name, judged in found.items()} for found in seated]


def turned_around(before: Run, after: Run) -> set[str]:
    """Claims that held and are refuted, or the other way round."""
    both = {Outcome.HOLDS, Outcome.REFUTED}
    pairs = zip(outcomes(before), outcomes(after), strict=True)
    return {name for old, new in pairs for name in old if {old[name], new[name]} == both}


@pytest.mark.parametrize("run", EXECUTED, ids=lambda run: run.id)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_a_remeasurement_within_the_spread_flips_no_claim(run, seed):
    again = redrawn(run, random.Random(seed))
    assert claim.telling(run.id), "no edition tells the run, so nothing was tested"
    assert turned_around(run, again) == set()
    assert {change.kind for change in sample.changes(run, again, Verdicts())} == {Kind.WITHIN}


def test_a_remeasurement_beyond_the_spread_flips_claims():
    """Else the test above could not fail."""
    for run in EXECUTED:
        rng = random.Random(1)
        assert any(turned_around(run, redrawn(run, rng, widen=3)) for _ in range(20))


def rejected(run: Run) -> set[str]:
    return {text for text, verdict in limits.verdicts(run, models).items() if verdict.status == "rejected"}


@pytest.mark.parametrize("run", EXECUTED, ids=lambda run: run.id)
def test_on_any_machine_only_a_verdict_that_moves_can_flip_a_claim(run):
    """Machines that do not exist: each sample times a factor of its own, then measured again within the spread.

    A sample so near a limit that the limit rejects it in one run and not in the other takes part in one judgement only.
    """
    rng = random.Random(1)
    judged = 0
    for _ in range(60):
        imagined = copy.copy(run)
        imagined.samples = {
            text: measured if measured.unit in spread.COUNTED else scaled(measured, 10 ** rng.uniform(-1, 1))
            for text, measured in run.samples.items()
        }
        again = redrawn(imagined, rng)
        if rejected(imagined) == rejected(again):
            assert turned_around(imagined, again) == set()
            judged += 1
    assert judged > 10


def scaled(measured: Sample, factor: float) -> Sample:
    return msgspec.structs.replace(measured, values=[value * factor for value in measured.values])


def slowed(run: Run, run_id: str) -> Run:
    """A run of the same machine in which prompts take ten thousand times as long."""
    samples = {text: scaled(s, 1e-4) if "prefill_rate" in text else s for text, s in run.samples.items()}
    return msgspec.structs.replace(run, id=run_id, samples=samples)


def test_claims_are_judged_in_the_edition_that_tells_a_run():
    run = SHIPPED.run("h200-engines")
    again = slowed(run, "again")
    found = runs.diff(Results([*SHIPPED.runs, again]), run, again)
    seated = [copy.copy(again) if each.id == run.id else each for each in SHIPPED.runs]
    next(each for each in seated if each.id == "again").id = run.id
    old, new = ({each.id: each for each in editions(results)} for results in (SHIPPED, Results(seated)))
    expected = {
        name: (old_claim.outcome, new_claim.outcome)
        for (name, old_claim), new_claim in zip(
            claims.judge(old["h200"]).items(), claims.judge(new["h200"]).values(), strict=True
        )
        if old_claim.outcome is not new_claim.outcome
    }
    assert list(found.claims) == ["h200"]
    assert {turn.name: (turn.before.outcome, turn.after.outcome) for turn in found.claims["h200"]} == expected != {}
    back = runs.diff(SHIPPED, again, run)
    assert {turn.name: (turn.after.outcome, turn.before.outcome) for turn in back.claims["h200"]} == expected


def test_runs_that_no_edition_tells_are_told_by_themselves():
    run = SHIPPED.run("cpu")
    one, other = msgspec.structs.replace(run, id="one"), slowed(run, "other")
    found = runs.diff(Results([one, other]), one, other)
    assert list(found.claims) == [""]
    expected = [claims.judge(Edition(each.id, claim.composed(each.id), Results([one, other]))) for each in (one, other)]
    differing = {name for name in claims.CLAIMS if len({judged[name].outcome for judged in expected}) > 1}
    assert {turn.name for turn in found.claims[""]} == differing != set()


def test_the_worked_example_counts_as_telling():
    assert set(claim.telling("source-a")) == {"source"}
    told = {run for told in config.editions().values() for run in told.runs}
    assert told >= {run.id for run in SHIPPED.runs if run.kind == "reported"} | {run.id for run in EXECUTED}


# The command


def command(*arguments: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "templates", "diff", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


CPU = SHIPPED.run("cpu")
COPY, PRODUCT = "bandwidth/copy", "matmul/throughput?dtype=fp32&n=4096"


@pytest.fixture
def twice(tmp_path) -> Path:
    """A file in which the CPU was measured twice: then prompts are slow, copying is fast, a product is missing."""
    again = slowed(CPU, "cpu-again")
    again.samples[COPY] = scaled(CPU.samples[COPY], 3)
    del again.samples[PRODUCT]
    again.failures[PRODUCT] = Failure("too_slow")
    file = tmp_path / "twice.json"
    file.write_text(dump(Results([*SHIPPED.runs, again])), encoding="utf-8")
    return file


def test_the_command_tells_what_changed_and_which_claims_turn(twice):
    described = json.loads(command("cpu", "cpu-again", "--results", str(twice), "--json").stdout)
    found = command("cpu", "cpu-again", "--results", str(twice))
    assert found.returncode == 0, found.stderr
    for kind, words in {"changed": "changed beyond the spread", "lost": "no value now", "within": "within the"}.items():
        assert re.search(rf"^{words}.*: {described['counts'][kind]}$", found.stdout, re.MULTILINE)
    assert re.search(r"^  bandwidth/copy: [\d.]+\u00a0GB/s \[.*\] → .*, × 3\.000$", found.stdout, re.MULTILINE)
    assert re.search(rf"^  {re.escape(PRODUCT)}: .* → it is too slow", found.stdout, re.MULTILINE)
    assert not re.search("^(machine|version),", found.stdout, re.MULTILINE)
    turns = described["claims"]["cpu"]
    assert any(turn["flips"] for turn in turns)
    for turn in turns:
        line = f"  {'flips' if turn['flips'] else 'turns'}: {turn['statement']}: "
        assert (line in found.stdout) is not turn["unmeasured"]


def test_what_a_run_did_not_measure_has_not_turned():
    few = {text: measured for text, measured in CPU.samples.items() if text.startswith("bandwidth/")}
    again = msgspec.structs.replace(CPU, id="cpu-again", samples=few)
    found = runs.diff(Results([*SHIPPED.runs, again]), CPU, again)
    turns = found.claims["cpu"]
    assert len(turns) > 5 and all(turn.unmeasured and not turn.flips for turn in turns)
    lines = list(runs.text(found))
    assert "\nclaims in edition 'cpu': 0 flip, 0 become or cease to be decided" in lines
    assert lines[-1] == f"  can be said of one run alone, as the other did not measure what it takes: {len(turns)}"


@pytest.mark.parametrize(
    ("absences", "unmeasured"),
    [((), False), ((Absence("not_run", "a"),), True), ((Absence("not_run", "a"), Absence("rejected", "b")), False)],
)
def test_a_claim_that_a_rejected_sample_leaves_open_has_turned(absences, unmeasured):
    held, open_now = (Claim("x", Truth(*told)) for told in ((Outcome.HOLDS,), (Outcome.UNDECIDED, (), absences)))
    assert claim.Turn(held, open_now).unmeasured is claim.Turn(open_now, held).unmeasured is unmeasured


def test_the_command_as_json(twice):
    described = json.loads(command("cpu", "cpu-again", "--results", str(twice), "--json").stdout)
    assert described["same_machine"] and described["machine"] == described["versions"] == {}
    assert described["rule"] == {"least_difference": pytest.approx(0.03), "chance": 0.05}
    assert described["counts"]["lost"] == 1 and sum(described["counts"].values()) == len(CPU.samples)
    samples = {told["key"]: told for told in described["samples"]}
    fast, missing = samples[COPY], samples[PRODUCT]
    values = CPU.samples[COPY].values
    assert (fast["kind"], fast["ratio"], fast["before"]["unit"]) == ("changed", pytest.approx(3), "GB/s")
    assert (fast["before"]["median"], fast["before"]["repeats"]) == (statistics.median(values), len(values))
    assert (missing["kind"], missing["after"]) == ("lost", {"state": "failed", "reason": "too_slow"})
    kinds = [told["kind"] for told in described["samples"]]
    assert kinds == sorted(kinds, key=[kind.value for kind in Kind].index)
    for turn in described["claims"]["cpu"]:
        assert turn["flips"] == ({turn["before"], turn["after"]} == {"holds", "refuted"})


def test_different_machines_are_refused_unless_asked():
    refused = command("h200-pytorch", "cpu")
    assert refused.returncode == 1 and refused.stdout == ""
    assert len(refused.stderr.strip().splitlines()) == 1
    assert "NVIDIA H200" in refused.stderr and "--across-machines" in refused.stderr
    asked = command("h200-pytorch", "cpu", "--across-machines")
    assert asked.returncode == 0 and "\nmachine, device: cuda → cpu\n" in asked.stdout
    reported = command("source-voxcpm", "source-asr")
    assert reported.returncode == 1 and "reported" in reported.stderr


def test_an_unknown_run_is_named_with_its_file(tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text('{"schema": 1, "runs": []}')
    for arguments in (["cpu", "nothing"], ["nothing", "cpu"]):
        found = command(*arguments)
        assert found.returncode == 1 and "'nothing'" in found.stderr and "h200-pytorch" in found.stderr
    found = command("cpu", "cpu", "--from", str(empty))
    assert found.returncode == 1 and "empty.json: no run 'cpu'" in found.stderr


def test_a_run_is_compared_with_the_one_of_its_name_in_an_older_file(tmp_path):
    run = SHIPPED.run("cpu")
    older = msgspec.structs.replace(run, samples={"bandwidth/copy": scaled(run.samples["bandwidth/copy"], 0.5)})
    file = tmp_path / "older.json"
    file.write_text(dump(Results([older])), encoding="utf-8")
    described = json.loads(command("cpu", "cpu", "--from", str(file), "--json").stdout)
    assert described["samples"][0]["ratio"] == pytest.approx(2)
    assert described["counts"]["gained"] == len(run.samples) - 1
    assert any(turn["before"] == "undecided" for turn in described["claims"]["cpu"])
