"""Sound files: WAV with one channel of 16 bits, which everything plays and reads."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_FULL = 2**15 - 1
"""The largest number of 16 bits."""


def write(path: Path, sound: NDArray[float32], sample_rate: int) -> None:
    """Write a sound, [samples] between -1 and 1, what lies outside cut off. Raises ValueError for what is no number."""
    import numpy

    if not numpy.isfinite(sound).all():
        raise ValueError(f"{path.name}: the sound holds what is no number")
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((numpy.clip(sound, -1.0, 1.0) * _FULL).astype("<i2").tobytes())


def write_noise(path: Path, seconds: float, sample_rate: int) -> None:
    """Write noise of moderate loudness, the same each time."""
    import numpy

    samples = numpy.random.default_rng(0).standard_normal(round(seconds * sample_rate), numpy.float32)
    write(path, 0.1 * samples, sample_rate)
