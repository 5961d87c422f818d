"""What the measurements of decoding share: the keys of a model, a rate from two output lengths, and how it is told.

A decoding rate comes from two output lengths, so that prefill and every fixed cost drop out of it: tokens by which each
longer generation is longer, over the time by which it took longer than the shorter ones did (their median).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple, Protocol

from measure import device, kernels, timing
from measure.card import Card, Watch
from measure.keys import Key, key, over_cards
from measure.results import Config
from measure.session import Session

HELD = ("loaded_weights", "parameters", "parameters_without_embeddings")
"""What a model is, in the words of its keys."""

FIRST = 1
"""Output tokens that the prompt alone makes."""

SHORT = 9
"""Output tokens of the shorter generation. It has to take some steps too: going over from the prompt to steps costs an
engine time (llama.cpp builds its graph anew and captures it), which would else be told of the longer one alone."""

LONG = 128
"""Output tokens of the longer generation of an engine that serves, and the source article's."""

PROMPT_TOKENS = 32
"""Of each request whose decoding is measured."""

ASKED_TOKENS = 67
"""Of each request whose first token is timed: the source article's prompt."""

LONG_PROMPT = 3500
"""The prompt after which attention is traced once more: there the cache of keys and values is no longer small."""

MANY = 32
"""Requests at once from which fewer repeats have to do."""

PART_S = 20.0
"""What one key may take before its repeats are cut to the fewest."""

Prompt = list[int]


class Held(NamedTuple):
    """What an engine has loaded: bytes as it reports them, and numbers; a tied embedding counts once."""

    loaded_bytes: float
    parameters: int
    parameters_without_embeddings: int


class Answer(NamedTuple):
    """What a call of an engine gave."""

    produced: tuple[int, ...]
    """Tokens for each request."""
    cached: int = 0
    """Prompt tokens of all requests that were found in a cache and not computed."""


