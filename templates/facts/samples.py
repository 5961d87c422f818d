"""The samples of one run as quantities: what is missing, failed or rejected comes out unmeasured, with the reason."""

from __future__ import annotations

import math
from functools import cached_property

from msgspec.structs import replace

from measure.keys import Key, card_of, cards_of, parse_key
from measure.recognition.capacity import percentile
from measure.results import AnySample, Import, ResultsError, Run, Sample
from templates.facts.verdicts import Verdicts
from templates.quantity import Constant, Kind, Quantity, Sampled, constant, missing
from templates.units import DimensionalityError, unit

_KINDS = {"executed": Kind.MEASURED, "imported": Kind.IMPORTED, "reported": Kind.REPORTED}
_ABSENT = {"executed": "not_run", "imported": "not_imported", "reported": "not_published"}


class Samples:
    """One run seen by facts. `run` is None where results.json has no run of that id."""

    def __init__(self, run_id: str, run: Run | None, verdicts: Verdicts) -> None:
        self.run_id = run_id
        self.run = run
        self._unused = dict.fromkeys(run.samples if run else ())
        self.parsed = [parse_key(text) for text in (run.samples if run else ())]
        self.verdicts = verdicts.on(run) if run else {}

    @property
    def unused(self) -> list[str]:
        """Keys of the samples that no fact has asked for."""
        return list(self._unused)

    @cached_property
    def versions(self) -> list[str]:
        """Software that the samples were made with, each once."""
        told = (item for sample in (self.run.samples.values() if self.run else ()) for item in sample.versions.items())
        return [f"{name} {version}" for name, version in dict.fromkeys(told)]

    def get(self, wanted: Key, spelled: str, *, rejected: bool = False) -> Quantity:
        """The sample as a quantity. A rejected one is given only to facts about its rejection, which ask for it so."""
        text = str(wanted)
        sample = self._sample(text)
        if sample is None:
            return missing(spelled, Sampled(self.run_id, text), self._reason(wanted), text)
        if self._rejected(text) is not rejected:
            return missing(spelled, Sampled(self.run_id, text), "rejected" if not rejected else "not_rejected", text)
        try:
            return self._quantity(text, sample, self._doubts(text)).to(spelled)
        except DimensionalityError:
            what = f"run {self.run_id!r}: {text}: unit {sample.unit!r} does not fit, {spelled} is asked for"
            raise ResultsError(f"{what}. Correct the unit.") from None

    def noted(self, wanted: Key, name: str, spelled: str) -> Quantity:
        """A number that was measured along with a sample and stands in its configuration: no better than the sample."""
        text, found = str(wanted), self.configured(wanted, name, spelled)
        if self._rejected(text):
            return missing(spelled, Sampled(self.run_id, text), "rejected", text)
        return replace(found, doubts=self._doubts(text)) if found.measured else found

    def configured(self, wanted: Key, name: str, spelled: str) -> Quantity:
        """A setting in a sample's configuration, such as the tokens it asked for; it holds whatever the verdict."""
        text = str(wanted)
        sample, origin = self._sample(text), Sampled(self.run_id, text)
        if sample is None:
            return missing(spelled, origin, self._reason(wanted), text)
        value = sample.config.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            return missing(spelled, origin, "not_recorded", f"{text} {name}")
        return constant(float(value), spelled, name, f"{self.run_id}: {text}", self._kind(sample))

    def told(self, wanted: Key, name: str) -> str:
        """A word of a sample's configuration, such as its number format; empty where there is none."""
        sample = self._sample(str(wanted))
        return str(sample.config.get(name, "")) if sample else ""

    def repeats(self, wanted: Key) -> Quantity:
        """How many repetitions a sample has; unmeasured where its source does not tell."""
        text = str(wanted)
        sample = self._sample(text)
        if sample is None or not sample.count:
            reason = self._reason(wanted) if sample is None else "not_recorded"
            return missing("1", Sampled(self.run_id, text), reason, text)
        return constant(float(sample.count), "1", "repeats", f"{self.run_id}: {text}", self._kind(sample))

    def percentile(self, wanted: Key, which: int, spelled: str) -> Quantity:
        """The smallest of a sample's repeats that at least `which` percent of them do not exceed."""
        usual, text = self.get(wanted, spelled), str(wanted)
        sample = self._sample(text)
        if not usual.measured or not isinstance(sample, Sample):
            reason = "not_recorded" if usual.measured else usual.absences[0].reason
            return missing(spelled, Sampled(self.run_id, text), reason, text)
        found = percentile(sample.values, which)
        made = constant(found, sample.unit, f"percentile_{which}", f"{self.run_id}: {text}", self._kind(sample))
        return replace(made, doubts=usual.doubts).to(spelled)

    def weights(self, measurement: str) -> set[str]:
        """What the configurations of a measurement's samples say of the weights."""
        samples = [self.run.samples[str(k)] for k in self.parsed if k.measurement == measurement] if self.run else []
        return {str(sample.config["weights"]) for sample in samples if "weights" in sample.config}

    def subjects(self, quantity: str, cards: int = 1) -> list[tuple[str, str]]:
        """Pairs of measurement and subject for which the run holds `quantity` on so many cards, in the run's order."""
        return list(
            dict.fromkeys(
                (k.measurement, k.subject)
                for k in self.parsed
                if k.quantity == quantity and k.subject and k.measurement.startswith("decode_") and cards_of(k) == cards
            )
        )

    @cached_property
    def spreads(self) -> list[int]:
        """Numbers of cards above one over which models decoded, fewest first."""
        found = {cards_of(k) for k in self.parsed if k.quantity == "rate"} - {1}
        return [number for number in sorted(found) if self.subjects("rate", number)]

    @cached_property
    def cards(self) -> int:
        """How many cards of the host the run tells of."""
        found = {number for k in self.parsed for number in (cards_of(k), card_of(k) + 1)}
        return max(found, default=1)

    def numbers(
        self, measurement: str, subject: str, quantities: tuple[str, ...], parameter: str, cards: int = 1
    ) -> list[int]:
        """The values that `parameter` takes in the keys of these quantities on so many cards, ascending."""
        found = set()
        for parsed in self.parsed:
            of = parsed.subject == subject and parsed.measurement == measurement and cards_of(parsed) == cards
            if of and parsed.quantity in quantities:
                found |= {int(value) for name, value in parsed.parameters if name == parameter and value.isdigit()}
        return sorted(found)

    def has(self, wanted: Key) -> bool:
        """Whether the run holds a sample of this key, sound or not."""
        return self.run is not None and str(wanted) in self.run.samples

    def tried(self, measurement: str, subject: str, quantity: str) -> list[Key]:
        """All keys of one quantity of a subject that the run has a sample of, or the reason why it has none."""
        texts = [*self.run.samples, *self.run.failures] if self.run else []
        parsed = [parse_key(text) for text in texts]
        return [k for k in parsed if (k.measurement, k.subject, k.quantity) == (measurement, subject, quantity)]

    def keys(self, measurement: str, quantity: str) -> list[Key]:
        """All keys of one quantity of a measurement."""
        return [k for k in self.parsed if (k.measurement, k.quantity) == (measurement, quantity)]

    def machine_memory(self) -> Quantity:
        """Memory of the device that measured, as the run tells it."""
        machine = self.run.machine if self.run else None
        size = (machine.accelerator_memory_bytes or machine.memory_bytes) if machine else 0
        if not size:
            return missing("GB", Constant("memory"), "not_recorded" if machine else "no_run", self.run_id)
        return constant(size / 1e9, "GB", "memory", self.run_id, self._kind())

    def _sample(self, text: str) -> AnySample | None:
        self._unused.pop(text, None)
        return self.run.samples.get(text) if self.run else None

    def _rejected(self, text: str) -> bool:
        verdict = self.verdicts.get(text)
        return verdict is not None and verdict.status == "rejected"

    def _doubts(self, text: str) -> tuple[str, ...]:
        """The rules that hold a sample suspect."""
        verdict = self.verdicts.get(text)
        return tuple(fault.rule for fault in verdict.faults) if verdict and verdict.status == "suspect" else ()

    def _quantity(self, text: str, sample: AnySample, doubts: tuple[str, ...]) -> Quantity:
        low, high = sample.interval
        origin = Sampled(self.run_id, text)
        return Quantity(
            sample.median, unit(sample.unit), self._kind(sample), origin, low, high, doubts=doubts, shown_in=sample.unit
        )

    def _reason(self, wanted: Key) -> str:
        if self.run is None:
            return "no_run"
        if wanted.measurement == "datasheet":
            return "no_datasheet"
        failure = self.run.failure(wanted)
        return failure.reason if failure else _ABSENT[self.run.kind]

    def _kind(self, sample: AnySample | None = None) -> Kind:
        """How a sample came to be; without one, what the run tells of itself."""
        if isinstance(sample, Import):
            return Kind.IMPORTED
        return _KINDS[self.run.kind if self.run else "executed"]
