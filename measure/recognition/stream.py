"""Streams that a recogniser hears chunk by chunk, in one batch: with a cache, or with a window that is encoded again.

A step takes a chunk of sound from the host's memory and ends with tokens there. Features are computed of what is new,
in either way; those of earlier chunks are kept, as NeMo's own feature buffer keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from measure.recognition import conformer
from measure.recognition.nemotron import HOP, SAMPLE_RATE, WINDOW, Recogniser
from measure.results import Config

if TYPE_CHECKING:
    from torch import Tensor

Decoder: TypeAlias = Literal["package", "batched"]
"""`package`: as NeMo's streaming step calls it, with a hypothesis a stream kept in Python. `batched`: the decoder below
that, called with the whole batch's state left on the device."""

WARMUPS = 3
"""Steps before the first that is timed, beyond those that fill the caches."""

FRESH_STREAMS = 256
"""Batches up to this size get new sound at each step; of larger ones gathering it would take longer than the step."""

NOISE_S = 60.0
"""Length of the noise that streams hear in turn, each from a place of its own."""

AHEAD = WINDOW // 2 // HOP + 1
"""Feature frames at the edge of a piece of sound that were computed with silence in place of what lies beyond."""


def noise(seconds: float = NOISE_S, seed: int = 0) -> Tensor:
    """Noise whose loudness rises and falls a few times a second, as syllables do: mono, fp32, within -1 and 1."""
    import torch

    count = round(seconds * SAMPLE_RATE)
    times = torch.arange(count) / SAMPLE_RATE
    loudness = 0.5 + 0.5 * torch.sin(2 * torch.pi * 3 * times)
    drawn = torch.randn(count, generator=torch.Generator().manual_seed(seed))
    return (0.1 * drawn * loudness).clamp(-1, 1)


