"""llama.cpp through llama-cpp-python's low-level interface, driven as llama.cpp's own llama-bench drives the library.

The next token is a random one, since its value does not change the work, and the device is waited for after each step.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import device, kernels
from measure.card import Card
from measure.decoding import Answer, Held, Prompt
from measure.engines import gguf_file
from measure.models import Subject
from measure.results import Config
from measure.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEEDS = ("llama_cpp", "gguf", "numpy")

OPTIONS = ("weights",)
"""weights=FILE.gguf or weights=hub:OWNER/NAME/FILE.gguf measures a real model file in place of random weights."""

BATCH = 2048
"""Tokens that one call may take, and llama.cpp's default."""

CONTEXT_GRAIN = 256
"""llama.cpp makes the cache of a sequence a multiple of so many tokens."""

ALL_LAYERS = 999
"""More layers than any model has: all of them go onto the card."""

MEMORY_FACTOR = 1.1
"""Memory a model needs at least, as a multiple of its weights."""


def config(session: Session) -> Config:
    """What a sample's configuration says of the session."""
    return {"device": session.device, "weights": "real" if "weights" in session.options else "random"}


def given(session: Session) -> str:
    """Model and precision of the file that was given; empty if none was."""
    source = session.options.get("weights")
    return "" if source is None else str(gguf_file.subject(gguf_file.locate(source)))


