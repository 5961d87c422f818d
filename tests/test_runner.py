"""The runner: one process a measurement; whatever ends one badly ends it alone, and nothing measured is lost."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from measure import child, registry, runner, session, store
from measure.keys import parse_key
from measure.results import Failure, Import, Machine, Report, Results, ResultsError, Run, Sample
from measure.runner import Interrupted, Job
from measure.session import Session

ROOT = Path(__file__).parent.parent
MACHINE = Machine("a small machine", "cpu", cores=2)
FIRST, SECOND = "wild/rate?requests=1", "wild/rate?requests=4"


class Silent:
    """A watcher that remembers."""

    def __init__(self):
        self.ticks, self.outcomes, self.steps = [], [], []

    def begin(self, steps):
        self.steps = list(steps)

    def tick(self, step, done, elapsed_s):
        self.ticks.append((step.measurement.name, done, elapsed_s))

    def end(self, outcome):
        self.outcomes.append(outcome)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
    monkeypatch.setattr(runner, "GRACE_S", 0.5)
    return tmp_path / "results.json"


def job(file, *names, **more):
    return Job(file, "here", MACHINE, names, package="fakes", **more)


def measure(file, *names, watcher=None, **more):
    return runner.run(job(file, *names, **more), watcher or Silent())


def here(file):
    return store.load(file).run("here")


def alive(pid):
    """Whether a process is there and not merely waiting to be reaped."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ended(pids, within_s=5.0):
    limit = time.monotonic() + within_s
    while any(alive(pid) for pid in pids) and time.monotonic() < limit:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def pids_of(file, within_s=10.0):
    place, limit = file.with_name("pids"), time.monotonic() + within_s
    while not (place.exists() and len(place.read_text().split()) == 2):
        assert time.monotonic() < limit, "the measurement did not start"
        time.sleep(0.05)
    return [int(pid) for pid in place.read_text().split()]


# What there is to measure


def test_a_measurement_is_a_file_that_defines_summary():
    assert list(registry.find("fakes")) == ["absent", "steady", "unplanned", "wild"]


def test_default_measurements_come_first():
    names = list(registry.find())
    assert names[:3] == ["bandwidth", "matmul", "decode_transformers"]


def test_looking_for_measurements_imports_no_engine():
    code = (
        "import sys; from measure import registry; registry.find(); print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "set()"


def test_an_unknown_measurement_is_refused_by_name(file):
    with pytest.raises(ResultsError, match=r"measurement 'wildd' does not exist. Choose from absent, steady"):
        measure(file, "wildd")
    assert not file.exists()


def test_an_unknown_option_is_refused_by_name(file):
    with pytest.raises(ResultsError, match=r"--set paec: no such option. Choose from device, pace"):
        measure(file, "steady", options={"paec": "1"})


# Measuring


def test_all_samples_of_a_measurement_are_recorded(file):
    (outcome,) = measure(file, "steady")
    assert [str(key) for key in outcome.measured] == list(here(file).samples)
    assert len(outcome.measured) == 3 and not outcome.failed and not outcome.output
    sample = here(file).samples["steady/qwen3-0.6b-bf16/rate?requests=4"]
    assert sample.values == [11.0, 12.0, 13.0] and sample.config == {"device": "cpu"}
    assert sample.command == "python -m measure run steady --run here"
    assert sample.versions == {"python": sys.version.split()[0], "msgspec": __import__("msgspec").__version__}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", sample.at)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", here(file).started)
    assert here(file).machine == MACHINE


def test_options_reach_the_measurement_and_its_command_in_one_order(file):
    measure(file, "steady", "wild", quick=True, options={"pace": "slow", "do": "well"})
    run = here(file)
    assert run.samples["wild/rate?requests=4"].command == "python -m measure run wild --run here --quick --set do=well"
    assert "--set pace=slow" in run.samples["steady/qwen3-0.6b-bf16/rate?requests=1"].command


def test_the_watcher_sees_progress(file):
    watcher = Silent()
    measure(file, "steady", "absent", watcher=watcher)
    assert [step.measurement.name for step in watcher.steps] == ["steady", "absent"]
    assert watcher.steps[0].seconds == 1.5 and len(watcher.steps[0].wanted) == 3
    assert watcher.ticks and [outcome.name for outcome in watcher.outcomes] == ["steady", "absent"]


