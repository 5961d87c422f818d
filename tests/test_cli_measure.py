"""The command line: does what it says, goes on where it stopped, and refuses in one line with exit code 1."""

import errno
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from measure import cli, doctor, invocation, machine, registry, runner, screen, store
from measure.keys import key
from measure.merge import renamed
from measure.results import Failure, Import, Machine, Report, Results, Run, Sample

ROOT = Path(__file__).parent.parent
MACHINE = Machine("a small machine", "cpu", cores=2)
AT = "2026-11-29T13:45:00Z"


def unset(monkeypatch, name):
    """Take a variable out of the environment; what the test then sets is taken out again, too."""
    monkeypatch.setenv(name, "")
    monkeypatch.delenv(name)


def command_line(monkeypatch, capfd):
    """Runs the command line on the words it is given; tells its exit code and what it printed."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["measure", *words])
        code = cli.main()
        out, err = capfd.readouterr()
        return code, out, err

    return run


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Run the command line in an empty folder, with the fake measurements, on a machine that never changes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
    monkeypatch.setattr(registry, "PACKAGE", "fakes")
    monkeypatch.setattr(machine, "describe", lambda device="": MACHINE)

    return command_line(monkeypatch, capfd)


def stored(file="results.json"):
    return store.load(Path(file))


def put(*runs, file="results.json"):
    store.save(Results(list(runs)), Path(file))
    return Path(file).read_bytes()


def executed(run_id="here", machine=MACHINE, **rates):
    command = f"python -m measure run x --run {run_id}"
    samples = {f"x/{name}?requests=1": Sample("tok/s", [value], AT, command) for name, value in rates.items()}
    return Run(run_id, "executed", machine, AT, samples)


def reported(run_id="source-a", value=905.0):
    return Run(run_id, "reported", MACHINE, "2026-10-06", {"bandwidth/sum": Report("GB/s", value, "an article")})


def imported(run_id="here", value=9.0, machine=MACHINE):
    samples = {"decode_llama/m-q8_0/rate?requests=1": Import("tok/s", "llama-bench", "0a" * 32, [value])}
    return Run(run_id, "imported", machine, AT, samples)


def refused(answer, *parts):
    """One line that starts with error, holds the parts, and comes with exit code 1."""
    code, out, err = answer
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1, (code, out, err)
    assert all(part in err for part in parts), err
    return True


# here


def test_here_measures_what_it_can_and_says_what_not(call):
    code, out, err = call("here", "--set", "do=well")
    assert code == 0, err
    run = stored().run("here")
    assert len(run.samples) == 5 and run.machine == MACHINE
    assert {failure.reason for failure in run.failures.values()} == {"engine_missing", "crashed"}
    assert out.count("new") == 5 and "11 tok/s" in out and "10 to 12" in out
    told = "not measured: absent (2 keys): a package it needs is not installed (not installed: no_such_engine)"
    assert told in out
    assert re.search(r"steady: 3 measured in \d+ s$", err, re.M) and "absent: not measured: a package it needs" in err
    assert "No site here to render" in err


def test_here_again_measures_nothing_that_is_there(call):
    call("here", "--set", "do=well")
    before = stored().run("here").samples
    code, out, err = call("here", "--set", "do=well")
    assert code == 0 and "new" not in out and "steady: 3 there from before" in err
    assert stored().run("here").samples == before and Path("measured.log").read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--quick"], "was measured with another configuration"),
        (["--set", "pace=slow"], "was measured with another configuration"),
        (["--again"], "as asked"),
    ],
)
def test_here_starts_afresh_where_it_cannot_go_on_and_says_so(call, words, why):
    call("here", "--set", "do=well")
    before = stored().run("here")
    code, out, err = call("here", "--set", "do=well", *words)
    assert code == 0 and "Starting run 'here' afresh" in err and why in err and "with 5 samples, is replaced" in err
    assert out.count("new") == 5
    (kept,) = Path().glob(".results.json.here-*.replaced")
    assert str(kept) in err and stored(kept).runs == [before]


def test_here_starts_afresh_on_another_machine(call, monkeypatch):
    put(executed(machine=Machine("another machine", "cpu"), rate=1.0), reported())
    code, _, err = call("here", "--set", "do=well")
    assert code == 0 and "another machine (name 'another machine' against 'a small machine' here)" in err
    assert stored().run("here").machine == MACHINE and "x/rate?requests=1" not in stored().run("here").samples
    assert stored().run("source-a") == reported()


def test_here_goes_on_after_a_failure(call):
    call("here", "--set", "do=segfault")
    code, _, err = call("here", "--set", "do=segfault")
    assert code == 0 and "Starting" not in err and "wild: 1 there from before, 1 not measured" in err


def test_here_where_nothing_can_be_measured_is_an_error(call, monkeypatch):
    everything = registry.find("fakes")
    monkeypatch.setattr(registry, "find", lambda package="": {"absent": everything["absent"]})
    code, out, err = call("here")
    assert code == 1 and "nothing could be measured. `python -m measure doctor` tells" in err
    assert out.count("not measured: absent (2 keys)") == 1


def test_what_is_not_in_the_file_of_the_site_is_not_served(call):
    """The server renders anew, from results.json: its article would be about something else."""
    code, _, err = call("here", "--serve", "--results", "elsewhere.json")
    assert code == 1 and "--serve: the site is served from results.json, not from elsewhere.json" in err
    assert not Path("elsewhere.json").exists()


def test_here_renders_in_a_process_and_becomes_the_server(call, monkeypatch):
    started = renders(monkeypatch)
    monkeypatch.setattr(cli, "_free_port", lambda: 8123)
    monkeypatch.setattr(cli.os, "execve", lambda _, words, environment: started.append([*words[2:], environment]))
    code, out, _ = call("here", "--serve", "--set", "do=well")
    assert code == 0 and "http://127.0.0.1:8123/en/here/" in out
    rendered, (*served, environment) = started
    assert rendered == ["templates"]
    assert served == ["mkdocs", "serve", "--quiet", "--dev-addr", "127.0.0.1:8123"]
    assert environment["SITE_URL"] == "http://127.0.0.1:8123/"


def test_a_port_in_use_is_not_asked_for():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli._free_port(port) != port
    assert cli._free_port(port) == port


def test_here_renders_another_file_too(call, monkeypatch):
    started = renders(monkeypatch)
    call("here", "--results", "mine.json", "--set", "do=well")
    assert started == [["templates", "--results", "mine.json"]] and stored("mine.json").run("here")


def test_here_tells_when_the_site_cannot_be_rendered(call, monkeypatch):
    renders(monkeypatch, code=1)
    code, _, err = call("here", "--set", "do=well")
    assert code == 1 and err.splitlines()[-1].startswith("error: the site could not be rendered")
    assert len(stored().run("here").samples) == 5


def renders(monkeypatch, code=0):
    """Pretend that the site is here; returns the modules that are started as processes."""
    started = []

    def start(words, **_):
        started.append(list(words[2:]))
        return subprocess.CompletedProcess(words, code)

    monkeypatch.setattr(doctor, "has_site", lambda folder: True)
    monkeypatch.setattr(cli.subprocess, "run", start)
    return started


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["here", "--quick", "--serve"], "here --quick --serve"),
        (["here", "--again", "--results", "a b.json"], "here --results 'a b.json'"),
        (["run", "steady", "--run", "gpu", "--again", "--set", "pace=slow"], "run steady --run gpu --set pace=slow"),
    ],
)
def test_an_interrupt_tells_the_command_that_goes_on(call, monkeypatch, words, again):
    def stopped(*_):
        raise runner.Interrupted

    monkeypatch.setattr(runner, "run", stopped)
    monkeypatch.setattr(sys, "executable", str(Path.cwd() / ".venv" / "bin" / "python"))
    code, _, err = call(*words)
    assert code == 130 and f"to go on, run `.venv/bin/python -m measure {again}`." in err


def test_a_command_names_the_interpreter_as_it_can_be_called_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, told in (("a b/bin/python", "'a b/bin/python'"), ("../elsewhere/python", "python"), ("", "python")):
        monkeypatch.setattr(sys, "executable", path and os.path.normpath(tmp_path / path))
        assert invocation.command("measure", "run", "a b") == f"{told} -m measure run 'a b'"


def test_what_is_stored_names_no_interpreter(call, monkeypatch):
    call("run", "steady")
    assert all(sample.command.startswith("python -m measure run") for sample in stored().run("here").samples.values())


def test_a_measured_sample_that_a_rule_rejects_or_doubts_is_told(call):
    wrong = {
        "datasheet/bandwidth": Sample("GB/s", [100.0], AT, "c"),
        "bandwidth/copy": Sample("GB/s", [300.0], AT, "c", {"device": "cpu"}),
    }
    put(Run("here", "executed", MACHINE, AT, wrong))
    code, out, _ = call("run", "steady", "--results", "results.json")
    *_, told, cure = out.splitlines()
    assert code == 0 and told.startswith("rejected: bandwidth/copy: ")
    assert "above datasheet: 300 GB/s, 3 times 100 GB/s of the datasheet" in told
    assert cure == "`python -m measure check` tells what to do about it."
    put(Run("here", "executed", MACHINE, AT, wrong), file="other.json")
    assert call("run", "steady", "--results", "other.json")[1].endswith(
        "`python -m measure check --results other.json` tells what to do about it.\n"
    )


def test_a_run_without_fault_is_not_commented(call):
    assert "check" not in call("run", "steady")[1]


@pytest.mark.parametrize("words", [["here"], ["check"], ["list"], ["merge", "results.json"]])
def test_a_file_that_may_not_be_read_is_one_line(call, monkeypatch, words):
    """Also where no option names it; tests may run as a user who may read everything."""
    put(reported())
    real, allowed = Path.open, os.access

    def opened(path, *more, **named):
        if path.name == "results.json":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *more, **named)

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(os, "access", lambda path, *more, **named: "results" not in str(path) and allowed(path, *more))
    assert refused(call(*words), "error: results.json: cannot be read (Permission denied). Allow yourself to read it")


# run


def test_run_measures_by_name_into_a_run(call):
    code, out, err = call("run", "steady", "--run", "gpu-server", "--results", "gpu.json")
    assert code == 0 and len(stored("gpu.json").run("gpu-server").samples) == 3 and "run gpu-server" in out
    assert not Path("results.json").exists()
    command = stored("gpu.json").run("gpu-server").samples["steady/qwen3-0.6b-bf16/rate?requests=1"].command
    assert command == "python -m measure run steady --run gpu-server", "a command holds no path"
    assert "No site" not in err


def test_run_tells_what_failed_and_its_output(call):
    code, out, err = call("run", "steady", "wild", "--set", "do=raise")
    assert code == 1 and len(stored().run("here").samples) == 4
    assert "about to misbehave" in err and "ValueError" in err
    assert "error: results.json: run 'here': 1 not measured, the first wild/rate?requests=4" in err.splitlines()[-1]
    assert "not measured: wild/rate?requests=4: the measurement crashed (ValueError: cannot open ... on ...)" in out


def test_run_again_measures_anew_and_keeps_the_old(call):
    call("run", "steady")
    first = stored().run("here")
    code, out, err = call("run", "steady", "--again")
    assert code == 0 and out.count("new") == 3
    (kept,) = Path().glob(".results.json.here-*.replaced")
    assert str(kept) in err and stored(kept).runs == [first]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["run", "bandwith"], ["measurement 'bandwith' does not exist", "Choose from absent, steady"]),
        (["run", "steady", "--set", "pace"], ["--set 'pace'", "name=value"]),
        (["run", "steady", "--set", "speed=1"], ["--set speed", "Choose from device, pace"]),
        (
            ["run", "steady", "--set", "pace=1", "--set", "pace=2"],
            ["--set pace: told twice, '1' and '2'", "Tell it once"],
        ),
        (["run", "steady", "--device", "cpu", "--set", "device=mps"], ["--set device: told twice", "Tell it once"]),
        (["run", "steady", "--run", "Not An Id"], ["--run 'Not An Id'", "lower-case"]),
        (["run", "steady", "--run", "source-a"], ["run 'source-a'", "others reported", "another with --run."]),
        (["run"], ["NAME", "--help"]),
        (["run", "steady", "--quik"], ["--quik", "--help"]),
        (["runn"], ["runn", "--help"]),
        (["run", "steady", "--tensor-parallel", ""], ["'--tensor-parallel'", "it is empty", "leave the option out"]),
        (["run", "steady", "--weights="], ["'--weights'", "it is empty"]),
        (["run", "steady", "--device", " "], ["'--device'", "it is empty"]),
        (["run", "steady", "--run", ""], ["--run ''", "lower-case"]),
        (["run", "steady", "--set", ""], ["--set ''", "name=value"]),
        (["run", "steady", "--results", ""], ["is a folder", "--results"]),
        (["fleet", "steady", "--address", ""], ["'--address'", "it is empty"]),
        (["fleet", "steady", "--weights", ""], ["'--weights'", "it is empty"]),
        (["fleet", "steady", "--device", ""], ["'--device'", "it is empty"]),
        (["merge", "results.json", "--run", ""], ["'--run'", "it is empty"]),
        (["merge", "results.json", "--as", ""], ["'--as'", "it is empty"]),
        (["merge", "nowhere.json"], ["nowhere.json: cannot be read", "Correct FILE, the argument"]),
        (["merge", "results.json", "--results", "no/r.json"], ["r.json: no file can be made in the folder 'no'"]),
        (["merge", "results.json", "--results", "/proc/r.json"], ["no file can be made", "--results"]),
        (["run", "steady", "--results", "/proc/r.json"], ["r.json: no file can be made in the folder '/proc'"]),
        (["run", "steady", "--results", "no/r.json"], ["r.json: no file can be made in the folder 'no'", "--results"]),
        (["run", "steady", "--results", "."], ["is a folder", "--results"]),
        (["list", "--results", "n" * 300], ["cannot be read", "--results"]),
        (["check", "--results", "."], ["error: .: is a folder", "--results"]),
        (["here", "--results", "n" * 300], ["no file can be made", "--results"]),
        (["merge", "nowhere.json", "--as", "No"], ["--as 'No'"]),
        (["check", "--results", "nowhere.json"], ["nowhere.json: cannot be read", "--results"]),
    ],
)
def test_bad_input_is_one_line(call, words, parts):
    before = put(reported())
    assert refused(call(*words), *parts)
    assert Path("results.json").read_bytes() == before


def test_a_device_that_is_not_there_is_one_line(call, monkeypatch):
    def describe(device):
        raise ValueError("needs an NVIDIA card and its driver")

    monkeypatch.setattr(machine, "describe", describe)
    monkeypatch.setattr(machine, "present", lambda: ["cpu"])
    unset(monkeypatch, "CUDA_VISIBLE_DEVICES")
    told = "needs an NVIDIA card and its driver. This machine has cpu. Choose one of these."
    for device in ("cuda", "cuda:9"):
        assert refused(call("run", "steady", "--device", device), f"--device {device}: {told}")


@pytest.mark.parametrize("words", [["here"], ["run", "steady"], ["list"], ["check"], ["merge", "other.json"]])
def test_a_broken_file_is_one_line_and_stays_as_it_is(call, words):
    put(reported(), file="other.json")
    Path("results.json").write_bytes(b'{"schema": 1, "runs": [')
    assert refused(call(*words), "results.json: not a results file", "Restore the file")
    assert Path("results.json").read_bytes() == b'{"schema": 1, "runs": ['


def test_a_full_disk_is_one_line_and_loses_nothing(call):
    put(executed(rate=1.0))
    code = """
