"""Weights for a model of the article: random ones of the true shape, or real ones from a folder or the hub.

Speed does not depend on the values, so random weights measure it as real ones do, and need no download. What a model
says, and when it stops, does depend on them, and is never measured with random ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from measure import device, models
from measure.models import Model, Subject
from measure.session import OptionError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
    from transformers import Qwen3Config, Qwen3ForCausalLM

HUB = "hub:"
"""What an identifier of the hub begins with, as in hub:Qwen/Qwen3-0.6B."""

SPREAD = 0.02
"""Standard deviation of random weights: Qwen3's initializer_range."""

POOL = 2**24
"""Random numbers drawn; larger tensors repeat them, which takes a tenth of the time of drawing each."""


class WeightsError(OptionError):
    """Weights that cannot be used; the message says which, why, and what to do."""


class Counts(NamedTuple):
    """What a built module holds, each tensor counted once."""

    parameters: int
    parameters_without_embeddings: int
    step_bytes: int
    """Bytes a decoding step reads: all but an input embedding that is not the output head too (one row is read)."""


def random(subject: Subject, where: str) -> Qwen3ForCausalLM:
    """A Qwen3 of the subject's shape and precision on device `where`, its matrices normally distributed.

    Built without storage first, so that memory never holds it twice.
    """
    import torch
    from transformers import Qwen3ForCausalLM
    from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding

    config = qwen3_config(subject.model)
    with torch.device("meta"):
        module = Qwen3ForCausalLM(config)
    _plain(module).to(device.dtype(subject.precision)).to_empty(device=where)
    module.tie_weights()
    # The rotation's frequencies are computed, not loaded: without storage they were lost.
    with torch.device(where):
        module.model.rotary_emb = Qwen3RotaryEmbedding(config)
    _fill(module, where)
    _plain(module).eval()
    return module


def real(subject: Subject, where: str, source: str) -> Qwen3ForCausalLM:
    """The checkpoint at `source`, a folder or hub:ID, in the subject's precision on device `where`.

    Raises WeightsError if it is not the subject's shape, lacks a tensor or cannot be read.
    """
    found = shape(source)
    if found != subject.model:
        other = subject.model.name
        raise WeightsError(f"{source}: has the shape of {found.name}, not of {other}. Pass that one's weights.")
    module = _load(source, subject.precision)
    _plain(module).to(where).eval()
    return module