@pytest.mark.parametrize(
    ("trouble", "reason", "detail"),
    [
        ("nothing", "crashed", "ended without this result"),
        ("fail", "not_enough_memory", "needs 80 GiB"),
        ("raise", "crashed", "ValueError: cannot open ... on ..."),
        ("memory", "out_of_memory", "RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB"),
        ("lack", "engine_missing", "ModuleNotFoundError: No module named 'no_such_engine'"),
        ("unsupported", "unsupported", "NotImplementedError: no bf16"),
        ("segfault", "crashed", "ended by signal SIGSEGV"),
        ("kill", "out_of_memory", "killed by the system, as it does when memory runs out"),
        ("exit", "crashed", "exit code 7"),
        ("leave", "crashed", "SystemExit: giving up"),
    ],
)
def test_trouble_ends_one_measurement_alone(file, trouble, reason, detail):
    wild, steady = measure(file, "wild", "steady", options={"do": trouble})
    failure = here(file).failures[SECOND]
    assert (failure.reason, failure.detail) == (reason, detail)
    assert here(file).samples[FIRST].values == [5.0], "what was measured before the trouble is lost"
    assert list(wild.failed) == [SECOND] and "about to misbehave" in wild.output
    assert len(steady.measured) == 3 and not steady.failed


def test_a_crash_after_the_last_sample_is_no_failure(file):
    (outcome,) = measure(file, "wild", options={"do": "late_segfault"})
    assert len(outcome.measured) == 2 and not outcome.failed and not here(file).failures


def test_a_sample_that_is_no_number_stops_with_file_run_and_key(file):
    with pytest.raises(ResultsError, match=r"results.json: run 'here': wild/rate\?requests=4: a value is not a finite"):
        measure(file, "wild", options={"do": "nonsense"})
    assert list(here(file).samples) == [FIRST]


def test_a_file_broken_under_way_is_told_in_one_line(file):
    with pytest.raises(ResultsError, match=r"results.json: not a results file: [^\n]*$"):
        measure(file, "wild", options={"do": "break_file"})


@pytest.mark.parametrize("trouble", ["hang", "deaf"])
def test_a_hanging_measurement_is_ended_with_all_it_started(file, monkeypatch, trouble):
    monkeypatch.setattr(runner, "PATIENCE_FACTOR", 1.0)
    monkeypatch.setattr(runner, "PATIENCE_S", 1.0)
    _, steady = measure(file, "wild", "steady", options={"do": trouble})
    assert here(file).failures[SECOND].reason == "timed_out"
    assert here(file).failures[SECOND].detail == "no end after 2 s"
    assert here(file).samples[FIRST].values == [5.0] and len(steady.measured) == 3
    assert ended(pids_of(file))


def test_a_quick_run_keeps_its_time_as_a_whole(file, monkeypatch):
    monkeypatch.setattr(runner, "QUICK_LIMIT_S", 2.0)
    begun = time.monotonic()
    measure(file, "wild", "steady", quick=True, options={"do": "hang"})
    assert time.monotonic() - begun < 5
    failures = here(file).failures
    reasons = {text: failure.reason for text, failure in failures.items()}
    assert reasons.pop(SECOND) == "timed_out" and len(reasons) == 3 and set(reasons.values()) == {"out_of_time"}
    assert {failure.detail for failure in failures.values()} == {"a quick run may take 2 s in all"}


def test_a_missing_package_is_told_and_no_process_started(file):
    watcher = Silent()
    (outcome,) = measure(file, "absent", watcher=watcher)
    assert set(outcome.failed) == {"absent/rate?requests=1", "absent/rate?requests=4"}
    assert outcome.failed["absent/rate?requests=1"].reason == "engine_missing"
    assert outcome.failed["absent/rate?requests=1"].detail == "not installed: no_such_engine"
    assert not watcher.ticks


def test_measuring_through_a_link_keeps_the_link(file):
    kept = file.with_name("kept.json")
    file.symlink_to(kept)
    (steady,) = measure(file, "steady")
    assert len(steady.measured) == 3 and file.is_symlink() and len(here(kept).samples) == 3


