"""`vllm bench throughput --output-json`: tokens over the time that a whole set of requests takes.

`tokens_per_second` counts prompt and output tokens alike, over a time that holds prefill, decoding, and the engine's
filling and running empty. No decoding rate follows from it, so it is kept as `token_rate`, and its key tells the
lengths and the number of prompts. The file names neither model, lengths nor device: all are demanded, and lengths that
do not make the file's total are refused.
Source: vllm-project/vllm, vllm/benchmarks/throughput.py, `main`, at commit 1a91bc2dc0dd.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from measure.importers import settings
from measure.importers.reading import Entry, Positive, Reading, Whole, agree, alone, typed
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.keys import key

TOOL = "vllm bench throughput"
NAMES = frozenset({"elapsed_time", "num_requests", "total_num_tokens", "requests_per_second", "tokens_per_second"})

PROMPT_TOKENS, OUTPUT_TOKENS = settings.or_varied(settings.PROMPT_TOKENS), settings.or_varied(settings.OUTPUT_TOKENS)


class Throughput(msgspec.Struct, frozen=True):
    """The file's content: seconds, counts, and rates per second."""

    elapsed_time: Positive
    num_requests: Whole
    total_num_tokens: Whole
    requests_per_second: Positive
    tokens_per_second: Positive

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        needed = (settings.MODEL, settings.MACHINE, settings.DEVICE, PROMPT_TOKENS, OUTPUT_TOKENS)
        return needed, (settings.ENGINE_VERSION,)

    def read(self, given: Given, where: str) -> Reading:
        agree("requests_per_second", self.requests_per_second, self.num_requests / self.elapsed_time, where)
        agree("tokens_per_second", self.tokens_per_second, self.total_num_tokens / self.elapsed_time, where)
        prompt, output = given.count(PROMPT_TOKENS), given.count(OUTPUT_TOKENS)
        if prompt is not None and output is not None:
            agree("total_num_tokens", self.total_num_tokens, self.num_requests * (prompt + output), where)
        lengths = {"prompt": prompt, "output": output}
        told = {name: length for name, length in lengths.items() if length is not None}
        of = key("decode_vllm", "token_rate", given.text(settings.MODEL), prompts=self.num_requests, **told)
        config = {"total_tokens": self.total_num_tokens, "elapsed_s": self.elapsed_time}
        return Reading(
            [Entry(of, "tok/s", [self.tokens_per_second], config=config)],
            given.text(settings.MACHINE),
            given.text(settings.DEVICE),
            versions=settings.engine_version("vllm", given),
        )


def decode(documents: Sequence[Document], where: str) -> Throughput:
    return typed(alone(documents, TOOL, where), Throughput, TOOL, where)
