"""Writing rendered files: only what changed, and deleting only what an earlier rendering wrote."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANIFEST = ".rendered"
"""Lists the committed files that rendering made, below the folder they are in."""

LOCAL = ".rendered-here"
"""The same for the reader's own edition, which is never committed."""


class WriteError(Exception):
    """The pages cannot be written; the message names the path and the cure."""


def write(files: dict[str, str], out: Path) -> list[str]:
    """Write what changed, delete what is no longer rendered; the paths that were touched. Raises WriteError.

    What is about to be written is listed first, so that whatever interrupts it leaves no file that nobody answers for.
    """
    with _named(out):
        return _write(files, out)


def replace(path: Path, text: str) -> None:
    """Write one file, of which no manifest tells. Raises WriteError."""
    with _named(path):
        _replace(path, text)


def keep(files: dict[str, str], out: Path) -> list[str]:
    """Write what changed of files that no manifest lists, as rendering never deletes them; their paths.

    Raises WriteError.
    """
    changed = [path for path, text in files.items() if _differs(out / path, text)]
    for path in changed:
        replace(out / path, files[path])
    return changed


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """Names the path of what cannot be written, and the cure."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{error.filename or place}: cannot be written ({error.strerror}). Make room there or allow writing to it, "
            "then run again; `python -m templates --out FOLDER` writes the pages elsewhere."
        ) from None


def _write(files: dict[str, str], out: Path) -> list[str]:
    stale = list(_stale(files, out))
    changed = [path for path, text in files.items() if _differs(out / path, text)]
    out.mkdir(parents=True, exist_ok=True)
    for name, listed in _manifests(files).items():
        _keep_manifest(out / name, sorted({*listed, *(path for path in stale if path in _listed(out / name))}))
    for path in changed:
        _replace(out / path, files[path])
    for path in stale:
        _remove(path, out)
    for name, listed in _manifests(files).items():
        _keep_manifest(out / name, listed)
    return changed + stale


def _remove(path: str, out: Path) -> None:
    """A file, and the folders below `out` that are empty without it."""
    (out / path).unlink()
    for folder in Path(path).parents[:-1]:
        try:
            (out / folder).rmdir()
        except OSError:  # something else is in it
            return


def _replace(path: Path, text: str) -> None:
    """The whole file or nothing of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is in its place", str(path))
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def differences(files: dict[str, str], out: Path) -> Iterator[str]:
    """Unified diffs between what is on disk and what the data say."""
    for path, text in files.items():
        yield from changes(path, text, out)
    for path in _stale(files, out):
        yield f"committed/{path}: no longer rendered"
    for name, listed in _manifests(files).items():
        if name == MANIFEST and _listed(out / name) != listed:
            yield f"committed/{name}: does not list what is rendered"


def changes(path: str, text: str, out: Path) -> Iterator[str]:
    """Unified diff between one file on disk and what it should be."""
    found = (out / path).read_text(encoding="utf-8", errors="replace") if (out / path).is_file() else ""
    if found != text:
        yield from difflib.unified_diff(
            found.splitlines(), text.splitlines(), f"committed/{path}", f"rendered/{path}", lineterm="", n=1
        )


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_bytes() != text.encode()


def _stale(files: dict[str, str], out: Path) -> Iterator[str]:
    """Files that a manifest lists and nothing renders any more."""
    for name in (MANIFEST, LOCAL):
        for path in _listed(out / name):
            if path not in files and _is_ours(out, path):
                yield path


def _is_ours(out: Path, path: str) -> bool:
    """Whether a line of a manifest names a file below the folder; damaged lines do not."""
    try:
        return (out / path).resolve().is_relative_to(out.resolve()) and (out / path).is_file()
    except (OSError, ValueError):
        return False


def _listed(manifest: Path) -> list[str]:
    return manifest.read_text(encoding="utf-8", errors="replace").splitlines() if manifest.is_file() else []


def _manifests(files: dict[str, str]) -> dict[str, list[str]]:
    local = sorted(path for path in files if "here" in Path(path).parts)
    return {MANIFEST: sorted(set(files) - set(local)), LOCAL: local}


def _keep_manifest(manifest: Path, listed: list[str]) -> None:
    text = "".join(f"{path}\n" for path in listed)
    if not listed:
        if manifest.exists():  # else a folder that may only be read would refuse
            manifest.unlink()
    elif _differs(manifest, text):
        _replace(manifest, text)
