"""HTML elements as text: what is not markup already is escaped.

Receipts pages are tens of thousands of elements, so this takes the short way: the escaping of the standard library, and
one `Markup` an element.
"""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

_MARKUP = re.compile(r"[&<>\"']")


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
