"""Names that stand twice in one object of JSON: a decoder keeps the last of them without a word, and so loses a figure.

Whether a text has some is cheap to tell, and asked of every results file that is read; which one it is, is not.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


def doubled(data: bytes) -> bool:
    """Whether an object in a valid JSON text names something twice.

    Every string stands between two quotation marks, and decoding drops nothing but a name that comes again, with its
    value. So what is encoded anew has fewer of the marks if there is one.
    """
    return _marks(msgspec.json.encode(msgspec.json.decode(data))) != _marks(data)


def _marks(text: bytes) -> int:
    """Quotation marks that begin or end a string: all but those after an odd number of backslashes."""
    if b"\\" in text:
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
