"""Where code within a sentence or a table may break: not after a hyphen, and within a long word only after its signs.

Browsers break after any hyphen, so that an option such as `--as` would stand on two lines.
"""

from __future__ import annotations

import html
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

CODE = re.compile(r"(<pre\b.*?</pre>)|<code>([^<]*)</code>", re.DOTALL)
"""A block of code, which stays as it is, or code within a line."""

BETWEEN = re.compile(r"(?<=[^\W_][/?&_])(?=[^\W_])")
"""Where a long word, such as a key, may break."""

SHORT, LONG = 16, 34
"""A word of so many letters is not broken; so many are about the line of a phone, and what has more must be."""


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Tells browsers where they may break code."""
    return CODE.sub(lambda found: found[1] or f"<code>{broken(html.unescape(found[2]))}</code>", content)


def broken(code: str) -> str:
    """Code as HTML that breaks at its spaces and in long words after their signs."""
    return " ".join("<wbr>".join(_whole(part) for part in _parts(word)) for word in code.split(" "))


def _parts(word: str) -> list[str]:
    return [word] if len(word) <= SHORT else BETWEEN.split(word)


def _whole(part: str) -> str:
    text = html.escape(part, quote=False)
    return f'<span class="whole">{text}</span>' if "-" in part and len(part) <= LONG else text
