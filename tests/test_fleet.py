"""Measuring a cluster: real Ray nodes on this machine, some of them with one of its cores, so that kinds differ."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from test_cli_measure import command_line
from test_runner import ended

from measure import machine, registry, results, runner, store
from measure.fleet import board, gathering, kinds, task
from measure.fleet import cluster as clusters
from measure.fleet.cluster import Failed, Left, Node
from measure.fleet.gathering import Gathering
from measure.fleet.kinds import Found
from measure.fleet.task import Answer, News
from measure.results import Machine, Results, ResultsError, Run, Sample
from measure.runner import Interrupted, Job

ROOT = Path(__file__).parent.parent
PATH = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
ELSEWHERE = str(ROOT / "tests")
"""Where a node finds packages: the fake measurements, but not the project, whose code comes with the tasks."""
AT = "2026-11-29T13:45:00Z"
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
KEYS = [f"paced/rate?requests={n}" for n in (1, 2, 4, 8, 16)]

needs_cluster = pytest.mark.skipif(
    sys.platform != "linux" or len(CORES) < 2, reason="nodes of two kinds are made of a machine's cores, on Linux"
)


class Nodes:
    """A cluster whose head measures nothing."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        self.ray = Cluster()
        soon = {
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 3,
            "health_check_initial_delay_ms": 1000,
        }
        memory = 80 * 2**20
        self.ray.add_node(num_cpus=0, include_dashboard=False, object_store_memory=memory, _system_config=soon)

    @property
    def address(self):
        return self.ray.address

    def add(self, cores, path=ELSEWHERE):
        """A node that has so many of this machine's cores, and finds packages there; one with all offers a card too."""
        os.sched_setaffinity(0, CORES[:cores])
        try:
            return self.ray.add_node(
                num_cpus=cores,
                num_gpus=int(cores == len(CORES)),
                object_store_memory=80 * 2**20,
                env_vars={"PYTHONPATH": path},
                include_log_monitor=False,
            )
        finally:
            os.sched_setaffinity(0, CORES)

    def node_of(self, run_id):
        """The node on which a run of results.json was begun."""
        name = json.loads(Path(".results.json.fleet").read_text())[run_id]
        return next(node for node in self.ray.list_all_nodes() if node.node_id == name)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two nodes with one core, one with all; there the engine of `absent` is installed."""
    engine = tmp_path_factory.mktemp("engine")
    (engine / "no_such_engine.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # whatever lies in the home folder
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        started = Nodes()
        started.add(1)
        started.add(1)
        started.add(len(CORES), os.pathsep.join([ELSEWHERE, str(engine)]))
        yield started
        started.ray.shutdown()


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Run the command line in an empty folder, with the fake measurements."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.setattr(registry, "PACKAGE", "paced")

    return command_line(monkeypatch, capfd)


def stored():
    return store.load(Path("results.json"))


def names(cores):
    """The run of a node with so many cores."""
    return kinds.name(Machine(f"{machine.processor()}, {cores} {'core' if cores == 1 else 'cores'}", "cpu"))


ONE, ALL = names(1), names(len(CORES))


def told(run):
    return {(failure.reason, failure.detail) for failure in run.failures.values()}


def private(ray):
    """What in the folder tells of a node: Ray's names and addresses of all that there are, and this machine's."""
    table = ray.global_state.node_table()
    known = {str(node[part]) for node in table for part in ("NodeID", "NodeManagerAddress", "NodeManagerHostname")}
    known |= {socket.gethostname(), "127.0.0.1"}
    text = Path("results.json").read_text()
    return [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


@contextmanager
def leaving(nodes, run_id, key):
    """Kill the node of a run as soon as this sample of it is there, and afterwards replace it."""
    gone = []

    def kill():
        until(lambda: Path("results.json").exists() and key in getattr(stored().run(run_id), "samples", ()))
        gone.append(nodes.node_of(run_id))
        nodes.ray.remove_node(gone[0], allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        killer.join()
        nodes.ray.wait_for_nodes()
        nodes.add(1 if run_id == ONE else len(CORES))
    assert gone


def until(true, within_s=30):
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


# A cluster


@needs_cluster
def test_every_kind_is_measured_once_in_its_own_environment(call, nodes):
    import ray

    code, out, err = call("fleet", "steady", "absent", "paced", "--address", nodes.address)
    assert len(stored().runs) == 2 and not ray.is_initialized()
    one, whole = stored().run(ONE), stored().run(ALL)
    assert one.machine.cores == 1 and whole.machine == machine.describe("cpu")
    assert f"{ONE}: {one.machine.name}, one of 2 alike" in err and f"{ALL}: steady: 3 measured" in err
    for run in (one, whole):
        assert list(run.samples)[:5] == KEYS and len(run.samples) == 8
        sample = run.samples["paced/rate?requests=4"]
        assert sample.command == f"python -m measure run paced --run {run.id}"
        assert sample.config["OMP_NUM_THREADS"] == "not set", "Ray's number of threads is not the machine's"
    assert {run.samples[KEYS[0]].config["CUDA_VISIBLE_DEVICES"] for run in (one, whole)} == {"not set", "0"}
    assert told(one) == {("engine_missing", "not installed: no_such_engine")}
    assert told(whole) == {("crashed", "ended without this result")}
    assert code == 1 and f"run '{ONE}': 2 not measured, the first absent/rate" in err
    assert f"run {ONE}: {one.machine.name} (cpu)" in out


@needs_cluster
def test_a_fleet_saves_what_a_run_saves_and_goes_on_with_it(call, nodes):
    """On the node that has all of this machine's cores; an error full of names among it."""
    words = ["steady", "wild", "--set", "do=raise"]
    call("fleet", *words, "--address", nodes.address)
    call("run", *words, "--run", "by-hand")
    here, there = stored().run("by-hand"), stored().run(ALL)
    assert there.machine == here.machine and there.samples.keys() == here.samples.keys()
    for text, sample in here.samples.items():
        other = there.samples[text]
        assert (other.values, other.config, other.versions) == (sample.values, sample.config, sample.versions)
    assert told(here) == told(there) == {("crashed", "ValueError: cannot open ... on ...")}
    _, _, err = call("fleet", *words, "--address", nodes.address)
    assert f"{ALL}: steady: 3 there from before" in err and f"{ALL}: wild: 1 there from before, 1 not measured" in err
    assert [run.id for run in stored().runs].count(ALL) == 1 and len(stored().runs) == 3
    assert stored().run(ALL).samples == there.samples


@needs_cluster
def test_a_machine_that_leaves_is_replaced_by_another_of_its_kind(call, nodes):
    """The run of the first keeps what it has; the other measures all, in a run of its own. Nothing tells of either."""
    with leaving(nodes, ONE, "paced/rate?requests=2"):
        code, _, err = call("fleet", "steady", "paced", "--set", "pace=0.4", "--address", nodes.address)
    first, second = stored().run(ONE), stored().run(f"{ONE}-2")
    assert first.machine == second.machine and len(second.samples) == 8 and not second.failures
    assert 5 <= len(first.samples) < 8 and first.samples.keys() | first.failures.keys() == second.samples.keys()
    assert told(first) == {("machine_left", "")}
    assert f"{ONE}: its machine left the cluster; another of its kind is measured instead" in err
    assert code == 1 and f"run '{ONE}': {len(first.failures)} not measured, the first paced/rate" in err
    assert private(nodes.ray) == []


@needs_cluster
def test_a_machine_that_leaves_and_was_the_only_one_of_its_kind_is_told_of(call, nodes):
    with leaving(nodes, ALL, "paced/rate?requests=1"):
        code, _, err = call("fleet", "paced", "steady", "--set", "pace=0.4", "--address", nodes.address)
    run = stored().run(ALL)
    assert told(run) == {("machine_left", "")} and len(run.samples) + len(run.failures) == 8
    assert "steady/qwen3-0.6b-bf16/rate?requests=1" in run.failures, "also what had not begun"
    assert f"{ALL}: its machine left the cluster\n" in err and code == 1
    assert len(stored().run(ONE).samples) == 8, "the others go on"
    assert private(nodes.ray) == []


@needs_cluster
def test_two_machines_of_one_kind_are_two_runs(call, nodes):
    code, _, _ = call("fleet", "paced", "--every", "--address", nodes.address)
    assert code == 0
    runs = {run.id: run for run in stored().runs}
    assert set(runs) == {ONE, f"{ONE}-2", ALL} and all(len(run.samples) == 5 for run in runs.values())
    assert runs[ONE].machine == runs[f"{ONE}-2"].machine
    results = str(Path("results.json").absolute())
    command = [sys.executable, "-m", "templates", "diff", ONE, f"{ONE}-2", "--results", results]
    compared = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert compared.returncode == 0, compared.stderr
    assert f"before: {ONE}, " in compared.stdout and f"after:  {ONE}-2, " in compared.stdout
    code, _, _ = call("merge", "results.json", "--results", "other.json")
    assert code == 0 and len(store.load(Path("other.json")).runs) == 3
    code, _, err = call("merge", "results.json", "--results", "other.json", "--run", f"{ONE}-2", "--as", ONE)
    assert code == 1 and "there is another sample of that name" in err


