"""Facts about speech synthesis of any kind."""

from __future__ import annotations

from msgspec.structs import replace

from measure import models
from measure.keys import key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Quantity


class Synthesis(Group):
    """What every synthesis measurement tells: real-time factor, memory, parameters."""

    measurement = ""
    subject = ""

    def __init__(self, samples: Samples) -> None:
        super().__init__(f"{samples.run_id}.{self.measurement.removeprefix('tts_')}")
        self.samples = samples

    def get(self, quantity: str, spelled: str) -> Quantity:
        return self.samples.get(key(self.measurement, quantity, self.subject), spelled)

    @property
    def precision(self) -> str:
        """The number format that it was measured in, by its subject or its configuration; empty where neither tells."""
        last = self.subject.rpartition("-")[2]
        if last in models.BYTES_PER_WEIGHT:
            return last
        return self.samples.told(key(self.measurement, "real_time_factor", self.subject), "dtype")

    @fact("1")
    def real_time_factor(self) -> Quantity:
        return self.get("real_time_factor", "1")

    def end(self, quantity: str, spelled: str, end: str) -> Quantity:
        """One end of a range, where only a range was published; else the end of the spread of the figure itself."""
        whole = self.get(quantity, spelled)
        if not whole.measured:
            return self.samples.get(key(self.measurement, quantity, self.subject, end=end), spelled)
        figure = whole.low if end == "low" else whole.high
        return replace(whole, value=figure, low=figure, high=figure)

    @fact("1")
    def factor_low(self) -> Quantity:
        return self.end("real_time_factor", "1", "low")

    @fact("1")
    def factor_high(self) -> Quantity:
        return self.end("real_time_factor", "1", "high")

    @fact("MiB")
    def memory_low(self) -> Quantity:
        return self.end("memory", "MiB", "low")

    @fact("MiB")
    def memory_high(self) -> Quantity:
        return self.end("memory", "MiB", "high")

    @fact("param", significant=3)
    def parameters(self) -> Quantity:
        return self.get("parameters", "param")
