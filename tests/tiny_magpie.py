"""Magpie and its codec at a size that a test builds in a second, from the same configuration as the published one."""

from msgspec.structs import replace

from measure.synthesis import magpie_model

WIDTH = 32

SMALL = {
    "embedding_dim": WIDTH,
    "local_transformer_hidden_dim": WIDTH,
    "local_transformer_n_heads": 2,
    "local_transformer_n_layers": 1,
}
BLOCK = {"d_model": WIDTH, "d_ffn": 2 * WIDTH, "sa_n_heads": 2, "max_length_causal_mask": 128}
BLOCKS = {
    "encoder": {**BLOCK, "n_layers": 1},
    "context_encoder": BLOCK,
    "decoder": {**BLOCK, "n_layers": 2, "xa_d_memory": WIDTH, "xa_d_head": 8},
}
LAYERS = {"estimate_alignment_from_layers": [1], "apply_prior_to_layers": [0, 1]}


def shape(**model):
    """The published shape made small; `model` changes its configuration further."""
    published = magpie_model.shape()
    blocks = {name: {**published.model[name], **small} for name, small in BLOCKS.items()}
    asked = {**published.model["inference_parameters"], **LAYERS}
    codec = {
        **published.codec,
        "audio_encoder": {**published.codec["audio_encoder"], "base_channels": 2},
        "audio_decoder": {**published.codec["audio_decoder"], "base_channels": 64},
    }
    return replace(
        published,
        voices=2,
        voice_positions=5,
        vocabulary=50,
        model={**published.model, **SMALL, **blocks, "inference_parameters": asked, **model},
        codec=codec,
    )
