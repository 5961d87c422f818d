"""Units: pint's, with a registry of our own in which bytes, tokens, requests and operations are dimensions.

As shipped, pint holds bytes and counts to be dimensionless, so that tokens could be added to bytes unnoticed.
"""

from __future__ import annotations

from functools import cache

import pint

_DEFINITIONS = """
kilo- = 1e3
mega- = 1e6
giga- = 1e9
tera- = 1e12
milli- = 1e-3
micro- = 1e-6
kibi- = 1024
mebi- = 1048576
gibi- = 1073741824
second = [time] = s
byte = [information] = B
bit = byte / 8
token = [token] = tok
request = [request] = req
operation = [operation] = FLOP
parameter = [parameter] = param
joule = [energy] = J
step = [step]
percent = 0.01
watt = joule / second = W
hertz = 1 / second = Hz
""".strip().splitlines()

_registry: pint.UnitRegistry[float] = pint.UnitRegistry(None)
_registry.load_definitions(_DEFINITIONS)

Unit = pint.Unit
DimensionalityError = pint.DimensionalityError

_SPELLED = {
    "": "dimensionless",
    "1": "dimensionless",
    "times": "dimensionless",
    "%": "percent",
    "point": "percent",
    "GB": "gigabyte",
    "MB": "megabyte",
    "MB/req": "megabyte / request",
    "B": "byte",
    "KiB": "kibibyte",
    "MiB": "mebibyte",
    "GiB": "gibibyte",
    "s": "second",
    "ms": "millisecond",
    "µs": "microsecond",
    "tok": "token",
    "req": "request",
    "param": "parameter",
    "FLOP": "operation",
    "GFLOP": "gigaoperation",
    "W": "watt",
    "GHz": "gigahertz",
    "J/tok": "joule / token",
    "GB/s": "gigabyte / second",
    "GB/tok": "gigabyte / token",
    "B/param": "byte / parameter",
    "bit/param": "bit / parameter",
    "Gparam": "gigaparameter",
    "B/tok": "byte / token",
    "KB/tok": "kilobyte / token",
    "tok/s": "token / second",
    "tok/req": "token / request",
    "ms/tok": "millisecond / token",
    "TFLOPS": "teraoperation / second",
    "FLOP/param/tok": "operation / parameter / token",
    "FLOP/B": "operation / byte",
    "tok/s/req": "token / second / request",
    "step/s": "step / second",
    "ms/step": "millisecond / step",
    "step": "step",
}


@cache
def unit(text: str) -> Unit:
    """The unit that is written so on the pages. Raises KeyError for a spelling that the site lacks."""
    return _registry.Unit(_SPELLED[text])


@cache
def factor(source: Unit, target: Unit) -> float:
    """What turns a magnitude in `source` into one in `target`. Raises DimensionalityError if they do not fit."""
    return float(_registry.convert(1.0, source, target))


@cache
def base(source: Unit) -> float:
    """What turns a magnitude in `source` into one in bytes, seconds, tokens and the like, without prefixes."""
    return factor(source, _registry.get_base_units(source)[1])


@cache
def product(left: Unit, right: Unit) -> Unit:
    combined: Unit = left * right
    return combined


@cache
def ratio(left: Unit, right: Unit) -> Unit:
    combined: Unit = left / right
    return combined
