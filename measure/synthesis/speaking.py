"""What measurements of speech synthesis share: what an engine is asked for, and how long it takes, whole and in chunks.

What was asked for is counted when it has come out: a time holds only for the sound that was made in it. The time of a
patch comes from two lengths, as a decoding step's does, so that what is done once an utterance drops out of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from measure import card, device, kernels, timing
from measure.card import Card
from measure.keys import Key
from measure.results import Config
from measure.session import Session

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


STEPS = 10
"""Diffusion time steps of a patch where the key does not tell: the package's default, and the source article's."""

TEXT_TOKENS = 30
"""Of an utterance whose length is not that of its key: an everyday sentence."""

PATCHES_PER_TOKEN = 2
"""Where the length is the key's, the text grows with the sound, three tokens a second, as when somebody speaks."""

FIRST_PATCHES = 6
"""Of the utterances whose first sound is waited for: one second."""

FIRST_REPEATS = 15
"""Of these: the first sound takes a fraction of a second, in which a host that is late for one shows."""

PART_S = 20.0
"""What one key may take before its repeats are cut to the fewest."""


class Ask(NamedTuple):
    """One utterance."""

    text: str
    patches: int | None
    """Its length, forced; None leaves it to the model."""
    steps: int
    """Diffusion time steps of each patch."""
    voice: Path | None = None
    """A recording whose voice is to be taken."""


class Engine(Protocol):
    """A synthesiser that makes its sound patch by patch."""

    @property
    def patch_samples(self) -> int:
        """Samples of sound in a patch."""

    @property
    def sample_rate(self) -> int:
        """Of the sound, in Hz."""

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the engine."""

    def speak(self, ask: Ask) -> NDArray[float32]:
        """The whole sound, [samples], in the host's memory."""

    def stream(self, ask: Ask) -> Iterator[NDArray[float32]]:
        """The sound as it comes: [samples] of one patch after another."""


class Lengths(NamedTuple):
    """How much of each is measured."""

    patches: tuple[int, ...]
    """Lengths of whole utterances."""
    short: int
    long: int
    """The two lengths that the time of a patch comes from."""
    repeats: int
    traced: int = kernels.TRACED_STEPS
    """Patches whose kernels are traced at a time."""
    traces: int = kernels.TRACES


class Texts:
    """Texts of a wanted length, made of pieces taken in turn."""

    def __init__(self, pieces: Sequence[str], count: Callable[[str], int]) -> None:
        """`count` tells how many tokens a text has."""
        self._pieces, self.count = pieces, count
        self._made: dict[int, str] = {}

    def of(self, tokens: int) -> str:
        """A text of so many tokens, or a few more where a piece has several."""
        if tokens not in self._made:
            self._made[tokens] = self._make(tokens)
        return self._made[tokens]

    def _make(self, tokens: int) -> str:
        text, turn = self._pieces[0], 0
        while self.count(text) < tokens:
            turn += 1
            text = f"{text} {self._pieces[turn % len(self._pieces)]}"
        return text


def timed(engine: Engine, ask: Ask) -> tuple[float, NDArray[float32]]:
    """Seconds until the whole sound is there, and the sound."""
    start = time.perf_counter()
    sound = engine.speak(ask)
    return time.perf_counter() - start, sound


def whole_s(engine: Engine, ask: Ask) -> float:
    """Seconds until the whole sound is there. Raises ArithmeticError if it has not the length that was asked for."""
    seconds, sound = timed(engine, ask)
    _check(engine, ask, [sound.size])
    return seconds


def arrivals_s(engine: Engine, ask: Ask) -> list[float]:
    """Seconds until each patch's sound is there. Raises ArithmeticError unless they are as many as were asked for."""
    start, arrivals, sizes = time.perf_counter(), [], []
    for chunk in engine.stream(ask):
        arrivals.append(time.perf_counter() - start)
        sizes.append(chunk.size)
    _check(engine, ask, sizes)
    if len(arrivals) != ask.patches:
        raise ArithmeticError(f"asked for {ask.patches} patches one after another, got {len(arrivals)} chunks")
    return arrivals


def _check(engine: Engine, ask: Ask, sizes: list[int]) -> None:
    wanted = (ask.patches or 0) * engine.patch_samples
    if sum(sizes) != wanted:
        raise ArithmeticError(f"asked for {ask.patches} patches, {wanted} samples, got {sum(sizes)} samples")


