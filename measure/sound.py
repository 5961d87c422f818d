"""Sound files to listen to: mono WAV of 16 bits, which every player takes."""

from __future__ import annotations

import array
import sys
import wave
from collections.abc import Iterable
from pathlib import Path

FULL_SCALE = 2**15 - 1


def write(path: Path, samples: Iterable[float], rate: int) -> None:
    """Write samples between -1 and 1, `rate` a second; what lies beyond is clipped. Its folder is made if need be."""
    numbers = array.array("h", (round(FULL_SCALE * min(max(sample, -1.0), 1.0)) for sample in samples))
    if sys.byteorder == "big":
        numbers.byteswap()
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(numbers.itemsize)
        file.setframerate(rate)
        file.writeframes(numbers.tobytes())
