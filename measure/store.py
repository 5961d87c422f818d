"""The file that results are kept in: read, saved whole or not at all, locked, and amended beside other writers.

What results are is told by `measure.results`. A file half written has a name of its own; a run that is measured anew is
kept in a file beside it.
"""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from measure import invocation
from measure.results import Results, ResultsError, Run, dump, parse

_UNFINISHED = ".unfinished"
_ELSEWHERE = "Choose another place with --results."
_IN_FOLDER = "Name a file in it with --results."
_NEW_MODE = 0o644
_ATTEMPTS, _PAUSE_S = 20, 0.05

MOST_BYTES = 2**28
"""No results file is larger: a run takes about 1 MB."""

HAND_S = 1.0
"""How long a file that cannot be read may be one that an editor is just writing in place."""


def load(path: Path, cure: str = "") -> Results:
    """Read and validate a results file. Raises ResultsError naming file, key and cure: `cure` if there is no file."""
    here = invocation.command("measure", "here")
    make = f"Run `{here}` to make one, or name another with --results."
    return parse(_bytes(path, cure or make, cure or _IN_FOLDER), path.name)


def load_or_none(path: Path, patience_s: float = 0) -> Results:
    """The results of a file as `load` reads it, or no runs where there is no file yet.

    Args:
        patience_s: for how long to read again what cannot be used; an editor may be in the middle of writing it.
    """
    return _read(path, patience_s)[0]


def _read(path: Path, patience_s: float) -> tuple[Results, bytes | None]:
    """What a file holds and the bytes that say so; no runs and None where there is no file yet."""
    end = time.monotonic() + patience_s
    while True:
        data = _present(path)
        try:
            return (Results([]) if data is None else parse(data, path.name)), data
        except ResultsError:
            if time.monotonic() >= end:
                raise
        time.sleep(_PAUSE_S)


def _present(path: Path) -> bytes | None:
    """The bytes of a file, None where there is none yet."""
    try:
        there = path.exists()
    except OSError:  # a name too long, say: reading it tells
        there = True
    return _bytes(path) if there else None


def _bytes(path: Path, cure: str = _ELSEWHERE, of_folder: str = _IN_FOLDER) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except PermissionError as error:
        cure = "Allow yourself to read it (chmod u+r), or name another file."
        raise ResultsError(f"{path.name or path}: cannot be read ({error.strerror}). {cure}") from None
    except IsADirectoryError:
        raise ResultsError(f"{path.name or path}: is a folder. {of_folder}") from None
    except OSError as error:
        raise ResultsError(f"{path.name or path}: cannot be read ({error.strerror}). {cure}") from None
    if len(data) > MOST_BYTES:
        raise ResultsError(f"{path.name or path}: is no results file: larger than {MOST_BYTES // 2**20} MiB. {cure}")
    return data


def save(results: Results, path: Path, still: Callable[[], bool] = lambda: True) -> None:
    """Write the whole file or nothing: a temporary file beside it, synced, then renamed over it.

    Of a link, the file it leads to is written. A file keeps its permissions; a new one may be read by all.

    Args:
        still: asked at the last moment whether the file is still the one that `results` were made from.
    Raises ResultsError where the disk is full or the place cannot be written, ChangedUnderWay where the file is no
    longer that one; it then stands as it was.
    """
    data = dump(results).encode()
    try:
        _write(data, path, still)
    except OSError as error:
        cure = "Make room or choose another place with --results, then run again: what was saved before is kept."
        raise ResultsError(f"{path.name}: cannot be saved ({error.strerror}). {cure}") from None


def _write(data: bytes, path: Path, still: Callable[[], bool]) -> None:
    place = _place(path)
    temporary, handle = _temporary(place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(stat.S_IMODE(place.stat().st_mode) if place.exists() else _NEW_MODE)
        if not still():
            cure = "What was written there is kept: run again."
            raise ChangedUnderWay(f"{path.name}: another program wrote it while it was being changed here. {cure}")
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(place: Path) -> tuple[Path, int]:
    """A new file beside a place, with the descriptor by which it is open."""
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=_UNFINISHED)
    return Path(name), handle


def _place(path: Path) -> Path:
    """Where the file really is: links are followed, so that none is replaced, and all who write it meet at one lock."""
    real = Path(os.path.realpath(path))
    return path if real == path.absolute() else real


class ChangedUnderWay(ResultsError):
    """Somebody else, an editor say, wrote the file between reading and saving; what they wrote stands."""


@contextmanager
def edit(path: Path, timeout_s: float = 60) -> Iterator[Results]:
    """Read, change and save a results file as its only writer; saved only if the block ends without an error.

    Raises ChangedUnderWay if a program that knows nothing of the lock has written the file meanwhile.
    """
    busy = (
        f"another process has been writing for {timeout_s:g} s. Wait for the other measurement to end, then run again."
    )
    with locked(path, "lock", timeout_s, busy):
        _sweep(path)
        results, before = _read(path, HAND_S)
        yield results
        save(results, path, lambda: _present(path) == before)


def amend(path: Path, change: Callable[[Results], None]) -> None:
    """Change a results file and save it; if somebody edits it by hand meanwhile, what they wrote is changed instead."""
    for attempt in range(_ATTEMPTS):
        try:
            with edit(path) as data:
                change(data)
            return
        except ChangedUnderWay:
            if attempt == _ATTEMPTS - 1:
                raise


@contextmanager
def locked(path: Path, suffix: str, timeout_s: float, busy: str) -> Iterator[None]:
    """Hold a lock of a results file: a file beside it, or beside where a link leads to, with this suffix.

    Raises ResultsError: `busy`, a sentence and its cure, if another process has held it for `timeout_s`.
    """
    check_place(path)
    place = _place(path)
    lock = filelock.FileLock(place.with_name(f".{place.name}.{suffix}"), timeout=timeout_s)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise ResultsError(f"{path.name}: {busy}") from None
    except OSError as error:
        cure = f"Make room, or: {_ELSEWHERE}"
        raise ResultsError(f"{path.name}: cannot be locked ({error.strerror}). {cure}") from None
    try:
        yield
    finally:
        lock.release()


def check_place(path: Path) -> None:
    """Refuse a path at which no file can be made: tried, since a lock would wait for such a place for ever."""
    try:
        if path.is_dir():
            raise ResultsError(f"{path.name or path}: is a folder. {_IN_FOLDER}")
        if path.exists() and not path.is_file():
            raise ResultsError(f"{path.name}: is no regular file, and results can be saved in no other. {_ELSEWHERE}")
        temporary, handle = _temporary(_place(path))
    except OSError as error:
        told = f"no file can be made in the folder {str(_place(path).parent)!r} ({error.strerror})"
        raise ResultsError(f"{path.name}: {told}. {_ELSEWHERE}") from None
    os.close(handle)
    temporary.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what a writer that was killed left behind: with the lock held nobody else is writing."""
    place = _place(path)
    for entry in place.parent.iterdir():
        if entry.name.startswith(f".{place.name}.") and entry.name.endswith(_UNFINISHED):
            entry.unlink(missing_ok=True)


def keep_aside(run: Run, path: Path, at: str) -> Path:
    """Keep a run as it is in a file of its own beside the results file; `at` is the moment, for its name."""
    kept = _unused(path.with_name(f".{path.name}.{run.id}-{at.replace(':', '')}.replaced"))
    save(Results([run]), kept)
    return kept


def _unused(path: Path) -> Path:
    """The path, or one like it that no file has: the same second may come again, as when the clock is set."""
    names = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
    return path if not path.exists() else next(other for other in names if not other.exists())
