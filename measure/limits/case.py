"""What a rule is given, a sample with its run, and what it gives back, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from measure.keys import TENSOR_PARALLEL, Key, card_of, cards_of, parse_key
from measure.limits.entries import ENTRIES
from measure.results import LARGEST, SMALLEST, AnySample, Report, Run

T = TypeVar("T")

Status = Literal["accepted", "suspect", "rejected"]
STATUSES: tuple[Status, ...] = ("rejected", "suspect", "accepted")
"""Worst first."""

BYTES = {"GB": 1e9, "GiB": 2.0**30, "MiB": 2.0**20, "B": 1.0}

SLOWER = {"GB/s": -1, "TFLOPS": -1, "tok/s": -1, "step/s": -1, "s": 1, "ms": 1}
"""Units that tell how fast something is: whether the larger number is the slower one (1) or the faster one (-1)."""

SECONDS = {"s": 1.0, "ms": 1e-3}

NARROW_TYPES = ("fp8", "int8", "q8", "q4", "fp4", "int4", "nvfp4", "mxfp4")
"""Beginnings of the names of precisions below 16 bits."""


class Verdict(Struct, frozen=True, gc=False):
    """A rule's finding. An accepted sample bears the ceiling it came closest to, or no rule if none applies."""

    status: Status
    rule: str = ""
    limit: float | None = None
    factor: float | None = None
    """`value` over `limit`."""
    unit: str = ""
    """Of value and limit."""
    value: float | None = None
    """What the sample implies."""
    basis: tuple[str, ...] = ()
    """Keys of the samples that the limit and the value were computed from."""
    also: tuple[Verdict, ...] = ()
    """What else was found fault with, worst first."""
    checked: tuple[str, ...] = ()
    """Rules that applied."""

    @property
    def faults(self) -> tuple[Verdict, ...]:
        """Everything that was found fault with, worst first."""
        return () if self.status == "accepted" else (self, *self.also)

    @property
    def from_datasheet(self) -> bool:
        """Whether the limit is a datasheet's, since the machine's own was not measured."""
        return any(text.startswith("datasheet/") for text in self.basis)


class Models(Protocol):
    """What rules ask about a model; `measure.models` has it. Each raises ValueError for an unknown subject."""

    def kv_bytes(self, text: str, length: int) -> float:
        """Bytes of cache that a step reads for one request of `length` tokens."""

    def weight_bytes(self, text: str) -> float:
        """Bytes of all weights if every matrix were stored in the precision."""


class Ceiling(NamedTuple):
    """The best of some samples that measure a limit: its key and value for one card, and what is known of them all."""

    key: str
    value: float
    """Of one card."""
    peak: float
    """The most that a single repeat of any of them reached."""
    by_card: tuple[float, ...]
    """The best of each card that was measured, in their order."""
    alone: bool
    """Whether there is no other sample."""
    narrow: bool
    """Whether one of them was measured with numbers below 16 bits."""

    def of(self, cards: float) -> float:
        """The sum over so many cards, the first ones; one that was not measured counts as the best that was."""
        known = self.by_card[: int(cards)]
        return sum(known) + (cards - len(known)) * self.value


class Member(NamedTuple):
    """A sample of a family, and the number that tells it from the others."""

    number: float
    text: str
    sample: AnySample


Family = tuple[str, str, str, tuple[tuple[str, str], ...]]
"""Measurement, subject, quantity and the parameters that all members share."""


