"""The notebook of a language: prose from its template, code from cells.py, and the outputs of the last run that fit.

What the outputs follow from is hashed, and the notebook keeps the hash: so rendering, which has no time to execute it,
knows whether its outputs are those of the data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from templates.charts import figure
from templates.facts.edition import Edition
from templates.labels import LANGUAGES, Labels
from templates.quantity import Quantity
from templates.render import Page, Told
from templates.voice import Voice

FILE = "notebook.ipynb"
COMMAND = "python -m templates notebook"
FOLDER = Path(__file__).parent
CODE = (FOLDER / "show.py", Path(figure.__file__))
"""What decides, beside the cells, how something is shown."""

LABELS = ("notebook", "chart", "kind", "verdict", "edition", "engine")
"""Sections of labels.toml whose words the outputs hold."""

OWN = "voice_in_numbers"
"""The notebook's metadata of this project."""

_CELL = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
_PLACE = re.compile(r"^<cell (\w+)>$", re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.*?) \{#([a-z0-9-]+)\}$", re.MULTILINE)
_DOWNLOAD = re.compile(r"\[([^\]]+)\]\(([^)]+)\)\{download\}")
_LANGUAGE = re.compile(r'^(LANGUAGE = )"\w+"', re.MULTILINE)
_NUMBERS = re.compile(r"\[\n\s*([-+0-9.eE,\snul]+?)\n\s*\]")

Notebook = dict[str, Any]


def code(language: str) -> dict[str, str]:
    """The cells of code by name. In all languages they are the same but for the name of the language."""
    text = _LANGUAGE.sub(rf'\g<1>"{language}"', (FOLDER / "cells.py").read_text(encoding="utf-8"))
    _, *parts = _CELL.split(text)
    return {name: source.strip() for name, source in zip(parts[::2], parts[1::2], strict=True)}


def notebook(told: list[Told], language: str, outputs: dict[str, Any] | None = None, inputs: str = "") -> Notebook:
    """The notebook as nbformat 4 has it: with the `outputs` of cells by name and the hash of what they follow from."""
    text = Page(told[0], Voice(language)).render(
        f"notebook/{language}.md.j2", cell=lambda name: Markup(f"<cell {name}>")
    )
    cells, known = list(_cells(text, code(language))), outputs or {}
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = known.get(cell["id"], [])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, OWN: {"inputs": inputs}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str, code: dict[str, str]) -> Iterator[dict[str, Any]]:
    prose, *rest = _PLACE.split(text)
    yield _prose("text", prose)
    for name, following in zip(rest[::2], rest[1::2], strict=True):
        yield {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "source": lines(code[name])}
        if following.strip():
            yield _prose(f"text-{name}", following)


def _prose(name: str, text: str) -> dict[str, Any]:
    """A cell of Markdown. Headings become HTML, as only that keeps their addresses."""
    headed = _HEADING.sub(lambda m: f'<h{len(m[1])} id="{m[3]}">{m[2]}</h{len(m[1])}>', text.strip())
    linked = _DOWNLOAD.sub(r'<a href="\2" download>\1</a>', headed)
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": lines(linked)}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(notebook: Notebook) -> str:
    """The notebook's file: stable order, lists of numbers on one line."""
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    return _NUMBERS.sub(lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text) + "\n"


# What the outputs follow from


def digests(editions: Iterable[Edition]) -> dict[str, str]:
    """For each language a hash of all that its outputs follow from: the code, the words, the facts that the code reads.

    The reader's own edition is not among them: it is never committed.
    """
    told = {each.id: [_told(fact) for fact in read(each)] for each in editions if each.id != "here"}
    shared = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for file in CODE:
        shared.update(file.read_bytes())
    return {language: _digest(shared.copy(), language) for language in LANGUAGES}


def _digest(hashed: hashlib._Hash, language: str) -> str:
    labels = Labels(language)
    words = {section: labels.section(section) for section in LABELS}
    hashed.update(json.dumps([code(language), words], ensure_ascii=False, sort_keys=True).encode())
    return hashed.hexdigest()


def read(edition: Edition) -> Iterator[Quantity]:
    """The facts that the code reads of an edition."""
    yield edition.direct.bandwidth
    for model in edition.models:
        yield from (model.weights, model.kv_per_token, model.compute, model.parameters_with_head)
        for batch in model.timed_batches:
            yield from (batch.at_once, batch.rate, batch.kv_bytes, batch.intensity, batch.compute_with_head)
        for prompt in model.timed_prompts:
            yield from (prompt.length, prompt.rate, prompt.intensity, prompt.compute)
    for point in edition.voxcpm.points:
        yield from point


def _told(fact: Quantity) -> list[Any]:
    return [fact.name, str(fact.value), str(fact.low), str(fact.high), fact.kind, fact.doubts]


# Whether they are those of the data


def kept(told: list[Told], folder: Path) -> tuple[dict[str, str], list[str]]:
    """The notebooks below a folder with their prose as the templates have it now, and the paths of those to execute.

    A notebook whose outputs do not follow from the data any more stays as it is.
    """
    current, stale = {}, []
    for language, inputs in digests(each.edition for each in told).items():
        path = f"{language}/{FILE}"
        outputs = _outputs(folder / path, inputs)
        if outputs is None:
            stale.append(path)
        else:
            current[path] = written(notebook(told, language, outputs, inputs))
    return current, stale


def _outputs(path: Path, wanted: str) -> dict[str, Any] | None:
    """The outputs of a notebook by the names of their cells; None where it is missing, damaged or of other inputs."""
    try:
        found = json.loads(path.read_bytes())
        if found["metadata"][OWN]["inputs"] != wanted:
            return None
        return {cell["id"]: cell["outputs"] for cell in found["cells"] if cell["cell_type"] == "code"}
    except (OSError, ValueError, LookupError, TypeError):
        return None