import resource, sys
from measure import registry, machine, results, cli
machine.describe = lambda device="": results.Machine("a small machine", "cpu", cores=2)
registry.PACKAGE = "fakes"
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
sys.exit(cli.main())
"""
    done = subprocess.run([sys.executable, "-B", "-c", code, "run", "steady"], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "error: results.json: cannot be saved (File too large). Make room" in done.stderr.splitlines()[-1]
    assert "x/rate?requests=1" in stored().run("here").samples and not list(Path().glob(".*.unfinished"))


def test_as_a_program_it_prints_no_traceback(tmp_path):
    (tmp_path / "results.json").write_text('{"schema": 1, "runs": [{"id": "a"}]}')
    words = [sys.executable, "-m", "measure", "check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: results.json: ") and done.stderr.count("\n") == 1


def test_stopped_while_it_loads_it_prints_no_traceback(tmp_path):
    """Ctrl-C at the moment when the program asks for its first package of others."""
    code = """
import builtins, os, runpy, signal, sys
real = builtins.__import__
def stopped(name, *more, **named):
    if name == "typer":
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *more, **named)
builtins.__import__ = stopped
runpy.run_module("measure.__main__", run_name="__main__", alter_sys=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", code, "check"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_without_a_command_it_helps(call):
    code, out, _ = call()
    assert code == 0 and "here" in out and "doctor" in out


# list, check, doctor


def test_list_tells_needs_and_runs(call):
    put(Run("cpu", "executed", MACHINE, AT, {"steady/rate?requests=1": Sample("tok/s", [1.0], AT, "c")}))
    code, out, _ = call("list")
    assert code == 0 and "steady: three numbers that never change" in out
    assert "needs msgspec; installed; in runs cpu" in out
    assert "needs msgspec, no_such_engine; not installed: no_such_engine; in no run" in out


def test_list_as_json_needs_no_file(call):
    code, out, _ = call("list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0 and list(rows) == ["absent", "steady", "unplanned", "wild"]
    assert rows["absent"] == {
        "name": "absent",
        "summary": "what cannot be installed",
        "needs": ["msgspec", "no_such_engine"],
        "installed": False,
        "missing": ["no_such_engine"],
        "runs": [],
    }


def test_check_tells_rejected_samples_first(call):
    model = "decode_vllm/qwen3-4b-fp8"
    told = {
        "bandwidth/sum": Report("GB/s", 250.0, "an article"),
        "matmul/throughput?dtype=fp16&n=4096": Report("TFLOPS", 31.8, "an article"),
        f"{model}/parameters_without_embeddings": Report("param", 3.6e9, "an article"),
        f"{model}/prefill_rate?input=repeated": Report("tok/s", 91240.0, "an article"),
        f"{model}/prefill_rate?tokens=1024": Report("tok/s", 3438.0, "an article"),
    }
    put(Run("source-b", "reported", MACHINE, "2026-10-06", told))
    code, out, _ = call("check")
    first, *_, last = out.splitlines()
    assert code == 0 and first.startswith(f"rejected  source-b  {model}/prefill_rate?input=repeated  91,240 tok/s  ")
    assert "above compute: 656.9 TFLOPS, 20.7 times 31.8 TFLOPS. Look for tokens that were not computed" in first
    assert "accepted  source-b  bandwidth/sum  250 GB/s  no limit applies" in out
    assert "3438 tok/s  not above compute: 24.75 TFLOPS, 0.778 times 31.8 TFLOPS" in out
    assert last == "results.json: 1 rejected, 0 suspect, 4 accepted"


def test_check_tells_every_fault_and_what_an_accepted_sample_was_checked_for(call):
    told = {
        "datasheet/bandwidth": Report("GB/s", 100.0, "a vendor"),
        "bandwidth/copy": Report("GB/s", 300.0, "an article", config={"buffer_bytes": 1, "device": "cuda"}),
        "bandwidth/sum": Report("GB/s", 90.0, "an article", config={"device": "cpu"}),
        "asr/nemotron-0.6b-bf16/cer": Report("%", 4.0, "an article", config={"empty_outputs": 0}),
    }
    put(Run("source-b", "reported", Machine("a machine", "cpu", cache_bytes=2**20), "2026-10-06", told))
    _, out, _ = call("check")
    first = out.splitlines()[0]
    assert "buffer in cache: 9.537e-07 MiB, 9.54e-07 times 1 MiB. Measure with a buffer" in first
    assert "other device. Record it in a run of the machine" in first
    assert "above datasheet: 300 GB/s, 3 times 100 GB/s of the datasheet. Check that" in first
    assert "90 GB/s  not above datasheet: 90 GB/s, 0.9 times 100 GB/s of the datasheet" in out
    assert "4 %  not outputs missing" in out


def test_doctor_names_what_to_install(call, monkeypatch):
    monkeypatch.setattr(machine, "cuda", lambda: None)
    code, out, _ = call("doctor")
    assert code == 0 and "ok     steady: can be measured" in out
    assert "lacks  absent: lacks no_such_engine; python -m pip install no-such-engine" in out


def test_texts_of_a_file_are_never_markup_or_escape_codes(call):
    odd = Machine("[bold]x[/bold] \x1b[31m<b>{{ 1 }}[ 1 ]", "cpu")
    put(executed(machine=odd, rate=1.0))
    assert refused(call("run", "steady"), "[bold]x[/bold]", "<b>{{ 1 }}[ 1 ]")
    screen.show_run(executed(machine=odd, rate=1.0), [])
    _, out, _ = call("check")
    assert "\x1b" not in out


def test_a_machine_of_any_name_can_be_shown(capsys):
    run = executed(machine=Machine("[/x][red]\x1b[2J\r\n", "cpu"), rate=1.0)
    run.failures["x/y"] = Failure("crashed", AT, "[/nothing] \x07")
    screen.show_run(run, [])
    out = capsys.readouterr().out
    assert "[/x][red] [2J" in out and "[/nothing]" in out and "\x1b" not in out and "\x07" not in out


# merge


def test_merge_brings_in_a_new_run(call):
    put(reported())
    put(reported(), executed("h200", rate=1.0), file="server.json")
    code, out, _ = call("merge", "server.json")
    assert code == 0 and "run 'source-a': already here, the same" in out
    assert "run 'h200': brought in with 1 samples" in out
    assert [run.id for run in stored().runs] == ["source-a", "h200"]


def test_merge_makes_a_file_where_there_is_none(call):
    put(executed("h200", rate=1.0), file="server.json")
    assert call("merge", "server.json")[0] == 0 and stored().run("h200")


def test_merge_joins_samples_of_one_machine(call):
    mine, theirs = executed(rate=1.0), executed(rate=1.0)
    theirs.samples["x/triad"] = Sample("GB/s", [2.0], AT, "c")
    mine.failures = {"x/triad": Failure("crashed", AT), "x/copy": Failure("crashed", AT, "mine")}
    theirs.failures = {"x/copy": Failure("timed_out", "2026-11-30T00:00:00Z", "theirs")}
    theirs.started = "2026-11-01T00:00:00Z"
    put(mine)
    put(theirs, file="other.json")
    code, out, _ = call("merge", "other.json")
    run = stored().run("here")
    assert (
        code == 0 and "run 'here': 1 samples added to 1" in out and set(run.samples) == {"x/rate?requests=1", "x/triad"}
    )
    assert run.failures == {"x/copy": Failure("timed_out", "2026-11-30T00:00:00Z", "theirs")}
    assert run.started == "2026-11-01T00:00:00Z"


@pytest.mark.parametrize(
    ("theirs", "parts"),
    [
        (executed(rate=2.0), ["x/rate?requests=1: there is another sample of that name"]),
        (executed(machine=Machine("a server", "cuda"), rate=1.0), ["name 'a small machine' against 'a server' there"]),
        (reported("here"), ["reported runs are not merged over"]),
        (imported(), ["imported, and the run of that name is executed"]),
        (reported("source-a", 906.0), ["run 'source-a'", "reported runs are not merged over"]),
    ],
)
def test_merge_refuses_what_does_not_fit_whole(call, theirs, parts):
    before = put(executed(rate=1.0), reported())
    put(executed("new", rate=1.0), theirs, file="other.json")
    assert refused(call("merge", "other.json"), "other.json: run", "--as NEWID", *parts)
    assert Path("results.json").read_bytes() == before


def test_merge_renames_on_the_way_in(call):
    put(executed(rate=1.0), reported())
    put(executed(machine=Machine("a server", "cuda"), rate=1.0), reported(), file="other.json")
    code, out, _ = call("merge", "other.json", "--as", "h200")
    assert code == 0 and "run 'h200': brought in" in out
    assert stored().run("h200").samples["x/rate?requests=1"].command == "python -m measure run x --run h200"
    assert stored().run("here") == executed(rate=1.0)


def test_merge_under_a_name_that_is_taken_says_how_to_make_room(call):
    before = put(executed(rate=1.0))
    put(executed("h200", rate=2.0), file="other.json")
    command = ["merge", "other.json", "--run", "h200", "--as", "here"]
    code, out, err = call(*command)
    assert refused((code, out, err), "run 'here': x/rate?requests=1", "There is a run 'here' already. `", "--as")
    assert "measure remove here` takes it out and keeps it" in err and "NEWID" not in err
    assert Path("results.json").read_bytes() == before
    assert call("remove", "here")[0] == 0 and call(*command)[0] == 0


def test_merge_takes_an_imported_run_as_any_other(call):
    put(imported("a"))
    put(imported("a"), reported(), file="other.json")
    assert call("merge", "other.json", "--run", "a")[0] == 0
    assert call("merge", "other.json", "--as", "b")[0] == 0
    assert stored().run("b").samples == imported().samples and stored().run("b").kind == "imported"
    put(imported("a", 8.0), file="other.json")
    assert refused(call("merge", "other.json"), "another sample of that name")


def test_merge_renames_one_run_only(call):
    put(executed("one", rate=1.0), executed("two", rate=1.0), file="other.json")
    assert refused(call("merge", "other.json", "--as", "three"), "one, two", "Choose one with --run")
    assert call("merge", "other.json", "--as", "three", "--run", "two")[0] == 0
    assert [run.id for run in stored().runs] == ["three"]
    assert refused(call("merge", "other.json", "--run", "four"), "no run 'four'", "one, two")


def test_a_run_that_is_removed_is_kept_beside_and_can_be_brought_in_again(call):
    put(executed(rate=1.0), executed("other", rate=2.0), reported())
    code, out, _ = call("remove", "other")
    (kept,) = Path().glob(".results.json.other-*.replaced")
    assert code == 0 and out == f"run 'other': taken out, and kept in {kept}\n"
    assert stored().runs == [executed(rate=1.0), reported()] and stored(kept).runs == [executed("other", rate=2.0)]
    assert call("merge", str(kept))[0] == 0 and stored().run("other") == executed("other", rate=2.0)


def test_a_run_that_is_removed_and_brought_in_again_stands_where_it_stood(call):
    days = ("2026-10-06", "2026-11-28T01:00:00Z", "2026-11-28T01:00:00Z", "2026-11-29T01:00:00Z")
    runs = [msgspec.structs.replace(executed(f"run-{n}", rate=1.0), started=day) for n, day in enumerate(days)]
    before = put(*runs)
    for name in ("run-0", "run-2", "run-3"):
        assert call("remove", name)[0] == 0
        (kept,) = Path().glob(f".results.json.{name}-*.replaced")
        assert call("merge", str(kept))[0] == 0
        assert Path("results.json").read_bytes() == before


def test_what_cannot_be_removed_is_told(call):
    put(reported())
    assert refused(call("remove", "other"), "results.json: no run 'other'. It has: source-a. Choose one of these.")
    assert refused(call("remove", "No"), "ID, the argument, 'No': an id is")
    assert refused(call("remove", "x", "--results", "nowhere.json"), "nowhere.json: cannot be read")
    with runner.alone(Path("results.json")):
        assert refused(call("remove", "source-a"), "another measurement is going on")
    assert stored().runs == [reported()]


def test_merge_of_a_file_into_itself_changes_nothing(call):
    before = put(executed(rate=1.0), reported())
    assert call("merge", "results.json")[0] == 0 and Path("results.json").read_bytes() == before


def test_renaming_touches_only_the_run_of_a_command():
    run = executed("a", rate=1.0)
    run.samples["x/rate?requests=1"] = Sample("tok/s", [1.0], AT, "python -m measure run a --run a --set note='a b'")
    command = renamed(run, "b").samples["x/rate?requests=1"].command
    assert command == "python -m measure run a --run b --set 'note=a b'"


def test_renaming_leaves_a_command_that_is_none_as_it_is():
    run = executed("a", rate=1.0)
    run.samples["x/rate?requests=1"] = Sample("tok/s", [1.0], AT, "run --run a 'b")
    assert renamed(run, "b").samples == run.samples


# What the screen shows


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (59.4, "59 s"), (190, "3 min 10 s"), (3900, "1 h 5 min")])
def test_a_duration_is_told_in_words(seconds, text):
    assert screen.duration(seconds) == text


