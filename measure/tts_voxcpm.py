"""Speech synthesis with VoxCPM2: the time of an utterance by its length, of a patch by its parts, of the first sound.

As the package runs it, its parts compiled (`optimize()`), and a few points without that, with a smaller cache, and in a
faster engine. Lengths are forced, so that random weights measure as real ones do; with real ones, sentences in three
languages are spoken besides, as long as the model makes them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import device, weights
from measure.card import Card
from measure.keys import Key, key
from measure.results import Config
from measure.session import OptionError, Session
from measure.synthesis import nano_voxcpm, voxcpm2_weights
from measure.synthesis.nano_voxcpm import NanoVoxCPM
from measure.synthesis.sentences import sentences
from measure.synthesis.speaking import STEPS, Bench, Lengths, Texts
from measure.synthesis.voxcpm2 import VOICE_STAGE, VoxCPM2
from measure.synthesis.voxcpm2_bench import FIXED_PARTS, PATCH_PARTS, VoxCPMBench

SUMMARY = (
    "speech synthesis with VoxCPM2: utterances of 1 to 16 s, diffusion steps, parts of a patch, streaming, kernels"
)
NEEDS = ("voxcpm", "torch", "transformers")
OPTIONS = ("weights", "audio")
"""weights=FOLDER or weights=hub:ID measures a real checkpoint; audio=FOLDER then keeps what it says as WAV files."""

NAME, SUBJECT = "tts_voxcpm", f"voxcpm2-{voxcpm2_weights.PRECISION}"

DEVICES = ("cuda",)
"""Where it is measured."""

REFUSALS = {
    "cpu": ("too_slow", "each 160 ms of sound would take it some 90 GFLOP and 8 GB of weights"),
    "mps": ("unsupported", "the package compiles nothing there, and computes in another precision"),
}
"""Why not elsewhere. For a patch both language models run once, and the diffusion network 9 times on a batch of two."""

LANGUAGES = ("ko", "en", "zh")
"""In which real weights say sentences."""

TIME_STEPS = (10, 8, 6, 4, 2)
"""Diffusion time steps. The network is called in all of them but the first: 9, 7, 5, 3 calls and 1."""

EAGER_STEPS = (10, 2)

PATCHES = (6, 12, 19, 25, 31, 38, 44, 50, 62, 75, 88, 100)
"""Lengths of whole utterances, from 1 to 16 s: a patch is 160 ms of sound."""

FULL = Lengths(PATCHES, short=8, long=48, repeats=5)
QUICK = Lengths((6, 25, 50), short=8, long=32, repeats=3)
EAGER = Lengths((), short=2, long=10, repeats=3, traced=8, traces=3)
"""Without compiled graphs a patch takes several times as long, in thousands of kernels."""

NANO = Lengths((25, 100), short=8, long=48, repeats=5)

SMALL_CACHE = 1024
"""Places of the smaller cache, more than any utterance here needs. The package's has 8,192, and attends to all."""

SECONDS, QUICK_SECONDS = 360.0, 140.0
"""Estimates, some 80 s of the compiler's among them; it compiles twice where the smaller cache is measured."""


def plan(session: Session) -> list[Key]:
    """Raises OptionError for recordings that are asked of random weights."""
    if "audio" in session.options and "weights" not in session.options:
        raise OptionError("audio= keeps what the model says, and random weights say nothing. Pass weights= as well.")
    if session.quick or session.device not in DEVICES:
        return first_keys(QUICK)
    spoken = sentence_keys() if "weights" in session.options else []
    own = [*first_keys(FULL), *spoken, *part_keys(), *further_keys(), *eager_keys(), *small_cache_keys()]
    return [*own, *kernel_keys(), *nano_keys()]


def seconds(session: Session) -> float:
    return QUICK_SECONDS if session.quick else SECONDS


def first_keys(lengths: Lengths) -> list[Key]:
    """What matters most should the time run out."""
    line = [_key("utterance_time", patches=patches) for patches in lengths.patches]
    return [_key("parameters"), _key("patch_time", steps=STEPS), _key("first_audio"), *line]


def sentence_keys() -> list[Key]:
    """Sentences that real weights say, of no forced length."""
    counted = [(language, place) for language in LANGUAGES for place in range(1, len(sentences()[language]) + 1)]
    return [_key("utterance_time", language=language, sentence=place) for language, place in counted]


def part_keys() -> list[Key]:
    """What a patch and the fixed time of an utterance are made of."""
    patch = [_key("patch_part_time", part=part) for part in PATCH_PARTS]
    return [*patch, *(_key("fixed_part_time", part=part) for part in (*FIXED_PARTS, VOICE_STAGE))]


