"""Streaming recognition on a stand-in for NeMo's model, and on NeMo itself, tiny, where it is installed."""

import contextlib
import dataclasses
import gc
import importlib.util
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from msgspec.structs import replace
from recogniser import SMALL, Buffer, built, with_buffer
from tiny import failures

from measure import asr_nemotron, device, machine, timing
from measure.asr_nemotron import NAME, Scope
from measure.keys import key, parse_key
from measure.recognition import capacity, conformer, emission, nemotron, recordings, stream, utterance
from measure.recognition.bench import Bench
from measure.recognition.conformer import Shape
from measure.recognition.nemotron import LOOK_AHEADS
from measure.recognition.serving import Batches
from measure.session import Session

TEXT = "nemotron-0.6b-fp32"
EVERYTHING = Scope((0, 3), 4, (8.0,), 4, 1.0, 1.0, 1.0)
HAS_NEMO = importlib.util.find_spec("nemo") is not None


@pytest.fixture
def session(tmp_path):
    """A run on this machine's processor; one thread, since at this size several would only wait for each other."""
    here = replace(machine.describe("cpu"), cores=1)
    return Session(tmp_path / "results.json", "cpu", here, packages=asr_nemotron.NEEDS)


def stand_in(patch):
    """Put the stand-in in NeMo's place; collecting garbage after each of its keys would take most of the time."""
    patch.setattr(asr_nemotron, "NEMOTRON", SMALL)
    patch.setattr(asr_nemotron, "CPU", EVERYTHING)
    patch.setattr(nemotron, "random", lambda shape, precision, where: built(shape, precision))
    patch.setattr(device, "release", lambda where: None)
    with_buffer(patch)


@pytest.fixture
def small(session, monkeypatch):
    """The session measures the stand-in, everything that a processor can."""
    stand_in(monkeypatch)
    return session


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """All that was measured of the stand-in."""
    here = replace(machine.describe("cpu"), cores=1)
    made = Session(tmp_path_factory.mktemp("measured") / "results.json", "cpu", here, packages=asr_nemotron.NEEDS)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        asr_nemotron.measure(made)
    return made


FORCED = ({}, {"emission": "none"}, {"emission": "every"})


def of(quantity, **parameters):
    return key(NAME, quantity, TEXT, **parameters)


def test_every_planned_key_is_recorded(measured, monkeypatch):
    monkeypatch.setattr(asr_nemotron, "CPU", EVERYTHING)
    assert {str(item) for item in asr_nemotron.plan(measured) if measured.load(item) is None} == set()
    told = measured.load(of("step_time", right=3)).config
    expected = {"weights": "random", "language": "ko-KR", "prompt_applied": True, "chunk_ms": 320.0, "streams": 1}
    assert expected.items() <= told.items()
    assert {"new_feature_frames": 32, "given_feature_frames": 41, "decoded_frames": 4}.items() <= told.items()
    assert told["emission"].startswith("forced: one token on about 32% of the frames")


def test_what_is_there_is_not_measured_again(small):
    small.record(of("step_time", right=0), "ms", [1.0], {})
    asr_nemotron.measure(small)
    assert small.load(of("step_time", right=0)).values == [1.0]
    assert small.load(of("step_time", right=3)).values != [1.0]


def test_the_most_important_keys_come_first(small):
    planned = [str(item).split("/")[2] for item in asr_nemotron.plan(small)]
    headline = ("step_time", "buffered_step_time")
    assert planned[:4] == [f"{name}?right={right}" for name in headline for right in (0, 3)]


def test_what_takes_long_comes_after_what_takes_little_and_the_profiler_last(session):
    card = dataclasses.replace(session, machine=replace(session.machine, device="cuda"))
    planned = asr_nemotron.plan(card)
    traced = [item.quantity.endswith("kernel_time") for item in planned]
    assert traced.index(True) == len(traced) - sum(traced)
    sought = [item for item in planned if item.quantity.endswith("streams")]
    plain = [item for item in sought if item.quantity == "streams" and len(item.parameters) == 1]
    assert sought[: len(LOOK_AHEADS)] == plain
    graphs = [place for place, item in enumerate(planned) if dict(item.parameters).get("encoder") == "graph"]
    assert max(graphs) < planned.index(sought[0])
    other, longer = planned.index(sought[len(plain)]), len(asr_nemotron.FULL.windows)
    others = 2 * len(LOOK_AHEADS) + longer
    assert planned[other : other + others] == sought[len(plain) :]
    assert sum("window" in dict(item.parameters) for item in sought) == longer
    assert not any(item.quantity.endswith("streams") for item in planned[planned.index(plain[-1]) + 1 : other])
    assert len(planned) == other + others + sum(traced)


