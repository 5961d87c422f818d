"""Rendering: results.json and the templates in, the text of every page and chart file out. Nothing is written here."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import msgspec
from markupsafe import Markup

from measure import limits
from measure.results import Results, ResultsError
from templates import charts, claims, config, description
from templates.all_runs import AllRuns, Point, others
from templates.all_runs_page import OnAllRuns
from templates.calculator.page import Calculator
from templates.charts import figure
from templates.claims import all_runs as claims_of_all
from templates.compare import Side, Sides
from templates.compare_page import Beside
from templates.config import ConfigError
from templates.data_page import Data
from templates.environment import environment
from templates.facts.edition import Edition, editions
from templates.facts.language_model import LanguageModel
from templates.front_matter import front_matter
from templates.html import element
from templates.labels import LANGUAGES
from templates.quantity import tree
from templates.receipts import Receipts
from templates.run_page import Executed, RunPage, executed
from templates.shared import MARK, Shared
from templates.truth import Claim, Outcome
from templates.voice import Voice

HERE = Path(__file__).parent
SECTIONS = sorted(path.name for path in (HERE / "article").iterdir() if path.is_dir())
"""Folders of the article's sections, in order."""


class RenderError(Exception):
    """A template that cannot be rendered; the message names file, line and cure."""


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Without looking for garbage in cycles: what rendering makes it keeps to the end, and the search takes a tenth.

    What is left is looked through when the oldest objects are, and not at once.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()  # among the oldest objects, where `unfreeze` leaves them
            gc.unfreeze()
            gc.enable()


@dataclass(frozen=True)
class Told:
    """An edition with its claims and charts, made once for all languages."""

    edition: Edition
    claims: dict[str, Claim]
    charts: dict[str, charts.Chart]
    shared: Shared = field(default_factory=Shared)

    def needed(self, said: set[str]) -> set[str]:
        """Names of the facts that were printed, those that claims compare, and all that either is made from."""
        comparisons = [made for claim in self.claims.values() for made in claim.truth.comparisons]
        tested = [side for made in comparisons for side in (made.left, made.right)]
        printed = [fact for group in self.edition.all_groups() for fact in group.among(said)]
        return {quantity.name for quantity in tree([*tested, *printed]) if quantity.name}


@_nothing_collected()
def tell(results: Results, force: dict[str, Outcome] | None = None) -> list[Told]:
    """All editions. `force` sets the outcome of claims by name, for tests that read every sentence."""
    told = []
    for edition in editions(results):
        judged = claims.judge(edition)
        for name, outcome in (force or {}).items():
            if name not in claims_of_all.CLAIMS:
                judged[name] = replace(judged[name], forced=outcome)
        told.append(Told(edition, judged, charts.charts(edition)))
    return told


@_nothing_collected()
def pages(results: Results, force: dict[str, Outcome] | None = None) -> dict[str, str]:
    """Every rendered file by its path below docs/. Raises RenderError for a template that is wrong."""
    return pages_of(tell(results, force), force)


@_nothing_collected()
def pages_of(told: list[Told], force: dict[str, Outcome] | None = None) -> dict[str, str]:
    """The same of editions that are told already."""
    runs = _executed(told)
    files: dict[str, str] = {}
    said: dict[str, set[str]] = {}
    for each in told:
        of_edition, said[each.edition.id] = _edition(each, told[0], runs[each.edition.id])
        files |= of_edition
    around, said_around = _around(told, files, force)
    files |= around
    for each in told:
        files |= _receipts(each, said[each.edition.id] | said_around[each.edition.id])
    return files


@_nothing_collected()
def values_of(told: list[Told]) -> str:
    """Every fact's value and unit by edition and name, as JSON; the value is null where it is unmeasured."""
    editions = {
        each.edition.id: {
            fact.name: (fact.value, fact.shown_in) for group in each.edition.all_groups() for fact in group.own_facts()
        }
        for each in told
    }
    return msgspec.json.encode(editions).decode()


def _edition(told: Told, first: Told, runs: list[Executed]) -> tuple[dict[str, str], set[str]]:
    """An edition's article, the pages of its runs and its charts, and the names of the facts that they print."""
    name, said = told.edition.id, set[str]()
    figures = {chart: charts.written(made.figure) for chart, made in told.charts.items()}
    files = {}
    for voice in _voices(told):
        files[f"{voice.language}/{name}/index.md"] = article(told, voice, searchable=told is first)
        of_runs, said_of_runs = _runs(runs, told, first, voice)
        files |= of_runs
        said |= voice.said | said_of_runs
        for chart, drawing in figures.items():
            files[f"assets/charts/{name}/{chart}.{voice.language}.json"] = charts.spoken(drawing, voice)
    return files, said


