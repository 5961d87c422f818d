"""Magpie TTS as NeMo's own classes build it: random weights of the published shape, or those of a checkpoint.

What the published weights bring along besides numbers are their text tokenizers (pronouncing dictionaries), so with
random weights the text is random tokens of the same vocabulary.
"""

from __future__ import annotations

import functools
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from measure import device
from measure.results import Config
from measure.synthesis import magpie_text
from measure.synthesis.stopwatch import replaced
from measure.weights import HUB, WeightsError

LOADED_BYTES = 3 * 2**30
"""What a model needs at least: weights, codec and masks in fp32 take half of it, loading as much again for a while."""

CONFIG = "model_config.yaml"
"""The file of a .nemo archive that holds the configuration."""


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What magpie.toml holds."""

    source: str
    stack: int
    """Frames that one step of the decoder predicts."""
    voices: int
    voice_positions: int
    """Positions of the decoder that a voice takes ahead of the first frame."""
    vocabulary: int
    model: dict[str, Any]
    codec: dict[str, Any]


class Checkpoint(NamedTuple):
    """The files of real weights."""

    model: Path
    codec: Path | None = None
    """Of the codec, where it lies beside; else the package fetches the one that the configuration names."""


@functools.cache
def shape() -> Shape:
    """The published model's shape."""
    return msgspec.toml.decode(Path(__file__).with_name("magpie.toml").read_bytes(), type=Shape)


def random(stack: int, where: str) -> Any:  # noqa: ANN401  # NeMo's class, which importing this must not import
    """A MagpieTTSModel of the published shape that predicts `stack` frames a step, on device `where`.

    Numbers are drawn as the classes initialise them. A model is trained for one number of frames a step: another one
    changes its tables of codes and its heads, nothing else.
    """
    import torch

    torch.manual_seed(0)
    return _ready(build(stack), where)


def build(stack: int) -> Any:  # noqa: ANN401
    """The same as torch makes it, on its default device."""
    from omegaconf import OmegaConf

    module = package()
    codec = module.AudioCodecModel(cfg=OmegaConf.create(codec_config()))
    with (
        replaced(module.AudioCodecModel, "from_pretrained", lambda _: lambda *args, **kwargs: codec),
        replaced(module, "setup_tokenizers", lambda _: lambda **kwargs: Vocabulary(shape().vocabulary)),
    ):
        model = module.MagpieTTSModel(cfg=OmegaConf.create(model_config(stack)))
    draw_voices(model)
    return model


def real(checkpoint: Checkpoint, where: str) -> Any:  # noqa: ANN401
    """The checkpoint's MagpieTTSModel on device `where`. Raises WeightsError if it cannot be loaded."""
    from omegaconf import open_dict

    module = package()
    try:
        config = module.MagpieTTSModel.restore_from(str(checkpoint.model), return_config=True)
        with open_dict(config):
            config.train_ds = config.validation_ds = None
            if checkpoint.codec:
                config.codecmodel_path = str(checkpoint.codec)
        model = module.MagpieTTSModel.restore_from(
            str(checkpoint.model), override_config_path=config, map_location=where
        )
    except (OSError, RuntimeError, ValueError, KeyError, tarfile.TarError) as error:
        cure = "Pass a .nemo file of Magpie, or a folder with that of its codec beside."
        raise WeightsError(f"{checkpoint.model.name}: cannot be loaded: {error}. {cure}") from error
    if not model.has_baked_context_embedding:
        raise WeightsError(f"{checkpoint.model.name}: holds no voices. Pass a published Magpie, which has some.")
    return _ready(model, where)


def locate(source: str) -> Checkpoint:
    """The files that `weights=` names: FILE.nemo, a folder of .nemo files, hub:OWNER/NAME or hub:OWNER/NAME/FILE.nemo.

    From the hub they are downloaded, unless they were before. Raises WeightsError where there is no such file.
    """
    if source.startswith(HUB):
        return Checkpoint(_download(source.removeprefix(HUB)))
    place = Path(source)
    if place.is_file():
        return Checkpoint(place)
    found = {_kind(path): path for path in sorted(place.glob("*.nemo"))}
    if "MagpieTTSModel" not in found:
        raise WeightsError(f"{source}: no .nemo file of Magpie there. Pass such a file, its folder, or hub:OWNER/NAME.")
    return Checkpoint(found["MagpieTTSModel"], found.get("AudioCodecModel"))


def _download(name: str) -> Path:
    """NeMo calls the file of a repository as the repository."""
    from huggingface_hub import hf_hub_download

    owner, repository, *file = name.split("/", 2)
    return Path(hf_hub_download(f"{owner}/{repository}", file[0] if file else f"{repository}.nemo"))