@dataclass(frozen=True)
class Sound:
    """The samples of a run that may serve as limits: those not rejected so far."""

    samples: Mapping[str, AnySample]
    _found: dict[Hashable, object] = field(default_factory=dict)
    """What was looked up before: every sample of a run asks for the same few."""

    def once(self, name: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, found once for each name."""
        if name not in self._found:
            self._found[name] = find()
        return self._found[name]  # type: ignore[return-value]  # what find() gave

    def best(self, measurement: str, *quantities: str, dtype: str = "", wide: bool = False) -> Ceiling | None:
        """The best of these quantities (of one type, or of those not below 16 bits), or None if there are none."""
        asked = ("best", measurement, quantities, dtype, wide)
        return self.once(asked, lambda: self._look_up(measurement, quantities, dtype, wide))

    @property
    def bandwidth(self) -> Ceiling | None:
        """The memory bandwidth: the best kernel's, else the datasheet's. GB/s of one card."""
        return self.best("bandwidth", *KERNELS) or self.best("datasheet", "bandwidth")

    @property
    def compute(self) -> Ceiling | None:
        """The arithmetic: the best matrix product's, else the datasheet's. TFLOPS of one card."""
        return self.best("matmul", "throughput") or self.best("datasheet", "throughput")

    @property
    def wide_compute(self) -> Ceiling | None:
        """The arithmetic open to a model of any type, since narrow weights may be widened. TFLOPS of one card."""
        return self.best("matmul", "throughput", wide=True) or self.compute

    def family(self, key: Key, parameter: str) -> list[Member]:
        """Samples whose keys differ from `key` in the number of one parameter alone, that number ascending."""
        families = self.once(("families", parameter), lambda: self._families(parameter))
        return families.get(_family(key, parameter), [])

    def _families(self, parameter: str) -> dict[Family, list[Member]]:
        found: dict[Family, list[Member]] = {}
        for text, sample in self.samples.items():
            key = parse_key(text)
            told = number(dict(key.parameters).get(parameter))
            if told is not None:
                found.setdefault(_family(key, parameter), []).append(Member(told, text, sample))
        return {family: sorted(members, key=lambda member: member.number) for family, members in found.items()}

    def _look_up(self, measurement: str, quantities: tuple[str, ...], dtype: str, wide: bool) -> Ceiling | None:
        found = [text for text in self.samples if _is(parse_key(text), measurement, quantities, dtype)]
        keys = [text for text in found if not (wide and _has_narrow_type(text))]
        if not keys:
            return None
        values = {text: self.samples[text].median / cards(self.samples[text]) for text in keys}
        first = max(keys, key=lambda text: values[text])
        peak = max(highest(self.samples[text]) / cards(self.samples[text]) for text in keys)
        narrow = any(_has_narrow_type(text) for text in keys)
        alone = len([text for text in keys if "card" not in dict(parse_key(text).parameters)]) == 1
        return Ceiling(first, values[first], peak, _by_card(values), alone, narrow)


def highest(sample: AnySample) -> float:
    """The most that a sample is known to have reached: its largest value, else the upper end of its interval."""
    values = [] if isinstance(sample, Report) else sample.values
    return max(values, default=max(sample.median, sample.interval[1]))


def _by_card(values: Mapping[str, float]) -> tuple[float, ...]:
    """The largest of the values of each card, by the number that their keys tell; the first card's tell none."""
    found: dict[int, float] = {}
    for text, value in values.items():
        number = int(dict(parse_key(text).parameters).get("card", 0))
        found[number] = max(value, found.get(number, 0.0))
    return tuple(found[number] for number in sorted(found))


def _has_narrow_type(text: str) -> bool:
    return is_narrow(dict(parse_key(text).parameters).get("dtype", ""))


KERNELS = ("sum", "copy", "triad")
"""Quantities of `bandwidth` that measure the limit."""


class Case(Struct, frozen=True):
    """A sample with all that rules may look at."""

    key: Key
    sample: AnySample
    run: Run
    sound: Sound
    models: Models | None = None
    _found: dict[Hashable, object] = {}

    def once(self, find: Callable[[Case], T]) -> T:
        """What `find` gives for this case, found once: several rules ask how fast a sample says that a model ran."""
        if find not in self._found:
            self._found[find] = find(self)
        return self._found[find]  # type: ignore[return-value]  # what find() gave

    def entry(self, name: str) -> object:
        """An entry of ENTRIES from the key, else from the configuration; None if it is not there."""
        if name not in ENTRIES:
            raise KeyError(f"{name} is not among the entries of measure/limits/entries.py")
        for parameter, value in self.key.parameters:
            if parameter == name:
                return value
        return self.sample.config.get(name)

    def number(self, name: str) -> float | None:
        """An entry that is a number."""
        return number(self.entry(name))

    def text(self, name: str) -> str | None:
        """An entry that is text."""
        found = self.entry(name)
        return found if isinstance(found, str) else None

    @property
    def cards(self) -> float:
        """Accelerators that worked on the sample together."""
        return cards(self.sample)

    @property
    def cards_named(self) -> int:
        """Accelerators that the key speaks of: those a model was spread over, or up to the one that it names."""
        return max(cards_of(self.key), card_of(self.key) + 1)

    def beside(self, quantity: str) -> tuple[str, AnySample] | None:
        """A sound sample of the same subject and number of cards, and its key.

        Of the same measurement, else of that which decodes in the same engine: what others see of it holds the same.
        """
        spread = tuple(pair for pair in self.key.parameters if pair[0] == TENSOR_PARALLEL)
        asked = ("beside", self.key.measurement, self.key.subject, quantity, spread)
        return self.sound.once(asked, lambda: self._beside(quantity, spread))

    def _beside(self, quantity: str, spread: tuple[tuple[str, str], ...]) -> tuple[str, AnySample] | None:
        decoding = f"decode_{self.key.measurement.partition('_')[2]}"
        for measurement in (self.key.measurement, decoding):
            text = str(Key(measurement, self.key.subject, quantity, spread))
            if sample := self.sound.samples.get(text):
                return text, sample
        return None


Judge = Callable[[Case], Verdict | None]
"""None: the rule does not apply."""


def cards(sample: AnySample) -> float:
    """Accelerators that a sample's configuration tells of; one if it tells of none."""
    told = number(sample.config.get("cards"))
    return told if told is not None and told >= 1 else 1.0


def number(value: object) -> float | None:
    """A number, or the text of one; None for what is neither, or outside what a machine can have."""
    if value is None:
        return None
    try:
        found = None if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    except (ValueError, OverflowError):
        return None
    return found if found is not None and (found == 0 or SMALLEST <= abs(found) <= LARGEST) else None


def is_narrow(dtype: str) -> bool:
    """Whether a type has fewer than 16 bits."""
    return dtype.startswith(NARROW_TYPES)


def _is(key: Key, measurement: str, quantities: tuple[str, ...], dtype: str) -> bool:
    fits = not dtype or dict(key.parameters).get("dtype", dtype) == dtype
    return fits and key.measurement == measurement and key.quantity in quantities


def _family(key: Key, parameter: str) -> Family:
    shared = tuple(pair for pair in key.parameters if pair[0] != parameter)
    return key.measurement, key.subject, key.quantity, shared
