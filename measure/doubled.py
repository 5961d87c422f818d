"""Names that stand twice in one object of JSON: a decoder keeps the last of them without a word, and so loses a figure.

Whether a text has some is cheap to tell, and asked of every results file that is read; which one it is, is not.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

OUTER = 3
"""Levels whose parts are looked at by themselves: the file, its runs, and each run."""

_PARTS = dict[str, msgspec.Raw] | list[msgspec.Raw] | str | float | bool | None


def doubled(data: bytes) -> bool:
    """Whether an object in a valid JSON text names something twice.

    Every string stands between two quotation marks, and decoding drops nothing but a name that comes again, with its
    value. So what is encoded anew has fewer of the marks if there is one. As objects, a whole large file takes many
    times its size: so the outermost are looked at by themselves, and what they hold part by part.
    """
    return _kept(data, OUTER) != _marks(data)


def _kept(data: bytes | msgspec.Raw, levels: int) -> int:
    """The quotation marks that decoding keeps."""
    content = msgspec.json.decode(data, type=_PARTS) if levels else None
    if isinstance(content, dict):
        return 2 * len(content) + sum(_kept(part, levels - 1) for part in content.values())
    if isinstance(content, list):
        return sum(_kept(part, levels - 1) for part in content)
    return _marks(msgspec.json.encode(msgspec.json.decode(data)))


def _marks(text: bytes) -> int:
    """Quotation marks that begin or end a string: all but those after an odd number of backslashes."""
    if b'\\"' in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return text.count(b'"')


def repeated(names: Iterable[str]) -> str | None:
    """The first name that comes a second time, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def told(name: str) -> str:
    """What is wrong, in words."""
    return f"{name[:100]!r} stands twice in one object"
