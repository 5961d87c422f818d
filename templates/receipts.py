"""The receipts page: where every fact comes from, how every claim was tested, on which machine every run was made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

from markupsafe import Markup

from measure.limits import Verdict
from measure.results import Import, Report, Run
from templates import config, description, formats, verdicts
from templates.facts.edition import Edition
from templates.facts.group import Group
from templates.front_matter import front_matter
from templates.html import plain, safe
from templates.quantity import Constant, Operation, Quantity, Sampled, tree
from templates.shared import Shared, entry, undecided
from templates.truth import Claim, Comparison
from templates.voice import Voice

SHOWN = 20
"""Repetitions that a receipt prints; the rest is in results.json."""

DAY = len("2026-10-06")
"""So much of a date with its time is the day."""

UNDER_PART = 3
"""The rank of a heading right under a part of the page."""

Grounds: TypeAlias = frozenset[tuple[str, str]]
"""Runs and days of samples; no day where somebody else measured, or an import does not tell it."""

_NOTHING: Grounds = frozenset()


class Receipts:
    """The receipts of one edition as shared text: Markdown with HTML inside, and marks for each language's words."""

    def __init__(
        self, edition: Edition, claims: dict[str, Claim], shared: Shared, needed: set[str] | None = None
    ) -> None:
        self.edition, self.claims, self.shared = edition, claims, shared
        self.needed = set(edition.facts) if needed is None else needed
        """Names of the facts to account for: those that the article, its claims and their inputs use."""
        self._names = {name: shared.word("receipt", name) for name in config.labels()["receipt"]}
        self.runs = {run.id: run for run in edition.runs}
        # By the identity of a quantity, which lives as long as its edition, and by what was found.
        self._known_grounds: dict[int, Grounds] = {}
        self._known_rows: dict[Grounds, str] = {}
        shared.groups = {group.path: self._heading(group) for group in edition.all_groups()}

    def page(self) -> str:
        """The whole page."""
        parts = [
            self.shared.mark("head", self._head),
            *self._claims(),
            *(part for group in self.edition.groups for part in self._group(group, 2)),
            *self._runs(),
            *self._faulty(),
            *self._unused(),
        ]
        return "\n".join(parts)

    def _head(self, voice: Voice) -> str:
        said = voice.labels.get
        title = f"{said('receipt', 'title')}{voice.colon}{said('edition', self.edition.id)}"
        front = front_matter(title, description.receipts(self.edition.id, voice), searchable=False)
        return (
            f"{front}\n# {title} {{#receipts}}\n\n{said('receipt', 'intro')}\n\n[{said('receipt', 'back')}](index.md)\n"
        )

    # Facts

    def _group(self, group: Group, level: int) -> Iterator[str]:
        facts = group.among(self.needed)
        parts = [line for part in group.parts() for line in self._group(part, level + 1)]
        if not (facts or parts):
            return
        heading = self.shared.mark(("heading", group.path), lambda voice: heading_of(group, self.edition, voice))
        yield f"{'#' * level} {heading} {{#{group.path}}}\n"
        shown = [self.fact(fact, level + 1) for fact in facts if fact.measured]
        if shown:
            yield "\n".join(shown) + "\n"
        missing = [self.missing(fact) for fact in facts if not fact.measured]
        if missing:
            yield '<ul class="receipt-missing">' + "".join(missing) + "</ul>\n"
        yield from parts

    def _heading(self, group: Group) -> str:
        """The heading of a group within a line of HTML."""
        key = ("group", group.path)
        return self.shared.mark(key, lambda voice: safe(heading_of(group, self.edition, voice).striptags()))

    def fact(self, fact: Quantity, level: int) -> str:
        """The receipt of one measured fact: what a reader asks first in a list of its own, which pages show at hand."""
        kind = fact.kind.value
        value, told = self.shared.value(fact), self.shared.word("kind", kind)
        further = "".join(self._further(fact.origin)) if isinstance(fact.origin, Sampled) else ""
        head = f'{self._label(fact)} <span class="fact {kind}">{value}</span> <small>{told}</small>'
        body = f"<dl>{''.join(self._rows(fact))}</dl>{further and f'<dl>{further}</dl>'}"
        return _receipt(fact.name, head, body, level)

    def missing(self, fact: Quantity) -> str:
        """The receipt of a fact that is unmeasured."""
        what = plain("; ".join(dict.fromkeys(absence.what for absence in fact.absences)))
        why = f"{self.shared.colon}{self.shared.absent(fact.absences)} "
        mark = f'<span class="fact unmeasured">{self.shared.word("kind", "unmeasured")}</span>'
        judged = "".join(self._judged(sampled) for sampled in dict.fromkeys(_unmeasured(fact)))
        return f'<li id="{fact.name}">{mark} {self._label(fact)}{why}<code>{what}</code>{judged}</li>'

    def _label(self, fact: Quantity) -> str:
        """The name of a fact at the head of its receipt."""
        section, name = entry(fact)
        return self.shared.plain(section, name) if section else plain(name)

    def _judged(self, sampled: Sampled) -> str:
        """How a rejected sample was judged; nothing for a sample that is missing for another reason."""
        verdict = self.edition.verdict(sampled)
        if verdict is None or verdict.status != "rejected":
            return ""
        return f"<dl>{self._verdict(verdict)}</dl>"

    def _rows(self, fact: Quantity) -> Iterator[str]:
        """How the number was made, from which measurements, on which machine and when."""
        origin = fact.origin
        if isinstance(origin, Operation):
            yield self._row("formula", self.shared.formula(fact, values=False))
            yield self._row("values", self.shared.formula(fact, values=True))
            absent = dict.fromkeys(a.what for operand in origin.operands for a in operand.absences)
            if absent:
                yield self._row("missing", plain(", ".join(absent)))
        elif isinstance(origin, Constant):
            yield self._row("source", f"{self.shared.constant(origin)} {plain(origin.source)}")
        yield from self._interval(fact)
        if isinstance(origin, Sampled):
            yield from self._sample(origin)
        else:
            yield from (self._row("doubt", self.shared.word("rule", rule)) for rule in fact.doubts)
        yield self._made_on(self._grounds(fact))

    def _row(self, name: str, said: str) -> str:
        """A row of a receipt: its name in labels.toml, and what it says as HTML."""
        return f"<dt>{self._names[name]}</dt><dd>{said}</dd>"

    def _interval(self, fact: Quantity) -> Iterator[str]:
        if fact.measured and fact.low != fact.high and math.isfinite(fact.low) and math.isfinite(fact.high):
            yield self._row("range", self.shared.interval(fact))

    def _sample(self, origin: Sampled) -> Iterator[str]:
        """What was measured, and what is wrong with it."""
        sample = self.runs[origin.run].samples[origin.key]
        if sample.count:
            yield self._row("repeats", self.shared.number(sample.count))
        if isinstance(sample, Report):
            yield self._row("source", plain(sample.source))
        elif sample.values:
            yield self._spread(sample.values)
        if isinstance(sample, Import):
            yield self._row("tool", plain(sample.tool))
        if (verdict := self.edition.verdict(origin)) and verdict.status != "accepted":
            yield self._verdict(verdict)

    def _further(self, origin: Sampled) -> Iterator[str]:
        """What else a sample keeps, to find it, to judge it and to measure it again."""
        sample = self.runs[origin.run].samples[origin.key]
        yield self._row("sample", f'<a href="#run.{origin.run}">{origin.run}</a> <code>{plain(origin.key)}</code>')
        if (verdict := self.edition.verdict(origin)) and verdict.status == "accepted":
            yield self._verdict(verdict)
        if sample.config:
            yield self._row("configuration", plain(_pairs(sample.config)))
        if isinstance(sample, Import):
            yield self._row("file", f"<code>SHA-256 {sample.sha256}</code>")
            if sample.given:
                yield self._row("given", plain(_pairs(sample.given)))
        elif not isinstance(sample, Report):
            yield self._row("command", f"<code>{plain(sample.command)}</code>")
        if sample.versions:
            yield self._row("versions", plain(_pairs(sample.versions)))

    def _grounds(self, quantity: Quantity) -> Grounds:
        """The samples that a quantity was made from, as runs and days."""
        known = self._known_grounds.get(id(quantity))
        if known is None:
            known = self._known_grounds[id(quantity)] = self._found_grounds(quantity)
        return known

    def _found_grounds(self, quantity: Quantity) -> Grounds:
        origin = quantity.origin
        if isinstance(origin, Operation):
            found = {self._grounds(operand) for operand in origin.operands}
            return found.pop() if len(found) == 1 else _NOTHING.union(*found)
        if not isinstance(origin, Sampled) or not quantity.measured:
            return _NOTHING
        sample = self.runs[origin.run].samples[origin.key]
        return frozenset([(origin.run, "" if isinstance(sample, Report) else sample.at[:DAY])])

    def _made_on(self, grounds: Grounds) -> str:
        """The machines and days of measurements, as rows; a reported figure has the date of its source."""
        if grounds not in self._known_rows:
            runs = [run for run in self.edition.runs if any(run.id == made for made, _ in grounds)]
            machines = [f'<a href="#run.{run.id}">{self._machine(run)}</a>' for run in runs]
            days = sorted({day for _, day in grounds if day})
            dates = [" … ".join([self.shared.date(day) for day in dict.fromkeys([days[0], days[-1]])])] if days else []
            published = sorted({run.started for run in runs if (run.id, "") in grounds and run.kind == "reported"})
            dates += [self.shared.filled("receipt", "published", date=self.shared.date(day)) for day in published]
            told = {"machine": machines, "date": dates}
            rows = "".join([self._row(name, self.shared.semicolon.join(said)) for name, said in told.items() if said])
            # One mark instead of its many: hundreds of receipts have the same rows.
            self._known_rows[grounds] = self.shared.mark(("made on", grounds), lambda voice: voice.spoken(rows))
        return self._known_rows[grounds]

    def _machine(self, run: Run) -> str:
        return self.shared.mark(("machine", run.id), lambda voice: voice.machine(run))

    def _verdict(self, verdict: Verdict) -> str:
        return "".join([self._row(name, said) for name, said in verdicts.rows(verdict, self.shared)])

    def _spread(self, values: list[float]) -> str:
        told = ", ".join([self.shared.number(value, significant=4) for value in values[:SHOWN]])
        return self._row("spread", told + (" …" if len(values) > SHOWN else ""))

    # Claims and runs

    def _title(self, name: str) -> str:
        """The heading of a part of the page."""
        return f"## {self.shared.word('receipt', name)} {{#{name}}}\n"

    def _claims(self) -> Iterator[str]:
        yield self._title("claims")
        yield "\n".join(self._claim(claim) for claim in self.claims.values()) + "\n"

    def _claim(self, claim: Claim) -> str:
        outcome = claim.outcome.value
        why = "" if claim.holds or claim.refuted else self.shared.word(*undecided(claim))
        said = self.shared.word("outcome", outcome)
        if claim.doubted:
            said = f"{said}{self.shared.comma}{self.shared.word('verdict', 'suspect')}"
        mark = f'<span class="claim {outcome}">{said}</span>'
        head = f"{self.shared.plain('claim', claim.name)} {mark} <small>{why}</small>"
        tests = "".join([f"<li>{self._comparison(made)}</li>" for made in claim.truth.comparisons])
        return _receipt(f"claim.{claim.name}", head, f"<ul>{tests}</ul>")

    def _comparison(self, made: Comparison) -> str:
        outcome = self.shared.word("outcome", made.outcome.value)
        return f"{self._side(made.left)} {safe(made.symbol)} {self._side(made.right)}{self.shared.colon}{outcome}"

    def _side(self, side: Quantity) -> str:
        if side.name:
            return f'{self.shared.label(side)} <a href="#{side.name}">{self.shared.value(side)}</a>'
        value = self.shared.exact(side.plain())
        if isinstance(side.origin, Constant):
            return value
        return f"{self.shared.formula(side, values=False)} = {value}"

    def _runs(self) -> Iterator[str]:
        yield self._title("runs")
        yield "\n".join(self._run(run) for run in self.edition.runs) + "\n"

    def _run(self, run: Run) -> str:
        machine = run.machine
        told = [machine.device, machine.processor, machine.driver, machine.system]
        rows = [
            self._row("machine", self._machine(run)),
            self._row("date", self.shared.date(run.started)),
            self._row("configuration", plain(", ".join(part for part in told if part))),
        ]
        if run.kind == "executed":
            page = f'<a href="../../runs/{run.id}/">{self.shared.word("run", "changed_page")}</a>'
            rows.append(self._row("changed", page))
        return _receipt(f"run.{run.id}", run.id, f"<dl>{''.join(rows)}</dl>")

    def _faulty(self) -> Iterator[str]:
        """Every sample that was found fault with, used or not."""
        shown = [self._fault(sampled, verdict) for sampled, verdict in self.edition.faulty()]
        if shown:
            yield self._title("faulty")
            yield "\n".join(shown) + "\n"

    def _fault(self, sampled: Sampled, verdict: Verdict) -> str:
        head = f"<code>{plain(sampled.key)}</code> <small>{sampled.run}</small>"
        return _receipt("", head, f"<dl>{self._verdict(verdict)}</dl>")

    def _unused(self) -> Iterator[str]:
        unused = list(self.edition.unused_samples())
        if unused:
            yield self._title("unused")
            yield "\n".join(f"- {plain(run_id)}: {plain(text)}" for run_id, text in unused) + "\n"


