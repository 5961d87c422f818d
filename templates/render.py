"""Rendering: results.json and the templates in, the text of every page and chart file out. Nothing is written here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from measure.results import Results
from templates import charts, claims
from templates.facts.edition import Edition, editions
from templates.html import element
from templates.labels import LANGUAGES
from templates.quantity import Quantity
from templates.receipts import Receipts
from templates.truth import Claim, Outcome
from templates.voice import Voice, plain

HERE = Path(__file__).parent
SECTIONS = sorted(path.name for path in (HERE / "article").iterdir() if path.is_dir())
"""Folders of the article's sections, in order."""


class RenderError(Exception):
    """A template that cannot be rendered; the message names file, line and cure."""


@dataclass(frozen=True)
class Told:
    """An edition with its claims and charts, made once for all languages."""

    edition: Edition
    claims: dict[str, Claim]
    charts: dict[str, charts.Chart]


def tell(results: Results, force: dict[str, Outcome] | None = None) -> list[Told]:
    """All editions. `force` sets the outcome of claims by name, for tests that read every sentence."""
    told = []
    for edition in editions(results):
        judged = claims.judge(edition)
        for name, outcome in (force or {}).items():
            judged[name] = replace(judged[name], forced=outcome)
        told.append(Told(edition, judged, charts.charts(edition)))
    return told


def pages(results: Results, force: dict[str, Outcome] | None = None) -> dict[str, str]:
    """Every rendered file by its path below docs/. Raises RenderError for a template that is wrong."""
    told = tell(results, force)
    files: dict[str, str] = {}
    for language in LANGUAGES:
        files[f"{language}/index.md"] = _start(told, language)
        for edition in told:
            files |= _edition(edition, language, first=edition is told[0])
    return files


def _edition(told: Told, language: str, first: bool) -> dict[str, str]:
    name = told.edition.id
    files = {
        f"{language}/{name}/index.md": article(told, language, searchable=first),
        f"{language}/{name}/receipts.md": Receipts(told.edition, told.claims, language).page(),
    }
    voice = Voice(language)
    for chart_name, chart in told.charts.items():
        figure = charts.translated(chart.figure, voice)
        files[f"assets/charts/{name}/{chart_name}.{language}.json"] = _json(figure)
    return files


def article(told: Told, language: str, *, searchable: bool = True) -> str:
    """The article page of an edition in one language."""
    page = Page(told, Voice(language))
    hidden = "" if searchable else "search:\n  exclude: true\n"
    title = page.voice.labels.get("article", "title")
    head = f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n{hidden}---\n\n"
    return head + "\n".join(page.render(f"article/{section}/{language}.md.j2") for section in SECTIONS)


def _start(told: list[Told], language: str) -> str:
    """The start page: what this is, and where each edition is."""
    page = Page(told[0], Voice(language, receipts=f"{told[0].edition.id}/receipts/"))
    return page.render(f"start/{language}.md.j2", editions=[each.edition for each in told if each.edition.id != "here"])


class Page:
    """One template rendered in one language about one edition."""

    def __init__(self, told: Told, voice: Voice) -> None:
        self.told, self.voice = told, voice

    def render(self, template: str, **more: Any) -> str:
        """Render one template file. Raises RenderError naming file and line."""
        try:
            return _environment().get_template(template).render(**self._names(), **more)
        except jinja2.TemplateSyntaxError as error:
            raise RenderError(
                f"templates/{error.name}:{error.lineno}: {error.message}. Correct the template."
            ) from error
        except jinja2.TemplateNotFound as error:
            raise RenderError(f"templates/{error.name}: no such template. Write it, in every language.") from error
        except Exception as error:
            file, line = _place(error, template)
            raise RenderError(f"templates/{file}:{line}: {error}. Correct the name or the data it asks for.") from error

    def _names(self) -> dict[str, Any]:
        edition, voice = self.told.edition, self.voice
        return {
            "voice": voice,
            "e": edition,
            "c": Claims(self.told.claims),
            "t": edition.thresholds,
            "focus": edition.focus,
            "models": edition.models,
            "pairs": edition.pairs,
            "overall": edition.overall,
            "direct": edition.direct,
            "voxcpm": edition.voxcpm,
            "magpie": edition.magpie,
            "recognition": edition.recognition,
            "synthesis": edition.synthesis,
            "chart": self.chart,
            "model": lambda model: voice.model(model.subject),
            "engine": lambda model: voice.engine(model.engine),
            "machine": lambda machine: voice.machine(machine.samples.run) if machine.samples.run else "",
            "date": voice.date,
            "label": voice.labels.get,
        }

    def chart(self, name: str, caller: Any) -> Markup:
        """A figure: drawn from its file when it comes into view, its data as a table for everyone else."""
        caption = Markup(caller().strip())
        chart = self.told.charts.get(name)
        if chart is None:
            absent = (
                f"{self.voice.labels.get('chart', name)}{self.voice.colon}{self.voice.labels.get('kind', 'unmeasured')}"
            )
            return element("figure", element("figcaption", absent), class_="chart missing") + "\n"
        # From docs/{language}/{edition}/; the default language is served one folder higher.
        up = "../" if self.voice.language == LANGUAGES[0] else "../../"
        source = f"{up}assets/charts/{self.told.edition.id}/{name}.{self.voice.language}.json"
        canvas = element("div", class_="chart-canvas", role="img", aria_label=self.voice.labels.get("chart", name))
        parts = canvas, element("figcaption", caption), self._table(chart)
        return element("figure", *parts, class_="chart", id=f"chart-{name}", data_chart=source) + "\n"

    def _table(self, chart: charts.Chart) -> Markup:
        said = [charts.translated(head, self.voice) for head in chart.head]
        heads = [said[0], *(self.voice.labels.get("fact", name) for name in said[1:])]
        rows = [
            element(
                "tr",
                element("td", charts.translated(name, self.voice)),
                element("td", self.voice.fact(x)),
                element("td", self.voice.fact(y)),
            )
            for name, x, y in chart.rows
        ]
        head = element("thead", element("tr", *(element("th", text) for text in heads)))
        table = element("table", head, element("tbody", *rows))
        return element("details", element("summary", self.voice.labels.get("chart", "data")), table)


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


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_said,
        keep_trailing_newline=True,
        # Markdown's {#id} must not open a comment.
        comment_start_string="{##",
        comment_end_string="##}",
    )
    filters = {"bare": "bare", "to": "span", "p": "particle", "why": "why"}
    environment.filters.update({name: _spoken(method) for name, method in filters.items()})
    return environment


class Claims:
    """Claims by name as attributes, so that a template reads `c.models_near_bandwidth.holds`."""

    def __init__(self, claims: dict[str, Claim]) -> None:
        self._claims = claims

    def __getattr__(self, name: str) -> Claim:
        try:
            return self._claims[name]
        except KeyError:
            raise AttributeError(f"no claim {name!r} in templates/claims.py") from None


def _place(error: BaseException, template: str) -> tuple[str, int]:
    """The template file and line that an error came from."""
    found = (template, 0)
    for frame in _frames(error):
        if frame[0].endswith(".j2"):
            found = (str(Path(frame[0]).relative_to(HERE)), frame[1])
    return found


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    trace = error.__traceback__
    while trace:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next


def _json(figure: Any) -> str:
    """Compact JSON without NaN: a gap is null."""
    return json.dumps(_gaps(figure), ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True) + "\n"


def _gaps(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _gaps(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_gaps(value) for value in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part
