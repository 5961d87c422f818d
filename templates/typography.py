"""Typography: what a finished page must keep to in its language, checked over the text that a reader sees.

A lint and not a corrector: the pages are rendered, so a finding is mended in the template it came from. Code,
addresses, markup, front matter and elements marked `translate="no"` (names of machines) are no prose and left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from templates import formats, particles
from templates.quantity import FAMILIES

RULES = {
    "double-space": "one space between words",
    "unit-space": "a no-break space between a number and its unit",
    "close-space": "no space between a number and % or °",
    "zh-space": "a space between Han characters and Latin letters or digits",
    "zh-sign-space": "no space beside a full-width sign",
    "zh-half-width": "full-width ，。；：？！（） beside Han characters",
    "zh-quotes": "“ ” or 「 」 around Han characters",
    "ko-both-particles": "one particle, chosen by the filter, never both forms",
    "ko-particle-space": "no space before a particle",
    "ko-particle": "the particle that fits the number, unit or name before it as it is read aloud",
    "ko-ending": "sentences that end in 합니다체; only headings, list items and table cells may be noun phrases",
}
"""Name of each rule, and what it asks for."""


class Finding(NamedTuple):
    """A place on a page that breaks a rule of RULES; `line` counts from 1."""

    line: int
    rule: str
    excerpt: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}: …{self.excerpt}… (wanted: {RULES[self.rule]})"


def lint(text: str, language: str) -> list[Finding]:
    """What breaks a rule for `language` (ko, en, zh) in a page's Markdown, in the order of its lines."""
    if language not in formats.LOCALES:
        raise ValueError(f"unknown language {language!r}: the site has {', '.join(formats.LOCALES)}")
    prose = visible(text)
    places = _by_pattern(_without_formulas(prose), language)
    places += _double_spaces(prose, text)
    if language == "ko":
        places += _wrong_particles(prose) + _plain_endings(prose, text)
    return sorted({Finding(prose.count("\n", 0, at) + 1, rule, _excerpt(prose, at, end)) for rule, at, end in places})


def visible(text: str) -> str:
    """The prose of a page as a reader sees it, each word on its line.

    Inline markup vanishes, so that neighbours across a tag are neighbours. Code and addresses leave the sign U+FFFC,
    and tags of blocks and line breaks leave a bar, which part their neighbours.
    """
    for pattern, left in _CODE:
        text = _replace(pattern, left, text)
    text = _ESCAPED.sub(lambda found: f"&#{ord(found[1])};", text)
    for pattern, left in _MARKUP:
        text = _replace(pattern, left, text)
    return html.unescape(_LINE_ENTITY.sub(" ", text))


# What is no prose


_Replacements = tuple[tuple[re.Pattern[str], str], ...]

_OBJECT = "\ufffc"
_INLINE = "a|abbr|b|bdi|cite|data|del|dfn|em|i|ins|mark|q|s|small|span|strong|sub|sup|time|u|var"
_ATTRIBUTES = r"""(?:[^<>"']|"[^"]*"|'[^']*')*"""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_ENTITY = re.compile(r"&(?:#0*1[03]|#[xX]0*[aAdD]|NewLine)\b;?")

_CODE: _Replacements = (
    (re.compile(r"\A---[ \t]*\n(?:.*?\n)?---[ \t]*(?=\n|\Z)", re.S), ""),
    (re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.S | re.M), _OBJECT),
    (re.compile(r"<!--.*?-->", re.S), ""),
    (re.compile(rf"<(pre|code|kbd|script|style|svg|math)\b{_ATTRIBUTES}>.*?</\1>", re.S | re.I), _OBJECT),
    (re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.S), _OBJECT),
)
"""Where Markdown and HTML have no meaning, in the order in which it must be taken away, and what stays in its place."""

