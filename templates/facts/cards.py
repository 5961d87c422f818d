"""Facts about a model spread over several cards: what it reaches beside one card, and what the cards' link takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add

from measure import models
from measure.results import Key, key
from templates.facts.constants import TWO
from templates.facts.group import Group, fact
from templates.facts.language_model import LanguageModel
from templates.facts.machine import MachineFacts
from templates.facts.samples import Samples
from templates.quantity import Constant, Kind, Quantity, best, constant, least, missing


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


class Link(Group):
    """What connects the first card with the second, and what adding up over all of them takes."""

    heading = "link"

    def __init__(self, samples: Samples) -> None:
        super().__init__(f"{samples.run_id}.link")
        self.samples = samples

    def _copy(self, ways: int) -> Quantity:
        return self.samples.get(key("link", "copy", to=1, ways=ways), "GB/s")

    def _sum(self, quantity: str, **told: str) -> Key:
        """The key of an all-reduce, whatever size was measured."""
        listed = self.samples.keys("link", quantity)
        return next(
            (one for one in listed if told.items() <= dict(one.parameters).items()), key("link", quantity, **told)
        )

    def _small(self, graphs: str) -> Key:
        return self._sum("all_reduce_time", graphs=graphs)

    @fact("GB/s")
    def one_way(self) -> Quantity:
        return self._copy(1)

    @fact("GB/s")
    def both_ways(self) -> Quantity:
        """Both directions at once, added up."""
        return self._copy(2)

    @fact("KiB", decimals=0)
    def small(self) -> Quantity:
        """About the activations of one token."""
        size = dict(self._sum("all_reduce_time").parameters).get("bytes", "")
        return (
            constant(int(size), "B", "all_reduced")
            if size
            else missing("B", Constant("all_reduced"), "not_run", "link")
        )

    @fact("ms")
    def small_sum(self) -> Quantity:
        """One small all-reduce among many replayed as one CUDA graph."""
        return self.samples.get(self._small("on"), "ms")

    @fact("ms")
    def launched_sum(self) -> Quantity:
        """The same launched one after another by the host."""
        return self.samples.get(self._small("off"), "ms")

    @property
    def multicast(self) -> str:
        """Whether NVLink's multicast was on; empty where the samples do not tell."""
        return self.samples.told(self._small("on"), "nvlink_multicast")

    @fact("GB/s")
    def bus(self) -> Quantity:
        """Of a large all-reduce, as nccl-tests counts it: 2 (n - 1) / n of its bytes pass each card's link."""
        return self.samples.get(self._sum("all_reduce_bandwidth"), "GB/s")


class Spread(Group):
    """One model on one card and on several of the same host."""

    heading = "spread"

    def __init__(self, one: LanguageModel, several: LanguageModel, connected: Link) -> None:
        super().__init__(f"{several.path}.beside-one", model=several.subject, cards=several.cards)
        self.one, self.several, self.link = one, several, connected
        self.by_least = False
        """Whether the exchange is the least over the traces, in which it waited least, and not the median."""

    @property
    def cards(self) -> Quantity:
        return constant(self.several.cards, "1", "cards")

    @fact("times")
    def ceiling_gain(self) -> Quantity:
        return self.several.ceiling / self.one.ceiling

    @fact("%", decimals=0)
    def ceiling_part(self) -> Quantity:
        """The ceiling's gain over the number of cards."""
        return self.ceiling_gain / self.cards

    @fact("times")
    def gain(self) -> Quantity:
        return self.several.rate / self.one.rate

    @fact("%", decimals=0)
    def gain_part(self) -> Quantity:
        """The gain over the number of cards; the ideal is one."""
        return self.gain / self.cards

    @fact("times")
    def widest_gain(self) -> Quantity:
        """With the most requests at once."""
        return self.several.widest.rate / self.one.batch(self.several.widest.requests).rate

    @fact("1", decimals=0)
    def sums(self) -> Quantity:
        """All-reduces of one step: one after attention and one after the feed-forward part of each layer."""
        known = models.models().get(self.several.model)
        if known is None:
            return missing("1", Constant("layers"), "unknown_model", self.several.subject)
        return TWO * constant(known.layers, "1", "layers", "measure/models.toml", Kind.CITED)

    @fact("ms")
    def sums_time(self) -> Quantity:
        """If each took what a small one takes in NCCL; vLLM has one of its own for cards that are linked directly."""
        return self.sums * self.link.small_sum

    @fact("%", decimals=0)
    def sums_share(self) -> Quantity:
        return self.sums_time / self.several.token_time

    def traced(self, name: str) -> Quantity:
        return self.several.samples.noted(self.several.key("step_kernel_time"), name, "ms")

    @fact("ms")
    def exchange(self) -> Quantity:
        """Kernels of one step that pass something between cards; of the median, waiting for another card included."""
        return self.traced("exchange_least_ms" if self.by_least else "exchange_ms")

    @fact("%", decimals=0)
    def exchange_share(self) -> Quantity:
        """Of all kernels of the steps that were profiled, which are slower than others."""
        return self.exchange / (self.traced("kernels_least_ms") if self.by_least else self.several.step_kernels)


