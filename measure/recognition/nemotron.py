"""Nemotron 3.5 ASR Streaming in NeMo: built at its true size with random weights, or loaded from a file or the hub.

NeMo's own classes and their own initialisation. With random weights the transducer would emit nothing or without end,
and its time depends on what it emits: `emission.py` then says which frames do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import device, weights
from measure.recognition.conformer import Shape
from measure.results import Config
from measure.weights import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

    from measure.recognition.emission import Pattern

SAMPLE_RATE = 16_000
"""Samples a second of the sound that the model takes."""

LOOK_AHEADS = (0, 1, 3, 6, 13)
"""Frames of look-ahead that the model was trained for (the second number of att_context_size)."""

LANGUAGES = {"en-US": 0, "ko-KR": 14, "auto": 101}
"""Places in the prompt that the published configuration gives these languages; a loaded model brings its own."""

WINDOW = 512
"""Samples that one feature frame is transformed from."""

HOP = 160
"""Samples from one feature frame to the next: 10 ms."""

MOST_SYMBOLS = 10
"""Tokens that the decoder may emit on one frame; NeMo's default."""

PARTS = ("encoder", "decoder", "joint", "prompt_kernel")
"""Modules that run in the measured precision; features are computed in fp32, as NeMo does."""


def configuration(shape: Shape, tokenizer: Path) -> dict[str, Any]:
    """What NeMo builds the model from, in its own words; sizes from `shape`, the rest from the published one."""
    contexts = [[shape.left, right] for right in LOOK_AHEADS]
    return {
        "sample_rate": SAMPLE_RATE,
        "compute_eval_loss": False,
        "log_prediction": False,
        "subsampling_factor": shape.subsampling,
        "model_defaults": {
            "enc_hidden": shape.hidden,
            "pred_hidden": shape.prediction,
            "joint_hidden": shape.prediction,
            "initialize_prompt_feature": True,
            "num_prompts": shape.prompts,
            "prompt_dictionary": LANGUAGES,
        },
        "tokenizer": {"dir": str(tokenizer), "type": "bpe"},
        "preprocessor": _features(shape),
        "encoder": _encoder(shape, contexts),
        "decoder": _prediction(shape),
        "joint": _joint(shape),
        "decoding": {
            "strategy": "greedy_batch",
            "strip_lang_tags": True,
            "greedy": {"max_symbols": MOST_SYMBOLS, "use_cuda_graph_decoder": True},
        },
        "loss": {"loss_name": "pytorch"},  # the default one needs numba, and none is computed
        "optim": {"name": "adamw", "lr": 1e-3},
        "train_ds": None,
        "validation_ds": None,
        "test_ds": None,
    }


def _features(shape: Shape) -> dict[str, Any]:
    return {
        "_target_": "nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor",
        "sample_rate": SAMPLE_RATE,
        "normalize": "NA",
        "window_size": 0.025,
        "window_stride": HOP / SAMPLE_RATE,
        "window": "hann",
        "features": shape.features,
        "n_fft": WINDOW,
        "frame_splicing": 1,
        "dither": 0.0,
        "pad_to": 0,
    }


def _encoder(shape: Shape, contexts: list[list[int]]) -> dict[str, Any]:
    return {
        "_target_": "nemo.collections.asr.modules.ConformerEncoder",
        "feat_in": shape.features,
        "feat_out": -1,
        "n_layers": shape.layers,
        "d_model": shape.hidden,
        "use_bias": False,
        "subsampling": "dw_striding",
        "subsampling_factor": shape.subsampling,
        "subsampling_conv_channels": shape.channels,
        "causal_downsampling": True,
        "ff_expansion_factor": shape.expansion,
        "self_attention_model": "rel_pos",
        "n_heads": shape.heads,
        "att_context_size": contexts,
        "att_context_style": "chunked_limited",
        "xscaling": False,
        "untie_biases": True,
        "pos_emb_max_len": 5000,
        "conv_kernel_size": shape.kernel,
        "conv_norm_type": "layer_norm",
        "conv_context_size": "causal",
        "dropout": 0.1,
        "dropout_pre_encoder": 0.1,
        "dropout_emb": 0.0,
        "dropout_att": 0.1,
    }