def step(seconds=100.0, keys=4):
    everything = registry.find("fakes")["wild"]
    names = tuple(key("wild", "rate", requests=n) for n in range(keys))
    return runner.Step(everything, None, names, names, seconds)


@pytest.mark.parametrize(
    ("done", "elapsed", "share"), [(0, 0, 0), (2, 10, 0.5), (1, 60, 0.6), (4, 1, 0.99), (0, 500, 0.99)]
)
def test_the_bar_goes_by_samples_and_by_the_clock_and_never_to_the_end(done, elapsed, share):
    assert screen.share_done(step(), done, elapsed) == pytest.approx(share)


def test_the_bar_tells_the_time_left():
    bar, first = screen.Bar(), step()
    second = runner.Step(registry.find("fakes")["steady"], None, first.keys, first.keys, 30.0)
    bar.begin([first, second])
    bar.tick(first, 2, 10.0)
    task = bar.progress.tasks[0]
    assert (task.total, task.completed, task.fields["left"]) == (130.0, 50.0, "1 min 20 s left")
    bar.end(runner.Outcome("wild", measured=first.keys))
    assert task.completed == 100.0
    bar.tick(second, 0, 15.0)
    assert (task.completed, task.fields["left"]) == (115.0, "15 s left")
    bar.close()


