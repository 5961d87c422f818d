"""vLLM with the settings that every measurement of it shares: as a library, and as words for its command line.

Called as a library, it is given tokens and gives tokens: no tokenizer, no network. The prefix cache is off unless asked
for, the end of sequence is ignored, and batches of the sizes that are measured have CUDA graphs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from measure import device, kernels, spread, weights
from measure.card import Card
from measure.decoding import Answer, Held, Prompt
from measure.engines import vllm_worker
from measure.models import Subject
from measure.results import Config, Machine
from measure.session import Session

NEEDS = ("vllm", "torch", "transformers")

OPTIONS = ("weights", spread.NAME)
"""weights=FOLDER or weights=hub:ID measures a real Qwen3 checkpoint; tensor_parallel=N spreads it over N cards."""

COMMAND = (sys.executable, "-m", "vllm.entrypoints.cli.main")
"""vLLM's command line, `vllm`, of this environment."""

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

START_S = 90.0
"""Estimate: an engine's start, in which it compiles and captures graphs."""


def refusal(machine: Machine) -> str:
    """Why such a machine cannot be measured; empty if it can."""
    return "" if machine.device == "cuda" else "vLLM's wheels need an NVIDIA card"


class Settings(NamedTuple):
    """With what an engine is started."""

    model: str
    load_format: str
    cards: int = 1
    requests: int = GRAPH_SIZES[-1]
    """At once, at most."""
    prefix_cache: bool = False
    graphs: bool = True
    """Whether steps are replayed from CUDA graphs; they are compiled either way."""
    overrides: dict[str, int] = {}  # noqa: RUF012 (never changed)
    """What the model's config.json cannot tell this vLLM through transformers."""

    def common(self) -> dict[str, Any]:
        """For vLLM however it is started."""
        graphs: dict[str, Any] = {"cudagraph_capture_sizes": list(GRAPH_SIZES)}
        return {
            "load_format": self.load_format,
            "enable_prefix_caching": self.prefix_cache,
            "max_model_len": CONTEXT,
            "max_num_seqs": self.requests,
            "gpu_memory_utilization": MEMORY_SHARE,
            "tensor_parallel_size": self.cards,
            "disable_log_stats": True,
            "seed": 0,
            "compilation_config": graphs if self.graphs else {"cudagraph_mode": "NONE"},
            **({"distributed_executor_backend": "mp"} if self.cards > 1 else {}),
            **({"hf_overrides": self.overrides} if self.overrides else {}),
        }

    def spread(self) -> Config:
        """What a sample's configuration says of the cards."""
        return {spread.NAME: self.cards, "cards": self.cards, **spread.without_multicast(self.cards)}

    def arguments(self) -> dict[str, Any]:
        """For `vllm.LLM`."""
        worker = {"skip_tokenizer_init": True, "worker_extension_cls": vllm_worker.NAME}
        return {"model": self.model, **self.common(), **worker}

    def words(self) -> list[str]:
        """The same for vLLM's command line, but for the model."""
        return [_word(name.replace("_", "-"), value) for name, value in self.common().items()]


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={msgspec.json.encode(value).decode() if isinstance(value, dict) else value}"


def config(session: Session) -> Config:
    """What a sample's configuration says of the session."""
    return {"device": session.device, "weights": "real" if "weights" in session.options else "random"}


@contextmanager
def checkpoint(session: Session, subject: Subject) -> Iterator[Settings]:
    """Settings for the checkpoint that was given, or for a folder that has the shape alone and is gone afterwards.

    Raises NotEnoughMemoryError for a card too small: an engine that runs out of memory while it starts tells so in its
    log alone.
    """
    cards = spread.cards(session)
    spread.without_multicast(cards)
    free, needed = _free_bytes(cards), MEMORY_FACTOR * subject.weight_bytes / cards
    if free is not None and needed > free:
        told = f"{subject} needs {needed / 2**30:.1f} GiB a card, {free / 2**30:.1f} are free"
        raise device.NotEnoughMemoryError(told)
    source = session.options.get("weights")
    if source is not None:
        yield Settings(weights.place(source), "auto", cards)
        return
    with tempfile.TemporaryDirectory() as folder:
        weights.write_config(subject, Path(folder))
        yield Settings(folder, "dummy", cards, overrides=weights.overrides(subject))


def _free_bytes(cards: int) -> int | None:
    """Free memory of the fullest of the first so many cards; None where one does not tell."""
    free = [Card(number).free_bytes() for number in range(cards)]
    return min((size for size in free if size is not None), default=None) if None not in free else None


@contextmanager
def released(cards: int = 1) -> Iterator[None]:
    """Wait, once what was started inside has ended, until the cards have their memory back."""
    before = _free_bytes(cards)
    try:
        yield
    finally:
        end = time.monotonic() + RELEASE_S
        while before and (_free_bytes(cards) or before) < 0.98 * before and time.monotonic() < end:
            time.sleep(0.2)


@contextmanager
def started(settings: Settings) -> Iterator[VLLM]:
    """A started engine; ended, and the card's memory waited for, whatever happens inside."""
    with released(settings.cards):
        engine = VLLM(settings)
        try:
            yield engine
        finally:
            engine.close()


class VLLM:
    """A running vLLM, its engine in processes of its own."""

    def __init__(self, settings: Settings) -> None:
        # Weights are random, and nobody is told of it: no usage report, no question to the hub.
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        from vllm import LLM

        start = time.perf_counter()
        self._llm: Any = LLM(**settings.arguments())
        started_s = round(time.perf_counter() - start, 1)
        print(f"{settings.model}: engine started in {started_s} s", flush=True)
        configured = self._llm.llm_engine.vllm_config
        self.vocabulary = int(configured.model_config.get_vocab_size())
        self._cache_tokens = int(configured.cache_config.num_gpu_blocks or 0) * int(configured.cache_config.block_size)
        self._told: Config = {
            "prefix_cache": settings.prefix_cache,
            **settings.spread(),
            "max_num_seqs": settings.requests,
            "max_model_len": CONTEXT,
            "cuda_graphs": str(getattr(configured.compilation_config.cudagraph_mode, "name", "unknown")).lower(),
            "start_s": started_s,
            **self._llm.collective_rpc("told_of_kernels")[0],
            **(self._llm.collective_rpc("told_of_sums")[0] if settings.cards > 1 else {}),
        }

    @property
    def config(self) -> Config:
        return self._told

    def held(self) -> Held:
        """Sums over the cards. Bytes count on each card that holds them; numbers that several hold count once."""
        parts = self._llm.collective_rpc("told_of_model")
        norms = (len(parts) - 1) * parts[0]["norms"]
        again = sum(part["again"] for part in parts)
        whole = round(sum(part["parameters"] for part in parts) - norms - again)
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
        """Of several cards, what the first does: all of them do the same at the same time."""
        self._llm.collective_rpc("start_tracing")
        self.generate(prompts, tokens)
        return kernels.Trace(**self._llm.collective_rpc("stop_tracing")[0])

    def close(self) -> None:
        """End the engine's processes."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm
