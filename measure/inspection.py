"""What `check` finds in a run besides verdicts: names that this version does not know, and dates yet to come.

Neither keeps a file from being read. A newer version may have measured what an older one has no name for, and whether
a date is to come depends on the clock of whoever asks: pages have to come out the same at any time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from measure import models
from measure.keys import LEAST, Key, parse_key
from measure.results import UNITS_OF, Import, Report, Run

AHEAD = timedelta(days=1)
"""By how much a date may be ahead of this machine's: clocks and zones differ."""

UNMEASURED = ("datasheet",)
"""What keys begin with that no measurement makes: figures of the maker, which are put in by hand."""

SPEECH = ("magpie-multilingual", "nemotron-0.6b-bf16", "nemotron-0.6b-fp32", "voxcpm2-bf16")
"""Subjects of keys that are not language models."""

PARAMETERS = (
    *LEAST,
    "audio",
    "cache",
    "chunks",
    "compile",
    "decoder",
    "dtype",
    "emission",
    "encoder",
    "end",
    "engine",
    "graphs",
    "input",
    "language",
    "local_transformer",
    "mode",
    "of",
    "part",
    "program",
    "spaces",
    "tokenizer",
    "window",
)
"""Names after the question mark of a key."""


class Name(NamedTuple):
    """A name in a key, and what kind of name it is."""

    kind: str
    text: str


def unknown(run: Run, measurements: Container[str]) -> Iterator[str]:
    """A sentence for each name in the run's keys that this version does not know; names in imports are free."""
    found: dict[Name, list[str]] = {}
    for text in [*run.samples, *run.failures]:
        if not isinstance(run.samples.get(text), Import):
            for name in _unknown(parse_key(text), measurements):
                found.setdefault(name, []).append(text)
    for (kind, called), keys in found.items():
        where = keys[0] if len(keys) == 1 else f"{len(keys)} keys, the first {keys[0]}"
        yield f"run {run.id!r}: this version knows no {kind} {called!r} ({where}). Correct it if it is a slip."


def _unknown(key: Key, measurements: Container[str]) -> Iterator[Name]:
    if key.measurement not in measurements and key.measurement not in UNMEASURED:
        yield Name("measurement", key.measurement)
    if key.quantity not in UNITS_OF and key.quantity != "plan":
        yield Name("quantity", key.quantity)
    if key.subject and not _is_subject(key.subject):
        yield Name("model in this precision", key.subject)
    yield from (Name("parameter", name) for name, _ in key.parameters if name not in PARAMETERS)


def _is_subject(text: str) -> bool:
    try:
        return text in SPEECH or bool(models.subject(text))
    except ValueError:
        return False


def to_come(run: Run, now: str) -> Iterator[str]:
    """A place for each date in the run that lies ahead of `now`, and the date."""
    latest = _moment(now) + AHEAD
    dates = {"started": run.started}
    dates |= {text: sample.at for text, sample in run.samples.items() if not isinstance(sample, Report)}
    dates |= {f"failure {text}": failure.at for text, failure in run.failures.items()}
    for place, date in dates.items():
        if date and _moment(date) > latest:
            yield f"run {run.id!r}: {place}: {date} is still to come"


def _moment(text: str) -> datetime:
    """A date as a moment; one without a zone is taken to be of UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