_MARKUP: _Replacements = (
    (re.compile(r"<(\w+)\b[^<>]*\btranslate=[\"']?no\b[^<>]*>.*?</\1>", re.S), _OBJECT),
    (re.compile(r"^[ \t]*\[(?!\^)[^\]\n]+\]:[ \t]*\S+[^\n]*$", re.M), ""),
    (re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"), "]"),
    (re.compile(rf"</?(?:{_INLINE})(?:\s{_ATTRIBUTES})?>", re.I), ""),
    (re.compile(rf"</?[A-Za-z][\w-]*(?:\s{_ATTRIBUTES})?/?>"), "|"),
    (re.compile(r"https?://[^\s<>，。；：？！（）、」”)]+"), _OBJECT),
    (re.compile(r"\{:?[ ]?[#.][^{}\n]*\}"), ""),
    (re.compile(r":(?<!\w:)[a-z][a-z0-9_-]+:(?!\w)"), _OBJECT),
    (re.compile(r"^([ \t]*)(?:!!!|\?\?\?\+?|===[+!]?)[ \t][^\"\n]*\"([^\n]*)\"[ \t]*$", re.M), r"\1\2"),
    (re.compile(r"\[\^[^\]\n]+\]:?"), ""),
    (re.compile(r"\](?:\[[^\]\n]*\])?"), ""),
    (re.compile(r"!\["), ""),
    (re.compile(r"\["), ""),
    (re.compile(r"\*+(?:(?=\S)|(?<=\S\*))"), ""),
    (re.compile(r"_+(?:(?<=\S_)(?![A-Za-z0-9])|(?<![A-Za-z0-9]_)(?=\S))"), ""),
)
"""Markup, likewise. Where it can, a pattern starts with a fixed sign, which is found fast in a whole page."""


def _replace(pattern: re.Pattern[str], left: str, text: str) -> str:
    return pattern.sub(lambda found: found.expand(left) + "\n" * found[0].count("\n"), text)


def _excerpt(prose: str, start: int, end: int) -> str:
    """The place and a dozen signs around it on its line, with the no-break space made visible."""
    first, last = prose.rfind("\n", 0, start) + 1, prose.find("\n", end) % (len(prose) + 1)
    return prose[max(first, start - 12) : min(last, end + 12)].replace(formats.NO_BREAK_SPACE, "⍽").strip()


# The rules: each finds places, with its name


_Place = tuple[str, int, int]


