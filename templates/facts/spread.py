"""Facts about one model spread over several cards: what it reaches beside one card, and what the cards' link takes."""

from __future__ import annotations

from measure import models
from templates.facts.constants import TWO
from templates.facts.group import Group, fact
from templates.facts.language_model import LanguageModel
from templates.facts.link import Link
from templates.quantity import Constant, Kind, Quantity, constant, missing


class Spread(Group):
    """One model on one card and on several of the same host."""

    heading = "spread"

    def __init__(self, one: LanguageModel, several: LanguageModel, connected: Link) -> None:
        super().__init__(f"{several.path}.beside-one", model=several.subject, cards=several.cards)
        self.one, self.several, self.link = one, several, connected
        self.by_least = False
        """Whether the exchange is the least over the traces, in which it waited least, and not the median."""

    @property
    def one_told(self) -> bool:
        """Whether the run tells anything of the model on one card."""
        return self.one.rate.measured or self.one.ceiling.measured

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

    @fact("times")
    def matmul_gain(self) -> Quantity:
        """Of the kernels that multiply with weights, whose work the cards share out."""
        return self.one.step.matmul / self.several.step.matmul

    @fact("times")
    def rest_gain(self) -> Quantity:
        """Of all other kernels but those that exchange something."""
        one, several = self.one.step, self.several.step
        return (one.attention + one.other) / (several.attention + several.other)

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
        return self.sums * self.link.small_sum_over(self.several.cards)

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
