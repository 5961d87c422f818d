"""Decoding and prefill of a language model in vLLM, the engine that many people serve with.

Called as a library, without its server: what a request waits for on the network is not the engine's. Prompts are random
tokens, each its own; the prefix cache is off; the end of sequence is ignored. One measurement is wrong on purpose: the
same prompt sent again with the prefix cache on. It has a key of its own, and has to be rejected by what it implies.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from measure import decoding, device, kernels, models, vllm_worker, weights
from measure.card import Card
from measure.decoding import Answer, Bench, Held, Prompt, Scope
from measure.models import Subject
from measure.results import Key, key
from measure.session import Config, Session

SUMMARY = "a language model in vLLM: decoding for 1 to 512 requests, prefill at several lengths, kernel times"
NEEDS = ("vllm", "torch", "transformers")
OPTIONS = ("weights", "tensor_parallel")
"""weights=FOLDER or weights=hub:ID measures a real Qwen3 checkpoint; tensor_parallel=N spreads it over N cards."""

NAME = "decode_vllm"

SUBJECTS = ("qwen3-0.6b-bf16", "qwen3-1.7b-bf16", "qwen3-1.7b-fp8", "qwen3-4b-fp8")
QUICK_SUBJECTS = SUBJECTS[:1]

FULL = Scope((1, 2, 4, 8, 16, 32, 64, 128, 256, 512), (64, 256, 1024, 2048, 3500))
QUICK = Scope((1, 4, 16), (64, 256, 1024, 2048), repeats=3)

REPEATED_TOKENS = 3500
"""Of the prompt that is sent again and again."""

GRAPH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Batch sizes for which vLLM captures a CUDA graph: those that are measured. A batch between two is padded."""

CONTEXT = 4096
"""Tokens that one request may have, prompt and output."""

MEMORY_SHARE = 0.85
"""Of the card's memory that vLLM may take: what the weights leave of it becomes its cache of keys and values."""

MEMORY_FACTOR = 1.25
"""Memory a model needs, as a multiple of its weights: cache, activations, and what loading takes on top."""

RELEASE_S = 30.0
"""How long a card may take to have its memory back from an engine that has ended."""

START_S, SUBJECT_S = 90.0, 100.0
"""Estimates: an engine's start (it compiles and captures graphs) and all keys of one model."""


def plan(session: Session) -> list[Key]:
    listed = [item for text in subjects(session) for item in decoding.keys(NAME, text, scope(session))]
    return [*listed, *([] if session.quick else [repeated(subjects(session)[-1])])]


def seconds(session: Session) -> float:
    return len(subjects(session)) * (START_S + SUBJECT_S) + (0.0 if session.quick else START_S)


def scope(session: Session) -> Scope:
    return QUICK if session.quick else FULL


def subjects(session: Session) -> tuple[str, ...]:
    """Models and precisions to measure: the planned ones, or the one whose weights were given."""
    source = session.options.get("weights")
    if source is not None:
        return (str(weights.subject(source)),)
    return QUICK_SUBJECTS if session.quick else SUBJECTS


def repeated(text: str) -> Key:
    """The measurement that is wrong on purpose."""
    return key(NAME, "prefill_rate", text, input="repeated")


def measure(session: Session) -> None:
    """Record weights (GiB), parameters, rates (tok/s, one value a repeat) and kernel times (ms) of each subject."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if session.device != "cuda":
        return device.fail(session, wanted, "unsupported", "vLLM's wheels need an NVIDIA card")
    # Loading vLLM here must leave the card alone: a process that has opened it cannot be forked into the engine's.
    for text in subjects(session):
        items = [item for item in wanted if item.subject == text and item != repeated(text)]
        _measure_subject(session, models.subject(text), items)
        wrong = [item for item in wanted if item == repeated(text)]
        _measure_repeated(session, models.subject(text), wrong)


def _measure_subject(session: Session, subject: Subject, items: list[Key]) -> None:
    with device.failing(session, *items):
        if items:
            _check_memory(session, subject)
            with _engine(session, subject, prefix_cache=False) as engine:
                Bench(session, engine, _config(session), scope(session)).measure(items)


def _measure_repeated(session: Session, subject: Subject, items: list[Key]) -> None:
    """The first time is not timed: it fills the cache, from which all others are answered."""
    with device.failing(session, *items):
        if items:
            with _engine(session, subject, prefix_cache=True) as engine:
                bench = Bench(session, engine, _config(session), scope(session))
                sent = [bench.prompts(1, REPEATED_TOKENS)] * (2 + scope(session).prompt_repeats)
                bench.send(items[0], REPEATED_TOKENS, sent, warmups=2)


def _check_memory(session: Session, subject: Subject) -> None:
    """An engine that runs out of memory while it starts tells so in its log alone."""
    free = Card().free_bytes()
    needed = MEMORY_FACTOR * subject.weight_bytes / cards(session)
    if free is not None and needed > free:
        raise device.NotEnoughMemoryError(
            f"{subject} needs {needed / 2**30:.1f} GiB a card, {free / 2**30:.1f} are free"
        )


def _config(session: Session) -> Config:
    return {"device": session.device, "weights": "real" if "weights" in session.options else "random"}


def cards(session: Session) -> int:
    """Cards over which the model is spread."""
    text = session.options.get("tensor_parallel", "1")
    if not text.isdecimal() or not 1 <= int(text) <= max(session.machine.accelerators, 1):
        raise ValueError(
            f"tensor_parallel={text}: there are {session.machine.accelerators} cards. Choose so many or fewer."
        )
    return int(text)


class _Settings(NamedTuple):
    """With what an engine is started."""

    model: str
    load_format: str
    prefix_cache: bool
    cards: int
    requests: tuple[int, ...]

    def arguments(self) -> dict[str, Any]:
        """For `vllm.LLM`."""
        return {
            "model": self.model,
            "load_format": self.load_format,
            "skip_tokenizer_init": True,
            "enable_prefix_caching": self.prefix_cache,
            "max_model_len": CONTEXT,
            "max_num_seqs": max(self.requests),
            "gpu_memory_utilization": MEMORY_SHARE,
            "tensor_parallel_size": self.cards,
            "disable_log_stats": True,
            "seed": 0,
            "compilation_config": {"cudagraph_capture_sizes": list(GRAPH_SIZES)},
            "worker_extension_cls": vllm_worker.NAME,
        }


@contextmanager
def _engine(session: Session, subject: Subject, prefix_cache: bool) -> Iterator[VLLM]:
    """A started engine; ended, and the card's memory waited for, whatever happens inside."""
    with tempfile.TemporaryDirectory() as folder:
        source = session.options.get("weights")
        if source is None:
            weights.write_config(subject, Path(folder))
        model, load = (weights.place(source), "auto") if source else (folder, "dummy")
        settings = _Settings(model, load, prefix_cache, cards(session), scope(session).requests)
        card = Card()
        before = card.free_bytes()
        engine = VLLM(settings)
        try:
            yield engine
        finally:
            engine.close()
            _wait_for_memory(card, before)