# This machine alone


INTERRUPTIBLE = "import sys; from measure import cli, registry; registry.PACKAGE = 'paced'; sys.exit(cli.main())"


def marked(mark):
    """The processes with this text in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [int(folder.name)] if mark.encode() in (folder / "environ").read_bytes() else []
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the processes in /proc")
def test_ctrl_c_keeps_what_was_received_and_leaves_nothing_behind(tmp_path, monkeypatch):
    """A local Ray; the signal reaches it and its workers too, as from a terminal."""
    monkeypatch.chdir(tmp_path)
    mark = f"FLEET_OF_A_TEST={tmp_path}"
    command = [sys.executable, "-c", INTERRUPTIBLE, "fleet", "paced", "--set", "pace=1"]
    environment = {**os.environ, "PYTHONPATH": PATH, "FLEET_OF_A_TEST": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: Path("results.json").exists() and stored().runs and len(stored().runs[0].samples) >= 2, 60)
        started = marked(mark)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    (run,) = stored().runs
    assert process.returncode == 130 and "Traceback" not in err, err
    assert "Stopped. What was measured is kept in results.json; to go on, run `" in err
    assert 2 <= len(run.samples) < 5 and run.samples.keys() | run.failures.keys() == set(KEYS)
    assert told(run) == {("interrupted", "")} and len(started) > 5
    assert ended(started, 10) and marked(mark) == []


def test_without_ray_the_cure_is_told(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = call("fleet", "steady")
    assert code == 1 and not Path("results.json").exists()
    command = "-m pip install -c constraints/default.txt -e '.[fleet]'"
    assert "Ray is not installed" in err and f"{command}` brings it" in err
    assert command in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["steadily"], "measurement 'steadily' does not exist"),
        (["steady", "--set", "pase=1"], "--set pase: no such option"),
        (["--device", "cuda:1"], "--device cuda:1: none of cpu, cuda, mps"),
        (["--address", "ray://head:10001"], "through Ray's client nothing can be streamed back"),
        (["--address", "127.0.0.1:9"], "--address 127.0.0.1:9: nothing answers there. Run this on a machine"),
        (["--address", "head"], "--address head: nothing answers there"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, words, told):
    code, _, err = call("fleet", *words)
    assert code == 1 and err.startswith("error: ") and err.count("\n") == 1 and told in err
    assert not Path("results.json").exists()


@pytest.fixture
def guarded(tmp_path):
    """The address of a head that asks for the token that lies in the home folder `token`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    token = tmp_path / "token" / ".ray" / "auth_token"
    token.parent.mkdir(parents=True)
    token.write_text("0123456789abcdef" * 4)
    words = ["--node-ip-address", "127.0.0.1", "--port", address.rpartition(":")[2], "--num-cpus", "1", "--block"]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--include-dashboard", "false", *words]
    environment = without_token(tmp_path / "token")
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: clusters._answers(address))
        yield address
        process.terminate()


