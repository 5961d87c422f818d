"""Numbers, units, dates and lists as each language writes them.

Pure functions from values to text, without HTML, so that every page prints a fact in the same way. Babel knows the
digits and the dates; it lacks GiB, tokens and TFLOPS, so the units are a small table of our own.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, lru_cache

from babel import Locale
from babel.dates import format_date
from babel.numbers import get_decimal_symbol, get_group_symbol

NO_BREAK_SPACE = "\u00a0"

LOCALES = {"ko": "ko", "en": "en_GB", "zh": "zh"}
"""Languages of the site, and Babel's locale for each. British English for its dates: 6 October 2026."""

TRUSTED_DIGITS = 14
"""Significant digits of a float that are taken as meant; what follows is noise of binary arithmetic."""

_MEANT = Context(prec=TRUSTED_DIGITS, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)

SYMBOLS = {
    "B": "바이트", "KB": "킬로바이트", "MB": "메가바이트", "GB": "기가바이트", "TB": "테라바이트",
    "KiB": "키비바이트", "MiB": "메비바이트", "GiB": "기비바이트", "s": "초", "ms": "밀리세컨드",
    "µs": "마이크로세컨드", "Hz": "헤르츠", "MHz": "메가헤르츠", "GHz": "기가헤르츠", "W": "와트", "J": "줄",
    "FLOP": "플롭", "GFLOP": "기가플롭", "TFLOPS": "테라플롭스", "tok": "토큰", "req": "리퀘스트", "param": "파라미터",
    "step": "스텝",
}  # fmt: skip
"""Symbols written alike in every language, with their Korean reading. Several may be joined by a slash: GB/s."""

CLOSE = {"%": "퍼센트", "°": "도", "°C": "도", "×": "배"}
"""Symbols that follow the number without a space, with their Korean reading."""

WORDS: dict[str, tuple[tuple[str, str], str, str]] = {
    "token": (("token", "tokens"), "토큰", "个 token"),
    "request": (("request", "requests"), "개", "个请求"),
    "times": (("times", "times"), "배", "倍"),
    "second": (("second", "seconds"), "초", "秒"),
    "day": (("day", "days"), "일", "天"),
    "model": (("model", "models"), "개", "个模型"),
    "step": (("step", "steps"), "스텝", "步"),
    "frame": (("frame", "frames"), "프레임", "帧"),
    "call": (("call", "calls"), "회", "次"),
    "repeat": (("repeat", "repeats"), "회", "次"),
    "bit": (("bit", "bits"), "비트", "位"),
    "point": (("percentage point", "percentage points"), "%포인트", "个百分点"),
}
"""Units that are words: English one and many, Korean (joined to the number), Chinese (after a space)."""

ALIASES = {"tok": "token", "req": "request"}
"""Symbols that are written out as a word when they stand alone."""

SCALES = {
    "en": ((12, "trillion"), (9, "billion"), (6, "million")),
    "ko": ((12, "조"), (8, "억"), (4, "만")),
    "zh": ((12, "万亿"), (8, "亿"), (4, "万")),
}
"""Powers of ten that have a word, largest first. Korean and Chinese count in ten thousands."""

SCALED = "param"
"""The unit whose numbers are too large for digits and are said with a word: 1.4 billion, 14억, 14 亿."""


def number(value: float, language: str, *, decimals: int | None = None, significant: int | None = None) -> str:
    """The number with `decimals` places or `significant` figures, or with all its digits if neither is given.

    Rounds half up, away from zero, on the decimal digits that a reader sees, as by hand: 2.675 becomes 2.68, though the
    double lies below it, and 11.65 becomes 11.7, where half-even makes 11.6. Noise of arithmetic cannot decide a tie:
    0.285 * 100 is 28.499999999999996 and becomes 29. Never in scientific notation and never -0.
    Raises ValueError for NaN, infinity, an unknown language, or both kinds of precision at once.
    """
    return _signed(_figures(value, decimals, significant), language)


def quantity(
    value: float, unit: str, language: str, *, decimals: int | None = None, significant: int | None = None
) -> str:
    """The number and its unit: `905 GB/s`, `66%`, `16 requests`, `8.2배`, `14 亿`. The unit "1" or "" prints none.

    A no-break space joins them, except before %, ° and × and in Korean before a word. Parameters are said with a word
    of scale, which differs by language, so they are rounded to `significant` figures (three if not given) and printed
    without trailing zeros: 13 billion, 130억.
    Raises ValueError for a unit that is not in the tables.
    """
    if unit == SCALED:
        return "".join(_scaled((value,), language, decimals, significant))
    figure = number(value, language, decimals=decimals, significant=significant)
    return figure + _suffix(figure, unit, language)


def alike(unit: str) -> bool:
    """Whether a number with this unit is written alike in every language: figures and symbols are, words are not."""
    return unit != SCALED and ALIASES.get(unit, unit) not in WORDS


def span(
    low: float,
    high: float,
    unit: str,
    language: str,
    *,
    decimals: int | None = None,
    significant: int | None = None,
) -> str:
    """A range with its unit once: `86–98%`, `86~98%`; Chinese repeats the sign, `86%～98%`, as GB/T 15835 asks.

    Ends that are printed alike become one number. Raises ValueError if `low` is above `high`.
    """
    if low > high:
        raise ValueError(f"a range from {low!r} to {high!r} runs backwards: give the smaller end first")
    if unit == SCALED:
        first, last, suffix = _scaled((low, high), language, decimals, significant)
    else:
        first, last = (number(end, language, decimals=decimals, significant=significant) for end in (low, high))
        suffix = _suffix(last, unit, language)
    if first == last:
        return last + suffix
    repeated = suffix if language == "zh" and unit in CLOSE else ""
    return first + repeated + _dash(low, language) + last + suffix


