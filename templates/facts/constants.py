"""Definitions that facts count with: one token, two operations a parameter, bits of a format."""

from __future__ import annotations

from measure import models
from templates.quantity import constant

NO_TIME = constant(0, "ms", "zero")
ONE = constant(1, "1", "one")
TWO = constant(2, "1", "two")
TOKEN = constant(1, "tok", "token")
REQUEST = constant(1, "req", "request")
TOKEN_PER_REQUEST = constant(1, "tok/req", "token_per_request")
OPERATIONS = constant(2, "FLOP/param/tok", "operations", "one multiplication and one addition for each parameter")
SIXTEEN_BIT = constant(2, "B/param", "sixteen_bit", "16 bits")

BYTES_PER_PARAMETER = {
    precision: constant(size, "B/param", "bytes_per_parameter", f"measure/models.py: {precision}")
    for precision, size in models.BYTES_PER_WEIGHT.items()
}
"""What a parameter takes in a format, scales included where they belong to the format."""
