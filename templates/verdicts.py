"""A verdict in words: how a sample was judged, against what, by how much, and what to do about a fault."""

from __future__ import annotations

from collections.abc import Iterator

from measure.limits import Verdict
from templates.html import plain
from templates.shared import Shared


def rows(verdict: Verdict, shared: Shared) -> Iterator[tuple[str, str]]:
    """Names and texts for a receipt: verdict, limit and advice of every fault, else verdict and nearest limit.

    The names are entries of labels.toml [receipt]; the texts are HTML.
    """
    for finding in verdict.faults or (verdict,):
        yield "verdict", _status(finding, shared)
        if finding.value is not None and finding.limit is not None and finding.factor is not None:
            yield "limit", _limit(finding, shared)
        if finding.status != "accepted":
            yield "advice", shared.text("advice", finding.rule)


def _status(verdict: Verdict, shared: Shared) -> str:
    status = shared.word("verdict", verdict.status)
    if verdict.status == "accepted":
        return status
    return f"{status}{shared.colon}{shared.word('rule', verdict.rule)}"


def _limit(verdict: Verdict, shared: Shared) -> str:
    """What the sample implies against the limit, by which factor, and the keys that both rest on."""
    sides = (verdict.value or 0.0, verdict.limit or 0.0)
    value, limit = (shared.quantity(side, verdict.unit, significant=4) for side in sides)
    factor = shared.quantity(verdict.factor or 0.0, "times", significant=3)
    text = shared.filled("receipt", "against", value=value, limit=limit, factor=factor)
    told = [f"<code>{plain(key)}</code>" for key in verdict.basis]
    if verdict.from_datasheet:
        told.append(shared.text("receipt", "datasheet"))
    if not told:
        return text
    opening, closing = shared.brackets
    return f"{text}{opening}{shared.comma.join(told)}{closing}"
