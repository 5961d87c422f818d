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

import pytest
from test_runner import alive, ended

from measure import cli, machine, registry, runner, store
from measure.fleet import cluster as clusters
from measure.fleet import gathering, kinds, task
from measure.fleet.cluster import Failed, Left, Node
from measure.fleet.kinds import Found
from measure.fleet.ledger import Ledger
from measure.fleet.task import Answer, News
from measure.results import Machine, Results, ResultsError, Run, Sample
from measure.runner import Interrupted, Job

ROOT = Path(__file__).parent.parent
PATH = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
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
        soon = {"health_check_period_ms": 500, "health_check_failure_threshold": 3, "health_check_initial_delay_ms": 1000}
        memory = 80 * 2**20
        self.ray.add_node(num_cpus=0, include_dashboard=False, object_store_memory=memory, _system_config=soon)

    @property
    def address(self):
        return self.ray.address

    def add(self, cores, path=PATH):
        """A node that has so many of this machine's cores, and finds packages there."""
        os.sched_setaffinity(0, CORES[:cores])
        try:
            return self.ray.add_node(
                num_cpus=cores, object_store_memory=80 * 2**20, env_vars={"PYTHONPATH": path}, include_log_monitor=False
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
        started = Nodes()
        started.add(1)
        started.add(1)
        started.add(len(CORES), os.pathsep.join([PATH, str(engine)]))
        yield started
        started.ray.shutdown()


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Run the command line in an empty folder, with the fake measurements."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.setattr(registry, "PACKAGE", "paced")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["measure", *words])
        code = cli.main()
        out, err = capfd.readouterr()
        return code, out, err

    return run


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
        assert sample.config == {"threads": "not set"}, "Ray's number of threads is not the machine's"
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
    command = [sys.executable, "-m", "templates", "diff", ONE, f"{ONE}-2", "--results", str(Path("results.json").absolute())]
    compared = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert compared.returncode == 0, compared.stderr
    print(compared.stdout)
    code, out, _ = call("merge", "results.json", "--results", "other.json")
    assert code == 0 and len(store.load(Path("other.json")).runs) == 3
    code, _, err = call("merge", "results.json", "--results", "other.json", "--run", f"{ONE}-2", "--as", ONE)
    assert code == 1 and "there is another sample of that name" in err
