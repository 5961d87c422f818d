"""Made-up results files of many runs, to time what grows with them: never measured, never committed.

Machines and values are drawn with a seed from the executed runs of a real file, and the machines' names say so.
`python tests/many.py COUNT FILE` writes one.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from measure.results import AnySample, Results, Run, Sample, dump  # noqa: E402
from measure.store import load  # noqa: E402

FASTEST, SLOWEST = 2.0, 0.25
"""Machines are drawn between so many times as fast as the one that they are made from."""

NOISE = 0.03
"""By how much a sample differs from what its machine's speed gives, as a standard deviation."""

POWERS = {"GB/s": 1, "TFLOPS": 1, "tok/s": 1, "step/s": 1, "s": -1, "ms": -1}
"""How a figure of each unit goes with the speed of the machine: with it, or against it. Others do not."""

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def grown(results: Results, count: int, like: str = "", seed: int = 1) -> Results:
    """The same file with `count` runs in all: what is missing is made up, like the run `like` or any executed one."""
    source = random.Random(seed)
    patterns = [run for run in results.runs if run.kind == "executed" and like in ("", run.id)]
    made = [_Drawn.of(source, number, patterns).run() for number in range(count - len(results.runs))]
    return Results([*results.runs, *made])


@dataclass(frozen=True)
class _Drawn:
    """A run to make up: what it is like, how fast its machine is, and where its noise comes from."""

    pattern: Run
    number: int
    speed: float
    noise: random.Random

    @classmethod
    def of(cls, source: random.Random, number: int, patterns: list[Run]) -> _Drawn:
        pattern = source.choice(patterns)
        return cls(pattern, number, SLOWEST * (FASTEST / SLOWEST) ** source.random(), random.Random(source.random()))

    def run(self) -> Run:
        """The run, with a machine of its own; of every tenth the machine is the pattern's."""
        pattern, name = self.pattern, f"Made up {self.number} ({self.pattern.machine.name})"
        own = msgspec.structs.replace(pattern.machine, name=name) if self.number % 10 else pattern.machine
        started = (FIRST + timedelta(minutes=self.number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        samples = {text: self._sample(sample) for text, sample in pattern.samples.items()}
        return Run(f"made-up-{self.number}", "executed", own, started, samples, pattern.failures)

    def _sample(self, sample: AnySample) -> AnySample:
        """The same with values of the machine's speed."""
        power = POWERS.get(sample.unit, 0)
        if not isinstance(sample, Sample) or not power:
            return sample
        factor = (self.speed * (1 + self.noise.gauss(0, NOISE) * (sample.unit != "GB/s"))) ** power
        return msgspec.structs.replace(sample, values=[value * factor for value in sample.values])


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(dump(grown(load(ROOT / "results.json"), int(sys.argv[1]))), encoding="utf-8")
