"""llama.cpp measured by its own tool, to hold this project's figure against.

`llama-bench` decodes random tokens one by one after an empty prompt, as many as `decode_llama` does after a short one.
"""

from __future__ import annotations

import shutil
import subprocess

import msgspec

from measure import device, models
from measure.card import Watch
from measure.decoding import LONG
from measure.engines import llama
from measure.importers.llama_bench import Test
from measure.keys import Key, key
from measure.results import Config
from measure.session import OptionError, Session

SUMMARY = "decoding for one request in llama.cpp by its own tool, llama-bench"
NEEDS = llama.NEEDS
OPTIONS = (*llama.OPTIONS, "tool")
"""tool=PATH is a llama-bench that is not on the path; it has to be of the library's own version."""

NAME = "peer_llama"

SUBJECT = "qwen3-1.7b-bf16"
CPU_SUBJECT = "qwen3-0.6b-q8_0"

TOOL = "llama-bench"

REPEATS = 5

LIMIT_S = 300.0
"""How long the tool may take."""


def plan(session: Session) -> list[Key]:
    """Raises OptionError for a tool that is not there."""
    given = session.options.get("tool")
    if given is not None and shutil.which(given) is None:
        raise OptionError(f"tool={given}: no such program. Pass the path of {TOOL}.")
    return [key(NAME, "rate", subject(session), requests=1)]


def seconds(session: Session) -> float:
    return 30.0


def subject(session: Session) -> str:
    """Model and precision to measure: the planned one, or that of the file that was given."""
    return llama.given(session) or (CPU_SUBJECT if session.device == "cpu" else SUBJECT)


def measure(session: Session) -> None:
    """Record the rate (tok/s, one value a repeat)."""
    items = [item for item in plan(session) if session.wanted(item)]
    tool = session.options.get("tool") or shutil.which(TOOL)
    if tool is None:
        return device.fail(session, items, "engine_missing", f"{TOOL} is not on the path; pass --set tool=PATH")
    for item in items:
        with device.failing(session, item):
            _measure(session, item, tool)


def _measure(session: Session, item: Key, tool: str) -> None:
    watch, layers = Watch(session.device), 0 if session.device == "cpu" else llama.ALL_LAYERS
    with llama.file(session, models.subject(item.subject)) as path:
        words = ["-p", "0", "-n", str(LONG), "-r", str(REPEATS), "-ngl", str(layers), "-o", "json"]
        watch.begin()
        ended = subprocess.run([tool, "-m", str(path), *words], capture_output=True, timeout=LIMIT_S, check=False)
        watch.end()
    if ended.returncode:
        last = ended.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
        raise RuntimeError(f"{TOOL} ended with {ended.returncode}: {last}")
    (test,) = msgspec.json.decode(ended.stdout, type=list[Test])
    lengths = {"requests": 1, "prompt_tokens": 0, "output_tokens_long": LONG}
    told: Config = {**llama.config(session), **lengths, "gpu_layers": layers, "cards": 1, "tool": TOOL}
    session.record(item, "tok/s", test.samples_ts, {**told, **watch.config})
