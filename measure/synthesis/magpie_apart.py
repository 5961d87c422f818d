"""An utterance of Magpie taken apart: the parts of a step, what is done once, and the kernels of some steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from measure import kernels, timing
from measure.synthesis.magpie_speech import STEP, Made, Speaker, Way
from measure.synthesis.stopwatch import Parts, Stopwatch

STEP_PARTS = {
    "embedding": (STEP,),
    "decoder": ("forward",),
    "alignment": ("get_cross_attention_scores", "get_most_attended_text_timestep", "construct_inference_prior"),
    "local_transformer": ("sample_autoregressive",),
    "sampling": ("sample_codes_from_logits", "_check_eos_and_update_state"),
}
"""What a step is made of, by the package's methods: all codes so far made the decoder's input; the decoder and its
heads; which text it attends to; the codes one by one; the codes that the heads give, by which the end is found."""

FIXED_PARTS = {"text_encoder": ("prepare_context_tensors",), "codec": ("codes_to_audio",)}
"""What is done once an utterance."""

REST = "rest"
"""What the package's loop does around the parts."""

WINDOW = 8
"""Steps whose median is the time of a step at some length, and steps whose kernels are traced at a time."""


class Apart(NamedTuple):
    """One utterance with a stopwatch on its parts. Milliseconds by part; the parts and the rest make up the whole."""

    made: Made
    step_ms: dict[str, float]
    """Of one step, on average."""
    fixed_ms: dict[str, float]
    """Of what comes before the steps and after them."""


def taken_apart(speaker: Speaker, way: Way, rounds: Iterable[int]) -> Iterator[Apart]:
    """An utterance a round. The stopwatch waits for the device at both ends of a part, which takes time of its own."""
    watch = Stopwatch(speaker.where)
    with watch.on(_methods(speaker.model)):
        for _ in rounds:
            watch.reset()
            made = speaker.speak(way)
            step_ms = shares(watch.seconds, STEP_PARTS, made.loop_s, len(made.starts))
            yield Apart(made, step_ms, shares(watch.seconds, FIXED_PARTS, made.seconds - made.loop_s))


def _methods(model: Any) -> Parts:  # noqa: ANN401  # NeMo's class
    owners = {"sample_autoregressive": model._lt_helper, "codes_to_audio": model._codec_helper}
    named = {**STEP_PARTS, **FIXED_PARTS}
    return {part: tuple((owners.get(name, model), name) for name in names) for part, names in named.items()}


def shares(seconds: Mapping[str, float], parts: Iterable[str], whole_s: float, times: int = 1) -> dict[str, float]:
    """Milliseconds of each part, and of the rest that makes them the whole, in one of so many `times`.

    Raises ArithmeticError where the parts took longer than the whole.
    """
    taken = {part: seconds.get(part, 0.0) for part in parts}
    rest = whole_s - sum(taken.values())
    if rest < 0:
        raise ArithmeticError(f"the parts took {sum(taken.values()):.4f} s, the whole {whole_s:.4f} s")
    return {part: 1e3 * value / times for part, value in {**taken, REST: rest}.items()}


def trace(speaker: Speaker, way: Way, first: int) -> kernels.Trace:
    """The kernels of `WINDOW` steps of an utterance, from step `first` on."""
    running: list[Any] = []
    found: list[kernels.Trace] = []

    def mark(step: int) -> None:
        if step == first:
            timing.synchronize(speaker.where)
            running.append(kernels.start())
        elif step == first + WINDOW:
            found.append(kernels.stop(running.pop()))

    speaker.speak(way, mark)
    return found[0]
