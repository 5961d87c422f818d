"""The environment of the templates: what they may call, how what they print is said, and their compiled form."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from templates.html import plain
from templates.quantity import Quantity
from templates.truth import Claim
from templates.voice import Voice

HERE = Path(__file__).parent


@jinja2.pass_context
def _said(context: jinja2.runtime.Context, value: Any) -> Any:
    """What a template prints: facts and claims with their receipts, all other text as text."""
    voice: Voice = context["voice"]
    if isinstance(value, Quantity):
        return voice.fact(value)
    if isinstance(value, Claim):
        return voice.claim(value)
    if isinstance(value, Markup | jinja2.Undefined):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return voice.number(value)
    if isinstance(value, str):
        return plain(value)
    raise TypeError(f"{type(value).__name__} {value!r} cannot be printed")


def _spoken(name: str) -> Any:
    """A filter that asks the page's voice."""

    @jinja2.pass_context
    def ask(context: jinja2.runtime.Context, *arguments: Any) -> Any:
        return getattr(context["voice"], name)(*arguments)

    return ask


class Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates, kept between commands in the user's temporary folder: compiling is a third of a command.

    What cannot be read or written is compiled anew.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, EOFError, ValueError, UnpicklingError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled() -> Compiled | None:
    # Compiled code depends on its template, for which the library asks, and on the environment, for which it does not.
    environment = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    try:
        return Compiled(pattern=f"voice-in-numbers-{environment}-%s.cache")
    except (OSError, RuntimeError):
        return None  # there is no such folder, or it is somebody else's


@cache
def environment() -> jinja2.Environment:
    """The environment of every template, made once."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE, encoding="utf-8"),
        bytecode_cache=_compiled(),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_said,
        keep_trailing_newline=True,
        # Markdown's {#id} must not open a comment.
        comment_start_string="{##",
        comment_end_string="##}",
    )
    filters = {"bare": "bare", "to": "span", "reach": "reach", "p": "particle", "why": "why"}
    made.filters.update({name: _spoken(method) for name, method in filters.items()})
    return made