@pytest.mark.parametrize("where", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("quick", [True, False])
def test_every_device_has_a_plan(session, where, quick):
    there = dataclasses.replace(session, quick=quick, machine=replace(session.machine, device=where))
    planned = [str(item) for item in asr_nemotron.plan(there)]
    assert len(planned) == len(set(planned)) >= 10
    assert 0 < asr_nemotron.seconds(there) <= 12 * 60
    assert asr_nemotron.subject(there).endswith("fp32" if where == "cpu" else "bf16")


def test_facts_find_their_keys(session, tmp_path):
    """The keys that templates/facts/recognition.py asks for are among those of a card's plan."""
    card = dataclasses.replace(session, machine=replace(session.machine, device="cuda"))
    planned = {str(item) for item in asr_nemotron.plan(card)}
    subject = f"{NAME}/nemotron-0.6b-bf16"
    for right in LOOK_AHEADS:
        for quantity in ("step_time", "buffered_step_time", "streams"):
            assert f"{subject}/{quantity}?right={right}" in planned
    scored = dataclasses.replace(card, options={"audio": f"synthetic:{tmp_path},fleurs:hub:google/fleurs"})
    planned = {str(item) for item in asr_nemotron.plan(scored)}
    for right in LOOK_AHEADS:
        for label in ("synthetic", "fleurs"):
            assert f"{subject}/cer?audio={label}&right={right}" in planned


def test_another_device_says_that_it_is_not_measured(session):
    apple = dataclasses.replace(session, machine=replace(session.machine, device="mps"))
    asr_nemotron.measure(apple)
    assert {reason for reason, _ in failures(apple).values()} == {"unsupported"}


def test_too_little_memory_is_said_before_anything_is_built(small, monkeypatch):
    monkeypatch.setattr(asr_nemotron, "NEMOTRON", conformer.NEMOTRON)
    monkeypatch.setattr(device, "free_bytes", lambda machine: 2**30)
    monkeypatch.setattr(nemotron, "random", lambda *_: pytest.fail("built all the same"))
    asr_nemotron.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"not_enough_memory"}


def test_without_nemo_each_key_says_so(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "nemo", None)
    monkeypatch.setattr(asr_nemotron, "CPU", EVERYTHING)
    monkeypatch.setattr(asr_nemotron, "_check_memory", lambda session: None)
    asr_nemotron.measure(session)
    assert {reason for reason, _ in failures(session).values()} == {"engine_missing"}


# Steps


@pytest.fixture
def bench(small):
    """The bench of the stand-in, its random weights made to emit."""
    made = Bench(small, built(), {}, EVERYTHING)
    with torch.inference_mode():
        emission.force(made.recogniser)
        yield made


@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_chunks_follow_each_other_without_a_gap_or_an_overlap(right):
    """What streams hear in chunks is what the features of the whole sound are."""
    recogniser, sound = built(), stream.noise(12)
    heard = stream.Cached(recogniser, right, 1, sound, "batched")
    whole, _ = recogniser.model.preprocessor(sound[None], torch.tensor([len(sound)]))
    chunks = []
    for _ in range(3):
        chunks.append(heard.hear()[0, :, heard.again :])
        heard.arrive()
    together = torch.cat(chunks, 1)
    assert torch.allclose(together, whole[0, :, stream.AHEAD : stream.AHEAD + together.shape[1]], atol=1e-6)


def test_a_step_is_given_what_the_package_caches_and_the_chunk(bench):
    heard = stream.Packaged(bench.recogniser, 3, 1, bench.sound, "package")
    heard.step()
    assert heard.mel.shape == (1, SMALL.features, 9 + 32)
    assert bench.recogniser.model.steps[-1] == {"keep_all_outputs": True, "drop_extra_pre_encoded": 2}


@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_the_packages_own_step_makes_the_same_calls(bench, right):
    check_programs(bench.recogniser, right, 2)


