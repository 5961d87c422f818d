"""What is said of streaming recognition follows from samples made by hand: arithmetic, time, streams, differences."""

import pytest
from paths import RESULTS

from measure.results import Failure, Machine, Report, Results, Run, Sample
from measure.store import load
from templates import charts, claims, render, typography
from templates.config import Told
from templates.facts.edition import Edition
from templates.labels import LANGUAGES
from templates.voice import Voice

SUBJECT = "asr_nemotron/nemotron-0.6b-bf16"
RIGHTS = (0, 1, 3, 6, 13)
PARTS = {"encoder": 16.0, "features": 1.0, "prompt": 0.5, "rnnt": 2.5}


def sample(unit, *values, **config):
    repeats = list(values) if len(values) > 1 else list(values) * 5
    return Sample(unit, repeats, "2026-11-01", "python -m measure run asr_nemotron", {"weights": "random", **config})


def of(quantity, right, **told):
    pairs = sorted({"right": str(right), **told}.items())
    return f"{SUBJECT}/{quantity}?{'&'.join(f'{name}={value}' for name, value in pairs)}"


def each(quantity, unit, value, config=None, **told):
    """The same for each look-ahead; `value` of the frames in its chunk, or a number."""
    said = config or {}
    return {
        of(quantity, right, **told): sample(unit, value(right + 1) if callable(value) else value, **said)
        for right in RIGHTS
    }


def parts(quantity="step_part_time", **told):
    config = {"whole_step_ms": 12.5, "steps_in_turn": 4}
    made = [each(quantity, "ms", ms, config, part=name, **told) for name, ms in PARTS.items()]
    return {text: s for one in made for text, s in one.items()}


TOGETHER = {
    "bandwidth/sum": sample("GB/s", 4000.0, buffer_bytes=2**33),
    "matmul/throughput?dtype=bf16&n=4096": sample("TFLOPS", 500.0),
    "matmul/throughput?dtype=bf16&n=8192": sample("TFLOPS", 800.0),
    "matmul/throughput?dtype=fp8&n=8192": sample("TFLOPS", 1600.0),
    f"{SUBJECT}/loaded_weights": sample("GB", 1.2),
    f"{SUBJECT}/parameters": sample("param", 6e8),
    f"{SUBJECT}/cache_memory": sample("MiB", 3.0),
}

SAMPLES = {
    **TOGETHER,
    **each("chunk_length", "ms", lambda frames: 80.0 * frames),
    **each("step_time", "ms", 16.0, {"tokens_per_second": 5.0}),
    **each("step_time", "ms", 16.8, program="package"),
    **each("buffered_step_time", "ms", 32.0),
    **each("step_flops", "FLOP", lambda frames: 8e9 + 2e9 * frames),
    **each("buffered_step_flops", "FLOP", lambda frames: 32e9 + 8e9 * frames, {"window_s": 4.5}),
    **each("buffered_step_flops", "FLOP", 100e9, {"window_s": 5.4}, window="5.6"),
    **each("buffered_step_time", "ms", 48.0, window="5.6"),
    of("buffered_streams", 3, window="5.6"): sample("1", 60.0),
    **each("step_flops", "FLOP", lambda frames: 2e9 * frames, cache="keys_values"),
    **each("step_part_time", "ms", 8.0, cache="keys_values", part="encoder"),
    **parts(),
    **each("step_part_time", "ms", 2.0, emission="none", part="rnnt"),
    **each("step_part_time", "ms", 3.0, emission="every", part="rnnt"),
    **each("step_kernel_time", "ms", 4.0, {"kernels_per_step": 3000}),
    **each("buffered_step_kernel_time", "ms", 24.0, {"kernels_per_step": 2900}),
    **each("step_time", "ms", 6.4, encoder="graph"),
    **each("step_part_time", "ms", 4.0, encoder="graph", part="encoder"),
    **each("streams", "1", lambda frames: 100.0 * frames),
    **each("buffered_streams", "1", lambda frames: 20.0 * frames),
    **each("streams", "1", lambda frames: 300.0 * frames, decoder="batched"),
    **each("stream_memory", "MiB", 7.0),
    **each("stream_difference", "1", 1e-5, dtype="fp32"),
    **each("stream_difference", "1", 0.02, dtype="bf16"),
    of("stream_difference", 0, chunks="exact", dtype="fp32"): sample("1", 2e-5),
}


