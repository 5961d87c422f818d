"""Facts about a machine and a model that a reader chooses: the article's own, over inputs in the place of samples.

What is written here says where each input enters, and what the article has no need of as it has measured it: the rates
that the machine's ceilings allow. All else is the arithmetic that tells the article.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from templates.facts.constants import OPERATIONS, REQUEST, TOKEN_PER_REQUEST
from templates.facts.group import fact
from templates.facts.language_model import Batch, LanguageModel, Prompt
from templates.facts.machine import MachineFacts
from templates.facts.recognition import Recognition
from templates.facts.samples import Samples
from templates.facts.table import Evidence
from templates.facts.turn import Turn
from templates.facts.verdicts import Verdicts
from templates.facts.voxcpm import VoxCPM
from templates.quantity import Quantity, bounded, constant

PATH = "calculator"

INPUT = "input."
"""Begins the label of a constant that is an input."""

INPUTS: Mapping[str, str] = {
    "bandwidth": "GB/s",
    "compute": "TFLOPS",
    "first_audio": "ms",
    "slope": "1",
    "fixed": "s",
    "parameters": "param",
    "parameters_without_embeddings": "param",
    "head_parameters": "param",
    "bytes_per_parameter": "B/param",
    "bytes_per_head_parameter": "B/param",
    "kv_per_token": "KB/tok",
    "kv_of_whole": "KB/tok",
    "kv_in_window": "KB/tok",
    "window": "tok",
    "context": "tok",
    "requests": "req",
    "thinking_tokens": "tok",
    "sentence_tokens": "tok",
    "sentence_audio": "s",
}
"""What a formula can ask of a reader's choice, and the unit it is shown in."""

Chosen = Mapping[str, Quantity]
"""Inputs by name. One that nobody measured or gave is a quantity without a value."""


def chosen(**values: float) -> dict[str, Quantity]:
    """Inputs with these values, each in its unit; the others are one."""
    return {name: constant(values.get(name, 1.0), spelled, INPUT + name) for name, spelled in INPUTS.items()}


class Shape(StrEnum):
    """What is known of a model, and so what its formulas look like."""

    PLAIN = "plain"
    """All layers see the whole context."""
    WINDOWED = "windowed"
    """Some look back on a window only."""
    TYPED = "typed"
    """A number of parameters, with nothing on embeddings or windows."""


class ChosenMachine(MachineFacts):
    """A machine with the ceilings that were chosen."""

    def __init__(self, inputs: Chosen) -> None:
        super().__init__(Samples(PATH, None, Verdicts()))
        self.inputs = inputs

    @fact("GB/s")
    def bandwidth(self) -> Quantity:
        return self.inputs["bandwidth"]

    @fact("TFLOPS")
    def compute_ceiling(self) -> Quantity:
        return self.inputs["compute"]

    def compute_in(self, dtype: str) -> Quantity:
        return self.compute_ceiling


class ChosenModel(LanguageModel):
    """A model of some parameters and bits, decoded as fast as the machine's ceilings allow."""

    def __init__(self, inputs: Chosen, shape: Shape) -> None:
        machine = ChosenMachine(inputs)
        super().__init__(machine.samples, machine, "", "")
        self.path, self.inputs, self.shape = PATH, inputs, shape
        self.asked, self.taken = ChosenBatch(self), ChosenPrompt(self)
        self._prompts = {0: self.taken}

    @fact("param", significant=3)
    def parameters(self) -> Quantity:
        return self.inputs["parameters"]

    @fact("param", significant=3)
    def parameters_without_embeddings(self) -> Quantity:
        """Of a model that is typed in, all of them: how many are its embedding is not known."""
        if self.shape is Shape.TYPED:
            return self.parameters.estimated()
        return self.inputs["parameters_without_embeddings"]

    @fact("param", significant=3)
    def head_parameters(self) -> Quantity:
        return self.inputs["head_parameters"]

    @fact("param", significant=3)
    def parameters_with_head(self) -> Quantity:
        """Of a model that is typed in, all of them, as if its embedding were its output head too."""
        if self.shape is Shape.TYPED:
            return self.parameters.estimated()
        return self.parameters_without_embeddings + self.head_parameters

    @property
    def bytes_per_parameter(self) -> Quantity:
        return self.inputs["bytes_per_parameter"]

    @fact("GB")
    def weights(self) -> Quantity:
        """With the embedding, the output head too, as wide as engines keep it; of a typed model that is not known."""
        if self.shape is Shape.TYPED:
            return self.parameters * self.bytes_per_parameter
        matrices = self.parameters_without_embeddings * self.bytes_per_parameter
        return matrices + self.head_parameters * self.inputs["bytes_per_head_parameter"]

    @fact("KB/tok")
    def kv_per_token(self) -> Quantity:
        return self.inputs["kv_per_token"]

    def kv_of(self, length: Quantity) -> Quantity:
        if self.shape is Shape.WINDOWED:
            return self._kv_within(self.inputs["kv_of_whole"] * length, length)
        return self.kv_per_token * length

    @property
    def windowed(self) -> list[tuple[Quantity, Quantity]]:
        return [(self.inputs["kv_in_window"], self.inputs["window"])]

    @fact("tok", decimals=0)
    def context(self) -> Quantity:
        return self.inputs["context"]

    @fact("tok", decimals=0)
    def thinking_tokens(self) -> Quantity:
        return self.inputs["thinking_tokens"]

    @fact("tok/s")
    def rate(self) -> Quantity:
        """What one of the requests gets."""
        return self.asked.rate / (self.asked.count / REQUEST)


