"""What is said of a patch of VoxCPM2 and of streaming it follows from samples made by hand."""

import pytest

from measure.results import Failure, Machine, Results, Run, Sample
from templates import charts, claims
from templates.claims import patch
from templates.config import Told
from templates.facts.edition import Edition
from templates.truth import Outcome

SUBJECT = "tts_voxcpm/voxcpm2-bf16"
LENGTHS = (10, 20, 40)
PARTS = {"language_model": 8.0, "diffusion": 9.0, "local_encoder": 1.0, "stop_check": 0.5, "vae": 0.25, "other": 0.25}
STREAMED = {**PARTS, "vae": 6.0}
FIXED = {"tokenising": 1.0, "prefill": 30.0, "cache_clearing": 2.0, "last_vae": 5.0, "other": 2.0}


def sample(unit, value, **config):
    return Sample(unit, [value] * 5, "2026-11-01", "python -m measure run x", config)


def ms(value, **config):
    return sample("ms", value, **config)


def times():
    """A patch of 9 ms beside its calls of 1 ms each, and an utterance of 40 ms besides."""
    return {f"patch_time?steps={steps}": ms(9.0 + steps - 1, max_length=8192) for steps in (10, 8, 6, 4, 2)} | {
        f"utterance_time?patches={n}": sample("s", 0.040 + 0.018 * n, inference_timesteps=10) for n in LENGTHS
    }


SAMPLES = {
    **times(),
    "parameters": sample("param", 2e9),
    "patch_time?compile=off&steps=10": ms(90.0),
    "patch_time?compile=off&steps=2": ms(30.0),
    "patch_time?max_length=1024&steps=10": ms(13.5, max_length=1024),
    "patch_kernel_time": ms(13.5, kernels_per_step=3000, matmul_ms=6.0, attention_ms=1.0, other_ms=6.0, copy_ms=0.5),
    "patch_kernel_time?compile=off": ms(18.0, kernels_per_step=8000),
    "first_audio": ms(56.0),
    "chunk_gap": ms(24.0, longest_ms=27.0),
    "underrun": ms(0.0),
    "memory": sample("MiB", 8000.0, cache_mib=288.0),
    "memory?of=weights": sample("MiB", 5000.0),
    "memory?of=peak": sample("MiB", 6000.0),
    **{f"patch_part_time?part={part}": ms(took, patch_all_parts_ms=19.0) for part, took in PARTS.items()},
    **{
        f"patch_part_time?mode=streaming&part={part}": ms(took, patch_all_parts_ms=24.75)
        for part, took in STREAMED.items()
    },
    **{f"fixed_part_time?part={part}": ms(took) for part, took in FIXED.items()},
}
BANDWIDTH = {"bandwidth/sum": sample("GB/s", 4000.0, buffer_bytes=2**33)}


def edition(changed=None, failures=None):
    """The edition of these samples, some of them changed; None leaves one out."""
    told = {f"{SUBJECT}/{name}": one for name, one in {**SAMPLES, **(changed or {})}.items() if one is not None}
    failed = {f"{SUBJECT}/{name}": Failure(reason, "2026-11-01") for name, reason in (failures or {}).items()}
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    run = Run("a", "executed", machine, "2026-11-01", {**BANDWIDTH, **told}, failed)
    return Edition("x", Told(models="a", voxcpm="a"), Results([run]))


@pytest.fixture(scope="module")
def voxcpm():
    return edition().voxcpm


def outcome(told, name):
    return claims.judge(told)[name].outcome.value


# Facts


def test_one_call_is_the_slope_and_the_rest_where_the_line_begins(voxcpm):
    assert voxcpm.loop.call_time.value == pytest.approx(1.0)
    assert voxcpm.loop.beside_calls.value == pytest.approx(9.0)
    assert voxcpm.loop.fit_r2.value == pytest.approx(1.0)
    assert [steps.network_time.value for steps in voxcpm.steps] == pytest.approx([9, 7, 5, 3, 1])
    assert voxcpm.steps[0].network_share.value == pytest.approx(50)


