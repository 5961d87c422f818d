"""VoxCPM2 in its own package: asked for utterances, taken apart into stages, run without its compiled graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from measure import device
from measure.results import Config
from measure.synthesis import speaking, voxcpm2_weights
from measure.synthesis.speaking import Ask
from measure.synthesis.stages import Stopwatch, Switch

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

GUIDANCE = 2.0
"""The package's default scale of guidance: at any but 1 the network runs with and without the condition."""

VOICE_STAGE = "reference_voice"
"""Loading, resampling and encoding a recording."""


class VoxCPM2:
    """The package's pipeline, seen as an `Engine`."""

    def __init__(self, pipeline: Any, where: str) -> None:  # noqa: ANN401  # voxcpm.VoxCPM
        self._pipeline, self._model, self._device = pipeline, pipeline.tts_model, where
        shape = voxcpm2_weights.published()
        self.patch_samples, self.sample_rate = shape.patch_samples, shape.sample_rate

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the engine as it is now."""
        return {
            "compiled": self.compiled,
            "max_length": self.max_length,
            "cfg_value": GUIDANCE,
            "retry_badcase": False,
        }

    @property
    def max_length(self) -> int:
        """Places in the caches of both language models."""
        return int(self._model.base_lm.kv_cache.max_length)

    @property
    def compiled(self) -> bool:
        """Whether the package compiled its parts, which it does on `cuda` alone, and runs them so."""
        return hasattr(self._model, "_feat_encoder_raw") and not self._eager

    _eager = False

    @property
    def parameters(self) -> tuple[int, int]:
        """Numbers in the model without its audio VAE, and in that."""
        return voxcpm2_weights.count(self._model)

    @property
    def cache_bytes(self) -> int:
        """Size of both caches of keys and values, used or not."""
        return sum(int(part.kv_cache.kv_cache.nbytes) for part in self._language_models)

    @property
    def allocated_bytes(self) -> int:
        """Memory of the card that tensors take now; 0 where there is none."""
        return device.allocated_bytes(self._device)

    def tokens(self, text: str) -> int:
        """Tokens of a text as the model reads it."""
        return len(self._model.text_tokenizer(text))

    def seed(self, seed: int) -> None:
        """Draw what follows from this seed: the package takes none."""
        import torch

        torch.manual_seed(seed)

    def speak(self, ask: Ask) -> NDArray[float32]:
        sound: NDArray[float32] = self._pipeline.generate(**_asked(ask))
        return sound

    def stream(self, ask: Ask) -> Iterator[NDArray[float32]]:
        yield from self._pipeline.generate_streaming(**_asked(ask))

    def stages_s(self, ask: Ask, *, streamed: bool) -> tuple[dict[str, float], int]:
        """Seconds of an utterance by stage, the device waited for after each, and how often it was."""
        watch = Stopwatch(self._device)
        with watch.switched_by(self._switches()):
            found = watch.time(lambda: speaking.arrivals_s(self, ask) if streamed else speaking.whole_s(self, ask))
        return found, watch.switches

    def _switches(self) -> list[Switch]:
        """Where one stage ends and the next begins, in the package's loop (`VoxCPM2Model._inference`).

        None of these calls is within what the package compiles, so nothing is compiled again. What stands between two
        of them goes with the earlier: the projection with the encoder, quantiser and fusion with the language model,
        the copy that tells the language model its place with the stop check.
        """
        model = self._model
        first, second = self._language_models
        return [
            Switch(model, "text_tokenizer", "tokenising"),
            Switch(model, "build_prompt_cache", VOICE_STAGE),
            Switch(model, "_inference", "prefill", "prefill"),
            Switch(first.kv_cache, "fill_caches", "cache_clearing", "prefill"),
            Switch(second.kv_cache, "fill_caches", "cache_clearing", "prefill"),
            Switch(model.feat_decoder, "forward", "diffusion", "local_encoder"),
            Switch(model.stop_proj, "forward", "stop_check", "stop_check"),
            Switch(first, "forward_step", "language_model", "language_model"),
            Switch(second, "forward_step", "language_model"),
            Switch(model.audio_vae, "decode", "vae"),
        ]

    @property
    def _language_models(self) -> tuple[Any, Any]:
        return self._model.base_lm, self._model.residual_lm

    @contextmanager
    def eager(self) -> Iterator[None]:
        """While inside, nothing runs compiled."""
        import torch

        self._eager = True
        try:
            with torch.compiler.set_stance("force_eager"):
                yield
        finally:
            self._eager = False

    def resize(self, max_length: int) -> None:
        """Give both language models caches of so many places. What was compiled for others is compiled again.

        Forgetting it keeps the compiler from making one graph for caches of any size, which would be another one.
        """
        import torch

        torch.compiler.reset()
        for part in self._language_models:
            held = part.kv_cache.kv_cache
            part.setup_cache(1, max_length, self._device, held.dtype)


def _asked(ask: Ask) -> dict[str, Any]:
    """Arguments of the package's `generate`. It makes at least one patch more than min_len before it may stop."""
    forced = {} if ask.patches is None else {"min_len": ask.patches, "max_len": ask.patches}
    return {
        "text": ask.text,
        "reference_wav_path": str(ask.voice) if ask.voice else None,
        "cfg_value": GUIDANCE,
        "inference_timesteps": ask.steps,
        "retry_badcase": False,
        **forced,
    }
