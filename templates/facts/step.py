"""Facts about one decoding step of one model on one engine: what its kernels do, and what a CUDA graph makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure.keys import Key, key
from templates.facts.constants import ONE, TOKEN
from templates.facts.group import Group, fact
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.language_model import LanguageModel


class Step(Group):
    """What the kernels of a step do, by the kinds that a profiler's names tell apart."""

    heading = "step"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(f"{model.path}.step")
        self.model = model

    def _seen(self, name: str) -> Quantity:
        return self.model.samples.noted(self.model.key("step_kernel_time"), name, "ms")

    def _prompt(self, name: str) -> Quantity:
        return self.model.samples.configured(self.model.key("step_kernel_time"), name, "tok")

    @fact("ms")
    def matmul(self) -> Quantity:
        """Kernels that multiply with weights."""
        return self._seen("matmul_ms")

    @fact("ms")
    def attention(self) -> Quantity:
        return self._seen("attention_ms")

    @fact("ms")
    def other(self) -> Quantity:
        """All other kernels, copies among them."""
        return self._seen("other_ms") + self._seen("copy_ms")

    @fact("GB/s")
    def read_speed(self) -> Quantity:
        """At which the kernels that multiply read the weights, if they read each once."""
        return self.model.weights / self.matmul

    @fact("%", decimals=0)
    def read_share(self) -> Quantity:
        return self.read_speed / self.model.machine.bandwidth

    @fact("tok", decimals=0)
    def prompt(self) -> Quantity:
        """The prompt after which the step was traced."""
        return self._prompt("prompt_tokens")

    @fact("MB")
    def kv_bytes(self) -> Quantity:
        """That prompt's keys and values; layers with a window need no more than it holds."""
        return self.model.kv_of(self.prompt)

    @fact("ms")
    def kv_read(self) -> Quantity:
        """Reading them once, at the measured bandwidth."""
        return self.kv_bytes / self.model.machine.bandwidth

    @fact("tok", decimals=0)
    def long_prompt(self) -> Quantity:
        """The long prompt after which attention was traced once more."""
        return self._prompt("long_prompt_tokens")

    @fact("ms")
    def long_attention(self) -> Quantity:
        return self._seen("attention_ms_long_prompt")

    @fact("MB")
    def long_kv_bytes(self) -> Quantity:
        return self.model.kv_of(self.long_prompt)

    @fact("ms")
    def long_kv_read(self) -> Quantity:
        return self.long_kv_bytes / self.model.machine.bandwidth


class Graphs(Group):
    """The same model with its steps replayed from a CUDA graph, and with every kernel launched by itself."""

    heading = "graphs"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(f"{model.path}.graphs")
        self.model = model
        self.switched = "on" if model.engine == "transformers" else "off"
        """Which of the two a measurement of its own made; the other one is the engine's usual way."""

    def key(self, quantity: str, **parameters: object) -> Key:
        return key(f"graphs_{self.model.engine}", quantity, self.model.subject, **self.model.told, **parameters)

    def _rate(self, state: str) -> Quantity:
        if state != self.switched:
            return self.model.rate
        return self.model.samples.get(self.key("rate", graphs=state, requests=1), "tok/s")

    def _kernels(self, state: str) -> Quantity:
        if state != self.switched:
            return self.model.step_kernels
        return self.model.samples.get(self.key("step_kernel_time", graphs=state), "ms")

    @property
    def measured(self) -> bool:
        """Whether the model decoded both ways."""
        return self.with_rate.measured and self.without_rate.measured

    @fact("tok/s")
    def with_rate(self) -> Quantity:
        return self._rate("on")

    @fact("tok/s")
    def without_rate(self) -> Quantity:
        return self._rate("off")

    @fact("times")
    def gain(self) -> Quantity:
        return self.with_rate / self.without_rate

    @fact("GB")
    def weights(self) -> Quantity:
        """As loaded by the measurement of its own."""
        return self.model.samples.get(self.key("loaded_weights"), "GB")

    @fact("%", decimals=0)
    def with_share(self) -> Quantity:
        """Share of the bandwidth that reading the weights takes up, with graphs."""
        return self.weights / TOKEN * self.with_rate / self.model.machine.bandwidth

    @fact("%", decimals=0)
    def without_share(self) -> Quantity:
        return self.weights / TOKEN * self.without_rate / self.model.machine.bandwidth

    @fact("ms")
    def with_gaps(self) -> Quantity:
        """Time of a step in which no kernel runs."""
        return TOKEN / self.with_rate - self._kernels("on")

    @fact("ms")
    def without_gaps(self) -> Quantity:
        return TOKEN / self.without_rate - self._kernels("off")

    @fact("%", decimals=0)
    def without_kernel_share(self) -> Quantity:
        """Share of a step without graphs in which a kernel runs."""
        return self._kernels("off") * self.without_rate / TOKEN

    @fact("%", decimals=0)
    def closed(self) -> Quantity:
        """Share of the time without kernels that goes away with graphs."""
        return ONE - self.with_gaps / self.without_gaps