def edition(*more, samples=SAMPLES, **settings):
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    made = {**samples, **{text: s for changed in more for text, s in changed.items()}}
    run = Run("a", "executed", machine, "2026-11-01", made, **settings)
    return Edition("x", Told(models="a", voxcpm="a", magpie="a", recognition="a"), Results([run]))


def outcome(told, name):
    return claims.judge(told)[name].outcome.value


@pytest.fixture(scope="module")
def told():
    return edition()


def test_what_a_step_consists_of(told):
    step = told.recognition.middle.step
    assert [step.part(name).value for name in ("features", "encoder", "prompt", "rnnt")] == [1.0, 16.0, 0.5, 2.5]
    assert step.parts_time.value == pytest.approx(20)
    assert step.parts_ratio.value == pytest.approx(20 / 12.5)
    assert step.encoder_share.value == pytest.approx(80)
    assert (step.rnnt_silent.value, step.rnnt_emitting.value, step.emission_gain.value) == (2, 3, 1.5)


def test_the_packages_own_step_against_its_calls_one_by_one(told):
    step = told.recognition.middle.step
    assert (step.package_time.value, step.package_ratio.value) == (16.8, pytest.approx(105))
    assert told.recognition.packaged == told.recognition.chunks
    assert edition(samples=TOGETHER).recognition.packaged == []


def test_tokens_a_frame(told):
    """5 tokens a second are 0.4 in 80 ms."""
    step = told.recognition.middle.step
    assert (step.emitted.value, step.emitting_share.value) == (5.0, pytest.approx(40))


def test_what_kernels_and_a_graph_make_of_a_step(told):
    step = told.recognition.middle.step
    assert (step.step_gaps.value, step.kernel_share.value) == (pytest.approx(12), pytest.approx(25))
    assert (step.step_launched.value, step.buffered_launched.value) == (3000, 2900)
    assert step.buffered_kernel_share.value == pytest.approx(75)
    assert (step.graph_gain.value, step.graph_encoder.value) == (pytest.approx(2.5), 4)


def test_arithmetic_of_a_step(told):
    """With four frames 16 GFLOP of which eight go by the frames; 64 with a window; eight without projecting again."""
    work = told.recognition.middle.work
    assert (work.flops.value, work.buffered_flops.value, work.kept_flops.value) == pytest.approx((16, 64, 8))
    assert told.recognition.frame_flops.value == pytest.approx(2)
    assert work.new_share.value == pytest.approx(50)
    assert (work.work_gain.value, work.kept_work_gain.value) == pytest.approx((4, 2))
    assert told.recognition.middle.cache_gain.value == pytest.approx(2)
    assert work.time_of_work.value == pytest.approx(50)
    assert work.kept_time_gain.value == pytest.approx(2)


def test_a_longer_window(told):
    window = told.recognition.middle.windows[0]
    assert (window.window_length.value, window.buffered_time.value) == (5.4, 48.0)
    assert (window.cache_gain.value, window.work_gain.value) == pytest.approx((3, 6.25))
    assert window.buffered_streams.value == 60
    assert not told.recognition.middle.windows[1].work_gain.measured


def test_ceilings_are_those_of_the_same_run_in_the_same_format(told):
    """16 GFLOP in 16 ms are 1 of 800 TFLOPS; 1.2 GB in 16 ms are 75 of 4000 GB/s. No product in fp8 counts."""
    work = told.recognition.middle.work
    assert (work.compute.value, work.compute_share.value) == pytest.approx((1, 0.125))
    assert (work.traffic.value, work.share.value) == pytest.approx((75, 1.875))
    assert told.recognition.read_time.value == pytest.approx(0.3)


def test_streams_and_memory(told):
    chunk = told.recognition.middle
    assert (chunk.streams_gain.value, chunk.batched_gain.value) == (5, 3)
    assert (chunk.stream_memory.value, told.recognition.cache_memory.value) == (7, 3)


def test_the_delay_is_half_a_chunk_what_its_last_feature_reaches_beyond_and_the_step(told):
    """Of 320 ms half; a feature's window of 25 ms reaches 2.5 beyond its 10; and 16 ms for the step."""
    chunk = told.recognition.middle
    assert (chunk.wait.value, chunk.final_delay.value) == (162.5, 178.5)
    assert chunk.wait_share.value == pytest.approx(100 * 162.5 / 178.5)
    published = Report("ms", 16.0, "an article")
    run = Run("a", "reported", Machine("a card", "cuda"), "2026-11-01", {of("step_time", 3): published})
    named = Told(models="a", voxcpm="a", magpie="a", recognition="a")
    assert Edition("x", named, Results([run])).recognition.middle.final_delay.value == 178.5


