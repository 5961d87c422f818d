"""The models' shapes give what was published and what transformers builds: a wrong digit in models.toml shows."""

import pytest
import torch

from measure import models, weights

PUBLISHED = {  # billions with and without embeddings, from the model cards; Gemma's from the transformers class below
    "qwen3-0.6b": (0.596, 0.44),
    "qwen3-1.7b": (1.72, 1.41),
    "qwen3-4b": (4.02, 3.63),
    "gemma4-12b": (11.9, 10.9),
}


def test_every_model_is_checked():
    assert set(PUBLISHED) == set(models.models())


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_the_published_ones(name):
    whole, without = PUBLISHED[name]
    model = models.models()[name]
    assert model.parameters / 1e9 == pytest.approx(whole, rel=5e-3)
    assert model.parameters_without_embeddings / 1e9 == pytest.approx(without, rel=5e-3)


@pytest.mark.parametrize("name", ["qwen3-0.6b", "qwen3-1.7b", "qwen3-4b"])
def test_parameters_are_those_transformers_builds(name):
    from transformers import Qwen3ForCausalLM

    model = models.models()[name]
    with torch.device("meta"):
        counts = weights.count(Qwen3ForCausalLM(weights.qwen3_config(model)))
    assert counts[:2] == (model.parameters, model.parameters_without_embeddings)


def test_gemma_is_what_transformers_builds():
    from transformers import Gemma4UnifiedTextConfig
    from transformers.models.gemma4_unified.modeling_gemma4_unified import Gemma4UnifiedForCausalLM

    config = Gemma4UnifiedTextConfig(
        hidden_size=3840,
        intermediate_size=15360,
        num_hidden_layers=48,
        num_attention_heads=16,
        num_key_value_heads=8,
        num_global_key_value_heads=1,
        head_dim=256,
        global_head_dim=512,
        attention_k_eq_v=True,
        vocab_size=262144,
    )
    with torch.device("meta"):
        counts = weights.count(Gemma4UnifiedForCausalLM(config))
    model = models.models()["gemma4-12b"]
    assert counts[:2] == (model.parameters, model.parameters_without_embeddings)


def test_the_cache_of_qwen_grows_by_the_token():
    assert models.kv_bytes_per_token("qwen3-1.7b-bf16") == 28 * 2 * 8 * 128 * 2
    assert models.kv_bytes("qwen3-1.7b-fp32", 100) == 100 * 2 * models.kv_bytes_per_token("qwen3-1.7b-bf16")
    assert models.kv_bytes_per_token("qwen3-1.7b-fp8") == models.kv_bytes_per_token("qwen3-1.7b-bf16")


def test_a_sliding_window_stops_the_cache_from_growing():
    sliding, full = 40 * 2 * 8 * 256, 8 * 2 * 1 * 512
    assert models.models()["gemma4-12b"].kv_values(1024) == 1024 * (sliding + full)
    assert models.models()["gemma4-12b"].kv_values(4096) == 1024 * sliding + 4096 * full


def test_arithmetic_is_two_operations_a_matrix_element_and_four_a_position():
    model = models.models()["qwen3-0.6b"]
    norms = 28 * (2 * 1024 + 2 * 128) + 1024
    assert model.flops_per_token() == 2 * (model.parameters - norms)
    assert model.flops_per_token(head=False) == 2 * (model.parameters_without_embeddings - norms)
    assert model.flops_per_token(10) - model.flops_per_token() == 10 * 28 * 16 * 128 * 4


def test_a_subject_is_a_model_and_a_precision():
    found = models.subject("gemma4-12b-q4_0")
    assert (found.model.name, found.precision, str(found)) == ("gemma4-12b", "q4_0", "gemma4-12b-q4_0")
    assert found.weight_bytes == found.model.parameters * 4.5 / 8


@pytest.mark.parametrize(("text", "wrong"), [("qwen3-9b-bf16", "qwen3-9b"), ("qwen3-4b-int3", "int3"), ("", "''")])
def test_an_unknown_subject_is_named(text, wrong):
    with pytest.raises(ValueError, match=wrong):
        models.subject(text)


def test_a_checkpoint_is_known_by_its_shape():
    model = models.models()["qwen3-1.7b"]
    config = {"model_type": "qwen3", **models.qwen3_shape(model), "rms_norm_eps": 1e-6}
    assert models.match(config) is model
    assert models.match({**config, "hidden_size": 2056}) is None
    assert models.match({**config, "model_type": "llama"}) is None


def test_gemma_has_no_qwen_shape():
    with pytest.raises(ValueError, match="gemma4-12b"):
        models.qwen3_shape(models.models()["gemma4-12b"])
