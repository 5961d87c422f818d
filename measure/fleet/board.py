"""What the command line shows of a fleet: a line for each machine at work, and one that stays for each thing done."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from measure.fleet.gathering import Visit
from measure.runner import Outcome
from measure.screen import duration, err, plain, share_done, told


class Board:
    """A `Watcher` that draws on the screen."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[left]}"))
        self.progress = Progress(*columns, console=err, transient=True)
        self.lines: dict[str, TaskID] = {}
        if err.is_terminal:
            self.progress.start()

    def say(self, line: str) -> None:
        """Leave a line behind."""
        err.print(Text(plain(line)))

    def show(self, visits: Sequence[Visit]) -> None:
        """How far each machine is; those that are done need no line."""
        for visit in visits:
            run = visit.job.run_id
            if not visit.steps:
                if run in self.lines:
                    self.progress.remove_task(self.lines.pop(run))
                continue
            if run not in self.lines:
                self.lines[run] = self.progress.add_task(run, total=1.0, left="")
            description, share, left = course(visit)
            self.progress.update(self.lines[run], description=description, completed=share, left=left)

    def end(self, visit: Visit, outcome: Outcome) -> None:
        """Leave a line behind, and the end of a failed measurement's output."""
        self.say(f"{visit.job.run_id}: {told(outcome)}")
        if outcome.output.strip():
            err.print(Text(plain("\n".join(outcome.output.strip().splitlines()[-15:]), "\n"), style="dim"))

    def close(self) -> None:
        """Take the lines off the screen."""
        if self.progress.live.is_started:
            self.progress.stop()


def course(visit: Visit) -> tuple[str, float, str]:
    """What a machine is at, how much of that is behind, and how long all that it has to do will take."""
    step, later = visit.steps[0], visit.steps[1:]
    done = len(visit.settled & {str(key) for key in step.wanted})
    description = f"{visit.job.run_id}: {step.measurement.name} {done}/{len(step.wanted)}"
    if visit.begun is None:
        return description, 0.0, "waits for the machine to be free" if visit.stream else ""
    share = share_done(step, done, time.monotonic() - visit.begun)
    seconds = (one.seconds for one in later if one.wanted and one.measurement.name not in visit.found.missing)
    return description, share, f"{duration(step.seconds * (1 - share) + sum(seconds))} left"
