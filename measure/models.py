"""The language models: what their published shapes say of parameters, bytes and arithmetic.

The shapes are data (models.toml). Counting them here, without torch, lets the article check an engine's figures against
the shape, and lets a measurement know before it starts whether a model fits.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

BYTES_PER_WEIGHT: Mapping[str, float] = {
    "fp32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "q8_0": 34 / 32,
    "q4_0": 18 / 32,
}
"""Bytes a matrix element takes; q8_0 and q4_0 are GGUF blocks of 32 elements and one 16-bit scale (ggml-common.h)."""

BYTES_PER_EMBEDDING: Mapping[str, float] = {**BYTES_PER_WEIGHT, "fp8": 2, "q4_0": 210 / 256}
"""Bytes an element of the embedding takes, which is the output head too: vLLM leaves it at 16 bits beside fp8, and
llama.cpp's quantiser stores it in q6_K beside q4_0, blocks of 256 elements in 210 bytes (ggml-common.h)."""

QWEN3 = "qwen3"
"""The architecture whose layers are all alike."""

GEMMA4 = "gemma4_unified_text"
"""The architecture in which layers that look back on a window alternate with layers that see everything."""

KV_BYTES_PER_VALUE: Mapping[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 2, "q8_0": 2, "q4_0": 2}
"""Bytes of one cached number. Quantised weights leave the cache at 16 bits, in vLLM and llama.cpp, unless told so."""


class Attention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layers of one model that share a kind of attention."""

    layers: int
    heads: int
    kv_heads: int
    head: int
    """Numbers in one head."""
    window: int = 0
    """Positions a token looks back on; 0 means all."""
    keys_are_values: bool = False
    """One projection gives keys and values. Both are still cached: rotation makes the keys differ."""

    def parameters(self, hidden: int) -> int:
        """Numbers in one layer's projections, and in the norms of its queries and keys."""
        projections = 1 if self.keys_are_values else 2
        return hidden * self.head * (2 * self.heads + projections * self.kv_heads) + 2 * self.head

    def span(self, length: int) -> int:
        """Positions of a context of `length` tokens that one layer reads."""
        return min(length, self.window) if self.window else length


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decoder-only transformer with gated feed-forward layers and a tied embedding."""

    title: str
    architecture: str
    """`model_type` of the published config.json (of its text part)."""
    source: str
    hidden: int
    ffn: int
    vocabulary: int
    attention: tuple[Attention, ...]
    norms_per_layer: int = 2
    name: str = ""

    @property
    def layers(self) -> int:
        return sum(group.layers for group in self.attention)

    @property
    def parameters(self) -> int:
        """Numbers in the model; the embedding, which is the output head too, counted once."""
        return self.parameters_without_embeddings + self.embedding_parameters

    @property
    def embedding_parameters(self) -> int:
        return self.vocabulary * self.hidden

    @property
    def parameters_without_embeddings(self) -> int:
        attention = sum(group.layers * group.parameters(self.hidden) for group in self.attention)
        rest = 3 * self.hidden * self.ffn + self.norms_per_layer * self.hidden
        return attention + self.layers * rest + self.hidden

    def kv_values(self, length: int) -> int:
        """Numbers one request's cache holds, and a decoding step reads, at a context of `length` tokens."""
        return sum(group.layers * 2 * group.kv_heads * group.head * group.span(length) for group in self.attention)

    @property
    def windows(self) -> tuple[int, ...]:
        """The windows that some of its layers look back on, each once; layers that see everything have none."""
        return tuple(dict.fromkeys(group.window for group in self.attention if group.window))

    def kv_bytes(self, length: int, bytes_per_value: float) -> float:
        """Bytes a decoding step reads of one request's cache at a context of `length` tokens."""
        return self.kv_values(length) * bytes_per_value

    def flops_per_token(self, length: int = 0, head: bool = True) -> int:
        """Floating-point operations to process one token that looks back on `length` positions.

        Multiply and add are two. With `head` the output head runs, as it does for each generated token; in prefill only
        for the last one. Norms, rotations and softmax are left out.
        """
        matrices = 2 * (self.parameters_without_embeddings - self._norm_parameters())
        attention = sum(4 * group.layers * group.heads * group.head * group.span(length) for group in self.attention)
        return matrices + attention + (2 * self.embedding_parameters if head else 0)

    def _norm_parameters(self) -> int:
        heads = sum(2 * group.layers * group.head for group in self.attention)
        return heads + (self.layers * self.norms_per_layer + 1) * self.hidden


