"""Truth with three outcomes: thresholds over the whole spread, Kleene's logic, families that go on without a member."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from templates import units
from templates.labels import Labels
from templates.quantity import Constant, Kind, Quantity, missing
from templates.truth import Claim, Outcome, above, at_least, at_most, below, every, some
from templates.voice import Voice

H, R, U = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED


def of(low, high, spelled="1"):
    return Quantity((low + high) / 2, units.unit(spelled), Kind.MEASURED, Constant("one"), low, high, shown_in=spelled)


absent = missing("1", Constant("one"), "not_run", "somewhere")


@pytest.mark.parametrize(
    ("test", "left", "right", "outcome"),
    [
        (at_least, (0.85, 0.9), (0.8, 0.8), H),
        (at_least, (0.8, 0.9), (0.8, 0.8), H),
        (at_least, (0.7, 0.79), (0.8, 0.8), R),
        (at_least, (0.7, 0.9), (0.8, 0.8), U),
        (at_most, (0.7, 0.8), (0.8, 0.8), H),
        (at_most, (0.81, 0.9), (0.8, 0.8), R),
        (at_most, (0.7, 0.9), (0.8, 0.8), U),
        (above, (0.8, 0.8), (0.8, 0.8), R),
        (above, (0.81, 0.9), (0.8, 0.8), H),
        (above, (0.8, 0.9), (0.8, 0.8), U),
        (below, (0.8, 0.8), (0.8, 0.8), R),
        (below, (0.7, 0.79), (0.8, 0.8), H),
        (below, (0.75, 0.8), (0.8, 0.8), U),
    ],
)
def test_comparison(test, left, right, outcome):
    assert test(of(*left), of(*right)).outcome is outcome


def test_comparison_converts_units():
    assert at_least(of(90, 91, "%"), of(0.8, 0.8)).outcome is H
    with pytest.raises(units.DimensionalityError):
        at_least(of(1, 1, "GB"), of(1, 1, "tok"))


def test_what_is_unmeasured_is_undecided_with_its_reason():
    truth = at_least(absent, of(1, 1))
    assert truth.outcome is U
    assert truth.absences == absent.absences


holds, refuted = at_least(of(2, 2), of(1, 1)), at_least(of(0, 0), of(1, 1))
straddles, unknown = at_least(of(0, 2), of(1, 1)), at_least(absent, of(1, 1))


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (holds, holds, H, H),
        (holds, refuted, R, H),
        (holds, straddles, U, H),
        (refuted, refuted, R, R),
        (refuted, straddles, R, U),
        (straddles, straddles, U, U),
        (unknown, holds, U, H),
        (unknown, refuted, R, U),
    ],
)
def test_logic(left, right, both, either):
    assert (left & right).outcome is both is (right & left).outcome
    assert (left | right).outcome is either is (right | left).outcome


def test_negation():
    assert [(~truth).outcome for truth in (holds, refuted, straddles)] == [R, H, U]


def test_families_count_the_members_they_judge():
    truth = every([holds, holds, unknown], "models")
    assert (truth.outcome, truth.counted, truth.total) == (H, 2, 3)
    assert every([holds, refuted, unknown], "models").outcome is R
    assert every([holds, straddles], "models").outcome is U
    assert some([refuted, holds, unknown], "models").outcome is H
    assert some([refuted, unknown], "models").outcome is R


def test_a_family_without_members_is_undecided():
    assert every([], "models").outcome is U
    assert every([], "models").absences[0].reason == "no_member"
    assert every([unknown], "models").absences == absent.absences


def within(interval):
    """An interval inside another."""
    return st.tuples(st.floats(*interval), st.floats(*interval)).map(sorted)


intervals = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)
pairs = st.lists(st.tuples(intervals, intervals), min_size=1, max_size=4)


@given(pairs, st.sampled_from([above, at_least, at_most, below]), st.sampled_from([every, some]), st.data())
def test_what_is_decided_stays_so_with_values_from_inside_the_intervals(pairs, test, family, data):
    """So a remeasurement within the spread turns no claim around, and only tightens what could not be said."""
    before = family([test(of(*left), of(*right)) for left, right in pairs], "models").outcome
    again = [[data.draw(within(side)) for side in pair] for pair in pairs]
    after = family([test(of(*left), of(*right)) for left, right in again], "models").outcome
    assert before in (after, U)


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_a_conclusion_from_a_suspect_sample_says_so(language):
    """Where one was reached, and whichever side the sample is beneath."""
    suspect, sure, wide = replace(of(2, 3), doubts=("drifts",)), of(1, 1), replace(of(0, 3), doubts=("drifts",))
    reached = [Claim("some", above(suspect, sure)), Claim("some", above(sure, suspect))]
    plain = [Claim("some", above(of(2, 3), sure)), Claim("some", above(wide, sure))]
    word, voice = Labels(language).get("verdict", "suspect"), Voice(language)
    assert [claim.doubted for claim in (*reached, *plain)] == [True, True, False, False]
    assert all(voice.outcome(claim).endswith(word) for claim in reached)
    assert not any(word in voice.outcome(claim) for claim in plain)
