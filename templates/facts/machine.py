"""Facts about a machine: what its memory and its arithmetic reach when nothing else is in the way."""

from __future__ import annotations

from collections.abc import Iterator

from measure.results import Key, key
from templates.facts.group import Group, fact
from templates.facts.samples import Samples
from templates.quantity import Quantity, best

FALLBACK_DTYPE = "fp16"
"""The arithmetic that stands for one that was not measured; the receipt names it."""


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


class MachineFacts(Group):
    """The ceilings of one run's machine."""

    heading = "machine"

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples.run_id, machine=samples.run_id)
        self.samples = samples
        self.products = [Product(self.path, samples, wanted) for wanted in samples.keys("matmul", "throughput")]

    def parts(self) -> Iterator[Group]:
        yield from self.products

    @fact("GB/s")
    def sum(self) -> Quantity:
        return self.samples.get(key("bandwidth", "sum"), "GB/s")

    @fact("GB/s")
    def copy(self) -> Quantity:
        return self.samples.get(key("bandwidth", "copy"), "GB/s")

    @fact("GB/s")
    def triad(self) -> Quantity:
        return self.samples.get(key("bandwidth", "triad"), "GB/s")

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
        return self.samples.repeats(key("bandwidth", "sum"))

    @fact("GiB")
    def buffer(self) -> Quantity:
        return self.samples.configured(key("bandwidth", "sum"), "buffer_bytes", "B")

    @fact("GB")
    def memory(self) -> Quantity:
        return self.samples.machine_memory()

    @fact("TFLOPS")
    def compute_ceiling(self) -> Quantity:
        """The arithmetic's ceiling over all types."""
        return best([product.throughput for product in self.products], "TFLOPS", f"{self.path} matmul")

    def compute_in(self, dtype: str) -> Quantity:
        """The ceiling of one type: the best of its shapes; where none was measured, that of fp16, else of any type."""
        for wanted in (dtype, FALLBACK_DTYPE):
            shapes = [product.throughput for product in self.products if product.dtype == wanted]
            if any(shape.measured for shape in shapes):
                return best(shapes, "TFLOPS", f"{self.path} matmul {wanted}")
        return self.compute_ceiling

    def compute_dtype(self, dtype: str) -> str:
        """The type whose ceiling `compute_in` gives."""
        names = {product.dtype for product in self.products if product.throughput.measured}
        return next((name for name in (dtype, FALLBACK_DTYPE) if name in names), "any")
