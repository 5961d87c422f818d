"""The page on data, addresses and citation: how much there is to take along, and how to name it."""

from __future__ import annotations

from functools import cached_property

from markupsafe import Markup

from measure.results import Results, Run
from templates import config
from templates.labels import LANGUAGES
from templates.voice import Voice

ADDRESS = "SITE_URL"
"""Stands where the address of the site will: it is known when the site is built (hooks/downloads.py)."""


class Data:
    """What the page tells of the runs that are published, in one language."""

    def __init__(self, results: Results, voice: Voice) -> None:
        self.runs: list[Run] = [run for run in results.runs if run.id != "here"]
        self.voice = voice
        self.citation = config.citation()
        # From docs/{language}/data.md; the default language is served one folder higher.
        self.root = Markup("../" if voice.language == LANGUAGES[0] else "../../")

    @property
    def samples(self) -> int:
        return sum(len(run.samples) for run in self.runs)

    @cached_property
    def latest(self) -> str:
        """The day of the latest run, as in 2026-11-30; of the source article where there is no run."""
        return max((run.started for run in self.runs), default=config.source().date.isoformat())[:10]

    @property
    def authors(self) -> str:
        return self.voice.comma.join(author.name for author in self.citation.authors)

    @property
    def licences(self) -> str:
        return self.voice.comma.join(self.citation.license)

    @property
    def bibtex(self) -> Markup:
        """The entry, to stand in a block of code. Names in double braces are kept as they are written."""
        fields = {
            "author": f"{{{' and '.join(author.name for author in self.citation.authors)}}}",
            "title": f"{{{self.citation.title}}}",
            "year": self.latest[:4],
            "version": self.citation.version,
            "note": f"measured up to {self.latest}",
            "url": ADDRESS,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return Markup("\n").join(map(Markup, ["@misc{voice-in-numbers,", *lines, "}"]))