def test_weights_and_device_are_options_by_shorter_names(call, monkeypatch):
    unset(monkeypatch, "CUDA_VISIBLE_DEVICES")
    asked = []
    monkeypatch.setattr(machine, "describe", lambda device="": asked.append(device) or MACHINE)
    code, _, err = call("run", "steady", "--run", "there", "--device", "cuda:1")
    assert (code, asked, os.environ["CUDA_VISIBLE_DEVICES"]) == (0, ["cuda"], "1"), err
    commands = {sample.command for sample in stored().run("there").samples.values()}
    assert commands == {"python -m measure run steady --run there --set device=cuda"}


@pytest.mark.parametrize("command", [["run", "wild"], ["fleet", "wild"]])
@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["--weights", "hub:someone/tiny"], "--weights"),
        (["--set", "weights=hub:someone/tiny"], "--set weights"),
        (["--set", "tensor_parallel=2"], "--set tensor_parallel"),
    ],
)
def test_an_option_that_nobody_takes_is_named_as_it_was_typed(call, command, words, typed):
    assert refused(call(*command, *words), f"error: {typed}: no such option.")


@pytest.mark.parametrize("words", [["--device", "cuda:9"], ["--set", "device=cuda:9"]])
def test_a_card_that_is_not_there_is_refused_with_those_that_are(call, monkeypatch, words):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(machine, "cards", lambda: ["Some Card", "Some Card"])
    there = "This machine has cpu, cuda:0, cuda:1 (Some Card). Choose one of these."
    assert refused(call("run", "steady", *words), f"--device cuda:9: no such card. {there}")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0" and not Path("results.json").exists()


