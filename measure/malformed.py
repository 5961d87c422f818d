"""Says what is wrong with bytes that are no results file: where, by run and key if they can be found, and the cure."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

import msgspec

from measure import doubled

T = TypeVar("T")

Path: TypeAlias = tuple[str | int, ...]
"""Names and places in lists, from the outermost inwards."""

LENGTH = 200
"""Characters that a place may take in a message."""

AROUND = 30
"""Bytes of a line that a message shows on each side of what is wrong."""

_BYTE = re.compile(r" \(byte (\d+)\)$")
_RUN = re.compile(r"\$\.runs\[(\d+)\]")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Constant(str):
    """What JSON has no number for, as it is written: NaN, Infinity or -Infinity."""


class _Doubled(dict[str, Any]):
    """An object that names something twice."""

    def __init__(self, pairs: list[tuple[str, Any]], name: str) -> None:
        super().__init__(pairs)
        self.name = name


def explain(data: bytes, error: Exception) -> tuple[str, str]:
    """What is wrong and what to do about it; `error` is what decoding `data` raised."""
    if data.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark (BOM), and JSON has none", "Save it as UTF-8 without BOM."
    if data.startswith(_UTF16):
        return "it is UTF-16, and JSON is UTF-8", "Save it as UTF-8 without BOM."
    if isinstance(error, msgspec.ValidationError):
        run = _run_of(data, error)
        if run:
            return f"{run}: {error}", "Correct this entry, or restore the file from version control."
    elif constant := _constant(data):
        cure = "Remove the entry and measure again, or restore the file from version control."
        return f"{constant}, and JSON has no such number", cure
    return _by_line(data, str(error)), "Restore the file from version control, or measure again."


def _by_line(data: bytes, told: str) -> str:
    """What is told of a byte, told of its line and what stands around it: `invalid character (line 3: "a": nan,)`."""
    place = _BYTE.search(told)
    if not place:
        return told
    before, after = data[: int(place[1])], data[int(place[1]) :]
    around = before.rpartition(b"\n")[2][-AROUND:] + after.partition(b"\n")[0][:AROUND]
    number = before.count(b"\n") + 1
    return f"{told[: place.start()]} (line {number}: {around.decode(errors='replace').strip()})"


def _run_of(data: bytes, error: Exception) -> str:
    """The run in which an error is, by its id; empty where the error is in none or the run has none."""
    place = _RUN.search(str(error))
    try:
        content = msgspec.json.decode(data) if place else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return _run(content, int(place[1])) if place else ""


def _run(content: Any, number: int) -> str:  # noqa: ANN401 (any JSON)
    try:
        name = content["runs"][number]["id"]
    except (LookupError, TypeError):
        return ""
    return f"run {name[:LENGTH]!r}" if isinstance(name, str) else ""


def _constant(data: bytes) -> str:
    """The first NaN or Infinity and its place; empty if there is none, or if more than that is wrong."""
    try:
        content = json.loads(data, parse_constant=_Constant)
        path, constant = next(_all(content, (), _Constant), ((), None))
    except (ValueError, RecursionError):
        return ""
    return f"{_place(content, path) or 'it'} is {constant}" if constant else ""


def twice(data: bytes) -> str:
    """The first name that stands twice in an object, with its place; `data` is valid JSON that has one."""
    content = json.loads(data, object_pairs_hook=_object)
    path, found = next(_all(content, (), _Doubled))
    place = _place(content, path)
    return f"{place}: {doubled.told(found.name)}" if place else doubled.told(found.name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    name = doubled.repeated(name for name, _ in pairs)
    return dict(pairs) if name is None else _Doubled(pairs, name)


def _all(value: Any, path: Path, kind: type[T]) -> Iterator[tuple[Path, T]]:  # noqa: ANN401 (any JSON)
    """Everything of one kind in a content, with its place, what is outside first."""
    if isinstance(value, kind):
        yield path, value
    if isinstance(value, dict | list):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _all(part, (*path, name), kind)


def _place(content: Any, path: Path) -> str:  # noqa: ANN401 (any JSON)
    """A path in words: `run 'here': bandwidth/sum: values[3]`; empty for the whole."""
    run = _run(content, path[1]) if path[:1] == ("runs",) and len(path) > 1 and isinstance(path[1], int) else ""
    rest = path[2:] if run else path
    rest = rest[1:] if run and rest[:1] == ("samples",) else rest
    text = "".join(f"[{part}]" if isinstance(part, int) else f": {part}" for part in rest).removeprefix(": ")
    short = text if len(text) <= LENGTH else f"{text[: LENGTH - 3]}..."
    return ": ".join(part for part in (run, short) if part)
