"""Executing the notebook: in a kernel of its own, and the same bytes whoever does it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellExecutionError

from measure.results import Results, dump
from templates.notebook import NotebookError, source
from templates.render import Told

ROOT = Path(__file__).parent.parent.parent
SECONDS = 120
"""Longer than any cell takes, even on a slow machine."""


def executed(told: list[Told], results: Results, language: str) -> str:
    """The file of a language's notebook after it was run on these results. Raises NotebookError."""
    made = nbformat.reads(source.written(source.notebook(told, language)), as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        # A reader's own run is never committed, and what the notebook shows of it would be.
        file.write_text(dump(Results([run for run in results.runs if run.id != "here"])), encoding="utf-8")
        _run(made, {**os.environ, "NOTEBOOK_RESULTS": str(file), "PYTHONPATH": str(ROOT)})
    outputs = {cell.id: [_plain(output) for output in cell.outputs] for cell in made.cells if cell.cell_type == "code"}
    inputs = source.digests(each.edition for each in told)[language]
    return source.written(source.notebook(told, language, outputs, inputs))


class _Kernel(AsyncKernelManager):
    """A kernel that is spoken to through sockets in the user's own folder: no port is opened."""

    def _transport_default(self) -> str:
        return "ipc"


def _run(made: nbformat.NotebookNode, environment: dict[str, str]) -> None:
    client = nbclient.NotebookClient(
        made, kernel_manager_class=_Kernel, kernel_name="python3", timeout=SECONDS, record_timing=False
    )
    try:
        client.execute(env=environment, cwd=str(ROOT))
    except CellExecutionError as error:
        told = f"{error.ename}: {error.evalue}".rstrip(".")
        raise NotebookError(f"templates/notebook/cells.py: {told}. Correct the cell.") from None


def _plain(output: dict[str, Any]) -> dict[str, Any]:
    """A cell's output as the file keeps it. Raises NotebookError for one that was not meant, such as a warning."""
    if output["output_type"] != "display_data":
        told = output.get("text", output["output_type"])
        raise NotebookError(f"templates/notebook/cells.py: a cell prints {told!r}. Show tables and charts alone.")
    data = {kind: source.lines(text) if isinstance(text, str) else text for kind, text in output["data"].items()}
    return {"data": data, "metadata": {}, "output_type": "display_data"}
