"""Model files of llama.cpp (GGUF): random ones of a model's true shape, and what a real one holds.

Speed does not depend on the values, but a file must load: names, shapes and metadata are those that llama.cpp's own
converter writes for the architecture (conversion/qwen.py, conversion/gemma.py of its repository). There is no
vocabulary in it, only its size: prompts are given as tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from measure import models
from measure.models import Attention, Model, Subject
from measure.weights import HUB, SPREAD, WeightsError

if TYPE_CHECKING:
    from gguf import GGUFReader, GGUFWriter
    from numpy.typing import NDArray

TYPES = {"fp32": "F32", "fp16": "F16", "bf16": "BF16", "q8_0": "Q8_0", "q4_0": "Q4_0"}
"""GGUF's name of each precision."""

EMBEDDING_TYPES = {"q4_0": "Q6_K"}
"""Where the embedding, which is the output head too, is kept finer than the rest; so does llama.cpp's quantiser."""

ARCHITECTURES = {models.QWEN3: "qwen3", "gemma4_unified_text": "gemma4"}
"""llama.cpp's name of each architecture of models.toml."""

CONTEXT = 40960

POOL = 2**20
"""Random blocks drawn; larger tensors repeat them."""

ROTATED = 0.25
"""Share of a head that Gemma 4 rotates in the layers that see the whole context."""

_NEVER = 1e30
"""Divides a rotation's frequency so that the numbers it stands for stay unrotated."""


class Tensor(NamedTuple):
    """One tensor of a file, of so many rows of so many numbers; without rows, a vector in fp32."""

    name: str
    columns: int
    rows: int = 0
    value: float = 1.0
    """Of each number of a vector."""


def write_random(subject: Subject, path: Path) -> None:
    """Write a model file of the subject's shape, its matrices random, its norms one.

    Raises NotImplementedError for an architecture or a precision that is not known here.
    """
    import gguf

    model = subject.model
    if model.architecture not in ARCHITECTURES or subject.precision not in TYPES:
        raise NotImplementedError(f"no GGUF of {subject}: its architecture or its precision is not known here")
    writer = gguf.GGUFWriter(path, ARCHITECTURES[model.architecture])
    _metadata(writer, model)
    filler = _Filler()
    listed = [(tensor, _type(tensor, subject.precision)) for tensor in tensors(model)]
    for tensor, kind in listed:
        if tensor.name != ROPE:
            writer.add_tensor(tensor.name, filler.fill(tensor, kind), raw_dtype=kind)
        else:
            writer.add_tensor(ROPE, _rope_factors(tensor.columns))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


ROPE = "rope_freqs.weight"