def _wait_for_memory(card: Card, before: int | None) -> None:
    end = time.monotonic() + RELEASE_S
    while before and (card.free_bytes() or before) < 0.98 * before and time.monotonic() < end:
        time.sleep(0.2)


class VLLM:
    """A running vLLM, its engine in processes of its own."""

    def __init__(self, settings: _Settings) -> None:
        # Weights are random, and nobody is told of it: no usage report, no question to the hub.
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        from vllm import LLM

        start = time.perf_counter()
        self._settings = settings
        self._llm: Any = LLM(**settings.arguments())
        self._started_s = round(time.perf_counter() - start, 1)
        print(f"{settings.model}: engine started in {self._started_s} s", flush=True)
        configured = self._llm.llm_engine.vllm_config
        self.vocabulary = int(configured.model_config.get_vocab_size())
        self._cache_tokens = int(configured.cache_config.num_gpu_blocks or 0) * int(configured.cache_config.block_size)
        self._told: Config = {
            "prefix_cache": settings.prefix_cache,
            "tensor_parallel": settings.cards,
            "cards": settings.cards,
            "max_num_seqs": max(settings.requests),
            "max_model_len": CONTEXT,
            "cuda_graphs": str(getattr(configured.compilation_config.cudagraph_mode, "name", "unknown")).lower(),
            "start_s": self._started_s,
            **self._llm.collective_rpc("told_of_kernels")[0],
        }

    @property
    def config(self) -> Config:
        return self._told

    def held(self) -> Held:
        """Sums over the cards; what each of them has whole (norms) counts once."""
        parts = self._llm.collective_rpc("told_of_model")
        norms = (len(parts) - 1) * parts[0]["norms"]
        whole = int(sum(part["parameters"] for part in parts) - norms)
        embedding = int(sum(part["embedding"] for part in parts))
        return Held(sum(part["loaded_bytes"] for part in parts), whole, whole - embedding)

    def prepare(self, requests: int, tokens: int) -> None:
        """vLLM lets requests wait that do not fit its cache; they would not be decoded at once."""
        if requests * tokens > self._cache_tokens:
            has = f"the cache holds {self._cache_tokens} tokens"
            raise device.NotEnoughMemoryError(f"{requests} requests need {requests * tokens}, {has}")

    def generate(self, prompts: list[Prompt], tokens: int) -> Answer:
        from vllm import SamplingParams

        asked = SamplingParams(max_tokens=tokens, min_tokens=tokens, ignore_eos=True, temperature=0.0, detokenize=False)
        sent = [{"prompt_token_ids": prompt} for prompt in prompts]
        outputs = self._llm.generate(sent, asked, use_tqdm=False)
        produced = tuple(len(output.outputs[0].token_ids) for output in outputs)
        return Answer(produced, sum(output.num_cached_tokens or 0 for output in outputs))

    def noted(self) -> Config:
        """Nothing: with its statistics on, vLLM would be slower."""
        return {}

    def traced(self, prompts: list[Prompt], tokens: int) -> kernels.Trace:
        self._llm.collective_rpc("start_tracing")
        self.generate(prompts, tokens)
        return kernels.Trace(**self._llm.collective_rpc("stop_tracing")[0])

    def close(self) -> None:
        """End the engine's processes."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm
