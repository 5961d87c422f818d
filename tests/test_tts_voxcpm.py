"""Every planned key of VoxCPM2 is measured on a stand-in of its package, and on the package where it is installed."""

import dataclasses
import sys
import wave

import numpy
import pytest
import torch
from msgspec.structs import replace
from test_nano_voxcpm import install_nano
from tiny import failures
from voxcpm_package import COSTS, Clock, Model, install

from measure import kernels, limits, machine, timing, tts_voxcpm
from measure.card import Card
from measure.kernels import Trace
from measure.keys import key
from measure.session import OptionError, Session
from measure.store import load
from measure.synthesis import sentences, speaking, voxcpm2_bench, voxcpm2_weights
from measure.weights import WeightsError

NAME, SUBJECT = "tts_voxcpm", "voxcpm2-bf16"
PATCH_PARTS = ("solver", "local_encoder", "stop_check", "base_lm", "residual_lm", "projection")
PATCH_MS = 9 * COSTS["call"] + sum(COSTS[part] for part in PATCH_PARTS)
"""What a patch takes with 10 time steps, without the VAE, which adds 0.25 ms where all is decoded at once."""
FIXED_MS = 3 * COSTS["tokenising"] + COSTS["prefill"] + 2 * COSTS["cache_clearing"] + COSTS["vae"] + COSTS["copy"]


def stand_in(monkeypatch, folder):
    """A session on a machine with an NVIDIA card, which stand-ins take the place of; everything but lengths is less."""
    install(monkeypatch)
    install_nano(monkeypatch)
    build = voxcpm2_weights.random
    monkeypatch.setattr(voxcpm2_weights, "random", lambda where, *, compiled: build("cpu", compiled=compiled))
    monkeypatch.setattr(timing, "synchronize", lambda device: None)
    monkeypatch.setattr(Card, "free_bytes", lambda self: 2**33 - int(Clock.now * 2**20))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 5 * 2**30)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 6 * 2**30)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(kernels, "trace", traced)
    monkeypatch.setattr(speaking, "FIRST_REPEATS", 3)
    monkeypatch.setattr(voxcpm2_bench, "STAGED", (1, 5))
    monkeypatch.setattr(voxcpm2_bench, "STREAMS", 3)
    monkeypatch.setattr(voxcpm2_bench, "STREAMED_PATCHES", 6)
    monkeypatch.setattr(voxcpm2_bench, "LOADER", "numpy")
    for name in ("FULL", "QUICK", "NANO"):
        less = getattr(tts_voxcpm, name)._replace(short=2, long=6, repeats=3, traced=4, traces=3)
        monkeypatch.setattr(tts_voxcpm, name, less)
    here = replace(machine.describe("cpu"), device="cuda", accelerators=1)
    return Session(folder / "results.json", "card", here, packages=("torch",))


@pytest.fixture
def card(monkeypatch, tmp_path):
    """Such a session with all but one length left out."""
    session = stand_in(monkeypatch, tmp_path)
    monkeypatch.setattr(tts_voxcpm, "FULL", tts_voxcpm.FULL._replace(patches=(6,)))
    return session


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Such a session, in which everything has been measured once."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        session = stand_in(monkeypatch, tmp_path_factory.mktemp("measured"))
        tts_voxcpm.measure(session)
        yield session


def traced(work):
    """A trace in which a kernel runs for half of the time."""
    start = Clock.now
    work()
    taken = Clock.now - start
    return Trace(taken / 2, round(taken * 1e3), {"gemm": taken / 4, "flash_fwd": taken / 8})


def sample(session, quantity, **parameters):
    return session.load(key(NAME, quantity, SUBJECT, **parameters))


def median(session, quantity, **parameters):
    found = sample(session, quantity, **parameters)
    assert found is not None, failures(session)
    return found.median


# What is planned