@pytest.mark.parametrize(("times", "share"), [([90.0], 42.5 / 132.5), ([20.0] * 90 + [90.0] * 10, 42.5 / 62.5)])
def test_steps_that_outlast_their_chunk_have_no_delay(times, share):
    """In the median or the late ones alone: 90 ms are more than 80, but not more than 160."""
    chunks = edition(each("step_time", "ms", 16.0), {of("step_time", n): sample("ms", *times) for n in (0, 1)})
    first, second, *_ = chunks.recognition.chunks
    assert [a.reason for a in first.final_delay.absences] == ["outlasted"]
    assert first.wait_share.value == pytest.approx(100 * share)
    assert second.final_delay.measured


def test_a_late_step_is_the_one_that_five_in_a_hundred_exceed():
    times = [float(value) for value in range(1, 101)]
    chunk = edition({of("step_time", 0): sample("ms", *times)}).recognition.chunks[0]
    assert (chunk.late_step.value, chunk.late_load.value) == (95.0, pytest.approx(100 * 95 / 80))


def test_without_repeats_there_is_no_late_step():
    """A published median says nothing of the slowest steps."""
    report = Report("ms", 16.0, "an article")
    run = Run("a", "reported", Machine("a card", "cuda"), "2026-11-01", {of("step_time", 0): report})
    chunk = Edition("x", Told(models="a", voxcpm="a", magpie="a", recognition="a"), Results([run])).recognition.chunks[
        0
    ]
    assert chunk.step_time.measured
    assert [a.reason for a in chunk.late_step.absences] == ["not_recorded"]


def test_a_late_step_is_missing_for_the_reason_of_its_step():
    failed = {of("step_time", 0): Failure("crashed", "2026-11-01")}
    chunk = edition(samples=TOGETHER, failures=failed).recognition.chunks[0]
    assert [a.reason for a in chunk.late_step.absences] == ["crashed"]


def test_the_model_is_the_one_that_the_run_holds():
    fp32 = {text.replace("bf16/", "fp32/"): s for text, s in each("step_time", "ms", 100.0).items()}
    found = edition(samples=fp32).recognition
    assert (found.subject, found.middle.step_time.value) == ("nemotron-0.6b-fp32", 100.0)


def test_random_weights_are_why_there_is_no_error_rate(told):
    errors = told.recognition.middle.errors
    rates = [errors.error_read, errors.unspaced_read, errors.words_read, errors.whole_read, errors.empty_read]
    assert {rate.absences[0].reason for rate in rates} == {"random_weights"}


def test_error_rates_of_real_weights_are_told():
    rates = {"cer": {}, "wer": {}}
    made = {of(quantity, 3, audio="fleurs", **more): 9.0 for quantity, more in rates.items()}
    made |= {of("cer", 3, audio="fleurs", spaces="without"): 8.0, of("cer", 3, audio="fleurs", input="whole"): 7.0}
    real = {
        text: Sample("%", [v], "2026-11-01", "", {"weights": "real", "empty_outputs": 2}) for text, v in made.items()
    }
    found = edition(samples=real).recognition
    errors = found.middle.errors
    assert (errors.error_read.value, errors.words_read.value, errors.empty_read.value) == (9.0, 9.0, 2)
    assert (errors.unspaced_read.value, errors.whole_read.value) == (8.0, 7.0)
    assert (found.heard, found.scored) == ([found.middle], [found.middle])
    assert [a.reason for a in found.chunks[0].errors.error_read.absences] == ["not_run"]