def patch_s(patches: int, shorts: Sequence[float], longs: Sequence[float]) -> list[float]:
    """Seconds a patch from utterances of two lengths, so that fixed costs drop out; one value a longer one.

    `patches` is how many more the longer ones had. Raises ArithmeticError if they were not the slower ones.
    """
    short_s = statistics.median(shorts)
    if min(longs) <= short_s:
        raise ArithmeticError("the longer utterance was not the slower one: something else kept the machine busy")
    return [(long_s - short_s) / patches for long_s in longs]


def gaps_s(arrivals: Sequence[float]) -> list[float]:
    """Seconds between a patch and the next."""
    return [later - earlier for earlier, later in pairwise(arrivals)]


def underrun_s(arrivals: Sequence[float], patch_audio_s: float) -> float:
    """How long a player that starts with the first patch has to stand still for the latest one; 0 if for none."""
    late = (arrival - arrivals[0] - place * patch_audio_s for place, arrival in enumerate(arrivals))
    return max(0.0, *late)


def patches_of(engine: Engine, sound: NDArray[float32]) -> int:
    """Patches in a sound of whatever length. Raises ArithmeticError if there is none, a part of one, or no sound."""
    import numpy

    if not numpy.isfinite(sound).all():
        raise ArithmeticError("the sound holds what is no number")
    whole, rest = divmod(sound.size, engine.patch_samples)
    if rest or not whole:
        raise ArithmeticError(f"{sound.size} samples are no whole number of patches of {engine.patch_samples}")
    return whole


class Bench:
    """Measures, on one engine, what every synthesiser that makes patches tells."""

    def __init__(self, session: Session, engine: Engine, config: Config, texts: Texts, lengths: Lengths) -> None:
        self.session, self.engine, self.config, self.texts, self.lengths = session, engine, config, texts, lengths
        self.card = Card()

    def measure(self, items: Iterable[Key]) -> None:
        """Record each key, or why it has no sample, and print what it cost."""
        device.one_by_one(self.session, items, self.measure_one)

    def measure_one(self, item: Key) -> None:
        """Record a key. Raises NotImplementedError for a quantity that this engine does not tell."""
        told = dict(item.parameters)
        if item.quantity == "patch_time":
            self._patch_time(item, int(told["steps"]))
        elif item.quantity == "utterance_time":
            self._utterance(item, int(told["patches"]))
        elif item.quantity == "first_audio":
            self._first_audio(item)
        else:
            raise NotImplementedError(f"{item.quantity} is not measured on this engine")

    def ask(self, patches: int, steps: int = STEPS, tokens: int = TEXT_TOKENS) -> Ask:
        """An utterance of this length."""
        return Ask(self.texts.of(tokens), patches, steps)

    def _utterance(self, item: Key, patches: int) -> None:
        tokens = -(-patches // PATCHES_PER_TOKEN)
        ask, before = self.ask(patches, tokens=tokens), self.card.read()
        whole_s(self.engine, ask)
        values = [whole_s(self.engine, ask) for _ in timing.rounds(self.lengths.repeats, PART_S)]
        self.record(item, "s", values, card.told(before, self.card.read()), ask)

    def _patch_time(self, item: Key, steps: int) -> None:
        short, long = (self.ask(patches, steps) for patches in (self.lengths.short, self.lengths.long))
        more, before = self.lengths.long - self.lengths.short, self.card.read()
        whole_s(self.engine, long)
        shorts, longs = [], []
        for _ in timing.rounds(self.lengths.repeats, PART_S):
            shorts.append(whole_s(self.engine, short))
            longs.append(whole_s(self.engine, long))
        told: Config = {"patches_short": self.lengths.short, **card.told(before, self.card.read())}
        self.record(item, "ms", [1e3 * one for one in patch_s(more, shorts, longs)], told, long)

    def _first_audio(self, item: Key) -> None:
        ask, before = self.ask(FIRST_PATCHES), self.card.read()
        arrivals_s(self.engine, ask)
        values = [1e3 * arrivals_s(self.engine, ask)[0] for _ in timing.rounds(FIRST_REPEATS, PART_S)]
        self.record(item, "ms", values, card.told(before, self.card.read()), ask)

    def record(
        self, item: Key, unit: str, values: list[float], told: Mapping[str, str | int | float], ask: Ask | None = None
    ) -> None:
        """Save a sample with what the engine and `told` say, and with what was asked for, first as a warm-up."""
        asked: Config = {}
        if ask is not None:
            asked = {"text_tokens": self.texts.count(ask.text), "inference_timesteps": ask.steps, "warmups": 1}
            asked |= {"patch_samples": self.engine.patch_samples, "sample_rate": self.engine.sample_rate}
            asked |= {} if ask.patches is None else {"patches": ask.patches}
        self.session.record(item, unit, values, {**self.config, **self.engine.config, **asked, **told})
