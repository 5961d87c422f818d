"""Decoding and prefill of a language model in plain PyTorch: the engine that runs everywhere and hides nothing.

Qwen3 of transformers, no compiled graph, no fused kernel but torch's own attention, and a key-value cache that grows by
concatenation. What it falls short of the memory's bandwidth is what the engines that people serve with win back.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from measure import decoding, device, kernels, models, timing, weights
from measure.card import Watch
from measure.decoding import FIRST
from measure.keys import Key
from measure.models import Subject
from measure.results import Config
from measure.session import Session

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import Qwen3ForCausalLM

SUMMARY = "a language model in plain PyTorch: decoding for 1, 4 and 16 requests, prefill at several lengths"
NEEDS = ("torch", "transformers")
OPTIONS = ("weights",)
"""weights=FOLDER or weights=hub:ID measures a real Qwen3 checkpoint in place of random weights."""

NAME = "decode_transformers"

REQUESTS = (1, 4, 16)

FEWEST_STEPS, MOST_STEPS = 4, 64
"""Tokens by which the longer generation is longer; how many fit the time is found out by the warm-up."""

MEMORY_FACTOR = 1.25
"""Memory a model needs, as a multiple of its weights: cache, activations, and what loading takes on top."""


class Scope(NamedTuple):
    """How much is measured: set by the device and by whether it has to be quick."""

    subjects: tuple[str, ...]
    prompt_tokens: int
    """Of each request whose decoding is measured."""
    lengths: tuple[int, ...]
    """Prompt lengths whose prefill is measured."""
    repeats: int
    budget_s: float
    """Of the whole measurement. A part that takes several times its share is left out as too slow."""
    converted: tuple[str, ...] = ()
    """Subjects in a type that the processor converts number by number: one request and the shortest prompt alone."""
    traced: bool = False
    """Whether kernels are traced."""


def scope(session: Session) -> Scope:
    """What this machine measures. On a processor: a type that it multiplies in hardware, and short prompts."""
    if session.device == "cpu":
        fast = device.fast_precision("cpu")
        if session.quick:
            return Scope((f"qwen3-0.6b-{fast}",), 8, (64, 256), 3, 80.0)
        both = ("qwen3-0.6b-fp32", "qwen3-0.6b-bf16")
        converted = both[1:] if fast == "fp32" else ()
        return Scope((*both, f"qwen3-1.7b-{fast}"), 8, (64, 256, 1024), 5, 660.0, converted)
    lengths = (64, 256, 1024, 2048) if session.device == "mps" else (64, 256, 1024, 2048, 3500)
    traced = session.device == "cuda"
    if session.device == "mps" or session.quick:
        return Scope(("qwen3-0.6b-bf16",), 32, lengths, 3 if session.quick else 5, 80.0, traced=traced)
    return Scope(("qwen3-0.6b-bf16", "qwen3-1.7b-bf16", "qwen3-4b-bf16"), 32, lengths, 5, 300.0, traced=traced)


def plan(session: Session) -> list[Key]:
    return [item for text in subjects(session) for item in keys(text, scope(session))]


def seconds(session: Session) -> float:
    return scope(session).budget_s + 10.0


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: those of the scope, or the one whose weights were given."""
    source = session.options.get("weights")
    if source is None:
        return scope(session).subjects
    return (f"{weights.shape(source).name}-{device.fast_precision(session.device)}",)


def keys(text: str, part: Scope) -> list[Key]:
    """All keys of one subject, those first that matter most should the time run out."""
    if text in part.converted:
        return decoding.keys(NAME, text, decoding.Scope(REQUESTS[:1], part.lengths[:1], traced=False))
    return decoding.keys(NAME, text, decoding.Scope(REQUESTS, part.lengths, traced=part.traced))


def measure(session: Session) -> None:
    """Record weights (GiB), parameters, and rates (tok/s, one value a repeat) of each subject in turn."""
    settled = device.settle(session.machine)
    wanted = [item for item in plan(session) if session.wanted(item)]
    deadline, left = timing.Deadline(scope(session).budget_s), len(wanted)
    for text, items in decoding.passes(wanted):
        with device.failing(session, *items):
            _measure_subject(session, models.subject(text), items, deadline, left, settled)
        left -= len(items)
        device.release(session.device)