def test_kernels_and_gaps_compiled_and_not(voxcpm):
    assert (voxcpm.compiled.busy_share.value, voxcpm.eager.busy_share.value) == pytest.approx((75, 20))
    assert (voxcpm.compiled.gaps.value, voxcpm.eager.gaps.value) == pytest.approx((4.5, 72))
    assert (voxcpm.compiled.launched.value, voxcpm.eager.launched.value) == (3000, 8000)
    assert (voxcpm.compiled.patch_matmul.value, voxcpm.compiled.patch_attention.value) == (6, 1)
    assert voxcpm.compiled.patch_other.value == pytest.approx(6.5), "copies go with the others"
    assert voxcpm.eager.patch_matmul.absences[0].reason == "not_recorded"


def test_what_compiling_gains(voxcpm):
    assert [steps.compile_gain.value for steps in voxcpm.both_ways] == pytest.approx([5, 3])
    assert not voxcpm.steps[1].compile_gain.measured


def test_what_smaller_caches_save(voxcpm):
    assert (voxcpm.cache.places.value, voxcpm.cache.fewer_places.value) == (8192, 1024)
    assert voxcpm.cache.gain.value == pytest.approx(18 / 13.5)
    assert voxcpm.cache.saved_share.value == pytest.approx(25)


def test_parts_are_held_against_the_patch_and_the_fixed_time(voxcpm):
    assert voxcpm.patch.parts_sum.value == 19
    assert voxcpm.parts_over_patch.value == pytest.approx(100 * 19 / 18)
    assert voxcpm.fixed.to("ms").value == pytest.approx(40)
    assert voxcpm.prefill_share.value == pytest.approx(75)


def test_the_sum_of_the_parts_is_told_by_any_part_that_was_measured():
    first = edition({"patch_part_time?part=language_model": None}).voxcpm
    assert first.patch.parts_sum.value == 19


def test_what_streaming_adds_and_what_the_first_sound_waits_for(voxcpm):
    streaming = voxcpm.streaming
    assert (streaming.gap.value, streaming.longest_gap.value, streaming.underrun.value) == (24, 27, 0)
    assert (streaming.slower.value, streaming.extra.value) == pytest.approx((24 / 18, 6))
    assert voxcpm.first_audio.value == pytest.approx(58)
    assert streaming.over_estimate.value == pytest.approx(100 * 56 / 58)
    assert streaming.before_sound.value == pytest.approx(1 + 30 + 2 + 9 + 1 + 6)


def test_memory_and_one_reading_of_the_weights(voxcpm):
    assert (voxcpm.memory_weights.value, voxcpm.memory_peak.value, voxcpm.memory_caches.value) == (5000, 6000, 288)
    assert voxcpm.weights.value == pytest.approx(4)
    assert voxcpm.read_time.value == pytest.approx(1)
    assert voxcpm.read_of_patch.value == pytest.approx(100 / 18)


def test_the_faster_engine_says_why_it_is_missing_and_is_told_where_it_is_not():
    missing = edition(failures={"patch_time?engine=nano&steps=10": "engine_missing"}).voxcpm.nano
    assert [absence.reason for absence in missing.patch_time.absences] == ["engine_missing"]
    timed = {
        "patch_time?engine=nano&steps=10": ms(6.0),
        "first_audio?engine=nano": ms(30.0),
        "utterance_time?engine=nano&patches=100": sample("s", 0.8),
    }
    told = edition(timed)
    assert (told.voxcpm.nano.patch_time.value, told.voxcpm.nano.first_audio_timed.value) == (6, 30)
    assert told.voxcpm.nano.utterances[0].utterance_time.value == 0.8
    assert told.voxcpm.fit_points.value == 3, "its utterances are no points of the package's line"
    assert list(told.unused_samples()) == []


def test_every_sample_is_used():
    assert list(edition().unused_samples()) == []


# Conclusions

