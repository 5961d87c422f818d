"""What a synthesiser with real weights says, to be listened to: everyday sentences in each language."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec


@functools.cache
def sentences() -> dict[str, tuple[str, ...]]:
    """The sentences of sentences.toml by the code of their language, the same ones in each."""
    data = Path(__file__).with_name("sentences.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, tuple[str, ...]])
