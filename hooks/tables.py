"""A CSV file for each table of the site, and a link to it beneath the table.

A cell's numbers stand there with all their digits, from the facts that the page's numbers link to; their unit is in the
column's head. What is not measured is an empty cell. A column keeps its text as well where that says more than numbers.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

LANDMARK = re.compile(r'<(h[1-6]|figure)\b[^>]*? id="([^"]+)"|(</figure>)|(<table\b.*?</table>)', re.DOTALL)
"""What a table is named after, the figure around it or else the heading before it; and a table."""

ROW = re.compile(r"<tr\b([^>]*)>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd]\b([^>]*)>(.*?)</t[hd]>", re.DOTALL)
SPAN = re.compile(r'colspan="(\d+)"')
FACT = re.compile(r'<a class="fact\b[^"]*" href="([^"#]*)#([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
CLAIM = re.compile(r'class="claim\b')
BREAK = re.compile(r"<br\s*/?>|<p\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
FIGURES = re.compile(r"[-−]?\d{1,3}(?:,\d{3})*(?:\.\d+)?")
"""A number as every language of the site writes it."""

MOST = 3
"""A column whose cells have more numbers than that is prose."""

BARE = ("", "1", "times")
"""Units of pure numbers, which no head names."""


class Number(NamedTuple):
    """A fact: its value in its unit, None where it is unmeasured."""

    value: float | None
    unit: str


Values = dict[str, dict[str, Number]]
"""All facts, by edition and name."""


class Cell(NamedTuple):
    """A cell as it stands in the page, and the numbers in it."""

    markup: str
    numbers: list[Number]

    @property
    def text(self) -> str:
        return said(self.markup)

    @property
    def judged(self) -> bool:
        """Whether it tells how a conclusion came out."""
        return bool(CLAIM.search(self.markup))

    def says_more(self, unmeasured: str) -> bool:
        """Whether it says more than its numbers, and that one is not measured."""
        rest = FACT.sub("", self.markup)
        others = [said(text) for _, _, text in FACT.findall(self.markup)]
        missing = [text for text, number in zip(others, self.numbers, strict=True) if number.value is None]
        return bool(re.search(r"\w", said(rest))) or any(text != unmeasured for text in missing)


class Table:
    """A table of a page at `address`; `words` are of the page's language."""

    def __init__(self, markup: str, address: str, values: Values, words: dict[str, str]) -> None:
        self.address, self.values, self.words = address, values, words
        rows = [(attributes, list(self._cells(row))) for attributes, row in ROW.findall(markup)]
        self.head = [cell.text for cell in rows[0][1]] if rows else []
        self.groups: list[str] = []
        """Of each row, the title that stands over it and others across the whole table."""
        self.rows: list[list[Cell]] = []
        group = ""
        for attributes, cells in rows[1:]:
            if 'class="part"' in attributes:
                group = cells[0].text
            else:
                self.groups.append(group)
                self.rows.append(cells)

    def _cells(self, row: str) -> Iterator[Cell]:
        for attributes, inside in CELL.findall(row):
            cell = Cell(inside, [self._number(href, name) for href, name, _ in FACT.findall(inside)])
            span = SPAN.search(attributes)
            yield from [cell] * (int(span[1]) if span else 1)

    def _number(self, href: str, name: str) -> Number:
        # A notebook that is older than the data may link what is no more; rendering warns of it.
        return self.values.get(edition_of(self.address, href), {}).get(html.unescape(name), Number(None, ""))

    @cached_property
    def columns(self) -> list[tuple[str, list[str]]]:
        """The heads and cells of the file."""
        found = [(self.words["group"], self.groups)] if any(self.groups) else []
        for at, head in enumerate(self.head):
            cells = [row[at] if at < len(row) else Cell("", []) for row in self.rows]
            if any(cell.markup and (cell.text or cell.numbers) for cell in cells):
                found += self._column(head, cells)
        return found

    def _column(self, head: str, cells: list[Cell]) -> Iterator[tuple[str, list[str]]]:
        most = max(len(cell.numbers) for cell in cells)
        prose = most == 0 or most > MOST or any(cell.judged for cell in cells)
        more = prose or any(cell.says_more(self.words["unmeasured"]) for cell in cells)
        if more:
            yield head, [as_text(cell.text) for cell in cells]
        for place in range(0 if prose else most):
            numbers = [cell.numbers[place] if place < len(cell.numbers) else None for cell in cells]
            yield from self._numbers(f"{head} ({place + 1})" if more or most > 1 else head, numbers)

    def _numbers(self, head: str, numbers: list[Number | None]) -> Iterator[tuple[str, list[str]]]:
        """A column of values, and one of their units where these differ."""
        units = {number.unit for number in numbers if number} - {*BARE}
        one = len(units) == 1 and not any(number and number.unit in BARE for number in numbers)
        values = ["" if number is None or number.value is None else f"{number.value:.12g}" for number in numbers]
        yield f"{head} [{units.pop()}]" if one else head, values
        if units and not one:
            spelled = ["" if number is None or number.unit in BARE else number.unit for number in numbers]
            yield f"{head} [{self.words['unit']}]", spelled

    def csv(self) -> bytes:
        """The file. It begins with a byte order mark, without which Excel reads no Korean and no Chinese."""
        written = io.StringIO()
        writer = csv.writer(written)
        writer.writerow([head for head, _ in self.columns])
        writer.writerows(zip(*(cells for _, cells in self.columns), strict=True))
        return written.getvalue().encode("utf-8-sig")


@lru_cache(maxsize=1024)
def edition_of(address: str, receipts: str) -> str:
    """The edition whose page of receipts a page at `address` links."""
    return urlsplit(urljoin(address, receipts)).path.rstrip("/").split("/")[-2]


def said(markup: str) -> str:
    """What a piece of a page says, in one line."""
    text = html.unescape(TAG.sub("", BREAK.sub("; ", markup)))
    return " ".join(text.split()).removeprefix("; ")


def as_text(text: str) -> str:
    """A cell of text: numbers without signs that group their digits, and nothing that a spreadsheet would calculate."""
    if FIGURES.fullmatch(text):
        return text.replace(",", "").replace("−", "-")
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def tables(page: str, address: str, values: Values, words: dict[str, str]) -> Iterator[tuple[str, Table, int]]:
    """The tables of a page: name, table, and where it ends. The second and further in one place end in a count."""
    heading, figure, taken = "table", "", Counter[str]()
    for found in LANDMARK.finditer(page):
        tag, named, figure_ends, markup = found.groups()
        if not markup:
            figure = named if tag == "figure" else "" if figure_ends else figure
            heading = heading if tag == "figure" or figure_ends else named
            continue
        place = html.unescape(figure or heading)
        taken[place] += 1
        name = place if taken[place] == 1 else f"{place}-{taken[place]}"
        yield name, Table(markup, address, values, words), found.end()
