"""What a recogniser understands of recordings, and how many errors that has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure.keys import Key
from measure.recognition import error_rate, recordings, stream, utterance
from measure.recognition.error_rate import Pair
from measure.recognition.nemotron import SAMPLE_RATE

if TYPE_CHECKING:
    from torch import Tensor

    from measure.recognition.bench import Bench

BATCH = 8
"""Recordings that are recognised at once."""


class Scoring:
    """Scores recordings on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._sets: dict[str, recordings.Recordings] = {}
        self._made: dict[tuple[str, int, bool], list[Pair]] = {}

    def sound(self) -> tuple[Tensor, str]:
        """What streams hear, a minute at least, and what it is: real weights hear the recordings that were named."""
        named = recordings.sources(self.bench.session.options.get("audio", ""))
        if self.bench.recogniser.weights == "random" or not named:
            return stream.noise(), "noise"
        label, whole, need = next(iter(named)), [], stream.NOISE_S * SAMPLE_RATE
        for item in self._recordings(label).items:
            whole.append(recordings.sound(item.path))
            if sum(map(len, whole)) >= need:
                break
        return stream.tape(whole), f"recordings: {label}"

    def errors(self, item: Key) -> None:
        """Recognise all recordings of a label with one look-ahead, once for all their rates, and score them."""
        told = dict(item.parameters)
        if self.bench.recogniser.weights == "random":
            raise NotImplementedError("random weights recognise nothing; pass the real ones with --weights")
        whole = told.get("input") == "whole"
        asked = told["audio"], self.bench.right(item), whole
        if asked not in self._made:
            self._made[asked] = self._recognise(*asked)
        pairs, items = self._made[asked], self._recordings(told["audio"]).items
        if item.quantity == "wer":
            errors = [error_rate.words(pair) for pair in pairs]
        else:
            errors = [error_rate.characters(pair, spaces=told.get("spaces") != "without") for pair in pairs]
        score = error_rate.score(pairs, errors)
        for place in score.empty:
            print(f"{item}: nothing recognised in {items[place - 1].path.name}", flush=True)
        fed = "whole" if whole else "chunks from NeMo's buffer"
        self.bench.save(item, "%", [score.rate], {"recordings": len(items), **score.config, "fed": fed})

    def _recordings(self, label: str) -> recordings.Recordings:
        if label not in self._sets:
            options = self.bench.session.options
            place = recordings.sources(options.get("audio", ""))[label]
            most = int(options.get("recordings", "0"))
            self._sets[label] = recordings.find(label, place, self.bench.recogniser.language, most)
        return self._sets[label]

    def _recognise(self, label: str, right: int, whole: bool) -> list[Pair]:
        """Transcript and text of each recording, some of them at once."""
        items, recogniser, texts = self._recordings(label).items, self.bench.recogniser, list[str]()
        for start in range(0, len(items), BATCH):
            buffer = utterance.load(recogniser, right, recordings.sounds(items[start : start + BATCH]))
            heard = utterance.whole(recogniser, buffer) if whole else utterance.streamed(recogniser, buffer)
            texts += heard.texts
        return [Pair(each.text, text) for each, text in zip(items, texts, strict=True)]