def test_a_second_card_can_be_asked_for_with_set_too(call, monkeypatch):
    unset(monkeypatch, "CUDA_VISIBLE_DEVICES")
    code, _, err = call("run", "steady", "--set", "device=cuda:1")
    assert (code, os.environ["CUDA_VISIBLE_DEVICES"]) == (0, "1"), err
    assert "--set device=cuda" in stored().run("here").samples["steady/qwen3-0.6b-bf16/rate?requests=1"].command


@pytest.mark.parametrize("text", ["cpu:1", "cuda:", "cuda:-1", "cuda:a"])
def test_what_is_no_card_is_refused(call, text):
    code, _, err = call("run", "steady", "--device", text)
    assert (code, "not a card. Write cuda:0" in err) == (1, True)


# Over several cards


def test_a_run_holds_what_one_card_did_and_what_two_did_and_goes_on_with_either(call):
    """Each number of cards has keys of its own; what was measured on another number is neither in the way nor lost."""
    one, two = ["run", "steady"], ["run", "steady", "--tensor-parallel", "2"]
    keys = {
        f"steady/qwen3-0.6b-bf16/rate?requests={n}{told}" for n in (1, 4, 16) for told in ("", "&tensor_parallel=2")
    }
    assert call(*one)[0] == call(*two)[0] == 0
    samples = stored().run("here").samples
    assert set(samples) == keys
    assert {sample.command.rpartition("here")[2] for text, sample in samples.items() if "tensor" in text} == {
        " --set tensor_parallel=2"
    }
    for words in (one, two, ["run", "steady", "--set", "tensor_parallel=2"]):
        assert "steady: 3 there from before" in call(*words)[2]
    code, _, err = call(*two, "--again")
    assert code == 0 and "Measuring steady anew" in err and "steady: 3 measured" in err
    assert set(stored().run("here").samples) == keys
    assert Path("measured.log").read_text().count("\n") == 9
    assert refused(call(*two, "--set", "pace=slow"), "rate?requests=1&tensor_parallel=2 was measured with another")


