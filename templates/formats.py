"""Numbers, units, dates and lists as each language writes them, and the Korean particle that fits how they are read.

Pure functions from values to text, without HTML, so that every page prints a fact in the same way. Babel knows the
digits and the dates; it lacks GiB, tokens and TFLOPS, so the units are a small table of our own.
"""

# ruff: noqa: RUF001  (the typography of three languages is the subject: dashes, quotes, full-width signs)

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from functools import cache

from babel import Locale
from babel.dates import format_date
from babel.numbers import get_decimal_symbol, get_group_symbol
from markupsafe import Markup

NO_BREAK_SPACE = "\u00a0"

LOCALES = {"ko": "ko", "en": "en_GB", "zh": "zh"}
"""Languages of the site, and Babel's locale for each. British English for its dates: 6 October 2026."""

TRUSTED_DIGITS = 14
"""Significant digits of a float that are taken as meant; what follows is noise of binary arithmetic."""

SYMBOLS = {
    "B": "바이트", "KB": "킬로바이트", "MB": "메가바이트", "GB": "기가바이트", "TB": "테라바이트",
    "KiB": "키비바이트", "MiB": "메비바이트", "GiB": "기비바이트", "s": "초", "ms": "밀리세컨드",
    "µs": "마이크로세컨드", "Hz": "헤르츠", "GHz": "기가헤르츠", "W": "와트", "J": "줄", "FLOP": "플롭",
    "TFLOPS": "테라플롭스", "tok": "토큰", "req": "리퀘스트", "param": "파라미터", "step": "스텝",
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
    return _printed(_rounded(_decimal(value), decimals, significant), language)


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


def auto_unit(value: float, unit: str) -> tuple[float, str]:
    """Seconds or milliseconds, whichever fits the size: from one second on, s. Any other unit is given back as it is.

    A value that three significant figures would print as 1,000 ms already counts as a second.
    """
    if unit not in ("s", "ms"):
        return value, unit
    seconds = value if unit == "s" else value / 1000
    if abs(seconds) >= 0.9995:
        return seconds, "s"
    return seconds * 1000, "ms"


def date(iso: str, language: str) -> str:
    """The day of an ISO 8601 date or time, as written there: `2026년 10월 6일`, `6 October 2026`, `2026 年 10 月 6 日`.

    In Chinese the space between a number and its 年, 月, 日 does not break.
    """
    try:
        day = datetime.datetime.fromisoformat(iso).date()
    except ValueError as error:
        raise ValueError(f"{iso!r} is not a date: write it as 2026-10-06") from error
    text = format_date(day, "long", locale=_locale(language))
    if language != "zh":
        return text
    return re.sub(r"(?<=[年月])(?=\d)", " ", re.sub(r"(?<=\d)(?=[年月日])", NO_BREAK_SPACE, text))


def join(items: Sequence[str], language: str) -> str:
    """A list in a sentence: `a, b and c`; `a、b 和 c`; Korean `a와 b`, and `a, b, c` from three on, as speakers do.

    Where the reading of a Korean first item is unknown, as of a machine's name, 및 stands for the particle.
    """
    _locale(language)
    if not items:
        raise ValueError("there is nothing to join: say in another sentence that the list is empty")
    if len(items) == 1:
        return items[0]
    if language == "ko":
        return ", ".join(items) if len(items) > 2 else items[0] + _and(items[0]) + items[1]
    if language == "zh":
        return "、".join(items[:-1]) + _spaced("和", items[-2], items[-1]) + items[-1]
    return ", ".join(items[:-1]) + " and " + items[-1]


# The Korean particle


LETTERS = {
    "A": "에이", "B": "비", "C": "시", "D": "디", "E": "이", "F": "에프", "G": "지", "H": "에이치", "I": "아이",
    "J": "제이", "K": "케이", "L": "엘", "M": "엠", "N": "엔", "O": "오", "P": "피", "Q": "큐", "R": "알",
    "S": "에스", "T": "티", "U": "유", "V": "브이", "W": "더블유", "X": "엑스", "Y": "와이", "Z": "제트",
}  # fmt: skip
"""Names of the Latin letters as engineers say them: R is 알, so CER takes 은."""

DIGITS = "영일이삼사오육칠팔구"
PLACES = ("", "십", "백", "천")
MYRIADS = ("", "만", "억", "조", "경", "해")

READINGS = {
    "app": "앱", "bit": "비트", "block": "블록", "chat": "챗", "clock": "클록", "context": "콘텍스트",
    "desktop": "데스크톱", "float": "플로트", "flop": "플롭", "github": "깃허브", "input": "인풋",
    "instruct": "인스트럭트", "laptop": "랩톱", "magpie": "맥파이", "nvlink": "엔브이링크", "output": "아웃풋",
    "pcie": "피시아이이", "prompt": "프롬프트", "script": "스크립트", "step": "스텝", "thread": "스레드",
    "triad": "트라이어드", "type": "타입", "weight": "웨이트", "web": "웹",
}  # fmt: skip
"""Korean readings of Latin words whose spelling does not tell how they end, in lower case. Add one that is missing."""

ENDINGS = {
    "ng": "응", "m": "음", "n": "은", "l": "을", "me": "음", "ne": "은", "le": "을", "a": "아", "i": "이", "o": "오",
    "u": "우", "y": "이", "w": "우", "s": "스", "x": "스", "z": "즈", "f": "프", "v": "브", "h": "치", "r": "어",
    "ce": "스", "se": "스", "ze": "즈", "ve": "브", "fe": "프", "de": "드", "te": "트", "ge": "지", "re": "어",
    "he": "시",
}  # fmt: skip
"""Spellings at the end of a Latin word that always end alike in Korean, with a syllable that ends so.

Left out are those that do not: -p is 앱 or 점프, -t is 챗 or 비트, -pe is 타입 or 파이프.
"""

PAIRS = re.compile(
    r"은/는|이/가|을/를|과(\w*)/와\1|으(로\w*)/\2|이([다라란랑며고나든면므지야]\w*)/\3|이었(\w*)/였\4|이에요/예요"
)
"""Pairs of particles, the form after a consonant first, with what may be added to both: 으로는/로는, 이라고/라고."""

RIEUL = 8
"""Index of the final consonant ㄹ within a syllable's code point; after it 로 stands, not 으로."""


def particle(text: str, pair: str) -> str:
    """The particle of `pair` that fits `text` as it is read aloud: after a final consonant the first, else the second.

    `pair` is one such as 은/는, 이/가, 을/를, 과/와, 으로/로, 이라/라, 이었/였. Markup is read through.
    A bracket at the end is an aside, so the word before it decides, as Korean usage has it: `905 GB/s(측정)` takes 는.
    Units are read in the order in which they are written: tok/s as 토큰 퍼 세컨드, not 초당 토큰.
    Raises ValueError for an ending of unknown reading, so that a page is never built with a guess.
    """
    if not PAIRS.fullmatch(pair):
        raise ValueError(
            f"{pair!r} is not a pair of particles: write one such as 은/는, the form after a consonant first"
        )
    closed, opened = pair.split("/")
    final = (ord(reading(text)[-1]) - ord("가")) % 28
    if closed.startswith("으로") and final == RIEUL:
        return opened
    return closed if final else opened


def reading(text: str) -> str:
    """How the end of `text` is read in Korean, to the last syllable at least: 이 for `864.2`, 리 for `메모리`."""
    spoken = _spoken_part(text)
    for read in (_read_hangul, _read_unit, _read_number, _read_word):
        if syllables := read(spoken):
            return syllables
    raise ValueError(
        f"no Korean reading is known for the end of {text!r}: add it to READINGS in templates/formats.py, "
        "or put a Korean noun before the particle"
    )


_UNIT = "|".join(sorted(map(re.escape, SYMBOLS), key=len, reverse=True))
_UNIT_AT_END = re.compile(rf"(?<![A-Za-z/_.-])((?:{_UNIT})(?:/(?:{_UNIT}))*)$")
_CLOSE_AT_END = re.compile("|".join(sorted(map(re.escape, CLOSE), key=len, reverse=True)) + "$")
_NUMBER_AT_END = re.compile(r"(?<![0-9^])(?<![0-9]/)([0-9][0-9,]*)((?:\.[0-9]+)*)$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\s*$")
_BRACKETS = {")": "(", "]": "[", "）": "（", "］": "［", "〕": "〔"}
_SILENT = " \u00a0\u2060\u200b\"'“”‘’「」『』〈〉《》*_`.,:;!?…"


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
    meant = Context(prec=TRUSTED_DIGITS, rounding=ROUND_HALF_UP).create_decimal(repr(float(value)))
    return meant.normalize()


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
    with localcontext(prec=400, rounding=ROUND_HALF_UP):
        return value.quantize(Decimal(1).scaleb(exponent))


def _printed(value: Decimal, language: str) -> str:
    places = max(0, -int(value.as_tuple().exponent))
    with localcontext(prec=400):
        text = f"{value if value else abs(value):,.{places}f}"
    return text.translate(_signs(language))


@cache
def _signs(language: str) -> dict[int, str]:
    """The language's own signs for the ones that Python writes: the digits' groups and the decimal point."""
    locale = _locale(language)
    return str.maketrans({",": get_group_symbol(locale), ".": get_decimal_symbol(locale)})


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
    space = NO_BREAK_SPACE if word and language != "ko" else ""
    return (*(_printed(value.scaleb(-exponent), language) for value in rounded), space + word)


def _dash(low: float, language: str) -> str:
    if language == "en":
        return " to " if low < 0 else "–"
    return "~" if language == "ko" else "～"


def _and(item: str) -> str:
    try:
        return particle(item, "과/와") + " "
    except ValueError:
        return " 및 "


def _spaced(word: str, before: str, after: str) -> str:
    """A Chinese word between two texts, with a space towards Latin letters and digits."""
    left, right = Markup(before).striptags()[-1:], Markup(after).striptags()[:1]
    return (" " if left.isascii() else "") + word + (" " if right.isascii() else "")


def _spoken_part(text: str) -> str:
    """The text as far as it is read aloud: without markup, closing quotes, full stops and a bracket at the end."""
    spoken = _ATTRIBUTES.sub("", _LINK.sub(r"\1", str(Markup(text).striptags()))).rstrip(_SILENT)
    while spoken and spoken[-1] in _BRACKETS:
        spoken = _without_aside(spoken).rstrip(_SILENT)
    return spoken


def _without_aside(text: str) -> str:
    """The text before the bracket that closes at its end; what is inside if nothing stands before."""
    closer, depth = text[-1], 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == closer) - (text[place] == _BRACKETS[closer])
        if depth == 0:
            return text[:place] if text[:place].strip(_SILENT) else text[place + 1 : -1]
    return text[:-1]


