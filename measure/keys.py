"""Keys: the names of samples, what they have to tell, and what they tell of the cards."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

TENSOR_PARALLEL = "tensor_parallel"
"""The parameter of a key that tells over how many cards a model was spread; it is absent for one."""

PARAMETERS_OF = {
    "rate": ("requests",),
    "first_token": ("requests",),
    "token_time": ("requests",),
    "token_time_with_first": ("requests",),
    "batch_time": ("requests",),
    "prefill_rate": ("tokens", "input"),
    "prefill_time": ("tokens", "input"),
}
"""What the key of a quantity has to tell: one of these."""

EXAMPLES = (
    "bandwidth/sum",
    "bandwidth/copy",
    "bandwidth/triad",
    "matmul/throughput?dtype=bf16&n=4096",
    "link/copy?to=1&ways=2",
    "link/all_reduce_time?bytes=8192&graphs=on",
    "link/all_reduce_bandwidth?bytes=268435456",
)
"""Keys of a machine's limits, one of each quantity: the others tell the same of themselves, and no more."""

BESIDES = {"bandwidth": {"card"}, "matmul": {"card"}, "link": {"cards"}}
"""Parameters that the keys of these measurements may tell besides those of their example."""

LEAST = {
    "n": 1,
    "requests": 1,
    "tokens": 1,
    "prompt": 1,
    "output": 1,
    "prompts": 1,
    "depth": 0,
    "steps": 0,
    "patches": 1,
    "max_length": 1,
    "sentence": 1,
    "stack": 0,
    "frames": 1,
    "right": 0,
    TENSOR_PARALLEL: 2,
    "card": 1,
    "cards": 2,
    "to": 1,
    "ways": 1,
    "bytes": 1,
}
"""Parameters of a key that are whole numbers, and the least each can be."""

MOST_CARDS = 1024
"""No host has more: whoever reads a key may count them one by one."""

MOST = dict.fromkeys((TENSOR_PARALLEL, "card", "cards", "to"), MOST_CARDS)
"""Parameters of a key that are whole numbers, and the most each can be, where that is less than nine digits hold."""

CHOICES = {"graphs": ("off", "on"), "ways": ("1", "2")}
"""Parameters of a key that can be one of a few."""

_KEY = re.compile(r"[a-z0-9_]+(/[a-z0-9._-]+)?/[a-z0-9_]+(\?[a-z0-9_]+=[A-Za-z0-9._-]+(&[a-z0-9_]+=[A-Za-z0-9._-]+)*)?")

_WHOLE = re.compile(r"0|[1-9][0-9]{0,8}")


class Key(NamedTuple):
    """A sample's name: measurement/subject/quantity?name=value&name=value."""

    measurement: str
    subject: str
    quantity: str
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        path = "/".join(part for part in self[:3] if part)
        query = "&".join(f"{name}={value}" for name, value in sorted(self.parameters))
        return f"{path}?{query}" if query else path


def key(measurement: str, quantity: str, subject: str = "", **parameters: object) -> Key:
    """Build a key; parameters become text."""
    return Key(measurement, subject, quantity, tuple(sorted((n, str(v)) for n, v in parameters.items())))


@functools.lru_cache(maxsize=1 << 14)
def parse_key(text: str) -> Key:
    """Read a key. Raises ValueError if it is not one, or not in its normal form (names sorted, each once)."""
    if not _KEY.fullmatch(text):
        raise ValueError("a key reads measurement/model-precision/quantity?name=value&name=value")
    path, _, query = text.partition("?")
    first, *subject, quantity = path.split("/")
    pairs = [tuple(part.split("=", 1)) for part in query.split("&")] if query else []
    names = [pair[0] for pair in pairs]
    if names != sorted(set(names)):
        raise ValueError("the names after '?' are in alphabetical order, each once")
    return Key(first, subject[0] if subject else "", quantity, tuple(pairs))  # type: ignore[arg-type]


def of_card(number: int) -> dict[str, int]:
    """What a key tells of the card that was measured: nothing of the first."""
    return {"card": number} if number else {}


def over_cards(number: int) -> dict[str, int]:
    """What a key tells of the cards that a model was spread over: nothing of one."""
    return {TENSOR_PARALLEL: number} if number > 1 else {}


def cards_of(key: Key) -> int:
    """Over how many cards the model of a key was spread."""
    return int(dict(key.parameters).get(TENSOR_PARALLEL, 1))


def card_of(key: Key) -> int:
    """The number of the card that a key tells of: the one that was measured, or that was copied to."""
    told = dict(key.parameters)
    return int(told.get("card", told.get("to", 0)))


_EXAMPLES = {(key.measurement, key.quantity): key for key in map(parse_key, EXAMPLES)}


def check(of: Key) -> None:
    """Raises ValueError for a key that tells too little, too much or what cannot be, with the cure."""
    given = dict(of.parameters)
    example = _EXAMPLES.get((of.measurement, of.quantity))
    own = given.keys() - BESIDES.get(of.measurement, set())
    if example and (of.subject or own != dict(example.parameters).keys()):
        told = " and ".join(name for name, _ in example.parameters) or "nothing of its own"
        raise ValueError(f"the key has to tell {told}, and no more. Rename it like {example}.")
    asked = PARAMETERS_OF.get(of.quantity, ())
    if asked and not given.keys() & set(asked):
        raise ValueError(f"the key has to tell {' or '.join(asked)}. Rename it like {of.quantity}?{asked[0]}=4.")
    for name, value in given.items():
        _check_parameter(name, value)


def _check_parameter(name: str, value: str) -> None:
    most = MOST.get(name, 999_999_999)
    if name in LEAST and not (_WHOLE.fullmatch(value) and LEAST[name] <= int(value) <= most):
        told = f"{name} in the key is not a whole number from {LEAST[name]} to {most}, in plain digits"
        raise ValueError(f"{told}. Rename it.")
    if value not in CHOICES.get(name, (value,)):
        raise ValueError(f"{name} in the key is none of {', '.join(CHOICES[name])}. Rename it.")
