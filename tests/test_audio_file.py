"""WAV files hold the sound that was given, and nothing that is no sound is written."""

import wave

import numpy
import pytest

from measure.synthesis import audio_file


def read(path):
    with wave.open(str(path)) as file:
        told = file.getnchannels(), file.getsampwidth(), file.getframerate()
        return told, numpy.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_a_sound_comes_back_to_sixteen_bits(tmp_path):
    sound = numpy.linspace(-1, 1, 480, dtype=numpy.float32)
    audio_file.write(tmp_path / "new folder" / "one.wav", sound, 48_000)
    told, samples = read(tmp_path / "new folder" / "one.wav")
    assert told == (1, 2, 48_000)
    assert samples / (2**15 - 1) == pytest.approx(sound, abs=2**-15)


def test_what_is_too_loud_is_cut_off_and_does_not_turn_over(tmp_path):
    audio_file.write(tmp_path / "one.wav", numpy.array([1.5, -7.0], numpy.float32), 16_000)
    assert list(read(tmp_path / "one.wav")[1]) == [2**15 - 1, -(2**15 - 1)]


@pytest.mark.parametrize("wrong", [numpy.nan, numpy.inf])
def test_what_is_no_number_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=r"one\.wav: the sound holds what is no number"):
        audio_file.write(tmp_path / "one.wav", numpy.array([0.0, wrong], numpy.float32), 16_000)
    assert not (tmp_path / "one.wav").exists()


def test_noise_is_as_long_as_asked_and_the_same_each_time(tmp_path):
    for name in ("one.wav", "two.wav"):
        audio_file.write_noise(tmp_path / name, 0.5, 8_000)
    told, samples = read(tmp_path / "one.wav")
    assert (told[2], len(samples)) == (8_000, 4_000)
    assert 0.05 < numpy.std(samples / 2**15) < 0.2
    assert (tmp_path / "one.wav").read_bytes() == (tmp_path / "two.wav").read_bytes()
