"""The receipts page: where every fact comes from, how every claim was tested, on which machine every run was made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from markupsafe import Markup

from measure.limits import Verdict
from measure.results import Import, Report, Run, Sample
from templates import formats, verdicts
from templates.facts.edition import Edition
from templates.facts.group import Group
from templates.html import element, joined, marked, safe
from templates.quantity import Constant, Operation, Quantity, Sampled, tree
from templates.truth import Claim, Comparison
from templates.voice import Voice, plain

SHOWN = 20
"""Repetitions that a receipt prints; the rest is in results.json."""


class Receipts:
    """The receipts of one edition in one language, as Markdown with HTML inside."""

    def __init__(
        self, edition: Edition, claims: dict[str, Claim], voice: Voice, needed: set[str] | None = None
    ) -> None:
        self.edition, self.claims = edition, claims
        self.needed = set(edition.facts) if needed is None else needed
        """Names of the facts to account for: those that the article, its claims and their inputs use."""
        self.voice = voice.on(receipts="")
        words = self.voice.labels.section("receipt").items()
        self.words = {name: marked(safe(text)) for name, text in words}
        """What stands before the rows of a receipt: tens of thousands of them take it from here."""
        self.samples = {run.id: run for run in edition.runs}
        self.voice.groups = {group.path: self._heading(group).unescape() for group in edition.all_groups()}

    def text(self, section: str, name: str) -> str:
        return self.voice.labels.get(section, name)

    def page(self) -> str:
        """The whole page."""
        edition = self.text("edition", self.edition.id)
        title = f"{self.text('receipt', 'title')}{self.voice.colon}{edition}"
        parts = [
            f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\nsearch:\n  exclude: true\n---\n",
            f"# {title} {{#receipts}}\n",
            f"{self.text('receipt', 'intro')}\n\n[{self.text('receipt', 'back')}](index.md)\n",
            *self._claims(),
            *(part for group in self.edition.groups for part in self._group(group, 2)),
            *self._runs(),
            *self._faulty(),
            *self._unused(),
        ]
        return "\n".join(parts)

    # Facts

    def _group(self, group: Group, level: int) -> Iterator[str]:
        facts = [fact for fact in group.own_facts() if fact.name in self.needed]
        parts = [line for part in group.parts() for line in self._group(part, level + 1)]
        if not (facts or parts):
            return
        yield f"{'#' * level} {self._heading(group)} {{#{group.path}}}\n"
        shown = [self.fact(fact) for fact in facts if fact.measured]
        if shown:
            yield "\n".join(shown) + "\n"
        missing = [self.missing(fact) for fact in facts if not fact.measured]
        if missing:
            yield '<ul class="receipt-missing">' + "".join(missing) + "</ul>\n"
        yield from parts

    def _heading(self, group: Group) -> Markup:
        named: dict[str, str] = {name: plain(value) for name, value in group.named.items()}
        if group.heading in ("model", "pair"):
            subject = group.named["model"]
            named["model"] = self.voice.model(subject) if group.heading == "model" else self.voice.model_name(subject)
        if "engine" in named:
            named["engine"] = self.voice.engine(group.named["engine"])
        if "part" in named:
            named["part"] = self.text("part", group.named["part"])
        if run := self.edition.results.run(group.named.get("machine", "")):
            named["machine"] = self.voice.machine(run)
        return Markup(self.voice.labels.filled("group", group.heading, **named))

    def fact(self, fact: Quantity) -> str:
        """The receipt of one measured fact."""
        kind, label, value = fact.kind.value, plain(self.voice.label(fact)), safe(self.voice.value(fact))
        told = self.text("kind", kind)
        rows = "".join([_row(name, said) for name, said in self._rows(fact)])
        return (
            f'<section class="receipt" id="{fact.name}">'
            f'<h4>{label} <span class="fact {kind}">{value}</span> <small>{told}</small></h4><dl>{rows}</dl></section>'
        )

    def missing(self, fact: Quantity) -> str:
        """The receipt of a fact that is unmeasured."""
        what = plain("; ".join(dict.fromkeys(absence.what for absence in fact.absences)))
        why = safe(f"{self.voice.colon}{self.voice.absent(fact.absences)} ")
        mark = f'<span class="fact unmeasured">{self.text("kind", "unmeasured")}</span>'
        judged = "".join(self._judged(sampled) for sampled in dict.fromkeys(_unmeasured(fact)))
        return f'<li id="{fact.name}">{mark} {plain(self.voice.label(fact))}{why}<code>{what}</code>{judged}</li>'

    def _judged(self, sampled: Sampled) -> str:
        """How a rejected sample was judged; nothing for a sample that is missing for another reason."""
        verdict = self.edition.verdict(sampled)
        if verdict is None or verdict.status != "rejected":
            return ""
        return "<dl>" + "".join(_row(name, said) for name, said in verdicts.rows(verdict, self.voice)) + "</dl>"

    def _rows(self, fact: Quantity) -> Iterator[tuple[str, str]]:
        origin = fact.origin
        if isinstance(origin, Operation):
            yield self.words["formula"], self.voice.formula(fact, values=False)
            yield self.words["values"], self.voice.formula(fact, values=True)
            yield from self._interval(fact)
            absent = dict.fromkeys(a.what for operand in origin.operands for a in operand.absences)
            if absent:
                yield self.words["missing"], plain(", ".join(absent))
        elif isinstance(origin, Constant):
            yield self.words["source"], joined(self.voice.constant(origin), " ", plain(origin.source))
        else:
            yield from self._interval(fact)
            yield from self._sample(origin)
            return
        for rule in fact.doubts:
            yield self.words["doubt"], self.text("rule", rule)

    def _interval(self, fact: Quantity) -> Iterator[tuple[str, str]]:
        if fact.measured and fact.low != fact.high and math.isfinite(fact.low) and math.isfinite(fact.high):
            yield self.words["range"], self.voice.interval(fact)

    def _sample(self, origin: Sampled) -> Iterator[tuple[str, str]]:
        run = self.samples[origin.run]
        sample = run.samples[origin.key]
        link = element("a", run.id, href=f"#run.{run.id}")
        yield self.words["sample"], joined(link, " ", element("code", plain(origin.key)))
        if verdict := self.edition.verdict(origin):
            yield from verdicts.rows(verdict, self.voice)
        if sample.count:
            yield self.words["repeats"], self.voice.number(sample.count)
        if sample.config:
            yield self.words["configuration"], plain(_pairs(sample.config))
        if isinstance(sample, Report):
            yield self.words["source"], plain(sample.source)
        elif isinstance(sample, Import):
            yield from self._imported(sample)
        else:
            yield from self._executed(sample)
        if sample.versions:
            yield self.words["versions"], plain(_pairs(sample.versions))

    def _imported(self, sample: Import) -> Iterator[tuple[str, str]]:
        yield self.words["tool"], plain(sample.tool)
        yield self.words["file"], element("code", f"SHA-256 {sample.sha256}")
        if sample.given:
            yield self.words["given"], plain(_pairs(sample.given))
        if sample.values:
            yield from self._spread(sample.values)
        if sample.at:
            yield self.words["date"], self.voice.date(sample.at)

    def _spread(self, values: list[float]) -> Iterator[tuple[str, str]]:
        told = ", ".join(formats.number(value, self.voice.language, significant=4) for value in values[:SHOWN])
        yield self.words["spread"], told + (" …" if len(values) > SHOWN else "")

    def _executed(self, sample: Sample) -> Iterator[tuple[str, str]]:
        yield from self._spread(sample.values)
        yield self.words["date"], self.voice.date(sample.at)
        yield self.words["command"], element("code", plain(sample.command))

    # Claims and runs

    def _claims(self) -> Iterator[str]:
        yield f"## {self.text('receipt', 'claims')} {{#claims}}\n"
        yield "\n".join(self._claim(claim) for claim in self.claims.values()) + "\n"

    def _claim(self, claim: Claim) -> str:
        outcome = claim.outcome.value
        why = "" if claim.holds or claim.refuted else self.voice.why(claim)
        mark = element("span", self.text("outcome", outcome), class_=f"claim {outcome}")
        head = element("h4", plain(self.text("claim", claim.name)), " ", mark, " ", element("small", why))
        tests = [element("li", self._comparison(made)) for made in claim.truth.comparisons]
        return element("section", head, element("ul", *tests), class_="receipt", id=f"claim.{claim.name}")

    def _comparison(self, made: Comparison) -> Markup:
        outcome = self.text("outcome", made.outcome.value)
        return joined(self._side(made.left), f" {made.symbol} ", self._side(made.right), f"{self.voice.colon}{outcome}")

    def _side(self, side: Quantity) -> Markup:
        if side.name:
            return joined(self.voice.label(side), " ", element("a", self.voice.value(side), href=f"#{side.name}"))
        value = self.voice.exact(side.plain())
        if isinstance(side.origin, Constant):
            return joined(value)
        return joined(self.voice.formula(side, values=False), " = ", value)

    def _runs(self) -> Iterator[str]:
        yield f"## {self.text('receipt', 'runs')} {{#runs}}\n"
        yield "\n".join(self._run(run) for run in self.edition.runs) + "\n"

    def _run(self, run: Run) -> str:
        machine = run.machine
        told = [machine.device, machine.processor, machine.driver, machine.system]
        rows = [
            _row(self.text("receipt", "machine"), self.voice.machine(run)),
            _row(self.text("receipt", "date"), self.voice.date(run.started)),
            _row(self.text("receipt", "configuration"), plain(", ".join(part for part in told if part))),
        ]
        if run.kind == "executed":
            page = element("a", self.text("run", "changed_page"), href=f"../../runs/{run.id}/")
            rows.append(_row(self.text("receipt", "changed"), page))
        return element(
            "section", element("h4", run.id), element("dl", Markup("".join(rows))), class_="receipt", id=f"run.{run.id}"
        )

    def _faulty(self) -> Iterator[str]:
        """Every sample that was found fault with, used or not."""
        shown = [self._fault(sampled, verdict) for sampled, verdict in self.edition.faulty()]
        if shown:
            yield f"## {self.text('receipt', 'faulty')} {{#faulty}}\n"
            yield "\n".join(shown) + "\n"

    def _fault(self, sampled: Sampled, verdict: Verdict) -> str:
        head = element("h4", element("code", plain(sampled.key)), " ", element("small", sampled.run))
        told = [_row(name, said) for name, said in verdicts.rows(verdict, self.voice)]
        return element("section", head, element("dl", Markup("".join(told))), class_="receipt")

    def _unused(self) -> Iterator[str]:
        unused = list(self.edition.unused_samples())
        if unused:
            yield f"## {self.text('receipt', 'unused')} {{#unused}}\n"
            yield "\n".join(f"- {plain(run_id)}: {plain(text)}" for run_id, text in unused) + "\n"


def _unmeasured(quantity: Quantity) -> Iterator[Sampled]:
    """The samples without which a quantity is unmeasured."""
    yield from (part.origin for part in tree([quantity]) if isinstance(part.origin, Sampled) and not part.measured)


def _row(name: str, value: str) -> str:
    return f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>"


def _pairs(items: dict[str, str | int | float | bool] | dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in items.items())
