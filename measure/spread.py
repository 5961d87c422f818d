"""Tensor parallelism: over how many cards a model is spread, as an option, in a key and in a configuration.

A key tells it where there are several and only there: `rate?requests=1&tensor_parallel=2` stands in a run beside
`rate?requests=1`, so that one run on one host holds both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from measure.keys import TENSOR_PARALLEL, parse_key
from measure.results import Config
from measure.session import OptionError, Session

NAME = TENSOR_PARALLEL
"""Of the option, of the parameter in a key, and of the entry in a configuration."""

NO_MULTICAST = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
    "VLLM_ALLREDUCE_USE_SYMM_MEM": "0",
}
"""What keeps NCCL, torch, NVSHMEM and vLLM from NVLink's multicast. A switch has few multicast groups, for all of its
cards: on a host whose cards are lent one by one, a program that takes one can put the cards of others out of order."""


def cards(session: Session) -> int:
    """Cards over which a model is spread. Raises OptionError for more than there are."""
    text, most = asked(session.options), max(session.machine.accelerators, 1)
    if not text.isdecimal() or text != str(int(text)) or not 1 <= int(text) <= most:
        offered = "one card" if most == 1 else f"{most} cards"
        raise OptionError(
            f"{NAME}={text}: is no number of cards that this machine offers, {offered}. Choose one that is."
        )
    return int(text)


def asked(options: Mapping[str, str]) -> str:
    """What the option says, one card if it is not given."""
    return options.get(NAME, "1")


def fits(text: str, options: Mapping[str, str]) -> bool:
    """Whether a sample of key `text` is one that is measured with these options, as far as cards go."""
    key = parse_key(text)
    return key.quantity == "plan" or dict(key.parameters).get(NAME, "1") == asked(options)


def without_multicast(number: int) -> Config:
    """Switch NVLink's multicast off for what this process starts on several cards; what a configuration says of it."""
    if number < 2:
        return {}
    os.environ.update(NO_MULTICAST)
    return {"nvlink_multicast": "off"}
