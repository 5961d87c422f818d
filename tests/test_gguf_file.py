"""Random model files have the names, shapes and metadata of real ones, and are told from each other by them."""

import gguf
import pytest
from tiny import TINY

from measure import models
from measure.engines import gguf_file
from measure.engines.gguf_file import layers, tensors
from measure.models import Attention, Model, Subject
from measure.weights import WeightsError

PUBLISHED = list(models.models().values())
WIDE = Attention(layers=2, heads=4, kv_heads=1, head=128, keys_are_values=True)
GEMMA = Model(
    title="Tiny Gemma",
    architecture="gemma4_unified_text",
    source="tests",
    hidden=256,
    ffn=512,
    vocabulary=512,
    norms_per_layer=4,
    attention=(Attention(layers=10, heads=4, kv_heads=2, head=64, window=64), WIDE),
    name="tiny-gemma",
)
QWEN = Model(
    title="Tiny Qwen",
    architecture="qwen3",
    source="tests",
    hidden=256,
    ffn=512,
    vocabulary=512,
    attention=(Attention(layers=2, heads=4, kv_heads=2, head=64),),
    name="tiny-qwen",
)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(models, "models", lambda: {model.name: model for model in (QWEN, GEMMA, TINY)})
    monkeypatch.setattr(gguf_file, "POOL", 2**10)


@pytest.fixture
def written(tmp_path):
    def write(model, precision):
        gguf_file.write_random(Subject(model, precision), tmp_path / "random.gguf")
        return gguf.GGUFReader(tmp_path / "random.gguf")

    return write


@pytest.mark.parametrize("model", [QWEN, GEMMA], ids=lambda model: model.name)
@pytest.mark.parametrize("precision", list(gguf_file.TYPES))
def test_a_file_tells_what_it_holds(model, precision, written, tmp_path):
    reader = written(model, precision)
    assert str(gguf_file.subject(tmp_path / "random.gguf")) == f"{model.name}-{precision}"
    numbers = sum(int(tensor.n_elements) for tensor in reader.tensors if tensor.name != gguf_file.ROPE)
    assert numbers == model.parameters


def test_the_published_shapes_have_the_published_counts():
    """Every model of models.toml that GGUF is written of, but for the frequencies, which are no parameters."""
    for model in PUBLISHED:
        listed = [tensor for tensor in tensors(model) if tensor.name != gguf_file.ROPE]
        assert sum(tensor.columns * (tensor.rows or 1) for tensor in listed) == model.parameters


def test_every_sixth_layer_sees_the_whole_context(written):
    assert [group is WIDE for group in layers(GEMMA)] == ([False] * 5 + [True]) * 2
    reader = written(GEMMA, "bf16")
    assert reader.fields["gemma4.attention.sliding_window_pattern"].contents() == ([True] * 5 + [False]) * 2
    assert reader.fields["gemma4.attention.head_count_kv"].contents() == ([2] * 5 + [1]) * 2
    names = {tensor.name for tensor in reader.tensors}
    assert "blk.0.attn_v.weight" in names and "blk.5.attn_v.weight" not in names


def test_a_quarter_of_a_head_is_rotated_where_the_whole_context_is_seen(written):
    (factors,) = [tensor.data for tensor in written(GEMMA, "bf16").tensors if tensor.name == gguf_file.ROPE]
    assert len(factors) == 64
    assert factors.tolist().count(1.0) == 16


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp32", "q8_0", "q4_0"])
def test_numbers_are_spread_as_random_weights_are(precision, written):
    """In q4_0 the embedding is finer than the rest, and spread the same."""
    reader = written(QWEN, precision)
    for tensor in reader.tensors:
        if len(tensor.shape) == 2:
            numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            assert numbers.std() == pytest.approx(0.02, rel=0.1), tensor.name
            assert abs(numbers.mean()) < 0.004, tensor.name
        else:
            assert set(tensor.data) == {1.0}
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert kinds["token_embd.weight"] == ("Q6_K" if precision == "q4_0" else gguf_file.TYPES[precision])


def test_rows_that_do_not_fill_blocks_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match=r"token_embd\.weight has rows of 32, and Q6_K takes blocks of 256"):
        gguf_file.write_random(Subject(TINY, "q4_0"), tmp_path / "random.gguf")


def test_a_precision_without_a_type_is_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="no GGUF of tiny-qwen-fp8"):
        gguf_file.write_random(Subject(QWEN, "fp8"), tmp_path / "random.gguf")


def test_another_shape_is_refused(written, tmp_path, monkeypatch):
    written(QWEN, "bf16")
    monkeypatch.setattr(models, "models", lambda: {"tiny-gemma": GEMMA, "tiny-1k": TINY})
    with pytest.raises(WeightsError, match=r"random\.gguf: has the shape of no model"):
        gguf_file.subject(tmp_path / "random.gguf")


def test_what_is_no_model_file_is_refused(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"no model at all, but long enough for a header")
    with pytest.raises(WeightsError, match=r"a\.gguf: not a GGUF file"):
        gguf_file.subject(tmp_path / "a.gguf")


def test_a_file_of_the_hub_is_named_by_owner_name_and_file(monkeypatch, tmp_path):
    import huggingface_hub

    asked = []
    monkeypatch.setattr(
        huggingface_hub, "hf_hub_download", lambda repository, file: asked.append((repository, file)) or tmp_path / file
    )
    assert gguf_file.locate("hub:someone/tiny-GGUF/sub/tiny-q4_0.gguf") == tmp_path / "sub/tiny-q4_0.gguf"
    assert asked == [("someone/tiny-GGUF", "sub/tiny-q4_0.gguf")]


@pytest.mark.parametrize("source", ["hub:someone/tiny", "hub:", "nowhere.gguf"])
def test_a_place_without_a_file_is_refused(source):
    with pytest.raises(WeightsError, match=r"hub:OWNER/NAME/FILE\.gguf"):
        gguf_file.locate(source)
