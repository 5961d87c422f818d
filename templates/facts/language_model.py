"""Facts about one language model on one engine and machine: decoding, requests at once, prefill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from operator import add

from measure import models
from measure.keys import Key, key, over_cards
from measure.results import Sample
from templates.facts.constants import (
    BYTES_PER_PARAMETER,
    ONE,
    OPERATIONS,
    REQUEST,
    SIXTEEN_BIT,
    TOKEN,
    TOKEN_PER_REQUEST,
    TWO,
)
from templates.facts.group import Group, fact
from templates.facts.machine import MachineFacts
from templates.facts.peer import Peer
from templates.facts.samples import Samples
from templates.facts.step import Graphs, Step
from templates.quantity import Constant, Kind, Quantity, best, constant, crossing, least, missing

THINKING_TOKENS = 80
"""The length of the answer that the source article timed while the model did nothing but think."""


class LanguageModel(Group):
    """One model in one precision, decoded by one engine."""

    heading = "model"

    def __init__(self, samples: Samples, machine: MachineFacts, measurement: str, subject: str, cards: int = 1) -> None:
        self.engine = measurement.removeprefix("decode_")
        path = f"{samples.run_id}.{self.engine}.{subject}" + (f".on{cards}" if cards > 1 else "")
        super().__init__(path, model=subject, engine=self.engine, cards=cards)
        self.heading = "model_on_cards" if cards > 1 else "model"
        self.cards, self.told = cards, over_cards(cards)
        self.samples, self.machine, self.measurement, self.subject = samples, machine, measurement, subject
        self.model, _, self.precision = subject.rpartition("-")
        counts = samples.numbers(measurement, subject, ("rate", "first_token"), "requests", cards)
        self._batches = {requests: Batch(self, requests) for requests in counts}
        lengths = samples.numbers(measurement, subject, ("prefill_rate",), "tokens", cards)
        self._prompts = {tokens: Prompt(self, tokens) for tokens in lengths}
        self.repeated = Repeated(self)
        self.step, self.graphs, self.peer = Step(self), Graphs(self), Peer(self)
        self.among_engines = False
        """Whether other engines decode in the same edition, so that a label has to name this one's."""

    def key(self, quantity: str, **parameters: object) -> Key:
        return key(self.measurement, quantity, self.subject, **self.told, **parameters)

    def parts(self) -> Iterator[Group]:
        yield from self.batches
        yield from self.prompts
        yield self.repeated
        if self.step_kernels.measured:
            yield self.step
        if self.graphs.measured:
            yield self.graphs
        if self.peer.ratios:
            yield self.peer

    def batch(self, requests: int) -> Batch:
        """The batch of so many requests; one that was not timed joins the others, unmeasured."""
        if requests not in self._batches:
            self._batches[requests] = Batch(self, requests)
        return self._batches[requests]

    def prompt(self, tokens: int) -> Prompt:
        """The prompt of so many tokens; one that was not timed joins the others, unmeasured."""
        if tokens not in self._prompts:
            self._prompts[tokens] = Prompt(self, tokens)
        return self._prompts[tokens]

    @property
    def batches(self) -> list[Batch]:
        return list(self._batches.values())

    @property
    def prompts(self) -> list[Prompt]:
        return list(self._prompts.values())

    @cached_property
    def timed_batches(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.rate.measured]

    @property
    def executed(self) -> list[Sample]:
        """Samples of this model that a program of this project measured with some weights."""
        run = self.samples.run
        found = [run.samples.get(str(batch.wanted)) for batch in self.batches] if run else []
        return [sample for sample in found if isinstance(sample, Sample)]

    @cached_property
    def widest(self) -> Batch:
        """The batch with the most requests that was timed."""
        return max(self.timed_batches, key=lambda batch: batch.requests, default=self.batch(1))

    # One request

    @fact("tok/s")
    def rate(self) -> Quantity:
        return self.samples.get(self.key("rate", requests=1), "tok/s")

    @fact("1", decimals=0)
    def repeats(self) -> Quantity:
        return self.samples.repeats(self.key("rate", requests=1))

    @fact("tok", decimals=0)
    def output_tokens(self) -> Quantity:
        return self.samples.configured(self.key("rate", requests=1), "output_tokens_long", "tok")

    @fact("GiB", decimals=2)
    def loaded(self) -> Quantity:
        """Weights as the engine reports them."""
        return self.samples.get(self.key("loaded_weights"), "GiB")

    @fact("GB")
    def weights(self) -> Quantity:
        return self.samples.get(self.key("loaded_weights"), "GB")

    @fact("param", significant=2)
    def parameters(self) -> Quantity:
        return self.samples.get(self.key("parameters"), "param")

    @fact("param", significant=2)
    def parameters_without_embeddings(self) -> Quantity:
        return self.samples.get(self.key("parameters_without_embeddings"), "param")

    @fact("GB/tok")
    def read_per_token(self) -> Quantity:
        """One request: each token reads all weights once."""
        return self.weights / TOKEN

    @fact("tok/s")
    def ceiling(self) -> Quantity:
        return self.machine.bandwidth / self.read_per_token

    @fact("GB/s")
    def traffic(self) -> Quantity:
        return self.read_per_token * self.rate

    @fact("%", decimals=0)
    def share(self) -> Quantity:
        return self.traffic / self.machine.bandwidth

    @fact("%", decimals=0)
    def unused_share(self) -> Quantity:
        return ONE - self.share

    @fact("%", decimals=0)
    def share_of_datasheet(self) -> Quantity:
        return self.traffic / self.machine.datasheet

    @fact("ms")
    def token_time(self) -> Quantity:
        return TOKEN / self.rate

    @fact("ms")
    def read_time(self) -> Quantity:
        return self.weights / self.machine.bandwidth

    @fact("ms", decimals=1)
    def extra_time(self) -> Quantity:
        """Time of a token beyond reading the weights."""
        return self.token_time - self.read_time

    @fact("ms")
    def step_kernels(self) -> Quantity:
        """Time of one decoding step in which a kernel runs, as a profiler sees it."""
        return self.samples.get(self.key("step_kernel_time"), "ms")

    @fact("ms")
    def step_gaps(self) -> Quantity:
        """The rest of the step, in which none runs."""
        return self.token_time - self.step_kernels

    @fact("%", decimals=1)
    def kernel_share(self) -> Quantity:
        """Share of a step in which a kernel runs."""
        return self.step_kernels / self.token_time

    # The cache of keys and values

    @fact("KB/tok")
    def kv_per_token(self) -> Quantity:
        """Bytes that one token of context adds to what each further token reads; from the model's dimensions."""
        return self._shape("B/tok", "kv_cache_per_token", models.kv_bytes_per_token)

    @cached_property
    def windowed(self) -> list[tuple[Quantity, Quantity]]:
        """What a token adds in layers that look back on a window only, and the window; none in most models."""
        known = models.models().get(self.model)
        return [
            (
                self._shape("B/tok", "kv_in_window", partial(models.kv_bytes_per_token, window=window)).to("KB/tok"),
                constant(window, "tok", "window", "measure/models.toml", Kind.CITED),
            )
            for window in (known.windows if known else ())
        ]

    def kv_of(self, length: Quantity) -> Quantity:
        """Bytes of keys and values that the model needs of a context of so many tokens; a window holds no more."""
        if not self.windowed or not length.measured:
            return self.kv_per_token * length
        whole = self._shape("B/tok", "kv_of_whole", partial(models.kv_bytes_per_token, window=0)).to("KB/tok")
        return self._kv_within(whole * length, length)

    def _kv_within(self, whole: Quantity, length: Quantity) -> Quantity:
        """The keys and values of layers that see everything, and those of layers that see a window."""
        held = [added * least([length, window], "tok", self.path) for added, window in self.windowed]
        return reduce(add, held, whole)

    def _shape(self, spelled: str, label: str, count: Callable[[str], float]) -> Quantity:
        """A number that the model's published dimensions give; unmeasured where models.toml does not have the model."""
        if self.model not in models.models() or self.precision not in models.BYTES_PER_WEIGHT:
            return missing(spelled, Constant(label), "unknown_model", self.subject)
        return constant(float(count(self.subject)), spelled, label, "measure/models.toml", Kind.CITED)

    @fact("tok", decimals=0)
    def context(self) -> Quantity:
        """Mean context with the most requests timed; where the prompt's length is not told, the part that is."""
        return self.widest.context

    @fact("%", decimals=0)
    def share_with_kv(self) -> Quantity:
        read = self.weights + self.kv_of(self.batch(1).context)
        return self.rate * read / TOKEN / self.machine.bandwidth

    # Another precision of the same model

    @fact("GB")
    def sixteen_bit_weights(self) -> Quantity:
        return self.parameters * SIXTEEN_BIT

    @fact("tok/s", decimals=0)
    def sixteen_bit_ceiling(self) -> Quantity:
        return self.machine.bandwidth / (self.sixteen_bit_weights / TOKEN)

    @fact("times", significant=2)
    def sixteen_bit_ratio(self) -> Quantity:
        return self.sixteen_bit_weights / self.weights

    @fact("times", significant=3)
    def format_ratio(self) -> Quantity:
        """How many times fewer bits a weight takes in this format than in 16 bits; the ratio cannot exceed it."""
        return SIXTEEN_BIT / self.bytes_per_parameter

    @property
    def bytes_per_parameter(self) -> Quantity:
        unknown = missing("B/param", Constant("bytes_per_parameter"), "unknown_model", self.subject)
        return BYTES_PER_PARAMETER.get(self.precision, unknown)

    # Tokens that nobody hears

    @fact("tok", decimals=0)
    def thinking_tokens(self) -> Quantity:
        return constant(THINKING_TOKENS, "tok", "thinking_tokens")

    @fact("s", significant=2)
    def silence(self) -> Quantity:
        return self.thinking_tokens / self.rate

    @fact("s", significant=2)
    def silence_timed(self) -> Quantity:
        return self.samples.get(self.key("thinking_time", tokens=THINKING_TOKENS), "s")

    # Prefill over all lengths

    @fact("tok/s")
    def best_prefill(self) -> Quantity:
        return best([prompt.rate for prompt in self.prompts], "tok/s", f"{self.path} prefill")

    @fact("times")
    def prefill_over_decode(self) -> Quantity:
        return self.best_prefill / self.rate

    @fact("TFLOPS")
    def prefill_compute(self) -> Quantity:
        return OPERATIONS * self.parameters_without_embeddings * self.best_prefill

    @fact("%", decimals=0)
    def prefill_compute_share(self) -> Quantity:
        return self.prefill_compute / self.compute

    @cached_property
    def timed_prompts(self) -> list[Prompt]:
        """Prompts that were timed, shortest first."""
        return sorted((prompt for prompt in self.prompts if prompt.rate.measured), key=lambda prompt: prompt.tokens)

    @property
    def shortest_prompt(self) -> Prompt | None:
        """The shortest prompt, if there is a longer one to hold it against."""
        return self.timed_prompts[0] if len(self.timed_prompts) > 1 else None

    @fact("%", decimals=0)
    def short_prompt_loss(self) -> Quantity:
        """How far the shortest prompt's rate stays below the best."""
        prompt = self.shortest_prompt
        return ONE - prompt.rate / self.best_prefill if prompt else self._one_length("%")

    @fact("ms")
    def short_prompt_fixed(self) -> Quantity:
        """Time of the shortest prompt beyond what its tokens take at the best rate."""
        prompt = self.shortest_prompt
        return prompt.time - prompt.length / self.best_prefill if prompt else self._one_length("ms")

    @fact("ms")
    def short_prompt_kernels(self) -> Quantity:
        """Time of the shortest prompt in which a kernel runs."""
        return self.samples.get(self.key("short_prompt_kernel_time"), "ms")

    def _one_length(self, spelled: str) -> Quantity:
        return missing(spelled, Constant("prompt_length"), "one_length", f"{self.path} prefill")

    # Where arithmetic takes over

    @cached_property
    def compute(self) -> Quantity:
        return self.machine.compute_in(self.precision)

    @fact("req", decimals=0)
    def crossover(self) -> Quantity:
        """Requests at once from which arithmetic takes longer than reading the weights; KV reads left out."""
        per_token = self.compute / OPERATIONS * self.bytes_per_parameter / self.machine.bandwidth
        return per_token / TOKEN_PER_REQUEST

    @fact("param", significant=2)
    def head_parameters(self) -> Quantity:
        """The output head, which runs for each generated token."""
        return self._shape("param", "embedding", lambda subject: models.subject(subject).model.embedding_parameters)

    @fact("param", significant=2)
    def parameters_with_head(self) -> Quantity:
        """Parameters that each generated token is multiplied with."""
        return self.parameters_without_embeddings + self.head_parameters

    @fact("MB/req")
    def kv_per_request(self) -> Quantity:
        """What one more request at the mean context adds to the bytes of a step."""
        return self.kv_of(self.context) / REQUEST

    @fact("MB/req")
    def compute_per_request(self) -> Quantity:
        """Bytes that could be read in the time that the arithmetic of one more request takes, output head included."""
        work = OPERATIONS * self.parameters_with_head * TOKEN_PER_REQUEST
        return work / self.compute * self.machine.bandwidth

    @fact("req", decimals=0)
    def crossover_with_kv(self) -> Quantity:
        """The same with KV reads; it never comes where a request takes longer to read than to compute."""
        return crossing(self.weights, self.compute_per_request - self.kv_per_request, self.path)


