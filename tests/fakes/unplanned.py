"""Cannot even say what it would measure."""

SUMMARY = "no plan"
NEEDS = ()
OPTIONS = ()


def plan(session):
    raise ZeroDivisionError("no cores")


def seconds(session):
    return 1.0


def measure(session):
    raise AssertionError("was measured without a plan")