def further_keys() -> list[Key]:
    """Fewer diffusion steps, memory and streaming."""
    fewer = [_key("patch_time", steps=steps) for steps in TIME_STEPS if steps != STEPS]
    held = [_key("memory"), _key("memory", of="weights"), _key("memory", of="peak")]
    streamed = [_key("patch_part_time", mode="streaming", part=part) for part in PATCH_PARTS]
    return [*fewer, *held, _key("chunk_gap"), _key("underrun"), *streamed]


def eager_keys() -> list[Key]:
    """Without compiled graphs."""
    return [_key("patch_time", compile="off", steps=steps) for steps in EAGER_STEPS]


def small_cache_keys() -> list[Key]:
    return [_key("patch_time", max_length=SMALL_CACHE, steps=STEPS)]


def kernel_keys() -> list[Key]:
    """Compiled and not. Last, since the profiler slows what its process does later."""
    return [_key("patch_kernel_time"), _key("patch_kernel_time", compile="off")]


def nano_keys() -> list[Key]:
    """In nano-vllm-voxcpm."""
    line = [_key("utterance_time", engine="nano", patches=patches) for patches in NANO.patches]
    return [_key("patch_time", engine="nano", steps=STEPS), _key("first_audio", engine="nano"), *line]


def _key(quantity: str, **parameters: object) -> Key:
    return key(NAME, quantity, SUBJECT, **parameters)


def measure(session: Session) -> None:
    """Record times (s for utterances, ms for patches and parts), memory (MiB) and parameters, engine by engine."""
    wanted = [item for item in plan(session) if session.wanted(item)]
    if session.device not in DEVICES:
        return device.fail(session, wanted, *REFUSALS[session.device])
    nano = [item for item in wanted if item in nano_keys()]
    own = [item for item in wanted if item not in nano]
    if own:
        with device.failing(session, *own):
            _measure_package(session, own)
        device.release(session.device)
    if nano:
        with device.failing(session, *nano):
            _measure_nano(session, nano)


def _measure_package(session: Session, items: list[Key]) -> None:
    """The package as it is, without compiled graphs, and with a smaller cache."""
    bench = _bench(session, {**device.settle(session.machine)})
    compiled, eager = kernel_keys()
    apart = [*eager_keys(), *small_cache_keys(), compiled, eager]
    _warmed(bench, [item for item in items if item not in apart])
    _eager(bench, [item for item in items if item in eager_keys()])
    if any(item in small_cache_keys() for item in items):
        places = bench.package.max_length
        bench.package.resize(SMALL_CACHE)
        _warmed(bench, small_cache_keys())
        bench.package.resize(places)
    _warmed(bench, [item for item in items if item == compiled])
    _eager(bench, [item for item in items if item == eager])


def _eager(bench: VoxCPMBench, items: list[Key]) -> None:
    with bench.package.eager():
        _warmed(bench.of(EAGER), items)


def _bench(session: Session, settled: Config) -> VoxCPMBench:
    """The package with its weights, loaded."""
    free, start, source = Card().free_bytes(), time.perf_counter(), session.options.get("weights")
    compiled, pieces = session.device == "cuda", voxcpm2_weights.WORDS
    if source is None:
        pipeline = voxcpm2_weights.random(session.device, compiled=compiled)
    else:
        pipeline, pieces = voxcpm2_weights.real(session.device, source, compiled=compiled), sentences()["en"]
    engine = VoxCPM2(pipeline, session.device)
    print(f"{SUBJECT}: built in {time.perf_counter() - start:.1f} s", flush=True)
    lengths = QUICK if session.quick else FULL
    return VoxCPMBench(session, engine, _config(session, settled), Texts(pieces, engine.tokens), lengths, free)


def _config(session: Session, settled: Config) -> Config:
    return {**settled, "weights": "real" if "weights" in session.options else "random", "seed": 0}


def _warmed(bench: VoxCPMBench, items: list[Key]) -> None:
    """Measure these keys once everything is compiled that they need."""
    if not items:
        return
    start = time.perf_counter()
    with device.failing(bench.session, *items):
        bench.warm()
        print(f"{SUBJECT}: warm after {time.perf_counter() - start:.1f} s", flush=True)
        bench.measure(items)


def _measure_nano(session: Session, items: list[Key]) -> None:
    nano_voxcpm.check()
    pieces = sentences()["en"] if "weights" in session.options else voxcpm2_weights.WORDS
    with _checkpoint(session) as model:
        engine = NanoVoxCPM(model, STEPS)
        try:
            # Its tokenizer is in another process: words are counted, of which random weights have one token each.
            texts = Texts(pieces, lambda text: len(text.split()))
            Bench(session, engine, _config(session, {"device": session.device}), texts, NANO).measure(items)
        finally:
            engine.close()


@contextmanager
def _checkpoint(session: Session) -> Iterator[str]:
    """The checkpoint that was given, or a random one that is gone afterwards."""
    source = session.options.get("weights")
    if source is not None:
        yield weights.place(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        voxcpm2_weights.write(Path(folder), session.device)
        device.release(session.device)
        yield folder
