"""VoxCPM2 in nano-vllm-voxcpm, an engine that makes each step one CUDA graph and pages the language models' cache."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from measure.results import Config
from measure.synthesis import voxcpm2_weights
from measure.synthesis.speaking import Ask
from measure.synthesis.voxcpm2 import GUIDANCE

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

PACKAGE = "nano-vllm-voxcpm"

MEMORY_SHARE = 0.8
"""Of the card's memory that the engine may take; what the weights leave of it becomes its cache."""


def check() -> None:
    """Raises ImportError, with what to do, where the engine cannot run."""
    try:
        import nanovllm_voxcpm  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{error}; install {PACKAGE} and flash-attn, which has to be compiled") from error


class NanoVoxCPM:
    """The engine for one request at a time, in a process of its own, seen as an `Engine`."""

    def __init__(self, model: str, steps: int) -> None:
        """`model` is a checkpoint's folder or its identifier on the hub; the diffusion time steps are the engine's."""
        from nanovllm_voxcpm import VoxCPM

        shape = voxcpm2_weights.published()
        self.patch_samples, self.sample_rate = shape.patch_samples, shape.sample_rate
        start = time.perf_counter()
        self._steps = steps
        self._server: Any = VoxCPM.from_pretrained(
            model, inference_timesteps=steps, max_num_seqs=1, gpu_memory_utilization=MEMORY_SHARE
        )
        self._start_s = round(time.perf_counter() - start, 1)

    @property
    def config(self) -> Config:
        """What a sample's configuration says of the engine."""
        return {
            "engine_version": importlib.metadata.version(PACKAGE),
            "max_num_seqs": 1,
            "cfg_value": GUIDANCE,
            "start_s": self._start_s,
        }

    def speak(self, ask: Ask) -> NDArray[float32]:
        import numpy

        return numpy.concatenate(list(self.stream(ask)))

    def stream(self, ask: Ask) -> Iterator[NDArray[float32]]:
        """It ends an utterance when the model does, or after as many patches as were asked for, whichever is first."""
        if ask.steps != self._steps or ask.voice or ask.patches is None:
            raise NotImplementedError(
                f"this engine was started for {self._steps} time steps and lengths that are given"
            )
        yield from self._server.generate(ask.text, max_generate_length=ask.patches, cfg_value=GUIDANCE)

    def close(self) -> None:
        """End the engine's process."""
        self._server.stop()
