"""The same models on several machines: what share of each machine's bandwidth one request uses, as a table of bars.

The start page shows it. Bars are drawn within the table: they need no script, and every number keeps its receipt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from measure.results import Run
from templates.facts.edition import Edition
from templates.facts.language_model import LanguageModel
from templates.html import element, joined, marked
from templates.quantity import Quantity
from templates.voice import Voice

WHOLE = 100
"""The measured bandwidth, in percent: a line over the bars."""

ROOM = 104
"""How far the scale goes, in percent, unless a share goes further."""

VISIBLE = 2
"""An interval that is narrower than this, in percent of the bandwidth, would be a dot."""


class Bar(NamedTuple):
    """A model as an edition decoded it, on the machine of `run`."""

    edition: Edition
    model: LanguageModel
    run: Run

    @property
    def share(self) -> Quantity:
        return self.model.share


def bars(editions: Sequence[Edition]) -> list[Bar]:
    """First the model that was decoded on the most machines, then one for each machine that has not had its turn.

    A model that ran on one machine alone compares nothing and is left out. Of one model, the largest share is first.
    """
    models = _by_model(editions)
    chosen: list[Bar] = []
    while models:
        shown = _machines(chosen)
        best = max(models.values(), key=lambda of: (len(_machines(of) - shown), len(_machines(of))))
        if not _machines(best) - shown:
            break
        chosen += sorted(best, key=lambda bar: -(bar.share.value or 0.0))
        del models[best[0].model.subject]
    return chosen


def _by_model(editions: Sequence[Edition]) -> dict[str, list[Bar]]:
    """The bars of each model that was decoded on more than one machine."""
    found: dict[str, list[Bar]] = {}
    for edition in editions:
        for model in dict.fromkeys([edition.focus, *edition.models]):
            if model.samples.run and model.share.measured:
                found.setdefault(model.subject, []).append(Bar(edition, model, model.samples.run))
    return {subject: of for subject, of in found.items() if len(_machines(of)) > 1}


def _machines(of: list[Bar]) -> set[str]:
    return {bar.run.id for bar in of}


def table(shown: list[Bar], voices: dict[str, Voice], near: float) -> Markup:
    """The bars as an HTML table; `voices` by edition, `near` in percent is where “near the bandwidth” begins."""
    voice = next(iter(voices.values()))
    end = max([ROOM, *(bar.share.high for bar in shown)])
    machine, share, rate = (voice.labels.get("compare", name) for name in ("machine", "share", "rate"))
    heads = element("th", machine, scope="col"), element("th", share, colspan="2"), element("th", rate, scope="col")
    head = element("thead", element("tr", *heads))
    bodies = [
        element("tbody", _model(subject, voice), *_rows(list(of), voices, near, end))
        for subject, of in groupby(shown, key=lambda bar: bar.model.subject)
    ]
    return element("table", head, *bodies, class_="bars")


def _model(subject: str, voice: Voice) -> Markup:
    return element("tr", element("th", voice.model(subject), colspan="4", scope="rowgroup"), class_="part")


def _rows(of: list[Bar], voices: dict[str, Voice], near: float, end: float) -> Iterator[Markup]:
    """The bars of a model: by machine and engine, and by run as well where several are of the same."""
    names = [_name(bar, voices[bar.edition.id]) for bar in of]
    for bar, name in zip(of, names, strict=True):
        voice = voices[bar.edition.id]
        told = name if names.count(name) == 1 else voice.of_run(name, bar.run)
        cells = [element("td", voice.fact(number)) for number in (bar.share, bar.model.rate)]
        yield element("tr", element("th", told, scope="row"), element("td", _drawn(bar.share, near, end)), *cells)


def _name(bar: Bar, voice: Voice) -> Markup:
    return joined(voice.machine(bar.run), voice.comma, voice.engine(bar.model.engine))


def _drawn(share: Quantity, near: float, end: float) -> Markup:
    """One bar from 0 to `end` percent, with its interval, the line of “near” and that of the bandwidth itself."""
    low, value, high = (max(0.0, number or 0.0) for number in (share.low, share.value, share.high))
    spread = f'<path class="spread" d="M{low:.2f} 5H{high:.2f}"/>' if high - low > VISIBLE else ""
    lines = f'<path class="near" d="M{near:.0f} 0V10"/><path class="whole" d="M{WHOLE} 0V10"/>'
    box = f'viewBox="0 0 {end:.0f} 10" preserveAspectRatio="none"'
    bar = f'<rect width="{value:.2f}" y="1" height="8"/>'
    return marked(f'<svg class="bar" {box} aria-hidden="true">{bar}{spread}{lines}</svg>')
