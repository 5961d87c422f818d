"""Saves a number that grows, under forty keys in turn, and tells each in a file as soon as it is saved."""

import itertools
import os

from measure.keys import key

SUMMARY = "a number that grows"
NEEDS = ()
OPTIONS = ()
KEYS = 40


def plan(session):
    """One more than it ever measures, so that there is always something left to do."""
    return [key("counter", "rate", requests=n) for n in range(1, KEYS + 2)]


def seconds(session):
    return 60.0


def measure(session):
    told = os.open(session.results.with_name("finished"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    keys = plan(session)[:KEYS]
    saved = [int(sample.values[0]) for sample in map(session.load, keys) if sample]
    for number, wanted in zip(itertools.count(max(saved, default=0) + 1), itertools.cycle(keys), strict=False):
        session.record(wanted, "tok/s", [float(number)] * 50, {"filler": "측정 " * 100})
        os.write(told, f"{wanted} {number}\n".encode())
