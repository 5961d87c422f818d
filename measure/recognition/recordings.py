"""Recordings with transcripts, to recognise and score: from a folder, a local copy of FLEURS, or FLEURS on the hub.

A folder holds NAME.wav (or .flac) and the transcript of each beside it as NAME.txt, in UTF-8. FLEURS is told by its
`test.tsv`: file name and transcript in the second and third column, the recordings below `test/` or `audio/test/`.
"""

from __future__ import annotations

import csv
import os
import re
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from measure import weights
from measure.recognition.nemotron import SAMPLE_RATE
from measure.session import OptionError

if TYPE_CHECKING:
    from torch import Tensor

SUFFIXES = (".wav", ".flac")

FLEURS = "fleurs"
"""Label of what has FLEURS' layout, and name of its data set."""

TABLE = "test.tsv"

FILE_COLUMN, TEXT_COLUMN = 1, 2
"""Of FLEURS' table: the recording's file, and its transcript as it was written."""

LABEL = re.compile(r"([a-z0-9._-]+):(.+)")


class RecordingsError(OptionError):
    """Recordings that cannot be used; the message says which, why, and what to do."""


class Recording(NamedTuple):
    """One recording and what is said in it."""

    path: Path
    text: str


class Recordings(NamedTuple):
    """Some recordings, by the label that the keys of their error rates bear."""

    label: str
    items: tuple[Recording, ...]


def sources(option: str) -> dict[str, str]:
    """Places of recordings by label, from text such as `synthetic:FOLDER,fleurs:hub:google/fleurs`.

    Without a label, recordings of FLEURS' layout bear its name, others are `recordings`. Raises RecordingsError for a
    label that stands twice.
    """
    found: dict[str, str] = {}
    for part in filter(None, option.split(",")):
        named = None if part.startswith(weights.HUB) else LABEL.fullmatch(part)
        label, place = (named[1], named[2]) if named else (_label(part), part)
        if label in found:
            raise RecordingsError(f"audio={option}: two places are called {label!r}. Write LABEL:PLACE for each.")
        found[label] = place
    return found


def check(audio: str, most: str) -> None:
    """Refuse options that name a folder which is not there, or no number of recordings."""
    for place in sources(audio).values():
        if not place.startswith(weights.HUB) and not os.path.isdir(place):  # noqa: PTH112 (as in weights.py)
            raise RecordingsError(
                f"audio={audio}: there is no folder {place}. Pass one that is there, or hub:OWNER/NAME."
            )
    if most and not (most.isdecimal() and int(most)):
        raise RecordingsError(f"recordings={most}: is no number of recordings. Pass 1 or more.")


def _label(place: str) -> str:
    fleurs = place.startswith(weights.HUB) or os.path.exists(f"{place}/{TABLE}")  # noqa: PTH110 (as in weights.py)
    return FLEURS if fleurs else "recordings"


def find(label: str, place: str, language: str, most: int = 0) -> Recordings:
    """The recordings at a place, by name; with `most` above zero no more than so many.

    Args:
        language: as in ko-KR; chooses the part of FLEURS on the hub.
    Raises RecordingsError if there are none, or if one lacks its transcript.
    """
    if place.startswith(weights.HUB):
        items = _from_table(_download(weights.place(place), language.replace("-", "_").lower()))
    elif (Path(place) / TABLE).exists():
        items = _from_table(Path(place))
    else:
        items = _from_folder(Path(place))
    if not items:
        raise RecordingsError(f"{place}: no recordings there. A folder has to hold NAME.wav and NAME.txt.")
    return Recordings(label, tuple(items[:most] if most else items))


def _from_folder(folder: Path) -> list[Recording]:
    sounds = sorted(path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)
    missing = [path.name for path in sounds if not path.with_suffix(".txt").exists()]
    if missing:
        raise RecordingsError(f"{folder}: no transcript of {missing[0]}. Write it into a .txt file of the same name.")
    return [Recording(path, path.with_suffix(".txt").read_text(encoding="utf-8").strip()) for path in sounds]


def _from_table(folder: Path) -> list[Recording]:
    with (folder / TABLE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    place = next((each for each in (folder / "test", folder / "audio" / "test") if each.is_dir()), folder)
    items = sorted(Recording(place / row[FILE_COLUMN], row[TEXT_COLUMN]) for row in rows)
    missing = next((item.path.name for item in items if not item.path.exists()), "")
    if missing:
        raise RecordingsError(
            f"{folder}: {TABLE} names {missing}, which is not there. Unpack the recordings beside it."
        )
    return items


def _download(name: str, language: str) -> Path:
    """A folder with the table and the recordings of FLEURS' test set in a language such as ko_kr."""
    from huggingface_hub import hf_hub_download

    table = hf_hub_download(name, f"data/{language}/{TABLE}", repo_type="dataset")
    archive = hf_hub_download(name, f"data/{language}/audio/test.tar.gz", repo_type="dataset")
    _UNPACKED.append(tempfile.TemporaryDirectory(prefix="recordings-"))
    folder = Path(_UNPACKED[-1].name)
    (folder / "test").mkdir()
    (folder / TABLE).write_bytes(Path(table).read_bytes())
    with tarfile.open(archive) as packed:
        for member in packed:
            name, content = Path(member.name).name, packed.extractfile(member)
            if content is not None and name.endswith(SUFFIXES):
                (folder / "test" / name).write_bytes(content.read())
    return folder


_UNPACKED: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are gone when the process ends."""


def sounds(items: Sequence[Recording]) -> list[Tensor]:
    """Each recording as mono fp32 at 16,000 samples a second."""
    return [sound(item.path) for item in items]


def sound(path: Path, rate: int = SAMPLE_RATE) -> Tensor:
    """A recording as mono fp32, resampled where it has another rate. Raises RecordingsError if it cannot be read."""
    import soundfile
    import soxr
    import torch

    try:
        samples, found = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, RuntimeError) as error:
        raise RecordingsError(f"{path}: cannot be read: {error}. Pass WAV or FLAC files.") from error
    mono = samples.mean(axis=1)
    return torch.from_numpy(mono if found == rate else soxr.resample(mono, found, rate))
