"""Records three samples and counts in a file how often each was measured."""

from pathlib import Path

from measure import spread
from measure.keys import key, over_cards

SUMMARY = "three numbers that never change"
NEEDS = ("msgspec",)
OPTIONS = ("pace", spread.NAME)


def plan(session):
    told = over_cards(int(spread.asked(session.options)))
    return [key("steady", "rate", "qwen3-0.6b-bf16", requests=n, **told) for n in (1, 4, 16)]


def seconds(session):
    return 1.5


def measure(session):
    for number, wanted in enumerate(plan(session)):
        if session.wanted(wanted):
            with Path(session.results).with_name("measured.log").open("a") as log:
                print(wanted, file=log)
            session.record(wanted, "tok/s", [10.0 + number, 11.0 + number, 12.0 + number], {"device": session.device})