def test_a_plan_that_fails_is_told(file):
    unplanned, steady = measure(file, "unplanned", "steady")
    assert unplanned.failed["unplanned/plan"].detail == "ZeroDivisionError: no cores"
    assert len(steady.measured) == 3


# Going on


def test_running_again_measures_only_what_is_missing(file):
    measure(file, "steady")
    gone = "steady/qwen3-0.6b-bf16/rate?requests=4"
    with store.edit(file) as data:
        del data.run("here").samples[gone]
    before = here(file).samples["steady/qwen3-0.6b-bf16/rate?requests=1"]
    watcher = Silent()
    (outcome,) = measure(file, "steady", watcher=watcher)
    log = file.with_name("measured.log").read_text().split()
    assert log[3:] == [gone] and [str(key) for key in outcome.measured] == [gone] and len(outcome.kept) == 2
    assert here(file).samples["steady/qwen3-0.6b-bf16/rate?requests=1"] == before
    assert watcher.steps[0].seconds == pytest.approx(0.5)


def test_what_stands_as_failed_is_of_the_last_attempt(file):
    measure(file, "wild", options={"do": "raise"})
    with store.edit(file) as data:
        old = Failure("too_slow", "2026-01-01T00:00:00Z")
        data.run("here").failures = {SECOND: old, "wild/plan": old, "other/rate": old}
    measure(file, "wild", options={"do": "raise"})
    assert here(file).failures[SECOND].reason == "crashed"
    assert set(here(file).failures) == {SECOND, "other/rate"}


def test_a_finished_measurement_starts_no_process(file):
    measure(file, "steady")
    watcher = Silent()
    (outcome,) = measure(file, "steady", watcher=watcher)
    assert len(outcome.kept) == 3 and not outcome.measured and not watcher.ticks


def test_a_failure_is_tried_again_and_goes_when_it_succeeds(file):
    measure(file, "wild", options={"do": "raise"})
    with store.edit(file) as data:
        command = "python -m measure run wild --run here --set do=well"
        old = data.run("here").samples[FIRST]
        data.run("here").samples[FIRST] = Sample(old.unit, old.values, old.at, command)
    measure(file, "wild", options={"do": "well"})
    assert set(here(file).samples) == {FIRST, SECOND} and not here(file).failures


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"machine": Machine("a small machine", "cpu", cores=4)}, r"another machine \(cores 2 against 4 here\)"),
        ({"quick": True}, "was measured with another configuration"),
        ({"options": {"pace": "slow"}}, "was measured with another configuration"),
    ],
)
def test_a_run_that_does_not_match_is_refused_with_a_cure(file, change, why):
    measure(file, "steady")
    before = file.read_bytes()
    changed = {"machine": MACHINE, **change}
    with pytest.raises(ResultsError, match=f"results.json: run 'here': .*{why}.*Choose another with --run"):
        runner.run(Job(file, "here", names=("steady",), package="fakes", **changed), Silent())
    assert file.read_bytes() == before


def test_another_version_is_refused_but_only_for_what_it_concerns(file):
    measure(file, "steady", "wild", options={"do": "well"})
    with store.edit(file) as data:
        samples = data.run("here").samples
        text = "steady/qwen3-0.6b-bf16/rate?requests=1"
        samples[text] = Sample(**{**fields(samples[text]), "versions": {"msgspec": "0.1", "other": "9"}})
    measure(file, "wild", options={"do": "well"})
    with pytest.raises(ResultsError, match=r"was measured with msgspec 0\.1, here is "):
        measure(file, "steady")


