"""vLLM measured by its own tool, to hold this project's figure against.

`vllm bench latency` times whole generations of two output lengths; what the longer one takes more gives the rate, as in
`decode_vllm`. The tool draws each token at random where `decode_vllm` takes the likeliest, which costs a little more.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import msgspec

from measure import decoding, device, models, spread, weights
from measure.card import Watch
from measure.decoding import LONG, PROMPT_TOKENS, SHORT
from measure.engines import vllm
from measure.importers.vllm_latency import Latency
from measure.keys import Key, key, over_cards
from measure.session import Session

SUMMARY = "decoding for one request in vLLM by its own tool, vllm bench latency"
NEEDS = vllm.NEEDS
OPTIONS = vllm.OPTIONS
refusal = vllm.refusal

NAME = "peer_vllm"

SUBJECT = "qwen3-1.7b-bf16"

WARMUPS, REPEATS = 2, 5

LIMIT_S = 400.0
"""How long the tool may take for one length, its engine's start included."""


def plan(session: Session) -> list[Key]:
    return [key(NAME, "rate", subject(session), requests=1, **over_cards(spread.cards(session)))]


def seconds(session: Session) -> float:
    return 2 * (vllm.START_S + 10.0)


def subject(session: Session) -> str:
    """Model and precision to measure: the planned one, or that of the weights that were given."""
    source = session.options.get("weights")
    return str(weights.subject(source)) if source is not None else SUBJECT


def measure(session: Session) -> None:
    """Record the rate (tok/s, one value a longer generation)."""
    items = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, items, "unsupported", why)
    for item in items:
        with device.failing(session, item), vllm.checkpoint(session, models.subject(item.subject)) as settings:
            _measure(session, item, settings)


def _measure(session: Session, item: Key, settings: vllm.Settings) -> None:
    watch = Watch(session.device)
    watch.begin()
    shorts, longs = _latencies(settings, SHORT), _latencies(settings, LONG)
    watch.end()
    told = {
        **vllm.config(session),
        **decoding.rate_config(1, PROMPT_TOKENS, SHORT, LONG - SHORT, LONG),
        "prefix_cache": settings.prefix_cache,
        **settings.spread(),
        "warmups": WARMUPS,
        "sampling": "random",
        "tool": "vllm bench latency",
    }
    told.pop("produced_tokens")  # the tool does not tell
    session.record(item, "tok/s", decoding.rates(1, LONG - SHORT, shorts, longs), {**told, **watch.config})


def _latencies(settings: vllm.Settings, tokens: int) -> list[float]:
    """Seconds of generations of so many tokens, as the tool times them."""
    with tempfile.TemporaryDirectory() as folder, vllm.released(settings.cards):
        told = Path(folder) / "latency.json"
        lengths = [f"--input-len={PROMPT_TOKENS}", f"--output-len={tokens}", "--batch-size=1"]
        repeats = [f"--num-iters-warmup={WARMUPS}", f"--num-iters={REPEATS}", f"--output-json={told}"]
        words = ["--skip-tokenizer-init", "--disable-detokenize", *settings.words()]
        command = [*vllm.COMMAND, "bench", "latency", f"--model={settings.model}", *lengths, *repeats, *words]
        ended = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
        if ended.returncode:
            last = ended.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
            raise RuntimeError(f"vllm bench latency ended with {ended.returncode}: {last}")
        return msgspec.json.decode(told.read_bytes(), type=Latency).latencies