def _any_of(words: list[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_UNITS = _any_of(list(formats.SYMBOLS))
_LONG_UNITS = _any_of([unit for unit in formats.SYMBOLS if len(unit) > 1])
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]"
_SPACES = r"[ \u00a0]+"
_BOTH = "은/는|이/가|을/를|과/와|으로/로"

_EVERYWHERE = {
    # A size such as 4B is part of a model's name, so a single letter may touch its number.
    "unit-space": rf"(?<![A-Za-z0-9_])[0-9][0-9.,]*(?: +(?:{_UNITS})|(?:{_LONG_UNITS}))(?![A-Za-z0-9_])",
    "close-space": rf"[0-9]{_SPACES}[%°]",
}

_PATTERNS = {
    "en": _EVERYWHERE,
    "ko": {
        **_EVERYWHERE,
        "ko-both-particles": rf"(?:은|이|을|과)\((?:는|가|를|와)\)|(?:는|가|를|와)\((?:은|이|을|과)\)"
        rf"|\([으이]\)(?=[가-힣])|(?<![가-힣])(?:{_BOTH})(?![가-힣])",
        # Not 이, which is also "this": GB/s 이 값.
        "ko-particle-space": rf"(?<=[A-Za-z0-9%°×)”’」]){_SPACES}(?:은|는|가|을|를|과|와|의|로|으로|에|에서|에는|부터"
        r"|까지|보다|처럼|이다|입니다|이며|이고|이라|이라고)(?=[\s,.)]|$)",
    },
    "zh": {
        **_EVERYWHERE,
        "zh-space": rf"{_HAN}(?=[A-Za-z0-9])|(?:[A-Za-z0-9]|(?<=[0-9])[%°×])(?={_HAN})",
        # A bar is the edge of a cell or block, and a sign before an opening bracket may be a list's.
        "zh-sign-space": rf"(?<=[^\s|]){_SPACES}(?=[，。；：？！、）」》”])"
        rf"|[，。；：？！、（「《“）」》”]{_SPACES}(?=[^\s|])"
        rf"|(?<=[^\s|>#*+.)-]){_SPACES}(?=[（「《“])",
        # Half-width brackets stay where they follow Latin text and a space follows them: H200 (SXM) 的.
        "zh-half-width": rf"(?<={_HAN})[ \u00a0]?[,;:?!()]|(?<={_HAN})\.(?=\s|{_HAN}|$)|[()](?={_HAN})"
        rf"|(?<=\S)[,;:?!][ \u00a0]?(?={_HAN})|(?<=[A-Za-z%])\.[ \u00a0]?(?={_HAN})",
        "zh-quotes": rf"(?<={_HAN})[\"']|[\"'](?={_HAN})",
    },
}
"""Rules that a pattern tells, by language."""

_COMPILED = {
    language: {rule: re.compile(pattern, re.M) for rule, pattern in patterns.items()}
    for language, patterns in _PATTERNS.items()
}

_FORMULA = re.compile(rf"\b(?:{'|'.join(FAMILIES)})\([^()\n]*\)|\([^()\n]* [-+−×÷*/=] [^()\n]*\)")
_NEUTRAL = str.maketrans("(),", _OBJECT * 3)

_ATTACHED = re.compile(r"(?<=[A-Za-z0-9%°×)”’])(?:은|는|이|가|을|를|과|와|으로|로)(?=[\s,.)|]|$)", re.M)
_PAIR_OF = {form: pair for pair in _BOTH.split("|") for form in pair.split("/")}

_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|「[^」\n]*」")
_SENTENCE_END = re.compile(r"([가-힣]+)(?:\([^()\n]*\))?[.?!](?=[\s)|\ufffc]|$)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]+[.)])\s")
_PHRASE = re.compile(
    r"\s*(?:#|\||!!!|\?\?\?|===|\[\^[^\]]+\]:|<(?:td|th|tr|li|dt|h[1-6]|caption|figcaption|summary)\b)"
)
_POSTPOSITIONS = ("마다", "보다")
_BIEUP = 17
"""Index of the final consonant ㅂ within a syllable's code point: -ㅂ니다 is formal, 아니다 is not."""


def _without_formulas(prose: str) -> str:
    """The prose with the brackets and commas of arithmetic taken away: they are half-width in every language."""
    plain = _FORMULA.sub(lambda found: found[0].translate(_NEUTRAL), prose)
    return plain if plain == prose else _without_formulas(plain)


def _by_pattern(prose: str, language: str) -> list[_Place]:
    rules = _COMPILED[language].items()
    return [(rule, found.start(), found.end()) for rule, pattern in rules for found in pattern.finditer(prose)]


def _lines(prose: str) -> Iterator[tuple[int, str]]:
    """Each line with the place at which it starts."""
    start = 0
    for line in prose.split("\n"):
        yield start, line
        start += len(line) + 1


def _double_spaces(prose: str, text: str) -> list[_Place]:
    """Double spaces that were written, and are neither what vanished markup left nor the padding of a table or list."""
    double = re.compile(r"(?<=\S) {2,}(?=\S)")
    places: list[_Place] = []
    for (start, line), written in zip(_lines(prose), text.split("\n"), strict=True):
        if "  " in line and not line.lstrip().startswith("|") and double.search(written):
            marker = _LIST_ITEM.match(line)
            found = double.finditer(line, marker.end() if marker else 0)
            places += [("double-space", start + each.start(), start + each.end()) for each in found]
    return places


def _wrong_particles(prose: str) -> list[_Place]:
    """Particles joined to a number, unit or name that do not fit its reading; an unknown reading is passed over."""
    places: list[_Place] = []
    for found in _ATTACHED.finditer(prose):
        before = prose[max(prose.rfind("\n", 0, found.start()) + 1, found.start() - 80) : found.start()]
        try:
            fitting = particles.particle(before, _PAIR_OF[found[0]])
        except ValueError:
            continue
        if fitting != found[0]:
            places.append(("ko-particle", found.start(), found.end()))
    return places


def _plain_endings(prose: str, text: str) -> list[_Place]:
    """Sentences outside quotation marks that do not end in 합니다체, by the kind of line that they stand in."""
    unquoted = _QUOTED.sub(lambda found: _OBJECT * len(found[0]), prose)
    places: list[_Place] = []
    for (start, line), phrase in zip(_lines(unquoted), _phrase_lines(text), strict=True):
        for found in _SENTENCE_END.finditer(line):
            wrong = _is_plain(found[1]) if phrase else not _is_formal(found[1])
            if wrong:
                places.append(("ko-ending", start + found.start(), start + found.end()))
    return places


def _phrase_lines(text: str) -> Iterator[bool]:
    """For each line, whether noun phrases may stand there: headings, tables, notes, list items to their last line."""
    listed = False
    for line in text.split("\n"):
        listed = bool(_LIST_ITEM.match(line)) or (listed and bool(line.strip()))
        yield listed or bool(_PHRASE.match(line))


def _is_formal(word: str) -> bool:
    if word.endswith("시오"):
        return True
    return word[-2:] in ("니다", "니까") and len(word) > 2 and (ord(word[-3]) - ord("가")) % 28 == _BIEUP


def _is_plain(word: str) -> bool:
    return word.endswith("다") and not word.endswith(_POSTPOSITIONS) and not _is_formal(word)
