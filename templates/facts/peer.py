"""Facts about the same decoding timed by somebody else: the engine's own tool, or the engine's own clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure.keys import key
from templates.facts.group import Group, fact
from templates.quantity import Quantity

if TYPE_CHECKING:
    from templates.facts.language_model import LanguageModel


class Peer(Group):
    """One request decoded by one model, by this project's clock and by others."""

    heading = "peer"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(f"{model.path}.peer")
        self.model = model

    @property
    def ratios(self) -> list[Quantity]:
        """Those that were measured."""
        return [ratio for ratio in (self.tool_ratio, self.clock_ratio) if ratio.measured]

    @fact("tok/s")
    def tool_rate(self) -> Quantity:
        """By the tool that comes with the engine."""
        peer = key(f"peer_{self.model.engine}", "rate", self.model.subject, requests=1, **self.model.told)
        return self.model.samples.get(peer, "tok/s")

    @fact("%", decimals=1)
    def tool_ratio(self) -> Quantity:
        return self.model.rate / self.tool_rate

    @fact("tok/s")
    def clock_rate(self) -> Quantity:
        """By the engine's own clock in the very generations that were timed here."""
        return self.model.samples.noted(self.model.key("rate", requests=1), "library_tok_s", "tok/s")

    @fact("%", decimals=1)
    def clock_ratio(self) -> Quantity:
        return self.model.rate / self.clock_rate