def tape(sounds: Sequence[Tensor], seconds: float = NOISE_S) -> Tensor:
    """The sounds one after another, from the beginning again until they last so long."""
    import torch

    whole = torch.cat(list(sounds))
    return whole.repeat(-(-round(seconds * SAMPLE_RATE) // len(whole)))


class Streams:
    """Streams in one batch: their sound, their features so far, and what the decoder keeps of them."""

    kept: int
    """Feature frames that a step's encoder is given."""
    program = "features, encoder, prompt and decoder called in turn"
    """What a configuration says of the way a step is made: the same with and without a cache, so that both compare."""

    def __init__(self, recogniser: Recogniser, right: int, streams: int, sound: Tensor, decoder: Decoder) -> None:
        import torch

        if recogniser.right != right:
            recogniser.look_ahead(right)
        recogniser.forget()
        recogniser.rewind()
        self.recogniser, self.right, self.streams, self.decoder = recogniser, right, streams, decoder
        self.frames = right + 1
        self.new = recogniser.shape.subsampling * self.frames
        self.sound, self.place = sound, 0
        self.hypotheses: Any = None
        self.state: Any = None
        self._counted = 0
        self._heard_s = 0.0
        self.lengths = torch.full((streams,), self.frames, dtype=torch.long, device=recogniser.device)
        self.mel = self._first_features()
        self.heard = self._gather()

    @property
    def limit_s(self) -> float:
        """What a step may take: the sound that it takes in."""
        return self.recogniser.shape.chunk_ms(self.right) / 1e3

    @property
    def tokens(self) -> int:
        """Emitted by all streams in all steps."""
        return self._counted + _emitted(self.hypotheses)

    @property
    def tokens_per_second(self) -> float:
        """Of each stream's sound, over all steps; 0 before the first."""
        return self.tokens / self._heard_s if self._heard_s else 0.0

    def arrive(self) -> None:
        """The next chunk's sound is in the host's memory; no part of the step."""
        self._heard_s += self.streams * self.limit_s
        self.place += self.new * HOP
        if self.streams <= FRESH_STREAMS:
            self.heard = self._gather()

    def narrow(self, streams: int) -> None:
        """Go on with the first so many streams alone; a decoder called in batches begins anew. No recorded step can.

        The decoder's CUDA graphs, which compute the largest batch seen, are dropped.
        """
        if streams == self.streams:
            return
        self.recogniser.forget()
        kept = self.hypotheses[:streams] if self.hypotheses else None
        self._counted, self.hypotheses, self.state = self.tokens - _emitted(kept), kept, None
        self.streams = streams
        self.lengths, self.mel, self.heard = self.lengths[:streams], self.mel[:streams], self.heard[:streams]

    def _gather(self) -> Tensor:
        """Sound of a chunk and of what its first and last features reach beyond it: (streams, samples)."""
        import torch

        need = (self.new + 2 * AHEAD) * HOP
        spread = len(self.sound) // max(self.streams, 1)
        starts = [(self.place + stream * spread) % (len(self.sound) - need) for stream in range(self.streams)]
        gathered = torch.stack([self.sound[start : start + need] for start in starts])
        return gathered.pin_memory() if self.recogniser.device == "cuda" else gathered

    def _features_of(self, sound: Tensor) -> Tensor:
        """(streams, features, frames), without the frames at the edges."""
        import torch

        on_device = sound.to(self.recogniser.device, non_blocking=True)
        lengths = torch.full((len(sound),), sound.shape[1], dtype=torch.long, device=self.recogniser.device)
        mel, _ = self.recogniser.model.preprocessor(input_signal=on_device, length=lengths)
        return mel[:, :, AHEAD:-AHEAD].to(self.recogniser.dtype)  # type: ignore[no-any-return]

    def _first_features(self) -> Tensor:
        """Features of the sound before the first chunk, as many as the encoder is given."""
        need = (self.kept + 2 * AHEAD) * HOP
        features = self._features_of(self.sound[:need].repeat(self.streams, 1))
        return features[:, :, : self.kept].contiguous()

    def hear(self) -> Tensor:
        """Features of the new sound behind those kept: (streams, features, kept)."""
        import torch

        features = self._features_of(self.heard)[:, :, : self.new]
        self.mel = torch.cat((self.mel[:, :, self.new :], features), dim=2)
        return self.mel

    def encode(self, mel: Tensor) -> Tensor:
        """What the encoder makes of the new frames: (streams, size, frames)."""
        raise NotImplementedError

    def prompt(self, encoded: Tensor) -> Tensor:
        """The language mixed in; the same shape."""
        return self.recogniser.model._apply_prompt_to_encoded(encoded)  # type: ignore[no-any-return]

    def decode(self, frames: Tensor) -> None:
        """Tokens of these frames, in the host's memory."""
        if self.decoder == "package":
            self.hypotheses = self.recogniser.model.decoding.rnnt_decoder_predictions_tensor(
                encoder_output=frames,
                encoded_lengths=self.lengths,
                return_hypotheses=True,
                partial_hypotheses=self.hypotheses,
            )
            return
        told, self.state = self.recogniser.computer(
            x=frames.transpose(1, 2), out_len=self.lengths, prev_batched_state=self.state
        )
        counts = told.current_lengths[: self.streams].cpu()
        self.texts = told.transcript[: self.streams, : int(counts.max())].cpu()
        self._counted += int(counts.sum())

    def step(self) -> None:
        """One chunk: features, encoder, prompt, tokens."""
        self.decode(self.prompt(self.encode(self.hear())))


class Cached(Streams):
    """Streams whose layers keep a cache: only what is new is encoded."""

    def __init__(self, recogniser: Recogniser, right: int, streams: int, sound: Tensor, decoder: Decoder) -> None:
        import torch

        recogniser.look_ahead(right)
        settings = recogniser.model.encoder.streaming_cfg
        self.again = int(settings.pre_encode_cache_size[1])
        """Feature frames of the chunk before that are subsampled again."""
        self.dropped = int(settings.drop_extra_pre_encoded)
        self.kept = self.again + recogniser.shape.subsampling * (right + 1)
        super().__init__(recogniser, right, streams, sound, decoder)
        self.mel_lengths = torch.full((streams,), self.kept, dtype=torch.long, device=recogniser.device)
        self.cache = recogniser.model.encoder.get_initial_cache_state(streams, recogniser.dtype, recogniser.device)

    def fill(self) -> None:
        """Fill the caches with random numbers: a step costs the same whatever they hold, and filling takes many."""
        inputs, convolutions, lengths = self.cache
        inputs.normal_()
        convolutions.normal_()
        lengths.fill_(self.recogniser.shape.left)

    def narrow(self, streams: int) -> None:
        super().narrow(streams)
        inputs, convolutions, lengths = self.cache
        self.cache = inputs[:, :streams], convolutions[:, :streams], lengths[:streams]
        self.mel_lengths = self.mel_lengths[:streams]

    @property
    def steps_to_fill(self) -> int:
        """Steps after which the caches hold all frames that they can."""
        return -(-self.recogniser.shape.left // self.frames)

    @property
    def cache_bytes(self) -> int:
        """Of all streams."""
        return sum(int(tensor.nbytes) for tensor in self.cache[:2])

    def encode(self, mel: Tensor) -> Tensor:
        encoded, _, *self.cache = self.recogniser.model.encoder.cache_aware_stream_step(
            mel, self.mel_lengths, *self.cache, True, self.dropped
        )
        return encoded  # type: ignore[no-any-return]


class Packaged(Cached):
    """The same by NeMo's own streaming step, which makes these calls itself and lists the tokens of all streams."""

    program = "conformer_stream_step"

    def step(self) -> None:
        _, _, *self.cache, self.hypotheses = self.recogniser.model.conformer_stream_step(
            processed_signal=self.hear(),
            processed_signal_length=self.mel_lengths,
            cache_last_channel=self.cache[0],
            cache_last_time=self.cache[1],
            cache_last_channel_len=self.cache[2],
            keep_all_outputs=True,
            previous_hypotheses=self.hypotheses,
            drop_extra_pre_encoded=self.dropped,
        )


class Graphed(Cached):
    """The same, with the encoder's step recorded once as a CUDA graph and replayed."""

    def __init__(self, recogniser: Recogniser, right: int, streams: int, sound: Tensor, decoder: Decoder) -> None:
        super().__init__(recogniser, right, streams, sound, decoder)
        self.fill()
        self._given = self.mel.clone()
        self._record()

    def _record(self) -> None:
        """The caches stay where they are: a graph reads and writes fixed places."""
        import torch

        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's
        with torch.cuda.stream(side):
            for _ in range(3):
                self._one()
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._encoded = self._one()

    def _one(self) -> Tensor:
        encoded, _, *after = self.recogniser.model.encoder.cache_aware_stream_step(
            self._given, self.mel_lengths, *self.cache, True, self.dropped
        )
        for kept, new in zip(self.cache, after, strict=True):
            kept.copy_(new)
        return encoded  # type: ignore[no-any-return]

    def encode(self, mel: Tensor) -> Tensor:
        self._given.copy_(mel)
        self._graph.replay()
        return self._encoded


class Buffered(Streams):
    """Streams without a cache: a window of left context and chunk is encoded from its beginning at each step.

    Only the new frames are decoded, and the decoder keeps its state.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        right: int,
        streams: int,
        sound: Tensor,
        decoder: Decoder,
        window_frames: int = 0,
    ) -> None:
        import torch

        self.window_frames = window_frames or recogniser.shape.left + right + 1
        self.kept = conformer.window_features(recogniser.shape, self.window_frames)
        super().__init__(recogniser, right, streams, sound, decoder)
        self.mel_lengths = torch.full((streams,), self.kept, dtype=torch.long, device=recogniser.device)

    def narrow(self, streams: int) -> None:
        super().narrow(streams)
        self.mel_lengths = self.mel_lengths[:streams]

    def encode(self, mel: Tensor) -> Tensor:
        encoded, _ = self.recogniser.model.encoder(audio_signal=mel, length=self.mel_lengths)
        if encoded.shape[2] != self.window_frames:
            raise ArithmeticError(f"the window gave {encoded.shape[2]} frames, {self.window_frames} were to come")
        return encoded[:, :, -self.frames :].contiguous()  # type: ignore[no-any-return]


def _emitted(hypotheses: Any) -> int:  # noqa: ANN401  # a list of NeMo's, or None
    return sum(len(each.y_sequence) for each in hypotheses or ())


def whole_chunks(shape: conformer.Shape, right: int, window_s: float) -> int:
    """Encoder frames in a window of at most `window_s` that holds only whole chunks, so that the last one is whole."""
    frames = int(window_s * 1e3 / conformer.FRAME_MS + 1e-6)
    return frames // (right + 1) * (right + 1)


def shape_of_step(streams: Streams) -> Config:
    """What goes into a step and comes out of it."""
    told: Config = {
        "streams": streams.streams,
        "right_frames": streams.right,
        "chunk_ms": 1e3 * streams.limit_s,
        "new_feature_frames": streams.new,
        "given_feature_frames": streams.kept,
        "decoded_frames": streams.frames,
        "decoder_called": streams.decoder,
        "program": streams.program,
        "given_samples": (streams.new + 2 * AHEAD) * HOP,
    }
    if isinstance(streams, Cached):
        kept = "recorded CUDA graph" if isinstance(streams, Graphed) else "called as it is"
        return {**told, "cache": "inputs of the layers", "encoder": kept}
    frames = getattr(streams, "window_frames", 0)
    return {**told, "cache": "none", "window_frames": frames, "window_s": frames * conformer.FRAME_MS / 1e3}
