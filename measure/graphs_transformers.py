"""Decoding in plain PyTorch with CUDA graphs: a step is captured once, and replayed as a whole for every token.

Held against `decode_transformers`, which launches each kernel of a step by itself, it tells what the launches cost.
Only attention differs besides: the cache must not move in memory, so from the start it is as long as it will ever be.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from measure import decode_transformers, decoding, device, models, weights
from measure.decoding import Answer, Bench, Held, Prompt
from measure.kernels import Trace, trace
from measure.keys import Key
from measure.models import Subject
from measure.results import Config
from measure.session import Session

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import Qwen3ForCausalLM

SUMMARY = "a language model in plain PyTorch with CUDA graphs: decoding for one request, kernel time of a step"
NEEDS = ("torch", "transformers")
OPTIONS = ("weights",)
refusal = device.graphs_refusal
"""weights=FOLDER or weights=hub:ID measures a real Qwen3 checkpoint in place of random weights."""

NAME = "graphs_transformers"

SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-1.7b-bf16")

CONTEXT = 256
"""Tokens that the cache has room for: more than a prompt and an answer take."""

WARMUPS = 3
"""Steps ahead of the capture."""

SUBJECT_S = 20.0
"""Estimate for all keys of one model."""


def plan(session: Session) -> list[Key]:
    return [item for text in subjects(session) for item in decoding.step_keys(NAME, text, graphs=True)]


def seconds(session: Session) -> float:
    return SUBJECT_S * len(subjects(session))


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose weights were given."""
    if "weights" in session.options:
        return decode_transformers.subjects(session)
    return SUBJECTS[:1] if session.quick else SUBJECTS


def measure(session: Session) -> None:
    """Record weights (GiB), rate (tok/s, one value a repeat) and kernel time (ms) of each subject."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    settled = device.settle(session.machine)
    for text, items in decoding.passes(wanted):
        with device.failing(session, *items):
            _measure_subject(session, models.subject(text), items, settled)
        device.release(session.device)


def _measure_subject(session: Session, subject: Subject, items: list[Key], settled: dict[str, str | int]) -> None:
    engine = Replayed(decode_transformers.build(session, subject), session.device)
    config: Config = {**settled, "weights": "real" if "weights" in session.options else "random"}
    Bench(session, engine, config, decoding.STEPS).measure(items)


class Replayed:
    """A causal language model that decodes one request greedily, its steps replayed from a graph.

    Without a CUDA device a step is run anew each time, so that what it computes can be tested anywhere.
    """

    def __init__(self, module: Qwen3ForCausalLM, where: str) -> None:
        import torch
        from transformers import StaticCache

        self.module, self.device = module, where
        self.vocabulary = int(module.config.vocab_size)
        self._cache: Any = StaticCache(config=module.config, max_cache_len=CONTEXT)
        # transformers renamed the argument in version 5.24.
        accepted = inspect.signature(module.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._token = torch.zeros((1, 1), dtype=torch.long, device=where)
        self._place = torch.zeros((1, 1), dtype=torch.long, device=where)
        self._graph: Any = None

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the engine."""
        attention = str(self.module.config._attn_implementation)
        return {"attention": attention, "cache": "static", "cache_tokens": CONTEXT, "cuda_graphs": "full"}

    def held(self) -> Held:
        counts = weights.count(self.module)
        return Held(counts.step_bytes, counts.parameters, counts.parameters_without_embeddings)

    def prepare(self, requests: int, tokens: int) -> None:
        """Refuse what the graph was not made for."""
        if requests != 1 or tokens > CONTEXT:
            raise NotImplementedError(f"the graph is for one request of up to {CONTEXT} tokens")

    def generate(self, prompts: list[Prompt], tokens: int) -> Answer:
        """`tokens` tokens: one from the prompt, the others a step each."""
        return Answer((len(self.tokens(prompts[0], tokens)),))

    def tokens(self, prompt: Prompt, tokens: int) -> list[int]:
        """The tokens themselves. They are copied off the device once all steps have been queued."""
        import torch

        with torch.inference_mode():
            if tokens > 1 and self._graph is None and self.device == "cuda":
                self._capture(prompt)
            self._begin(prompt)
            made = [self._token.clone()]
            for _ in range(tokens - 1):
                self._replay()
                made.append(self._token.clone())
            return [int(number) for number in torch.cat(made).flatten().tolist()]

    def noted(self) -> Config:
        return {}

    def traced(self, prompts: list[Prompt], tokens: int) -> Trace:
        return trace(lambda: self.generate(prompts, tokens))

    def _begin(self, prompt: Prompt) -> None:
        """Empty the cache, and have the prompt's first token."""
        import torch

        self._cache.reset()
        places = torch.arange(len(prompt), device=self.device)[None]
        self._token.copy_(self._forward(torch.tensor([prompt], device=self.device), places))
        self._place.fill_(len(prompt))

    def _forward(self, given: Tensor, places: Tensor) -> Tensor:
        """The likeliest next token, [1, 1]."""
        output = self.module(
            input_ids=given, position_ids=places, use_cache=True, logits_to_keep=1, **{self._cache_name: self._cache}
        )
        likeliest: Tensor = output.logits[:, -1:].argmax(dim=-1)
        return likeliest

    def _step(self) -> None:
        """One more token, in place."""
        self._token.copy_(self._forward(self._token, self._place))
        self._place.add_(1)

    def _replay(self) -> None:
        if self._graph is None:
            self._step()
        else:
            self._graph.replay()

    def _capture(self, prompt: Prompt) -> None:
        """Capture a step, after some that are not: in those, kernels are chosen and workspaces made."""
        import torch

        self._begin(prompt)
        side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARMUPS):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        self._graph = graph