class Engine(Protocol):
    """An engine that serves a loaded model."""

    vocabulary: int

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the engine."""

    def held(self) -> Held: ...

    def prepare(self, requests: int, tokens: int) -> None:
        """Make room for so many requests of so many tokens, prompt and output. Raises NotEnoughMemoryError."""

    def generate(self, prompts: list[Prompt], tokens: int) -> Answer:
        """Exactly `tokens` tokens for each prompt, all prompts at once; returns when the device has done it all."""

    def noted(self) -> Config:
        """What the engine says of the calls since it was asked last, such as a rate by its own clock."""

    def traced(self, prompts: list[Prompt], tokens: int) -> kernels.Trace:
        """The kernels of `generate`. Raises NotImplementedError where they cannot be seen."""


class Scope(NamedTuple):
    """How much is measured of a model."""

    requests: tuple[int, ...]
    lengths: tuple[int, ...]
    """Prompt lengths whose prefill is measured."""
    repeats: int = 5
    """At one request and at a few."""
    prompt_repeats: int = 15
    """Of each prompt length: a prompt takes milliseconds, in which a host that is late for one shows."""
    long: int = LONG
    traced: bool = True
    """Whether kernels are traced."""
    first_tokens: tuple[int, ...] = ()
    """Requests at once whose first token is timed."""


def keys(name: str, text: str, scope: Scope, cards: int = 1) -> list[Key]:
    """All keys of subject `text` of measurement `name`, those first that matter most should the time run out."""
    told = over_cards(cards)
    held = [key(name, quantity, text, **told) for quantity in HELD]
    rates = [key(name, "rate", text, requests=number, **told) for number in scope.requests]
    prefills = [key(name, "prefill_rate", text, tokens=number, **told) for number in scope.lengths]
    firsts = [key(name, "first_token", text, requests=number, **told) for number in scope.first_tokens]
    seen = ("step_kernel_time", "short_prompt_kernel_time") if scope.lengths else ("step_kernel_time",)
    traced = [key(name, quantity, text, **told) for quantity in seen] if scope.traced else []
    return [*held, rates[0], *prefills[:1], *rates[1:], *prefills[1:], *firsts, *traced]


def passes(items: Iterable[Key]) -> Iterator[tuple[str, list[Key]]]:
    """Subjects with their keys: what is timed of each, and only then what is seen through a profiler, of each."""
    listed = list(items)
    for traced in (False, True):
        part = [item for item in listed if (item.quantity in kernels.QUANTITIES) is traced]
        for subject in dict.fromkeys(item.subject for item in part):
            yield subject, [item for item in part if item.subject == subject]


STEPS = Scope((1,), ())
"""For measurements of a step alone."""


def step_keys(name: str, text: str, graphs: bool, cards: int = 1) -> list[Key]:
    """The keys of subject `text` in measurement `name` of steps with or without CUDA graphs."""
    told = {"graphs": "on" if graphs else "off", **over_cards(cards)}
    rate = key(name, "rate", text, requests=1, **told)
    return [key(name, "loaded_weights", text, **over_cards(cards)), rate, key(name, "step_kernel_time", text, **told)]


def rates(requests: int, steps: int, shorts: Sequence[float], longs: Sequence[float]) -> list[float]:
    """Tokens a second of all requests together, one value a longer generation.

    Args:
        steps: tokens by which a longer generation of one request is longer than a shorter one.
        shorts, longs: seconds of the generations.
    Raises ArithmeticError if the longer ones were not the slower ones.
    """
    short_s = statistics.median(shorts)
    if min(longs) <= short_s:
        raise ArithmeticError("the longer generation was not the slower one: something else kept the machine busy")
    return [requests * steps / (long_s - short_s) for long_s in longs]


def rate_config(requests: int, prompt_tokens: int, short: int, steps: int, produced: int) -> Config:
    """What the configuration of a rate says of its generations.

    Args:
        short: output tokens of the shorter ones, and `steps`, how many more the longer ones have.
        produced: by all requests of a longer one.
    """
    return {
        "requests": requests,
        "prompt_tokens": prompt_tokens,
        "output_tokens_short": short,
        "output_tokens_long": short + steps,
        "produced_tokens": produced,
    }


def prefill_config(tokens: int, cached: int, distinct: bool) -> Config:
    """What the configuration of a prefill says of its prompts."""
    return {"prompt_tokens": tokens, "cached_tokens": cached, "distinct_prompts": distinct}


def distinct(prompts: Iterable[Sequence[int]]) -> bool:
    """Whether no two prompts are alike."""
    listed = [tuple(prompt) for prompt in prompts]
    return len(set(listed)) == len(listed)


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Seconds of a call that returns when the device is done, and what it gave."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


class Generations(NamedTuple):
    """The shorter and longer generations of one rate, by turns."""

    shorts: list[float]
    longs: list[float]
    """Seconds."""
    produced: int
    cached: int
    distinct: bool
    joules: float
    """Used in the longer ones; 0 where the card does not tell."""


class Bench:
    """Measures the keys of one model on one engine that serves."""

    def __init__(self, session: Session, engine: Engine, config: Config, scope: Scope, cards: int = 1) -> None:
        self.session, self.engine, self.config, self.scope = session, engine, config, scope
        self.cards = [Card(number) for number in range(cards)] if session.device == "cuda" else []
        self._random = Random(0)

    def measure(self, items: Iterable[Key]) -> None:
        """Record each key, or why it has no sample, and print what it cost."""
        device.one_by_one(self.session, items, self._measure)

    def _measure(self, item: Key) -> None:
        told = dict(item.parameters)
        if item.quantity == "rate":
            self._rate(item, int(told["requests"]))
        elif item.quantity == "prefill_rate":
            self._prefill(item, int(told["tokens"]))
        elif item.quantity == "first_token":
            self._first_token(item, int(told["requests"]))
        elif item.quantity == "step_kernel_time":
            self._step_kernels(item)
        elif item.quantity == "short_prompt_kernel_time":
            self._prompt_kernels(item)
        else:
            self._held(item)

    def _held(self, item: Key) -> None:
        held = self.engine.held()
        if item.quantity == "loaded_weights":
            self._record(item, "GiB", [held.loaded_bytes / 2**30], {})
        else:
            self._record(item, "param", [getattr(held, item.quantity)], {})

    def _rate(self, item: Key, requests: int) -> None:
        steps, start = self.scope.long - SHORT, time.perf_counter()
        self.engine.prepare(requests, PROMPT_TOKENS + self.scope.long)
        watch = Watch(self.session.device)
        watch.begin()
        *_, sent = self._generation(requests, self.scope.long)
        self.engine.noted()
        made = self._generations(requests, sent)
        watch.end()
        told = {
            **rate_config(requests, PROMPT_TOKENS, SHORT, steps, made.produced),
            "cached_tokens": made.cached,
            "distinct_prompts": made.distinct,
            "warmups": 1,
            **watch.config,
            **self.engine.noted(),
        }
        if made.joules:
            told["joules_per_token"] = made.joules / (made.produced * len(made.longs))
        values = rates(requests, steps, made.shorts, made.longs)
        self._record(item, "tok/s", values, {**told, "cost_s": round(time.perf_counter() - start, 2)})

    def _generations(self, requests: int, sent: list[Prompt]) -> Generations:
        """Time them; `sent` are prompts that were sent before."""
        shorts, longs, produced, cached, joules = [], [], 0, 0, 0.0
        repeats = self.scope.repeats if requests < MANY else timing.AT_LEAST
        for _ in timing.rounds(repeats, PART_S):
            short_s, answer, prompts = self._generation(requests, SHORT)
            shorts.append(short_s)
            sent = sent + prompts
            cached += answer.cached
            used = self._energy_j()
            long_s, answer, prompts = self._generation(requests, self.scope.long)
            joules += self._energy_j() - used
            longs.append(long_s)
            sent = sent + prompts
            cached += answer.cached
            produced = sum(answer.produced)
        return Generations(shorts, longs, produced, cached, distinct(sent), joules)

    def _energy_j(self) -> float:
        """Used so far by the cards that the model is spread over; 0 where one does not tell."""
        used = [card.read().energy_j or 0.0 for card in self.cards]
        return sum(used) if all(used) else 0.0

    def _generation(self, requests: int, tokens: int) -> tuple[float, Answer, list[Prompt]]:
        prompts = self.prompts(requests, PROMPT_TOKENS)
        seconds, answer = timed(lambda: self.engine.generate(prompts, tokens))
        _check(answer, requests, tokens)
        return seconds, answer, prompts

    def _prefill(self, item: Key, tokens: int) -> None:
        self.engine.prepare(1, tokens + FIRST)
        self.send(item, tokens, [self.prompts(1, tokens) for _ in range(2 + self.scope.prompt_repeats)], 2)

    def send(self, item: Key, tokens: int, sent: list[list[Prompt]], warmups: int) -> None:
        """Record the rate at which prompts of `tokens` tokens give their first token; the first ones are not timed."""
        times, told = self._firsts(tokens, sent, warmups)
        self._record(item, "tok/s", [tokens / seconds for seconds in times], told)

    def _first_token(self, item: Key, requests: int) -> None:
        """Seconds until each of several requests that come at once has its first token."""
        self.engine.prepare(requests, ASKED_TOKENS + FIRST)
        sent = [self.prompts(requests, ASKED_TOKENS) for _ in range(2 + self.scope.prompt_repeats)]
        self._record(item, "s", *self._firsts(ASKED_TOKENS, sent, 2))

    def _firsts(self, tokens: int, sent: list[list[Prompt]], warmups: int) -> tuple[list[float], Config]:
        """Seconds in which prompts of `tokens` tokens give their first one, and how; the first ones are not timed."""
        start, times, cached = time.perf_counter(), [], 0
        requests, watch = len(sent[0]), Watch(self.session.device)
        for number, prompts in enumerate(sent):
            if number == warmups - 1:
                watch.begin()
            seconds, answer = timed(lambda prompts=prompts: self.engine.generate(prompts, FIRST))  # type: ignore[misc]
            _check(answer, requests, FIRST)
            if number >= warmups:
                times.append(seconds)
                cached = max(cached, answer.cached)
        watch.end()
        return times, {
            "requests": requests,
            **prefill_config(tokens, cached, distinct(prompt for prompts in sent for prompt in prompts)),
            "output_tokens_long": FIRST,
            "produced_tokens": requests * FIRST,
            "warmups": warmups,
            **watch.config,
            "cost_s": round(time.perf_counter() - start, 2),
        }

    def _step_kernels(self, item: Key) -> None:
        traced = self._traced
        values, told = kernels.step_times(traced, PROMPT_TOKENS)
        if LONG_PROMPT in self.scope.lengths:
            told["attention_ms_long_prompt"] = kernels.attention_ms(traced, LONG_PROMPT)
            told["long_prompt_tokens"] = LONG_PROMPT
        self._record(item, "ms", values, told)

    def _prompt_kernels(self, item: Key) -> None:
        values, told = kernels.prompt_times(self._traced, min(self.scope.lengths))
        self._record(item, "ms", values, told)

    def _traced(self, prompt_tokens: int, tokens: int) -> kernels.Trace:
        self.engine.prepare(1, prompt_tokens + tokens)
        return self.engine.traced(self.prompts(1, prompt_tokens), tokens)

    def prompts(self, requests: int, tokens: int) -> list[Prompt]:
        """Fresh random prompts."""
        most = self.engine.vocabulary - 1
        return [[self._random.randint(0, most) for _ in range(tokens)] for _ in range(requests)]

    def _record(self, item: Key, unit: str, values: list[float], told: Config) -> None:
        self.session.record(item, unit, values, {**self.config, **self.engine.config, **told})


def _check(answer: Answer, requests: int, tokens: int) -> None:
    """Refuse an answer that has not exactly the tokens that were asked for."""
    if answer.produced != (tokens,) * requests:
        got = (
            f"{len(answer.produced)} requests of {min(answer.produced, default=0)} to {max(answer.produced, default=0)}"
        )
        raise ArithmeticError(f"asked for {requests} requests of {tokens} tokens, got {got}")
