"""Sends measurements to the machines of a cluster and saves what they send back, as it comes: one run a machine.

A machine has one task at a time, machines work side by side. This process alone writes the results file, and may be
interrupted or killed at any moment: what was received is saved.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from measure import results, runner, store
from measure.fleet import task
from measure.fleet.cluster import Cluster, Failed, Left, Node, Stream
from measure.fleet.kinds import Found, kinds, run_id
from measure.fleet.ledger import Ledger
from measure.fleet.task import Answer, News, Order
from measure.merge import merge
from measure.results import Results, ResultsError
from measure.runner import Interrupted, Job, Outcome, Step

TICK_S = 0.2
ANSWER_S = 120.0
"""How long machines may take to say what they are: the measurements' code has to reach them first."""

CANCEL_S = 10.0
"""How long tasks that are cancelled may take to end what they have started."""

SENDER = "what a machine sent"


@dataclass(eq=False)
class Visit:
    """A machine on its way through the measurements, into one run."""

    found: Found
    job: Job
    steps: list[Step]
    """What is still to come; the first has begun if there is a stream."""
    again: bool = False
    """In place of a machine that left."""
    left: bool = False
    """The machine left the cluster."""
    stream: Stream | None = None
    begun: float | None = None
    """When the step began; None while it waits for the machine to be free."""
    settled: set[str] = field(default_factory=set)
    """Keys of the step that have a sample or a failure."""
    last: News = field(default_factory=News)
    outcomes: list[Outcome] = field(default_factory=list)


class Watcher(Protocol):
    """Is told of the course on all machines."""

    def say(self, line: str) -> None: ...

    def show(self, visits: Sequence[Visit]) -> None:
        """How far each machine is, several times a second."""

    def end(self, visit: Visit, outcome: Outcome) -> None:
        """A machine has ended a measurement."""


