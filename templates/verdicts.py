"""A verdict in words: how a sample was judged, against what, by how much, and what to do about a fault."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from measure.limits import Verdict
from templates import formats
from templates.html import element, joined, plain
from templates.voice import Voice

BRACKETS = {"zh": ("（", "）")}


def rows(verdict: Verdict, voice: Voice) -> Iterator[tuple[str, Markup]]:
    """Names and texts for a receipt: verdict, limit and advice of every fault, else verdict and nearest limit."""
    for finding in verdict.faults or (verdict,):
        yield voice.labels.get("receipt", "verdict"), _status(finding, voice)
        if finding.value is not None and finding.limit is not None and finding.factor is not None:
            yield voice.labels.get("receipt", "limit"), _limit(finding, voice)
        if finding.status != "accepted":
            yield voice.labels.get("receipt", "advice"), Markup(voice.labels.get("advice", finding.rule))


def _status(verdict: Verdict, voice: Voice) -> Markup:
    status = voice.labels.get("verdict", verdict.status)
    if verdict.status == "accepted":
        return joined(status)
    return joined(status, voice.colon, voice.labels.get("rule", verdict.rule))


def _limit(verdict: Verdict, voice: Voice) -> Markup:
    """What the sample implies against the limit, by which factor, and the keys that both rest on."""
    value, limit = (
        formats.quantity(number or 0.0, verdict.unit, voice.language, significant=4)
        for number in (verdict.value, verdict.limit)
    )
    factor = formats.quantity(verdict.factor or 0.0, "times", voice.language, significant=3)
    text = voice.labels.filled("receipt", "against", value=value, limit=limit, factor=factor)
    told = [element("code", plain(text)) for text in verdict.basis]
    if verdict.from_datasheet:
        told.append(Markup(voice.labels.get("receipt", "datasheet")))
    opening, closing = BRACKETS.get(voice.language, (" (", ")"))
    return joined(text, opening, Markup(voice.comma).join(told), closing) if told else joined(text)
