"""Slope, fixed time and real-time factors of synthesis: calculated from utterances that were timed, else as told."""

import json

import pytest
from paths import RESULTS

from measure.results import Failure, Machine, Report, Run, Sample, dump, parse
from measure.store import load
from templates import render, typography
from templates.claims import CLAIMS
from templates.facts.edition import editions
from templates.labels import LANGUAGES
from templates.quantity import Kind
from templates.truth import Outcome
from templates.voice import Voice

RUN, SUBJECT = "h200-speech", "tts_voxcpm/voxcpm2-bf16"
FIXED_S, SLOPE = 0.05, 0.1
LENGTHS = (6, 25, 50, 100)


def timed(patches, config=None, seconds=None):
    """A sample of an utterance that takes 0.1 s for each second of sound, and 0.05 s besides."""
    took = FIXED_S + SLOPE * patches * 0.16 if seconds is None else seconds
    told = {"inference_timesteps": 10, "device": "cuda", "patches": patches, **(config or {})}
    return Sample("s", [0.999 * took, took, 1.001 * took], "2026-11-29T13:45:00Z", "python -m measure", told)


def shipped_with(samples, failures=None, kind="executed"):
    """The shipped data, these samples in the run that the H200's edition asks about speech."""
    results = parse(dump(load(RESULTS)).encode())
    results.runs = [run for run in results.runs if run.id != RUN]
    machine = Machine("NVIDIA H200", "cuda", accelerators=1)
    results.runs.append(Run(RUN, kind, machine, "2026-11-29", samples, failures or {}))
    return parse(dump(results).encode())


def h200(found):
    return next(one for one in found if one.edition.id == "h200")


def told(samples, failures=None, kind="executed"):
    found = editions(shipped_with(samples, failures, kind))
    return next(edition for edition in found if edition.id == "h200")


def utterances(*lengths):
    return {f"{SUBJECT}/utterance_time?patches={patches}": timed(patches) for patches in lengths}


@pytest.fixture(scope="module")
def here():
    return told(utterances(*LENGTHS))


def test_the_line_goes_through_what_was_timed(here):
    voxcpm = here.voxcpm
    assert voxcpm.slope.value == pytest.approx(SLOPE)
    assert voxcpm.fixed.value == pytest.approx(FIXED_S)
    assert voxcpm.fit_r2.value == pytest.approx(1)
    assert (voxcpm.fit_points.value, voxcpm.time_steps.value) == (4, 10)
    assert {voxcpm.slope.kind, voxcpm.fixed.kind, voxcpm.fit_r2.kind} == {Kind.CALCULATED}
    assert voxcpm.slope.low < SLOPE < voxcpm.slope.high, "the spread of the utterances is that of the slope"


def test_factors_are_wall_time_over_sound(here):
    factors = [SLOPE + FIXED_S / (patches * 0.16) for patches in LENGTHS]
    assert [one.real_time_factor.value for one in here.voxcpm.utterances] == pytest.approx(factors)
    assert here.voxcpm.real_time_factor.value == pytest.approx((factors[1] + factors[2]) / 2)
    assert (here.voxcpm.factor_low.value, here.voxcpm.factor_high.value) == pytest.approx((factors[-1], factors[0]))


def test_whole_utterances_range_from_the_shortest_to_the_longest(here):
    assert here.voxcpm.utterance_low.value == pytest.approx(FIXED_S + SLOPE * 0.96)
    assert here.voxcpm.utterance_high.value == pytest.approx(FIXED_S + SLOPE * 16)


def test_what_follows_from_the_line_follows_from_the_utterances(here):
    assert here.voxcpm.patch_time.value == pytest.approx(16)
    assert here.turn.speak_whole.to("s").value == pytest.approx(FIXED_S + 3 * SLOPE)
    assert h200(render.tell(here.results)).claims["time_proportional"].holds


def test_a_crooked_line_is_seen():
    samples = utterances(6, 12, 25) | {f"{SUBJECT}/utterance_time?patches=50": timed(50, seconds=3.0)}
    assert told(samples).voxcpm.fit_r2.value < 0.9


def test_a_sentence_as_long_as_the_model_makes_it_is_a_point_too():
    key = f"{SUBJECT}/utterance_time?language=ko&sentence=1"
    found = told({**utterances(25, 6), key: timed(31)}).voxcpm
    assert [one.wanted.parameters[0] for one in found.utterances] == [
        ("patches", "6"),
        ("patches", "25"),
        ("language", "ko"),
    ]
    assert found.utterances[-1].utterance_audio.value == pytest.approx(31 * 0.16)
    assert (found.slope.value, found.fit_points.value) == (pytest.approx(SLOPE), 3)