def _read_hangul(text: str) -> str:
    return text[-1] if text and "가" <= text[-1] <= "힣" else ""


def _read_unit(text: str) -> str:
    if close := _CLOSE_AT_END.search(text):
        return CLOSE[close[0]]
    found = _UNIT_AT_END.search(text)
    if not found or (len(found[1]) == 1 and not re.search(r"[0-9]\s*$", text[: found.start()])):
        return ""  # a single letter is a unit only after a number: J alone is 제이, 5 J is 5줄
    first, *others = found[1].split("/")
    return " 퍼 ".join([SYMBOLS[first], *("세컨드" if part == "s" else SYMBOLS[part] for part in others)])


def _read_number(text: str) -> str:
    """The last syllable of a number: fractions digit by digit, whole numbers by tens and myriads."""
    found = _NUMBER_AT_END.search(text)
    if not found:
        return ""
    digits = found[1].replace(",", "")
    if found[2] or digits[-1] != "0":
        return DIGITS[int(text[-1])]
    zeros = len(digits) - len(digits.rstrip("0"))
    if zeros == len(digits):
        return DIGITS[0]
    myriads, place = divmod(zeros, 4)
    return (MYRIADS[myriads] if myriads < len(MYRIADS) else "") if myriads else PLACES[place]


def _read_word(text: str) -> str:
    """Latin letters: a known word, an abbreviation by the name of its last letter, or a spelling that is sure."""
    word = re.search(r"[A-Za-z]*$", text)
    if not word or not word[0]:
        return ""
    last = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", word[0])[-1]
    if known := READINGS.get(word[0].lower()) or READINGS.get(last.lower()):
        return known
    if last.isupper() or len(last) == 1 or not re.search("[aeiouy]", last.lower()):
        return LETTERS[last[-1].upper()]
    return next((ENDINGS[last[-size:]] for size in (2, 1) if last[-size:] in ENDINGS), "")