def tensors(model: Model) -> Iterator[Tensor]:
    """All tensors of a model's file, in its order."""
    yield Tensor("token_embd.weight", model.hidden, model.vocabulary)
    yield Tensor("output_norm.weight", model.hidden)
    gemma = model.architecture != models.QWEN3
    if gemma:
        yield Tensor(ROPE, _widest(model) // 2)
    for number, attention in enumerate(layers(model)):
        yield from (part._replace(name=f"blk.{number}.{part.name}.weight") for part in _layer(model, attention, gemma))


def _layer(model: Model, attention: Attention, gemma: bool) -> Iterator[Tensor]:
    hidden, heads, kept = model.hidden, attention.heads * attention.head, attention.kv_heads * attention.head
    yield Tensor("attn_norm", hidden)
    yield Tensor("attn_q", hidden, heads)
    yield Tensor("attn_k", hidden, kept)
    if not attention.keys_are_values:
        yield Tensor("attn_v", hidden, kept)
    yield Tensor("attn_output", heads, hidden)
    yield Tensor("attn_q_norm", attention.head)
    yield Tensor("attn_k_norm", attention.head)
    yield Tensor("ffn_norm", hidden)
    yield Tensor("ffn_gate", hidden, model.ffn)
    yield Tensor("ffn_up", hidden, model.ffn)
    yield Tensor("ffn_down", model.ffn, hidden)
    if gemma:
        yield Tensor("post_attention_norm", hidden)
        yield Tensor("post_ffw_norm", hidden)


def layers(model: Model) -> list[Attention]:
    """The attention of each layer in turn: those of the smallest group come last in each of equal stretches."""
    if len(model.attention) == 1:
        return [model.attention[0]] * model.layers
    many, few = sorted(model.attention, key=lambda group: -group.layers)
    stretch = model.layers // few.layers
    return [few if (number + 1) % stretch == 0 else many for number in range(model.layers)]


def _widest(model: Model) -> int:
    return max(group.head for group in model.attention)


def _metadata(writer: GGUFWriter, model: Model) -> None:
    every = layers(model)
    writer.add_block_count(model.layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(model.hidden)
    writer.add_feed_forward_length(model.ffn)
    writer.add_head_count(every[0].heads)
    writer.add_head_count_kv(every[0].kv_heads if len(model.attention) == 1 else [one.kv_heads for one in every])
    writer.add_key_length(_widest(model))
    writer.add_value_length(_widest(model))
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(model.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    if model.architecture != models.QWEN3:
        _gemma_metadata(writer, every)


def _gemma_metadata(writer: GGUFWriter, every: list[Attention]) -> None:
    wide, narrow = max(one.head for one in every), min(one.head for one in every)
    writer.add_sliding_window(max(one.window for one in every))
    writer.add_sliding_window_pattern([bool(one.window) for one in every])
    writer.add_key_length_swa(narrow)
    writer.add_value_length_swa(narrow)
    writer.add_rope_dimension_count(wide)
    writer.add_rope_dimension_count_swa(narrow)
    writer.add_rope_freq_base_swa(1e4)
    writer.add_final_logit_softcapping(30.0)
    writer.add_shared_kv_layers(0)
    writer.add_embedding_length_per_layer_input(0)


def _type(tensor: Tensor, precision: str) -> Any:  # noqa: ANN401  # gguf's enumeration
    import gguf

    name = TYPES[precision] if tensor.rows else "F32"
    if tensor.name.startswith("token_embd"):
        name = EMBEDDING_TYPES.get(precision, name)
    kind = gguf.GGMLQuantizationType[name]
    block = gguf.GGML_QUANT_SIZES[kind][0]
    if tensor.columns % block and tensor.rows:
        raise NotImplementedError(f"{tensor.name} has rows of {tensor.columns}, and {name} takes blocks of {block}")
    return kind


def _rope_factors(half: int) -> NDArray[Any]:
    import numpy

    factors = numpy.full(half, _NEVER, numpy.float32)
    factors[: int(half * ROTATED)] = 1.0
    return factors


class _Filler:
    """Arrays of random blocks, drawn once a type, and one array for all tensors of a size."""

    def __init__(self) -> None:
        import numpy

        self._random = numpy.random.default_rng(0)
        self._pools: dict[str, NDArray[Any]] = {}
        self._made: dict[tuple[str, int, int], NDArray[Any]] = {}

    def fill(self, tensor: Tensor, kind: Any) -> NDArray[Any]:  # noqa: ANN401
        import gguf
        import numpy

        if not tensor.rows:
            return numpy.full(tensor.columns, tensor.value, numpy.float32)
        shape = (kind.name, tensor.rows, tensor.columns)
        if shape not in self._made:
            count = tensor.rows * tensor.columns // gguf.GGML_QUANT_SIZES[kind][0]
            pool = self._pools.setdefault(kind.name, self._blocks(kind.name))
            self._made[shape] = numpy.resize(pool, (count, pool.shape[1])).reshape(tensor.rows, -1)
        return self._made[shape]

    def _blocks(self, name: str) -> NDArray[Any]:
        """POOL random blocks of a type as bytes, their numbers spread by about SPREAD around zero."""
        import numpy

        if name in ("F32", "F16", "BF16"):
            normal = (self._random.standard_normal((POOL, 1)) * SPREAD).astype(numpy.float32)
            if name == "BF16":
                return (normal.view(numpy.uint32) >> 16).astype(numpy.uint16).view(numpy.uint8)
            return normal.astype(numpy.float32 if name == "F32" else numpy.float16).view(numpy.uint8)
        size, scale_at, scale = _LAYOUT[name]
        blocks = self._random.integers(0, 256, (POOL, size), dtype=numpy.uint8)
        if name == "Q6_K":
            blocks[:, 192:208] = 8  # the scales of its 16 parts, whole numbers
        blocks[:, scale_at : scale_at + 2] = numpy.full((1, 1), scale, numpy.float16).view(numpy.uint8)
        return blocks


_LAYOUT = {"Q4_0": (18, 0, SPREAD / 4.6), "Q8_0": (34, 0, SPREAD / 74), "Q6_K": (210, 208, SPREAD / (18.5 * 8))}
"""Bytes of a block, where its 16-bit scale is, and the scale: SPREAD over the deviation of the block's whole numbers
(ggml-common.h)."""


def locate(source: str) -> Path:
    """The file at `source`: a path, or hub:OWNER/NAME/FILE.gguf, which is downloaded once."""
    if not source.startswith(HUB):
        if not Path(source).is_file():
            raise WeightsError(f"{source}: no such file. Pass a GGUF file, or hub:OWNER/NAME/FILE.gguf.")
        return Path(source)
    owner, _, rest = source.removeprefix(HUB).partition("/")
    name, _, file = rest.partition("/")
    if not (owner and name and file):
        raise WeightsError(f"{source}: names no file of the hub. Write hub:OWNER/NAME/FILE.gguf.")
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(f"{owner}/{name}", file))


def subject(path: Path) -> Subject:
    """The model and precision of a model file. Raises WeightsError if it is none, or of a shape not in models.toml."""
    import gguf

    try:
        reader = gguf.GGUFReader(path)
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path.name}: not a GGUF file: {error}. Download it again.") from error
    shape = {tensor.name: tuple(int(n) for n in tensor.shape) for tensor in reader.tensors}
    for model in models.models().values():
        if model.architecture in ARCHITECTURES and _fits(model, shape):
            return Subject(model, _precision(path, reader))
    raise WeightsError(f"{path.name}: has the shape of no model in measure/models.toml. Add its shape there.")


def _fits(model: Model, shape: dict[str, tuple[int, ...]]) -> bool:
    """Whether a file has all matrices of the model, in its shape, and no further layer. GGUF gives columns first."""
    wanted = {one.name: (one.columns, one.rows) for one in tensors(model) if one.rows}
    further = f"blk.{model.layers}.attn_norm.weight"
    return further not in shape and all(shape.get(name) == size for name, size in wanted.items())


def _precision(path: Path, reader: GGUFReader) -> str:
    """The type in which most numbers are stored."""
    counts: dict[str, int] = {}
    for tensor in reader.tensors:
        counts[tensor.tensor_type.name] = counts.get(tensor.tensor_type.name, 0) + int(tensor.n_elements)
    name = max(counts, key=lambda kind: counts[kind])
    known = {gguf_name: precision for precision, gguf_name in TYPES.items()}
    if name not in known:
        raise WeightsError(f"{path.name}: stored as {name}, which has no name here. Pass one of {', '.join(known)}.")
    return known[name]
