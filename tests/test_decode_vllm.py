"""What vLLM is asked and how its answers are judged, with a stand-in for the library: nothing here is a measurement."""

import dataclasses
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from msgspec.structs import replace
from tiny import TINY, failures, session, tiny  # noqa: F401  # fixtures
from transformers import Qwen3ForCausalLM

from measure import decode_vllm, decoding, device, graphs_vllm, limits, models, peer_vllm, serve_vllm, weights
from measure.card import Card, Reading
from measure.decoding import Scope
from measure.engines import vllm, vllm_worker
from measure.engines.vllm_worker import Worker
from measure.kernels import Trace
from measure.keys import parse_key
from measure.session import OptionError
from measure.store import load

NAME, TEXT = "decode_vllm", "tiny-1k-bf16"
CACHE_TOKENS = 1024


class LLM:
    """vLLM as this project uses it: engines that were started, and what each was asked."""

    started: list = []  # noqa: RUF012  # emptied before each test
    missing = 0
    """Tokens that each request comes short of."""

    def __init__(self, **arguments):
        LLM.started.append(self)
        self.arguments, self.config, self.seen, self.ended, self.tokens = arguments, {}, set(), False, 0
        if Path(arguments["model"]).is_dir():
            self.config = json.loads((Path(arguments["model"]) / "config.json").read_text())
        self.llm_engine = SimpleNamespace(
            vllm_config=SimpleNamespace(
                model_config=SimpleNamespace(get_vocab_size=lambda: TINY.vocabulary),
                cache_config=SimpleNamespace(num_gpu_blocks=CACHE_TOKENS // 16, block_size=16),
                compilation_config=SimpleNamespace(cudagraph_mode=SimpleNamespace(name="FULL_AND_PIECEWISE")),
            ),
            engine_core=SimpleNamespace(shutdown=lambda: setattr(self, "ended", True)),
        )

    def generate(self, prompts, asked, use_tqdm):
        assert not self.ended and not use_tqdm
        assert asked.ignore_eos and asked.min_tokens == asked.max_tokens and not asked.detokenize
        self.tokens, outputs = asked.max_tokens, []
        for prompt in prompts:
            tokens = tuple(prompt["prompt_token_ids"])
            again = tokens in self.seen and self.arguments["enable_prefix_caching"]
            self.seen.add(tokens)
            made = SimpleNamespace(token_ids=[0] * (asked.max_tokens - LLM.missing))
            outputs.append(SimpleNamespace(outputs=[made], num_cached_tokens=len(tokens) // 16 * 16 if again else 0))
        return outputs

    def collective_rpc(self, method):
        told = {
            "told_of_kernels": {"matmul_path": "UnquantizedLinearMethod", "attention_path": "FlashAttentionImpl"},
            "told_of_model": {
                "loaded_bytes": 2.0**20,
                "parameters": 900.0,
                "embedding": 500.0,
                "norms": 100.0,
                "again": 0.0,
            },
            "told_of_sums": {"all_reduce_path": "CustomAllreduce, PyNcclCommunicator"},
            "start_tracing": None,
            "stop_tracing": Trace(1e-3 * self.tokens, 7, {"gemm": 1e-3})._asdict(),
        }
        assert hasattr(Worker, method)
        return [told[method]] * self.arguments["tensor_parallel_size"]


@pytest.fixture
def small(session, tiny, monkeypatch):  # noqa: F811
    """A session on a machine with two NVIDIA cards and a stand-in for vLLM."""
    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = LLM, SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setattr(LLM, "started", [])
    monkeypatch.setattr(LLM, "missing", 0)
    monkeypatch.setattr(Card, "free_bytes", lambda self: 2**33)
    monkeypatch.setattr(decode_vllm, "SUBJECTS", (TEXT,))
    monkeypatch.setattr(decode_vllm, "SPREAD_SUBJECTS", (TEXT,))
    monkeypatch.setattr(decode_vllm, "SPREAD", Scope((1, 4), (), repeats=3, long=65))
    monkeypatch.setattr(decode_vllm, "REPEATED_TOKENS", 64)
    monkeypatch.setattr(
        decode_vllm, "FULL", Scope((1, 4, 8), (16, 64), repeats=3, prompt_repeats=3, long=65, first_tokens=(1, 2))
    )
    # The stand-in answers at once: each token takes a tenth of a second by decree.
    monkeypatch.setattr(decoding, "timed", lambda work: ((answer := work()).produced[0] / 10, answer))
    machine = replace(session.machine, device="cuda", accelerators=2)
    return dataclasses.replace(session, machine=machine, quick=False)


def run(session):  # noqa: F811
    return load(session.results).runs[0]


def test_every_planned_key_is_recorded(small):
    decode_vllm.measure(small)
    planned = decode_vllm.plan(small)
    assert {str(item) for item in planned} == set(run(small).samples)
    sample = small.load(parse_key(f"{NAME}/{TEXT}/rate?requests=4"))
    told = {"weights": "random", "prefix_cache": False, "cards": 1, "cuda_graphs": "full_and_piecewise"}
    assert told.items() <= sample.config.items()
    assert sample.config["produced_tokens"] == 4 * 65


def test_the_first_token_of_requests_at_once_is_timed(small):
    """By decree a token takes a tenth of a second; the prompts are the source article's length, and no two alike."""
    decode_vllm.measure(small)
    sample = small.load(parse_key(f"{NAME}/{TEXT}/first_token?requests=2"))
    assert sample.values == [0.1] * 3
    told = {"prompt_tokens": 67, "requests": 2, "produced_tokens": 2, "distinct_prompts": True, "cached_tokens": 0}
    assert told.items() <= sample.config.items()
    assert limits.verdicts(run(small))[f"{NAME}/{TEXT}/first_token?requests=2"].status == "accepted"


def test_graphs_are_off_where_that_is_measured(small, monkeypatch):
    monkeypatch.setattr(graphs_vllm, "SUBJECTS", (TEXT,))
    graphs_vllm.measure(small)
    assert {str(item) for item in graphs_vllm.plan(small)} == set(run(small).samples)
    (engine,) = LLM.started
    assert engine.arguments["compilation_config"] == {"cudagraph_mode": "NONE"}
    assert engine.ended
    assert f"graphs_vllm/{TEXT}/rate?graphs=off&requests=1" in run(small).samples
    graphs_vllm.measure(small)
    assert len(LLM.started) == 1, "what was measured was measured again"


def test_graphs_are_on_elsewhere(small):
    decode_vllm.measure(small)
    assert {tuple(engine.arguments["compilation_config"]) for engine in LLM.started} == {("cudagraph_capture_sizes",)}


@pytest.mark.parametrize("held", [700, 776])
def test_a_cache_too_small_is_not_enough_memory(small, monkeypatch, held):
    engine = vllm.VLLM(vllm.Settings("nowhere", "dummy", requests=8))
    engine._cache_tokens = held
    if held < 8 * 97:
        with pytest.raises(Exception, match="8 requests need 776, the cache holds 700 tokens"):
            engine.prepare(8, 97)
    else:
        engine.prepare(8, 97)


def test_random_weights_need_no_file_but_the_shape(small):
    decode_vllm.measure(small)
    engine, again = LLM.started
    assert (engine.arguments["load_format"], engine.arguments["skip_tokenizer_init"]) == ("dummy", True)
    assert engine.config["hidden_size"] == TINY.hidden
    assert (engine.arguments["enable_prefix_caching"], again.arguments["enable_prefix_caching"]) == (False, True)
    assert engine.ended and again.ended
    assert not Path(engine.arguments["model"]).exists()


def test_a_worker_is_found_by_the_name_that_vllm_is_given():
    module, _, name = vllm_worker.NAME.rpartition(".")
    assert getattr(sys.modules[module], name) is Worker


def test_the_wrong_measurement_is_rejected_by_the_rules(small):
    """Nothing knows of it but its key: prompts that repeat and cached tokens give it away."""
    decode_vllm.measure(small)
    repeated = str(decode_vllm.repeated(TEXT))
    verdicts = limits.verdicts(run(small))
    assert run(small).samples[repeated].config["cached_tokens"] == 64
    assert verdicts[repeated].status == "rejected"
    others = {text for text, verdict in verdicts.items() if verdict.status == "rejected"} - {repeated}
    assert others == set()


def test_too_few_tokens_are_no_rate(small, monkeypatch):
    monkeypatch.setattr(LLM, "missing", 1)
    decode_vllm.measure(small)
    reason, detail = failures(small)[f"{NAME}/{TEXT}/rate?requests=1"]
    assert (reason, detail) == (
        "crashed",
        "ArithmeticError: asked for 1 requests of 65 tokens, got 1 requests of 64 to 64",
    )


def test_an_engine_that_does_not_start_ends_one_model_alone(small, monkeypatch):
    monkeypatch.setattr(decode_vllm, "SUBJECTS", ("tiny-1k-fp8", TEXT))
    start = LLM.__init__

    def refusing(self, **arguments):
        start(self, **arguments)
        if "quantization_config" in self.config:
            raise RuntimeError("Engine core initialization failed. See root cause above.")

    monkeypatch.setattr(LLM, "__init__", refusing)
    decode_vllm.measure(small)
    failed = failures(small)
    assert {parse_key(text).subject for text in failed} == {"tiny-1k-fp8"}
    assert {reason for reason, _ in failed.values()} == {"crashed"}
    assert f"{NAME}/{TEXT}/rate?requests=1" in run(small).samples


def test_a_model_too_large_for_the_card_is_not_tried(small, monkeypatch):
    monkeypatch.setattr(Card, "free_bytes", lambda self: 1000)
    decode_vllm.measure(small)
    assert {failures(small)[str(item)][0] for item in decode_vllm.plan(small)[:3]} == {"not_enough_memory"}


def test_without_a_card_it_says_so(session):  # noqa: F811
    decode_vllm.measure(session)
    assert {reason for reason, _ in failures(session).values()} == {"unsupported"}


def test_what_was_measured_is_not_measured_again(small):
    decode_vllm.measure(small)
    LLM.started.clear()
    decode_vllm.measure(small)
    assert LLM.started == []


@pytest.mark.parametrize(("stored", "precision"), [(torch.bfloat16, "bf16"), (torch.float16, "fp16")])
def test_a_real_checkpoint_is_measured_in_place_of_random_weights(small, tmp_path, stored, precision):
    module = Qwen3ForCausalLM(weights.qwen3_config(TINY)).to(stored)
    module.save_pretrained(tmp_path / "tiny")
    given = dataclasses.replace(small, options={"weights": str(tmp_path / "tiny")})
    assert decode_vllm.subjects(given) == (f"tiny-1k-{precision}",)
    decode_vllm.measure(given)
    (engine, _) = LLM.started
    assert (engine.arguments["load_format"], engine.arguments["model"]) == ("auto", str(tmp_path / "tiny"))
    sample = given.load(parse_key(f"{NAME}/tiny-1k-{precision}/rate?requests=1"))
    assert sample.config["weights"] == "real"


def test_a_model_can_be_spread_over_cards(small):
    """Each card tells of its half; norms, which each has whole, count once."""
    spread = dataclasses.replace(small, options={"tensor_parallel": "2"})
    decode_vllm.measure(spread)
    assert LLM.started[0].arguments["tensor_parallel_size"] == 2
    counted = [spread.load(parse_key(f"{NAME}/{TEXT}/{name}?tensor_parallel=2")).values for name in decoding.HELD]
    assert counted == [[2 / 2**10], [1700], [700]]
    assert spread.load(parse_key(f"{NAME}/{TEXT}/rate?requests=1&tensor_parallel=2")).config["cards"] == 2


def test_what_two_cards_do_stands_beside_what_one_does(small):
    """Told how many, the models that are held against each other are measured, with keys of their own on several."""
    for cards in ("1", "2"):
        decode_vllm.measure(dataclasses.replace(small, options={"tensor_parallel": cards}))
    one, two = LLM.started
    keys = set(run(small).samples)
    alone = {text for text in keys if "tensor_parallel" not in text}
    assert len(alone) == len(keys) / 2 == len(decoding.HELD) + len(decode_vllm.SPREAD.requests) + 1
    told = run(small).samples[f"{NAME}/{TEXT}/rate?requests=4&tensor_parallel=2"].config
    expected = {"tensor_parallel": 2, "cards": 2, "nvlink_multicast": "off"}
    assert expected.items() <= told.items() and told["all_reduce_path"] == "CustomAllreduce, PyNcclCommunicator"
    assert one.arguments.get("distributed_executor_backend") is None
    assert two.arguments["distributed_executor_backend"] == "mp"
    assert {verdict.status for verdict in limits.verdicts(run(small)).values()} <= {"accepted", "suspect"}


def test_every_measurement_that_spreads_a_model_has_keys_of_its_own_for_it(small):
    asked = dataclasses.replace(small, options={"tensor_parallel": "2"})
    for each in (decode_vllm, serve_vllm, peer_vllm, graphs_vllm):
        assert {dict(item.parameters).get("tensor_parallel") for item in each.plan(asked)} == {"2"}
        assert {dict(item.parameters).get("tensor_parallel") for item in each.plan(small)} == {None}


def test_the_energy_of_all_cards_counts(small, monkeypatch):
    used = {0: 5.0, 1: 7.0}
    monkeypatch.setattr(Card, "__init__", lambda self, number=0: setattr(self, "number", number))
    monkeypatch.setattr(Card, "read", lambda self: Reading(energy_j=used[self.number]))
    assert decoding.Bench(small, None, {}, decoding.STEPS, 2)._energy_j() == 12.0
    used[1] = None
    assert decoding.Bench(small, None, {}, decoding.STEPS, 2)._energy_j() == 0.0


def test_the_fullest_card_decides_whether_a_model_fits(small, monkeypatch):
    monkeypatch.setattr(Card, "__init__", lambda self, number=0: setattr(self, "number", number))
    monkeypatch.setattr(Card, "free_bytes", lambda self: 2**33 if self.number == 0 else 1000)
    asked = dataclasses.replace(small, options={"tensor_parallel": "2"})
    with pytest.raises(device.NotEnoughMemoryError), vllm.checkpoint(asked, models.subject(TEXT)):
        pass
    with vllm.checkpoint(small, models.subject(TEXT)) as settings:
        assert settings.cards == 1


@pytest.mark.parametrize("text", ["0", "3", "two", "-1"])
def test_more_cards_than_there_are_are_refused(small, text):
    """Before anything is measured, by every measurement that spreads a model."""
    asked = dataclasses.replace(small, options={"tensor_parallel": text})
    for each in (decode_vllm, serve_vllm, peer_vllm, graphs_vllm):
        with pytest.raises(OptionError, match=rf"^tensor_parallel={text}: is no number of cards that .*, 2 cards\."):
            each.plan(asked)


def test_fp8_is_described_as_published(tiny, tmp_path):  # noqa: F811
    weights.write_config(models.subject("tiny-1k-fp8"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["quantization_config"] == {
        "quant_method": "fp8",
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "weight_block_size": [128, 128],
    }
    assert weights.subject(str(tmp_path)) == models.subject("tiny-1k-fp8")


def test_a_written_config_has_the_shape_it_was_written_for(tiny, tmp_path):  # noqa: F811
    from transformers import AutoConfig

    weights.write_config(tiny, tmp_path)
    assert weights.shape(str(tmp_path)) == TINY
    built = Qwen3ForCausalLM(AutoConfig.from_pretrained(tmp_path))
    assert weights.count(built).parameters == TINY.parameters


def test_gemma_4_is_written_as_published_but_for_what_vllm_has_to_be_told(tmp_path):
    from transformers import AutoConfig

    gemma = models.subject("gemma4-12b-bf16")
    weights.write_config(gemma, tmp_path)
    config = AutoConfig.from_pretrained(tmp_path)
    config.update(weights.overrides(gemma))
    assert (config.head_dim, config.num_key_value_heads, config.sliding_window) == (256, 8, 1024)
    assert (config.global_head_dim, config.num_global_key_value_heads) == (512, 1)
    assert [kind for kind in config.layer_types[:12] if kind == "full_attention"] == ["full_attention"] * 2
    assert config.layer_types.count("full_attention") == 8 and config.layer_types[5] == "full_attention"
    assert (config.vocab_size, config.tie_word_embeddings, config.num_hidden_layers) == (262144, True, 48)
    assert weights.overrides(models.subject("qwen3-4b-bf16")) == {}
    settings = vllm.Settings("nowhere", "dummy", overrides=weights.overrides(gemma))
    assert settings.arguments()["hf_overrides"] == {"global_head_dim": 512, "num_global_key_value_heads": 1}
    assert '--hf-overrides={"global_head_dim":512,"num_global_key_value_heads":1}' in settings.words()


def test_a_head_that_two_cards_hold_counts_once(tiny):  # noqa: F811
    """Two query heads and one of keys and values, each 4 wide, of 8 numbers: half of the latter's 64 are held again."""
    part = torch.nn.Linear(8, 16, bias=False)
    part.num_heads, part.num_kv_heads, part.num_kv_head_replicas = 2, 1, 2
    worker = Worker()
    worker.model_runner = SimpleNamespace(get_model=lambda: part, model_memory_usage=1)
    assert worker.told_of_model()["again"] == 8 * 16 * 2 / 4 / 2
    part.num_kv_head_replicas = 1
    assert worker.told_of_model()["again"] == 0


def test_a_worker_tells_the_ways_of_adding_up_that_are_on(monkeypatch):
    class CustomAllreduce:
        disabled = False

    class SymmMemCommunicator:
        disabled = True

    made = SimpleNamespace(ca_comm=CustomAllreduce(), symm_mem_comm=SymmMemCommunicator(), pynccl_comm=None)
    module = ModuleType("vllm.distributed")
    module.get_tp_group = lambda: SimpleNamespace(device_communicator=made)
    monkeypatch.setitem(sys.modules, "vllm.distributed", module)
    assert Worker().told_of_sums() == {"all_reduce_path": "CustomAllreduce"}


class Linear(torch.nn.Linear):
    """A layer as vLLM builds them, with the method that it chose."""


def test_a_worker_tells_of_model_and_kernels(tiny):  # noqa: F811
    module = weights.random(models.subject(TEXT), "cpu")
    chosen = type("CutlassFp8BlockScaledMMKernel", (), {})()
    module.model.layers[0].mlp.up_proj.quant_method = type("Fp8LinearMethod", (), {"fp8_linear": chosen})()
    module.model.layers[0].mlp.gate_proj.quant_method = type("UnquantizedLinearMethod", (), {})()
    module.model.layers[0].self_attn.quant_method = type("Fp8KVCacheMethod", (), {})()
    module.model.layers[0].self_attn.impl = type("FlashAttentionImpl", (), {})()
    module.model.layers[0].self_attn.kv_cache_dtype = "auto"
    module.model.layers[0].mlp.up_proj.weight_scale_inv = torch.nn.Parameter(torch.ones(7))
    worker = Worker()
    worker.model_runner = SimpleNamespace(get_model=lambda: module, model_memory_usage=12345)
    told = worker.told_of_model()
    assert (told["loaded_bytes"], told["parameters"]) == (12345, TINY.parameters)
    assert told["embedding"] == TINY.embedding_parameters
    assert worker.told_of_kernels() == {
        "matmul_path": "CutlassFp8BlockScaledMMKernel, UnquantizedLinearMethod",
        "attention_path": "FlashAttentionImpl",
    }
