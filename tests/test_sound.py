"""Sound files hold what was given."""

import wave

import pytest

from measure import sound


def test_samples_are_kept_at_sixteen_bits_and_clipped(tmp_path):
    path = tmp_path / "new folder" / "a.wav"
    sound.write(path, [0.0, 0.5, -1.0, 3.0, -2.0], 22050)
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth(), file.getnframes()) == (22050, 1, 2, 5)
        data = file.readframes(5)
    values = [int.from_bytes(data[at : at + 2], "little", signed=True) for at in range(0, 10, 2)]
    assert values == pytest.approx([0, 16384, -32767, 32767, -32767], abs=1)