@pytest.mark.parametrize("where", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("quick", [True, False])
def test_every_device_has_a_plan(card, where, quick):
    there = dataclasses.replace(card, quick=quick, machine=replace(card.machine, device=where))
    planned = [str(item) for item in tts_voxcpm.plan(there)]
    assert len(planned) == len(set(planned)) >= 6
    assert tts_voxcpm.seconds(there) > 0


def test_at_least_twelve_lengths_and_five_numbers_of_steps_are_planned(card):
    planned = tts_voxcpm.plan(card)
    plain = [dict(item.parameters) for item in planned if item.quantity == "utterance_time"]
    assert len([told for told in plain if told.keys() == {"patches"}]) == 1
    assert len(set(tts_voxcpm.PATCHES)) >= 12
    steps = [dict(item.parameters) for item in planned if item.quantity == "patch_time"]
    assert [told["steps"] for told in steps if told.keys() == {"steps"}] == ["10", "8", "6", "4", "2"]


def test_what_matters_most_comes_first(card):
    first, second, third, *_ = (str(item) for item in tts_voxcpm.plan(card))
    assert second == f"{NAME}/{SUBJECT}/patch_time?steps=10"
    assert {first, third} == {f"{NAME}/{SUBJECT}/parameters", f"{NAME}/{SUBJECT}/first_audio"}


@pytest.mark.parametrize(("where", "reason"), [("cpu", "too_slow"), ("mps", "unsupported")])
def test_where_it_is_not_measured_each_key_says_why(card, where, reason):
    there = dataclasses.replace(card, machine=replace(card.machine, device=where))
    tts_voxcpm.measure(there)
    failed = failures(there)
    assert set(failed) == {str(item) for item in tts_voxcpm.plan(there)}
    assert {told for told, _ in failed.values()} == {reason}


def test_recordings_of_random_weights_are_refused(card):
    asked = dataclasses.replace(card, options={"audio": "somewhere"})
    with pytest.raises(OptionError, match="random weights say nothing"):
        tts_voxcpm.plan(asked)


def test_sentences_are_as_many_in_each_language_and_no_two_alike():
    told = sentences.sentences()
    assert set(told) >= set(tts_voxcpm.LANGUAGES)
    assert len({len(said) for said in told.values()}) == 1
    assert len({sentence for said in told.values() for sentence in said}) == sum(map(len, told.values()))


# What is measured, on the stand-in


def test_every_planned_key_is_recorded(measured):
    for item in tts_voxcpm.plan(measured):
        assert measured.load(item) is not None, (str(item), failures(measured))
    found = sample(measured, "patch_time", steps=10)
    told = {
        "device": "cuda",
        "weights": "random",
        "compiled": True,
        "max_length": 8192,
        "retry_badcase": False,
        "seed": 0,
    }
    assert told.items() <= found.config.items()


def test_no_sample_is_found_fault_with(measured):
    (run,) = load(measured.results).runs
    assert {verdict.status for verdict in limits.verdicts(run).values()} == {"accepted"}


def test_an_utterance_is_fixed_time_and_patches(measured):
    for patches in tts_voxcpm.PATCHES:
        assert median(measured, "utterance_time", patches=patches) == pytest.approx(
            (FIXED_MS + patches * (PATCH_MS + COSTS["vae_a_patch"])) / 1e3
        )


@pytest.mark.parametrize("steps", tts_voxcpm.TIME_STEPS)
def test_a_patch_calls_the_network_in_all_steps_but_one(measured, steps):
    expected = PATCH_MS + COSTS["vae_a_patch"] - (10 - steps) * COSTS["call"]
    assert median(measured, "patch_time", steps=steps) == pytest.approx(expected)


def test_parts_are_those_of_the_package_and_add_up_to_a_patch(measured):
    parts = {part: median(measured, "patch_part_time", part=part) for part in voxcpm2_bench.PATCH_PARTS}
    expected = {"language_model": 6.0, "diffusion": 12.0, "local_encoder": 2.5, "stop_check": 0.5, "vae": 0.25}
    expected["other"] = 0.125
    assert parts == pytest.approx(expected)
    assert sum(parts.values()) == pytest.approx(median(measured, "patch_time", steps=10))
    found = sample(measured, "patch_part_time", part="diffusion")
    assert found.config["patch_all_parts_ms"] == pytest.approx(sum(parts.values()))
    assert found.config["synchronised"] > 5 * 5


def test_streaming_decodes_patch_by_patch(measured):
    streamed = {
        part: median(measured, "patch_part_time", mode="streaming", part=part) for part in voxcpm2_bench.PATCH_PARTS
    }
    assert (streamed["vae"], streamed["other"]) == pytest.approx((5.25, 0.875))
    assert sample(measured, "patch_part_time", mode="streaming", part="vae").config["mode"] == "streaming"


def test_the_fixed_time_has_its_causes(measured):
    parts = {part: median(measured, "fixed_part_time", part=part) for part in voxcpm2_bench.FIXED_PARTS}
    expected = {"tokenising": 3.0, "prefill": 20.125, "cache_clearing": 4.0, "last_vae": 5.0, "other": 0.625}
    assert parts == pytest.approx(expected)
    assert sum(parts.values()) == pytest.approx(FIXED_MS)


def test_a_reference_voice_costs_its_recording_and_a_longer_prefill(measured):
    found = sample(measured, "fixed_part_time", part="reference_voice")
    assert found.median == pytest.approx(COSTS["encoding"] + COSTS["prefill"] / 2)
    assert found.config["loading_and_encoding_ms"] == pytest.approx(30.0)
    assert found.config["longer_prefill_ms"] == pytest.approx(10.0)
    assert (found.config["voice_s"], found.config["voice_rate"]) == (5.0, 48_000)
    assert found.config["loader"] == f"numpy {numpy.__version__}"


def test_a_recording_that_something_else_would_load_is_no_sample(card, monkeypatch):
    monkeypatch.setattr(voxcpm2_bench, "LOADER", "no-such-loader")
    tts_voxcpm.measure(card)
    assert set(failures(card)) == {f"{NAME}/{SUBJECT}/fixed_part_time?part=reference_voice"}
    ((reason, detail),) = failures(card).values()
    assert reason == "engine_missing"
    assert detail == "ModuleNotFoundError: a recording is loaded by no-such-loader, which is not installed"


def test_the_first_sound_is_the_fixed_time_and_one_patch(measured):
    before = FIXED_MS + PATCH_MS + COSTS["vae_a_patch"] - COSTS["stop_check"] - COSTS["base_lm"] - COSTS["residual_lm"]
    assert median(measured, "first_audio") == pytest.approx(before)


def test_chunks_come_faster_than_they_play(measured):
    gaps, dry = sample(measured, "chunk_gap"), sample(measured, "underrun")
    assert gaps.median == pytest.approx(PATCH_MS + 5.25 + 0.75)
    assert gaps.count == voxcpm2_bench.STREAMS * (voxcpm2_bench.STREAMED_PATCHES - 1)
    assert dry.values == [0.0] * voxcpm2_bench.STREAMS


def test_a_player_that_runs_dry_is_told_by_how_much(card, monkeypatch):
    monkeypatch.setitem(COSTS, "base_lm", 204.0)
    tts_voxcpm.measure(card)
    late = (PATCH_MS + 200 + 6 - 160) * (voxcpm2_bench.STREAMED_PATCHES - 1)
    assert sample(card, "underrun").median == pytest.approx(late)


def test_memory_is_told_three_ways(measured):
    assert sample(measured, "memory", of="weights").values == [5 * 1024]
    assert sample(measured, "memory", of="peak").values == [6 * 1024]
    assert sample(measured, "memory").median > 0, "less is free than before"


def test_kernels_are_traced_of_patches(measured):
    found = sample(measured, "patch_kernel_time")
    assert found.median == pytest.approx((PATCH_MS + 0.25) / 2)
    assert found.config["kernels_per_step"] == pytest.approx(PATCH_MS + 0.25, abs=1)
    eager = sample(measured, "patch_kernel_time", compile="off")
    assert (eager.config["traced_steps"], len(eager.values)) == (tts_voxcpm.EAGER.traced, tts_voxcpm.EAGER.traces)


def test_kernels_are_traced_after_all_that_is_timed(card):
    own = [item for item in tts_voxcpm.plan(card) if item not in tts_voxcpm.nano_keys()]
    assert own[-2:] == tts_voxcpm.kernel_keys()
    assert not any(item.quantity == "patch_kernel_time" for item in own[:-2])


def test_without_compiling_and_with_a_smaller_cache_samples_say_so(measured):
    eager, small = (
        sample(measured, "patch_time", compile="off", steps=10),
        sample(measured, "patch_time", max_length=1024, steps=10),
    )
    assert (eager.config["compiled"], eager.config["max_length"]) == (False, 8192)
    assert (small.config["compiled"], small.config["max_length"]) == (True, 1024)


def test_the_other_engine_is_measured_the_same_way(measured):
    assert median(measured, "patch_time", engine="nano", steps=10) == pytest.approx(5.0)
    assert median(measured, "utterance_time", engine="nano", patches=100) == pytest.approx(0.040 + 0.5)
    assert sample(measured, "first_audio", engine="nano").config["engine_version"] == "2.0.5"


def test_without_the_other_engine_its_keys_say_so_and_the_rest_is_measured(card, monkeypatch):
    monkeypatch.setitem(sys.modules, "nanovllm_voxcpm", None)
    tts_voxcpm.measure(card)
    failed = failures(card)
    assert set(failed) == {str(item) for item in tts_voxcpm.nano_keys()}
    assert {reason for reason, _ in failed.values()} == {"engine_missing"}
    assert all("flash-attn, which has to be compiled" in detail for _, detail in failed.values())


def test_what_the_run_has_is_not_measured_again(measured, monkeypatch):
    monkeypatch.setattr(voxcpm2_weights, "random", pytest.fail)
    before = load(measured.results).runs[0].samples
    tts_voxcpm.measure(measured)
    assert load(measured.results).runs[0].samples == before


def test_only_what_the_run_lacks_is_measured(card, monkeypatch):
    quick = dataclasses.replace(card, quick=True)
    tts_voxcpm.measure(quick)
    first = {text: one.at for text, one in load(card.results).runs[0].samples.items()}
    resized = []
    monkeypatch.setattr(
        tts_voxcpm, "plan", lambda session: [*tts_voxcpm.first_keys(tts_voxcpm.QUICK), *tts_voxcpm.small_cache_keys()]
    )
    monkeypatch.setattr(tts_voxcpm.VoxCPM2, "resize", lambda self, places: resized.append(places))
    tts_voxcpm.measure(card)
    after = load(card.results).runs[0].samples
    assert set(after) - set(first) == {str(item) for item in tts_voxcpm.small_cache_keys()}
    assert resized == [1024, 8192], "and back, for the kernels that are traced afterwards"


def test_a_model_that_cannot_be_built_fails_every_key_but_the_other_engines(card, monkeypatch):
    def broken(where, *, compiled):
        raise WeightsError("the package counts other numbers")

    monkeypatch.setattr(voxcpm2_weights, "random", broken)
    monkeypatch.setattr(voxcpm2_weights, "write", lambda folder, where: None)
    tts_voxcpm.measure(card)
    failed = failures(card)
    assert not set(failed) & {str(item) for item in tts_voxcpm.nano_keys()}
    assert {detail for _, detail in failed.values()} == {"WeightsError: the package counts other numbers"}


def test_a_part_that_takes_no_time_is_told_and_the_others_are_recorded(card, monkeypatch):
    monkeypatch.setitem(COSTS, "vae_a_patch", 0.0)
    tts_voxcpm.measure(card)
    assert set(failures(card)) == {f"{NAME}/{SUBJECT}/patch_part_time?part=vae"}
    assert sample(card, "fixed_part_time", part="last_vae").median == pytest.approx(5.0)


# Real weights, on the stand-in


@pytest.fixture
def real(card, monkeypatch):
    """The same with a checkpoint, that of the stand-in."""
    pipeline = voxcpm2_weights.random("cuda", compiled=True)
    monkeypatch.setattr(
        sys.modules["voxcpm.core"].VoxCPM, "from_pretrained", lambda place, **options: pipeline, raising=False
    )
    folder = card.results.with_name("checkpoint")
    return dataclasses.replace(card, options={"weights": str(folder), "audio": str(card.results.with_name("said"))})


def test_sentences_are_spoken_as_long_as_the_model_makes_them(real):
    tts_voxcpm.measure(real)
    assert {str(item) for item in tts_voxcpm.plan(real) if real.load(item) is None} == set()
    for language in tts_voxcpm.LANGUAGES:
        for place, sentence in enumerate(sentences.sentences()[language], start=1):
            found = sample(real, "utterance_time", language=language, sentence=place)
            assert (found.config["patches"], found.config["weights"]) == (Model.natural + 1, "real")
            assert len(found.values) == voxcpm2_bench.SENTENCE_REPEATS
            assert found.median < median(real, "utterance_time", patches=6)
            assert sentence not in str(found.config)


def test_what_is_said_is_kept_to_be_listened_to(real):
    tts_voxcpm.measure(real)
    kept = sorted(path.name for path in real.results.with_name("said").iterdir())
    assert kept == sorted(
        f"{SUBJECT}-{language}-{place}.wav"
        for language in tts_voxcpm.LANGUAGES
        for place in range(1, len(sentences.sentences()[language]) + 1)
    )
    with wave.open(str(real.results.with_name("said") / kept[0])) as file:
        assert file.getnframes() == (Model.natural + 1) * 96


def test_no_place_of_this_machine_is_recorded(real):
    tts_voxcpm.measure(real)
    assert str(real.results.parent) not in real.results.read_text()


def test_forced_lengths_are_measured_with_real_weights_too(real):
    tts_voxcpm.measure(real)
    assert median(real, "utterance_time", patches=6) == pytest.approx((FIXED_MS + 6 * (PATCH_MS + 0.25)) / 1e3)


def test_a_length_that_differs_from_one_seed_is_no_time(real, monkeypatch):
    lengths = iter([3, 3, 5, 3] * 12)

    def spoken(self, ask):
        return 1.0, numpy.zeros(96 * next(lengths), numpy.float32)

    monkeypatch.setattr(voxcpm2_bench.VoxCPMBench, "_spoken", spoken)
    tts_voxcpm.measure(real)
    details = {detail for _, detail in failures(real).values()}
    assert details == {"ArithmeticError: from one seed came utterances of 3, 5 patches"}


def test_sound_that_is_no_number_is_no_utterance(real, monkeypatch):
    monkeypatch.setattr(voxcpm2_bench.VoxCPMBench, "_spoken", lambda self, ask: (1.0, numpy.full(96, numpy.nan)))
    tts_voxcpm.measure(real)
    assert {detail for _, detail in failures(real).values()} == {"ArithmeticError: the sound holds what is no number"}
