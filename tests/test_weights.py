"""Random weights have the true shape and run; real ones are read from a folder and from the hub's cache."""

import json
import os
import subprocess
import sys

import msgspec
import pytest
import torch
from tiny import TINY, tiny  # noqa: F401  # a fixture
from transformers import Qwen3Config, Qwen3ForCausalLM

from measure import models, weights
from measure.models import Subject


@pytest.fixture
def checkpoint(tmp_path, tiny):  # noqa: F811
    """A tiny checkpoint as published ones are, and the module it was saved from."""
    module = Qwen3ForCausalLM(weights.qwen3_config(TINY)).eval()
    module.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny", module


def test_random_weights_have_shape_and_precision(tiny):  # noqa: F811
    module = weights.random(Subject(TINY, "bf16"), "cpu")
    assert weights.count(module)[:2] == (TINY.parameters, TINY.parameters_without_embeddings)
    assert {tensor.dtype for tensor in module.parameters()} == {torch.bfloat16}
    assert all(tensor.device.type == "cpu" for tensor in [*module.parameters(), *module.buffers()])


def test_random_weights_are_normal_and_norms_are_one(tiny):  # noqa: F811
    module = weights.random(tiny, "cpu")
    assert module.model.embed_tokens.weight.std().item() == pytest.approx(weights.SPREAD, rel=0.05)
    assert module.model.layers[1].mlp.up_proj.weight.mean().item() == pytest.approx(0, abs=0.002)
    assert torch.equal(module.model.norm.weight, torch.ones(TINY.hidden))


def test_a_tensor_larger_than_the_pool_is_filled_to_its_end(monkeypatch):
    flat = torch.zeros(1000)
    weights._tile(flat, torch.arange(1.0, 301.0))
    assert flat.min() == 1
    assert flat[999] == 100


def test_rotation_survives_building_without_storage(tiny):  # noqa: F811
    module = weights.random(tiny, "cpu")
    expected = 1e6 ** -(torch.arange(0, 16, 2) / 16)
    assert torch.allclose(module.model.rotary_emb.inv_freq, expected)


def test_a_tied_embedding_counts_once_and_is_read(tiny):  # noqa: F811
    counts = weights.count(weights.random(tiny, "cpu"))
    assert counts.step_bytes == 4 * TINY.parameters


def test_an_untied_embedding_counts_twice_and_only_the_head_is_read():
    config = weights.qwen3_config(TINY)
    config.tie_word_embeddings = False
    counts = weights.count(Qwen3ForCausalLM(config))
    assert counts.parameters == TINY.parameters + TINY.embedding_parameters
    assert counts.parameters_without_embeddings == TINY.parameters_without_embeddings
    assert counts.step_bytes == 4 * TINY.parameters


def test_real_weights_of_a_folder_say_what_they_said(checkpoint, tiny):  # noqa: F811
    folder, saved = checkpoint
    tokens = torch.arange(12).view(1, 12)
    loaded = weights.real(tiny, "cpu", str(folder))
    assert torch.allclose(loaded(tokens).logits, saved(tokens).logits, atol=1e-5)
    assert weights.count(loaded).parameters == TINY.parameters


def test_real_weights_of_the_hub_are_loaded_by_their_identifier(checkpoint, tmp_path):
    folder, _ = checkpoint
    cache = tmp_path / "cache/hub/models--someone--tiny"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs/main").write_text("0" * 40)
    (cache / "snapshots").mkdir()
    folder.rename(cache / "snapshots" / ("0" * 40))
    code = (
        "from tiny import TINY; from measure import models, weights; models.models = lambda: {TINY.name: TINY};"
        "module = weights.real(models.subject('tiny-1k-bf16'), 'cpu', 'hub:someone/tiny');"
        "print(weights.count(module).parameters, module.dtype)"
    )
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(TINY.parameters), "torch.bfloat16"], done.stderr


def test_another_shape_is_refused(checkpoint, monkeypatch):
    folder, _ = checkpoint
    monkeypatch.setattr(models, "models", lambda: {"tiny-1k": TINY, "other": other})
    other = msgspec.structs.replace(TINY, hidden=64, name="other")
    with pytest.raises(weights.WeightsError, match=r"shape of tiny-1k, not of other"):
        weights.real(Subject(other, "fp32"), "cpu", str(folder))


def test_an_unknown_shape_is_refused(tmp_path):
    Qwen3Config(hidden_size=48).save_pretrained(tmp_path)
    with pytest.raises(weights.WeightsError, match=r"models\.toml"):
        weights.shape(str(tmp_path))


@pytest.mark.parametrize("text", [None, "{", json.dumps([])])
def test_no_checkpoint_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(weights.WeightsError, match=r"config\.json"):
        weights.shape(str(tmp_path))


def test_weights_that_lack_a_tensor_are_refused(checkpoint, tiny):  # noqa: F811
    folder, saved = checkpoint
    kept = {name: tensor for name, tensor in saved.state_dict().items() if "layers.1.mlp.up_proj" not in name}
    saved.save_pretrained(folder, state_dict=kept)
    with pytest.raises(weights.WeightsError, match=r"lacks .*layers\.1\.mlp\.up_proj"):
        weights.real(tiny, "cpu", str(folder))


def test_weights_that_are_cut_short_are_refused(checkpoint, tiny):  # noqa: F811
    folder, _ = checkpoint
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(weights.WeightsError, match="cannot be loaded"):
        weights.real(tiny, "cpu", str(folder))