def _prediction(shape: Shape) -> dict[str, Any]:
    return {
        "_target_": "nemo.collections.asr.modules.RNNTDecoder",
        "normalization_mode": None,
        "random_state_sampling": False,
        "blank_as_pad": True,
        "vocab_size": -1,
        "prednet": {
            "pred_hidden": shape.prediction,
            "pred_rnn_layers": shape.prediction_layers,
            "t_max": None,
            "dropout": 0.2,
        },
    }


def _joint(shape: Shape) -> dict[str, Any]:
    return {
        "_target_": "nemo.collections.asr.modules.RNNTJoint",
        "log_softmax": None,
        "preserve_memory": False,
        "fuse_loss_wer": False,
        "fused_batch_size": None,
        "num_classes": -1,
        "vocabulary": [],
        "jointnet": {
            "joint_hidden": shape.prediction,
            "activation": "relu",
            "dropout": 0.2,
            "encoder_hidden": shape.hidden,
            "pred_hidden": shape.prediction,
        },
    }


def write_tokenizer(folder: Path, pieces: int) -> None:
    """Write a SentencePiece model of exactly so many pieces, each a character: what they spell does not matter."""
    from nemo.collections.common.tokenizers.sentencepiece_tokenizer import create_spt_model

    ranges = (range(0x61, 0x7B), range(0xAC00, 0xD7A4), range(0x4E00, 0x9FA0))
    letters = [chr(place) for each in ranges for place in each][: pieces - 2]  # besides: unknown, the mark of a word
    lines = ("".join(letters[start : start + 40]) for start in range(0, len(letters), 40))
    corpus = folder / "corpus.txt"
    corpus.write_text("".join(f"{line}\na b\n" for line in lines), encoding="utf-8")
    create_spt_model(str(corpus), pieces, -1, False, tokenizer_type="char", output_dir=str(folder))


def random(shape: Shape, precision: str, where: str) -> Recogniser:
    """A model of this shape with NeMo's initial weights, in `precision` on device `where`."""
    import torch
    from nemo.collections.asr.models.rnnt_bpe_models_prompt import EncDecRNNTBPEModelWithPrompt
    from omegaconf import OmegaConf

    _quiet()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        write_tokenizer(Path(folder), shape.vocabulary)
        model = EncDecRNNTBPEModelWithPrompt(cfg=OmegaConf.create(configuration(shape, Path(folder))))
    return Recogniser(model, shape, precision, where, "random")


def real(shape: Shape, precision: str, where: str, source: str) -> Recogniser:
    """The checkpoint at `source`, a .nemo file or hub:OWNER/NAME.

    Raises WeightsError if it has another shape, takes no language, or cannot be read.
    """
    from nemo.collections.asr.models import ASRModel

    _quiet()
    place = weights.place(source)
    try:
        load = ASRModel.from_pretrained if source.startswith(weights.HUB) else ASRModel.restore_from
        model = load(place, map_location="cpu")
    except (OSError, ValueError, RuntimeError) as error:
        raise WeightsError(f"{source}: cannot be loaded: {error}. Check the file or the identifier.") from error
    found = shape_of(model)
    if found != shape:
        told = ", ".join(f"{name} {getattr(found, name)}" for name in differing(found, shape))
        raise WeightsError(f"{source}: is another model ({told}). Pass nemotron-3.5-asr-streaming-0.6b.")
    return Recogniser(model, shape, precision, where, "real")


def differing(one: Shape, other: Shape) -> list[str]:
    """Names of the sizes in which two shapes differ."""
    return [name for name in Shape._fields if getattr(one, name) != getattr(other, name)]


def shape_of(model: Any) -> Shape:  # noqa: ANN401  # NeMo's model
    """The sizes of a loaded model. Raises WeightsError for one without the parts that they are read from."""
    try:
        encoder, layer = model.encoder, model.encoder.layers[0]
        return Shape(
            layers=len(encoder.layers),
            hidden=int(encoder.d_model),
            heads=int(layer.self_attn.h),
            expansion=int(layer.feed_forward1.linear1.out_features) // int(encoder.d_model),
            kernel=int(layer.conv.depthwise_conv.kernel_size[0]),
            subsampling=int(encoder.subsampling_factor),
            channels=int(encoder.pre_encode._conv_channels),
            features=int(encoder._feat_in),
            left=int(encoder.att_context_size[0]),
            prediction=int(model.decoder.pred_hidden),
            prediction_layers=int(model.decoder.pred_rnn_layers),
            vocabulary=int(model.decoder.vocab_size),
            prompts=int(model.num_prompts or 0),
        )
    except (AttributeError, IndexError, TypeError) as error:
        raise WeightsError(f"no streaming FastConformer with a language prompt and a transducer: {error}") from error