def fields(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def test_samples_do_not_go_among_reported_figures(file):
    report = Report("GB/s", 250.0, "an article")
    told = Run("here", "reported", MACHINE, "2026-10-06", {"bandwidth/sum": report})
    store.save(Results([told]), file)
    with pytest.raises(ResultsError, match="figures that others reported"):
        measure(file, "steady")


IMPORT = Import("tok/s", "llama-bench", "0a" * 32, [9.0])


def test_samples_do_not_go_into_an_imported_run(file):
    store.save(Results([Run("here", "imported", MACHINE, "2026-10-06", {"x/rate?requests=1": IMPORT})]), file)
    with pytest.raises(ResultsError, match="it was imported, and too little is known of its machine"):
        measure(file, "steady")


def test_what_was_imported_is_not_measured_over(file):
    text = "steady/qwen3-0.6b-bf16/rate?requests=4"
    store.save(Results([Run("here", "executed", MACHINE, "2026-10-06", {text: IMPORT})]), file)
    (outcome,) = measure(file, "steady")
    assert [str(key) for key in outcome.kept] == [text] and len(outcome.measured) == 2
    assert here(file).samples[text] == IMPORT
    runner.set_aside(file, "here", ["steady"])
    assert here(file).samples == {text: IMPORT}


def test_set_aside_keeps_what_it_takes_out(file):
    measure(file, "steady", "wild", options={"do": "well"})
    whole = here(file)
    kept = runner.set_aside(file, "here", ["steady"])
    assert store.load(kept).runs == [whole]
    assert set(here(file).samples) == {FIRST, SECOND}
    runner.set_aside(file, "here")
    assert here(file) is None
    assert runner.set_aside(file, "here") is None


# Stopping


def start(file, *words):
    code = "import sys; from measure import registry, __main__ as m; registry.PACKAGE = 'fakes'; sys.exit(m.main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", *words, "--results", file.name],
        cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def test_ctrl_c_stops_the_children_keeps_the_samples_and_tells_how_to_go_on(file):
    process = start(file, "wild", "--set", "do=hang", "--set", "seconds=60")
    pids = pids_of(file)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 130, output
    assert "What was measured is kept in results.json; to go on, run `python -m measure run wild" in output
    assert "Traceback" not in output
    assert ended(pids)
    assert list(here(file).samples) == [FIRST]
    assert here(file).failures[SECOND].reason == "interrupted"


def test_a_killed_parent_leaves_no_child_behind(file):
    process = start(file, "wild", "--set", "do=hang", "--set", "seconds=60")
    pids = pids_of(file)
    process.kill()
    process.communicate(timeout=20)
    assert ended(pids)
    assert list(here(file).samples) == [FIRST]


def test_two_jobs_at_once_are_refused(file):
    process = start(file, "wild", "--set", "do=hang", "--set", "seconds=60")
    try:
        pids_of(file)
        with pytest.raises(ResultsError, match="another measurement is going on"):
            measure(file, "steady")
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=20)


def test_an_interrupt_between_measurements_is_told_as_one(file):
    class Impatient(Silent):
        def end(self, outcome):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        measure(file, "steady", "wild", watcher=Impatient())
    assert len(here(file).samples) == 3


# What a measurement is given


@pytest.fixture
def opened(file):
    return Session(file, "here", MACHINE)


KEY = parse_key("steady/rate?requests=1")


def test_a_sample_replaces_the_failure_of_its_key(file, opened):
    opened.fail(KEY, "crashed", "once")
    assert opened.wanted(KEY) and here(file).failures[str(KEY)].detail == "once"
    opened.record(KEY, "tok/s", [1.0], {})
    assert not opened.wanted(KEY) and not here(file).failures and opened.load(KEY).values == [1.0]


def test_a_failure_does_not_replace_a_sample(file, opened):
    opened.record(KEY, "tok/s", [1.0], {})
    opened.fail(KEY, "crashed")
    assert not here(file).failures and opened.load(KEY).values == [1.0]


def test_an_unknown_reason_is_refused(opened):
    with pytest.raises(ValueError, match="reason 'tired' is not one of engine_missing"):
        opened.fail(KEY, "tired")


@pytest.mark.parametrize(
    ("key", "unit", "values", "config", "why"),
    [
        (KEY, "GB/s", [1.0], {}, "unit 'GB/s' does not fit"),
        (KEY, "tok/s", [], {}, "no values"),
        (KEY, "tok/s", [float("inf")], {}, "not a finite number"),
        (KEY, "tok/s", [0.0], {}, "not above zero"),
        (KEY, "tok/s", [1.0], {"clock": float("nan")}, "config clock is not a finite number"),
        (KEY._replace(quantity="Rate"), "tok/s", [1.0], {}, "not a key"),
    ],
)
def test_what_the_file_would_not_take_is_not_recorded(file, opened, key, unit, values, config, why):
    with pytest.raises(ResultsError, match=why):
        opened.record(key, unit, values, config)
    assert not file.exists()


