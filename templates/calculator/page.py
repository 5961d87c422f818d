"""The calculator's page: a form to choose in, and the formulas, choices and words that its script works with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any

from markupsafe import Markup

from templates.calculator import choices
from templates.calculator.choices import OWN, TALK, TYPED, Field, Machine
from templates.calculator.export import Node, formulas
from templates.calculator.facts import PATH
from templates.calculator.language import language
from templates.facts.edition import Edition
from templates.html import element, joined, marked
from templates.labels import LANGUAGES, Labels
from templates.voice import Voice

SCRIPTS = ("quantity.js", "calculator.js")

_TAG = re.compile("<[^>]*>")

WORDS = ("kind", "reason", "calculator")
"""Sections of labels.toml that the script takes words from."""


class Calculator:
    """The names that the calculator's template uses, in one language. Nothing is made before it is asked for."""

    def __init__(self, editions: Iterable[Edition], voices: Mapping[str, Voice], language: str, up: str) -> None:
        self.editions, self.voices, self.language = list(editions), voices, language
        self.up = marked(up)
        """From the page, as it is served, to its language's start page."""
        self.labels = Labels(language)

    @cached_property
    def machines(self) -> list[Machine]:
        return choices.machines(self.editions)

    # The form

    @property
    def form(self) -> Markup:
        """The fields, the place of the answers, and the scripts that bring them to life."""
        parts = [self._part("machine", self._machine()), self._part("model", self._model())]
        talk = self._part("talk", [self._field(field) for field in TALK])
        fields = element("form", *parts, talk, class_="calculator-form", autocomplete="off", novalidate="")
        heading = element("h2", self._said("answers"), id=f"{PATH}-answers")
        live = element("div", class_="calculator-answers", aria_live="polite")
        steps = element("details", element("summary", self._said("steps")), element("div", class_="calculator-steps"))
        unknown = element("div", class_="calculator-unknown", role="status", hidden="")
        return element("div", unknown, fields, heading, live, steps, class_="calculator", hidden="") + self._scripts()

    def _part(self, name: str, parts: Iterable[Markup]) -> Markup:
        return element("fieldset", element("legend", self._said(name)), *parts)

    def _machine(self) -> Iterator[Markup]:
        grouped = groupby(self.machines, key=lambda machine: machine.edition.id)
        options = [self._options(edition, list(machines)) for edition, machines in grouped]
        yield self._select("machine", [*options, self._own("own_machine")])
        yield self._typed("machine")

    def _options(self, edition: str, machines: list[Machine]) -> Markup:
        options = [self._option(machine) for machine in machines]
        return element("optgroup", *options, label=self.labels.get("edition", edition))

    def _option(self, machine: Machine) -> Markup:
        """A machine by its name; an option holds text alone."""
        name = self.voices[machine.edition.id].machine(machine.run)
        own = {"translate": "no"} if name.startswith("<") else {}
        return element("option", marked(_TAG.sub("", name)), value=machine.id, **own)

    def _model(self) -> Iterator[Markup]:
        models, formats = choices.published(), choices.formats()
        named = [element("option", model["title"], value=name) for name, model in models.items()]
        yield self._select("model", [*named, self._own("own_model")])
        precisions = self._select("format", [element("option", name, value=name) for name in formats])
        yield element("div", precisions, class_="calculator-published")
        yield self._typed("model")

    def _own(self, name: str) -> Markup:
        return element("option", self._said(name), value=OWN)

    def _select(self, name: str, options: Iterable[Markup]) -> Markup:
        return self._labelled(name, element("select", *options, id=f"{PATH}-{name}", name=name))

    def _typed(self, part: str) -> Markup:
        return element("div", *(self._field(field) for field in TYPED[part]), class_="calculator-own", data_part=part)

    def _field(self, field: Field) -> Markup:
        place = f"{PATH}-{field.name}"
        value = {} if field.default is None else {"value": f"{field.default:g}"}
        described = {"aria_describedby": f"{place}-unit {place}-error"}
        kind = {"type": "text", "inputmode": "numeric" if field.whole else "decimal", "autocomplete": "off"}
        told = {"id": place, "name": field.name, **kind, **described, **value}
        box = marked(str(element("input", **told)).removesuffix("</input>"))
        unit = element("span", self._unit(field.unit), id=f"{place}-unit", class_="calculator-unit")
        error = element("span", id=f"{place}-error", class_="calculator-error", aria_live="polite")
        return self._labelled(field.name, element("span", box, unit, class_="calculator-box"), error)

    def _labelled(self, name: str, *controls: Markup) -> Markup:
        label = element("label", self.labels.get("field", name), **{"for": f"{PATH}-{name}"})
        return element("div", label, *controls, class_="calculator-field")

    def _unit(self, spelled: str) -> str:
        return self.labels.get("field_unit", spelled) if self.labels.has("field_unit", spelled) else spelled

    def _said(self, name: str) -> str:
        return self.labels.get("calculator", name)

    # What the script works with

    def _scripts(self) -> Markup:
        # The default language is served at the root, the others one folder deeper.
        up = self.up if self.language == LANGUAGES[0] else f"{self.up}../"
        sources = [element("script", src=f"{up}assets/javascripts/{name}", defer="") for name in SCRIPTS]
        # Nothing in it may end the element that holds it.
        text = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = marked(text.replace("<", "\\u003c").replace("&", "\\u0026"))
        return joined(element("script", data, type="application/json", id=f"{PATH}-data"), *sources)

    def data(self) -> dict[str, Any]:
        """Formulas, choices, fields and words."""
        written = formulas()
        spelled = dict.fromkeys([*written["inputs"].values(), *(n["unit"] for n in written["nodes"] if n["unit"])])
        machines = {machine.id: self._described(machine) for machine in self.machines}
        return {
            "nodes": written["nodes"],
            "answers": written["answers"],
            "labels": {
                _key(node): self._label(node) for node in written["nodes"] if "name" in node or "of" not in node
            },
            "language": language(self.language, spelled),
            "machines": machines,
            "models": choices.published(),
            "formats": choices.formats(),
            "fields": choices.fields(),
            "first": self._first(),
            "words": {section: self.labels.section(section) for section in WORDS} | {"receipt": self._rows()},
            "never": self.labels.get("outcome", "never"),
        }

    def _rows(self) -> dict[str, str]:
        return {name: self.labels.get("receipt", name) for name in ("formula", "values", "range")}

    def _described(self, machine: Machine) -> dict[str, Any]:
        return choices.described(machine, self.voices[machine.edition.id])

    def _first(self) -> dict[str, str]:
        """What is chosen before a reader chooses: the first machine, and the first model that was timed on it."""
        for machine in self.machines:
            for model in machine.models:
                if model.model in choices.published() and model.precision in choices.formats():
                    return {"machine": machine.id, "model": model.model, "format": model.precision}
        first = {"model": next(iter(choices.published())), "format": next(iter(choices.formats()))}
        return {"machine": self.machines[0].id if self.machines else OWN, **first}

    def _label(self, node: Node) -> str:
        """What a node is called: as the calculator calls it, else as the article does."""
        if "name" not in node:
            section, _, name = _key(node).partition(".")
            return self.labels.get(section, name)
        own = node["name"].removeprefix(f"{PATH}.").replace(".", "_")
        if self.labels.has("calculated", own):
            return self.labels.get("calculated", own)
        return self.labels.get("fact", node["name"].rpartition(".")[2])


def _key(node: Node) -> str:
    """What a node's label is kept under."""
    return str(node.get("name") or node.get("label") or f"constant.{node['input']}")
