"""What is measured of Magpie, by a stand-in for NeMo's class whose times are decreed."""

import dataclasses
import sys

import fake_magpie
import pytest
from fake_magpie import Clock, FakeMagpie, loop_s, step_s, whole_s
from msgspec.structs import replace
from tiny import failures

from measure import device, kernels, machine, timing, tts_magpie
from measure.keys import parse_key
from measure.results import dump
from measure.session import OptionError, Session
from measure.store import load
from measure.synthesis import magpie_apart, magpie_bench, magpie_model
from measure.synthesis.magpie_apart import WINDOW
from measure.synthesis.magpie_bench import Scope

SMALL = Scope((2, 1), 40, mixed=(8, 20), lengths=(12, 80), depths=(8, 40), requests=(3,), apart=True, traced=True)
MIB = 2**20


class Card:
    """A session on a machine with an NVIDIA card, whose clock, models and profiler are stand-ins."""

    def __init__(self, folder, patch):
        self.models, self.traced = {}, []
        """Stand-ins that were made, by stack; moments in which the profiler was begun or ended."""
        self.clock = Clock()
        here = replace(machine.describe("cpu"), device="cuda", accelerators=1)
        self.session = Session(folder / "results.json", "card", here, packages=("torch",))
        fake_magpie.install(patch)
        patch.setattr("time.perf_counter", self.clock)
        patch.setattr(tts_magpie, "FULL", SMALL)
        patch.setattr(timing, "synchronize", lambda where: None)
        patch.setattr(magpie_model, "random", self.random)
        patch.setattr(kernels, "start", self.start)
        patch.setattr(kernels, "stop", self.stop)
        self._remember(patch)

    def _remember(self, patch):
        patch.setattr(device, "free_bytes", lambda machine: 2**34)
        patch.setattr(device, "allocated_bytes", lambda where: 100 * MIB if self.models else 7 * MIB)
        patch.setattr("torch.cuda.reset_peak_memory_stats", lambda: None)
        patch.setattr("torch.cuda.max_memory_allocated", lambda: 150 * MIB)
        patch.setattr("torch.cuda.memory_reserved", lambda: 200 * MIB)

    def random(self, stack, where):
        self.models[stack] = FakeMagpie(stack, self.clock)
        return self.models[stack]

    def start(self):
        self.traced.append(self.clock.now)
        return self.clock.now

    def stop(self, begun):
        """Three kernels a step, which take a quarter of the time."""
        self.traced.append(self.clock.now)
        seconds = {"gemm": 0.004 * WINDOW, "softmax": 0.001 * WINDOW}
        return kernels.Trace(0.25 * (self.clock.now - begun), 3 * WINDOW, seconds)


