"""A helper module, not a measurement: looking for measurements must not execute it."""

raise RuntimeError("a helper was executed")