def _receipts(told: Told, said: set[str]) -> dict[str, str]:
    """An edition's receipts, where the facts `said` are printed."""
    parts = Receipts(told.edition, told.claims, told.shared, told.needed(said)).page().split(MARK)
    name = told.edition.id
    return {f"{voice.language}/{name}/receipts.md": voice.joined(parts) for voice in _voices(told)}


def _voices(told: Told) -> list[Voice]:
    return [Voice(language, shared=told.shared) for language in LANGUAGES]


def _executed(told: list[Told]) -> dict[str, list[Executed]]:
    """The executed runs by edition, each under the first edition that it tells."""
    found: dict[str, list[Executed]] = {}
    seen: set[str] = set()
    for each in told:
        runs = [run for run in each.edition.runs if run.kind == "executed" and run.id not in seen]
        found[each.edition.id] = [executed(run, each.edition, each.claims) for run in runs]
        seen |= {run.id for run in runs}
    return found


def _runs(runs: list[Executed], told: Told, first: Told, voice: Voice) -> tuple[dict[str, str], set[str]]:
    """The pages of an edition's executed runs, and the names of the facts that they print."""
    there = voice.on(f"../../{told.edition.id}/receipts/")
    files = {}
    for each in runs:
        page = RunPage(each, told.edition, told.claims, (first.edition.id, first.claims), there)
        text = Page(told, there).render(f"run/{there.language}.md.j2", **page.names())
        files[f"{there.language}/runs/{each.run.id}/index.md"] = text
    return files, there.said


def article(told: Told, voice: Voice, *, searchable: bool = True) -> str:
    """The article page of an edition, in the voice's language."""
    page = Page(told, voice)
    edition = told.edition.id
    title = f"{voice.labels.get('article', 'title')}{voice.colon}{voice.labels.get('edition', edition)}"
    head = front_matter(title, description.article(edition, told.claims.values(), voice), searchable=searchable)
    return head + "\n" + "\n".join(page.render(f"article/{section}/{voice.language}.md.j2") for section in SECTIONS)


class Compared(NamedTuple):
    """A model whose rate was timed by others too, and the voice that links its receipts from the pages around."""

    name: Markup
    model: LanguageModel
    at: Voice


def _compared(edition: Edition, voice: Voice) -> list[Compared]:
    found = []
    for model in edition.models:
        if model.peer.ratios and model.samples.run:
            on = voice.model(model.subject, model.engine), voice.machine(model.samples.run)
            found.append(Compared(Markup(voice.comma).join(on), model, voice))
    return found


def _around(
    told: list[Told], articles: dict[str, str], force: dict[str, Outcome] | None
) -> tuple[dict[str, str], dict[str, set[str]]]:
    """The pages around the article: what this is and where each edition is, all editions side by side, the method,
    one's own machine.

    And the names of the facts that they print, by the edition whose receipts they link.
    """
    article = f"{LANGUAGES[0]}/{{}}/index.md"
    everywhere = Sides(Side(each.edition, each.claims, articles[article.format(each.edition.id)]) for each in told)
    public = Sides(side for side in everywhere if side.edition.id != "here")
    # Pages beside the start page are served from a folder of their own.
    places = [("index", "start", "", public)]
    places += [(name, name, "../", public) for name in ("compare", "method", "own", "calculator", "data")]
    if len(public) < len(everywhere):
        # hooks/pages.py shows this start page in the place of the committed one, which stays as it is.
        places += [("here/start", "start", "", everywhere)]
        places += [(f"here/{name}", name, "../../", everywhere) for name in ("compare", "calculator")]
    untold = others([each.edition for each in told])
    of_all = {id(sides): Decoded.of(sides, untold, force) for sides in (public, everywhere)}
    pages, said = {}, {each.edition.id: set[str]() for each in told}
    for language, (name, folder, up, sides) in product(LANGUAGES, places):
        voices = {e.edition.id: Voice(language, f"{up}{e.edition.id}/receipts/", e.shared) for e in told}
        page = Page(told[0], voices[told[0].edition.id])
        decoded = of_all[id(sides)]
        machines = OnAllRuns(decoded.points, decoded.claims, sides[0], voices, "here" if "/" in name else "all", up)
        if folder == "compare":
            pages[machines.file] = machines.drawing()
        pages[f"{language}/{name}.md"] = page.render(
            f"{folder}/{language}.md.j2",
            editions=sides.editions,
            beside=Beside(sides, voices),
            machines=machines,
            of_all=Claims(decoded.claims),
            data=Data(told[0].edition.results, page.voice),
            up=Markup("../" if up == "../../" else ""),
            own=Markup("here/" if sides is everywhere and sides is not public else ""),
            compared=[one for edition in sides.editions for one in _compared(edition, voices[edition.id])],
            # A reader's own edition is the first that the calculator takes its numbers from.
            calculator=Calculator(sorted(sides.editions, key=lambda e: e.id != "here"), voices, language, up),
        )
        for edition, voice in voices.items():
            said[edition] |= voice.said
    return pages, said