def _receipt(name: str, head: str, body: str, level: int = UNDER_PART) -> str:
    """A receipt as HTML under a heading of `level`; HTML has six of them."""
    address, rank = name and f' id="{name}"', min(level, 6)
    return f'<section class="receipt"{address}><h{rank}>{head}</h{rank}>{body}</section>'


def heading_of(group: Group, edition: Edition, voice: Voice) -> Markup:
    """The heading of a group as Markdown."""
    named: dict[str, str] = {name: plain(value) for name, value in group.named.items()}
    if group.heading == "pair":
        named["model"] = voice.model_name(group.named["model"])
    elif group.heading in ("model", "model_on_card", "model_on_cards", "spread"):
        named["model"] = voice.model(group.named["model"])
    if "engine" in named:
        named["engine"] = voice.engine(group.named["engine"])
    if "part" in named:
        named["part"] = voice.labels.get("part", group.named["part"])
    if "machine" in named:
        named["run"] = named["machine"]  # and where there is no such run, the machine goes by its name
    if group.heading == "chunk":
        named["frames"] = formats.quantity(int(group.named["n"]), "frame", voice.language)
    if run := edition.results.run(group.named.get("machine", "")):
        named["machine"] = voice.machine(run)
    return Markup(voice.labels.filled("group", group.heading, **named))


def _unmeasured(quantity: Quantity) -> Iterator[Sampled]:
    """The samples without which a quantity is unmeasured."""
    yield from (part.origin for part in tree([quantity]) if isinstance(part.origin, Sampled) and not part.measured)


def _pairs(items: dict[str, str | int | float | bool] | dict[str, str]) -> str:
    return ", ".join([f"{name}={value}" for name, value in items.items()])
