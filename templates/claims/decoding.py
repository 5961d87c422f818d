"""What the article concludes about the language model: decoding, precision, requests at once, prefill."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise

from msgspec.structs import replace

from templates.claims.register import Register
from templates.facts.constants import NO_TIME, ONE
from templates.facts.edition import Edition
from templates.facts.language_model import Batch, LanguageModel, Prompt
from templates.facts.table import Thresholds
from templates.quantity import Absence
from templates.truth import Outcome, Truth, above, at_least, at_most, below, every, some

register = Register()
claim = register.claim


# One request: the memory


@claim
def focus_near_bandwidth(e: Edition) -> Truth:
    """The worked example decodes near the memory's bandwidth."""
    return at_least(e.focus.share, e.thresholds.near)


@claim
def models_near_bandwidth(e: Edition) -> Truth:
    """All models of the direct check decode near the memory's bandwidth."""
    return every((at_least(model.share, e.thresholds.near) for model in e.models), e.overall.path)


@claim
def within_ceiling(e: Edition) -> Truth:
    """No model decodes faster than the memory can deliver its weights."""
    models = list(dict.fromkeys([e.focus, *e.models]))
    return every((at_most(model.share, e.thresholds.whole) for model in models), e.overall.path)


@claim
def speed_follows_bytes(e: Edition) -> Truth:
    """Of any two models on one engine, the one with fewer bytes to read is the faster one."""
    pairs = [pair for models in _by_weights(e, lambda model: model.engine) for pair in pairwise(models)]
    differing = [(small, large) for small, large in pairs if small.weights.value != large.weights.value]
    return _several(e, (above(small.rate, large.rate) for small, large in differing))


@claim
def products_gather(e: Edition) -> Truth:
    """Weights times speed comes out nearly the same for all models. One model alone gathers with nothing."""
    several = [model for model in e.models if model.traffic.measured][1:]
    return _several(e, (at_most(e.overall.traffic_ratio, e.thresholds.gathered) for _ in several[:1]))


@claim
def memory_limits_some(e: Edition) -> Truth:
    """With some model and some number of requests, reading takes up nearly all of the bandwidth."""
    return some((at_least(batch.share, e.thresholds.near) for batch in e.overall.timed), e.overall.path)


@claim
def larger_nearer(e: Edition) -> Truth:
    """Of two models in one format on one engine, the one with more bytes to read reaches a larger share."""
    pairs = [
        pair for models in _by_weights(e, lambda model: (model.engine, model.precision)) for pair in pairwise(models)
    ]
    return every((above(large.share, small.share) for small, large in pairs), e.overall.path)


@claim
def datasheet_reached(e: Edition) -> Truth:
    """The measured bandwidth is close to the datasheet's."""
    return at_least(e.focus.machine.datasheet_share, e.thresholds.datasheet)


@claim
def time_beyond_reading(e: Edition) -> Truth:
    """Every model spends time on a token beyond reading its weights."""
    return every((above(model.extra_time, NO_TIME) for model in e.models), e.overall.path)


@claim
def step_is_kernels(e: Edition) -> Truth:
    """In a step of every model a kernel runs most of the time."""
    return every((at_least(model.kernel_share, e.thresholds.most) for model in e.models), e.overall.path)


@claim
def focus_below_models(e: Edition) -> Truth:
    """The worked example reaches a smaller share than every model of the direct check."""
    return every((below(e.focus.share, model.share) for model in e.models if model is not e.focus), e.overall.path)


# Precision


@claim
def fewer_bytes_pay(e: Edition) -> Truth:
    """The narrower format is faster."""
    return every((at_least(pair.gain, e.thresholds.pays) for pair in e.pairs), f"{e.id}.pairs")


@claim
def gain_below_calculation(e: Edition) -> Truth:
    """The narrower format gains less than its bytes promise."""
    return every((below(pair.gain, pair.weights_ratio) for pair in e.pairs), f"{e.id}.pairs")


@claim
def sixteen_bit_fits(e: Edition) -> Truth:
    """The worked example would fit the machine's memory in 16 bits."""
    return at_most(e.focus.sixteen_bit_weights, e.focus.machine.memory)


@claim
def parameters_fit_file(e: Edition) -> Truth:
    """The parameters that are told are in their format what the weights take: no more, and nearly all of it."""
    share = e.focus.sixteen_bit_ratio / e.focus.format_ratio
    return at_most(share, e.thresholds.rounded) & at_least(share, e.thresholds.filled)


# Tokens that nobody hears


@claim
def silence_as_calculated(e: Edition) -> Truth:
    """An answer of nothing but thinking took the time that its tokens take."""
    ratio = e.focus.silence_timed / e.focus.silence
    return at_most(ratio, ONE + e.thresholds.agrees) & at_least(ratio, ONE - e.thresholds.agrees)


# Requests at once


@claim
def read_is_shared(e: Edition) -> Truth:
    """With the most requests timed, the total comes near as many times one request."""
    return _widest(e, lambda batch: at_least(batch.efficiency, e.thresholds.shared))


@claim
def gain_within_ideal(e: Edition) -> Truth:
    """With the most requests timed, no total is more times that of one request than there are requests."""
    return _widest(e, lambda batch: at_most(batch.efficiency, e.thresholds.whole))


@claim
def arithmetic_idle(e: Edition) -> Truth:
    """With the most requests timed, arithmetic is still mostly idle."""
    return _widest(e, lambda batch: below(batch.compute_share, e.thresholds.idle))