REFUTED = {
    "chunk_is_frames": [each("chunk_length", "ms", lambda frames: 80.0 * frames + 10)],
    "frames_computed_once": [],
    "cache_saves_work": [each("buffered_step_flops", "FLOP", 10e9)],
    "cache_pays": [each("buffered_step_time", "ms", 15.0)],
    "step_slower_with_cache": [],
    "time_follows_work": [],
    "keys_kept_save_work": [each("step_flops", "FLOP", lambda frames: 8e9 + 2e9 * frames, cache="keys_values")],
    "keys_kept_pay": [each("step_part_time", "ms", 15.9, cache="keys_values", part="encoder")],
    "step_below_ceilings": [{f"{SUBJECT}/loaded_weights": sample("GB", 40.0)}],
    "recognition_in_kernels": [],
    "recognition_graph_pays": [each("step_time", "ms", 15.5, encoder="graph")],
    "emission_takes_time": [{of("step_part_time", 0, emission="every", part="rnnt"): sample("ms", 2.1)}],
    "transducer_within_bounds": [each("step_part_time", "ms", 4.0, part="rnnt")],
    "cache_serves_more": [each("buffered_streams", "1", lambda frames: 98.0 * frames)],
    "batched_serves_more": [each("streams", "1", lambda frames: 90.0 * frames, decoder="batched")],
    "streamed_is_whole": [{of("stream_difference", 0, dtype="fp32"): sample("1", 0.03)}],
    "exact_is_whole": [{of("stream_difference", 0, chunks="exact", dtype="fp32"): sample("1", 0.03)}],
    "delay_is_waiting": [each("step_time", "ms", 70.0)],
    "recognition_light": [each("step_time", "ms", 40.0)],
}
"""What refutes a claim; nothing where the samples above do."""

HOLDS = {
    "frames_computed_once": [each("step_flops", "FLOP", lambda frames: 1e8 + 2e9 * frames)],
    "step_slower_with_cache": [each("buffered_step_time", "ms", 15.0)],
    "time_follows_work": [each("buffered_step_time", "ms", 64.0)],
    "recognition_in_kernels": [each("step_kernel_time", "ms", 15.0)],
}
"""What makes the others hold."""


@pytest.mark.parametrize("name", REFUTED)
def test_a_claim_follows_its_samples(name):
    assert outcome(edition(*HOLDS.get(name, ())), name) == "holds"
    assert outcome(edition(*REFUTED[name]), name) == "refuted"
    assert outcome(edition(samples=TOGETHER), name) == ("holds" if name == "chunk_is_frames" else "undecided")


@pytest.mark.parametrize(
    ("ms", "expected"), [(1.7, "refuted"), (1.85, "holds"), (2.5, "holds"), (3.25, "holds"), (3.4, "refuted")]
)
def test_the_transducer_may_be_a_tenth_beyond_either_bound(ms, expected):
    """Without tokens it takes 2 ms, with one on each frame 3."""
    assert outcome(edition(each("step_part_time", "ms", ms, part="rnnt")), "transducer_within_bounds") == expected


def test_between_what_held_and_what_failed_more_streams_may_keep_up():
    """400 held with the middle chunk and 1,000 failed, where 80 keep up without a cache: 5 to 12.5 times."""
    found = edition({of("streams", 3): sample("1", 400.0, beyond=1000)}).recognition.middle
    assert (found.streams.value, found.streams.low, found.streams.high) == (400, 400, 1000)
    assert (found.streams_gain.low, found.streams_gain.high) == (5, 12.5)
    none_failed = edition({of("streams", 3): sample("1", 400.0, beyond=0)}).recognition.middle
    assert none_failed.streams.high == 400


def test_a_ceiling_of_either_kind_that_is_used_refutes():
    assert outcome(edition(each("step_flops", "FLOP", 8e12)), "step_below_ceilings") == "refuted"


def test_a_chunk_that_was_not_counted_is_held_against_the_card_alone():
    some = edition({of("chunk_length", 3): sample("ms", 320.0)}, samples=TOGETHER)
    truth = claims.judge(some)["chunk_is_frames"].truth
    assert (truth.outcome.value, truth.counted, truth.total) == ("holds", 6, 6)


TURN = {
    "decode_transformers/qwen3-0.6b-bf16/rate?requests=1": sample("tok/s", 1000.0, requests=1),
    "decode_transformers/qwen3-0.6b-bf16/prefill_rate?tokens=64": sample("tok/s", 16_000.0),
    "tts_voxcpm/voxcpm2-bf16/slope": sample("1", 0.2),
    "tts_voxcpm/voxcpm2-bf16/fixed_time": sample("s", 0.2),
    "tts_voxcpm/voxcpm2-bf16/first_audio": sample("s", 0.2),
}