class Batch(Group):
    """Several requests decoded at once."""

    heading = "batch"

    def __init__(self, model: LanguageModel, requests: int) -> None:
        super().__init__(f"{model.path}.x{requests}", n=requests)
        self.model, self.requests = model, requests
        self.wanted = model.key("rate", requests=requests)

    @property
    def count(self) -> Quantity:
        return constant(self.requests, "req", "requests")

    @fact("req", decimals=0)
    def at_once(self) -> Quantity:
        return self.count

    @fact("tok/s")
    def rate(self) -> Quantity:
        """Tokens of all requests together."""
        return self.model.samples.get(self.wanted, "tok/s")

    @fact("times")
    def gain(self) -> Quantity:
        return self.rate / self.model.rate

    @fact("%", decimals=0)
    def efficiency(self) -> Quantity:
        """The gain over the number of requests; the ideal is one."""
        return self.gain / (self.count / REQUEST)

    @fact("tok/s/req")
    def single(self) -> Quantity:
        return self.rate / self.count

    @fact("s")
    def first_token(self) -> Quantity:
        return self.model.samples.get(self.model.key("first_token", requests=self.requests), "s")

    @fact("tok", decimals=0)
    def asked_tokens(self) -> Quantity:
        """Of the prompt whose first token is timed."""
        return self.model.samples.configured(self._served, "prompt_tokens", "tok")

    @fact("ms")
    def served_first_token(self) -> Quantity:
        """Through vLLM's server, streamed over loopback."""
        return self.model.samples.get(self._served, "ms")

    @fact("ms")
    def served_extra(self) -> Quantity:
        """What the way through the server takes more than the engine as a library."""
        return self.served_first_token - self.first_token

    @property
    def _served(self) -> Key:
        told = {"requests": self.requests, **self.model.told}
        return key(f"serve_{self.model.engine}", "first_token", self.model.subject, **told)

    @fact("1", decimals=0)
    def slots(self) -> Quantity:
        wanted = self.model.key("first_token", requests=self.requests)
        return self.model.samples.configured(wanted, "slots", "1")

    @fact("tok", decimals=0)
    def prompt_tokens(self) -> Quantity:
        return self.model.samples.configured(self.wanted, "prompt_tokens", "tok")

    @fact("tok", decimals=0)
    def context(self) -> Quantity:
        """Mean length of the context: the prompt, where it is told, and the tokens half way between the two lengths."""
        wanted, samples = self.wanted, self.model.samples
        short = samples.configured(wanted, "output_tokens_short", "tok")
        long = samples.configured(wanted, "output_tokens_long", "tok")
        grown = (long + short) / TWO if short.measured else long / TWO
        return self.prompt_tokens + grown if self.prompt_tokens.measured else grown

    @fact("GB")
    def kv_bytes(self) -> Quantity:
        """Keys and values that one step reads for all requests."""
        return (self.count / REQUEST) * self.model.kv_of(self.context)

    @fact("%", decimals=0)
    def kv_over_weights(self) -> Quantity:
        return self.kv_bytes / self.model.weights

    @fact("GB/s")
    def traffic(self) -> Quantity:
        """Bytes a second with weights read once a step and keys and values once a request."""
        return (self.model.weights + self.kv_bytes) * self.rate / (self.count * TOKEN_PER_REQUEST)

    @fact("%", decimals=0)
    def share(self) -> Quantity:
        return self.traffic / self.model.machine.bandwidth

    @fact("TFLOPS", significant=2)
    def compute(self) -> Quantity:
        return OPERATIONS * self.model.parameters_without_embeddings * self.rate

    @fact("%", decimals=0)
    def compute_share(self) -> Quantity:
        return self.compute / self.model.compute

    @fact("TFLOPS", significant=2)
    def compute_with_head(self) -> Quantity:
        return OPERATIONS * self.model.parameters_with_head * self.rate

    @fact("%", decimals=0)
    def compute_share_with_head(self) -> Quantity:
        return self.compute_with_head / self.model.compute

    @fact("FLOP/B", significant=2)
    def intensity(self) -> Quantity:
        """Operations for each byte read: the output head counts on both sides, keys and values as bytes."""
        work = OPERATIONS * self.model.parameters_with_head * (self.count * TOKEN_PER_REQUEST)
        return work / (self.model.weights + self.kv_bytes)


