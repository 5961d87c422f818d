"""What llama.cpp is asked, by a stand-in for the library; tiny models on the real one, where it is installed."""

import ctypes
import dataclasses
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from msgspec.structs import replace
from test_gguf_file import GEMMA, QWEN

from measure import decode_llama, decoding, graphs_llama, machine, models, peer_llama
from measure.card import Card
from measure.decoding import Scope
from measure.engines import gguf_file
from measure.engines.llama import Llama
from measure.kernels import Trace
from measure.keys import parse_key
from measure.models import Subject
from measure.session import Session
from measure.store import load

NAME, TEXT = "decode_llama", "tiny-qwen-q4_0"
SMALL = Scope((1, 4), (16, 64), repeats=3, prompt_repeats=3, long=13, traced=False)

POINTER = ctypes.POINTER(ctypes.c_int32)


class LlamaBatch(ctypes.Structure):
    """llama_batch of llama.h."""

    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", POINTER),
        ("embd", ctypes.POINTER(ctypes.c_float)),
        ("pos", POINTER),
        ("n_seq_id", POINTER),
        ("seq_id", ctypes.POINTER(POINTER)),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


class Library(ModuleType):
    """llama_cpp's low-level interface as far as it is used: it keeps what it is fed, and computes nothing."""

    llama_batch = LlamaBatch
    llama_log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

    def __init__(self):
        super().__init__("llama_cpp")
        self.loads, self.offloads, self.code, self.contexts = True, True, 0, []
        self.calls: list = []
        self.cells: dict = {}
        self.freed = 0
        self.llama_model_default_params = lambda: SimpleNamespace(n_gpu_layers=0)
        self.llama_context_default_params = lambda: SimpleNamespace()
        self.llama_backend_init = lambda: None
        self.llama_supports_gpu_offload = lambda: self.offloads
        self.llama_model_get_vocab = lambda model: model
        self.llama_vocab_n_tokens = lambda vocabulary: QWEN.vocabulary
        self.llama_model_size = lambda model: 2**20
        self.llama_model_n_params = lambda model: QWEN.parameters
        self.llama_model_n_embd = lambda model: QWEN.hidden
        self.llama_get_memory = lambda context: context
        self.llama_synchronize = lambda context: None
        self.llama_memory_seq_pos_max = lambda memory, sequence: self.cells.get(sequence, -1)
        self.llama_perf_context = lambda context: SimpleNamespace(n_eval=12, t_eval_ms=600.0)
        self.llama_perf_context_reset = lambda context: None
        self.llama_log_set = lambda callback, data: setattr(self, "log", callback)

    def llama_model_load_from_file(self, path, asked):
        self.path, self.layers = path.decode(), asked.n_gpu_layers
        if not self.loads:
            self.log(4, b"unable to allocate CUDA0 buffer\n", None)
        return "model" if self.loads else None

    def llama_init_from_model(self, model, asked):
        self.contexts.append(asked)
        return f"context {len(self.contexts)}"

    def llama_free(self, context):
        self.freed += 1

    def llama_model_free(self, model):
        self.freed += 1

    def llama_memory_clear(self, memory, data):
        self.cells = {}

    def llama_decode(self, context, batch):
        fed = [
            (batch.token[i], batch.pos[i], batch.seq_id[i][0], batch.n_seq_id[i], batch.logits[i])
            for i in range(batch.n_tokens)
        ]
        for _, place, sequence, count, _ in fed:
            assert count == 1
            assert place == self.cells.get(sequence, -1) + 1, "a token that does not follow the one before it"
            self.cells[sequence] = place
        self.calls.append(fed)
        return self.code

    def llama_get_logits_ith(self, context, index):
        return bool(self.calls[-1][index][4])


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setitem(sys.modules, "llama_cpp", made)
    return made


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A session on a machine with an NVIDIA card, for one tiny model."""
    monkeypatch.setattr(models, "models", lambda: {model.name: model for model in (QWEN, GEMMA)})
    monkeypatch.setattr(gguf_file, "POOL", 2**10)
    monkeypatch.setattr(Card, "free_bytes", lambda self: 2**33)
    monkeypatch.setattr(decode_llama, "SUBJECTS", (TEXT,))
    monkeypatch.setattr(decode_llama, "FULL", SMALL)
    here = replace(machine.describe("cpu"), device="cuda", accelerators=1)
    return Session(tmp_path / "results.json", "card", here, packages=("gguf",))


@pytest.fixture
def decreed(monkeypatch):
    """Each token takes a tenth of a second, since the stand-in answers at once."""
    monkeypatch.setattr(decoding, "timed", lambda work: ((answer := work()).produced[0] / 10, answer))


def failures(session):
    return {text: (one.reason, one.detail) for text, one in load(session.results).runs[0].failures.items()}


def test_every_planned_key_is_recorded(small, library, decreed):
    decode_llama.measure(small)
    for item in decode_llama.plan(small):
        assert small.load(item) is not None, failures(small)
    sample = small.load(parse_key(f"{NAME}/{TEXT}/rate?requests=4"))
    told = {"weights": "random", "gpu_layers": 999, "produced_tokens": 52, "library_tok_s": 20.0, "cached_tokens": 0}
    assert told.items() <= sample.config.items()
    assert sample.values == pytest.approx([40.0] * 3)


def test_prompts_give_one_token_and_steps_one_each(small, library):
    engine = Llama(Path("any.gguf"), small)
    engine.prepare(2, 8)
    answer = engine.generate([[1, 2, 3], [4, 5, 6]], 3)
    prompt, *steps = library.calls
    assert [(token, place, sequence) for token, place, sequence, _, _ in prompt] == [
        (1, 0, 0),
        (2, 1, 0),
        (3, 2, 0),
        (4, 0, 1),
        (5, 1, 1),
        (6, 2, 1),
    ]
    assert [wanted for *_, wanted in prompt] == [0, 0, 1, 0, 0, 1]
    assert [[(place, sequence, wanted) for _, place, sequence, _, wanted in step] for step in steps] == [
        [(3, 0, 1), (3, 1, 1)],
        [(4, 0, 1), (4, 1, 1)],
    ]
    assert (answer.produced, answer.cached) == ((3, 3), 0)


def test_a_prompt_longer_than_a_call_takes_is_split(small, library):
    engine = Llama(Path("any.gguf"), small)
    engine.prepare(1, 3501)
    engine.generate([list(range(3500))], 1)
    assert [len(call) for call in library.calls] == [2048, 1452]
    assert sum(wanted for call in library.calls for *_, wanted in call) == 1


def test_each_sequence_has_a_cache_of_its_own(small, library):
    engine = Llama(Path("any.gguf"), small)
    engine.prepare(4, 300)
    (asked,) = library.contexts
    assert (asked.n_ctx, asked.n_seq_max, asked.n_batch) == (4 * 512, 4, 2048)
    engine.prepare(4, 400)
    assert len(library.contexts) == 1, "the context that is there holds as much"
    engine.prepare(1, 100)
    assert (library.contexts[-1].n_ctx, library.freed) == (256, 1)
    engine.close()
    assert library.freed == 3


def test_a_refused_step_is_a_failure_of_its_key_alone(small, library, decreed):
    library.code = -3
    decode_llama.measure(small)
    failed = failures(small)
    assert failed[f"{NAME}/{TEXT}/rate?requests=1"] == ("crashed", "RuntimeError: llama_decode gave -3")
    assert small.load(parse_key(f"{NAME}/{TEXT}/parameters")) is not None


def test_memory_that_runs_out_is_told_by_the_log_alone(small, library):
    library.loads = False
    decode_llama.measure(small)
    assert set(failures(small).values()) == {
        ("out_of_memory", "MemoryError: the model could not be loaded; unable to allocate CUDA0 buffer")
    }


def test_a_library_without_a_gpu_is_not_taken_for_one(small, library):
    library.offloads = False
    decode_llama.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"unsupported"}


def test_a_model_too_large_for_the_card_is_not_tried(small, library, monkeypatch):
    monkeypatch.setattr(Card, "free_bytes", lambda self: 1000)
    decode_llama.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"not_enough_memory"}
    assert not hasattr(library, "path")


def test_without_the_library_each_key_says_so(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    decode_llama.measure(small)
    assert {reason for reason, _ in failures(small).values()} == {"engine_missing"}


def test_one_model_that_fails_does_not_end_the_others(small, library, decreed, monkeypatch):
    monkeypatch.setattr(decode_llama, "SUBJECTS", ("tiny-qwen-fp8", TEXT))
    decode_llama.measure(small)
    assert {parse_key(text).subject for text in failures(small)} == {"tiny-qwen-fp8"}
    assert small.load(parse_key(f"{NAME}/{TEXT}/rate?requests=1")) is not None


def test_kernels_are_seen_through_torch_or_not_at_all(small, library, decreed, monkeypatch):
    monkeypatch.setattr(decode_llama, "FULL", SMALL._replace(traced=True))
    monkeypatch.setitem(sys.modules, "torch", None)
    decode_llama.measure(small)
    reason, detail = failures(small)[f"{NAME}/{TEXT}/step_kernel_time"]
    assert reason == "unsupported" and "install torch" in detail


def test_a_random_file_is_gone_afterwards(small, library, decreed):
    decode_llama.measure(small)
    assert not Path(library.path).exists()


def test_a_real_file_is_measured_in_place_of_a_random_one(small, library, decreed, tmp_path):
    gguf_file.write_random(Subject(GEMMA, "q8_0"), tmp_path / "real.gguf")
    given = dataclasses.replace(small, options={"weights": str(tmp_path / "real.gguf")})
    assert decode_llama.subjects(given) == ("tiny-gemma-q8_0",)
    decode_llama.measure(given)
    sample = given.load(parse_key(f"{NAME}/tiny-gemma-q8_0/rate?requests=1"))
    assert (sample.config["weights"], library.path) == ("real", str(tmp_path / "real.gguf"))
    assert (tmp_path / "real.gguf").exists()


@pytest.mark.parametrize("where", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("quick", [True, False])
def test_every_device_has_a_plan(small, where, quick):
    there = dataclasses.replace(small, quick=quick, machine=replace(small.machine, device=where))
    planned = [str(item) for item in decode_llama.plan(there)]
    assert len(planned) == len(set(planned)) >= 7
    assert decode_llama.seconds(there) > 0


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python has to be compiled")
@pytest.mark.parametrize("text", ["tiny-qwen-bf16", "tiny-qwen-q4_0", "tiny-gemma-q4_0", "tiny-gemma-q8_0"])
def test_the_real_library_runs_what_is_written(small, monkeypatch, text):
    """One thread: at this size several would only wait for each other."""
    alone = replace(small.machine, device="cpu", cores=1)
    real = dataclasses.replace(small, machine=alone)
    monkeypatch.setattr(decode_llama, "CPU_SUBJECTS", (text,))
    monkeypatch.setattr(decode_llama, "CPU", SMALL._replace(long=65))
    decode_llama.measure(real)
    model = text.rpartition("-")[0]
    counted = real.load(parse_key(f"{NAME}/{text}/parameters"))
    assert counted is not None, failures(real)
    rope = 64 if model == "tiny-gemma" else 0
    assert counted.values == [models.models()[model].parameters + rope]
    for item in decode_llama.plan(real):
        assert real.load(item) is not None, failures(real)


def test_graphs_are_off_where_that_is_measured(library, small, monkeypatch):
    """The library looks for its switch before its first step."""
    monkeypatch.setattr(graphs_llama, "SUBJECTS", (TEXT,))
    monkeypatch.setattr(decoding, "timed", lambda work: ((answer := work()).produced[0] / 10, answer))
    monkeypatch.setattr(Llama, "traced", lambda self, prompts, tokens: Trace(1e-3 * tokens, tokens, {"gemm": 1e-3}))
    monkeypatch.delenv(graphs_llama.SWITCH, raising=False)
    seen, init = [], library.llama_backend_init
    library.llama_backend_init = lambda: (seen.append(os.environ.get(graphs_llama.SWITCH)), init())
    graphs_llama.measure(small)
    assert seen == ["1"] * 2, "once for what is timed, once for what is traced"
    (run,) = load(small.results).runs
    assert set(run.samples) == {str(item) for item in graphs_llama.plan(small)}
    assert run.samples[f"graphs_llama/{TEXT}/rate?graphs=off&requests=1"].config["cuda_graphs"] == "none"


TOOL = """#!{python}
import json, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
{fault}
assert open(words["-m"], "rb").read(4) == b"GGUF"
count = int(words["-n"])
times = [count * 10**7 + 10**6 * repeat for repeat in range(int(words["-r"]))]
test = dict(model_type="tiny", model_size=1, model_n_params=1, n_prompt=int(words["-p"]), n_gen=count, test_time="now",
            samples_ns=times, samples_ts=[1e9 * count / taken for taken in times], n_gpu_layers=int(words["-ngl"]))