def test_recognition_in_a_turn():
    """176 ms, 4 for the prompt, 20 for 20 tokens, and 800 for the whole sound or 200 for the first of it."""
    turn = edition(TURN, each("step_time", "ms", 13.5)).turn
    assert [part.value for part in (turn.recognise, turn.take_in, turn.generate)] == pytest.approx([176, 4, 20])
    assert turn.recognition_share.value == pytest.approx(17.6)
    assert turn.recognition_share_streaming.value == pytest.approx(44)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"tts_voxcpm/voxcpm2-bf16/first_audio": sample("s", 1.0)}, "holds"),
        ({}, "refuted"),
        (each("step_time", "ms", 250.0), "refuted"),
    ],
)
def test_recognition_is_light_in_a_turn_if_it_is_so_however_the_sound_is_played(changed, expected):
    assert outcome(edition(TURN, each("step_time", "ms", 13.5), changed), "recognition_light_in_turn") == expected


def test_without_a_turn_nothing_is_said_of_recognition_in_it(told):
    assert outcome(told, "recognition_light_in_turn") == "undecided"


def test_ranges_over_chunks_link_both_ends(told):
    made = Voice("en").reach(told.recognition.over.work.new_share)
    assert [f"a.nemotron.right{right}.work.new_share" in made for right in RIGHTS] == [True, False, False, False, True]
    nothing = Voice("en").reach(edition(samples=TOGETHER).recognition.over.work.new_share)
    assert "unmeasured" in nothing


NAMES = ("step_parts", "delay", "cache", "streams", "errors")


@pytest.mark.parametrize("name", NAMES)
def test_charts_are_what_plotly_knows(told, name):
    chart = charts.charts(told)[name]
    charts.checked(chart.figure)
    assert all(x.measured and y.measured for _, x, y in chart.rows)


def test_what_charts_draw(told):
    drawn = charts.charts(told)
    lines = {trace["name"]: trace["y"] for trace in drawn["cache"].figure["data"]}
    assert lines["@work_context"] == pytest.approx([4.0] * 5)
    assert lines["@time_window5_6"] == pytest.approx([3.0] * 5)
    assert {trace["name"] for trace in drawn["step_parts"].figure["data"]} == {f"@part_{name}" for name in PARTS}
    streams = {trace["name"]: trace["marker"]["symbol"] for trace in drawn["streams"].figure["data"]}
    assert [name for name, symbol in streams.items() if symbol.endswith("-open")] == ["@card_cached", "@card_buffered"]


def test_what_was_not_measured_is_not_drawn():
    drawn = charts.charts(edition(samples=TOGETHER))
    assert set(drawn) & set(NAMES) == {"streams", "errors"}
    assert {label for label, _, _ in drawn["errors"].rows} == {"@errors_card"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_with_everything_measured_read_well(language):
    """Typography of the sentences and tables that only a full run shows."""
    results = load(RESULTS)
    machine = Machine("a card", "cuda", "a processor", memory_bytes=2**34, accelerators=1)
    rates = {
        of(quantity, right, audio=audio, **more): sample("%", 7.0, recordings=30, empty_outputs=0)
        for audio in ("fleurs", "synthetic")
        for right in RIGHTS
        for quantity, more in (("cer", {}), ("wer", {}), ("cer", {"spaces": "without"}), ("cer", {"input": "whole"}))
    }
    kept = [run for run in results.runs if run.id != "h200-speech"]
    results.runs[:] = [*kept, Run("h200-speech", "executed", machine, "2026-11-01", {**SAMPLES, **rates})]
    (h200,) = [each for each in render.tell(results) if each.edition.id == "h200"]
    text = render.article(h200, Voice(language, shared=h200.shared))
    assert list(typography.lint(text, language)) == []
    assert not h200.edition.recognition.random_weights or "chart-step_parts" in text


@pytest.mark.parametrize(("kinds", "expected"), [(6, True), (2, False), (None, False)])
def test_what_was_timed_in_turn_with_the_step_with_a_cache(kinds, expected):
    """As many kinds in its turn as in that step's; a source that does not tell was not."""
    told = {} if kinds is None else {"steps_in_turn": kinds}
    chunk = edition(
        each("step_time", "ms", 10.0, {"steps_in_turn": 6}),
        each("step_time", "ms", 5.0, told, encoder="graph"),
        each("buffered_step_time", "ms", 20.0, told, window="8"),
    ).recognition.middle
    assert chunk.step.graph_in_turn is expected
    assert chunk.windows[1].in_turn is expected


def test_chunks_whose_step_drifted():
    steady = each("step_time", "ms", 10.0)
    drifting = {of("step_time", 0): sample("ms", *[44.0] * 10, *[28.0] * 10)}
    assert [chunk.right for chunk in edition(steady, drifting).recognition.unsteady] == [0]
