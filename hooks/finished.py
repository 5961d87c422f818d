"""Keeps receipts, which are HTML already, out of Markdown's sight: reading each of their tags took half of a build."""

from __future__ import annotations

import re

from mkdocs.structure.pages import Page

LINES = re.compile(r'(?:^<(?:section|ul) class="receipt[^\n]*(?:\n|\Z))+', re.MULTILINE)
"""What a page of receipts consists of between its headings: elements of one line each."""

PLACE = re.compile(r'<div data-finished="(\d+)"></div>\n?')
"""What Markdown sees in the place of such lines."""

ID = re.compile(r' id="([^"]+)"')

_finished: dict[str, list[str]] = {}
"""Lines that were taken out, by the address of the page's source."""


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Takes the lines out."""
    taken = _finished[page.file.src_uri] = []

    def take(match: re.Match[str]) -> str:
        taken.append(match[0])
        return f'<div data-finished="{len(taken) - 1}"></div>\n'

    return LINES.sub(take, markdown)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Puts them back, and says which anchors are in them, for links to be held against."""
    taken = _finished.pop(page.file.src_uri, [])
    if not taken:
        return html
    page.present_anchor_ids = (page.present_anchor_ids or set()).union(*map(ID.findall, taken))
    return PLACE.sub(lambda match: taken[int(match[1])], html)