def without_token(home):
    """An environment in which nothing tells of a token but the home folder."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    return usual | {"HOME": str(home), "PYTHONPATH": PATH, "RAY_USAGE_STATS_ENABLED": "0"}


def test_a_cluster_that_asks_for_a_token_is_given_the_one_that_is_there(tmp_path, guarded):
    def fleet(home):
        command = [sys.executable, "-c", INTERRUPTIBLE, "fleet", "steady", "--address", guarded]
        environment = without_token(tmp_path / home)
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    refused = fleet("elsewhere")
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1
    assert refused.stderr.startswith(f"error: --address {guarded}: the cluster there asks for a token, and none that")
    assert "Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints" in refused.stderr
    given = fleet("token")
    assert given.returncode == 0, given.stderr
    (run,) = store.load(tmp_path / "results.json").runs
    assert "steady/qwen3-0.6b-bf16/rate?requests=1" in run.samples


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, False),
        ({"RAY_AUTH_TOKEN": ""}, False),
        ({"RAY_AUTH_TOKEN": "a"}, True),
        ({"RAY_AUTH_TOKEN_PATH": "b"}, True),
    ],
)
def test_a_token_is_looked_for_where_ray_does(tmp_path, monkeypatch, environment, found):
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    assert clusters._has_token() is found
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("c")
    assert clusters._has_token()


@pytest.fixture
def no_ray(monkeypatch):
    """Starting Ray takes a while: what is refused is refused before."""
    monkeypatch.setattr("measure.cli.joined", lambda address: pytest.fail("Ray was started"))


@pytest.mark.usefixtures("no_ray")
def test_a_file_that_cannot_be_used_is_refused_before_anything_starts(call):
    Path("results.json").write_text("{")
    code, _, err = call("fleet", "steady")
    assert code == 1 and err.startswith("error: results.json: not a results file") and err.count("\n") == 1
    code, _, err = call("fleet", "steady", "--results", "/proc/r.json")
    assert code == 1 and err.startswith("error: r.json: no file can be made in the folder '/proc'")
    assert Path("results.json").read_text() == "{"


@pytest.mark.usefixtures("no_ray")
def test_beside_another_measurement_nothing_starts(call):
    with runner.alone(Path("results.json")):
        code, _, err = call("fleet", "steady")
    assert code == 1 and err.startswith("error: results.json: another measurement is going on. Wait until it ends")


def test_ctrl_c_while_ray_starts_tells_the_command_that_goes_on(call, monkeypatch):
    def interrupted(address):
        raise KeyboardInterrupt

    monkeypatch.setattr("measure.cli.joined", interrupted)
    code, _, err = call("fleet", "steady")
    assert code == 130 and err.startswith("Stopped. ") and "measure fleet steady`." in err


# Without Ray: a cluster whose machines say what a test tells them to


H200 = Machine("NVIDIA H200", "cuda", cores=16, accelerators=1)
FIRST, SECOND = KEYS[:2]


class Scripted:
    """A cluster: what tasks yield, by the machine's name and the measurement's, or "ask"; an exception ends a task."""

    alone = False

    def __init__(self, **scripts):
        self.scripts = {name: {"ask": [answer()], **script} for name, script in scripts.items()}
        self.orders = []

    def nodes(self):
        return [Node(name, 1.0, 0.0) for name in self.scripts]

    def start(self, node, function, order, whole):
        order = msgspec.json.decode(order, type=task.Order)
        name = "ask" if function is task.ask else order.names[0]
        assert whole == (function is task.measure)
        self.orders.append((node.id, name, order))
        return clusters.Stream(node, iter(self.scripts[node.id].get(name, [])))

    def ready(self, streams, patience_s):
        return list(streams)

    def take(self, stream):
        item = next(stream.answers, None)
        if isinstance(item, Exception):
            raise item
        return item and msgspec.json.encode(item)

    def cancel(self, stream):
        pass


class Notes:
    """A watcher that remembers."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def show(self, visits):
        for visit in visits:
            if visit.steps:
                board.course(visit)

    def end(self, visit, outcome):
        self.lines.append(f"{visit.job.run_id}: {outcome.name}")


def answer(machine=H200, **more):
    return Answer(machine, **more)


def news(*keys, run_id="h200", machine=H200, **more):
    samples = {key: Sample("tok/s", [5.0], AT, f"python -m measure run paced --run {run_id}") for key in keys}
    return News(results.dump(Results([Run(run_id, "executed", machine, AT, samples)])), seconds=1.0, **more)


