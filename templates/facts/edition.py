"""An edition: the groups of facts that one article page is told from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from measure.keys import parse_key
from measure.limits import STATUSES, Verdict
from measure.results import Results, Run
from templates import config
from templates.config import Told
from templates.facts.cards import Cards
from templates.facts.group import Group, fact
from templates.facts.language_model import Batch, LanguageModel, Narrowed
from templates.facts.machine import MachineFacts
from templates.facts.magpie import Magpie
from templates.facts.recognition import Recognition
from templates.facts.samples import Samples
from templates.facts.speakers import SynthesisPair
from templates.facts.table import Evidence, Thresholds
from templates.facts.turn import Turn
from templates.facts.verdicts import Verdicts
from templates.facts.voxcpm import VoxCPM
from templates.quantity import Quantity, Sampled, best, least
from templates.truth import Outcome, at_least, below

DEFAULT_MODEL = ("decode_transformers", "qwen3-0.6b-bf16")
"""The model that stands, unmeasured, where a run holds none."""


class Overall(Group):
    """Ranges over all models of an edition; members that are unmeasured are left out and named in the receipt."""

    heading = "overall"

    def __init__(
        self, edition: str, models: list[LanguageModel], pairs: list[Narrowed], thresholds: Thresholds
    ) -> None:
        super().__init__(f"{edition}.models")
        self.models, self.pairs, self.thresholds = models, pairs, thresholds

    def _least(self, name: str, spelled: str) -> Quantity:
        return least([getattr(model, name) for model in self.models], spelled, f"{self.path}.{name}")

    def _best(self, name: str, spelled: str) -> Quantity:
        return best([getattr(model, name) for model in self.models], spelled, f"{self.path}.{name}")

    @fact("%", decimals=0)
    def share_low(self) -> Quantity:
        return self._least("share", "%")

    @fact("%", decimals=0)
    def share_high(self) -> Quantity:
        return self._best("share", "%")

    @fact("GB/s")
    def traffic_low(self) -> Quantity:
        return self._least("traffic", "GB/s")

    @fact("GB/s")
    def traffic_high(self) -> Quantity:
        return self._best("traffic", "GB/s")

    @fact("times", significant=3)
    def traffic_ratio(self) -> Quantity:
        return self.traffic_high / self.traffic_low

    @fact("ms", decimals=1)
    def extra_time_low(self) -> Quantity:
        return self._least("extra_time", "ms")

    @fact("ms", decimals=1)
    def extra_time_high(self) -> Quantity:
        return self._best("extra_time", "ms")

    @fact("%", decimals=0)
    def short_prompt_loss_low(self) -> Quantity:
        return self._least("short_prompt_loss", "%")

    @fact("%", decimals=0)
    def short_prompt_loss_high(self) -> Quantity:
        return self._best("short_prompt_loss", "%")

    @fact("times")
    def prefill_over_decode_low(self) -> Quantity:
        return self._least("prefill_over_decode", "1")

    @fact("times")
    def prefill_over_decode_high(self) -> Quantity:
        return self._best("prefill_over_decode", "1")

    @fact("%", decimals=0)
    def prefill_compute_share_low(self) -> Quantity:
        return self._least("prefill_compute_share", "%")

    @fact("%", decimals=0)
    def prefill_compute_share_high(self) -> Quantity:
        return self._best("prefill_compute_share", "%")

    @fact("req", decimals=0)
    def requests(self) -> Quantity:
        """The most requests at once that any model was timed with."""
        return best([model.widest.at_once for model in self.models], "req", f"{self.path}.requests")

    @property
    def batched(self) -> list[LanguageModel]:
        """Models that were timed with more than one request."""
        return [model for model in self.models if model.widest.requests > 1]

    @fact("times")
    def gain_low(self) -> Quantity:
        return least([model.widest.gain for model in self.batched], "1", f"{self.path}.gain")

    @fact("times")
    def gain_high(self) -> Quantity:
        return best([model.widest.gain for model in self.batched], "1", f"{self.path}.gain")

    @fact("%", decimals=0)
    def efficiency_low(self) -> Quantity:
        return least([model.widest.efficiency for model in self.batched], "%", f"{self.path}.efficiency")

    @fact("%", decimals=0)
    def efficiency_high(self) -> Quantity:
        return best([model.widest.efficiency for model in self.batched], "%", f"{self.path}.efficiency")

    @fact("%", decimals=0)
    def compute_share_high(self) -> Quantity:
        return best([model.widest.compute_share for model in self.batched], "%", f"{self.path}.compute_share")

    @fact("%", decimals=0)
    def kv_over_weights_high(self) -> Quantity:
        return best([model.widest.kv_over_weights for model in self.batched], "%", f"{self.path}.kv_over_weights")

    @property
    def timed(self) -> list[Batch]:
        """All numbers of requests at once that were timed with some model."""
        return [batch for model in self.models for batch in model.timed_batches]

    @property
    def peak(self) -> Batch | None:
        """The one with which reading takes up most of the bandwidth."""
        told = [batch for batch in self.timed if batch.share.measured]
        return max(told, key=lambda batch: batch.share.value or 0.0, default=None)

    @fact("%", decimals=0)
    def peak_share(self) -> Quantity:
        return best([batch.share for batch in self.timed], "%", f"{self.path}.share")

    @fact("GB")
    def near_weights(self) -> Quantity:
        """The smallest weights with which decoding for one request comes near the bandwidth."""
        near = [m for m in self.models if at_least(m.batch(1).share, self.thresholds.near).outcome is Outcome.HOLDS]
        return least([model.weights for model in near], "GB", f"{self.path}.near")

    @property
    def switched(self) -> list[LanguageModel]:
        """Models that decoded with CUDA graphs and without."""
        return [model for model in self.models if model.graphs.measured]

    @property
    def gaping(self) -> list[LanguageModel]:
        """Those in whose step without graphs no kernel runs most of the time."""
        most = self.thresholds.most
        return [m for m in self.switched if below(m.graphs.without_kernel_share, most).outcome is Outcome.HOLDS]

    @property
    def served(self) -> list[Batch]:
        """Requests at once whose first token was timed through a server."""
        return [batch for model in self.models for batch in model.batches if batch.served_first_token.measured]

    @fact("times")
    def graphs_gain_low(self) -> Quantity:
        return least([model.graphs.gain for model in self.switched], "1", f"{self.path}.graphs.gain")

    @fact("times")
    def graphs_gain_high(self) -> Quantity:
        return best([model.graphs.gain for model in self.switched], "1", f"{self.path}.graphs.gain")

    @fact("%", decimals=0)
    def closed_low(self) -> Quantity:
        return least([model.graphs.closed for model in self.gaping], "%", f"{self.path}.graphs.closed")

    @fact("%", decimals=0)
    def closed_high(self) -> Quantity:
        return best([model.graphs.closed for model in self.gaping], "%", f"{self.path}.graphs.closed")

    @fact("ms")
    def served_extra_low(self) -> Quantity:
        return least([batch.served_extra for batch in self.served], "ms", f"{self.path}.served_extra")

    @fact("ms")
    def served_extra_high(self) -> Quantity:
        return best([batch.served_extra for batch in self.served], "ms", f"{self.path}.served_extra")

    @fact("%", decimals=1)
    def peer_low(self) -> Quantity:
        return least(self.peer_ratios, "%", f"{self.path}.peer")

    @fact("%", decimals=1)
    def peer_high(self) -> Quantity:
        return best(self.peer_ratios, "%", f"{self.path}.peer")

    @property
    def peer_ratios(self) -> list[Quantity]:
        """Rates over what the engines' own tools and clocks say, those that were measured."""
        return [ratio for model in self.models for ratio in model.peer.ratios]

    @fact("req", decimals=0)
    def crossover_low(self) -> Quantity:
        return self._least("crossover", "req")

    @fact("req", decimals=0)
    def crossover_high(self) -> Quantity:
        return self._best("crossover", "req")


