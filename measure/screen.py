"""What the command line shows: a progress bar with the time left, and tables of what was measured and what not.

Texts that come from files are printed as they are: a machine's name is never markup, nor an escape code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from measure.keys import Key
from measure.results import REASONS, AnySample, Report, Run
from measure.runner import Outcome, Step
from measure.session import maker

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


class Bar:
    """A `Watcher` that shows the course of a job."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[left]}"))
        self.progress = Progress(*columns, console=err, transient=True)
        self.task = self.progress.add_task("", total=1.0, left="")
        self.later: dict[str, float] = {}
        self.passed = 0.0

    def begin(self, steps: Sequence[Step]) -> None:
        """Learn what is to come; `later` holds the estimates of what has not begun."""
        self.later = {step.measurement.name: _estimate(step) for step in steps}
        self.progress.update(self.task, total=max(sum(self.later.values()), 1.0))
        if err.is_terminal:
            self.progress.start()

    def tick(self, step: Step, done: int, elapsed_s: float) -> None:
        """Show how far it is, and for how long it will go on."""
        self.later.pop(step.measurement.name, None)
        share = share_done(step, done, elapsed_s)
        left_s = step.seconds * (1 - share) + sum(self.later.values())
        name = f"{step.measurement.name} {done}/{len(step.wanted)}"
        completed = self.passed + step.seconds * share
        self.progress.update(self.task, description=name, completed=completed, left=f"{duration(left_s)} left")

    def end(self, outcome: Outcome) -> None:
        """Leave a line behind, and the end of a failed measurement's output."""
        self.later.pop(outcome.name, None)
        self.passed = float(self.progress.tasks[0].total or 0) - sum(self.later.values())
        self.progress.update(self.task, completed=self.passed)
        err.print(Text(told(outcome)))
        if outcome.output.strip():
            err.print(Text(plain("\n".join(outcome.output.strip().splitlines()[-15:]), "\n"), style="dim"))

    def close(self) -> None:
        """Take the bar off the screen."""
        if self.progress.live.is_started:
            self.progress.stop()


def _estimate(step: Step) -> float:
    return step.seconds if step.wanted and not step.measurement.missing else 0.0


def share_done(step: Step, done: int, elapsed_s: float) -> float:
    """How much of a step is behind: by its settled keys or by its clock, whichever is more; never all of it."""
    return min(max(done / max(len(step.wanted), 1), elapsed_s / step.seconds), 0.99)


def duration(seconds: float) -> str:
    """`42 s`, `3 min 10 s`, `1 h 5 min`."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def told(outcome: Outcome) -> str:
    """One line on what became of a measurement."""
    took = f" in {duration(outcome.seconds)}" if outcome.seconds else ""
    parts = [f"{len(outcome.measured)} measured{took}"] if outcome.measured else []
    parts += [f"{len(outcome.kept)} there from before"] if outcome.kept else []
    parts += [f"{len(outcome.failed)} not measured" if outcome.measured or outcome.kept else why(outcome)]
    return f"{outcome.name}: {', '.join(parts if outcome.failed else parts[:-1]) or 'nothing to measure here'}"


def why(outcome: Outcome) -> str:
    """The reasons why a measurement gave nothing, each once."""
    reasons = (failure_text(failure.reason, failure.detail) for failure in outcome.failed.values())
    return "not measured: " + "; ".join(dict.fromkeys(reasons))


def failure_text(reason: str, detail: str) -> str:
    """A failure's reason in words, with its detail."""
    words = REASONS.get(reason, reason)
    return f"{words} ({plain(detail)})" if detail else words


def show_run(run: Run, new: Iterable[Key]) -> None:
    """Print all that a run has, what was measured just now marked, and what it lacks and why."""
    fresh = {str(key) for key in new}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("measured", overflow="fold")
    for head in ("median", "range", "repeats"):
        table.add_column(head, justify="right")
    for text, sample in run.samples.items():
        table.add_row("new" if text in fresh else "", text, value(sample), spread(sample), str(sample.count or ""))
    out.print(f"run {run.id}: {plain(run.machine.name)} ({run.machine.device})")
    out.print(table)
    for line in _lacking(run):
        out.print(line)


def _lacking(run: Run) -> Iterator[str]:
    """What a run lacks and why; keys of one measurement that lack for the same reason are counted."""
    alike: dict[tuple[str, str], list[str]] = {}
    for text, failure in run.failures.items():
        alike.setdefault((maker(text), failure_text(failure.reason, failure.detail)), []).append(text)
    for (name, reason), texts in alike.items():
        what = texts[0] if len(texts) == 1 else f"{name} ({len(texts)} keys)"
        yield f"not measured: {what}: {reason}"


def value(sample: AnySample) -> str:
    """A sample's median and unit."""
    return f"{sample.median:.4g} {sample.unit}" if abs(sample.median) < 1e4 else f"{sample.median:,.0f} {sample.unit}"


def spread(sample: AnySample) -> str:
    """Lowest and highest value, if there are several."""
    values = [] if isinstance(sample, Report) else sample.values
    low, high = (min(values), max(values)) if values else sample.interval
    return f"{low:.4g} to {high:.4g}" if high > low else ""


def plain(text: str, allowed: str = "") -> str:
    """Without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() or char in allowed else " " for char in text)