class Gathering:
    """One job on the machines of a cluster."""

    def __init__(self, cluster: Cluster, job: Job, watcher: Watcher) -> None:
        """`job` without a run: each machine gets a run of its own."""
        self.cluster, self.job, self.watcher = cluster, job, watcher
        self.ledger = Ledger(job.results, cluster)
        self.visits: list[Visit] = []
        self.spare: list[Found] = []
        """Machines that are not measured, unless another of their kind leaves."""
        self.unknown: list[str] = []
        """Why machines could not be asked what they are."""
        self.interrupted = threading.Event()
        """Set by Ctrl-C, which is raised nowhere: nothing that is just being saved is broken off."""

    def run(self, every: bool) -> list[Visit]:
        """Measure a machine of each kind, or every machine, and save what they send: `runner.alone` with the file.

        Raises ResultsError for a job or a cluster with which nothing can be done, Interrupted on Ctrl-C.
        """
        with _told_by_ctrl_c(self.interrupted):
            try:
                self._send_out(self._ask(), every)
                while any(visit.steps for visit in self.visits) and not self.interrupted.is_set():
                    self._turn()
            finally:
                self._cancel()
            if self.interrupted.is_set():
                raise Interrupted
        return self.visits

    def lacking(self, strict: bool) -> str:
        """What the user asked for and did not get; empty if nothing.

        Args:
            strict: whatever failed counts; else only a machine that left, could not be asked, or gave nothing at all.
        """
        told = [f"{_count(len(self.unknown))} could not be asked"] if self.unknown else []
        for visit in self.visits:
            failed = [text for one in visit.outcomes for text in one.failed]
            had = any(one.measured or one.kept for one in visit.outcomes)
            if failed and (visit.left or strict or not had):
                told.append(f"run {visit.job.run_id!r}: {len(failed)} not measured, the first {failed[0]}")
        return "; ".join(told)

    def _ask(self) -> list[Found]:
        """What each machine is. Those that do not tell are told of."""
        nodes = self.cluster.nodes()
        if not nodes:
            raise ResultsError("the cluster has no machine that offers a processor. Start Ray on one, then run again.")
        self.watcher.say(f"Asking {_count(len(nodes))} what {'it is' if len(nodes) == 1 else 'they are'}.")
        data = store.load_or_none(self.job.results)
        streams = [self.cluster.start(node, task.ask, self._question(node, data), whole=False) for node in nodes]
        found, end = [], time.monotonic() + ANSWER_S
        while streams and time.monotonic() < end and not self.interrupted.is_set():
            for stream in self.cluster.ready(streams, TICK_S):
                streams.remove(stream)
                found += self._answer(stream)
        if not self.interrupted.is_set():
            self.unknown += [f"it did not answer within {ANSWER_S:.0f} s" for _ in streams]
        for reason in self.unknown:
            self.watcher.say(f"A machine is not measured, since it cannot tell what it is: {reason}.")
        if not found and not self.interrupted.is_set():
            raise ResultsError(f"no machine of the cluster could be asked what it is: {self.unknown[0]}.")
        return found

    def _question(self, node: Node, data: Results) -> bytes:
        begun = [run for run in data.runs if run.id in self.ledger.runs(node)]
        return _order(self.job, dict(self.job.options), results.dump(Results(begun)))

    def _answer(self, stream: Stream) -> list[Found]:
        try:
            answer = msgspec.json.decode(self.cluster.take(stream) or b"{}", type=Answer)
        except Left:
            answer = Answer(refusal="it left the cluster")
        except Failed as failed:
            answer = Answer(refusal=str(failed))
        if answer.machine is None:
            self.unknown.append(answer.refusal or "it gave no answer")
            return []
        return [Found(stream.node, answer.machine, frozenset(answer.missing), frozenset(answer.unfit))]

    def _send_out(self, found: Sequence[Found], every: bool) -> None:
        """Choose the machines, and refuse the job if one kind of them cannot do it."""
        begun = {one.node.id for one in found if self.ledger.runs(one.node)}
        groups = kinds(found, begun)
        for group in groups:
            replace(self.job, machine=group[0].machine).check()
        for group in groups:
            chosen = group if every else group[:1]
            self.spare += group[len(chosen) :]
            for one in chosen:
                self._visit(one, alike=len(group))

    def _visit(self, one: Found, run: str = "", again: bool = False, alike: int = 1) -> None:
        """Put a machine on its way, into this run or into one that is its own."""
        taken = {visit.job.run_id for visit in self.visits}
        data = store.load_or_none(self.job.results)
        run = run or run_id(one, data, taken, self.ledger.runs(one.node))
        self.ledger.note(run, one.node)
        job = replace(self.job, run_id=run, machine=one.machine)
        steps = [runner.prepare(job, measurement) for measurement in job.measurements()]
        self.visits.append(Visit(one, job, steps, again))
        self.watcher.say(f"{run}: {one.machine.name}" + (f", one of {alike} alike" if alike > 1 else ""))

    def _turn(self) -> None:
        """Let every machine that is free begin its next step, and take what is new."""
        for visit in self.visits:
            if visit.steps and visit.stream is None:
                self._begin(visit)
        going = {visit.stream: visit for visit in self.visits if visit.stream}
        for stream in self.cluster.ready(list(going), TICK_S):
            self._take(going[stream], stream)
        self.watcher.show(self.visits)

    def _begin(self, visit: Visit) -> None:
        step = visit.steps[0]
        visit.begun, visit.settled, visit.last = None, set(), News()
        if not step.wanted:
            self._end(visit)
            return
        runner.clear_failures(step)
        run = store.load_or_none(self.job.results).run(visit.job.run_id)
        so_far = results.dump(Results([run])) if run else ""
        job = replace(visit.job, names=(step.measurement.name,), spent_s=sum(one.seconds for one in visit.outcomes))
        order = _order(job, dict(step.session.options), so_far)
        visit.stream = self.cluster.start(visit.found.node, task.measure, order, whole=True)

    def _take(self, visit: Visit, stream: Stream) -> None:
        try:
            text = self.cluster.take(stream)
        except Left:
            self._replace(visit)
        except Failed as failed:
            told = ("interrupted", "") if self.interrupted.is_set() else ("crashed", str(failed))
            runner.fail_rest(visit.steps[0], *told)
            self._end(visit)
        else:
            if text is None:
                self._end(visit)
            else:
                self._receive(visit, msgspec.json.decode(text, type=News))

    def _receive(self, visit: Visit, news: News) -> None:
        """Save at once what is new."""
        visit.begun = visit.begun or time.monotonic()
        if news.runs:
            piece = results.parse(news.runs.encode(), SENDER)
            store.amend(self.job.results, lambda data: _merge(data, piece, visit.job.run_id))
            visit.settled |= {text for run in piece.runs for text in (*run.samples, *run.failures)}
        if news.refusal:
            runner.fail_rest(visit.steps[0], "crashed", news.refusal)
        if news.seconds:
            visit.last = news

    def _end(self, visit: Visit) -> None:
        """Be done with a step, and tell what became of it."""
        visit.stream, step = None, visit.steps.pop(0)
        runner.fail_rest(step, "crashed", "ended without this result")
        self._tell(visit, step)

    def _tell(self, visit: Visit, step: Step) -> None:
        outcome = replace(runner.outcome_of(step, visit.last.output), seconds=visit.last.seconds)
        visit.outcomes.append(outcome)
        self.watcher.end(visit, outcome)

    def _replace(self, visit: Visit) -> None:
        """A machine has left: another of its kind begins anew, once, and in a run of its own.

        What the first has measured stays. Only if that is nothing does the other take its run over.
        """
        visit.stream, visit.left, left, visit.steps = None, True, visit.steps, []
        one = next((one for one in self.spare if one.machine == visit.found.machine and not visit.again), None)
        run = store.load_or_none(self.job.results).run(visit.job.run_id)
        takes_over = one is not None and not (run and run.samples)
        instead = "; another of its kind is measured instead" if one else ""
        self.watcher.say(f"{visit.job.run_id}: its machine left the cluster{instead}")
        if takes_over:
            self.visits.remove(visit)
        else:
            visit.last = News()
            for step in left:
                runner.fail_rest(step, "machine_left", "")
                self._tell(visit, step)
        if one:
            self.spare.remove(one)
            self._visit(one, visit.job.run_id if takes_over else "", again=True)

    def _cancel(self) -> None:
        """End what goes on, and record that it was interrupted; what was sent before is taken."""
        going = {visit.stream: visit for visit in self.visits if visit.stream}
        for stream in going:
            self.cluster.cancel(stream)
        end = time.monotonic() + CANCEL_S
        while (streams := [stream for stream, visit in going.items() if visit.stream]) and time.monotonic() < end:
            for stream in self.cluster.ready(streams, TICK_S):
                self._take_last(going[stream], stream)
        for visit in going.values():
            runner.fail_rest(visit.steps[0], "interrupted", "")

    def _take_last(self, visit: Visit, stream: Stream) -> None:
        try:
            text = self.cluster.take(stream)
        except (Left, Failed):
            text = None
        if text is None:
            visit.stream = None
        else:
            self._receive(visit, msgspec.json.decode(text, type=News))


def _order(job: Job, options: dict[str, str], runs: str) -> bytes:
    run = job.run_id
    order = Order(job.package, job.names, job.quick, options, runs, run, job.machine if run else None, job.spent_s)
    return msgspec.json.encode(order)


def _merge(data: Results, piece: Results, run: str) -> None:
    merge(data, piece, SENDER, run)


def _count(number: int) -> str:
    return "1 machine" if number == 1 else f"{number} machines"


@contextmanager
def _told_by_ctrl_c(event: threading.Event) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, lambda number, frame: event.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
