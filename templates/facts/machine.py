"""Facts about a machine: what its memory and its arithmetic reach when nothing else is in the way."""

from __future__ import annotations

from collections.abc import Iterator

from measure.keys import Key, card_of, key, of_card
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Quantity, best

WIDTHS = {"q4_0": 4, "q8_0": 8, "fp8": 8, "int8": 8, "fp16": 16, "bf16": 16, "fp32": 32}
"""Bits of a number of each type; the receipt of a ceiling names the products it is taken from."""

FALLBACK_WIDTH = 16


class Product(Group):
    """One matrix product: n x n by n x n in one type."""

    heading = "product"

    def __init__(self, path: str, samples: Samples, wanted: Key) -> None:
        self.dtype, size = dict(wanted.parameters)["dtype"], dict(wanted.parameters)["n"]
        super().__init__(f"{path}.{self.dtype}.n{size}", dtype=self.dtype, n=size)
        self.samples, self.wanted, self.size = samples, wanted, int(size)

    @fact("TFLOPS")
    def throughput(self) -> Quantity:
        return self.samples.get(self.wanted, "TFLOPS")


def _names_product(wanted: Key, card: int) -> bool:
    """Whether a key names a type and a size on this card, and nothing else."""
    told = dict(wanted.parameters)
    fits = set(told) == {"dtype", "n", *of_card(card)} and card_of(wanted) == card
    return fits and told["n"].isdecimal()


class MachineFacts(Group):
    """The ceilings of one run's machine; of one card where it has several."""

    heading = "machine"

    def __init__(self, samples: Samples, card: int = 0) -> None:
        path = f"{samples.run_id}.card{card}" if card else samples.run_id
        super().__init__(path, machine=samples.run_id, card=card)
        self.heading = "card" if card else "machine"
        self.samples, self.card = samples, card
        self.products = [
            Product(self.path, samples, wanted)
            for wanted in samples.keys("matmul", "throughput")
            if _names_product(wanted, card)
        ]

    def parts(self) -> Iterator[Group]:
        yield from self.products

    def _kernel(self, name: str) -> Key:
        return key("bandwidth", name, "", **of_card(self.card))

    @fact("GB/s")
    def sum(self) -> Quantity:
        return self.samples.get(self._kernel("sum"), "GB/s")

    @fact("GB/s")
    def copy(self) -> Quantity:
        return self.samples.get(self._kernel("copy"), "GB/s")

    @fact("GB/s")
    def triad(self) -> Quantity:
        return self.samples.get(self._kernel("triad"), "GB/s")

    @fact("GB/s")
    def bandwidth(self) -> Quantity:
        """The memory's ceiling: the best of the kernels that were measured."""
        return best([self.sum, self.copy, self.triad], "GB/s", f"{self.path} bandwidth")

    @fact("GB/s")
    def datasheet(self) -> Quantity:
        return self.samples.get(key("datasheet", "bandwidth"), "GB/s")

    @fact("%", decimals=0)
    def datasheet_share(self) -> Quantity:
        return self.bandwidth / self.datasheet

    @fact("1", decimals=0)
    def sum_repeats(self) -> Quantity:
        return self.samples.repeats(self._kernel("sum"))

    @fact("GiB")
    def buffer(self) -> Quantity:
        return self.samples.configured(self._kernel("sum"), "buffer_bytes", "B")

    @fact("GB")
    def memory(self) -> Quantity:
        return self.samples.machine_memory()

    @fact("TFLOPS")
    def compute_ceiling(self) -> Quantity:
        """The arithmetic's ceiling over all types."""
        return best([product.throughput for product in self.products], "TFLOPS", f"{self.path} matmul")

    def compute_in(self, dtype: str) -> Quantity:
        """The ceiling for a model stored in a type: the best of all shapes in types at least as wide.

        What is stored in a narrow type can always be widened and computed so; a processor without instructions for bf16
        does exactly that. Where no such type was measured, the best of any.
        """
        width = WIDTHS.get(dtype, FALLBACK_WIDTH)
        wide = [p.throughput for p in self.products if WIDTHS.get(p.dtype, FALLBACK_WIDTH) >= width]
        if any(product.measured for product in wide):
            return best(wide, "TFLOPS", f"{self.path} matmul {dtype}")
        return self.compute_ceiling
