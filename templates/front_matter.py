"""The lines at the head of a page that MkDocs reads: title, description, and whether search finds it."""

from __future__ import annotations

import json


def front_matter(title: str, description: str, *, searchable: bool) -> str:
    """The lines as YAML, in which JSON's strings are strings too."""
    hidden = "" if searchable else "search:\n  exclude: true\n"
    return f"---\ntitle: {_quoted(title)}\ndescription: {_quoted(description)}\n{hidden}---\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