def test_another_engine_or_a_range_is_no_point_of_this_line():
    others = {f"{SUBJECT}/utterance_time?engine=nano&patches=100": timed(100, seconds=0.5)}
    assert told({**utterances(*LENGTHS), **others}).voxcpm.fit_points.value == 4


def test_lengths_that_were_not_timed_are_left_out(here):
    failed = {f"{SUBJECT}/utterance_time?patches=75": Failure("crashed", "2026-11-29T13:45:00Z")}
    found = told(utterances(*LENGTHS), failed).voxcpm
    assert (len(found.utterances), found.fit_points.value, found.slope.value) == (5, 4, here.voxcpm.slope.value)


def test_where_nothing_was_timed_the_reason_is_that_of_the_lengths():
    failed = {f"{SUBJECT}/utterance_time?patches={n}": Failure("too_slow", "2026-11-29T13:45:00Z") for n in (6, 25)}
    found = told({}, failed).voxcpm
    for missing in (
        found.slope,
        found.fixed,
        found.fit_r2,
        found.real_time_factor,
        found.factor_low,
        found.utterance_high,
    ):
        assert not missing.measured
        assert {absence.reason for absence in missing.absences} == {"too_slow"}


def test_two_lengths_are_too_few():
    found = told(utterances(6, 25)).voxcpm
    assert [absence.reason for absence in found.slope.absences] == ["too_few_points"]
    assert found.real_time_factor.measured, "a factor needs no line"


def test_a_run_that_tells_its_own_figures_is_taken_at_its_word():
    said = {
        f"{SUBJECT}/slope": Report("1", 0.4, "somebody", config={"points": 7, "inference_timesteps": 8}),
        f"{SUBJECT}/fixed_time": Report("s", 0.3, "somebody"),
        f"{SUBJECT}/real_time_factor": Report("1", 0.5, "somebody", 0.45, 0.6),
        **{text: Report("s", one.median, "somebody") for text, one in utterances(*LENGTHS).items()},
    }
    found = told(said, kind="reported").voxcpm
    assert (found.slope.value, found.fixed.value, found.fit_points.value, found.time_steps.value) == (0.4, 0.3, 7, 8)
    assert (found.factor_low.value, found.real_time_factor.value, found.factor_high.value) == (0.45, 0.5, 0.6)
    assert found.slope.kind is Kind.REPORTED
    assert found.fit_r2.value == pytest.approx(1), "what it does not tell is calculated from what it does"


def test_the_source_tells_its_line_itself():
    source = editions(load(RESULTS))[0]
    assert source.voxcpm.utterances == []
    assert (source.voxcpm.slope.kind, source.voxcpm.fit_r2.absences[0].reason) == (Kind.REPORTED, "not_published")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("force", [None, *Outcome], ids=str)
def test_pages_of_such_a_run_are_set_as_all_others(language, force):
    results = shipped_with({**utterances(*LENGTHS), f"{SUBJECT}/utterance_time?language=zh&sentence=2": timed(31)})
    pages = render.pages(results, force and dict.fromkeys(CLAIMS, force))
    article = pages[f"{language}/h200/index.md"]
    assert list(typography.lint(article, language)) == []
    receipts = pages[f"{language}/h200/receipts.md"]
    assert "slope(" in receipts and "intercept(" in receipts and "R²(" in receipts and "median(" in receipts


def test_the_formula_of_the_slope_names_every_point(here):
    shown = Voice("en").described(here.voxcpm.slope)
    assert shown["with_values"] == "slope(0.960 s → 0.146 s, 4.00 s → 0.450 s, 8.00 s → 0.850 s, 16.0 s → 1.65 s)"
    assert len(shown["inputs"]) == 8 and json.dumps(shown)


def test_the_wait_for_the_first_sound_is_prompt_sentence_and_sound():
    """Of the source article: 96 ms of prompt, 234 ms of generation, then 1.66 s or 0.31 s of synthesis."""
    source = next(edition for edition in editions(load(RESULTS)) if edition.id == "source")
    assert source.turn.wait_whole.to("s").value == pytest.approx(0.0957 + 0.234 + 1.655, abs=0.002)
    assert source.turn.wait_streaming.to("s").value == pytest.approx(0.0957 + 0.234 + 0.306, abs=0.005)