class Edition:
    """Everything that one article page says is asked of this object."""

    def __init__(self, edition: str, told: Told, results: Results, verdicts: Verdicts | None = None) -> None:
        self.id, self.told, self.results = edition, told, results
        self.verdicts = verdicts or Verdicts()
        self._samples: dict[str, Samples] = {}
        self._machines: dict[str, MachineFacts] = {}
        if told.focus:
            self.samples(told.focus.run)
        self.direct = self.machine(told.models)
        self.models = [self._model(self.direct, *subject) for subject in self.direct.samples.subjects("rate")]
        self.focus = self._focus(told)
        self.batch_sizes = sorted({batch.requests for model in self.models for batch in model.timed_batches})
        self.prefilled = [model for model in self.models if model.prompts]
        """Models whose prompts were timed."""
        self.prompt_lengths = sorted({prompt.tokens for model in self.prefilled for prompt in model.prompts})
        self._fill()
        for model in self.models:
            model.among_engines = len({other.engine for other in self.models}) > 1
        self.pairs = list(_pairs(self.models))
        self.thresholds = Thresholds("threshold")
        self.cards = Cards(edition, self.machine(told.cards or told.models), self.models)
        self.overall = Overall(edition, self.models, self.pairs, self.thresholds)
        self.evidence = Evidence("evidence")
        self.speaker = self.machine(told.voxcpm)
        """The machine that VoxCPM2 was measured on."""
        self.voxcpm = VoxCPM(self.samples(told.voxcpm), self.evidence, self.speaker)
        self.magpie = Magpie(self.samples(told.magpie))
        self.synthesis = SynthesisPair(f"{edition}.synthesis", self.voxcpm, self.magpie)
        self.recognition = Recognition(self.samples(told.recognition), self.evidence, self.machine(told.recognition))
        self.turn = Turn(f"{edition}.turn", self.recognition, self.focus, self.voxcpm)

    def samples(self, run_id: str) -> Samples:
        if run_id not in self._samples:
            self._samples[run_id] = Samples(run_id, self.results.run(run_id), self.verdicts)
        return self._samples[run_id]

    def machine(self, run_id: str) -> MachineFacts:
        """The ceilings of the machine of a run."""
        if run_id not in self._machines:
            self._machines[run_id] = MachineFacts(self.samples(run_id))
        return self._machines[run_id]

    def _fill(self) -> None:
        """Give every model the rows that the tables have, so that a gap has a receipt of its own."""
        for model in self.models:
            for requests in self.batch_sizes:
                model.batch(requests)
        for model in self.prefilled:
            for tokens in self.prompt_lengths:
                model.prompt(tokens)

    def verdict(self, sampled: Sampled) -> Verdict | None:
        """The verdict on a sample of the edition's runs; None where there is no such sample."""
        return self.samples(sampled.run).verdicts.get(sampled.key)

    def faulty(self) -> Iterator[tuple[Sampled, Verdict]]:
        """The samples of the edition's runs that were found fault with, worst first."""
        judged = [
            (Sampled(run_id, text), verdict)
            for run_id, s in self._samples.items()
            for text, verdict in s.verdicts.items()
        ]
        yield from sorted((each for each in judged if each[1].faults), key=lambda each: STATUSES.index(each[1].status))

    @property
    def runs(self) -> list[Run]:
        """The runs that are there, in the order they are told."""
        return [samples.run for samples in self._samples.values() if samples.run]

    @property
    def days(self) -> list[str]:
        """Days on which the runs were started, each once, ISO 8601."""
        return sorted({run.started[:10] for run in self.runs})

    @property
    def versions(self) -> list[str]:
        """Software that the samples were made with, each once."""
        return list(dict.fromkeys(version for run in self.runs for version in self.versions_of(run)))

    def versions_of(self, run: Run) -> list[str]:
        """Software that one run's samples were made with."""
        return self.samples(run.id).versions

    @property
    def random_weights(self) -> bool:
        """Whether every model of the direct check was executed with random weights."""
        samples = (sample for model in self.models for sample in model.executed)
        return {sample.config.get("weights") for sample in samples} == {"random"}

    @property
    def engines(self) -> list[str]:
        """Engines that decoded something in this edition."""
        return list(dict.fromkeys(model.engine for model in [self.focus, *self.models] if model.rate.measured))

    @property
    def busiest(self) -> LanguageModel | None:
        """The model whose most requests use the largest share of the arithmetic, the output head counted."""
        told = [model for model in self.models if model.widest.compute_share_with_head.measured]
        return max(told, key=lambda model: model.widest.compute_share_with_head.value or 0.0, default=None)

    @property
    def by_engine(self) -> list[list[LanguageModel]]:
        """Models of the direct check that decoded on more than one engine, one list each."""
        timed = [model for model in self.models if model.rate.measured]
        found = [[model for model in timed if model.subject == subject] for subject in _distinct(timed)]
        return [group for group in found if len(group) > 1]

    @property
    def groups(self) -> list[Group]:
        machines = list(dict.fromkeys([self.focus.machine, self.direct, *self._machines.values()]))
        models = list(dict.fromkeys([self.focus, *self.models]))
        spread = [group for group in self.cards.groups if group not in models]
        speech: list[Group] = [self.voxcpm, self.magpie, self.synthesis, self.recognition, self.turn]
        return [*machines, *models, *spread, *self.pairs, self.overall, *speech, self.thresholds, self.evidence]

    def all_groups(self) -> Iterator[Group]:
        """Every group, parts after the group they belong to."""
        for group in self.groups:
            yield from group.walk()

    @cached_property
    def facts(self) -> dict[str, Quantity]:
        listed = [quantity for group in self.groups for quantity in group.facts()]
        found = {quantity.name: quantity for quantity in listed}
        assert len(found) == len(listed), "two facts share a name, and so the address of their receipt"
        return found

    def unused_samples(self) -> Iterator[tuple[str, str]]:
        """Samples of the edition's runs that no fact asks for, as run and key."""
        # Facts ask for samples when they are made. Most bear the name of what they ask for, so these are made first.
        quantities = {parse_key(text).quantity for samples in self._samples.values() for text in samples.unused}
        for named in (True, False):
            for group in self._asking():
                for name in group.fact_names:
                    if (name in quantities) is named:
                        getattr(group, name)
        for run_id, samples in self._samples.items():
            yield from ((run_id, text) for text in samples.unused)

    def _asking(self) -> Iterator[Group]:
        """Groups whose facts may ask for a sample that none has asked for yet: those of a run ask for its own alone."""
        # Parts are many: those that they belong to are asked before any of them.
        listed = (*self.groups, *self.all_groups())
        groups = [(group, self._samples.get(group.path.partition(".")[0])) for group in listed]
        for group, samples in sorted(groups, key=lambda each: each[1] is None):
            if samples.unused if samples else any(each.unused for each in self._samples.values()):
                yield group

    def _model(self, machine: MachineFacts, measurement: str, subject: str) -> LanguageModel:
        return LanguageModel(machine.samples, machine, measurement, subject)

    def _focus(self, told: Told) -> LanguageModel:
        """The worked example: the one that editions.toml names, else the model with the most bytes to read."""
        if told.focus:
            return self._model(self.machine(told.focus.run), *told.focus.model.split("/"))
        if self.models:
            return max(self.models, key=lambda model: model.weights.value or 0.0)
        return self._model(self.direct, *DEFAULT_MODEL)


def _distinct(models: list[LanguageModel]) -> list[str]:
    return list(dict.fromkeys(model.subject for model in models))


def editions(results: Results) -> list[Edition]:
    """All editions of editions.toml; an optional one only where its run exists."""
    told = config.editions().items()
    kept = [(name, entry) for name, entry in told if not entry.optional or results.run(entry.models)]
    verdicts = Verdicts()
    return [Edition(name, entry, results, verdicts) for name, entry in kept]


def _pairs(models: list[LanguageModel]) -> Iterator[Narrowed]:
    """The same model on the same engine in a wider and in a narrower format."""
    for wide in models:
        for narrow in models:
            same = (wide.model, wide.measurement) == (narrow.model, narrow.measurement)
            sizes = [model.bytes_per_parameter.value for model in (wide, narrow)]
            if same and sizes[0] and sizes[1] and sizes[0] > sizes[1]:
                yield Narrowed(wide, narrow)
