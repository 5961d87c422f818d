"""Times hold only for sound that was made, a patch is what two lengths differ by, a player runs dry or does not."""

import time

import numpy
import pytest
from tiny import failures, session  # noqa: F401  # a fixture

from measure import timing
from measure.keys import key
from measure.synthesis import speaking
from measure.synthesis.speaking import Ask, Bench, Lengths, Texts

NAME, TEXT = "tts_voxcpm", "voxcpm2-bf16"
LENGTHS = Lengths((4, 8), short=2, long=12, repeats=4)


class Engine:
    """An engine on whose clock a patch takes 0.02 s and 0.01 s a time step, and each utterance 0.5 s."""

    patch_samples, sample_rate = 16, 100
    config = {"max_length": 64}  # noqa: RUF012
    now, lost, added = 0.0, 0, 0

    def __init__(self):
        self.asked = []

    def speak(self, ask):
        return numpy.concatenate(list(self.stream(ask)))

    def stream(self, ask):
        self.asked.append(ask)
        Engine.now += 0.5
        for _ in range(ask.patches + self.added):
            Engine.now += 0.02 + 0.01 * ask.steps
            yield numpy.zeros(self.patch_samples - self.lost, numpy.float32)


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(Engine, "now", 0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: Engine.now)
    return Engine()


@pytest.fixture
def bench(session, engine):  # noqa: F811
    texts = Texts(("one", "two", "three"), lambda text: len(text.split()))
    return Bench(session, engine, {"weights": "random"}, texts, LENGTHS)


def sample(bench, quantity, **parameters):
    item = key(NAME, quantity, TEXT, **parameters)
    bench.measure([item])
    return bench.session.load(item)


def test_a_whole_utterance_is_timed_with_all_that_belongs_to_it(bench):
    found = sample(bench, "utterance_time", patches=8)
    assert found.values == pytest.approx([0.5 + 8 * 0.12] * 4)
    told = {"patches": 8, "text_tokens": 4, "inference_timesteps": 10, "warmups": 1, "patch_samples": 16}
    assert told.items() <= found.config.items()
    assert (found.unit, found.config["weights"], found.config["max_length"]) == ("s", "random", 64)


def test_the_text_grows_with_the_sound(bench, engine):
    sample(bench, "utterance_time", patches=4)
    sample(bench, "utterance_time", patches=7)
    assert list(dict.fromkeys(ask.text for ask in engine.asked)) == ["one two", "one two three one"]


def test_a_patch_is_what_two_lengths_differ_by(bench, engine):
    found = sample(bench, "patch_time", steps=4)
    assert found.values == pytest.approx([60.0] * 4)
    told = {"patches_short": 2, "patches": 12, "inference_timesteps": 4, "text_tokens": 30}
    assert told.items() <= found.config.items()
    assert {ask.steps for ask in engine.asked} == {4}
    assert len({ask.text for ask in engine.asked}) == 1, "a longer text would be a part of the difference"


def test_the_first_sound_is_waited_for_alone(bench):
    found = sample(bench, "first_audio")
    assert found.values == pytest.approx([620.0] * speaking.FIRST_REPEATS)
    assert found.unit == "ms"


def test_what_takes_long_is_repeated_less_often(bench, monkeypatch):
    monkeypatch.setattr(speaking, "PART_S", 0.1)
    assert len(sample(bench, "first_audio").values) == timing.AT_LEAST


@pytest.mark.parametrize("quantity", ["patch_time?steps=10", "utterance_time?patches=4", "first_audio"])
@pytest.mark.parametrize(("lost", "added"), [(1, 0), (0, 1), (0, -1)])
def test_sound_that_was_not_asked_for_is_no_time(bench, engine, quantity, lost, added):
    engine.lost, engine.added = lost, added
    name, _, parameters = quantity.partition("?")
    assert sample(bench, name, **dict([parameters.split("=")] if parameters else [])) is None
    reason, detail = failures(bench.session)[f"{NAME}/{TEXT}/{quantity}"]
    assert reason == "crashed" and "ArithmeticError: asked for" in detail


def test_chunks_that_are_no_patches_are_no_time(engine):
    engine.stream = lambda ask: iter([numpy.zeros(32), numpy.zeros(16)])
    with pytest.raises(ArithmeticError, match="3 patches one after another, got 2 chunks"):
        speaking.arrivals_s(engine, Ask("a", 3, 10))


def test_a_longer_utterance_that_is_faster_is_refused():
    assert speaking.patch_s(10, [1.0, 1.1, 5.0], [3.1, 2.1]) == pytest.approx([0.2, 0.1])
    with pytest.raises(ArithmeticError, match="not the slower one"):
        speaking.patch_s(10, [1.0, 1.1], [3.0, 1.05])


def test_a_quantity_of_another_engine_is_unsupported(bench):
    assert sample(bench, "memory") is None
    assert failures(bench.session)[f"{NAME}/{TEXT}/memory"][0] == "unsupported"


def test_a_failure_does_not_end_the_others(bench, engine):
    bench.measure([key(NAME, "memory", TEXT), key(NAME, "utterance_time", TEXT, patches=4)])
    assert bench.session.load(key(NAME, "utterance_time", TEXT, patches=4)) is not None


@pytest.mark.parametrize(
    ("arrivals", "seconds"),
    [
        ([5.0, 5.1, 5.2, 5.3], 0.0),
        ([5.0, 5.16, 5.32], 0.0),
        ([5.0, 5.2, 5.3, 5.9], 0.42),  # the fourth is due 0.48 s after the first and comes after 0.9 s
        ([5.0, 5.5, 5.6], 0.34),
        ([5.0], 0.0),
    ],
)
def test_a_player_runs_dry_by_the_latest_patch(arrivals, seconds):
    assert speaking.underrun_s(arrivals, 0.16) == pytest.approx(seconds)


def test_gaps_are_between_patches():
    assert speaking.gaps_s([1.0, 1.5, 1.75]) == [0.5, 0.25]
    assert speaking.gaps_s([1.0]) == []


def test_a_sound_of_whatever_length_is_a_whole_number_of_patches(engine):
    assert speaking.patches_of(engine, numpy.zeros(48)) == 3
    for samples in (0, 47):
        with pytest.raises(ArithmeticError, match="no whole number of patches"):
            speaking.patches_of(engine, numpy.zeros(samples))


@pytest.mark.parametrize(("tokens", "text"), [(1, "a b"), (2, "a b"), (3, "a b c"), (4, "a b c a b")])
def test_texts_are_as_long_as_is_wanted_or_a_piece_longer(tokens, text):
    assert Texts(("a b", "c"), lambda text: len(text.split())).of(tokens) == text