def date(iso: str, language: str) -> str:
    """The day of an ISO 8601 date or time, as written there: `2026년 10월 6일`, `6 October 2026`, `2026 年 10 月 6 日`.

    In Chinese the space between a number and its 年, 月, 日 does not break.
    """
    try:
        day = datetime.datetime.fromisoformat(iso).date()
    except ValueError as error:
        raise ValueError(f"{iso!r} is not a date: write it as 2026-10-06") from error
    return _day(day, language)


@lru_cache(maxsize=1024)
def _day(day: datetime.date, language: str) -> str:
    text = format_date(day, "long", locale=_locale(language))
    if language != "zh":
        return text
    return re.sub(r"(?<=[年月])(?=\d)", " ", re.sub(r"(?<=\d)(?=[年月日])", NO_BREAK_SPACE, text))


@cache
def _locale(language: str) -> Locale:
    if language not in LOCALES:
        raise ValueError(f"unknown language {language!r}: the site has {', '.join(LOCALES)}")
    return Locale.parse(LOCALES[language])


def _decimal(value: float) -> Decimal:
    """The decimal number that a float stands for, free of the noise that arithmetic leaves in its last digits."""
    if isinstance(value, int):
        return Decimal(value)
    if not math.isfinite(value):
        raise ValueError(f"{value!r} cannot be printed as a number: print the reason why it is missing")
    return _MEANT.create_decimal(repr(float(value))).normalize()


def _rounded(value: Decimal, decimals: int | None, significant: int | None) -> Decimal:
    if decimals is not None and significant is not None:
        raise ValueError(f"asked for {decimals} decimals and for {significant} significant figures: choose one")
    if significant is not None:
        return _to_figures(value, significant)
    if decimals is None:
        return value
    if decimals < 0:
        raise ValueError(f"asked for {decimals} decimals: give 0 or more, or significant figures")
    return _to_place(value, -decimals)


def _to_figures(value: Decimal, significant: int) -> Decimal:
    if significant < 1:
        raise ValueError(f"asked for {significant} significant figures: give 1 or more")
    if not value:
        return Decimal(0)
    rounded = _to_place(value, value.adjusted() - significant + 1)
    return _to_place(rounded, rounded.adjusted() - significant + 1)  # again, as 9.996 became 10.00


def _to_place(value: Decimal, exponent: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(exponent), context=_EXACT)


@lru_cache(maxsize=1 << 15)
def _figures(value: float, decimals: int | None, significant: int | None) -> str:
    """The digits with Python's signs. They are alike in all languages, and a page prints the same number many times."""
    return _digits(_rounded(_decimal(value), decimals, significant))


def _digits(value: Decimal) -> str:
    places = max(0, -int(value.as_tuple().exponent))
    return f"{value if value else abs(value):,.{places}f}"


def _signed(digits: str, language: str) -> str:
    """The digits with the language's own signs."""
    signs = _signs(language)
    return digits.translate(signs) if signs else digits


@cache
def _signs(language: str) -> dict[int, str]:
    """The signs of a language that differ from those that Python writes: the digits' groups and the decimal point."""
    locale = _locale(language)
    own = {",": get_group_symbol(locale), ".": get_decimal_symbol(locale)}
    return str.maketrans({sign: other for sign, other in own.items() if sign != other})


def _suffix(figure: str, unit: str, language: str) -> str:
    if unit in ("", "1"):
        return ""
    if unit in CLOSE:
        return unit
    if word := WORDS.get(ALIASES.get(unit, unit)):
        return _word(figure, word, language)
    if all(part in SYMBOLS for part in unit.split("/")):
        return NO_BREAK_SPACE + unit
    raise ValueError(f"unknown unit {unit!r}: add it to the tables at the head of templates/formats.py")


def _word(figure: str, word: tuple[tuple[str, str], str, str], language: str) -> str:
    (one, many), korean, chinese = word
    if language == "ko":
        return korean
    if language == "zh":
        return NO_BREAK_SPACE + chinese
    return NO_BREAK_SPACE + (one if figure in ("1", "-1") else many)


def _scaled(values: tuple[float, ...], language: str, decimals: int | None, significant: int | None) -> tuple[str, ...]:
    """The values as figures over one scale, that of the last and largest, and the scale's word."""
    if decimals is not None:
        raise ValueError(
            f"asked for {decimals} decimals of a number said with a word of scale: give significant figures"
        )
    _locale(language)
    rounded = [_to_figures(_decimal(value), significant or 3).normalize() for value in values]
    reached = (scale for scale in SCALES[language] if rounded[-1] and rounded[-1].adjusted() >= scale[0])
    exponent, word = next(reached, (0, ""))
    return (*(_signed(_digits(value.scaleb(-exponent)), language) for value in rounded), scale(word, language))


def scale(word: str, language: str) -> str:
    """A word of scale as it follows the figures; nothing for none."""
    return NO_BREAK_SPACE + word if word and language != "ko" else word


def _dash(low: float, language: str) -> str:
    if language == "en":
        return " to " if low < 0 else "–"
    return "~" if language == "ko" else "～"