class Subject(NamedTuple):
    """What a sample is about: a model in a precision, written qwen3-1.7b-bf16."""

    model: Model
    precision: str

    def __str__(self) -> str:
        return f"{self.model.name}-{self.precision}"

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights if every matrix were stored in the precision; engines leave some at 16 bits."""
        return self.model.parameters * BYTES_PER_WEIGHT[self.precision]


@functools.cache
def models() -> Mapping[str, Model]:
    """All models of models.toml by name."""
    tables = msgspec.toml.decode(Path(__file__).with_name("models.toml").read_bytes(), type=dict[str, Model])
    return {name: msgspec.structs.replace(model, name=name) for name, model in tables.items()}


def subject(text: str) -> Subject:
    """Read `qwen3-1.7b-bf16`. Raises ValueError naming what is known if the model or the precision is not."""
    name, _, precision = text.rpartition("-")
    if name not in models():
        raise ValueError(
            f"{text!r}: no model {name!r}; measure/models.toml has {', '.join(models())}. Correct the name."
        )
    if precision not in BYTES_PER_WEIGHT:
        raise ValueError(
            f"{text!r}: no precision {precision!r}; known are {', '.join(BYTES_PER_WEIGHT)}. Correct the name."
        )
    return Subject(models()[name], precision)


def kv_bytes(text: str, length: int) -> float:
    """Bytes a decoding step of subject `text` reads of one request's cache at a context of `length` tokens."""
    model, precision = subject(text)
    return model.kv_bytes(length, KV_BYTES_PER_VALUE[precision])


def weight_bytes(text: str) -> float:
    """Bytes of all weights of subject `text` if every matrix were stored in its precision."""
    return subject(text).weight_bytes


def kv_bytes_per_token(text: str, window: int | None = None) -> float:
    """Bytes one more token adds to the cache of subject `text` while the context fits every layer's window.

    With `window`, only in the layers that look back on so many positions; 0 stands for those that see everything.
    """
    model, precision = subject(text)
    if window is not None:
        model = msgspec.structs.replace(
            model, attention=tuple(group for group in model.attention if group.window == window)
        )
    return model.kv_bytes(1, KV_BYTES_PER_VALUE[precision])


def match(config: Mapping[str, Any]) -> Model | None:
    """The Qwen3 model whose shape a checkpoint's config.json states, or None."""
    qwen3 = (model for model in models().values() if model.architecture == QWEN3)
    return next((model for model in qwen3 if _fits(model, config)), None)


def _fits(model: Model, config: Mapping[str, Any]) -> bool:
    stated = {name: config.get(name) for name in qwen3_shape(model)}
    return config.get("model_type") == QWEN3 and stated == qwen3_shape(model)


def qwen3_shape(model: Model) -> dict[str, int | bool]:
    """The shape in the words of a Qwen3 config.json. Raises ValueError for a model of another architecture."""
    if model.architecture != QWEN3:
        raise ValueError(
            f"{model.name} is a {model.architecture}, and this engine builds {QWEN3}. Choose such a model."
        )
    (attention,) = model.attention
    return {
        "hidden_size": model.hidden,
        "intermediate_size": model.ffn,
        "num_hidden_layers": attention.layers,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head,
        "vocab_size": model.vocabulary,
        "tie_word_embeddings": True,
    }


def gemma4_shape(model: Model) -> dict[str, int | bool | list[str]]:
    """The shape in the words of a Gemma 4 text config.json, without what `gemma4_global` tells."""
    sliding, full = model.attention
    every = model.layers // full.layers
    return {
        "hidden_size": model.hidden,
        "intermediate_size": model.ffn,
        "num_hidden_layers": model.layers,
        "num_attention_heads": sliding.heads,
        "num_key_value_heads": sliding.kv_heads,
        "head_dim": sliding.head,
        "sliding_window": sliding.window,
        "layer_types": [
            "sliding_attention" if layer % every else "full_attention" for layer in range(1, model.layers + 1)
        ],
        "vocab_size": model.vocabulary,
        "tie_word_embeddings": True,
    }


def gemma4_global(model: Model) -> dict[str, int]:
    """The heads of the layers that see everything, in the words of a Gemma 4 text config.json."""
    _, full = model.attention
    return {"global_head_dim": full.head, "num_global_key_value_heads": full.kv_heads}
