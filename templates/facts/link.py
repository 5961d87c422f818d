"""Facts about what links the cards of a host: copies from the first to each other one, and sums over several."""

from __future__ import annotations

from collections.abc import Iterator

from measure.keys import Key, key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Constant, Quantity, constant, missing


class Copies(Group):
    """Copies from the first card to one other."""

    heading = "copies"

    def __init__(self, link: Link, to: int) -> None:
        super().__init__(f"{link.path}.to{to}", to=to)
        self.link, self.to = link, to

    def _copy(self, ways: int) -> Quantity:
        return self.link.samples.get(key("link", "copy", to=self.to, ways=ways), "GB/s")

    @fact("GB/s")
    def one_way(self) -> Quantity:
        return self._copy(1)

    @fact("GB/s")
    def both_ways(self) -> Quantity:
        """Both directions at once, added up."""
        return self._copy(2)


class Link(Group):
    """What connects the first card with the others, and what adding up over all of them takes."""

    heading = "link"

    def __init__(self, samples: Samples) -> None:
        super().__init__(f"{samples.run_id}.link")
        self.samples = samples
        self.copies = [Copies(self, to) for to in samples.numbers("link", "", ("copy",), "to") or [1]]

    def parts(self) -> Iterator[Group]:
        yield from self.copies

    def _sum(self, quantity: str, **told: object) -> Key:
        """The key of an all-reduce, whatever size was measured."""
        wanted = key("link", quantity, "", **told)
        listed = self.samples.keys("link", quantity)
        return next((one for one in listed if _without_size(one) == wanted), wanted)

    def _small(self, graphs: str, **told: object) -> Key:
        return self._sum("all_reduce_time", graphs=graphs, **told)

    @property
    def one_way(self) -> list[Quantity]:
        """To each other card."""
        return [copies.one_way for copies in self.copies]

    @property
    def both_ways(self) -> list[Quantity]:
        return [copies.both_ways for copies in self.copies]

    @fact("KiB", decimals=0)
    def small(self) -> Quantity:
        """About the activations of one token."""
        told = self.samples.numbers("link", "", ("all_reduce_time",), "bytes")
        if not told:
            return missing("B", Constant("all_reduced"), "not_run", "link")
        return constant(told[0], "B", "all_reduced")

    @fact("ms")
    def small_sum(self) -> Quantity:
        """One small all-reduce among many replayed as one CUDA graph."""
        return self.samples.get(self._small("on"), "ms")

    def small_sum_over(self, cards: int) -> Quantity:
        """The same over so many cards, where that was measured."""
        if self.cards in (0, cards):
            return self.small_sum
        return self.samples.get(self._small("on", cards=cards), "ms")

    @fact("ms")
    def launched_sum(self) -> Quantity:
        """The same launched one after another by the host."""
        return self.samples.get(self._small("off"), "ms")

    @property
    def measured(self) -> bool:
        """Whether the run tells anything of it."""
        return any(wanted.measurement == "link" for wanted in self.samples.parsed)

    @property
    def cards(self) -> int:
        """Over how many cards was added up, the most of the host; 0 where the samples do not tell."""
        return int(self.samples.configured(self._small("on"), "cards", "1").value or 0)

    @property
    def multicast(self) -> str:
        """Whether NVLink's multicast was on; empty where the samples do not tell."""
        return self.samples.told(self._small("on"), "nvlink_multicast")

    @fact("GB/s")
    def bus(self) -> Quantity:
        """Of a large all-reduce, as nccl-tests counts it: 2 (n - 1) / n of its bytes pass each card's link."""
        return self.samples.get(self._sum("all_reduce_bandwidth"), "GB/s")


def _without_size(wanted: Key) -> Key:
    return wanted._replace(parameters=tuple(pair for pair in wanted.parameters if pair[0] != "bytes"))
