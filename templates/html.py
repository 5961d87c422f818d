"""HTML elements as text: what is not markup already is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape


def element(tag: str, *children: str | Markup, **attributes: str) -> Markup:
    """An element with its children; `class_` gives the class, an underscore within a name a hyphen."""
    told = "".join([f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attributes.items()])
    return Markup(f"<{tag}{told}>{''.join(map(escape, children))}</{tag}>")


def joined(*children: str | Markup) -> Markup:
    """Children one after another, without an element around them."""
    return Markup("".join(map(escape, children)))