print(json.dumps([test]))
"""


def tool(folder, fault=""):
    """A stand-in for llama-bench, which by decree takes a hundredth of a second a token."""
    path = folder / "llama-bench"
    path.write_text(TOOL.format(python=sys.executable, fault=fault))
    path.chmod(0o755)
    return path


@pytest.fixture
def peer(small, monkeypatch):
    monkeypatch.setattr(peer_llama, "SUBJECT", TEXT)
    return small


def test_the_tool_on_the_path_is_the_peer(peer, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tool(tmp_path).parent))
    peer_llama.measure(peer)
    sample = peer.load(parse_key(f"peer_llama/{TEXT}/rate?requests=1"))
    assert len(sample.values) == peer_llama.REPEATS
    assert sample.values[0] == pytest.approx(100)
    assert sample.config["tool"] == "llama-bench"


def test_the_tool_may_be_named(peer, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    given = dataclasses.replace(peer, options={"tool": str(tool(tmp_path))})
    peer_llama.measure(given)
    assert given.load(parse_key(f"peer_llama/{TEXT}/rate?requests=1")) is not None


def test_without_the_tool_it_says_so(peer, monkeypatch):
    monkeypatch.setenv("PATH", "")
    peer_llama.measure(peer)
    (run,) = load(peer.results).runs
    (failure,) = run.failures.values()
    assert failure.reason == "engine_missing" and "--set tool=PATH" in failure.detail


def test_a_tool_that_fails_is_told(peer, tmp_path):
    given = dataclasses.replace(peer, options={"tool": str(tool(tmp_path, "sys.exit('error: no such model')"))})
    peer_llama.measure(given)
    (run,) = load(peer.results).runs
    (failure,) = run.failures.values()
    assert failure.detail == "RuntimeError: llama-bench ended with 1: error: no such model"
