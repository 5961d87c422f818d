"""HTML elements as text: what is not markup already is escaped.

Receipts pages are tens of thousands of elements, so this takes the short way: the escaping of the standard library, and
one `Markup` an element.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import escape

from markupsafe import Markup

_MARKUP = re.compile(r"[&<>\"']")
_MARKDOWN = re.compile(r"[\\`*_\[\]<>&\"'|{}#!~^$@]")
_START = re.compile(r"^[-+=:]|^\d+(?=[.)])")
_SPACES = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"
"""Not printed, but without them Persian, the scripts of India and many emoji fall apart."""
_LEFTWARDS = ("R", "AL", "AN")
_ISOLATE = "\u2068\u2069"


def element(tag: str, *children: str | Markup, **attributes: str) -> Markup:
    """An element with its children; `class_` gives the class, an underscore within a name a hyphen."""
    told = "".join([f' {name.rstrip("_").replace("_", "-")}="{safe(value)}"' for name, value in attributes.items()])
    return marked(f"<{tag}{told}>{_together(children)}</{tag}>")


def joined(*children: str | Markup) -> Markup:
    """Children one after another, without an element around them."""
    return marked(_together(children))


def safe(text: str | Markup) -> str:
    """The text as it may stand in HTML."""
    return escape(text) if text.__class__ is not Markup and _MARKUP.search(text) else text


def _together(children: tuple[str | Markup, ...]) -> str:
    return "".join([text if text.__class__ is Markup else safe(text) for text in children])


def marked(text: str) -> Markup:
    """Text that is HTML already, as markup: without the questions that `Markup` asks of what it is given."""
    return str.__new__(Markup, text)


@lru_cache(maxsize=4096)
def plain(text: str) -> Markup:
    """Text from data, safe in Markdown and HTML alike: what could be markup becomes a character reference.

    Text that is written from right to left is isolated, so that what stands around it keeps its order.
    """
    seen = text if text.isprintable() else "".join([c if c.isprintable() or c in _JOINERS else " " for c in text])
    line = _SPACES.sub(" ", seen)
    escaped = _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", line)
    safe = _START.sub(lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", escaped)
    leftwards = not line.isascii() and any(unicodedata.bidirectional(c) in _LEFTWARDS for c in line)
    return Markup(f"{_ISOLATE[0]}{safe}{_ISOLATE[1]}" if leftwards else safe)
