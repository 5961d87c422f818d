"""Streaming recognition with Nemotron 3.5 ASR: a step with a cache, a step that encodes a window again, and errors.

NeMo's own classes and its own cache-aware streaming, at the published size. Random weights measure speed, memory and
arithmetic; what is recognised needs the real ones. `docs/decisions/streaming-recognition.md` says what a step is.
"""

from __future__ import annotations

from typing import NamedTuple

from measure import device
from measure.keys import Key, key
from measure.recognition import nemotron, recordings
from measure.recognition.bench import Bench
from measure.recognition.conformer import NEMOTRON
from measure.results import Machine
from measure.session import Session

SUMMARY = "streaming recognition with Nemotron in NeMo: steps, streams that keep up, cache against window, errors"
NEEDS = ("nemo", "torch", "transformers")
OPTIONS = ("weights", "audio", "recordings", "language")
"""weights=FILE.nemo or weights=hub:OWNER/NAME measures the real model; audio=LABEL:PLACE,... scores what it recognises
there (a folder of NAME.wav and NAME.txt, a local FLEURS, or hub:google/fleurs), recordings=N no more than so many of
each; language=ko-KR is what it is told that it hears."""

NAME = "asr_nemotron"

MODEL = "nemotron-0.6b"

LANGUAGE = "ko-KR"

MEMORY_FACTOR = 2.5
"""Memory that is needed at least, as a multiple of the weights in fp32, in which NeMo builds them."""


class Scope(NamedTuple):
    """How much is measured: set by the device and by whether it has to be quick."""

    rights: tuple[int, ...]
    """Look-aheads, in frames."""
    repeats: int
    windows: tuple[float, ...]
    """Seconds of the windows that are encoded again besides left context and chunk."""
    most_streams: int
    """Up to how many streams are tried; none if 0."""
    watch_s: float
    """How long a number of streams is watched, about; longer where so few steps support nothing."""
    search_s: float
    """After which a search for the largest number ends, or goes down to one that keeps up."""
    step_s: float
    """What the repeats of one step may take."""
    on_card: bool = False
    """Whether kernels are traced, CUDA graphs recorded and memory peaks read."""
    every: bool = True
    """Whether everything is measured, and not only steps and their parts."""
    seconds: float = 0.0
    """Estimate for all keys but those of errors."""


FULL = Scope(nemotron.LOOK_AHEADS, 100, (5.6, 8.0), 1 << 14, 10.4, 16.0, 10.0, on_card=True, seconds=670.0)
"""On an H200 25 s to build, 125 s until graphs are timed, 130 s for the plain searches, 75 s for comparisons, 170 s for
the other searches, 65 s for kernels; and an estimated 35 s for the searches with longer windows."""
QUICK = Scope((0, 3, 13), 30, (), 0, 0.0, 0.0, 4.0, on_card=True, every=False, seconds=90.0)
CPU = Scope((3,), 5, (8.0,), 4, 10.0, 20.0, 20.0, seconds=240.0)
QUICK_CPU = Scope((3,), 3, (), 0, 0.0, 0.0, 8.0, every=False, seconds=100.0)

PARTS = ("encoder", "rnnt", "prompt", "features")

MIDDLE = 3
"""Look-ahead with which longer windows are counted in streams, too."""

EMISSIONS = ("none", "every")
"""Beside the usual one: no token at all, and one on each frame."""

RATES: tuple[tuple[str, dict[str, str]], ...] = (
    ("cer", {}),
    ("cer", {"spaces": "without"}),
    ("wer", {}),
    ("cer", {"input": "whole"}),
)
"""Error rates of some recordings: quantity and what its key tells besides recordings and look-ahead."""

RECOGNISE_S = 60.0
"""Estimate for a hundred recordings with one look-ahead."""


def scope(session: Session) -> Scope:
    if session.device == "cpu":
        return QUICK_CPU if session.quick else CPU
    return QUICK if session.quick else FULL


def subject(session: Session) -> str:
    """On a processor fp32, which every one multiplies in hardware."""
    return f"{MODEL}-{'fp32' if session.device == 'cpu' else 'bf16'}"


def plan(session: Session) -> list[Key]:
    """Raises RecordingsError for recordings that are not there."""
    recordings.check(session.options.get("audio", ""), session.options.get("recordings", ""))
    return [*speed_keys(subject(session), scope(session)), *error_keys(session)]


def seconds(session: Session) -> float:
    labels = recordings.sources(session.options.get("audio", ""))
    share = int(session.options.get("recordings", "100")) / 100
    return scope(session).seconds + len(labels) * len(nemotron.LOOK_AHEADS) * RECOGNISE_S * share


