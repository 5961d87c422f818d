"""What is said of Magpie's steps, utterances and languages follows from samples made by hand."""

import pytest

from measure.results import Machine, Results, Run, Sample
from templates import charts, claims, render
from templates.config import Told
from templates.facts.edition import Edition
from templates.labels import LANGUAGES
from templates.voice import Voice

SUBJECT = "tts_magpie/magpie-multilingual"
PARAMETERS = {
    "stored_numbers": 360e6,
    "mask_numbers": 75e6,
    "local_transformer_parameters": 14e6,
    "decoder_parameters": 91e6,
}


def sample(unit, value, **config):
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x", config)


def at(quantity, unit, value, config=None, **parameters):
    """A sample by its key."""
    told = "&".join(f"{name}={parameter}" for name, parameter in sorted(parameters.items()))
    return {f"{SUBJECT}/{quantity}{'?' if told else ''}{told}": sample(unit, value, **(config or {}))}


def whole(factor, step_ms, **parameters):
    """Utterances of 4 s made in some way: their real-time factor and their step."""
    made = at("real_time_factor", "1", factor, {"sound_s": 4.0, "dtype": "fp32"}, **parameters)
    return made | at("step_time", "ms", step_ms, **parameters)


def parts(stack, quantity, **times):
    return {key: s for part, ms in times.items() for key, s in at(quantity, "ms", ms, part=part, stack=stack).items()}


def step(stack, local, decoder=10.0):
    """Parts of a step: the two that matter, and 5 ms of the others."""
    others = {"sampling": 2.0, "alignment": 1.0, "embedding": 1.0, "rest": 1.0}
    return parts(stack, "step_part_time", local_transformer=local, decoder=decoder, **others)


def kernels(stack, busy_ms, step_ms, launches):
    config = {"step_ms_untraced": step_ms, "kernels_per_step": launches}
    return at("step_kernel_time", "ms", busy_ms, config, stack=stack)


def depth(frames, step_ms, cached_ms):
    """A step with so many frames there already, without the cache and with it."""
    plain = at("step_time", "ms", step_ms, frames=frames, stack=2)
    return plain | at("step_time", "ms", cached_ms, cache="on", frames=frames, stack=2)


def language(code, tokenizers, kept):
    named = at("tokenizers", "1", tokenizers, language=code)
    return named | at("words_kept", "%", kept, language=code)


LOCAL_OFF = {"local_transformer": "off"}
CACHE_ON = {"cache": "on"}
BOTH = LOCAL_OFF | CACHE_ON

SAMPLES = {
    **at("frame_rate", "step/s", 20.0),
    **at("parameters", "param", 285e6, PARAMETERS),
    **at("loaded_weights", "GiB", 1.5),
    **at("memory", "MiB", 2000.0),
    **at("real_time_factor", "1", 0.6, {"dtype": "fp32"}),
    **whole(0.8, 24.0, stack=1),
    **whole(0.5, 32.0, stack=2),
    **whole(0.4, 60.0, stack=4),
    **whole(0.5, 15.0, stack=1, **LOCAL_OFF),
    **whole(0.25, 16.0, stack=2, **LOCAL_OFF),
    **whole(1.0, 30.0, stack=1, **CACHE_ON),
    **whole(0.625, 40.0, stack=2, **CACHE_ON),
    **whole(0.6, 18.0, stack=1, **BOTH),
    **whole(0.3, 20.0, stack=2, **BOTH),
    **step(1, local=10.0),
    **step(2, local=19.0),
    **parts(1, "fixed_part_time", codec=60.0, text_encoder=5.0, rest=1.0),
    **parts(2, "fixed_part_time", codec=70.0, text_encoder=9.0, rest=1.0),
    **kernels(1, 6.0, 24.0, 1000),
    **kernels(2, 8.0, 32.0, 2000),
    **depth(8, 30.0, 40.0),
    **depth(42, 36.0, 41.0),
    **depth(84, 31.0, 39.0),
    **depth(168, 32.0, 42.0),
    **depth(300, 33.0, 44.0),
    **at("real_time_factor", "1", 0.7, {"sound_s": 2.0}, frames=42, stack=2),
    **at("real_time_factor", "1", 0.55, {"sound_s": 15.0}, frames=324, stack=2),
    **at("real_time_factor", "1", 1.0, requests=4, stack=2),
    **at("real_time_factor", "1", 2.0, requests=16, stack=2),
    **at("real_time_factor", "1", 3.2, requests=32, stack=2),
    **language("en", 2.0, 100.0),
    **language("ko", 0.0, 0.0),
}


