"""Whole recordings through a recogniser: in chunks by NeMo's own buffer, or at once, and how far apart both come out.

NeMo's buffer computes the features of a recording at once and hands them out in chunks, as its example of cache-aware
streaming does. With no look-ahead its second chunk has but one feature frame before it and nine are subsampled again:
it pads with zeros, where the encoder would have padded each of its convolutions. `exact` hands out the one frame alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from measure.recognition.nemotron import Recogniser

if TYPE_CHECKING:
    from torch import Tensor


class Heard(NamedTuple):
    """What came of some recordings, all in one batch."""

    encoded: Tensor
    """(recordings, size, frames), before the language is mixed in."""
    lengths: Tensor
    """Frames of each recording."""
    texts: list[str]
    tokens: list[list[int]]
    advances: tuple[int, ...] = ()
    """Feature frames by which each step went on; none if all was encoded at once."""


def load(recogniser: Recogniser, right: int, sounds: Sequence[Tensor]) -> Any:  # noqa: ANN401  # NeMo's buffer
    """NeMo's buffer with the features of these recordings, mono and 16,000 samples a second."""
    from nemo.collections.asr.parts.utils.streaming_utils import CacheAwareStreamingAudioBuffer

    recogniser.look_ahead(right)
    buffer = CacheAwareStreamingAudioBuffer(
        model=recogniser.model, online_normalization=None, pad_and_drop_preencoded=False
    )
    for sound in sounds:
        buffer.append_audio(sound.numpy(), stream_id=-1)
    return buffer


def whole(recogniser: Recogniser, buffer: Any) -> Heard:  # noqa: ANN401
    """Encode all at once, with the look-ahead's mask."""
    recogniser.rewind()
    encoded, lengths = recogniser.model.encoder(
        audio_signal=buffer.buffer.to(recogniser.dtype), length=buffer.streams_length
    )
    hypotheses = _decode(recogniser, encoded, lengths, None)
    return Heard(encoded, lengths, *_told(hypotheses))


def streamed(recogniser: Recogniser, buffer: Any, *, exact: bool = False) -> Heard:  # noqa: ANN401
    """Encode chunk by chunk with a cache."""
    import torch

    recogniser.rewind()
    encoder = recogniser.model.encoder
    cache = encoder.get_initial_cache_state(len(buffer.streams_length), recogniser.dtype, recogniser.device)
    made: list[Tensor] = []
    counts: list[Tensor] = []
    advances: list[int] = []
    hypotheses, done = None, 0
    for mel, lengths in buffer:
        dropped = encoder.streaming_cfg.drop_extra_pre_encoded if advances else 0
        if exact and 0 < done < encoder.streaming_cfg.pre_encode_cache_size[1]:
            mel = buffer.buffer[:, :, : buffer.buffer_idx]
            lengths, dropped = buffer.streams_length.clamp(max=mel.shape[2]), len(advances)
        last = buffer.is_buffer_empty()
        encoded, frames, *cache = encoder.cache_aware_stream_step(
            mel.to(recogniser.dtype), lengths, *cache, last, dropped
        )
        hypotheses = _decode(recogniser, encoded, frames, hypotheses)
        made.append(encoded)
        counts.append(frames)
        advances.append(min(buffer.buffer_idx, buffer.buffer.shape[2]) - done)
        done = buffer.buffer_idx
    lengths = torch.stack(counts).sum(0)
    return Heard(torch.cat(made, 2), lengths, *_told(hypotheses), tuple(advances))


def _decode(recogniser: Recogniser, encoded: Tensor, lengths: Tensor, hypotheses: Any) -> Any:  # noqa: ANN401
    return recogniser.model.decoding.rnnt_decoder_predictions_tensor(
        encoder_output=recogniser.model._apply_prompt_to_encoded(encoded),
        encoded_lengths=lengths,
        return_hypotheses=True,
        partial_hypotheses=hypotheses,
    )


def _told(hypotheses: Any) -> tuple[list[str], list[list[int]]]:  # noqa: ANN401
    return [str(each.text or "") for each in hypotheses], [[int(one) for one in each.y_sequence] for each in hypotheses]


class Difference(NamedTuple):
    """How far the streamed frames of a recording lie from those of the whole, frame by frame as far as both go."""

    relative: float
    """The largest difference of any number, over the root mean square of the whole's numbers."""
    first_frame: int
    """The first frame with a number more than `level` off, relative in the same way; -1 if there is none."""
    frames: tuple[int, int]
    """Streamed and whole."""
    same_tokens: bool


LEVEL = 1e-3
"""Relative difference from which a frame counts as another: above what fp32 rounds, below what bf16 does."""


def differences(one: Heard, other: Heard) -> list[Difference]:
    """Of each recording: streamed against whole."""
    found = []
    for place, tokens in enumerate(one.tokens):
        counts = int(one.lengths[place]), int(other.lengths[place])
        both = min(*counts, one.encoded.shape[2], other.encoded.shape[2])
        mine, whole = (heard.encoded[place, :, :both].float() for heard in (one, other))
        off = (mine - whole).abs().amax(0) / whole.pow(2).mean().sqrt()
        beyond = (off > LEVEL).nonzero()
        first = int(beyond[0]) if len(beyond) else -1
        found.append(Difference(float(off.max()), first, counts, tokens == other.tokens[place]))
    return found
