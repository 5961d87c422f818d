"""Tables of sentences, whose rows stand one below the other on a phone: each of their cells tells its column's head.

So do tables of conclusions and of samples, each of whose rows begins with a sentence or a key. Tables of numbers stay
as they are, since numbers are read down a column.
"""

from __future__ import annotations

import html
import re
import unicodedata

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from tables import CELL, ROW, said

TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
DATA = re.compile(r"<td\b")
FOUND = re.compile(r'class="claim\b|<code>[^<]*/')
"""What a row holds that tells how a conclusion came out, or what became of a sample."""

CELL_WIDTH, ROW_WIDTH = 30, 110
"""Letters of a usual cell and a usual row of sentences, at least, without the first column. A wide letter is two."""


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Marks the tables of sentences."""
    return TABLE.sub(lambda found: _marked(found[0]) if is_stacked(found[0]) else found[0], content)


def is_stacked(table: str) -> bool:
    """Whether a phone has no room for the columns of a table."""
    return tells_findings(table) or holds_sentences(table)


def tells_findings(table: str) -> bool:
    """Whether each row tells of a conclusion or of a sample."""
    rows = [row for _, row in ROW.findall(table)[1:]]
    return bool(rows) and all(FOUND.search(row) for row in rows)


def holds_sentences(table: str) -> bool:
    """Whether the cells of a table that follow the first of their row are sentences, as a rule."""
    widths = [[_width(said(cell)) for _, cell in CELL.findall(row)[1:]] for _, row in ROW.findall(table)[1:]]
    cells = sum(len(row) for row in widths)
    total = sum(sum(row) for row in widths)
    return cells > 0 and total >= CELL_WIDTH * cells and total >= ROW_WIDTH * len(widths)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _marked(table: str) -> str:
    heads = [said(cell) for _, cell in CELL.findall(ROW.findall(table)[0][1])]
    marked = ROW.sub(lambda row: _told(row[0], heads), table)
    return marked.replace("<table>", "<table data-stacked>", 1)


def _told(row: str, heads: list[str]) -> str:
    """A row whose cells tell their heads; the first does not, which says what the row is about."""
    first, *others = DATA.split(row)
    told = [f'<td data-head="{html.escape(head)}"{rest}' for head, rest in zip(heads[1:], others[1:], strict=False)]
    return "".join([first, *(f"<td{rest}" for rest in others[:1]), *told])
