"""What is told at import with `--set` because the file does not say it: demanded all at once, and never guessed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from measure.results import ResultsError

VARIED = "varied"
"""What a length is called where requests differ in it."""

_COUNT = r"[1-9][0-9]{0,8}"
_COUNT_SAID = "a whole number from 1 to 999999999"


class Setting(NamedTuple):
    """One thing that `--set` can tell: its name, a value as an example, the pattern it has to match, and in words."""

    name: str
    example: str
    pattern: str
    said: str


MODEL = Setting(
    "model", "qwen3-0.6b-bf16", r"[a-z0-9][a-z0-9._-]*-[a-z0-9][a-z0-9_]*", "a model and its precision in small letters"
)
MACHINE = Setting("machine", "NVIDIA H200", r"[^\x00-\x1f\x7f]{1,100}", "the card's or processor's name in one line")
DEVICE = Setting("device", "cuda", r"cpu|cuda|mps", "cpu, cuda or mps")
ENGINE = Setting("engine", "vllm", r"[a-z0-9_]{1,40}", "the served engine's name in small letters")
ENGINE_VERSION = Setting("engine_version", "0.25.1", r"[A-Za-z0-9.+_-]{1,60}", "a version without spaces")
REQUESTS = Setting("requests", "8", _COUNT, f"requests at once, {_COUNT_SAID}")
PROMPT_TOKENS = Setting("prompt_tokens", "32", _COUNT, f"tokens of each prompt, {_COUNT_SAID}")
OUTPUT_TOKENS = Setting("output_tokens", "128", _COUNT, f"tokens asked for in each request, {_COUNT_SAID}")


def or_varied(setting: Setting) -> Setting:
    """The same, where a benchmark may have used requests that differ in it."""
    return setting._replace(pattern=f"{setting.pattern}|{VARIED}", said=f"{setting.said}, or {VARIED}")


@dataclass(frozen=True)
class Given:
    """The values that were told, each known and of the right form."""

    values: Mapping[str, str]

    def __contains__(self, setting: Setting) -> bool:
        return setting.name in self.values

    def text(self, setting: Setting) -> str:
        return self.values[setting.name]

    def number(self, setting: Setting) -> int:
        return int(self.text(setting))

    def count(self, setting: Setting) -> int | None:
        """A number; None where it was told to vary."""
        return None if self.text(setting) == VARIED else self.number(setting)


def check(told: Mapping[str, str], needed: Sequence[Setting], optional: Sequence[Setting], where: str) -> Given:
    """Raises ResultsError for names that are unknown, all values that are missing, or one that is malformed."""
    known = [*needed, *optional]
    unknown = [name for name in told if name not in {setting.name for setting in known}]
    if unknown:
        choices = ", ".join(setting.name for setting in known)
        raise ResultsError(f"{where}: --set {unknown[0]}: not to be told of this file. Choose from {choices}.")
    missing = [setting for setting in needed if setting.name not in told]
    if missing:
        names = ", ".join(setting.name for setting in missing)
        raise ResultsError(f"{where}: does not say: {names}. Tell it, for example: {example(missing)}")
    for setting in known:
        if setting.name in told and not re.fullmatch(setting.pattern, told[setting.name]):
            cure = f"Tell {setting.said}, for example: {example([setting])}"
            raise ResultsError(f"{where}: --set {setting.name}={told[setting.name][:100]!r}: malformed. {cure}")
    return Given(told)


def example(settings: Iterable[Setting]) -> str:
    """Words for the command line that tell something for each setting."""
    return " ".join(f"--set {shlex.quote(f'{setting.name}={setting.example}')}" for setting in settings)


def engine_version(engine: str, given: Given) -> dict[str, str]:
    """The engine with its version, if that was told."""
    return {engine: given.text(ENGINE_VERSION)} if ENGINE_VERSION in given else {}