def test_why_something_failed_on_one_card_stays_while_two_are_measured(call):
    texts = [f"steady/qwen3-0.6b-bf16/rate?requests=64{told}" for told in ("", "&tensor_parallel=2")]
    run = Run("here", "executed", MACHINE, AT, {}, {text: Failure("crashed", AT, "") for text in texts})
    put(run)
    assert call("run", "steady", "--tensor-parallel", "2")[0] == 0
    assert set(stored().run("here").failures) == {texts[0]}


# What options are given


@pytest.fixture
def real(call, monkeypatch):
    """The command line with the real measurements, of which most lack their package here."""
    monkeypatch.setattr(registry, "PACKAGE", "measure")
    monkeypatch.setattr(registry.Measurement, "missing", ("no_such_engine",))
    return call


@pytest.mark.parametrize("command", [["here"], ["run", "asr_nemotron"], ["run", "decode_transformers"]])
def test_weights_that_are_not_there_are_refused_with_their_place_before_anything_is_written(real, command):
    before = put(executed(), reported())
    told = "error: weights=/no/such/place: no such file or folder. Pass one that is there, or hub:OWNER/NAME."
    for words in ([], ["--again"]):
        assert refused(real(*command, "--set", "weights=/no/such/place", *words), told)
    assert sorted(path.name for path in Path().iterdir() if "lock" not in path.name) == ["results.json"]
    assert Path("results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "decode_vllm", "--set", "tensor_parallel=abc"], "decode_vllm: tensor_parallel=abc: is no number of"),
        (["run", "decode_vllm", "--set", "tensor_parallel=2"], "decode_vllm: tensor_parallel=2: is no number of cards"),
        (["run", "decode_vllm", "--tensor-parallel", "2"], "decode_vllm: tensor_parallel=2: is no number of cards"),
        (["run", "serve_vllm", "--tensor-parallel", "0"], "serve_vllm: tensor_parallel=0: is no number of cards that"),
        (["run", "peer_vllm", "--tensor-parallel", "-1"], "peer_vllm: tensor_parallel=-1: is no number of cards that"),
        (["run", "graphs_vllm", "--tensor-parallel", "01"], "graphs_vllm: tensor_parallel=01: is no number of cards"),
        (
            ["run", "decode_llama", "bandwidth", "--tensor-parallel", "2"],
            "error: --tensor-parallel: no such option. Only decode_vllm, graphs_vllm, peer_vllm, serve_vllm can",
        ),
        (
            ["run", "decode_vllm", "--tensor-parallel", "1", "--set", "tensor_parallel=2"],
            "--set tensor_parallel: told twice",
        ),
        (["run", "decode_transformers", "--weights", "."], "decode_transformers: .: no config.json can be read"),
        (
            ["run", "decode_transformers", "bandwidth", "--weights", "."],
            "Or measure by name what takes it, with `python",
        ),
        (["run", "decode_llama", "--weights", "."], "decode_llama: .: no such file. Pass a GGUF file"),
        (["run", "tts_voxcpm", "--set", "audio=out"], "tts_voxcpm: audio= keeps what the model says"),
        (["run", "tts_magpie", "--set", "audio=out"], "tts_magpie: audio= keeps what real weights speak"),
        (
            ["run", "asr_nemotron", "--set", "audio=a:/nowhere"],
            "asr_nemotron: audio=a:/nowhere: there is no folder /nowhere",
        ),
        (
            ["run", "asr_nemotron", "--set", "recordings=abc"],
            "asr_nemotron: recordings=abc: is no number of recordings",
        ),
        (["run", "asr_nemotron", "--set", "recordings=0"], "asr_nemotron: recordings=0: is no number of recordings"),
        (["run", "decode_llama", "--weights", "hub:a"], "decode_llama: hub:a: names no file of the hub."),
        (["run", "bandwidth", "--weights", "/no/place"], "error: --weights: no such option"),
        (["run", "decode_llama", "--weights", "n" * 5000], "no such file or folder. Pass one that is there"),
        (["run", "asr_nemotron", "--set", f"audio={'n' * 5000}"], "Pass one that is there"),
        (["run", "peer_llama", "--set", "tool=/no/tool"], "peer_llama: tool=/no/tool: no such program"),
    ],
)
def test_a_value_that_no_measurement_can_use_is_refused_even_where_its_package_is_missing(real, words, told):
    assert refused(real(*words), told)
    assert not Path("results.json").exists()
