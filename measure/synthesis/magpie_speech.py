"""Utterances of Magpie through NeMo's own loop, of a length that is forced, and when each of their steps began.

The loop is `generate_speech` and then the codec, which is what `do_tts` runs for a text of one sentence or two. Random
weights would never end an utterance, and real ones end each elsewhere: so all lengths but those of `spoken` are forced.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from measure import timing
from measure.synthesis import magpie_model
from measure.synthesis.stopwatch import marked, replaced

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

TOKENS_PER_SECOND = 14
"""Text tokens of one second of sound: about what phonemes and spaces English speech has."""

FEWEST_TOKENS = 8

STEP = "embed_audio_tokens"
"""The method that the loop calls once a step, before anything else."""


class Way(NamedTuple):
    """How utterances are made, and how many at once."""

    stack: int
    """Frames a step."""
    frames: int
    """Codec frames of each utterance."""
    local_transformer: bool = True
    """Whether it works through the codes of a step one by one; else the decoder's heads give all at once."""
    cache: bool = False
    """Whether the decoder keeps keys and values. `do_tts` has it off."""
    requests: int = 1
    """Utterances at once."""


class Made(NamedTuple):
    """One call: an utterance, or several at once. Seconds."""

    seconds: float
    """From the text's tokens to the sound's samples."""
    starts: tuple[float, ...]
    """When each step began, after the call did; the host's clock, and the package waits for the device each step."""
    loop_end: float
    """When the last step was done."""
    frames: int
    """Of each utterance."""
    sound_s: float
    """Length of each utterance."""

    @property
    def factor(self) -> float:
        """Real-time factor: time of the whole over the length of one utterance."""
        return self.seconds / self.sound_s

    @property
    def loop_s(self) -> float:
        """All steps; what comes before the first and the codec left out."""
        return self.loop_end - self.starts[0]

    @property
    def step_ms(self) -> float:
        """One step, on average."""
        return 1e3 * self.loop_s / len(self.starts)

    def steps_ms(self) -> list[float]:
        """Each step."""
        ends = (*self.starts[1:], self.loop_end)
        return [1e3 * (end - start) for start, end in zip(self.starts, ends, strict=True)]


class Spoken(NamedTuple):
    """A text spoken to the end that the model itself gave it."""

    seconds: float
    sound_s: float
    tokenizer: str
    text_tokens: int
    samples: NDArray[float32]
    """[samples], between -1 and 1."""


class Speaker:
    """A loaded model on a device. `text` makes the tokens of a text: how many are asked for, the end included."""

    def __init__(self, model: Any, where: str, text: Callable[[int], list[int]]) -> None:  # noqa: ANN401
        self.model, self.where = model, where
        self._text = text

    @property
    def frame_rate(self) -> float:
        """Codec frames a second of sound: samples a second over samples a frame."""
        return float(self.model.output_sample_rate) / float(self.model.codec_model_samples_per_frame)

    def text_tokens(self, frames: int) -> int:
        """Tokens of a text about as long as so many frames."""
        return max(round(TOKENS_PER_SECOND * frames / self.frame_rate), FEWEST_TOKENS)

    def speak(self, way: Way, mark: Callable[[int], object] = lambda _: None) -> Made:
        """Make utterances of exactly `way.frames` frames; `mark` is told the number of each step as it begins.

        Raises ArithmeticError where something else came out than was asked for.
        """
        starts: list[float] = []
        batch = self._batch(way)

        def begin(step: int) -> None:
            mark(step)
            starts.append(time.perf_counter())

        with magpie_model.frames_forced(self.model, way.frames), marked(self.model, STEP, begin):
            start = self._now()
            codes = self._generate(way, batch)
            loop_end = self._now()
            _, samples, _ = self.model._codec_helper.codes_to_audio(codes.predicted_codes, codes.predicted_codes_lens)
            end = self._now()
        self.model.decoder.reset_cache(use_cache=False)
        self._check(way, len(starts), codes.predicted_codes_lens.tolist(), samples.tolist())
        begun = tuple(moment - start for moment in starts)
        return Made(end - start, begun, loop_end - start, way.frames, way.frames / self.frame_rate)

    def _generate(self, way: Way, batch: dict[str, Any]) -> Any:  # noqa: ANN401
        self.model.decoder.reset_cache(use_cache=way.cache)
        return self.model.generate_speech(
            batch,
            chunk_state=self.model.create_chunk_state(batch_size=way.requests),
            end_of_text=[True] * way.requests,
            beginning_of_text=True,
            use_cfg=True,
            use_local_transformer_for_inference=way.local_transformer,
        )

    def _batch(self, way: Way) -> dict[str, Any]:
        import torch

        count, place = self.text_tokens(way.frames), next(self.model.parameters()).device
        text = torch.tensor([self._text(count) for _ in range(way.requests)], device=place)
        lengths = torch.full((way.requests,), count, dtype=torch.long, device=place)
        return {"text": text, "text_lens": lengths, "speaker_indices": 0}

    def _check(self, way: Way, steps: int, frames: list[int], samples: list[int]) -> None:
        asked = [way.frames] * way.requests
        size = int(self.model.codec_model_samples_per_frame)
        if frames != asked or samples != [count * size for count in asked] or steps * way.stack != way.frames:
            told = f"{steps} steps, {frames} frames, {samples} samples"
            raise ArithmeticError(f"asked for {way.requests} x {way.frames} frames of {size} samples, got {told}")

    def spoken(self, text: str, language: str, own: str = "") -> Spoken:
        """The package's `do_tts`, which chooses the tokenizer; with `own`, that tokenizer of the checkpoint instead."""
        from nemo.collections.tts.models import magpietts

        chosen: list[str] = []
        counted: list[int] = []

        def choosing(choose: Callable[..., str]) -> Callable[..., str]:
            def choice(*args: object, **kwargs: object) -> str:
                chosen.append(own or choose(*args, **kwargs))
                return chosen[-1]

            return choice

        def counting(chunk: Callable[..., Any]) -> Callable[..., Any]:
            def chunked(*args: object, **kwargs: object) -> Any:  # noqa: ANN401
                found = chunk(*args, **kwargs)
                counted.extend(int(length) for length in found[1])
                return found

            return chunked

        with (
            replaced(magpietts, "get_tokenizer_for_language", choosing),
            replaced(magpietts, "chunk_text_for_inference", counting),
        ):
            start = self._now()
            sound, lengths = self.model.do_tts(text, language=language)
            seconds = self._now() - start
        count = int(lengths[0])
        samples = sound[0, :count].float().cpu().numpy()
        sound_s = count / float(self.model.output_sample_rate)
        return Spoken(seconds, sound_s, chosen[-1], sum(counted), samples)

    def _now(self) -> float:
        timing.synchronize(self.where)
        return time.perf_counter()