class Prompt(Group):
    """Prefill of one prompt of some length."""

    heading = "prompt"

    def __init__(self, model: LanguageModel, tokens: int) -> None:
        super().__init__(f"{model.path}.p{tokens}", n=tokens)
        self.model, self.tokens = model, tokens

    @fact("tok", decimals=0)
    def length(self) -> Quantity:
        return constant(self.tokens, "tok", "prompt_length")

    @fact("tok/s")
    def rate(self) -> Quantity:
        return self.model.samples.get(self.model.key("prefill_rate", tokens=self.tokens), "tok/s")

    @fact("ms")
    def time(self) -> Quantity:
        return self.length / self.rate

    @fact("ms")
    def timed(self) -> Quantity:
        """The time as its source gives it, where it gives one."""
        return self.model.samples.get(self.model.key("prefill_time", tokens=self.tokens), "ms")

    @fact("%", decimals=0)
    def of_best(self) -> Quantity:
        return self.rate / self.model.best_prefill

    @fact("TFLOPS")
    def compute(self) -> Quantity:
        return OPERATIONS * self.model.parameters_without_embeddings * self.rate

    @fact("%", decimals=0)
    def compute_share(self) -> Quantity:
        return self.compute / self.model.compute

    @fact("FLOP/B", significant=2)
    def intensity(self) -> Quantity:
        return OPERATIONS * self.model.parameters_without_embeddings * self.length / self.model.weights


class Repeated(Group):
    """The same prompt sent again with the prefix cache on: a measurement that must be rejected."""

    heading = "repeated"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(f"{model.path}.repeated")
        self.model = model

    @fact("tok/s", significant=4)
    def rate(self) -> Quantity:
        return self.model.samples.get(self.model.key("prefill_rate", input="repeated"), "tok/s", rejected=True)

    @fact("TFLOPS")
    def compute(self) -> Quantity:
        return OPERATIONS * self.model.parameters_without_embeddings * self.rate

    @fact("times", significant=2)
    def over_limit(self) -> Quantity:
        return self.compute / self.model.compute


class Narrowed(Group):
    """The same model in two precisions: what fewer bytes buy."""

    heading = "pair"

    def __init__(self, wide: LanguageModel, narrow: LanguageModel) -> None:
        path = f"{narrow.path}.against-{wide.precision}"
        super().__init__(path, model=wide.model, wide=wide.precision, narrow=narrow.precision)
        self.wide, self.narrow = wide, narrow

    @fact("times")
    def weights_ratio(self) -> Quantity:
        return self.wide.weights / self.narrow.weights

    @fact("times")
    def gain(self) -> Quantity:
        return self.narrow.rate / self.wide.rate
