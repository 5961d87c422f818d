"""nano-vllm-voxcpm is asked as its released package wants to be asked; a stand-in answers, since it needs a card."""

import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType

import numpy
import pytest
from voxcpm_package import PATCH_SAMPLES, Clock, package  # noqa: F401  # a fixture

from measure.synthesis import nano_voxcpm
from measure.synthesis.nano_voxcpm import NanoVoxCPM
from measure.synthesis.speaking import Ask


class Pool:
    """SyncVoxCPM2ServerPool of nano-vllm-voxcpm 2.0.5: an utterance takes 40 ms, and 5 ms a patch."""

    natural = 1000
    """Patches after which the model stops of its own accord: this engine cannot forbid it."""

    def __init__(self, model, inference_timesteps=10, max_num_seqs=512, gpu_memory_utilization=0.9, devices=(0,)):
        self.files = sorted(path.name for path in Path(model).iterdir()) if Path(model).is_dir() else []
        self.steps, self.requests, self.stopped = inference_timesteps, max_num_seqs, False

    def generate(self, target_text, max_generate_length=2000, temperature=1.0, cfg_value=2.0):
        assert not self.stopped
        Clock.now += 0.040
        for _ in range(min(max_generate_length, self.natural)):
            Clock.now += 0.005
            yield numpy.zeros(PATCH_SAMPLES, numpy.float32)

    def stop(self):
        self.stopped = True


def install_nano(monkeypatch):
    """Put the stand-in in place of the package; a list of the engines that are started."""
    module, started = ModuleType("nanovllm_voxcpm"), []

    class VoxCPM:
        @staticmethod
        def from_pretrained(model, **options):
            started.append(Pool(model, **options))
            return started[-1]

    module.VoxCPM = VoxCPM
    monkeypatch.setitem(sys.modules, "nanovllm_voxcpm", module)
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "2.0.5" if name == nano_voxcpm.PACKAGE else version(name)
    )
    return started


@pytest.fixture
def nano(monkeypatch):
    return install_nano(monkeypatch)


def test_sound_comes_patch_by_patch_and_whole(package, nano):  # noqa: F811
    engine = NanoVoxCPM("folder", 10)
    assert [chunk.size for chunk in engine.stream(Ask("a", 3, 10))] == [PATCH_SAMPLES] * 3
    assert engine.speak(Ask("a", 3, 10)).size == 3 * PATCH_SAMPLES
    assert (nano[0].steps, nano[0].requests) == (10, 1)
    assert engine.config["engine_version"] == "2.0.5"


@pytest.mark.parametrize("ask", [Ask("a", 3, 8), Ask("a", None, 10), Ask("a", 3, 10, Path("voice.wav"))])
def test_what_it_was_not_started_for_is_refused(package, nano, ask):  # noqa: F811
    with pytest.raises(NotImplementedError, match="started for 10 time steps"):
        list(NanoVoxCPM("folder", 10).stream(ask))


def test_its_process_is_ended(package, nano):  # noqa: F811
    NanoVoxCPM("folder", 10).close()
    assert nano[0].stopped


def test_where_it_is_missing_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanovllm_voxcpm", None)
    with pytest.raises(ImportError, match="nano-vllm-voxcpm and flash-attn, which has to be compiled"):
        nano_voxcpm.check()