def stored_config(path: Path) -> dict[str, Any]:
    """The configuration inside a .nemo file, without loading its weights. Raises WeightsError if there is none."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with tarfile.open(path) as archive:
            name = next(name for name in archive.getnames() if name.rpartition("/")[2] == CONFIG)
            file = archive.extractfile(name)
            read = OmegaConf.to_container(OmegaConf.create(file.read().decode() if file else ""))
    except (OSError, ValueError, StopIteration, tarfile.TarError, OmegaConfBaseException) as error:
        raise WeightsError(f"{path.name}: no {CONFIG} can be read in it. Download the checkpoint again.") from error
    return dict(read) if isinstance(read, dict) else {}


def _kind(path: Path) -> str:
    """The class that a .nemo file was saved by."""
    return str(stored_config(path).get("target", "")).rpartition(".")[2]


def model_config(stack: int) -> dict[str, Any]:
    """The published configuration with another number of frames a step."""
    longest = max(shape().model["context_duration_min"], 5.0 * stack)  # what the class asks for
    nothing = {"train_ds": None, "validation_ds": None}
    return {**shape().model, **nothing, "frame_stacking_factor": stack, "context_duration_max": longest}


def codec_config() -> dict[str, Any]:
    """The codec's configuration."""
    return {**shape().codec, "train_ds": None, "validation_ds": None, "discriminator": None}


class Vocabulary:
    """Stands for text tokenizers where text is random tokens: the model asks how many there are."""

    pad = 0

    def __init__(self, tokens: int) -> None:
        self.tokens = [str(number) for number in range(tokens)]
        self.tokenizers: dict[str, Any] = {}
        self.num_tokens_per_tokenizer = {"english_phoneme": tokens}


def draw_voices(model: Any) -> None:  # noqa: ANN401
    """Give a model random voices: the published weights hold each as what the context encoder made of a recording."""
    import torch

    told, width = shape(), int(model.cfg.embedding_dim)
    model.baked_context_embedding = torch.nn.Embedding(told.voices, told.voice_positions * width)
    model._baked_embedding_T = torch.tensor(told.voice_positions)
    model._baked_embedding_D = torch.tensor(width)
    model.baked_context_embedding_len = torch.full((told.voices,), told.voice_positions, dtype=torch.long)
    del model.context_encoder  # the published weights lack it, and nothing calls it where there are voices


def _ready(model: Any, where: str) -> Any:  # noqa: ANN401
    return model.eval().requires_grad_(False).to(where)


@functools.cache
def package() -> ModuleType:
    """NeMo's module of Magpie, its log confined to errors."""
    from nemo.collections.tts.models import magpietts

    magpie_text.confine_log()
    module: ModuleType = magpietts
    return module


@contextmanager
def frames_forced(model: Any, frames: int) -> Iterator[None]:  # noqa: ANN401
    """Inside, an utterance has exactly so many frames, whatever the weights say of its end."""
    settings = model.inference_parameters
    before = settings.max_decoder_steps, settings.min_generated_frames
    settings.max_decoder_steps = settings.min_generated_frames = frames
    try:
        yield
    finally:
        settings.max_decoder_steps, settings.min_generated_frames = before


class Counts(NamedTuple):
    """Numbers that a model holds, and the bytes of all of it."""

    parameters: int
    """Weights of the model, its voices among them; without the codec."""
    codec_parameters: int
    parts: dict[str, int]
    """Weights by the model's own modules."""
    stored: int
    """All numbers that a checkpoint stores, those of causal masks too, which are no weights."""
    masks: int
    model_bytes: int
    mask_bytes: int
    """Of the model's, in causal masks."""
    codec_bytes: int


def count(model: Any) -> Counts:  # noqa: ANN401
    """Count a loaded model; a tensor that several modules share counts once."""
    parts: Counter[str] = Counter()
    for name, tensor in model.named_parameters():
        parts[name.split(".", 1)[0]] += tensor.numel()
    codec_parameters = parts.pop(CODEC, 0)
    stored = model.state_dict()
    masks = [tensor for name, tensor in stored.items() if name.endswith("causal_mask")]
    codec_bytes = _bytes(model._codec_model)
    return Counts(
        parameters=sum(parts.values()),
        codec_parameters=codec_parameters,
        parts=dict(parts.most_common()),
        stored=sum(tensor.numel() for tensor in stored.values()),
        masks=sum(tensor.numel() for tensor in masks),
        model_bytes=_bytes(model) - codec_bytes,
        mask_bytes=sum(int(tensor.nbytes) for tensor in masks),
        codec_bytes=codec_bytes,
    )


CODEC = "_codec_model"
"""The module in which the model keeps its codec."""


def codec_told(model: Any) -> Config:  # noqa: ANN401
    """What a configuration says of the codec and of what a step makes of it."""
    return {
        "sample_rate": int(model.output_sample_rate),
        "samples_per_frame": int(model.codec_model_samples_per_frame),
        "codebooks": int(model.num_audio_codebooks),
        "codebook_size": int(model.codebook_size),
        "frames_per_step": int(model.frame_stacking_factor),
        "codec": type(model._codec_model).__name__,
    }


def told(model: Any) -> Config:  # noqa: ANN401
    """What a configuration says of how a model computes."""
    import torch

    names = {name: short for short, name in device.DTYPES.items()}
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    return {
        "dtype": names.get(dtype, dtype),
        "matmul_tf32": bool(torch.backends.cuda.matmul.allow_tf32),
        "guidance_scale": float(model.inference_parameters.cfg_scale),
        "voice_positions": int(model._baked_embedding_T),
        "path": "generate_speech",
    }


def _bytes(module: Any) -> int:  # noqa: ANN401
    return sum(int(tensor.nbytes) for tensor in (*module.parameters(), *module.buffers()))
