"""Nemotron 3.5 ASR in transformers, for one question: what a cache of keys and values saves over one of layer inputs.

The same encoder and prompt as NeMo's, with random weights of the same size. Its cache holds keys and values, and what
goes into each convolution, so that a step projects and subsamples nothing twice. All else is measured in NeMo.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from measure import device
from measure.recognition.conformer import Shape
from measure.results import Config

if TYPE_CHECKING:
    from torch import Tensor

PROMPT = 14
"""Place of Korean among the languages."""


class KeysKept:
    """One stream whose chunks are encoded one after another."""

    def __init__(self, shape: Shape, precision: str, where: str) -> None:
        import torch
        from transformers import Nemotron3_5AsrForRNNT

        torch.manual_seed(0)
        with torch.device(where):
            model: Any = Nemotron3_5AsrForRNNT(configuration(shape))
        self.model = model.to(device.dtype(precision)).eval().requires_grad_(False)
        self.shape, self.dtype, self.device = shape, device.dtype(precision), where
        # transformers renamed it after version 5.17.
        names = inspect.signature(self.model.encoder.forward).parameters
        self._name = "cache" if "cache" in names else "past_key_values"
        self.look_ahead(0)

    def look_ahead(self, right: int) -> None:
        """Begin a stream with so many frames of look-ahead; its first chunk is shorter, the later ones are timed."""
        self.right, self.frames = right, right + 1
        self._caches: dict[str, Any] = {}
        self.encode(self.chunk(1 + self.shape.subsampling * right))

    def chunk(self, features: int = 0) -> Tensor:
        """Random features: (1, frames, features)."""
        import torch

        count = features or self.shape.subsampling * self.frames
        return torch.randn(1, count, self.shape.features, device=self.device, dtype=self.dtype)

    def encode(self, mel: Tensor) -> Tensor:
        """What the encoder makes of a chunk: (1, frames, size)."""
        made = self.model.encoder(
            input_features=mel,
            use_cache=True,
            output_attention_mask=False,
            num_lookahead_tokens=self.right,
            **self._caches,
        )
        self._caches = {self._name: getattr(made, self._name), "padding_cache": made.padding_cache}
        encoded: Tensor = made.last_hidden_state
        return encoded

    def prompt(self, encoded: Tensor) -> Tensor:
        """The language mixed in; the same shape."""
        import torch

        named = torch.zeros(1, encoded.shape[1], self.shape.prompts, device=self.device, dtype=self.dtype)
        named[:, :, min(PROMPT, self.shape.prompts - 1)] = 1
        mixed: Tensor = self.model.prompt_projector(torch.cat((encoded, named), -1))
        return mixed

    def attend(self, how: str) -> None:
        """`sdpa`, torch's fused attention, or `eager`, whose products torch's counter sees on every device."""
        self.model.set_attn_implementation(how)

    @property
    def steps_to_fill(self) -> int:
        """Steps after which the cache holds all frames that it can."""
        return -(-self.shape.left // self.frames)

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the model."""
        return {
            "engine": "transformers",
            "weights": "random",
            "left_frames": self.shape.left,
            "right_frames": self.right,
            "new_feature_frames": self.shape.subsampling * self.frames,
            "cache": "keys, values and inputs of the convolutions",
            "streams": 1,
            "sound": "random features",
        }


def configuration(shape: Shape) -> Any:  # noqa: ANN401  # transformers' configuration
    """transformers' configuration of a model of this shape."""
    from transformers import Nemotron3_5AsrConfig

    encoder = {
        "model_type": "nemotron_asr_streaming_encoder",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.expansion * shape.hidden,
        "attention_bias": False,
        "convolution_bias": False,
        "conv_kernel_size": shape.kernel,
        "subsampling_conv_channels": shape.channels,
        "num_mel_bins": shape.features,
        "scale_input": False,
        "sliding_window": shape.left + 1,
    }
    return Nemotron3_5AsrConfig(
        encoder_config=encoder,
        vocab_size=shape.vocabulary + 1,
        blank_token_id=shape.vocabulary,
        decoder_hidden_size=shape.prediction,
        num_decoder_layers=shape.prediction_layers,
        num_prompts=shape.prompts,
        prompt_intermediate_size=2 * shape.hidden,
    )
