"""Which sentences of the rendered pages differ between two folders of them, as a reviewer reads them: no markup."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator
from pathlib import Path

END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])")
MARKUP = re.compile(r"<[^>]+>|\{#[^}]+\}|^#+ |^[-*>] |^---$|\*\*|(?<=\])\([^)]*\)", re.MULTILINE)
RULE = re.compile(r"^\|[-:|\s]+\|$")
MOST = 40
"""Lines of change that are printed of one page in one language; a summary that holds all is read by nobody."""


def sentences(markdown: str) -> list[str]:
    """The sentences of a page, and the rows of its tables, in order; no links, no emphasis, no empty lines."""
    lines = (html.unescape(MARKUP.sub("", line)).strip() for line in markdown.splitlines() if not RULE.match(line))
    split = (line if line.startswith("|") else END.split(line) for line in lines if line)
    return [each.strip() for found in split for each in ([found] if isinstance(found, str) else found) if each.strip()]


def changed(before: str, after: str) -> list[str]:
    """The sentences that went and came, marked - and +, in the order of the page."""
    found = difflib.ndiff(sentences(before), sentences(after))
    return [line for line in found if line.startswith(("- ", "+ "))]


def pages(folder: Path) -> dict[str, str]:
    """The text of each page by its place, "ko/source/index.md"; decisions are no pages."""
    found = {file.relative_to(folder).as_posix(): file for file in sorted(folder.glob("*/**/*.md"))}
    return {name: file.read_text(encoding="utf-8") for name, file in found.items() if not name.startswith("decisions/")}


def summary(before: Path, after: Path) -> Iterator[str]:
    """Lines of Markdown that tell a reviewer what changed, language by language: a count, and the sentences by page.

    Receipts are counted and not told: they follow from the numbers.
    """
    old, new = pages(before), pages(after)
    changes = {name: changed(old.get(name, ""), new.get(name, "")) for name in sorted(old.keys() | new.keys())}
    changes = {name: lines for name, lines in changes.items() if lines}
    if not changes:
        yield "No sentence of the site changes."
        return
    for name, lines in changes.items():
        new_ones = sum(line.startswith("+") for line in lines)
        yield f"\n### {name}: {new_ones} new, {len(lines) - new_ones} gone\n"
        if not name.endswith("receipts.md"):
            yield from fenced(lines)


def fenced(lines: list[str]) -> Iterator[str]:
    """Lines of change in a fence that no line of them can close; the first of them where they are many."""
    fence = "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall("`+", line) or [""]))
    yield f"{fence}diff"
    yield from lines[:MOST]
    yield fence
    if len(lines) > MOST:
        yield f"\n… and {len(lines) - MOST} lines more."