def check_programs(recogniser, right, streams):
    """The package's own step against its encoder, prompt and decoder called in turn: tokens and caches are the same."""
    own, called = (
        kind(recogniser, right, streams, stream.noise(12.0), "package") for kind in (stream.Packaged, stream.Cached)
    )
    for each in (own, called):
        recogniser.rewind()
        for _ in range(-(-30 // (right + 1))):
            each.arrive()
            each.step()
    assert own.tokens > 0
    tokens = [[[int(token) for token in told.y_sequence] for told in each.hypotheses] for each in (own, called)]
    assert tokens[0] == tokens[1]
    assert [told.text for told in own.hypotheses] == [told.text for told in called.hypotheses]
    assert all(torch.equal(*pair) for pair in zip(own.cache, called.cache, strict=True))


def test_what_compares_is_timed_in_turn_and_made_alike(bench, monkeypatch):
    """With a cache, without one and by the package's own step, whichever is asked first; one alone beside the first."""
    order, timed = [], bench.timed
    monkeypatch.setattr(bench, "timed", lambda streams: order.append(type(streams)) or timed(streams))
    asked = [of("buffered_step_time", right=3), of("step_time", right=3), of("step_time", program="package", right=3)]
    bench.measure(asked)
    assert order == [stream.Cached, stream.Buffered, stream.Packaged] * EVERYTHING.repeats
    window, cache, package = (bench.session.load(item).config for item in asked)
    assert window["program"] == cache["program"] != package["program"] == "conformer_stream_step"
    assert {told["steps_in_turn"] for told in (window, cache, package)} == {3}
    assert cache["warmups"] == package["warmups"] > window["warmups"]
    order.clear()
    bench.measure([of("buffered_step_time", right=3, window="8")])
    assert order == [stream.Cached, stream.Buffered] * EVERYTHING.repeats


def test_a_kind_of_step_that_fails_leaves_the_others(bench, monkeypatch):
    """The recorded graph, which a processor does not have."""
    asked = [of("step_time", right=3), of("step_time", encoder="graph", right=3), of("buffered_step_time", right=3)]
    bench.measure(asked)
    assert [bench.session.load(item) is not None for item in asked] == [True, False, True]
    assert bench.session.load(asked[0]).config["steps_in_turn"] == 2


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (of("streams", right=3), stream.Packaged),
        (of("streams", decoder="batched", right=3), stream.Cached),
        (of("buffered_streams", right=3), stream.Buffered),
        (of("stream_memory", right=3), stream.Cached),
        (of("step_kernel_time", right=3), stream.Cached),
    ],
)
def test_streams_are_served_by_the_packages_own_step(bench, item, kind):
    assert type(bench.make(item)) is kind


@pytest.mark.parametrize("decoder", ["package", "batched"])
def test_both_ways_to_decode_give_the_same_tokens(bench, decoder):
    heard = stream.Cached(bench.recogniser, 3, 2, bench.sound, decoder)
    for _ in range(6):
        heard.arrive()
        heard.step()
    other = stream.Cached(bench.recogniser, 3, 2, bench.sound, "package" if decoder == "batched" else "batched")
    for _ in range(6):
        other.arrive()
        other.step()
    assert heard.tokens == other.tokens > 0


@pytest.mark.parametrize("decoder", ["package", "batched"])
@pytest.mark.parametrize("streams", [1, 7])
@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_random_weights_emit_as_often_as_speech(bench, right, streams, decoder):
    check_rate(bench.recogniser, right, streams, decoder)