def gather(cluster, *names, every=False, **more):
    job = Job(Path("results.json"), "", Machine("", ""), names or ("paced",), package="paced", **more)
    done = Gathering(cluster, job, Notes())
    done.run(every)
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
class TestScripted:
    def test_what_arrives_is_saved_at_once(self):
        """Also where the program is killed between two samples: the second never comes."""

        def script():
            yield news(FIRST)
            assert list(stored().run("h200").samples) == [FIRST]
            yield news(SECOND)

        gather(Scripted(a={"paced": script()}))
        run = stored().run("h200")
        assert list(run.samples) == [FIRST, SECOND] and run.machine == H200
        assert told(run) == {("crashed", "ended without this result")} and len(run.failures) == 3

    def test_a_machine_that_leaves_with_nothing_measured_leaves_its_run_to_the_next(self):
        done = gather(Scripted(a={"paced": [News(), Left()]}, b={"paced": [news(*KEYS)]}))
        (run,) = stored().runs
        assert list(run.samples) == KEYS and not run.failures and done.lacking(strict=True) == ""
        assert json.loads(Path(".results.json.fleet").read_text()) == {"h200": "b"}

    def test_a_measurement_is_tried_again_once_and_no_more(self):
        going = {
            name: {"paced": [news(FIRST, run_id=run_id), Left()]} for name, run_id in (("a", "h200"), ("b", "h200-2"))
        }
        done = gather(Scripted(**going, c={"paced": [news(*KEYS)]}), "paced", "steady")
        assert [run.id for run in stored().runs] == ["h200", "h200-2"]
        for run in stored().runs:
            assert list(run.samples) == [FIRST] and len(run.failures) == 7 and told(run) == {("machine_left", "")}
        assert [name for name, _, order in done.cluster.orders if order.run_id] == ["a", "b"]
        assert done.lacking(strict=False).count("7 not measured, the first paced/rate?requests=2") == 2

    def test_a_ledger_that_cannot_be_written_is_one_line(self):
        Path(".results.json.fleet").mkdir()
        with pytest.raises(ResultsError, match=r"^\.results\.json\.fleet: cannot be written \(Is a directory\)"):
            gather(Scripted(a={"paced": []}))

    def test_machines_are_asked_in_good_grammar(self):
        one, two = gather(Scripted(a={"paced": []})), gather(Scripted(a={"paced": []}, b={"paced": []}))
        asked = [done.watcher.lines[0] for done in (one, two)]
        assert asked == ["Asking 1 machine what it is.", "Asking 2 machines what they are."]

    def test_with_every_machine_at_work_none_stands_in(self):
        two = {"a": {"paced": [Left()]}, "b": {"paced": [news(*KEYS, run_id="h200-2")]}}
        gather(Scripted(**two), every=True)
        assert told(stored().run("h200")) == {("machine_left", "")} and len(stored().run("h200-2").samples) == 5

    @pytest.mark.parametrize("ending", [Failed("the task there failed with OSError"), News(refusal="no room")])
    def test_a_task_that_fails_is_told_of_and_the_machine_goes_on(self, ending):
        done = gather(Scripted(a={"paced": [news(FIRST), ending]}), "paced", "steady")
        run = stored().run("h200")
        detail = str(ending) if isinstance(ending, Failed) else "no room"
        assert {f.detail for key, f in run.failures.items() if key.startswith("paced")} == {detail}
        assert done.watcher.lines[-2:] == ["h200: paced", "h200: steady"]
        assert len(run.samples) == 1 and len(run.failures) == 7

    @pytest.mark.parametrize(
        ("ask", "why"),
        [
            ([Left()], "it left the cluster"),
            ([Failed("msgspec is not installed there")], "msgspec is not installed there"),
            ([Answer(refusal="needs an NVIDIA card and its driver")], "needs an NVIDIA card and its driver"),
            ([], "it gave no answer"),
        ],
    )
    def test_a_machine_that_cannot_tell_what_it_is(self, ask, why):
        done = gather(Scripted(a={"ask": ask}, b={"paced": [news(*KEYS)]}))
        assert done.lacking(strict=False) == "1 machine could not be asked"
        assert f"A machine is not measured, since it cannot tell what it is: {why}." in done.watcher.lines
        with pytest.raises(ResultsError, match=f"no machine of the cluster could be asked what it is: {why}"):
            gather(Scripted(a={"ask": ask}))

    def test_a_cluster_without_a_machine_to_measure(self):
        with pytest.raises(ResultsError, match="no machine that offers a processor"):
            gather(Scripted())

    def test_a_run_is_gone_on_with_on_its_own_machine_alone(self):
        gather(Scripted(a={"paced": [news(FIRST)]}))
        done = gather(Scripted(b={"paced": []}, a={"paced": [news(SECOND)]}))
        assert [
            (name, len(order.begun().runs[0].samples)) for name, _, order in done.cluster.orders if order.run_id
        ] == [("a", 1)]
        assert list(stored().run("h200").samples) == [FIRST, SECOND]
        gather(Scripted(b={"paced": [news(FIRST, run_id="h200-2")]}))
        assert list(stored().run("h200-2").samples) == [FIRST]
        Path(".results.json.fleet").write_text("[")
        gather(Scripted(b={"paced": [news(FIRST, run_id="h200-3")]}))
        assert len(stored().runs) == 3, "where it is not known on which machine a run was begun"

    def test_a_run_that_does_not_fit_is_not_gone_on_with(self):
        gather(Scripted(a={"paced": [news(FIRST)]}))
        done = gather(Scripted(a={"ask": [answer(unfit=("h200",))], "paced": [news(FIRST, run_id="h200-2")]}))
        assert [run.id for run in stored().runs] == ["h200", "h200-2"]
        assert done.cluster.orders[0][2].begun().runs == [stored().run("h200")], "the machine is asked about its runs"

    def test_a_quick_run_has_one_time_for_all_its_measurements(self):
        done = gather(Scripted(a={"paced": [news(FIRST)]}), "paced", "steady", quick=True)
        assert [(name, order.spent_s) for _, name, order in done.cluster.orders[1:]] == [
            ("paced", 0.0),
            ("steady", 1.0),
        ]

    def test_ctrl_c_while_saving_breaks_nothing_off(self, monkeypatch):
        def interrupt(*_):
            os.kill(os.getpid(), signal.SIGINT)
            return save(*_)

        save = gathering._merge
        monkeypatch.setattr(gathering, "_merge", interrupt)
        with pytest.raises(Interrupted):
            gather(Scripted(a={"paced": [news(FIRST), news(SECOND)]}))
        run = stored().run("h200")
        assert FIRST in run.samples and told(run) == {("interrupted", "")}
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("NVIDIA H200", "h200"),
        ("8 x NVIDIA H200", "8-x-h200"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
        ("AMD EPYC, 2 cores", "epyc-2-cores"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz, 8 cores", "xeon-8-cores"),
        ("Apple M2 Max, 12 cores", "apple-m2-max-12-cores"),
        ("龙芯", "machine"),
        ("x" * 60, "x" * 34),
    ],
)
def test_a_run_is_called_by_what_its_machine_is(told, expected):
    assert kinds.name(Machine(told, "cpu")) == expected
    results.check_id(f"{expected}-9999", "")


