"""A figure as JSON, and its texts in each language: a text to translate stands in it as `@name`, of labels.toml."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from templates.voice import Voice

_TEXT = re.compile(r'(?<=[:,\[])"(@[^"\\]*)"')
"""A text to say, as it stands in JSON."""


def written(figure: dict[str, Any]) -> str:
    """The figure as compact JSON without NaN, its texts still to be said."""
    return json.dumps(_gaps(figure), ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True) + "\n"


def _gaps(part: Any) -> Any:
    """The figure with a null for each number that is none."""
    if isinstance(part, dict):
        return {name: _gaps(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_gaps(value) for value in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def spoken(figure: str, voice: Voice) -> str:
    """A written figure with every `@name` said in the voice's language."""
    return _TEXT.sub(lambda found: json.dumps(said(found[1], voice), ensure_ascii=False), figure)


def said(text: str, voice: Voice) -> str:
    """An `@name` by its label, several with a `|` between them, an `@model` by its title, an `@engine` by its name.

    Any other text is left as it is.
    """
    if text.startswith("@model:"):
        named, _, label = text.removeprefix("@model:").partition("|")
        subject, _, engine = named.partition("@")
        title = voice.model(subject, engine).unescape()
        return f"{title}{voice.comma}{voice.labels.get('chart', label)}" if label else title
    if text.startswith("@engine:"):
        return voice.engine(text.removeprefix("@engine:")).unescape()
    return voice.comma.join(_word(name, voice) for name in text[1:].split("|")) if text.startswith("@") else text


def _word(name: str, voice: Voice) -> str:
    """An entry of [chart], or of [part] where `part:` stands before it."""
    part = name.removeprefix("part:")
    return voice.labels.get("chart" if part == name else "part", part)


def undressed(figure: dict[str, Any]) -> dict[str, Any]:
    """The figure without colours that only the site knows, and without NaN: Plotly draws it in its own, anywhere."""
    return {name: _undressed(value) for name, value in _gaps(figure).items()}


def _undressed(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _undressed(value) for name, value in part.items() if not _is_role(value)}
    return [_undressed(value) for value in part] if isinstance(part, list) else part


def _is_role(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("var:")


def checked(figure: dict[str, Any]) -> None:
    """Hold a figure against Plotly's own schema. Raises ValueError naming what it does not know.

    It takes as long as rendering all pages, so `--check` and the tests ask for it, and rendering does not.
    """
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    go.Figure(_with_colours(figure))


def _with_colours(part: Any) -> Any:
    """The figure with a colour that Plotly knows in place of each role."""
    if isinstance(part, dict):
        return {name: _with_colours(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_with_colours(value) for value in part]
    return "#000000" if _is_role(part) else part