@claim
def crossover_reached(e: Edition) -> Truth:
    """Every model was timed with at least as many requests as its calculated crossover to arithmetic."""
    return every((at_least(m.widest.at_once, m.crossover) for m in e.models), e.overall.path)


@claim
def arithmetic_limits(e: Edition) -> Truth:
    """With the most requests timed, decoding uses most of the arithmetic that a plain matrix product reaches."""
    return _widest(e, lambda batch: at_least(batch.compute_share, e.thresholds.computing))


@claim
def limited_past_crossover(e: Edition) -> Truth:
    """Every model that was timed past its calculated crossover is limited by arithmetic there."""
    widest = [model.widest for model in e.models if model.widest.requests > 1]
    past = [batch for batch in widest if at_least(batch.at_once, batch.model.crossover).outcome is Outcome.HOLDS]
    return every((at_least(batch.compute_share, e.thresholds.computing) for batch in past), e.overall.path)


@claim
def arithmetic_takes_over(e: Edition) -> Truth:
    """With KV reads counted, one more request costs more arithmetic than reading, so that a crossover exists."""
    return every((above(m.compute_per_request, m.kv_per_request) for m in e.models), e.overall.path)


@claim
def kv_outweighs_weights(e: Edition) -> Truth:
    """With the most requests timed, keys and values are more bytes than the weights."""
    return _widest(e, lambda batch: above(batch.kv_over_weights, ONE))


# Prefill


@claim
def focus_prefill_faster(e: Edition) -> Truth:
    """The worked example takes in a prompt much faster than it decodes."""
    return at_least(e.focus.prefill_over_decode, e.thresholds.multiple)


@claim
def prefill_faster(e: Edition) -> Truth:
    """Every model takes in a prompt much faster than it decodes."""
    return every((at_least(m.prefill_over_decode, e.thresholds.multiple) for m in e.models), e.overall.path)


@claim
def prefill_flat(e: Edition) -> Truth:
    """From the length of a long prompt on, the rate is constant."""
    longest_first = sorted(e.models, key=lambda model: -len(_long(model, e.thresholds)))
    return every((_flat(model, e.thresholds) for model in longest_first), e.overall.path)


@claim
def prefill_compute_bound(e: Edition) -> Truth:
    """At its best length, prefill uses most of the arithmetic that a plain matrix product reaches."""
    return every((at_least(m.prefill_compute_share, e.thresholds.computing) for m in e.models), e.overall.path)


@claim
def short_prompt_slower(e: Edition) -> Truth:
    """The shortest prompt is taken in more slowly, token for token, than the best length."""
    return every((above(m.short_prompt_loss, e.thresholds.shorter) for m in e.models), e.overall.path)


@claim
def fixed_cost_possible(e: Edition) -> Truth:
    """No longer prompt takes less time than the shortest one takes beyond the best rate, so that can be fixed."""
    pairs = [(model.short_prompt_fixed, prompt) for model in e.models for prompt in model.timed_prompts[1:]]
    return every((at_least(prompt.time, fixed) for fixed, prompt in pairs), e.overall.path)


@claim
def repeated_prompt_impossible(e: Edition) -> Truth:
    """The repeated prompt came out above what the machine can compute."""
    sent = [model for model in e.models if model.repeated.rate.measured]
    return every((above(model.repeated.over_limit, ONE) for model in sent), f"{e.id}.repeated")


def _by_weights(e: Edition, likeness: Callable[[LanguageModel], Hashable]) -> list[list[LanguageModel]]:
    """Models that are alike in something, lightest first, one list each; of those whose weights and rate are known."""
    alike: dict[Hashable, list[LanguageModel]] = {}
    for model in sorted((m for m in e.models if m.traffic.measured), key=lambda model: model.weights.value or 0.0):
        alike.setdefault(likeness(model), []).append(model)
    return list(alike.values())


def _several(e: Edition, members: Iterable[Truth]) -> Truth:
    """A claim that compares models; with one model there is nothing to compare."""
    truth = every(members, e.overall.path)
    alone = len([model for model in e.models if model.traffic.measured]) == 1
    return replace(truth, absences=(Absence("one_model", e.overall.path),)) if alone else truth


def _widest(e: Edition, judge: Callable[[Batch], Truth]) -> Truth:
    """A claim about the most requests timed; a model that was timed with single requests alone is not judged."""
    return every((_several_requests(model, judge) for model in e.models), e.overall.path)


def _several_requests(model: LanguageModel, judge: Callable[[Batch], Truth]) -> Truth:
    return judge(model.widest) if model.widest.requests > 1 else _absent("one_request", model.path)


def _flat(model: LanguageModel, thresholds: Thresholds) -> Truth:
    """Whether a model's long prompts all come near its best rate; one length alone has nothing to be held against."""
    long = _long(model, thresholds)
    if len(long) < 2:
        return _absent("one_long_length" if long else "no_member", model.path)
    return every((at_least(prompt.of_best, thresholds.flat) for prompt in long), model.path)


def _long(model: LanguageModel, thresholds: Thresholds) -> list[Prompt]:
    return [prompt for prompt in model.timed_prompts if prompt.tokens >= (thresholds.long.value or 0)]


def _absent(reason: str, what: str) -> Truth:
    return Truth(Outcome.UNDECIDED, (), (Absence(reason, what),))
