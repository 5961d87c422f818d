"""Rules about what must follow from more work: more time, but never more than the parts and the requests add up to."""

from __future__ import annotations

from measure.limits import thresholds
from measure.limits.case import SECONDS, Case, Member, Status, Verdict, number

LENGTHS = {"prefill_rate": "tokens", "prefill_time": "tokens", "utterance_time": "patches"}
"""Quantities whose time grows with a length, and the parameter that tells it."""


def time_not_growing(case: Case) -> Verdict | None:
    """What is longer does not take less time. Of two samples that say so, the one at odds with more others is suspect.

    Where both are at odds with as many, nothing tells which is wrong, and both are.
    """
    if case.key.quantity not in LENGTHS:
        return None
    members = case.sound.family(case.key, LENGTHS[case.key.quantity])
    if len(members) < 2:
        return None
    at_odds = case.sound.once(("odds", members[0].text), lambda: _at_odds(members))
    mine = str(case.key)
    partners = at_odds.get(mine, {})
    worst = next((text for text in partners if len(at_odds[text]) <= len(partners)), None)
    if worst is None:
        return Verdict("accepted")
    value, limit = 1e3 * at_odds[worst][mine], 1e3 * partners[worst]
    return Verdict("suspect", "", limit, value / limit, "ms", value, (worst,))


NEAREST = 64
"""Shorter lengths that one is held against: more than anyone times, and few enough for any file."""


def _at_odds(members: list[Member]) -> dict[str, dict[str, float]]:
    """For each member at odds with others, these and their seconds: the shorter took longer, the intervals apart."""
    found: dict[str, dict[str, float]] = {}
    spans = [(member, *_interval(member)) for member in members]
    for place, (long, _, slowest) in enumerate(spans):
        for short, fastest, _ in spans[max(place - NEAREST, 0) : place]:
            if short.number < long.number and fastest > slowest * thresholds.TOLERANCE:
                found.setdefault(long.text, {})[short.text] = _seconds(short, short.sample.median)
                found.setdefault(short.text, {})[long.text] = _seconds(long, long.sample.median)
    return found


def _interval(member: Member) -> tuple[float, float]:
    """Seconds that a prompt took, at least and at most."""
    low, high = sorted(_seconds(member, end) for end in member.sample.interval)
    return low, high


def _seconds(member: Member, value: float) -> float:
    return value * SECONDS[member.sample.unit] if member.sample.unit in SECONDS else member.number / value


def held_up(case: Case) -> Verdict | None:
    """A request alone is at least as fast as one of many: if not, something else held it up while it was measured."""
    if case.key.quantity != "rate" or case.number("requests") != 1:
        return None
    others = [member for member in case.sound.family(case.key, "requests") if _like(case, member)]
    if not others:
        return None
    fastest = max(others, key=lambda member: member.sample.interval[0] / member.number)
    share = fastest.sample.median / fastest.number
    apart = fastest.sample.interval[0] / fastest.number > case.sample.interval[1]
    factor, value = case.sample.median / share, case.sample.median
    return Verdict("suspect" if apart else "accepted", "", share, factor, "tok/s", value, (fastest.text,))


def _like(case: Case, member: Member) -> bool:
    """Whether several requests were measured as the single one was: prompts as long, as many cards."""
    config = member.sample.config
    same = all(number(config.get(name)) == case.number(name) for name in ("prompt_tokens", "cards"))
    return member.number > 1 and same


def parts_differ(case: Case) -> Verdict | None:
    """The first token and the gaps after it make up the whole: less is time unaccounted for, more cannot be."""
    whole = case.number("whole_s")
    if not whole:
        return None
    first, gap, gaps = (case.number(name) for name in ("first_s", "gap_s", "gaps"))
    if first is None or gap is None or gaps is None:
        return None
    parts = first + gaps * gap
    factor = parts / whole
    low, high = 1 / thresholds.PARTS, thresholds.PARTS
    status: Status = "rejected" if factor > high else "suspect" if factor < low else "accepted"
    return Verdict(status, "", whole, factor, "s", parts)
