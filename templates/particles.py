"""The Korean particle that fits how a number, a unit or a word is read aloud.

A particle has two forms, one after a final consonant and one after a vowel, and a page that prints both at once,
은(는), reads as machine-made. What stands before it here is often a number, a unit or a Latin name, so the Korean
reading decides.
"""

# ruff: noqa: RUF001  (the typography of Korean is the subject: quotes, full-width brackets)

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup

from templates.formats import CLOSE, SYMBOLS

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


def _spoken_part(text: str) -> str:
    """The text as far as it is read aloud: without markup, closing quotes, full stops and a bracket at the end."""
    composed = unicodedata.normalize("NFC", Markup(text).striptags())
    spoken = _ATTRIBUTES.sub("", _LINK.sub(r"\1", composed)).rstrip(_SILENT)
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