def edition(*changes, without=""):
    """Told from all samples, some of them changed, or without those whose keys hold a word."""
    samples = SAMPLES.copy()
    for change in changes:
        samples |= change
    if without:
        samples = {key: one for key, one in samples.items() if without not in key}
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    told = Told(models="a", voxcpm="a", magpie="a", recognition="a")
    return Edition("here", told, Results([Run("a", "executed", machine, "2026-11-01", samples)]))


@pytest.fixture(scope="module")
def magpie():
    return edition().magpie


def outcome(told, name):
    return claims.judge(told)[name].outcome.value


def percent(quantity):
    return quantity.to("%").value


def test_what_it_is(magpie):
    assert (magpie.frame_rate.value, magpie.steps_per_second.value) == (20, 10)  # two frames a step
    assert (magpie.loaded.value, magpie.stored.value, magpie.masks.value) == (1.5, 360e6, 75e6)
    assert (magpie.local_parameters.value, magpie.decoder_parameters.value) == (14e6, 91e6)
    assert magpie.precision == "fp32"


def test_what_stacking_gains(magpie):
    assert [stack.gain.value for stack in magpie.stacks] == pytest.approx([1, 1.6, 2])
    assert [percent(stack.gain_share) for stack in magpie.stacks] == pytest.approx([100, 80, 50])
    assert [stack.frame_time.value for stack in magpie.stacks] == [24, 16, 15]


def test_a_step_taken_apart(magpie):
    """10 + 10 + 5 ms of a step of 24 ms, 19 + 10 + 5 of one of 32."""
    single, published = magpie.single, magpie.published
    assert (single.step_parts_sum.value, published.step_parts_sum.value) == (25, 34)
    assert single.stopwatch.value == pytest.approx(25 / 24)
    local = published.part("local_transformer")
    assert percent(local.part_share) == pytest.approx(100 * 19 / 34)
    assert (local.frame_part.value, published.part("decoder").frame_part.value) == (9.5, 5)
    assert (magpie.local_growth.value, magpie.decoder_growth.value) == pytest.approx((1.9, 1))


def test_what_is_done_once(magpie):
    """80 ms of the 2 s that 4 s of sound take at a factor of 0.5."""
    assert magpie.published.fixed.value == 80
    assert magpie.published.utterance_time.value == pytest.approx(2)
    assert percent(magpie.published.fixed_share) == pytest.approx(4)


def test_without_local_transformer_and_with_cache(magpie):
    published = magpie.published
    assert [way.gain.value for way in published.switched] == pytest.approx([2, 0.8, 0.5 / 0.3])
    assert [way.stacking_gain.value for way in published.switched] == pytest.approx([2, 1.6, 2])
    assert [percent(way.gain_share) for way in published.switched] == pytest.approx([100, 80, 100])
    assert published.bare_cache_gain.value == pytest.approx(0.25 / 0.3)
    assert (published.local_saved.value, magpie.single.local_saved.value) == (16, 9)
    assert [way.one_step.value for way in magpie.single.switched] == [15, 30, 18]


def test_kernels_and_the_gaps_between_them(magpie):
    told = magpie.published.kernels
    assert (told.step_gaps.value, percent(told.kernel_share), told.launches.value) == (24, 25, 2000)
    assert told.launch_time.value == pytest.approx(16)  # µs: 32 ms over 2,000 kernels
    assert magpie.single.kernels.launch_time.value == pytest.approx(24)


def test_a_step_by_the_frames_that_are_there(magpie):
    assert (magpie.step_low.value, magpie.step_high.value) == (30, 36)
    assert (magpie.cached_low.value, magpie.cached_high.value) == (39, 44)
    assert (magpie.step_growth.value, magpie.cached_growth.value) == pytest.approx((1.1, 1.1))
    assert (magpie.short.utterance_audio.value, magpie.long.real_time_factor.value) == (2, 0.55)