class Decoded(NamedTuple):
    """All runs that decoded, as the pages that set these editions side by side tell them, and what follows."""

    points: AllRuns
    claims: dict[str, Claim]

    @classmethod
    def of(cls, sides: Sides, untold: list[Point], force: dict[str, Outcome] | None) -> Decoded:
        points = AllRuns(sides.editions, untold)
        return cls(points, claims_of_all.judge(points, force))


class Page:
    """One template rendered in one language about one edition."""

    def __init__(self, told: Told, voice: Voice) -> None:
        self.told, self.voice = told, voice

    def render(self, template: str, **more: Any) -> str:
        """Render one template file. Raises RenderError naming file and line."""
        try:
            return environment().get_template(template).render(**self._names(), **more)
        except ResultsError:
            raise
        except ConfigError as error:
            file, line = _place(error, template)
            raise ConfigError(f"{error} Asked for by templates/{file}:{line}.") from error
        except jinja2.TemplateSyntaxError as error:
            raise RenderError(f"templates/{error.name}:{error.lineno}: {_whole(error.message)} Correct it.") from error
        except jinja2.TemplateNotFound as error:
            raise RenderError(f"templates/{error.name}: no such template. Write it, in every language.") from error
        except Exception as error:
            file, line = _place(error, template)
            raise RenderError(
                f"templates/{file}:{line}: {_whole(error)} Correct it, or the data it asks for."
            ) from error

    def _names(self) -> dict[str, Any]:
        edition, voice, source = self.told.edition, self.voice, config.source()
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
            "turn": edition.turn,
            "evidence": edition.evidence,
            "chart": self.chart,
            "model": lambda model: voice.model(model.subject, model.engine if model.among_engines else ""),
            "engine": lambda model: voice.engine(model.engine),
            "machine": lambda machine: voice.machine(machine.samples.run) if machine.samples.run else "",
            "rules": [rule.name for rule in limits.RULES],
            "date": voice.date,
            "source": source,
            "source_date": voice.date(source.date.isoformat()),
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
        return (
            element("figure", *parts, class_=f"chart{figure.size(chart.figure)}", id=f"chart-{name}", data_chart=source)
            + "\n"
        )

    def _table(self, chart: charts.Chart) -> Markup:
        heads = [
            charts.said(name, self.voice) if name.startswith("@") else self.voice.labels.get("fact", name)
            for name in chart.head
        ]
        names = {name: element("td", charts.said(name, self.voice)) for name, _, _ in chart.rows}
        cells = self.voice.fact
        rows = [f"<tr>{names[name]}<td>{cells(x)}</td><td>{cells(y)}</td></tr>" for name, x, y in chart.rows]
        head = element("thead", element("tr", *(element("th", text) for text in heads)))
        table = element("table", head, element("tbody", Markup("".join(rows))))
        return element("details", element("summary", self.voice.labels.get("chart", "data")), table)


class Claims:
    """Claims by name as attributes, so that a template reads `c.models_near_bandwidth.holds`."""

    def __init__(self, claims: dict[str, Claim]) -> None:
        self._claims = claims

    def __getattr__(self, name: str) -> Claim:
        try:
            return self._claims[name]
        except KeyError:
            # No AttributeError: the template engine would put its own words in place of these.
            raise LookupError(f"there is no claim {name!r} in templates/claims") from None


def _whole(error: object) -> str:
    """A message as one sentence."""
    return f"{str(error).rstrip('.')}."


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