CHANGES = [
    ("calls_on_line", "refuted", {"patch_time?steps=2": ms(30.0)}),
    ("diffusion_most_of_patch", "refuted", {f"patch_time?steps={n}": ms(19 + n) for n in (10, 8, 6, 4, 2)}),
    ("patch_is_kernels", "refuted", {"patch_kernel_time": ms(8.0)}),
    ("eager_patch_is_gaps", "refuted", {"patch_kernel_time?compile=off": ms(60.0)}),
    ("compiling_pays", "refuted", {"patch_time?compile=off&steps=2": ms(10.5)}),
    ("small_cache_pays", "refuted", {"patch_time?max_length=1024&steps=10": ms(17.5)}),
    (
        "parts_add_up",
        "refuted",
        {f"patch_part_time?part={part}": ms(took, patch_all_parts_ms=21.0) for part, took in PARTS.items()},
    ),
    ("prefill_most_of_fixed", "refuted", {"fixed_part_time?part=prefill": ms(5.0)}),
    ("first_sound_as_calculated", "refuted", {"first_audio": ms(46.0)}),
    ("first_sound_as_calculated", "refuted", {"first_audio": ms(70.0)}),
    ("never_dry", "refuted", {"underrun": ms(50.0)}),
    ("never_dry", "holds", {"underrun": ms(0.5)}),
    ("streaming_costs", "refuted", {"chunk_gap": ms(19.0)}),
]


@pytest.mark.parametrize("name", patch.register)
def test_what_holds_of_these_samples(name):
    assert outcome(edition({"patch_time?steps=10": ms(18.001, max_length=8192)}), name) == "holds"


@pytest.mark.parametrize(
    ("name", "expected", "changed"), CHANGES, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(CHANGES)]
)
def test_what_other_samples_make_of_it(name, expected, changed):
    assert outcome(edition(changed), name) == expected


@pytest.mark.parametrize("name", patch.register)
def test_of_nothing_measured_nothing_is_concluded(name):
    assert outcome(edition(dict.fromkeys(SAMPLES)), name) == "undecided"


@pytest.mark.parametrize(("factor", "expected"), [(0.119, "holds"), (0.116, "holds"), (0.114, "refuted")])
def test_a_factor_a_little_below_the_line_still_fits_it(factor, expected):
    """The longest utterance takes 0.76 s for 6.4 s of sound, a factor of 0.1188; 3% below are 0.1152."""
    assert outcome(edition({"real_time_factor": sample("1", factor)}), "factors_fit_line") == expected


# Charts


def test_charts_draw_what_was_timed_and_the_lines():
    drawn = charts.charts(edition())
    utterance, steps, parts = (drawn[name] for name in ("utterance", "steps", "parts"))
    points, fitted, first = utterance.figure["data"]
    assert (points["x"], points["y"]) == ([1.6, 3.2, 6.4], [0.22, 0.4, 0.76])
    assert (fitted["x"], fitted["y"]) == ([0, 6.4], [0.04, 0.76])
    assert first["y"] == [0.056, 0.056]
    rest, network, timed = steps.figure["data"]
    assert (network["x"], network["y"]) == (["2", "4", "6", "8", "10"], [1, 3, 5, 7, 9])
    assert rest["y"] == [9] * 5 and timed["y"] == [10, 12, 14, 16, 18]
    assert [trace["x"] for trace in parts.figure["data"]] == [[PARTS[name], STREAMED[name]] for name in PARTS]
    for chart in (utterance, steps, parts):
        charts.checked(chart.figure)


def test_without_samples_there_are_no_such_charts():
    assert not {"utterance", "steps", "parts"} & charts.charts(edition(dict.fromkeys(SAMPLES))).keys()


def test_a_slope_that_grows_with_the_length_is_no_straight_line():
    """Above 25 patches each takes longer by three tenths: the line still explains nearly all, and the slopes tell."""
    seconds = {patches: 0.04 + 0.018 * patches + 0.0054 * max(patches - 25, 0) for patches in (6, 12, 19, 25, 50, 100)}
    bent = edition({f"utterance_time?patches={patches}": sample("s", took) for patches, took in seconds.items()})
    assert bent.voxcpm.fit_r2.value > bent.thresholds.linear.value
    assert bent.voxcpm.slope_growth.value == pytest.approx(1.3, rel=0.05)
    assert claims.CLAIMS["time_proportional"](bent).outcome is Outcome.REFUTED