@pytest.fixture
def card(tmp_path, monkeypatch):
    return Card(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A card on which everything was measured."""
    with pytest.MonkeyPatch.context() as patch:
        made = Card(tmp_path_factory.mktemp("card"), patch)
        made.planned = tts_magpie.plan(made.session)
        tts_magpie.measure(made.session)
    return made


def sample(card, text):
    return card.session.load(parse_key(f"tts_magpie/magpie-multilingual/{text}"))


def test_every_planned_key_is_recorded(measured):
    for item in measured.planned:
        assert measured.session.load(item) is not None, failures(measured.session)


def test_the_real_time_factor_is_the_whole_utterance_over_its_sound(measured):
    whole = sample(measured, "real_time_factor?stack=2")
    assert whole.values == pytest.approx([whole_s(2, 40) / 2.0] * 3)
    told = {"frames": 40, "produced_frames": 40, "steps": 20, "sound_s": 2.0, "text_tokens": 28, "warmups": 1}
    assert told.items() <= whole.config.items()
    assert {
        "weights": "random",
        "cache": False,
        "local_transformer": True,
        "end": "forced",
    }.items() <= whole.config.items()
    assert sample(measured, "step_time?stack=2").values == pytest.approx([1e3 * loop_s(2, 40) / 20] * 3)


def test_settings_reach_the_model_one_by_one(measured):
    for text, way in {
        "local_transformer=off&stack=1": {"local": False},
        "cache=on&stack=1": {"cache": True},
        "cache=on&local_transformer=off&stack=1": {"local": False, "cache": True},
    }.items():
        assert sample(measured, f"real_time_factor?{text}").values == pytest.approx([whole_s(1, 40, **way) / 2.0] * 3)
    assert {(local, cached) for _, local, cached in measured.models[1].asked} == {
        (True, False), (False, False), (True, True), (False, True),
    }  # fmt: skip
    assert not measured.models[1].cached, "a cache left behind would be taken for the next utterance's"


def test_utterances_at_once_are_timed_together(measured):
    many = sample(measured, "real_time_factor?requests=3&stack=2")
    assert many.values == pytest.approx([whole_s(2, 40, requests=3) / 2.0] * 3)
    assert (many.config["requests"], many.config["produced_frames"]) == (3, 120)
    assert max(requests for requests, *_ in measured.models[2].asked) == 3


def test_a_step_grows_with_the_frames_that_are_there(measured):
    for frames in (8, 40):
        middle = frames + 2 * (WINDOW - 1) / 2
        assert sample(measured, f"step_time?frames={frames}&stack=2").values == pytest.approx(
            [1e3 * step_s(2, middle)] * 3
        )
        cached = sample(measured, f"step_time?cache=on&frames={frames}&stack=2")
        assert cached.values == pytest.approx([1e3 * step_s(2, middle, cache=True)] * 3)
        assert (cached.config["first_step"], cached.config["frames"]) == (frames // 2, 80)
    assert sample(measured, "real_time_factor?frames=80&stack=2").values == pytest.approx([whole_s(2, 80) / 4.0] * 3)


def test_the_factor_as_such_is_of_utterances_as_long_as_sentences(measured):
    mixed = sample(measured, "real_time_factor")
    assert mixed.values == pytest.approx([whole_s(2, 8) / 0.4, whole_s(2, 20) / 1.0])
    assert (mixed.config["frames"], mixed.config["produced_frames"]) == ("8 20", 28)


@pytest.mark.parametrize("stack", [1, 2])
def test_parts_and_rest_make_up_the_step(measured, stack):
    parts = {
        name: sample(measured, f"step_part_time?part={name}&stack={stack}").values[0] for name in tts_magpie.STEP_NAMES
    }
    told = sample(measured, f"step_part_time?part=rest&stack={stack}").config
    assert sum(parts.values()) == pytest.approx(told["step_ms_with_stopwatch"])
    assert sum(parts.values()) == pytest.approx(1e3 * loop_s(stack, 40) / (40 // stack))
    known = {"embedding": 1.0, "alignment": 2.0, "local_transformer": 4.0 * stack, "sampling": 3.2, "rest": 0.5}
    assert {name: parts[name] for name in known} == pytest.approx(known)
    fixed = {
        name: sample(measured, f"fixed_part_time?part={name}&stack={stack}").values[0]
        for name in tts_magpie.FIXED_NAMES
    }
    assert fixed == pytest.approx({"text_encoder": 50.0, "codec": 40.0, "rest": 6.0})


def test_kernels_are_those_of_whole_steps_in_the_middle(measured):
    found = sample(measured, "step_kernel_time?stack=2")
    window = 1e3 * sum(step_s(2, frames) for frames in range(20, 36, 2)) / WINDOW
    assert found.values == pytest.approx([0.25 * window] * magpie_bench.TRACES)
    assert found.config["kernels_per_step"] == 3
    assert found.config["matmul_ms"] == pytest.approx(4.0) and found.config["attention_ms"] == pytest.approx(1.0)
    assert found.config["step_ms_untraced"] == pytest.approx(window)
    assert len(measured.traced) == 2 * 2 * (1 + magpie_bench.TRACES), "each stack, begun and ended"


def test_memory_is_this_models_own(measured):
    memory = sample(measured, "memory")
    assert memory.values == [150 - 7]
    assert memory.config["resident_mib"] == 100 - 7


def test_what_a_model_holds_is_counted(measured):
    parameters = sample(measured, "parameters")
    assert parameters.values == [3 * 5 + 5]
    assert {
        "decoder_parameters": 20,
        "codec_parameters": 3,
        "mask_numbers": 4,
        "stored_numbers": 27,
    }.items() <= parameters.config.items()
    assert sample(measured, "loaded_weights").values == [4 * 27 / 2**30]
    rate = sample(measured, "frame_rate")
    assert rate.values == [20.0]
    assert (rate.config["samples_per_frame"], rate.config["frames_per_step"]) == (50, 2)


def test_korean_is_in_no_row_of_the_table(measured):
    assert sample(measured, "tokenizers?language=ko").values == [0.0]
    assert sample(measured, "tokenizers?language=ko").config["without_one"] == "english_phoneme"
    assert sample(measured, "tokenizers?language=en").values == [2.0]


def test_english_phonemes_leave_nothing_of_korean(measured):
    assert sample(measured, "words_kept?language=ko").values == [0.0] * 3
    assert sample(measured, "words_kept?language=en").values == [100.0] * 3
    assert sample(measured, "words_kept?language=ko").config["dictionary"] == "one word of every letter"


def test_too_few_frames_are_a_failure_and_no_figure(card, monkeypatch):
    made = card.random

    def lacking(stack, where):
        model = made(stack, where)
        model.lacking = int(stack == 1)
        return model

    monkeypatch.setattr(magpie_model, "random", lacking)
    tts_magpie.measure(card.session)
    reason, detail = failures(card.session)["tts_magpie/magpie-multilingual/real_time_factor?stack=1"]
    assert reason == "crashed" and "asked for 1 x" in detail
    assert sample(card, "real_time_factor?stack=2") is not None, "the rest goes on"


def test_a_machine_that_takes_too_long_says_so(card, monkeypatch):
    monkeypatch.setattr(magpie_bench, "SLOW_S", 0.5)
    tts_magpie.measure(card.session)
    reason, detail = failures(card.session)["tts_magpie/magpie-multilingual/real_time_factor?stack=2"]
    assert (reason, detail) == ("too_slow", "an utterance of 40 frames would take about 1 s")
    assert sample(card, "parameters") is not None


def test_too_little_memory_loads_nothing(card, monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda machine: 2**30)
    tts_magpie.measure(card.session)
    assert {reason for reason, _ in failures(card.session).values()} == {"not_enough_memory"}
    assert not card.models
    assert sample(card, "tokenizers?language=ko") is not None, "which needs no model"


def test_only_what_is_missing_is_measured(card):
    tts_magpie.measure(card.session)
    run = load(card.session.results)
    del run.runs[0].samples["tts_magpie/magpie-multilingual/step_time?stack=1"]
    card.session.results.write_text(dump(run))
    card.models.clear()
    tts_magpie.measure(card.session)
    assert set(card.models) == {1, 2}, "the published one tells of its settings"
    assert card.models[2].asked == []
    assert sample(card, "step_time?stack=1") is not None


def test_nothing_seen_by_the_profiler_is_no_figure(card, monkeypatch):
    monkeypatch.setattr(magpie_apart, "trace", lambda *_: kernels.Trace(0.0, 0, {}))
    tts_magpie.measure(card.session)
    assert "saw no kernels" in failures(card.session)["tts_magpie/magpie-multilingual/step_kernel_time?stack=2"][1]


def test_without_nemo_each_key_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nemo", None)
    session = Session(tmp_path / "results.json", "cpu", machine.describe("cpu"))
    tts_magpie.measure(session)
    assert {reason for reason, _ in failures(session).values()} == {"engine_missing"}


def test_audio_of_random_weights_is_refused(card):
    noise = dataclasses.replace(card.session, options={"audio": "somewhere"})
    with pytest.raises(OptionError, match="random ones make noise"):
        tts_magpie.plan(noise)


@pytest.mark.parametrize("where", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("quick", [True, False])
def test_every_device_has_a_plan(card, where, quick):
    there = dataclasses.replace(card.session, quick=quick, machine=replace(card.session.machine, device=where))
    planned = [str(item) for item in tts_magpie.plan(there)]
    assert len(planned) == len(set(planned)) >= 9
    assert tts_magpie.seconds(there) > 0
    assert any("step_kernel_time" in text for text in planned) == (where == "cuda")


@pytest.mark.parametrize("scope", [tts_magpie.FULL, tts_magpie.QUICK, tts_magpie.CPU])
def test_lengths_are_whole_steps(scope):
    """Else the loop would make fewer frames than were asked for; and a window of steps has to fit."""
    published = scope.stacks[0]
    assert all(scope.frames % stack == 0 for stack in scope.stacks)
    assert all(frames % published == 0 for frames in (*scope.mixed, *scope.lengths))
    longest = max(scope.lengths, default=0)
    assert all(frames + WINDOW * published <= longest for frames in scope.depths)
    assert not scope.traced or all(scope.frames // stack // 2 > WINDOW for stack in scope.stacks[:2])
    assert max(scope.mixed, default=0) <= scope.frames


def test_shares_that_exceed_the_whole_are_refused():
    with pytest.raises(ArithmeticError, match="the parts took"):
        magpie_apart.shares({"a": 2.0}, ["a"], 1.5)
