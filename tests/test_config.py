"""The data files of the pages: a mistake in one of them is one error that names the file, the place and the cure."""

import pytest
from paths import RESULTS, TEMPLATES

from measure.store import load
from templates import config, render
from templates.labels import Labels

MISTAKES = [
    ("editions.toml", "[source\n", "editions.toml"),
    ("editions.toml", '[source]\nvoxcpm = "source-b"\n', "models"),
    ("editions.toml", '[source]\nmodels = 5\nvoxcpm="a"\nmagpie="a"\nrecognition="a"\n', "models"),
    ("editions.toml", '[source]\nmodels="a"\nvoxcpm="a"\nmagpie="a"\nrecognition="a"\nzzz=1\n', "zzz"),
    (
        "editions.toml",
        '[a]\nmodels="a"\nvoxcpm="a"\nmagpie="a"\nrecognition="a"\nfocus={run="a",model="b"}\n',
        "[a] focus",
    ),
    ("editions.toml", '[a]\noptional=true\nmodels="a"\nvoxcpm="a"\nmagpie="a"\nrecognition="a"\n', "no edition"),
    ("thresholds.toml", "near = 5\n", "thresholds.toml"),
    ("thresholds.toml", "near = { value = 80 }\n", "unit"),
    ("thresholds.toml", 'near = { value = 80, unit = "furlong" }\n', "near"),
    ("thresholds.toml", 'near = { value = -1, unit = "%" }\n', "near"),
    ("thresholds.toml", 'near = { value = inf, unit = "%" }\n', "near"),
    ("thresholds.toml", 'near = { value = "high", unit = "%" }\n', "near"),
    ("source.toml", "date = 5\n", "date"),
    ("source.toml", 'date = 2026-10-06\naddress = "javascript:alert(1)"\n', "address"),
    ("labels.toml", "[kind\n", "labels.toml"),
    ("labels.toml", "[kind]\nmeasured = 5\n", "labels.toml"),
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The data files in a folder of their own."""
    config.citation()  # it lies beside the real folder, and is kept
    for path in TEMPLATES.glob("*.toml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(config, "FOLDER", tmp_path)
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def forget():
    for read in (config.editions, config.lines, config.labels, config.source):
        read.cache_clear()


@pytest.mark.parametrize(("name", "text", "named"), MISTAKES)
def test_a_mistake_is_named(files, name, text, named):
    (files / name).write_text(text)
    with pytest.raises(config.ConfigError) as error:
        render.pages(load(RESULTS))
    assert named in str(error.value) and name in str(error.value)


@pytest.mark.parametrize("name", ["editions.toml", "thresholds.toml", "evidence.toml", "labels.toml", "source.toml"])
@pytest.mark.parametrize("damage", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(files, name, damage):
    (files / name).write_bytes(damage) if damage else (files / name).unlink()
    with pytest.raises(config.ConfigError, match=name):
        render.pages(load(RESULTS))


def test_a_threshold_that_a_claim_asks_for_is_missed_by_name(files):
    text = (files / "thresholds.toml").read_text()
    (files / "thresholds.toml").write_text(text.replace("near = {", "nearby = {"))
    with pytest.raises(config.ConfigError, match="'near'"):
        render.pages(load(RESULTS))


def test_a_label_in_fewer_languages_is_missed_by_name(files):
    text = (files / "labels.toml").read_text()
    (files / "labels.toml").write_text(text.replace('holds = { ko = "성립", ', "holds = { "))
    with pytest.raises(config.ConfigError, match=r"\[outcome\] holds: no text in 'ko'"):
        render.pages(load(RESULTS))


def test_braces_that_nothing_fills_are_named(files):
    text = (files / "labels.toml").read_text()
    (files / "labels.toml").write_text(text.replace("Prompt of {n} tokens", "Prompt of {zzz} tokens"))
    with pytest.raises(config.ConfigError, match=r"\[group\] prompt: braces"):
        Labels("en").filled("group", "prompt", n=1)


def test_the_source_article_is_linked_once_its_address_is_known(files):
    assert "example.org" not in render.pages(load(RESULTS))["en/cpu/index.md"]
    (files / "source.toml").write_text('date = 2026-10-06\naddress = "https://example.org/article"\n')
    config.source.cache_clear()
    page = render.pages(load(RESULTS))["en/cpu/index.md"]
    assert page.split("##")[0].count("https://example.org/article") == 1
    assert page.partition("{#references}")[2].count("<https://example.org/article>") == 1


def test_shipped_files_are_sound():
    assert config.editions() and config.lines("thresholds.toml") and config.lines("evidence.toml") and config.labels()
