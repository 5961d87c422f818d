"""What is counted and compared of a recogniser: arithmetic, the chunk, streamed frames against whole ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure import timing
from measure.card import Watch
from measure.keys import Key
from measure.recognition import conformer, stream, utterance
from measure.recognition.nemotron_transformers import KeysKept
from measure.recognition.stream import Buffered, shape_of_step
from measure.results import Config

if TYPE_CHECKING:
    from torch import Tensor

    from measure.recognition.bench import Bench

COUNTER = "torch's FLOP counter, encoder and prompt"

UTTERANCES, UTTERANCE_S = 3, 6.0
"""Recordings of noise that are streamed and encoded at once, to be compared."""


class Counting:
    """Counts and compares on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._keys_kept: KeysKept | None = None

    def let_go(self) -> None:
        """Free transformers' model, which would take memory from what follows."""
        self._keys_kept = None

    @property
    def keys_kept(self) -> KeysKept:
        """The same model in transformers, built when it is first asked for."""
        if self._keys_kept is None:
            self._keys_kept = KeysKept(
                self.bench.recogniser.shape, self.bench.recogniser.precision, self.bench.session.device
            )
        return self._keys_kept

    def kept_part(self, item: Key) -> None:
        """The encoder's part of a step whose cache holds keys and values."""
        kept, told = self.keys_kept, dict(item.parameters)
        kept.look_ahead(int(told["right"]))
        warmups, watch = kept.steps_to_fill + stream.WARMUPS, Watch(self.bench.session.device)
        for _ in range(warmups):
            kept.encode(kept.chunk())
        watch.begin()
        values = []
        for _ in timing.rounds(self.bench.scope.repeats, self.bench.scope.step_s):
            mel = kept.chunk()
            values.append(1e3 * timing.wall_seconds(lambda mel=mel: kept.encode(mel), self.bench.session.device))  # type: ignore[misc]
        watch.end()
        self.bench.session.record(
            item, "ms", values, {**self.bench.config, **kept.config, "warmups": warmups, **watch.config}
        )

    def _kept_flops(self, item: Key) -> None:
        from torch.utils.flop_counter import FlopCounterMode

        kept, told = self.keys_kept, dict(item.parameters)
        kept.attend("eager")
        kept.look_ahead(int(told["right"]))
        for _ in range(kept.steps_to_fill):
            kept.encode(kept.chunk())
        mel = kept.chunk()
        with FlopCounterMode(display=False) as counter:
            kept.prompt(kept.encode(mel))
        kept.attend("sdpa")
        counted: Config = {"counted_by": COUNTER, "formula": conformer.keys_kept_flops(kept.shape, kept.right)}
        self.bench.session.record(
            item, "FLOP", [counter.get_total_flops()], {**self.bench.config, **kept.config, **counted}
        )

    def chunk(self, item: Key) -> None:
        """Feature frames by which NeMo's buffer goes on at each step but the first and the last, in milliseconds."""
        buffer = utterance.load(self.bench.recogniser, self.bench.right(item), self._utterances()[:1])
        heard = utterance.streamed(self.bench.recogniser, buffer)
        first, *steady = heard.advances[:-1]
        told: Config = {
            "first_feature_frames": first,
            "feature_frames": steady[0],
            "cached_feature_frames": int(self.bench.recogniser.model.encoder.streaming_cfg.pre_encode_cache_size[1]),
            "encoder_frames": heard.encoded.shape[2],
            "steps": len(heard.advances),
        }
        self.bench.save(item, "ms", [conformer.FEATURE_MS * advance for advance in steady], told)

    def _utterances(self) -> list[Tensor]:
        return [stream.noise(UTTERANCE_S, seed) for seed in range(1, UTTERANCES + 1)]

    def flops(self, item: Key) -> None:
        """Encoder and prompt of one step as torch counts them, and by formula."""
        from torch.utils.flop_counter import FlopCounterMode

        if "cache" in dict(item.parameters):
            return self._kept_flops(item)
        streams, shape = self.bench.make(item), self.bench.recogniser.shape
        mel = streams.hear()
        with FlopCounterMode(display=False) as counter:
            streams.prompt(streams.encode(mel))
        if isinstance(streams, Buffered):
            formula = conformer.window_flops(shape, streams.window_frames, streams.frames)
        else:
            formula = conformer.cached_flops(shape, streams.right)
        told: Config = {
            "counted_by": COUNTER,
            "formula": formula,
            "rnnt_formula": conformer.joint_flops(shape, streams.frames, 0),
            "rnnt_formula_per_token": conformer.joint_flops(shape, 0, 1),
        }
        return self.bench.save(item, "FLOP", [counter.get_total_flops()], {**told, **shape_of_step(streams)})

    def difference(self, item: Key) -> None:
        """Streamed against whole, one value an utterance of noise. TF32, which rounds more than fp32, is off."""
        import torch

        told, usual = dict(item.parameters), self.bench.recogniser.precision
        exact, allowed = told.get("chunks") == "exact", torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.bench.recogniser.cast(told["dtype"])
        try:
            buffer = utterance.load(self.bench.recogniser, self.bench.right(item), self._utterances())
            streamed = utterance.streamed(self.bench.recogniser, buffer, exact=exact)
            found = utterance.differences(streamed, utterance.whole(self.bench.recogniser, buffer))
        finally:
            self.bench.recogniser.cast(usual)
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
        self.bench.save(item, "1", [each.relative for each in found], _told_of(found, exact))


def _told_of(found: list[utterance.Difference], exact: bool) -> Config:
    return {
        "utterances": len(found),
        "utterance_s": UTTERANCE_S,
        "relative_to": "root mean square of the whole's numbers; the largest difference of any",
        "chunks": "exact" if exact else "from NeMo's buffer",
        "first_frame_off": max(each.first_frame for each in found),
        "streamed_frames": found[0].frames[0],
        "whole_frames": found[0].frames[1],
        "same_tokens": sum(each.same_tokens for each in found),
    }
