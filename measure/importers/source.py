"""A file somebody hands over, read within bounds before anything trusts it: size, depth, number of parts, one meaning.

Decoding JSON into types comes later and knows nothing of hostile files; so what is let through here is small enough,
shallow enough, and says each thing once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from measure import doubled
from measure.results import ResultsError

MOST_BYTES = 64 * 2**20
"""Ten thousand requests with every token's time take about 30 MB."""

MOST_LEVELS = 64
"""The deepest of the formats, GuideLLM's, has about ten."""

MOST_DOCUMENTS = 10**4
"""Lines of a file of JSON lines."""

MOST_PARTS, MOST_VALUES = 10**6, 4 * 10**6
"""Lists and objects in a file, and commas. Each costs far more memory than the two characters it takes."""

_PIECE = 2**20
_SPACE = re.compile(r"[ \t\r\n]*")
_SHAPE = bytes(set(range(256)) - set(b'"[]{}'))
"""All that does not decide how deep a place in a JSON text is."""


class Document(NamedTuple):
    """One JSON value of a file: its text, and the names in it if it is an object, or in the first object of a list."""

    text: bytes
    names: frozenset[str]


class Source(NamedTuple):
    """A file's name without its folder, its hash, and the JSON values in it: one, or one a line."""

    name: str
    sha256: str
    documents: list[Document]


def read(path: Path) -> Source:
    """Read a file of JSON or JSON lines. Raises ResultsError for one too large, too deep, broken or ambiguous."""
    name = path.name or str(path)
    data = _bytes(path, name)
    text = _text(data, name)
    _check_shape(data, name)
    return Source(name, hashlib.sha256(data).hexdigest(), _documents(text, name))


def _bytes(path: Path, name: str) -> bytes:
    """The bytes of a regular file; opened without waiting, since a pipe would keep us for ever."""
    cure = "Name the file that the benchmark wrote."
    try:
        with open(path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ResultsError(f"{name}: is no regular file. {cure}")
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ResultsError(f"{name}: cannot be read ({why}). {cure}") from None
    if len(data) > MOST_BYTES:
        cure = "Have the benchmark write fewer requests, or no texts of them."
        raise ResultsError(f"{name}: is larger than {MOST_BYTES // 2**20} MiB. {cure}")
    return data


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cure = "Name a benchmark's JSON file; one in another encoding has to be converted first."
        raise ResultsError(f"{name}: is no text in UTF-8 (byte {error.start}). {cure}") from None
    if not text.strip():
        raise ResultsError(f"{name}: is empty. Run the benchmark again.")
    return text


def _check_shape(data: bytes, name: str) -> None:
    """Bound depth and number of parts by passes over the bytes, each as fast as copying them."""
    if data.count(b",") > MOST_VALUES:
        raise ResultsError(f"{name}: holds more than {MOST_VALUES} values. Have fewer requests written.")
    left = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _SHAPE)
    outside = b"".join(_outside(left.replace(b'""', b"")))
    if outside.count(b"[") + outside.count(b"{") > MOST_PARTS:
        raise ResultsError(f"{name}: holds more than {MOST_PARTS} lists and objects. Have fewer requests written.")
    for _ in range(MOST_LEVELS):
        if not outside:
            return
        outside = outside.replace(b"[]", b"").replace(b"{}", b"")
    if outside:
        cure = "Run the benchmark again, or copy the whole file."
        raise ResultsError(f"{name}: brackets do not match, or are more than {MOST_LEVELS} deep. {cure}")


def _outside(shape: bytes) -> Iterator[bytes]:
    """What stands outside quotation marks, piece by piece, since splitting all at once takes much memory."""
    quoted = False
    for start in range(0, len(shape), _PIECE):
        parts = shape[start : start + _PIECE].split(b'"')
        yield b"".join(parts[quoted::2])
        quoted ^= len(parts) % 2 == 0


def _documents(text: str, name: str) -> list[Document]:
    """The JSON values of a file, one after the other."""
    scanner = json.JSONDecoder(
        object_pairs_hook=_names, parse_float=_nothing, parse_int=_nothing, parse_constant=_no_number
    )
    found: list[Document] = []
    place = _next(text, 0)
    while place < len(text):
        if len(found) == MOST_DOCUMENTS:
            raise ResultsError(f"{name}: holds more than {MOST_DOCUMENTS} lines of JSON. Import a part of it.")
        try:
            value, end = scanner.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            cure = "Run the benchmark again, or copy the whole file."
            raise ResultsError(f"{name}: broken JSON: {_told(error)}. {cure}") from None
        found.append(Document(text[place:end].encode(), _names_in(value)))
        place = _next(text, end)
    return found


def _next(text: str, place: int) -> int:
    """The first place from `place` on that is no white space of JSON."""
    space = _SPACE.match(text, place)
    return space.end() if space else place


def _told(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno}, column {error.colno}"
    return str(error)


def _names(pairs: list[tuple[str, Any]]) -> tuple[str, ...]:
    """What stands for an object here: its names, each once."""
    names = tuple(name for name, _ in pairs)
    if (name := doubled.repeated(names)) is not None:
        raise ValueError(doubled.told(name))
    return names


def _nothing(digits: str) -> None:
    """What stands for a number here: only names matter, and a number of a million digits would take long to read."""


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _names_in(value: object) -> frozenset[str]:
    first = value[0] if isinstance(value, list) and value else value
    return frozenset(first) if isinstance(first, tuple) else frozenset()