def test_many_values_are_thinned_evenly_and_counted(file, opened):
    opened.record(KEY, "tok/s", range(1, 1001), {})
    sample = opened.load(KEY)
    assert (len(sample.values), sample.count, sample.total) == (200, 1000, 1000)
    assert sample.values[:3] == [1.0, 6.0, 11.0] and sample.values[-1] == 996.0


def test_samples_of_two_machines_never_meet_in_a_run(file, opened):
    opened.record(KEY, "tok/s", [1.0], {})
    other = Session(file, "here", Machine("another", "cpu"))
    with pytest.raises(ResultsError, match="another machine \\(name 'a small machine' against 'another' here\\)"):
        other.record(KEY, "tok/s", [2.0], {})


@pytest.mark.parametrize(
    "private",
    [
        "/opt/models/qwen", "~/models", "./model.bin", r"C:\Users\ann\model", "'/data/my models/x'",
        "lib/python3/torch/x.py",
        "https://user:secret@hub.example/x", "ann@gpu-server-7", "192.168.1.20", "fe80::1ff:fe23:4567:890a",
        "GPU-12345678-1234-1234-1234-123456789abc", "0x7f3a5c001000", Path.home().name, os.uname().nodename,
    ],
)  # fmt: skip
def test_a_detail_tells_nobody_whose_machine_it_was(opened, private):
    opened.fail(KEY, "crashed", f"could not use {private} at line 7")
    detail = here(opened.results).failures[str(KEY)].detail
    assert private.strip("'") not in detail
    assert re.fullmatch("could not use '?...'? at line 7", detail)


def test_what_is_no_secret_stays_in_a_detail():
    text = "reached 12 GB/s, 7 tok/s with Qwen/Qwen3-0.6B in torch 2.13.0+cpu (see fp8_e4m3: not supported)"
    assert session.scrub(text) == text


def test_a_detail_is_one_short_line():
    told = session.scrub("first\n\x1b[31msecond\t" + "long " * 100)
    assert told.startswith("first [31msecond long") and len(told) == session.DETAIL_LENGTH


@pytest.mark.parametrize(("device", "memory", "fits"), [("cuda", 200, True), ("cuda", 50, False), ("cpu", 200, False)])
def test_a_card_whose_host_is_given_more_memory_is_the_same_machine(device, memory, fits):
    """A virtual machine's memory can grow while it runs; less of it, or another device, is another machine."""
    before = Machine("a card", device, memory_bytes=100, accelerators=2)
    after = Machine("a card", device, memory_bytes=memory, accelerators=2)
    found = Run("here", "executed", before, "2026-11-29T13:45:00Z")
    assert (session.foreign(found, after) == "") is fits
    other = Machine("another card", device, memory_bytes=memory, accelerators=2)
    assert "another machine (name" in session.foreign(found, other)


def test_paths_stay_out_of_configuration_and_command(file):
    given = Session(file, "here", MACHINE, options={"weights": "/home/ann/qwen"})
    given.record(KEY, "tok/s", [1.0], {"weights": "/home/ann/qwen", "attention": "sdpa"})
    sample = given.load(KEY)
    assert "ann" not in file.read_text() and sample.config == {"weights": "...", "attention": "sdpa"}
    assert sample.command == "python -m measure run steady --run here --set weights=..."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out_of_memory"),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA"), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"), "out_of_memory"),
        (OSError(12, "Cannot allocate memory"), "out_of_memory"),
        (KeyboardInterrupt(), "interrupted"),
        (RuntimeError("shape"), "crashed"),
    ],
)
def test_an_exception_has_a_reason(error, reason):
    assert child.classify(error)[0] == reason


def test_failures_keep_their_time(file, opened):
    opened.fail(KEY, "too_slow")
    assert here(file).failures == {str(KEY): Failure("too_slow", here(file).failures[str(KEY)].at)}
