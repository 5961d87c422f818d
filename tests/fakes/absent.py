"""Needs a package that no environment has."""

from measure.keys import key

SUMMARY = "what cannot be installed"
NEEDS = ("msgspec", "no_such_engine")
OPTIONS = ()


def plan(session):
    return [key("absent", "rate", requests=n) for n in (1, 4)]


def seconds(session):
    return 5.0


def measure(session):
    import no_such_engine  # noqa: F401
