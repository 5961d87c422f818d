"""Facts about one turn of a conversation: what a listener waits for between a question and the answer's sound."""

from __future__ import annotations

from templates.facts.group import Group, fact
from templates.facts.language_model import LanguageModel
from templates.facts.recognition import Recognition
from templates.facts.voxcpm import VoxCPM
from templates.quantity import Quantity, constant

SENTENCE = constant(20, "tok", "sentence_tokens")
"""A short spoken sentence, in tokens."""

AUDIO = constant(3, "s", "sentence_audio")
"""The same sentence as sound."""


class Turn(Group):
    """A short question and an answer of one short sentence, part after part."""

    heading = "turn"

    def __init__(self, path: str, recognition: Recognition, model: LanguageModel, voxcpm: VoxCPM) -> None:
        super().__init__(path)
        self.recognition, self.model, self.voxcpm = recognition, model, voxcpm

    @fact("tok", decimals=0)
    def sentence_tokens(self) -> Quantity:
        return SENTENCE

    @fact("s", decimals=0)
    def sentence_audio(self) -> Quantity:
        return AUDIO

    @fact("ms")
    def recognise(self) -> Quantity:
        """From the end of speech to the final text, with the middle one of the model's chunks."""
        return self.recognition.middle.final_delay

    @fact("ms")
    def take_in(self) -> Quantity:
        """The prompt: the shortest one timed."""
        return self.model.prompt(min((p.tokens for p in self.model.prompts), default=64)).time

    @fact("ms")
    def generate(self) -> Quantity:
        return self.sentence_tokens / self.model.rate

    @fact("ms", significant=2)
    def speak_whole(self) -> Quantity:
        """The sentence synthesised to its end before it is played."""
        return self.voxcpm.slope * self.sentence_audio + self.voxcpm.fixed

    @fact("ms", significant=2)
    def speak_streaming(self) -> Quantity:
        """The sentence played from the first patch on."""
        timed = self.voxcpm.first_audio_timed
        return timed if timed.measured else self.voxcpm.first_audio

    @fact("ms", significant=2)
    def wait_whole(self) -> Quantity:
        """From the recognised question to the answer's first sound, if the sentence is played when whole."""
        return self.take_in + self.generate + self.speak_whole

    @fact("ms", significant=2)
    def wait_streaming(self) -> Quantity:
        """The same if it is played from the first patch on."""
        return self.take_in + self.generate + self.speak_streaming

    @fact("%", decimals=0)
    def synthesis_share(self) -> Quantity:
        """Share of synthesis, played when whole, in the parts that follow recognition."""
        return self.speak_whole / self.wait_whole

    @fact("%", decimals=0)
    def streaming_share(self) -> Quantity:
        """The same when it is played from the first patch on."""
        return self.speak_streaming / self.wait_streaming

    @fact("%", decimals=0)
    def recognition_share(self) -> Quantity:
        """Share of recognition in the whole wait, the sentence played when whole."""
        return self.recognise / (self.recognise + self.wait_whole)

    @fact("%", decimals=0)
    def recognition_share_streaming(self) -> Quantity:
        """The same when it is played from the first patch on."""
        return self.recognise / (self.recognise + self.wait_streaming)