class ChosenBatch(Batch):
    """The requests that were chosen, decoded at once."""

    model: ChosenModel

    def __init__(self, model: ChosenModel) -> None:
        super().__init__(model, 0)
        self.path = f"{PATH}.batch"

    @property
    def count(self) -> Quantity:
        return self.model.inputs["requests"]

    @property
    def context(self) -> Quantity:
        return self.model.context

    @fact("GB")
    def step_bytes(self) -> Quantity:
        """What a step reads, and the memory that holds it."""
        return self.model.weights + self.kv_bytes

    @fact("tok/s")
    def read_rate(self) -> Quantity:
        """Tokens of all requests together, if reading is all that takes time."""
        return self.model.machine.bandwidth * (self.count * TOKEN_PER_REQUEST) / self.step_bytes

    @fact("tok/s")
    def compute_rate(self) -> Quantity:
        """The same, if arithmetic is."""
        return self.model.compute / (OPERATIONS * self.model.parameters_with_head)

    @fact("tok/s")
    def rate(self) -> Quantity:
        """As the memory allows, if arithmetic does not allow less."""
        return bounded(self.read_rate, [self.compute_rate], "tok/s", f"{self.path}.rate")


class ChosenPrompt(Prompt):
    """The context that was chosen, taken in as a prompt."""

    model: ChosenModel

    def __init__(self, model: ChosenModel) -> None:
        super().__init__(model, 0)
        self.path = f"{PATH}.prompt"

    @property
    def length(self) -> Quantity:
        return self.model.context

    @fact("tok/s")
    def read_rate(self) -> Quantity:
        """If reading the weights once is all that takes time."""
        return self.length / self.model.read_time

    @fact("tok/s")
    def compute_rate(self) -> Quantity:
        """If arithmetic is; what attention computes is left out, as in the article."""
        return self.model.compute / (OPERATIONS * self.model.parameters_without_embeddings)

    @fact("tok/s")
    def rate(self) -> Quantity:
        """As arithmetic allows, if reading the weights does not allow less."""
        return bounded(self.compute_rate, [self.read_rate], "tok/s", f"{self.path}.rate")


class ChosenSpeaker(VoxCPM):
    """Synthesis with the times that were chosen."""

    def __init__(self, machine: MachineFacts, inputs: Chosen) -> None:
        super().__init__(machine.samples, Evidence("evidence"), machine)
        self.path, self.inputs = f"{PATH}.voxcpm", inputs

    @fact("1")
    def slope(self) -> Quantity:
        return self.inputs["slope"]

    @fact("s", significant=2)
    def fixed(self) -> Quantity:
        return self.inputs["fixed"]

    @fact("ms", significant=2)
    def first_audio_timed(self) -> Quantity:
        return self.inputs["first_audio"]

    @property
    def first_audio(self) -> Quantity:
        return self.first_audio_timed


class ChosenTurn(Turn):
    """From the prompt to the sound of the sentence that was chosen."""

    def __init__(self, model: ChosenModel) -> None:
        machine, self.inputs = model.machine, model.inputs
        recognition = Recognition(machine.samples, Evidence("evidence"), machine)
        super().__init__(f"{PATH}.turn", recognition, model, ChosenSpeaker(machine, self.inputs))

    @fact("tok", decimals=0)
    def sentence_tokens(self) -> Quantity:
        return self.inputs["sentence_tokens"]

    @fact("s")
    def sentence_audio(self) -> Quantity:
        return self.inputs["sentence_audio"]


def results(inputs: Chosen, shape: Shape) -> list[Quantity]:
    """What the calculator answers, in the order it is shown."""
    model = ChosenModel(inputs, shape)
    turn = ChosenTurn(model)
    return [
        model.asked.rate,
        model.rate,
        model.ceiling,
        model.crossover_with_kv,
        model.crossover,
        model.taken.time,
        model.silence,
        turn.wait_streaming,
        turn.wait_whole,
        model.asked.step_bytes,
    ]
