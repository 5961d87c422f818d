"""What the article concludes about streaming recognition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from templates.claims.alike import equal
from templates.claims.register import Register
from templates.facts.constants import ONE
from templates.facts.edition import Edition
from templates.facts.recognition_chunk import Chunk
from templates.facts.recognition_step import ChunkStep
from templates.quantity import constant
from templates.truth import Truth, above, at_least, at_most, below, every

register = Register()
claim = register.claim

NONE = constant(0, "1", "zero")


@claim
def chunk_is_frames(e: Edition) -> Truth:
    """The chunk is (right context + 1) frames, on the model card and, where it was counted, in the package's buffer."""
    chunks = e.recognition.chunks
    card = [equal(chunk.length, chunk.card_length) for chunk in chunks]
    counted = [equal(chunk.length, chunk.counted_length) for chunk in chunks if chunk.counted_length.measured]
    return every([*card, *counted], e.recognition.path)


@claim
def delay_is_waiting(e: Edition) -> Truth:
    """Most of the delay to the final result is waiting for the chunk to fill."""
    return _every_chunk(e, lambda chunk: at_least(chunk.wait_share, e.thresholds.most))


@claim
def frames_computed_once(e: Edition) -> Truth:
    """A step's arithmetic is almost in proportion to its new frames."""
    return _every_chunk(e, lambda chunk: at_least(chunk.work.new_share, e.thresholds.proportionate))


@claim
def cache_saves_work(e: Edition) -> Truth:
    """A step with a cache has less arithmetic than encoding the window again."""
    return _every_chunk(e, lambda chunk: at_least(chunk.work.work_gain, e.thresholds.pays))


@claim
def step_slower_with_cache(e: Edition) -> Truth:
    """With every chunk, a step of one stream takes longer with the cache than encoding the window again."""
    return _every_chunk(e, lambda chunk: below(chunk.cache_gain, ONE))


@claim
def time_follows_work(e: Edition) -> Truth:
    """What the cache saves in time is almost in proportion to what it saves in arithmetic."""
    return _every_chunk(e, lambda chunk: at_least(chunk.work.time_of_work, e.thresholds.proportionate))


@claim
def keys_kept_save_work(e: Edition) -> Truth:
    """A cache of keys and values would save arithmetic, against one of the layers' inputs."""
    return _every_chunk(e, lambda chunk: at_least(chunk.work.kept_work_gain, e.thresholds.pays))


@claim
def keys_kept_pay(e: Edition) -> Truth:
    """The encoder that keeps keys and values takes less time."""
    return _every_chunk(e, lambda chunk: at_least(chunk.work.kept_time_gain, e.thresholds.pays))


@claim
def step_below_ceilings(e: Edition) -> Truth:
    """A step of one stream takes up most of neither the arithmetic nor the bandwidth."""
    most = e.thresholds.most
    return _every_chunk(e, lambda chunk: below(chunk.work.compute_share, most) & below(chunk.work.share, most))


@claim
def recognition_in_kernels(e: Edition) -> Truth:
    """In a step of one stream a kernel runs most of the time."""
    return _every_chunk(e, lambda chunk: at_least(chunk.step.kernel_share, e.thresholds.most))


@claim
def recognition_graph_pays(e: Edition) -> Truth:
    """Replaying the encoder from a CUDA graph makes a step faster."""
    return _every_chunk(e, lambda chunk: at_least(chunk.step.graph_gain, e.thresholds.pays))


@claim
def emission_takes_time(e: Edition) -> Truth:
    """With every chunk, the transducer takes longer when each frame emits a token than when none does."""
    return _every_chunk(e, lambda chunk: at_least(chunk.step.emission_gain, e.thresholds.pays))