@contextmanager
def file(session: Session, subject: Subject) -> Iterator[Path]:
    """The file that was given, or a random one that is gone afterwards.

    Raises NotEnoughMemoryError for a card too small.
    """
    free = Card().free_bytes() if session.device == "cuda" else None
    if free is not None and MEMORY_FACTOR * subject.weight_bytes > free:
        needed = MEMORY_FACTOR * subject.weight_bytes / 2**30
        raise device.NotEnoughMemoryError(f"{subject} needs {needed:.1f} GiB, {free / 2**30:.1f} are free")
    source = session.options.get("weights")
    if source is not None:
        yield gguf_file.locate(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        gguf_file.write_random(subject, Path(folder) / "random.gguf")
        print(f"{subject}: file written in {time.perf_counter() - start:.1f} s", flush=True)
        yield Path(folder) / "random.gguf"


@contextmanager
def loaded(session: Session, subject: Subject) -> Iterator[Llama]:
    """A loaded model; freed, whatever happens inside."""
    with file(session, subject) as path:
        engine = Llama(path, session)
        try:
            yield engine
        finally:
            engine.close()


class Batch:
    """A llama_batch over arrays of this process, so that filling it costs no loop over its tokens."""

    def __init__(self, library: Any) -> None:  # noqa: ANN401  # llama_cpp's module
        import numpy

        self.tokens, self.positions, self.sequences = (numpy.zeros(BATCH, numpy.int32) for _ in range(3))
        self._wanted, self._ones = numpy.zeros(BATCH, numpy.int8), numpy.ones(BATCH, numpy.int32)
        self._places = self.sequences.ctypes.data + 4 * numpy.arange(BATCH, dtype=numpy.uint64)
        fields = dict(library.llama_batch._fields_)

        def pointer(array: NDArray[Any], name: str) -> object:
            return ctypes.cast(array.ctypes.data, fields[name])

        self.struct = library.llama_batch(
            n_tokens=0,
            token=pointer(self.tokens, "token"),
            pos=pointer(self.positions, "pos"),
            n_seq_id=pointer(self._ones, "n_seq_id"),
            seq_id=pointer(self._places, "seq_id"),
            logits=pointer(self._wanted, "logits"),
        )

    def fill(
        self, tokens: NDArray[Any], positions: NDArray[Any], sequences: NDArray[Any], wanted: NDArray[Any]
    ) -> None:
        """Tokens, the place of each in its sequence, the sequence of each, and whether its logits are wanted."""
        count = len(tokens)
        self.struct.n_tokens = count
        self.tokens[:count], self.positions[:count] = tokens, positions
        self.sequences[:count], self._wanted[:count] = sequences, wanted

    def step(self, tokens: NDArray[Any]) -> None:
        """The next token of each sequence, one place further; little is done here, while the device waits."""
        count = len(tokens)
        self.tokens[:count] = tokens
        self.positions[:count] += 1


class Llama:
    """A model loaded by llama.cpp, and a context for as many sequences as are asked for."""

    def __init__(self, path: Path, session: Session) -> None:
        import llama_cpp
        import numpy

        self._library: Any = llama_cpp
        self._errors = _listen(llama_cpp)
        llama_cpp.llama_backend_init()
        if session.device != "cpu" and not llama_cpp.llama_supports_gpu_offload():
            raise NotImplementedError("this llama-cpp-python was compiled without a GPU; set CMAKE_ARGS, install again")
        asked = llama_cpp.llama_model_default_params()
        asked.n_gpu_layers = 0 if session.device == "cpu" else ALL_LAYERS
        start = time.perf_counter()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), asked)
        if not self._model:
            raise _refused("the model could not be loaded", self._errors)
        self._load_s = round(time.perf_counter() - start, 2)
        print(f"loaded in {self._load_s} s", flush=True)
        self.vocabulary = int(llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model)))
        self._threads, self._gpu_layers = session.machine.cores or 1, int(asked.n_gpu_layers)
        self._device = session.device
        self._context: Any = None
        self._shape = (0, 0)
        self._batch = Batch(llama_cpp)
        self._random = numpy.random.default_rng(0)

    @property
    def config(self) -> Config:
        """Batch sizes and attention are llama.cpp's defaults."""
        return {
            "gpu_layers": self._gpu_layers,
            "threads": self._threads,
            "batch": BATCH,
            "tensor_parallel": 1,
            "cards": 1,
            "next_token": "random",
            "load_s": self._load_s,
        }

    def held(self) -> Held:
        size = int(self._library.llama_model_size(self._model))
        whole = int(self._library.llama_model_n_params(self._model))
        embedding = self.vocabulary * int(self._library.llama_model_n_embd(self._model))
        return Held(size, whole, whole - embedding)

    def prepare(self, requests: int, tokens: int) -> None:
        """A context in which each sequence has a cache of its own, as long as it needs."""
        each = -(-tokens // CONTEXT_GRAIN) * CONTEXT_GRAIN
        if self._shape == (requests, each):
            return
        self._free()
        asked = self._library.llama_context_default_params()
        asked.n_ctx, asked.n_seq_max, asked.n_outputs_max = requests * each, requests, requests
        asked.n_batch = BATCH
        asked.n_threads = asked.n_threads_batch = self._threads
        asked.no_perf = False
        self._errors.clear()
        self._context = self._library.llama_init_from_model(self._model, asked)
        if not self._context:
            raise _refused(f"no context for {requests} sequences of {each} tokens", self._errors)
        self._shape = (requests, each)
        self._memory = self._library.llama_get_memory(self._context)

    def generate(self, prompts: list[Prompt], tokens: int) -> Answer:
        """The prompts give the first token, each further step one more."""
        import numpy

        requests, length = len(prompts), len(prompts[0])
        self._library.llama_memory_clear(self._memory, False)
        cached = 1 + int(self._library.llama_memory_seq_pos_max(self._memory, 0))
        drawn = self._random.integers(0, self.vocabulary, (tokens - 1, requests), numpy.int32)
        self._prefill(numpy.asarray(prompts, numpy.int32))
        produced = self._settled(requests)
        places = numpy.full(requests, length - 1)
        self._batch.fill(places, places, numpy.arange(requests), numpy.ones(requests, numpy.int8))
        for fed in drawn:
            self._batch.step(fed)
            self._decode()
            produced += self._settled(requests)
        return Answer((produced // requests,) * requests, cached)

    def traced(self, prompts: list[Prompt], tokens: int) -> kernels.Trace:
        """Seen through torch's profiler, which is no part of this engine's environment."""
        try:
            import torch
        except ImportError:
            raise NotImplementedError("kernels are traced through torch's profiler; install torch beside") from None
        if self._device != "cuda" or not torch.cuda.is_available():
            raise NotImplementedError("kernels are traced on NVIDIA cards, by a torch that can use them")
        return kernels.trace(lambda: self.generate(prompts, tokens))

    def noted(self) -> Config:
        """Tokens a second by llama.cpp's own clock since it was asked last; it counts steps of one request alone."""
        told = self._library.llama_perf_context(self._context)
        self._library.llama_perf_context_reset(self._context)
        return {"library_tok_s": 1e3 * told.n_eval / told.t_eval_ms} if told.n_eval and told.t_eval_ms else {}

    def close(self) -> None:
        """Free the context and the model."""
        self._free()
        self._library.llama_model_free(self._model)

    def _free(self) -> None:
        if self._context:
            self._library.llama_free(self._context)
        self._context, self._shape = None, (0, 0)

    def _prefill(self, prompts: NDArray[Any]) -> None:
        """Prompts one after another, in calls of at most BATCH tokens; of each, the last token's logits are wanted."""
        import numpy

        requests, length = prompts.shape
        positions, sequences = numpy.tile(numpy.arange(length), requests), numpy.repeat(numpy.arange(requests), length)
        wanted = (positions == length - 1).astype(numpy.int8)
        tokens = prompts.reshape(-1)
        for start in range(0, len(tokens), BATCH):
            part = slice(start, start + BATCH)
            self._batch.fill(tokens[part], positions[part], sequences[part], wanted[part])
            self._decode()

    def _decode(self) -> None:
        code = self._library.llama_decode(self._context, self._batch.struct)
        if code:
            raise _refused(f"llama_decode gave {code}", self._errors)

    def _settled(self, requests: int) -> int:
        """Wait for the device; how many tokens' logits have arrived: each request's, if the last one's are there."""
        self._library.llama_synchronize(self._context)
        return requests if self._library.llama_get_logits_ith(self._context, -1) else 0


_ERROR = 4
"""GGML_LOG_LEVEL_ERROR of ggml.h."""


def _listen(library: Any) -> list[str]:  # noqa: ANN401
    """Keep llama.cpp from printing, and collect what it says of errors."""
    heard: list[str] = []

    def hear(level: int, text: bytes, _: object) -> None:
        if level == _ERROR:
            heard.append(text.decode("utf-8", "replace").strip())

    callback = library.llama_log_callback(hear)
    library.llama_log_set(callback, ctypes.c_void_p(0))
    _KEPT.append(callback)
    return heard


_KEPT: list[object] = []
"""Callbacks that llama.cpp may call until the process ends."""


def _refused(what: str, errors: list[str]) -> Exception:
    """What to raise: memory that ran out is told in llama.cpp's words alone."""
    text = "; ".join([what, *errors[:2]])
    return MemoryError(text) if "alloc" in text else RuntimeError(text)
