"""Recordings are found with their transcripts, or it is said which of them lacks what."""

import io
import tarfile

import pytest
import torch

from measure.recognition import recordings
from measure.recognition.recordings import RecordingsError, find, sources


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.wav").write_bytes(b"")
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")


def test_a_folder_of_recordings_and_transcripts(tmp_path):
    write(tmp_path, b="둘", a="하나")
    (tmp_path / "notes.txt").write_text("no recording")
    found = find("synthetic", str(tmp_path), "ko-KR")
    assert [(item.path.name, item.text) for item in found.items] == [("a.wav", "하나"), ("b.wav", "둘")]
    assert len(find("synthetic", str(tmp_path), "ko-KR", most=1).items) == 1


def test_a_recording_without_a_transcript_is_named(tmp_path):
    write(tmp_path, a="x")
    (tmp_path / "b.flac").write_bytes(b"")
    with pytest.raises(RecordingsError, match=r"no transcript of b\.flac"):
        find("any", str(tmp_path), "en-US")


def test_a_folder_without_recordings_is_refused(tmp_path):
    with pytest.raises(RecordingsError, match="no recordings there"):
        find("any", str(tmp_path), "en-US")


ROW = "{0}\t{0}.wav\tWritten as it was, {0}.\twritten as it was {0}\tw|r|i\t100\tFEMALE\n"


@pytest.mark.parametrize("place", ["test", "audio/test"])
def test_fleurs_as_it_is_unpacked(tmp_path, place):
    (tmp_path / place).mkdir(parents=True)
    for name in ("12", "3"):
        (tmp_path / place / f"{name}.wav").write_bytes(b"")
    (tmp_path / "test.tsv").write_text(ROW.format(3) + ROW.format(12), encoding="utf-8")
    assert sources(str(tmp_path)) == {"fleurs": str(tmp_path)}
    found = find("fleurs", str(tmp_path), "ko-KR")
    assert [(item.path.name, item.text) for item in found.items] == [
        ("12.wav", "Written as it was, 12."),
        ("3.wav", "Written as it was, 3."),
    ]


def test_fleurs_that_lacks_a_recording(tmp_path):
    (tmp_path / "test.tsv").write_text(ROW.format(3), encoding="utf-8")
    with pytest.raises(RecordingsError, match=r"names 3\.wav, which is not there"):
        find("fleurs", str(tmp_path), "ko-KR")


def test_fleurs_from_the_hub(tmp_path, monkeypatch):
    import huggingface_hub

    table, archive, asked = tmp_path / "test.tsv", tmp_path / "test.tar.gz", []
    table.write_text(ROW.format(7), encoding="utf-8")
    with tarfile.open(archive, "w:gz") as packed:
        for name in ("test/7.wav", "../outside.txt"):
            member = tarfile.TarInfo(name)
            member.size = 4
            packed.addfile(member, io.BytesIO(b"RIFF"))

    def download(name, path, repo_type):
        asked.append((name, path, repo_type))
        return str(table if path.endswith(".tsv") else archive)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    (item,) = find("fleurs", "hub:google/fleurs", "ko-KR").items
    assert (item.text, item.path.read_bytes()) == ("Written as it was, 7.", b"RIFF")
    assert asked == [
        ("google/fleurs", "data/ko_kr/test.tsv", "dataset"),
        ("google/fleurs", "data/ko_kr/audio/test.tar.gz", "dataset"),
    ]
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("", {}),
        ("/some/folder", {"recordings": "/some/folder"}),
        ("synthetic:/some/folder", {"synthetic": "/some/folder"}),
        ("hub:google/fleurs", {"fleurs": "hub:google/fleurs"}),
        ("read:hub:google/fleurs,synthetic:folder", {"read": "hub:google/fleurs", "synthetic": "folder"}),
    ],
)
def test_sources_by_label(option, expected):
    assert sources(option) == expected


def test_a_label_that_stands_twice_is_refused():
    with pytest.raises(RecordingsError, match="two places are called 'recordings'"):
        sources("one,two")


def tone(rate):
    """A second of a pure tone."""
    return torch.sin(2 * torch.pi * 440 * torch.arange(rate) / rate)


def test_sound_is_mono_at_the_rate_of_the_model(tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="reads recordings; part of the extras nemo and accuracy")
    left = tone(24_000)
    soundfile.write(tmp_path / "a.wav", torch.stack((left, left), 1).numpy(), 24_000)
    sound = recordings.sound(tmp_path / "a.wav")
    assert abs(len(sound) - 16_000) <= 1
    assert (sound - tone(16_000)[: len(sound)])[500:-500].abs().max() < 0.01
    (tmp_path / "b.wav").write_bytes(b"no sound")
    with pytest.raises(RecordingsError, match="cannot be read"):
        recordings.sound(tmp_path / "b.wav")