def _load(source: str, precision: str) -> Qwen3ForCausalLM:
    from safetensors import SafetensorError
    from transformers import Qwen3ForCausalLM

    try:
        loaded: Any = Qwen3ForCausalLM.from_pretrained(
            place(source), dtype=device.dtype(precision), output_loading_info=True
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise WeightsError(f"{source}: cannot be loaded: {error}. Check the folder or the identifier.") from error
    module, told = loaded
    if told["missing_keys"]:  # transformers would draw them at random, with a warning alone
        lacking = ", ".join(sorted(told["missing_keys"])[:3])
        raise WeightsError(f"{source}: lacks {lacking}. Download the checkpoint again.")
    return cast("Qwen3ForCausalLM", module)


def check_place(source: str) -> None:
    """Refuse a place on this machine where nothing is."""
    if not source.startswith(HUB) and not os.path.exists(source):  # noqa: PTH110 (Path raises for long names)
        raise WeightsError(f"weights={source}: no such file or folder. Pass one that is there, or hub:OWNER/NAME.")


def shape(source: str) -> Model:
    """The model whose shape the checkpoint at `source` has. Raises WeightsError if there is none, or no checkpoint."""
    found = models.match(_config(source))
    if found is None:
        raise WeightsError(f"{source}: has the shape of no Qwen3 in measure/models.toml. Add its shape there.")
    return found


def subject(source: str) -> Subject:
    """The model and the precision of the checkpoint at `source`. Raises WeightsError if they are not known."""
    config = _config(source)
    found = shape(source)
    stored = str(dict(config.get("quantization_config") or {}).get("quant_method") or _stored_type(config))
    names = {torch_name: name for name, torch_name in device.DTYPES.items()}
    precision = names.get(stored, stored)
    if precision not in models.BYTES_PER_WEIGHT:
        raise WeightsError(f"{source}: stored as {stored!r}, which has no name here. Pass one in bf16, fp16 or fp8.")
    return Subject(found, precision)


def _stored_type(config: Mapping[str, Any]) -> str:
    """transformers renamed the entry."""
    return str(config.get("dtype") or config.get("torch_dtype") or "float32").removeprefix("torch.")


def write_config(subject: Subject, folder: Path) -> None:
    """Write the config.json of a checkpoint of this shape, for an engine that draws its weights itself.

    In the words of the published files, which every version of every engine reads; fp8 as published (e4m3, dynamic
    activations, blocks of 128 x 128). Raises ValueError for an architecture that is neither Qwen3 nor Gemma 4.
    """
    config: dict[str, Any] = {
        **(_gemma4(subject.model) if subject.model.architecture == models.GEMMA4 else _qwen3(subject.model)),
        "attention_bias": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "initializer_range": SPREAD,
        "rms_norm_eps": 1e-6,
        "torch_dtype": device.DTYPES["bf16" if subject.precision == "fp8" else subject.precision],
        "use_cache": True,
    }
    if subject.precision == "fp8":
        blocks = {"activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128]}
        config["quantization_config"] = {"quant_method": "fp8", **blocks}
    (folder / "config.json").write_bytes(msgspec.json.encode(config))


def _qwen3(model: Model) -> dict[str, Any]:
    return {
        **models.qwen3_shape(model),
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": models.QWEN3,
        "hidden_act": "silu",
        "max_position_embeddings": 40960,
        "rope_theta": 1000000,
    }


def _gemma4(model: Model) -> dict[str, Any]:
    return {
        **models.gemma4_shape(model),
        "architectures": ["Gemma4ForCausalLM"],
        "model_type": models.GEMMA4,
        "attention_k_eq_v": True,
        "final_logit_softcapping": 30.0,
        "hidden_activation": "gelu_pytorch_tanh",
        "max_position_embeddings": 131072,
        # Told layer by layer, heads would be hidden from vLLM 0.25.1, which asks for those of the whole: `overrides`.
        "per_layer_config": {},
        "rope_parameters": {
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
        "use_bidirectional_attention": None,
    }


def overrides(subject: Subject) -> dict[str, int]:
    """What vLLM has to be told of a shape besides: transformers 5 takes it out of the whole and into the layers."""
    return models.gemma4_global(subject.model) if subject.model.architecture == models.GEMMA4 else {}


def write_tokenizer(vocabulary: int, folder: Path) -> None:
    """Write a tokenizer of so many words beside a shape, so that a server turns tokens into text as it would.

    One token is one word, `w0` and so on: its text is as long as that of a real one.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{number}": number for number in range(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "w0", "eos_token": "w1", "bos_token": None}
    (folder / "tokenizer_config.json").write_bytes(msgspec.json.encode(told))


def count(module: nn.Module) -> Counts:
    """Count a built causal language model; a tied embedding is one tensor."""
    tensors = {id(tensor): tensor for tensor in module.parameters()}
    embedding, head = _embeddings(module)
    outer = {id(tensor): tensor for tensor in (embedding, head)}
    total = sum(tensor.numel() for tensor in tensors.values())
    held = sum(tensor.nbytes for tensor in tensors.values())
    return Counts(
        parameters=total,
        parameters_without_embeddings=total - sum(tensor.numel() for tensor in outer.values()),
        step_bytes=held if embedding is head else held - embedding.nbytes,
    )


def qwen3_config(model: Model) -> Qwen3Config:
    """The transformers configuration of a Qwen3 of this shape."""
    from transformers import Qwen3Config

    shape: dict[str, Any] = dict(models.qwen3_shape(model))
    rotation: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e6}
    return Qwen3Config(**shape, max_position_embeddings=40960, rms_norm_eps=1e-6, rope_parameters=rotation)


def _embeddings(module: nn.Module) -> tuple[Tensor, Tensor]:
    causal: Any = module
    return causal.get_input_embeddings().weight, causal.get_output_embeddings().weight


def _plain(module: nn.Module) -> nn.Module:
    """The same module under torch's type: transformers wraps its methods in a way that type checkers do not follow."""
    return module


def _fill(module: nn.Module, where: str) -> None:
    import torch

    kind = next(module.parameters()).dtype
    with torch.no_grad():
        pool = torch.empty(POOL, device=where).normal_(0, SPREAD).to(kind)
        for tensor in module.parameters():
            if tensor.dim() == 1:
                tensor.fill_(1.0)  # a norm
            else:
                _tile(tensor.view(-1), pool)


def _tile(flat: torch.Tensor, pool: torch.Tensor) -> None:
    for start in range(0, flat.numel(), pool.numel()):
        part = flat[start : start + pool.numel()]
        part.copy_(pool[: part.numel()])


def _config(source: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_config_file(source).read_bytes(), type=dict[str, Any])
    except (OSError, ValueError) as error:
        raise WeightsError(
            f"{source}: no config.json can be read: {str(error).rstrip('.')}. Pass a checkpoint's folder, or hub:ID."
        ) from error


def _config_file(source: str) -> Path:
    if not source.startswith(HUB):
        return Path(source) / "config.json"
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(place(source), "config.json"))


def place(source: str) -> str:
    """What an engine is given for `source`: a folder, or an identifier of the hub."""
    return source.removeprefix(HUB)