@claim
def transducer_within_bounds(e: Edition) -> Truth:
    """As timed, the transducer takes about as long as without tokens, or with one on each frame, or between these."""
    margin = e.thresholds.agrees

    def between(step: ChunkStep) -> Truth:
        no_less = at_least(step.rnnt_time / step.rnnt_silent, ONE - margin)
        return no_less & at_most(step.rnnt_time / step.rnnt_emitting, ONE + margin)

    return _every_chunk(e, lambda chunk: between(chunk.step))


@claim
def cache_serves_more(e: Edition) -> Truth:
    """With a cache, more streams keep up than when windows are encoded again."""
    return _every_chunk(e, lambda chunk: at_least(chunk.streams_gain, e.thresholds.pays))


@claim
def batched_serves_more(e: Edition) -> Truth:
    """With the decoder's state kept as one batch on the device, more streams keep up."""
    return _every_chunk(e, lambda chunk: at_least(chunk.batched_gain, e.thresholds.pays))


@claim
def streamed_is_whole(e: Edition) -> Truth:
    """In fp32 the frames of a streamed recording are those of the whole, but for rounding."""
    return _every_chunk(e, lambda chunk: at_most(chunk.difference, e.thresholds.rounding))


@claim
def exact_is_whole(e: Edition) -> Truth:
    """Without look-ahead they are, if the second chunk is given only the frame that is there."""
    return at_most(e.recognition.chunks[0].difference_exact, e.thresholds.rounding)


@claim
def cache_pays(e: Edition) -> Truth:
    """A step with a cache takes less time than encoding the window again, for one stream."""
    return _every_chunk(e, lambda chunk: at_least(chunk.cache_gain, e.thresholds.pays))


@claim
def context_helps(e: Edition) -> Truth:
    """On synthetic voices the middle chunk has a lower error rate than the shortest, by more than counts as level."""
    return above(e.recognition.chunks[0].errors.loss, e.thresholds.level)


@claim
def largest_chunk_best(e: Edition) -> Truth:
    """On synthetic voices no chunk has a lower error rate than the largest."""
    *others, largest = e.recognition.chunks
    return every(
        (at_most(largest.errors.error_synthetic, o.errors.error_synthetic) for o in others), e.recognition.path
    )


@claim
def card_largest_best(e: Edition) -> Truth:
    """By the model card's rates no chunk has a lower error rate than the largest."""
    *others, largest = e.recognition.chunks
    return every((at_most(largest.errors.card, o.errors.card) for o in others), e.recognition.path)


@claim
def paper_look_ahead_helps(e: Edition) -> Truth:
    """In the paper on cache-aware recognition, each longer look-ahead has a lower error rate."""
    by_look_ahead = (e.evidence.noroozi_0, e.evidence.noroozi_240, e.evidence.noroozi_520, e.evidence.noroozi_1360)
    return every((below(longer, shorter) for shorter, longer in pairwise(by_look_ahead)), e.evidence.path)


@claim
def read_speech_level(e: Edition) -> Truth:
    """On read speech the chunk makes no difference worth the name. One chunk alone cannot differ."""
    return every((at_most(e.recognition.read_spread, e.thresholds.level) for _ in _compared(e)), e.recognition.path)


@claim
def nothing_empty(e: Edition) -> Truth:
    """Something came out for every recording of synthetic voices."""
    return _every_chunk(e, lambda chunk: at_most(chunk.errors.empty_synthetic, NONE))


@claim
def recognition_light(e: Edition) -> Truth:
    """A step takes a small part of its chunk's own length."""
    return _every_chunk(e, lambda chunk: at_most(chunk.load, e.thresholds.light))


def _every_chunk(e: Edition, test: Callable[[Chunk], Truth]) -> Truth:
    """Whether all chunks pass that could be measured."""
    return every(map(test, e.recognition.chunks), e.recognition.path)


def _compared(e: Edition) -> list[Chunk]:
    """Chunks whose error rate on read speech can be held against another's."""
    measured = [chunk for chunk in e.recognition.chunks if chunk.errors.error_read.measured]
    return measured[:1] if len(measured) > 1 else []