def speed_keys(text: str, part: Scope) -> list[Key]:
    """All keys of subject `text` but its errors, those first that take little and tell much should the time run out.

    What a run did not reach a second one measures, in a process of its own. So kernels come last of all, since a
    profiler that was once started slows down what the same process launches afterwards.
    """
    headline = ("step_time", "buffered_step_time")
    listed = [key(NAME, quantity, text, right=right) for quantity in headline for right in part.rights]
    listed += [key(NAME, "step_time", text, program="package", right=right) for right in part.rights]
    listed += [key(NAME, quantity, text) for quantity in ("loaded_weights", "parameters", "cache_memory")]
    listed += [key(NAME, "chunk_length", text, right=right) for right in part.rights]
    listed += [key(NAME, "step_part_time", text, part=name, right=right) for right in part.rights for name in PARTS]
    listed += _graphs(text, part) if part.on_card else []
    if part.every:
        plain, *others = _capacities(text, part)
        listed += plain + _comparisons(text, part) + (_memory(text, part) if part.on_card else [])
        listed += [item for each in others for item in each]
    return listed + (_kernels(text, part) if part.on_card else [])


def _comparisons(text: str, part: Scope) -> list[Key]:
    """Arithmetic, streamed against whole, longer windows, other rates of emission, and a cache of keys and values."""
    rights, windows = part.rights, [f"{each:g}" for each in part.windows]
    listed = [
        key(NAME, quantity, text, right=right) for quantity in ("step_flops", "buffered_step_flops") for right in rights
    ]
    listed += [key(NAME, "stream_difference", text, dtype="fp32", right=right) for right in rights]
    listed += [key(NAME, "stream_difference", text, chunks="exact", dtype="fp32", right=0)] if 0 in rights else []
    for quantity in ("buffered_step_time", "buffered_step_flops"):
        listed += [key(NAME, quantity, text, right=right, window=window) for window in windows for right in rights]
    listed += [
        key(NAME, "step_part_time", text, emission=name, part="rnnt", right=right)
        for right in rights
        for name in EMISSIONS
    ]
    listed += [key(NAME, "step_flops", text, cache="keys_values", right=right) for right in rights]
    return listed + [
        key(NAME, "step_part_time", text, cache="keys_values", part="encoder", right=right) for right in rights
    ]


def _capacities(text: str, part: Scope) -> list[list[Key]]:
    """Streams that keep up: the package's own step, windows in place of the cache, and the decoder in batches.

    Windows are left context and chunk, which with the longest chunk is 5.6 s; longer ones with the middle chunk alone.
    """
    rights = part.rights if part.most_streams else ()
    longer = [(right, window) for right in rights if right == MIDDLE for window in part.windows]
    return [
        [key(NAME, "streams", text, right=right) for right in rights],
        [
            *(key(NAME, "buffered_streams", text, right=right) for right in rights),
            *(key(NAME, "buffered_streams", text, right=right, window=f"{window:g}") for right, window in longer),
        ],
        [key(NAME, "streams", text, decoder="batched", right=right) for right in rights],
    ]


def _graphs(text: str, part: Scope) -> list[Key]:
    """The encoder's step as a recorded CUDA graph: the whole step, and the encoder's part."""
    listed = [key(NAME, "step_time", text, encoder="graph", right=right) for right in part.rights]
    return listed + [
        key(NAME, "step_part_time", text, encoder="graph", part="encoder", right=right) for right in part.rights
    ]


def _memory(text: str, part: Scope) -> list[Key]:
    """What else only a card can tell of its precision and its memory."""
    listed = [key(NAME, "stream_difference", text, dtype="bf16", right=right) for right in part.rights]
    return listed + [key(NAME, "stream_memory", text, right=right) for right in part.rights]


def _kernels(text: str, part: Scope) -> list[Key]:
    traced = ("step_kernel_time", "buffered_step_kernel_time")
    return [key(NAME, quantity, text, right=right) for quantity in traced for right in part.rights]


def error_keys(session: Session) -> list[Key]:
    """Error rates of the recordings that were named, for every look-ahead the model was trained for."""
    return [
        key(NAME, quantity, subject(session), audio=label, right=right, **told)
        for label in recordings.sources(session.options.get("audio", ""))
        for quantity, told in RATES
        for right in nemotron.LOOK_AHEADS
    ]


def refusal(machine: Machine) -> str:
    """Why such a machine cannot be measured; empty if it can."""
    return "measured on NVIDIA cards and processors alone" if machine.device == "mps" else ""


def measure(session: Session) -> None:
    """Record each key that the run lacks, in the order of the plan."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if why := refusal(session.machine):
        return device.fail(session, wanted, "unsupported", why)
    settled = device.settle(session.machine)
    with device.failing(session, *wanted):
        _check_memory(session)
        recogniser = _build(session)
        Bench(session, recogniser, dict(settled), scope(session)).measure(wanted)
    return None


def _check_memory(session: Session) -> None:
    needed, free = MEMORY_FACTOR * 4 * NEMOTRON.parameters, device.free_bytes(session.machine)
    if needed > free:
        raise device.NotEnoughMemoryError(f"{MODEL} needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} are free")


def _build(session: Session) -> nemotron.Recogniser:
    source, precision = session.options.get("weights"), subject(session).rpartition("-")[2]
    if source is None:
        made = nemotron.random(NEMOTRON, precision, session.device)
    else:
        made = nemotron.real(NEMOTRON, precision, session.device, source)
    made.speak(session.options.get("language", LANGUAGE))
    return made