def test_kinds_differ_in_whatever_a_machine_tells():
    two = [Found(Node(name, 1, 0), machine, frozenset(), frozenset()) for name, machine in (("a", H200), ("b", H200))]
    other = Found(Node("c", 1, 0), msgspec.structs.replace(H200, driver="570.1"), frozenset(), frozenset())
    assert kinds.kinds([*two, other]) == [two, [other]]
    assert kinds.kinds([*two, other], {"b"})[0] == [two[1], two[0]], "first the one on which a run was begun"


class FakeRay:
    """As much of Ray as tells of nodes, and of a task that ends with an error."""

    def __init__(self, error=None, **alive):
        self.error, self.alive = error, alive

    def nodes(self):
        resources = {"b": {"CPU": 2.0, "GPU": 1.0}, "a": {"CPU": 1.0}, "head": {"memory": 1.0}}
        return [
            {"NodeID": name, "Alive": is_alive, "Resources": resources[name]} for name, is_alive in self.alive.items()
        ]

    def get(self, _):
        raise self.error


def test_a_head_without_processors_and_what_has_left_are_not_measured():
    ray = FakeRay(head=True, b=True, a=True)
    assert clusters.Cluster(ray, "auto").nodes() == [Node("a", 1.0, 0), Node("b", 2.0, 1.0)]
    ray.alive["a"] = False
    assert clusters.Cluster(ray, "auto").nodes() == [Node("b", 2.0, 1.0)]


class NodeDiedError(Exception):
    """As Ray's, which cannot be made without its own parts."""


@pytest.mark.parametrize(
    ("error", "alive", "expected", "words"),
    [
        (NodeDiedError("Node IP: 10.1.2.3"), True, Left, ""),
        (ConnectionError("10.1.2.3 at gpu-7"), False, Left, ""),
        (ConnectionError("10.1.2.3 at gpu-7"), True, Failed, "the task there failed with ConnectionError"),
        (RuntimeError("gpu-7: No module named 'msgspec'"), True, Failed, "msgspec is not installed there"),
    ],
)
def test_what_ray_says_of_an_error_stays_in_it(error, alive, expected, words):
    cluster = clusters.Cluster(FakeRay(error, a=alive), "auto")
    with pytest.raises(expected) as raised:
        cluster.take(clusters.Stream(Node("a", 1, 0), iter([object()])))
    assert str(raised.value) == words and raised.value.__cause__ is None
