"""Error rates on cases whose edits can be counted by hand, and an interval that must hold what it is of."""

from random import Random

import pytest

from measure.recognition import error_rate
from measure.recognition.error_rate import Errors, Pair, characters, interval, normalise, rate, score, words


@pytest.mark.parametrize(
    ("reference", "hypothesis", "edits", "length"),
    [
        ("", "", 0, 0),
        ("", "abc", 3, 0),
        ("abc", "", 3, 3),
        ("abc", "abc", 0, 3),
        ("abc", "axc", 1, 3),
        ("abc", "ac", 1, 3),
        ("abc", "abxc", 1, 3),
        ("ab", "xyzuv", 5, 2),
        ("안녕하세요", "안녕하세오", 1, 5),
        ("오늘 날씨", "오늘날씨", 1, 5),
        ("今天天气好", "今天天汽好", 1, 5),
    ],
)
def test_characters(reference, hypothesis, edits, length):
    assert characters(Pair(reference, hypothesis)) == Errors(edits, length)


def test_empty_against_empty_is_no_error_and_text_against_nothing_exceeds_one():
    assert rate([characters(Pair("", ""))]) == 0
    assert rate([characters(Pair("", "ab"))]) == 200
    assert rate([characters(Pair("ab", ""))]) == 100


def test_without_spaces_only_letters_count():
    pair = Pair("아버지가 방에 들어가신다", "아버지 가방에 들어가신다")
    assert characters(pair) == Errors(2, 13)
    assert characters(pair, spaces=False) == Errors(0, 11)


def test_words():
    assert words(Pair("the cat sat on it", "the bat sat it")) == Errors(2, 5)
    assert words(Pair("", "one two")) == Errors(2, 0)
    assert words(Pair("one two", "")) == Errors(2, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Don't  STOP, now! ", "dont stop now"),
        ("It’s “fine” — really…", "its fine really"),
        ("안녕하세요. <ko-KR>", "안녕하세요"),
        ("well-known", "well known"),
        ("\u1112\u1161\u11ab", "한"),
        ("\uff21\uff22\uff23 \uff11\uff12", "abc 12"),
        ("百分之五\uff05", "百分之五"),
        ("<en-US>", ""),
        ("...", ""),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


def test_a_long_recording_weighs_more():
    assert rate([Errors(1, 10), Errors(0, 90)]) == 1


def test_empty_outputs_are_counted_as_deletions_and_told_by_place():
    pairs = [Pair("ab", "ab"), Pair("cd", " . "), Pair("", ""), Pair("ef", "<ko-KR>")]
    made = score(pairs, [characters(pair) for pair in pairs])
    assert made.rate == pytest.approx(100 * 4 / 6)
    assert made.empty == (2, 4)
    told = {"scored_recordings": 4, "empty_outputs": 2, "empty_places": "2,4", "edits": 4, "reference_length": 6}
    assert told.items() <= made.config.items()


def test_nothing_to_score_is_refused_and_so_is_a_recording_left_out():
    with pytest.raises(ValueError, match="0 recordings"):
        score([], [])
    with pytest.raises(ValueError, match="2 recordings, 1"):
        score([Pair("a", "a"), Pair("b", "")], [Errors(0, 1)])


def test_the_interval_holds_the_rate_and_is_the_same_each_time():
    random = Random(1)
    errors = [Errors(random.randint(0, 4), 20) for _ in range(40)]
    low, high = interval(errors)
    assert low < rate(errors) < high
    assert interval(errors) == (low, high)


def test_recordings_that_are_alike_leave_nothing_to_chance():
    assert interval([Errors(1, 10)] * 30) == (10, 10)


def test_the_interval_covers_as_often_as_it_says():
    """Of a kind of recording whose true rate is 10%: about 95 in 100 intervals hold it."""
    random, held = Random(2), 0
    drawn = error_rate.RESAMPLES
    error_rate.RESAMPLES = 300
    try:
        for seed in range(100):
            errors = [Errors(sum(random.random() < 0.1 for _ in range(20)), 20) for _ in range(30)]
            low, high = interval(errors, seed)
            held += low <= 10 <= high
    finally:
        error_rate.RESAMPLES = drawn
    assert 85 <= held <= 99
