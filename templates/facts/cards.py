"""Facts about models spread over several cards, for each number of cards that a run decoded on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add

from templates.facts.group import Group, fact
from templates.facts.language_model import LanguageModel
from templates.facts.link import Link
from templates.facts.machine import MachineFacts
from templates.facts.spread import Spread
from templates.quantity import Quantity, best, least


class Together(MachineFacts):
    """The ceilings of several cards of one host: the sums of what each was measured at."""

    heading = "together"

    def __init__(self, each: list[MachineFacts]) -> None:
        self.each = each
        super().__init__(each[0].samples)
        Group.__init__(self, f"{each[0].path}.on{len(each)}", machine=each[0].path, cards=len(each))
        self.heading, self.products = "together", []
        self.fact_names = ("bandwidth",)  # what else a card is measured at, a page tells of each

    def _summed(self, name: str) -> Quantity:
        listed: list[Quantity] = [getattr(card, name) for card in self.each]
        return reduce(add, listed)

    @fact("GB/s")
    def bandwidth(self) -> Quantity:
        """The sum of each card's own best kernel."""
        return self._summed("bandwidth")

    @fact("GB/s")
    def datasheet(self) -> Quantity:
        return self._summed("datasheet")

    def compute_in(self, dtype: str) -> Quantity:
        return reduce(add, [card.compute_in(dtype) for card in self.each])


class Several(Group):
    """All models that a run has on one number of cards."""

    heading = "several"

    def __init__(self, path: str, together: Together, models: list[Spread]) -> None:
        self.number = len(together.each)
        super().__init__(f"{path}.on{self.number}", cards=self.number)
        self.together, self.models = together, models

    @property
    def paired(self) -> list[Spread]:
        return _paired(self.models)

    @fact("times")
    def ceiling_gain_low(self) -> Quantity:
        return least([each.ceiling_gain for each in self.models], "1", f"{self.path}.ceiling_gain")

    @fact("times")
    def ceiling_gain_high(self) -> Quantity:
        return best([each.ceiling_gain for each in self.models], "1", f"{self.path}.ceiling_gain")

    @fact("times")
    def speed_gain_low(self) -> Quantity:
        return least([each.gain for each in self.models], "1", f"{self.path}.gain")

    @fact("times")
    def speed_gain_high(self) -> Quantity:
        return best([each.gain for each in self.models], "1", f"{self.path}.gain")

    @fact("times")
    def matmul_gain_low(self) -> Quantity:
        return least([each.matmul_gain for each in self.models], "1", f"{self.path}.matmul_gain")

    @fact("times")
    def matmul_gain_high(self) -> Quantity:
        return best([each.matmul_gain for each in self.models], "1", f"{self.path}.matmul_gain")

    @fact("times")
    def rest_gain_low(self) -> Quantity:
        return least([each.rest_gain for each in self.models], "1", f"{self.path}.rest_gain")

    @fact("times")
    def rest_gain_high(self) -> Quantity:
        return best([each.rest_gain for each in self.models], "1", f"{self.path}.rest_gain")

    @fact("%", decimals=0)
    def share_low(self) -> Quantity:
        """Of its ceiling."""
        return least([each.several.share for each in self.paired], "%", f"{self.path}.share")

    @fact("%", decimals=0)
    def share_high(self) -> Quantity:
        return best([each.several.share for each in self.paired], "%", f"{self.path}.share")