class Cards(Group):
    """All models that an edition's run has on one card and on several; none where it has no such samples."""

    heading = "cards"

    def __init__(self, edition: str, machine: MachineFacts, single: list[LanguageModel]) -> None:
        super().__init__(f"{edition}.cards")
        self.samples, self.machine, self.link = machine.samples, machine, Link(machine.samples)
        self.number = max(self.samples.spreads, default=1)
        self.others = [MachineFacts(self.samples, card) for card in range(1, self.number)]
        self.together = Together([machine, *self.others]) if self.others else None
        self.models = list(self._models(single))
        traced = [each for each in self.models if each.several.step_kernels.measured]
        self.by_least = bool(traced) and all(each.traced("exchange_least_ms").measured for each in traced)
        """Whether the least was recorded of every model whose steps were profiled: a table tells one or the other."""
        for each in self.models:
            each.by_least = self.by_least

    @property
    def paired(self) -> list[Spread]:
        """Those that decoded on one card and on several."""
        return [each for each in self.models if each.gain.measured] or self.models

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

    @fact("%", decimals=0)
    def one_share_low(self) -> Quantity:
        """Of its ceiling, on one card."""
        return least([each.one.share for each in self.paired], "%", f"{self.path}.one_share")

    @fact("%", decimals=0)
    def one_share_high(self) -> Quantity:
        return best([each.one.share for each in self.paired], "%", f"{self.path}.one_share")

    @fact("%", decimals=0)
    def share_low(self) -> Quantity:
        """Of its ceiling, on several."""
        return least([each.several.share for each in self.paired], "%", f"{self.path}.share")

    @fact("%", decimals=0)
    def share_high(self) -> Quantity:
        return best([each.several.share for each in self.paired], "%", f"{self.path}.share")

    def _models(self, single: list[LanguageModel]) -> Iterator[Spread]:
        known = {(model.samples, model.measurement, model.subject): model for model in single}
        for measurement, subject in self.samples.subjects("rate", self.number) if self.together else ():
            one = known.get((self.samples, measurement, subject))
            if one is None:
                one = LanguageModel(self.samples, self.machine, measurement, subject)
                one.heading = "model_on_card"  # the same model may stand among the edition's, from another run
            several = LanguageModel(self.samples, self.together or self.machine, measurement, subject, self.number)
            yield Spread(one, several, self.link)

    @property
    def groups(self) -> list[Group]:
        """Of what was measured; what stands among the models of the edition stands there."""
        if not self.together:
            return []
        models = [model for each in self.models for model in (each.one, each.several)]
        return [*self.others, self.together, self.link, *models, *self.models, self]