def _quiet() -> None:
    """NeMo logs what it builds at length."""
    import logging

    from nemo.utils import logging as nemos

    nemos.setLevel(logging.ERROR)


class Recogniser:
    """A model on a device, ready for inference in one language."""

    def __init__(self, model: Any, shape: Shape, precision: str, where: str, kind: str) -> None:  # noqa: ANN401
        self.model, self.shape, self.precision, self.device, self.weights = model, shape, precision, where, kind
        self.language = ""
        self.right = -1
        self.emission = "by the weights"
        self.pattern: Pattern | None = None
        model.eval().requires_grad_(False)
        model.to(where)
        self.cast(precision)
        self.speak("ko-KR" if "ko-KR" in self.languages else next(iter(self.languages)))
        self.look_ahead(LOOK_AHEADS[0])

    def cast(self, precision: str) -> None:
        """Change the precision of all that follows the features."""
        self.dtype = device.dtype(precision)
        for part in PARTS:
            getattr(self.model, part).to(self.dtype)
        self.forget()

    @property
    def languages(self) -> dict[str, int]:
        return dict(self.model.cfg.model_defaults.get("prompt_dictionary", {}))

    def speak(self, language: str) -> None:
        """Choose the language: NeMo's streaming step leaves the prompt out until that is done. Raises ValueError."""
        self.model.set_inference_prompt(language)
        self.language = language

    def look_ahead(self, right: int) -> None:
        """Choose the look-ahead, and with it the chunk."""
        self.right = right
        self.model.encoder.set_default_att_context_size([self.shape.left, right])
        self.forget()

    def forget(self) -> None:
        """Drop what the decoder's CUDA graphs hold: they are made for the largest batch seen, and compute all of it."""
        computer = self.computer
        if getattr(computer, "cuda_graphs_mode", None) is not None:
            computer.reset_cuda_graphs_state()

    def rewind(self) -> None:
        """Let forced emission begin anew, so that the same frames emit the same."""
        if self.pattern is not None:
            self.pattern.place = 0

    @property
    def computer(self) -> Any:  # noqa: ANN401
        """NeMo's greedy decoder of a whole batch."""
        return self.model.decoding.decoding.decoding_computer

    @property
    def parameters(self) -> int:
        """Numbers in the model that were trained, each tensor counted once."""
        return sum(tensor.numel() for tensor in self._tensors())

    @property
    def held_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._tensors())

    def _tensors(self) -> list[Tensor]:
        return list({id(tensor): tensor for tensor in self.model.parameters()}.values())

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the model."""
        mode = getattr(self.computer, "cuda_graphs_mode", None)
        return {
            "engine": "nemo",
            "weights": self.weights,
            "language": self.language,
            "prompt_applied": self.model.concat and hasattr(self.model, "_inference_prompt_index"),
            "left_frames": self.shape.left,
            "decoder": "greedy label looping",
            "decoder_cuda_graph": str(mode) if mode is not None and self.device == "cuda" else "none",
            "most_symbols": int(self.computer.max_symbols or 0),
            "emission": self.emission,
        }

    @property
    def last(self) -> Any:  # noqa: ANN401
        """The joint network's last layer; the blank is its last row."""
        import torch

        return [part for part in self.model.joint.joint_net.modules() if isinstance(part, torch.nn.Linear)][-1]

    @property
    def blank(self) -> Any:  # noqa: ANN401
        """The bias of the blank: a view that can be written to."""
        return self.last.bias[self.last.out_features - 1 :]

    def always(self, value: float, told: str) -> None:
        """Set the blank's bias; `told` says in configurations what for."""
        self.blank.fill_(value)
        self.emission = told
