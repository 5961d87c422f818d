"""Rules about what went in and what came out: tokens asked for and produced, prompts, caches, recordings."""

from __future__ import annotations

from measure.limits.case import Case, Verdict


def token_count_differs(case: Case) -> Verdict | None:
    """A rate holds only if as many tokens were produced as were asked for; without any, no time to a token exists."""
    produced = case.number("produced_tokens")
    if produced is None:
        return None
    asked = _asked(case)
    if produced == 0:
        return Verdict("rejected", "", asked, 0.0 if asked else None, "tok", produced)
    if asked is None:
        return None
    if produced == asked:
        return Verdict("accepted", "", asked, None, "tok", produced)
    return Verdict("rejected", "", asked, produced / asked if asked else None, "tok", produced)


def _asked(case: Case) -> float | None:
    """Tokens that all requests together asked for."""
    each = case.number("output_tokens_long")
    each = each if each is not None else case.number("output_tokens")
    return None if each is None else each * (case.number("requests") or 1)


def prompts_repeated(case: Case) -> Verdict | None:
    """Prompts that are alike are answered from a cache."""
    distinct = case.entry("distinct_prompts")
    return None if distinct is None else Verdict("accepted" if distinct else "rejected")


def tokens_cached(case: Case) -> Verdict | None:
    """Prompt tokens found in a cache were not processed."""
    cached = case.number("cached_tokens")
    return None if cached is None else Verdict("rejected" if cached else "accepted", "", 0.0, None, "tok", cached)


def outputs_missing(case: Case) -> Verdict | None:
    """An error rate covers every recording; one whose output is empty is all deletions, so the rate is not zero."""
    if case.key.quantity != "cer":
        return None
    recordings, scored, empty = (case.number(name) for name in ("recordings", "scored_recordings", "empty_outputs"))
    if scored is None and empty is None:
        return None
    if recordings is not None and scored is not None and scored != recordings:
        return Verdict("rejected", "", recordings, scored / recordings if recordings else None, "", scored)
    return Verdict("rejected" if empty and case.sample.median == 0 else "accepted")
