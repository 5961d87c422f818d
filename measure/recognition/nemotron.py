"""Nemotron 3.5 ASR Streaming in NeMo: built at its true size with random weights, or loaded from a file or the hub.

NeMo's own classes and their own initialisation. With random weights the transducer would emit nothing or without end,
and its time depends on what it emits: the bias of its blank is then set so that it emits about as often as speech has
tokens.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import device, weights
from measure.recognition import conformer
from measure.recognition.conformer import Shape
from measure.session import Config
from measure.weights import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

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

TOKENS_PER_SECOND = 4.0
"""How often random weights are made to emit, about as often as speech has tokens: given, not measured."""

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
    """A model of this shape with NeMo's initial weights, in `precision` on device `where`, that emits now and then."""
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
    def blank(self) -> Any:  # noqa: ANN401
        """The bias of the blank in the joint network's last layer: a view that can be written to."""
        import torch

        last = [part for part in self.model.joint.joint_net.modules() if isinstance(part, torch.nn.Linear)][-1]
        return last.bias[last.out_features - 1 :]

    def always(self, value: float, told: str) -> None:
        """Set the blank's bias; `told` says in configurations what for."""
        self.blank.fill_(value)
        self.emission = told


def calibrate(recogniser: Recogniser, frames: Tensor) -> float:
    """Make random weights emit about TOKENS_PER_SECOND; returns the rate that these frames give, per stream.

    The units of the joint network are scaled to what frames move them by, and the blank's bias is set between the
    frames that are to emit and the others. Left as drawn, they never emit or never stop. At most one token a frame is
    allowed, since only trained weights know when a frame is done: they evaluate the joint network once more for each
    token to find out.

    Args:
        frames: what the decoder gets, (streams, size, frames), as the streamed encoder and the prompt leave it.
    Raises ArithmeticError if the weights do not emit as often as that, or half or twice as often.
    """
    _spread(recogniser, frames)
    recogniser.computer.max_symbols = 1
    share = TOKENS_PER_SECOND * conformer.FRAME_MS / 1e3
    recogniser.always(float(_margins(recogniser, frames).quantile(1 - share)), "")
    made = _emitted(recogniser, frames)
    if not TOKENS_PER_SECOND / 2 < made < 2 * TOKENS_PER_SECOND:
        raise ArithmeticError(f"these weights emit {made:.1f} tokens a second in place of {TOKENS_PER_SECOND:g}")
    recogniser.emission = f"forced: one token on about {share:.0%} of the frames, {made:.1f} tok/s when it was set"
    return made


def _spread(recogniser: Recogniser, frames: Tensor) -> None:
    """Scale and shift each unit of the joint network so that these frames move it by one about zero.

    Source: data-dependent initialisation, Salimans and Kingma, Weight Normalization, NeurIPS 2016, section 3.
    """
    layer = recogniser.model.joint.enc
    units = layer(frames.transpose(1, 2)).flatten(0, 1).float()
    mean, scale = units.mean(0), units.std(0).clamp(min=1e-6)
    layer.bias.copy_((layer.bias - mean) / scale)
    layer.weight.div_(scale[:, None])


def _margins(recogniser: Recogniser, frames: Tensor) -> Tensor:
    """By how much the best token beats an unbiased blank on each frame, after one random token."""
    import torch

    model, streams = recogniser.model, frames.shape[0]
    recogniser.blank.fill_(0.0)
    drawn = torch.randint(0, recogniser.shape.vocabulary, (streams, 1), device=frames.device)
    history, *_ = model.decoder.predict(drawn, None, add_sos=False, batch_size=streams)
    encoded, predicted = model.joint.project_encoder(frames.transpose(1, 2)), model.joint.project_prednet(history)
    logits = model.joint.joint_after_projection(encoded, predicted).float()
    margins: Tensor = logits[..., :-1].amax(-1) - logits[..., -1]
    return margins.flatten()


def _emitted(recogniser: Recogniser, frames: Tensor) -> float:
    """Tokens a second and stream."""
    import torch

    streams, _, length = frames.shape
    lengths = torch.full((streams,), length, dtype=torch.long, device=frames.device)
    told, _ = recogniser.computer(x=frames.transpose(1, 2), out_len=lengths)
    recogniser.forget()
    return float(told.current_lengths.sum()) / streams / (length * conformer.FRAME_MS / 1e3)
