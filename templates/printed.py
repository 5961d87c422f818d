"""A quantity's value as pages print it: so many digits, and its unit."""

from __future__ import annotations

from templates import formats
from templates.quantity import Constant, Digits, Kind, Operation, Quantity

PUBLISHED_DIGITS = 6
"""A reported value with at most this many significant digits is printed as it was published."""

LONG_MS = 999.5
"""From here on milliseconds are said as seconds."""

SHORT = 0.0995
"""Below it, what is told to some significant digits is said in the next smaller unit of time."""

SMALLER = {"s": "ms", "ms": "µs"}
"""The next smaller unit of a unit of time."""


def value(quantity: Quantity, language: str, *, unit: bool = True) -> str:
    """The number of a quantity that is measured, with its unit."""
    return _printed(*said(quantity), language) if unit else _printed(quantity, digits(quantity), language, unit=False)


def said(quantity: Quantity) -> tuple[Quantity, Digits]:
    """The quantity in the unit in which it is said, and its digits: neither thousands nor hundredths of a unit."""
    number, shown = quantity.value or 0.0, digits(quantity)
    if quantity.shown_in == "ms" and number >= LONG_MS:
        return quantity.to("s"), Digits(None, 3)
    if shown.decimals is None and quantity.shown_in in SMALLER and 0 < number < SHORT:
        return quantity.to(SMALLER[quantity.shown_in]), shown
    return quantity, shown


def exact(quantity: Quantity, language: str) -> str:
    """The value of what is no fact: a constant with all its digits, a result with four."""
    return _printed(quantity, Digits(None, None if isinstance(quantity.origin, Constant) else 4), language)


def unit(quantity: Quantity, language: str) -> str:
    """What follows the figures of a value."""
    whole, shown = said(quantity)
    return _printed(whole, shown, language).removeprefix(_printed(whole, shown, language, unit=False))


def digits(quantity: Quantity) -> Digits:
    """Digits to print: as published where a reported figure is short, one figure where places would print a zero."""
    number, asked = quantity.value or 0.0, quantity.digits
    if asked.decimals is not None:
        vanishes = number != 0 and abs(number) < 10**-asked.decimals
        return Digits(None, 1) if vanishes else asked
    if quantity.kind is Kind.REPORTED and not isinstance(quantity.origin, Operation) and quantity.shown_in != "param":
        published = len(f"{number:.12g}".replace(".", "").lstrip("-0"))
        if published <= PUBLISHED_DIGITS:
            return Digits(None, max(2, published))
    return asked


def _printed(quantity: Quantity, shown: Digits, language: str, *, unit: bool = True) -> str:
    spelled = {"tok/s/req": "tok/s"}.get(quantity.shown_in, quantity.shown_in) if unit else "1"
    return formats.quantity(
        quantity.value or 0.0, spelled, language, decimals=shown.decimals, significant=shown.significant
    )