def test_sound_made_by_several_at_once(magpie):
    """Four utterances in the time that one of them plays make 4 s of sound a second, one alone 2."""
    assert [crowd.sound_rate.value for crowd in magpie.crowds] == pytest.approx([2, 4, 8, 10])
    assert [crowd.gain.value for crowd in magpie.crowds] == pytest.approx([1, 2, 4, 5])


def test_languages(magpie):
    assert (magpie.english.tokenizers.value, magpie.english.words_kept.value) == (2, 100)
    assert (magpie.korean.tokenizers.value, magpie.korean.words_kept.value) == (0, 0)


def test_beside_voxcpm2():
    """6.25 patches against 10 steps; a slope of 0.1 makes 16 ms a patch, against 32 ms a step."""
    slope = {"tts_voxcpm/voxcpm2-bf16/slope": sample("1", 0.1)}
    told = edition(slope)
    assert told.synthesis.steps_ratio.value == pytest.approx(0.625)
    assert told.synthesis.step_ratio.value == pytest.approx(0.5)
    assert (told.voxcpm.precision, told.magpie.precision) == ("bf16", "fp32")
    assert edition(without="real_time_factor").magpie.precision == ""


OUTCOMES = {
    "stacking_pays": [
        ((whole(0.25, 60.0, stack=4),), "holds"),  # 80% of four times at two, and at four
        ((), "refuted"),
    ],
    "local_transformer_grows": [
        ((), "holds"),
        ((step(2, local=15.0),), "refuted"),  # less than 80% of twice
        ((step(2, local=19.0, decoder=13.0),), "refuted"),  # the decoder grows too
    ],
    "local_transformer_most": [((), "holds"), ((step(2, local=14.0),), "refuted")],
    "stacking_pays_without": [
        ((), "holds"),
        ((whole(0.4, 20.0, stack=2, **LOCAL_OFF),), "refuted"),
    ],
    "magpie_cache_pays": [
        ((), "refuted"),
        (
            (
                whole(0.6, 18.0, stack=1, **CACHE_ON),
                whole(0.4, 20.0, stack=2, **CACHE_ON),
                whole(0.4, 10.0, stack=1, **BOTH),
                whole(0.2, 10.0, stack=2, **BOTH),
            ),
            "holds",
        ),
        ((whole(0.6, 18.0, stack=1, **CACHE_ON), whole(0.4, 20.0, stack=2, **CACHE_ON)), "refuted"),
    ],
    "steps_even": [
        ((), "holds"),
        ((depth(300, 40.0, 44.0),), "refuted"),
        ((depth(300, 33.0, 60.0),), "refuted"),
    ],
    "magpie_waits": [((), "holds"), ((kernels(2, 20.0, 32.0, 2000),), "refuted")],
    "batching_pays": [
        ((), "holds"),
        ((at("real_time_factor", "1", 2.0, requests=4, stack=2),), "refuted"),
    ],
    "korean_lost": [
        ((), "holds"),
        ((language("ko", 1.0, 0.0),), "refuted"),
        ((language("ko", 0.0, 90.0),), "refuted"),
    ],
}


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [(name, changes, expected) for name, cases in OUTCOMES.items() for changes, expected in cases],
)
def test_outcomes(name, changes, expected):
    assert outcome(edition(*changes), name) == expected


@pytest.mark.parametrize("name", OUTCOMES)
def test_without_measurements_nothing_is_claimed(name):
    assert outcome(edition(without="magpie"), name) == "undecided"


def test_a_bar_has_the_time_of_each_part_per_frame():
    chart = charts.charts(edition())["magpie_step"]
    drawn = {trace["name"]: trace["x"] for trace in chart.figure["data"]}
    assert drawn["@part:local_transformer"] == [10, 9.5] and drawn["@part:decoder"] == [10, 5]
    assert [(x.value, y.value) for _, x, y in chart.rows[:2]] == [(10, 10), (19, 9.5)]
    assert charts.said(chart.rows[1][0], Voice("en")) == "local transformer, two frames a step"
    charts.checked(chart.figure)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("without", ["", "step_part_time", "step_kernel_time", "requests=", "words_kept", "magpie"])
def test_the_article_reads_on_without_some_of_it(language, without):
    told = edition(without=without)
    each = render.Told(told, claims.judge(told), charts.charts(told))
    assert "{#synthesis-magpie}" in render.article(each, Voice(language))