class Cards(Group):
    """All models that an edition's run has on several cards; none where it has no such samples."""

    heading = "cards"

    def __init__(self, path: str, machine: MachineFacts, single: Iterable[LanguageModel]) -> None:
        super().__init__(f"{path}.cards")
        self.samples, self.machine, self.link = machine.samples, machine, Link(machine.samples)
        self.others = [MachineFacts(self.samples, card) for card in range(1, self.samples.cards)]
        together = [Together([machine, *self.others[: number - 1]]) for number in self.samples.spreads]
        self.by_model = _by_model(self._spread(together, single))
        self.models = [each for spreads in self.by_model for each in spreads]
        self.numbers = [
            Several(self.path, one, [each for each in self.models if each.several.machine is one]) for one in together
        ]
        self.by_least = self._by_least()

    def _spread(self, together: list[Together], single: Iterable[LanguageModel]) -> Iterator[Spread]:
        known = {(model.measurement, model.subject): model for model in single if model.samples is self.samples}
        for cards in together:
            number = len(cards.each)
            for of in self.samples.subjects("rate", number):
                one = known.get(of) or known.setdefault(of, self._one(*of))
                yield Spread(one, LanguageModel(self.samples, cards, *of, number), self.link)

    def _one(self, measurement: str, subject: str) -> LanguageModel:
        """A model on one card that is not among the edition's, as those may be from another run."""
        model = LanguageModel(self.samples, self.machine, measurement, subject)
        model.heading = "model_on_card"
        return model

    def _by_least(self) -> bool:
        """Whether the least exchange was recorded of each model whose steps were profiled: a table has one kind."""
        traced = [each for each in self.models if each.several.step_kernels.measured]
        found = bool(traced) and all(each.traced("exchange_least_ms").measured for each in traced)
        for each in self.models:
            each.by_least = found
        return found

    @property
    def alone(self) -> Several | None:
        """The number of cards where there is one number alone."""
        return self.numbers[0] if len(self.numbers) == 1 else None

    @property
    def beside_one(self) -> bool:
        """Whether the run tells of any of these models on one card."""
        return any(each.one_told for each in self.models)

    @property
    def raised(self) -> list[Several]:
        """Numbers of cards whose ceilings can be held against those of one; all where none can."""
        return [each for each in self.numbers if each.ceiling_gain_low.measured] or self.numbers

    @property
    def timed(self) -> list[Several]:
        """Numbers of cards whose rates can be held against those of one; all where none can."""
        return [each for each in self.numbers if each.speed_gain_low.measured] or self.numbers

    @property
    def profiled(self) -> list[Several]:
        """Numbers of cards for which the kernels of a step can be held against those on one."""
        return [each for each in self.timed if each.matmul_gain_low.measured]

    @property
    def own_sums(self) -> bool:
        """Whether vLLM had, ahead of NCCL, an all-reduce of its own for sums as small as a step's."""
        told = {
            each.several.samples.told(each.several.key("rate", requests=1), "all_reduce_path") for each in self.models
        }
        return bool(told) and all(way.startswith("CustomAllreduce") for way in told)

    @property
    def _alike(self) -> list[LanguageModel]:
        """On one card, the models that decoded on several, too."""
        return list(dict.fromkeys(each.one for each in _paired(self.models)))

    @fact("%", decimals=0)
    def one_share_low(self) -> Quantity:
        """Of its ceiling, on one card."""
        return least([one.share for one in self._alike], "%", f"{self.path}.one_share")

    @fact("%", decimals=0)
    def one_share_high(self) -> Quantity:
        return best([one.share for one in self._alike], "%", f"{self.path}.one_share")

    @property
    def groups(self) -> list[Group]:
        """Of what was measured; what stands among the models of the edition stands there."""
        link = [self.link] if self.link.measured else []
        together = [each.together for each in self.numbers]
        models = dict.fromkeys(model for each in self.models for model in (each.one, each.several))
        whole = [*self.numbers, self] if self.numbers else []
        return [*self.others, *together, *link, *models, *self.models, *whole]


def _by_model(spreads: Iterable[Spread]) -> list[list[Spread]]:
    """Those of each model, fewest cards first."""
    found: dict[LanguageModel, list[Spread]] = {}
    for each in spreads:
        found.setdefault(each.one, []).append(each)
    return list(found.values())


def _paired(models: list[Spread]) -> list[Spread]:
    """Those that decoded on one card and on several; all where none did."""
    return [each for each in models if each.gain.measured] or models