def check_rate(recogniser, right, streams, decoder):
    """Of what streams emit in eight seconds, the same whatever their frames are, as those of deep encoders drift."""
    heard = stream.Cached(recogniser, right, streams, stream.noise(), decoder)
    drift, mixed = iter(range(1000)), heard.prompt
    if decoder == "batched":
        heard.prompt = lambda frames: mixed(frames) + next(drift)
    for _ in range(100 // (right + 1)):
        heard.arrive()
        heard.step()
    assert heard.tokens_per_second == pytest.approx(emission.TOKENS_PER_SECOND, rel=0.1)


def test_frames_that_emit_are_drawn_for_each_stream_and_always_as_many(bench):
    pattern = emission.Pattern(0.32, "cpu")
    first, then = pattern.next(3, 75), pattern.next(3, 25)
    assert first.sum(1).tolist()[0] == 24 and then.sum(1).tolist()[0] == 8
    assert len({tuple(row.tolist()) for row in first}) == 3
    assert not torch.equal(first[0, :25], first[0, 25:50])
    pattern.place = 0
    assert torch.equal(pattern.next(3, 100), torch.cat((first, then), 1))
    assert pattern.next(1 << 14, 14).shape == (1 << 14, 14)


def test_a_decoder_that_does_not_emit_as_often_is_refused(bench, monkeypatch):
    silent = SimpleNamespace(current_lengths=torch.zeros(emission.CHECKED_STREAMS))
    monkeypatch.setattr(type(bench.recogniser.model.computer), "__call__", lambda self, **given: (silent, None))
    with pytest.raises(ArithmeticError, match="these weights emit 0"):
        emission.force(bench.recogniser)


def test_each_batch_makes_the_decoder_forget_the_one_before(bench, monkeypatch):
    """Its CUDA graphs are made for the largest batch ever seen, and compute all of it."""
    forgotten = []
    monkeypatch.setattr(bench.recogniser, "forget", lambda: forgotten.append(True))
    for streams in (8, 1):
        stream.Cached(bench.recogniser, 0, streams, bench.sound, "batched")
    assert len(forgotten) >= 2


def test_a_language_has_to_be_one_that_the_model_knows(session, small):
    other = dataclasses.replace(small, options={"language": "xx-XX"})
    asr_nemotron.measure(other)
    assert {detail for _, detail in failures(other).values()} == {"ValueError: Unknown target language 'xx-XX'"}


class Recording:
    """A CUDA graph that only notes what is replayed."""

    replays = 0

    def replay(self):
        self.replays += 1


def test_a_recorded_step_reads_and_writes_the_same_places(bench, monkeypatch):
    """A graph replays what was recorded on fixed memory: what goes in is copied there, and caches are written back."""
    for name in ("Stream", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    for name in ("stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Recording)
    graphed = stream.Graphed(bench.recogniser, 3, 1, bench.sound, "package")
    places = [each.data_ptr() for each in (*graphed.cache, graphed._given)]
    for _ in range(3):
        graphed.arrive()
        graphed.step()
    assert graphed._graph.replays == 3
    assert [each.data_ptr() for each in (*graphed.cache, graphed._given)] == places
    assert torch.equal(graphed._given, graphed.mel)
    assert int(graphed.cache[2]) == SMALL.left
    assert graphed.encode(graphed.mel) is graphed._encoded


def test_forced_emission_is_undone_afterwards(bench):
    usual = float(bench.recogniser.blank)
    for name in ("none", "every"):
        bench._part(of("step_part_time", emission=name, part="rnnt", right=3))
    assert float(bench.recogniser.blank) == usual
    none, every = (
        bench.session.load(of("step_part_time", emission=name, part="rnnt", right=3)).config["tokens_per_second"]
        for name in ("none", "every")
    )
    assert (none, every) == (0, 12.5)


def test_emissions_are_timed_in_turn(bench, monkeypatch):
    """Whichever is asked first; real weights and recorded steps have but one."""
    told, emit = [], bench._emit
    monkeypatch.setattr(bench, "_emit", lambda how, usual: told.append(how) or emit(how, usual))
    bench._part(of("step_part_time", part="rnnt", right=3))
    for name in ("none", "every"):
        bench._part(of("step_part_time", emission=name, part="rnnt", right=3))
    assert told == ["usual", "none", "every"] * (1 + EVERYTHING.repeats) + ["usual"]
    samples = [bench.session.load(of("step_part_time", part="rnnt", right=3, **more)) for more in FORCED]
    assert [sample.config["tokens_per_second"] for sample in samples] == [pytest.approx(4, rel=0.5), 0, 12.5]
    assert {sample.config["steps_in_turn"] for sample in samples} == {4}


def test_what_was_loaded_is_frozen_while_keys_are_measured(small, monkeypatch):
    bench, held = Bench(small, built(), {}, EVERYTHING), []
    monkeypatch.setitem(bench._measures, "parameters", lambda item: held.append(gc.get_freeze_count()))
    bench.measure([of("parameters")])
    assert held[0] > 10_000 > gc.get_freeze_count()


def test_real_weights_are_not_made_to_emit(small):
    bench = Bench(small, built(kind="real"), {}, EVERYTHING)
    before = float(bench.recogniser.blank)
    bench.measure([of("step_part_time", emission="none", part="rnnt", right=3), of("step_time", right=3)])
    assert float(bench.recogniser.blank) == before
    assert failures(small) == {
        str(of("step_part_time", emission="none", part="rnnt", right=3)): (
            "unsupported",
            "NotImplementedError: real weights emit what they emit",
        )
    }
    assert small.load(of("step_time", right=3)).config["emission"] == "by the weights"


def test_parts_of_the_same_steps_serve_all_their_keys(bench, monkeypatch):
    made = []
    monkeypatch.setattr(bench, "make", lambda item, made_by=bench.make: made.append(item) or made_by(item))
    for part in asr_nemotron.PARTS:
        bench._part(of("step_part_time", part=part, right=3))
    assert len(made) == 3  # as usual, never, on each frame
    assert bench.session.load(of("step_part_time", part="rnnt", right=3)).config["device_waited_for"]


def test_parts_are_timed_in_turn_with_whole_steps(bench, monkeypatch):
    """Times of 1, 2, ... ms as asked: four parts, the whole step, then four parts of either other emission."""
    took = iter(range(1, 1000))
    monkeypatch.setattr(timing, "wall_seconds", lambda work, where: (work(), next(took) / 1e3)[1])
    bench._part(of("step_part_time", part="rnnt", right=3))
    sample = bench.session.load(of("step_part_time", part="rnnt", right=3))
    assert sample.values == pytest.approx([4, 17, 30, 43])
    assert sample.config["whole_step_ms"] == pytest.approx((18 + 31) / 2)
    assert sample.config["tokens"] == pytest.approx(sample.config["tokens_per_second"] * 2 * 4 * 0.32)
    bench._part(of("step_part_time", emission="none", part="rnnt", right=3))
    assert "whole_step_ms" not in bench.session.load(of("step_part_time", emission="none", part="rnnt", right=3)).config


# Streams


@pytest.fixture
def patient(bench):
    """No search ends because time is up."""
    bench.scope = EVERYTHING._replace(most_streams=4096, watch_s=1e9, search_s=1e9)
    return bench


def steps_take(monkeypatch, seconds):
    """A step of a batch takes what the function says of its size."""
    monkeypatch.setattr(timing, "wall_seconds", lambda work, where: (work(), seconds())[1])


def test_streams_that_keep_up_by_the_percentile(patient, monkeypatch):
    """A step takes 20 ms and 5 ms a stream: 60 fill a chunk of 320 ms."""
    batch = patient.recogniser.model.computer.batches
    steps_take(monkeypatch, lambda: 0.02 + 0.005 * batch[-1])
    patient.serving.streams(of("streams", right=3))
    sample = patient.session.load(of("streams", right=3))
    assert 54 <= sample.values[0] <= 60
    told = {
        "percentile": 95,
        "observations": 130,
        "late_steps": 0,
        "confidence": round(1 - 0.95**130, 3),
        "limited_by": "time",
        "decoder_called": "package",
        "cache": "inputs of the layers",
    }
    assert told.items() <= sample.config.items()
    assert sample.config["percentile_ms"] <= 320 < 20 + 5 * sample.config["beyond"]
    assert sample.config["streams"] == sample.values[0]
    assert f"{sample.config['streams']}:held:{sample.config['percentile_ms']:.1f}ms:0of130" in sample.config["tried"]


def test_late_steps_are_told_and_no_more_are_there_than_support_the_number(patient, monkeypatch):
    """Each thirtieth step is late: 4 of 130."""
    count = iter(range(10_000))
    batch = patient.recogniser.model.computer.batches
    steps_take(monkeypatch, lambda: 9.0 if next(count) % 30 == 29 else 0.005 * batch[-1])
    patient.serving.streams(of("streams", right=3))
    told = patient.session.load(of("streams", right=3)).config
    assert told["late_steps"] in (4, 5)
    assert told["confidence"] == round(capacity.confidence(130, told["late_steps"]), 3)
    assert told["percentile_ms"] <= 320


def test_late_steps_in_which_python_collected_its_garbage_are_told(patient, monkeypatch):
    """A full collection in each fourth step of more than 20 streams; all of them, and no others, are late."""
    batch, count = patient.recogniser.model.computer.batches, iter(range(10_000))

    def step(work, where):
        work()
        if batch[-1] <= 20 or next(count) % 4:
            return 0.01
        gc.collect()
        return 0.4

    gc.disable()
    try:
        monkeypatch.setattr(timing, "wall_seconds", step)
        patient.serving.streams(of("streams", right=3))
    finally:
        gc.enable()
    sample = patient.session.load(of("streams", right=3))
    assert 18 <= sample.values[0] <= 20
    told = {
        "late_steps": 0,
        "collecting_steps": 0,
        "late_collecting_steps": 0,
        "beyond_late_steps": 6,
        "beyond_collecting_steps": 6,
        "beyond_late_collecting_steps": 6,
    }
    assert told.items() <= sample.config.items()


def test_other_ways_to_serve_have_less_time(bench):
    bench.scope = EVERYTHING._replace(watch_s=10.4, search_s=16.0)
    usual, batched, buffered = (
        bench.serving.bounds(item)
        for item in (
            of("streams", right=0),
            of("streams", decoder="batched", right=0),
            of("buffered_streams", right=0),
        )
    )
    assert (usual.steps, usual.search_s) == (130, 16.0)
    assert batched == buffered == usual._replace(steps=83, search_s=pytest.approx(11.2))


def limited(monkeypatch, bench, most):
    """Memory suffices for so many streams."""
    make = bench.make

    def made(item, streams=1):
        if streams > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return make(item, streams)

    monkeypatch.setattr(bench, "make", made)
    steps_take(monkeypatch, lambda: 0.01)


def test_memory_that_runs_out_bounds_the_streams(patient, monkeypatch):
    limited(monkeypatch, patient, 20)
    patient.serving.streams(of("streams", right=3))
    sample = patient.session.load(of("streams", right=3))
    assert 18 <= sample.values[0] <= 20
    assert sample.config["limited_by"] == "memory"
    assert "64:memory" in sample.config["tried"].split()


def test_memory_that_runs_out_in_a_step_bounds_the_streams(patient, monkeypatch):
    def step(work, where):
        work()
        if batch[-1] > 20:
            raise RuntimeError("canUse32BitIndexMath: input tensor must fit into 32-bit index math")
        return 0.01

    batch = patient.recogniser.model.computer.batches
    monkeypatch.setattr(timing, "wall_seconds", step)
    patient.serving.streams(of("streams", decoder="batched", right=3))
    sample = patient.session.load(of("streams", decoder="batched", right=3))
    assert 18 <= sample.values[0] <= 20
    assert sample.config["limited_by"] == "memory"


def test_memory_for_not_even_one_stream_is_a_failure(patient, monkeypatch):
    limited(monkeypatch, patient, 0)
    patient.measure([of("streams", right=3)])
    assert failures(patient.session)[str(of("streams", right=3))] == ("not_enough_memory", "not even one stream fits")


def test_an_error_that_is_not_of_memory_is_a_failure(bench, monkeypatch):
    monkeypatch.setattr(stream.Streams, "decode", lambda self, frames: 1 / 0)
    bench.measure([of("streams", decoder="batched", right=3)])
    assert failures(bench.session)[str(of("streams", decoder="batched", right=3))][0] == "crashed"


def test_not_even_one_stream_keeps_up(bench, monkeypatch):
    """A zero has no percentile: nothing was watched to the end."""
    steps_take(monkeypatch, lambda: 9.0)
    bench.serving.streams(of("streams", right=3))
    sample = bench.session.load(of("streams", right=3))
    assert sample.values == [0]
    assert {"limited_by": "time", "beyond": 1}.items() <= sample.config.items()
    assert "percentile" not in sample.config


def test_a_smaller_batch_goes_on_with_the_streams_of_the_one_before(bench, monkeypatch):
    made = []
    monkeypatch.setattr(bench, "make", lambda *told, make=bench.make: made.append(told[1]) or make(*told))
    batches = Batches(bench, of("streams", right=3))
    for number in (8, 4, 4, 6):
        assert batches.ready(number)() > 0
        assert batches.latest.streams == number
    assert made == [8, 6]


@pytest.mark.parametrize("kind", [stream.Cached, stream.Buffered])
@pytest.mark.parametrize("decoder", ["package", "batched"])
def test_a_narrowed_batch_steps_as_its_first_streams_would_have(kind, decoder):
    """The same frames and tokens, as long as the decoder's state makes no difference, as it does in the stand-in."""
    check_narrowed(built(), kind, decoder, 6, 2)


def check_narrowed(recogniser, kind, decoder, many, few):
    """Steps of many streams, of which few go on, against few that were alone from the start; sound in step."""
    sound = stream.noise(12.0)
    narrowed, alone = (kind(recogniser, 3, count, sound, decoder) for count in (many, few))
    for each in (narrowed, alone):
        each.heard = each.heard[:1].repeat(each.streams, 1)
        each.arrive = lambda: None
        for _ in range(2):
            each.step()
        recogniser.forget()
    before = narrowed.tokens
    assert before * few == alone.tokens * many
    narrowed.narrow(few)
    assert narrowed.tokens == before
    made = [each.encode(each.hear()) for each in (narrowed, alone)]
    assert torch.allclose(*made, atol=1e-5)
    counts = []
    for each in (narrowed, alone):
        recogniser.forget()
        each.decode(each.prompt(made[0]))
        counts.append(each.tokens)
    assert counts[0] - before == counts[1] - before * few // many
    return narrowed


# Streamed against whole


def test_the_chunk_is_counted_in_the_frames_that_are_consumed(measured):
    for right in (0, 3):
        sample = measured.load(of("chunk_length", right=right))
        assert set(sample.values) == {80.0 * (right + 1)}
        assert sample.config["first_feature_frames"] == 1 + 8 * right


def test_streamed_frames_are_those_of_the_whole_but_for_the_padded_one(measured):
    padded, exact, middle = (
        measured.load(of("stream_difference", **told))
        for told in (
            {"dtype": "fp32", "right": 0},
            {"chunks": "exact", "dtype": "fp32", "right": 0},
            {"dtype": "fp32", "right": 3},
        )
    )
    assert min(padded.values) > 0.01
    assert padded.config["first_frame_off"] == 1
    assert max(exact.values) < 1e-6 and max(middle.values) < 1e-6
    assert exact.config["first_frame_off"] == middle.config["first_frame_off"] == -1


def test_recordings_of_different_lengths_are_streamed_together(small):
    recogniser = built()
    sounds = [stream.noise(seconds, seed) for seed, seconds in enumerate((2.0, 3.7, 1.1))]
    together = utterance.streamed(recogniser, utterance.load(recogniser, 3, sounds))
    for place, sound in enumerate(sounds):
        alone = utterance.streamed(recogniser, utterance.load(recogniser, 3, [sound]))
        assert together.tokens[place][: len(alone.tokens[0])] == alone.tokens[0]


# Errors


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three recordings whose sound is noise; the stand-in says the same of each."""
    place = tmp_path / "audio"
    place.mkdir()
    for name, text in (("a", "one two"), ("b", "One, two!"), ("c", "one too")):
        (place / f"{name}.wav").write_bytes(b"")
        (place / f"{name}.txt").write_text(text)
    monkeypatch.setattr(recordings, "sound", lambda path: stream.noise(1.0))
    return place


def scored(small, folder, letters):
    pytest.importorskip("jiwer", reason="counts errors; part of the extras nemo, test and accuracy")
    given = dataclasses.replace(small, options={"audio": f"synthetic:{folder}", "weights": "real.nemo"})
    recogniser = built(kind="real", letters=letters)
    Bench(given, recogniser, {}, EVERYTHING).measure(asr_nemotron.error_keys(given))
    return given


def test_error_rates_of_recordings(small, folder):
    given = scored(small, folder, "one two <en-US>")
    assert failures(given) == {}
    sample = given.load(of("cer", audio="synthetic", right=3))
    assert sample.values == [pytest.approx(100 * 1 / 21)]
    told = {
        "recordings": 3,
        "scored_recordings": 3,
        "empty_outputs": 0,
        "edits": 1,
        "weights": "real",
        "fed": "chunks from NeMo's buffer",
    }
    assert told.items() <= sample.config.items()
    assert given.load(of("wer", audio="synthetic", right=3)).values == [pytest.approx(100 * 1 / 6)]
    assert given.load(of("cer", audio="synthetic", right=3, spaces="without")).values == [pytest.approx(100 * 1 / 18)]
    assert given.load(of("cer", audio="synthetic", input="whole", right=3)).config["fed"] == "whole"


def test_empty_outputs_are_counted_and_listed(small, folder, capsys):
    given = scored(small, folder, "<en-US>")
    sample = given.load(of("cer", audio="synthetic", right=13))
    assert sample.values == [100.0]
    assert {"empty_outputs": 3, "empty_places": "1,2,3"}.items() <= sample.config.items()
    assert "nothing recognised in b.wav" in capsys.readouterr().out


def test_random_weights_recognise_nothing(small, folder):
    given = dataclasses.replace(small, options={"audio": str(folder)})
    Bench(given, built(), {}, EVERYTHING).measure(asr_nemotron.error_keys(given))
    found = {parse_key(text).quantity: reason for text, (reason, _) in failures(given).items()}
    assert found == {"cer": "unsupported", "wer": "unsupported"}


def test_real_weights_hear_the_recordings_that_were_named(small, folder):
    given = dataclasses.replace(small, options={"audio": f"synthetic:{folder}"})
    bench = Bench(given, built(kind="real"), {}, EVERYTHING)
    assert bench.heard == "recordings: synthetic"
    assert len(bench.sound) >= stream.NOISE_S * nemotron.SAMPLE_RATE


# NeMo itself

TINY = Shape(layers=2, hidden=64, heads=4, channels=16, prediction=32, vocabulary=254)

needs_nemo = pytest.mark.skipif(not HAS_NEMO, reason="nemo_toolkit has an environment of its own (extra nemo)")


@pytest.fixture(scope="module")
def tiny():
    """NeMo's own classes, a thousandth of the size."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        return nemotron.random(TINY, "fp32", "cpu")


@pytest.fixture(scope="module")
def speaking():
    """The same in bf16, made to emit."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        made = nemotron.random(TINY, "bf16", "cpu")
        emission.force(made)
        return made


@needs_nemo
def test_the_real_model_has_the_size_that_is_computed(tiny):
    assert tiny.parameters == TINY.parameters
    assert nemotron.shape_of(tiny.model) == TINY


@needs_nemo
@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_the_arithmetic_of_the_real_model_is_the_formula(tiny, right, session):
    with torch.inference_mode():
        for quantity in ("step_flops", "buffered_step_flops"):
            Bench(session, tiny, {}, EVERYTHING).counting.flops(of(quantity, right=right))
            sample = session.load(of(quantity, right=right))
            assert sample.values == [sample.config["formula"]]


@needs_nemo
@pytest.mark.parametrize("right", [0, 3])
def test_the_real_model_streams_what_it_encodes_at_once(tiny, right):
    with torch.inference_mode():
        buffer = utterance.load(tiny, right, [stream.noise(3.0, 1)])
        streamed = utterance.streamed(tiny, buffer, exact=True)
        (found,) = utterance.differences(streamed, utterance.whole(tiny, buffer))
        assert found.relative < 1e-4
        buffer = utterance.load(tiny, right, [stream.noise(3.0, 1)])
        (padded,) = utterance.differences(utterance.streamed(tiny, buffer), utterance.whole(tiny, buffer))
    assert (padded.first_frame == 1) is (right == 0)


@needs_nemo
def test_the_stand_in_is_called_as_the_real_model_is(tiny):
    """Its buffer hands out chunks of the same sizes."""
    for right in LOOK_AHEADS:
        buffer = utterance.load(tiny, right, [stream.noise(4.0)])
        own = Buffer(built().model, None, False)
        own.right = right
        own.append_audio(stream.noise(4.0).numpy(), -1)
        real_shapes = [(mel.shape[2], int(lengths[0])) for mel, lengths in buffer]
        assert [(mel.shape[2], int(lengths[0])) for mel, lengths in own] == real_shapes


@needs_nemo
@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_random_weights_of_the_real_model_emit_as_often_as_speech(speaking, right):
    with torch.inference_mode():
        for streams, decoder in ((1, "package"), (3, "package"), (3, "batched")):
            check_rate(speaking, right, streams, decoder)


@needs_nemo
@pytest.mark.parametrize("right", LOOK_AHEADS)
def test_the_packages_own_step_makes_the_same_calls_in_the_real_model(speaking, right):
    with torch.inference_mode():
        check_programs(speaking, right, 3)


@needs_nemo
@pytest.mark.parametrize("kind", [stream.Cached, stream.Packaged, stream.Buffered])
@pytest.mark.parametrize("decoder", ["package", "batched"])
def test_a_narrowed_batch_of_the_real_model(tiny, kind, decoder):
    """A batched decoder begins anew, so its tokens may differ; NeMo's own goes on."""
    with torch.inference_mode():
        if decoder == "package":
            narrowed = check_narrowed(tiny, kind, decoder, 6, 2)
        else:
            narrowed = kind(tiny, 3, 6, stream.noise(12.0), decoder)
            narrowed.step()
            narrowed.narrow(2)
        for _ in range(2):
            narrowed.arrive()
            narrowed.step()
    assert narrowed.mel.shape[0] == narrowed.heard.shape[0] == 2


@needs_nemo
def test_real_weights_from_a_file(tiny, tmp_path):
    # What a model was built from goes into its file, and of this one it is gone.
    place = Path(tiny.model.model_path).parent
    place.mkdir()
    nemotron.write_tokenizer(place, TINY.vocabulary)
    tiny.model.save_to(str(tmp_path / "tiny.nemo"))
    shutil.rmtree(place)
    found = nemotron.real(TINY, "fp32", "cpu", str(tmp_path / "tiny.nemo"))
    assert (found.weights, found.parameters, found.emission) == ("real", TINY.parameters, "by the weights")
    with pytest.raises(nemotron.WeightsError, match="is another model \\(layers 2, hidden 64"):
        nemotron.real(conformer.NEMOTRON, "fp32", "cpu", str(tmp_path / "tiny.nemo"))
    with pytest.raises(nemotron.WeightsError, match="cannot be loaded"):
        nemotron.real(TINY, "fp32", "cpu", str(tmp_path / "absent.nemo"))


@needs_nemo
def test_nemo_measures_every_planned_key(session, monkeypatch):
    monkeypatch.setattr(asr_nemotron, "NEMOTRON", TINY)
    monkeypatch.setattr(asr_nemotron, "CPU", EVERYTHING._replace(rights=(3,), repeats=3, most_streams=2))
    asr_nemotron.measure(session)
    for item in asr_nemotron.plan(session):
        assert session.load(item) is not None, failures(session)
    told = session.load(of("step_time", right=3)).config
    assert told["prompt_applied"] is True and told["tokens"] > 0