def _measure_subject(
    session: Session,
    subject: Subject,
    items: list[Key],
    deadline: timing.Deadline,
    left: int,
    settled: dict[str, str | int],
) -> None:
    engine = Engine(build(session, subject), session.device)
    config = {**settled, **engine.config, "weights": "real" if "weights" in session.options else "random"}
    for done, item in enumerate(items):
        with device.failing(session, item):
            run = Part(session, engine, config, scope(session), deadline.share(left - done))
            run.measure(item)


def build(session: Session, subject: Subject) -> Qwen3ForCausalLM:
    needed, free = MEMORY_FACTOR * subject.weight_bytes, device.free_bytes(session.machine)
    if needed > free:
        raise device.NotEnoughMemoryError(f"{subject} needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} are free")
    source = session.options.get("weights")
    return weights.real(subject, session.device, source) if source else weights.random(subject, session.device)


class Engine:
    """A causal language model that decodes greedily, one forward pass a token, whatever token ends a sequence."""

    def __init__(self, module: Qwen3ForCausalLM, where: str, seed: int = 0) -> None:
        import torch

        self.module = module
        self.device = where
        self.counts = weights.count(module)
        self.cached_tokens = 0
        """Tokens that the cache held before the latest prompt was processed."""
        self.position_s = 0.0
        """Seconds that each position of the latest prompt took: tells before trying that a longer one is too slow."""
        self._generator = torch.Generator().manual_seed(seed)
        # transformers renamed the argument in version 5.24.
        accepted = inspect.signature(module.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"

    @property
    def config(self) -> dict[str, str | int]:
        """What a sample's configuration says of the engine."""
        return {"attention": str(self.module.config._attn_implementation), "cache": "dynamic"}

    def prompts(self, requests: int, tokens: int) -> Tensor:
        """Fresh random prompts, [requests, tokens]."""
        import torch

        vocabulary = int(self.module.config.vocab_size)
        drawn = torch.randint(0, vocabulary, (requests, tokens), generator=self._generator)
        return drawn.to(self.device)

    def generate(self, prompts: Tensor, tokens: int) -> Tensor:
        """`tokens` tokens for each prompt, [requests, tokens]: one from the prompt, the others a step each."""
        import torch

        with torch.inference_mode():
            return torch.cat(list(self._steps(prompts, tokens)), dim=1)

    def _steps(self, prompts: Tensor, tokens: int) -> Iterator[Tensor]:
        from transformers import DynamicCache

        cache, fed = DynamicCache(config=self.module.config), prompts
        self.cached_tokens = cache.get_seq_length()
        for _ in range(tokens):
            # Only the last position goes through the output head, as in every engine that serves.
            output = self.module(input_ids=fed, use_cache=True, logits_to_keep=1, **{self._cache_name: cache})
            fed = output.logits[:, -1:].argmax(dim=-1)
            yield fed


class Part(NamedTuple):
    """One key's work: with what, how, and for how long."""

    session: Session
    engine: Engine
    config: dict[str, str | int]
    scope: Scope
    budget_s: float

    def measure(self, item: Key) -> None:
        """Record the key, or why it has no sample."""
        if item.quantity == "rate":
            self._rate(item, int(dict(item.parameters)["requests"]))
        elif item.quantity == "prefill_rate":
            self._prefill(item, int(dict(item.parameters)["tokens"]))
        elif item.quantity == "step_kernel_time":
            self._record_kernels(item, *kernels.step_times(self._traced, self.scope.prompt_tokens))
        elif item.quantity == "short_prompt_kernel_time":
            self._record_kernels(item, *kernels.prompt_times(self._traced, min(self.scope.lengths)))
        elif item.quantity == "loaded_weights":
            self.session.record(item, "GiB", [self.engine.counts.step_bytes / 2**30], self.config)
        else:
            self.session.record(item, "param", [getattr(self.engine.counts, item.quantity)], self.config)

    def _rate(self, item: Key, requests: int) -> None:
        positions = requests * self.scope.prompt_tokens
        if self._too_slow(item, timing.AT_LEAST * 2 * positions * self.engine.position_s):
            return
        first_s, step_s = self._pace(requests)
        steps = self._steps(first_s, step_s)
        needed_s = timing.AT_LEAST * (2 * first_s + steps * step_s)
        if self._too_slow(item, needed_s):
            return
        watch = Watch(self.session.device)
        shorts, longs, produced = self._lengths(requests, steps, watch)
        told = decoding.rate_config(requests, self.scope.prompt_tokens, FIRST, steps, produced)
        values = decoding.rates(requests, steps, shorts, longs)
        self.session.record(item, "tok/s", values, {**self.config, **told, **watch.config})

    def _lengths(self, requests: int, steps: int, watch: Watch) -> tuple[list[float], list[float], int]:
        """Seconds of the shorter and of the longer generations, by turns, and tokens a longer one produced."""
        shorts, longs, produced = [], [], 0
        # Once untimed at full length: else the first repeat alone pays for lengths of the cache never seen before.
        watch.begin()
        self._generation(requests, FIRST + steps)
        for _ in timing.rounds(self.scope.repeats, self.budget_s):
            shorts.append(self._generation(requests, FIRST)[0])
            long_s, produced = self._generation(requests, FIRST + steps)
            longs.append(long_s)
        watch.end()
        return shorts, longs, produced

    def _generation(self, requests: int, tokens: int) -> tuple[float, int]:
        prompts, made = self.engine.prompts(requests, self.scope.prompt_tokens), []
        seconds = timing.wall_seconds(lambda: made.append(self.engine.generate(prompts, tokens)), self.session.device)
        if made[0].shape != (requests, tokens):
            raise ArithmeticError(f"asked for {requests} x {tokens} tokens, got {' x '.join(map(str, made[0].shape))}")
        return seconds, made[0].numel()

    def _pace(self, requests: int) -> tuple[float, float]:
        """Warm up; seconds of a generation's first token and of a further one, roughly."""
        self._generation(requests, 1)
        first_s, _ = self._generation(requests, 1)
        more_s, _ = self._generation(requests, 3)
        return first_s, max((more_s - first_s) / 2, more_s / 100)

    def _steps(self, first_s: float, step_s: float) -> int:
        """Steps by which the longer generation is longer, so that all repeats fit the time."""
        pair_s = self.budget_s / (self.scope.repeats + 1)
        fitting = int((pair_s - 2 * first_s) / step_s)
        return min(max(fitting, FEWEST_STEPS), MOST_STEPS)

    def _prefill(self, item: Key, tokens: int) -> None:
        if self._too_slow(item, timing.AT_LEAST * tokens * self.engine.position_s):
            return
        watch = Watch(self.session.device)
        watch.begin()
        prompts = [self.engine.prompts(1, tokens)]
        self._first_token(prompts[0])
        if self._too_slow(item, timing.AT_LEAST * tokens * self.engine.position_s):
            return
        times, cached = [], 0
        for _ in timing.rounds(self.scope.repeats, self.budget_s):
            prompts.append(self.engine.prompts(1, tokens))
            times.append(self._first_token(prompts[-1]))
            cached = max(cached, self.engine.cached_tokens)
        watch.end()
        told = decoding.prefill_config(
            tokens, cached, decoding.distinct(prompt.flatten().tolist() for prompt in prompts)
        )
        self.session.record(item, "tok/s", [tokens / time for time in times], {**self.config, **told, **watch.config})

    def _first_token(self, prompts: Tensor) -> float:
        seconds = timing.wall_seconds(lambda: self.engine.generate(prompts, 1), self.session.device)
        self.engine.position_s = seconds / prompts.shape[1]
        return seconds

    def _record_kernels(self, item: Key, values: list[float], told: Config) -> None:
        self.session.record(item, "ms", values, {**self.config, **told})

    def _traced(self, prompt_tokens: int, tokens: int) -> kernels.Trace:
        prompts = self.engine.prompts(1, prompt_tokens)
        return kernels.trace(lambda: self.engine.generate(prompts, tokens))

    def _too_slow(self, item: Key, needed_s: float) -> bool:
        """Whether even the fewest repeats would take more than twice the time there is; records it."""
        slow, given_s = needed_s > 2 * self.budget_s, self.scope.budget_s
        if slow and needed_s <= given_s:  # the others took the time, and next time they are there already
            told = f"about {needed_s:.0f} s needed, {self.budget_s:.0f} s of {given_s:.0f} s left for it"
            self.session.fail(item, "out_of_time", told)
        elif slow:
            self.session.fail(item, "too_slow", f"about {needed_s:.0f} s needed, {given_s:.0f} s given for everything")
        return slow
