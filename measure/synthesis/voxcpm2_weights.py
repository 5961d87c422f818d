"""Weights for VoxCPM2, through its package's own classes: random ones of the published shape, or a checkpoint's.

Speed does not depend on the values. What the model says and when it stops does, and is never measured with random ones:
their stop head is zero, so that it never says stop, and lengths are forced.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from measure import device, weights
from measure.weights import WeightsError

if TYPE_CHECKING:
    import torch

PRECISION = "bf16"
"""Of the weights as published; the audio VAE is kept in fp32 by the package."""

_TEXT = "the quick brown fox jumps over the lazy dog and runs back home again to the old red barn by a river"
WORDS = tuple(_TEXT.split())
"""What a model with random weights is given to say: its tokenizer has one token for each of them."""

VOCABULARY = 400
"""Most tokens of that tokenizer. The model's own vocabulary, and so its embedding, has the published size."""

_FOLLOWS = "▁"
"""What stands for a space in the tokens of a Llama tokenizer."""


class Shape(NamedTuple):
    """What the published model is: the package's configuration, and what its classes count for it."""

    config: dict[str, Any]
    parameters: int
    """Without the audio VAE."""
    vae_parameters: int

    @property
    def patch_samples(self) -> int:
        """Samples of sound that one patch becomes."""
        rates: list[int] = self.config["audio_vae_config"]["decoder_rates"]
        return int(self.config["patch_size"]) * math.prod(rates)

    @property
    def sample_rate(self) -> int:
        """Of the sound that comes out, in Hz."""
        return int(self.config["audio_vae_config"]["out_sample_rate"])


@functools.cache
def published() -> Shape:
    """The shape of voxcpm2.toml, its rotation with factors of one."""
    read = msgspec.toml.decode(Path(__file__).with_name("voxcpm2.toml").read_bytes(), type=dict[str, Any])
    language_model = read["config"]["lm_config"]
    factors = [1.0] * (language_model["kv_channels"] // 2)
    language_model["rope_scaling"] |= {"long_factor": factors, "short_factor": factors}
    return Shape(read["config"], read["parameters"], read["vae_parameters"])


def random(where: str, *, compiled: bool) -> Any:  # noqa: ANN401  # voxcpm.VoxCPM, which is not installed everywhere
    """The package's pipeline over random weights of the published shape, built as `VoxCPM2Model.from_local` builds it.

    Built in its own precision at once, so that memory never holds it twice. Raises WeightsError if the package counts
    other numbers for the shape than voxcpm2.toml has.
    """
    import torch

    core, kinds = _package()
    shape = published()
    config = kinds.VoxCPMConfig.model_validate(shape.config)
    torch.manual_seed(0)
    with torch.device(where):
        vae = kinds.AudioVAEV2(config=config.audio_vae_config)
        with _default_type(device.dtype(PRECISION)):
            model = kinds.VoxCPM2Model(config, tokenizer(), vae, None, device=where)
    model = model.to(device.dtype(PRECISION))
    model.audio_vae = model.audio_vae.to(torch.float32)
    model.to(where).requires_grad_(False).stop_head.weight.zero_()
    _check(model, "random weights")
    pipeline = object.__new__(core.VoxCPM)  # its __init__ reads a checkpoint
    pipeline.tts_model, pipeline.text_normalizer, pipeline.denoiser = (
        model.eval().optimize(disable=not compiled),
        None,
        None,
    )
    return pipeline


def real(where: str, source: str, *, compiled: bool) -> Any:  # noqa: ANN401
    """The package's pipeline over the checkpoint at `source`, a folder or hub:ID.

    Raises WeightsError if it is no VoxCPM2 of the published shape and precision, or cannot be read.
    """
    core, _ = _package()
    try:
        pipeline = core.VoxCPM.from_pretrained(
            weights.place(source), load_denoiser=False, optimize=compiled, device=where
        )
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(f"{source}: cannot be loaded: {error}. Check the folder or the identifier.") from error
    _check(pipeline.tts_model, source)
    return pipeline


def write(folder: Path, where: str) -> None:
    """Write a checkpoint of random weights as published ones are, for an engine that reads nothing else."""
    import torch
    from safetensors.torch import save_file

    model = random(where, compiled=False).tts_model
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    own = {name: tensor for name, tensor in held.items() if not name.startswith("audio_vae.")}
    vae = {name.removeprefix("audio_vae."): tensor for name, tensor in held.items() if name not in own}
    save_file(own, folder / "model.safetensors")
    torch.save({"state_dict": vae}, folder / "audiovae.pth")
    (folder / "config.json").write_bytes(msgspec.json.encode(published().config))
    tokenizer().save_pretrained(folder)


def tokenizer() -> Any:  # noqa: ANN401  # a tokenizer of transformers
    """A tokenizer of the published one's kind, in which each of WORDS is one token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    made = Tokenizer(models.BPE(unk_token=special["unk_token"], fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend(_FOLLOWS), normalizers.Replace(" ", _FOLLOWS)])
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=1,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in special.values()],
        show_progress=False,
    )
    # Word by word, so that no token crosses a space.
    made.train_from_iterator(WORDS, trainer)
    made.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)  # type: ignore[no-untyped-call]  # transformers'


def count(model: torch.nn.Module) -> tuple[int, int]:
    """Numbers in the model without its audio VAE, and in that. A compiled module's tensors count once."""
    named = dict(model.named_parameters())
    vae = sum(tensor.numel() for name, tensor in named.items() if name.startswith("audio_vae."))
    return sum(tensor.numel() for tensor in named.values()) - vae, vae


def _check(model: Any, source: str) -> None:  # noqa: ANN401  # voxcpm's model
    shape, counted = published(), count(model)
    if counted != (shape.parameters, shape.vae_parameters):
        wanted = f"{shape.parameters} and {shape.vae_parameters} in the audio VAE"
        raise WeightsError(
            f"{source}: has {counted[0]} numbers and {counted[1]}, VoxCPM2 has {wanted}. Pass that model."
        )
    if device.DTYPES[PRECISION] != model.config.dtype:
        raise WeightsError(f"{source}: runs in {model.config.dtype}, not in {device.DTYPES[PRECISION]}. Pass that one.")


class _Kinds(NamedTuple):
    """The package's classes that a model is built from."""

    VoxCPM2Model: Any
    VoxCPMConfig: Any
    AudioVAEV2: Any


def _package() -> tuple[Any, _Kinds]:
    """voxcpm's pipeline module and its classes. Without the bar that it would draw for each utterance."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    from voxcpm import core
    from voxcpm.model import voxcpm2
    from voxcpm.modules.audiovae import AudioVAEV2

    return core, _Kinds(voxcpm2.VoxCPM2Model, voxcpm2.VoxCPMConfig, AudioVAEV2)


@contextmanager
def _default_type(wanted: torch.dtype) -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(wanted)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
