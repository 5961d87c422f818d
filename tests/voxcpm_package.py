"""A stand-in for the package voxcpm 2.0.3: its names, arguments and order of calls, on a clock that only they move.

Written after the package's core.py, model/voxcpm2.py and modules: what it takes and gives is checked there by the tests
that run where the package is installed. Each call takes the milliseconds of COSTS.
"""

import sys
import time
from types import ModuleType

import numpy
import pytest
import torch
from torch import nn

from measure.synthesis import voxcpm2_weights
from measure.synthesis.voxcpm2_weights import Shape

COSTS = {
    "tokenising": 1.0,
    "encoding": 30.0,
    "prefill": 20.0,
    "cache_clearing": 2.0,
    "call": 1.0,
    "solver": 3.0,
    "local_encoder": 2.5,
    "stop_check": 0.5,
    "base_lm": 4.0,
    "residual_lm": 2.0,
    "vae": 5.0,
    "vae_a_patch": 0.25,
    "projection": 0.125,
    "copy": 0.75,
}
"""Milliseconds of each call; the solver calls the network in every time step but the first."""

PATCH_SAMPLES = 4 * 24


class Clock:
    """Seconds that only the package's work makes pass."""

    now = 0.0

    @classmethod
    def spend(cls, what, times=1):
        cls.now += COSTS[what] * times / 1e3


class Cache:
    """StaticKVCache."""

    def __init__(self, max_length):
        self.max_length = max_length
        self.kv_cache = torch.zeros(2, 1, 1, 1, max_length, 4, dtype=torch.bfloat16)

    def fill_caches(self, kv_caches):
        Clock.spend("cache_clearing")


class LanguageModel(nn.Module):
    """MiniCPMModel."""

    def __init__(self, name, max_length):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(10))
        self.name, self.asked_for = name, []
        self.setup_cache(1, max_length, "cpu", torch.bfloat16)

    def setup_cache(self, batch_size, max_length, device, dtype):
        self.asked_for.append((batch_size, max_length, device, dtype))
        self.kv_cache = Cache(max_length)

    def forward(self, inputs_embeds, is_causal=True):
        Clock.spend("prefill", 0.5)
        return inputs_embeds, []

    def forward_step(self, inputs_embeds, position_id):
        Clock.spend(self.name)
        return inputs_embeds


class Projection(nn.Module):
    """A layer that projects nothing: products of so few numbers would take longer than all the rest."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(6))

    def forward(self, hidden):
        return hidden


class Decoder(nn.Module):
    """UnifiedCFM."""

    def forward(self, mu, n_timesteps, patch_size, cond, cfg_value=1.0):
        Clock.spend("solver")
        Clock.spend("call", n_timesteps - 1)
        return mu


class Vae(nn.Module):
    """AudioVAEV2."""

    def __init__(self, config=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(7))

    def decode(self, z):
        patches = z.shape[-1] // 4
        Clock.spend("vae")
        Clock.spend("vae_a_patch", patches)
        return torch.zeros(1, 1, patches * PATCH_SAMPLES)


class Config:
    """VoxCPMConfig."""

    def __init__(self, given):
        self.given, self.dtype, self.max_length = given, given["dtype"], given["max_length"]
        self.audio_vae_config = given["audio_vae_config"]

    model_validate = classmethod(lambda cls, given: cls(given))


class Model(nn.Module):
    """VoxCPM2Model."""

    natural = 3
    """Patches after which it stops of its own accord."""

    def __init__(self, config, tokenizer, audio_vae, lora_config=None, device=None):
        super().__init__()
        self.config, self.device, self.audio_vae = config, device, audio_vae
        self._tokens = tokenizer
        self.text_tokenizer = self._tokenize
        self.base_lm = LanguageModel("base_lm", config.max_length)
        self.residual_lm = LanguageModel("residual_lm", config.max_length)
        self.feat_decoder, self.feat_encoder = Decoder(), nn.Linear(3, 3)
        self.stop_proj, self.stop_head = Projection(), nn.Linear(2, 2, bias=False)

    def _tokenize(self, text):
        Clock.spend("tokenising")
        return self._tokens.tokenize(text)

    def optimize(self, disable=False):
        if not disable:
            self._feat_encoder_raw = self.feat_encoder
        return self

    def build_prompt_cache(self, prompt_text=None, prompt_wav_path=None, reference_wav_path=None):
        Clock.spend("encoding")
        return {"ref_audio_feat": reference_wav_path, "mode": "reference"}

    def _generate_with_prompt_cache(self, target_text, prompt_cache, min_len, max_len, streaming, **asked):
        assert asked["retry_badcase"] is False
        self.text_tokenizer(target_text), self.text_tokenizer(target_text)
        most = min(len(self.text_tokenizer(target_text)) * 6 + 10, max_len)
        steps, guidance = asked["inference_timesteps"], asked["cfg_value"]
        latents = self._inference(prompt_cache, min_len, most, steps, guidance, streaming)
        for latent in latents:
            yield self.audio_vae.decode(latent)

    def _inference(self, prompt_cache, min_len, max_len, inference_timesteps, cfg_value, streaming):
        if prompt_cache:
            Clock.spend("prefill", 0.5)
        for part in (self.base_lm, self.residual_lm):
            part(torch.zeros(1))
            part.kv_cache.fill_caches([])
        made = 0
        for place in range(max_len):
            Clock.spend("projection")
            self.feat_decoder(torch.zeros(1), inference_timesteps, 4, None, cfg_value=cfg_value)
            Clock.spend("local_encoder")
            made += 1
            if streaming:
                yield torch.zeros(1, 8, 4)
            self.stop_proj(torch.zeros(1))
            Clock.spend("stop_check")
            if place > min_len and made > self.natural:
                break
            self.base_lm.forward_step(torch.zeros(1), None)
            self.residual_lm.forward_step(torch.zeros(1), None)
        if not streaming:
            yield torch.zeros(1, 8, 4 * made)


class Pipeline:
    """voxcpm.VoxCPM."""

    def generate(self, *given, **asked):
        return next(self._generate(*given, streaming=False, **asked))

    def generate_streaming(self, *given, **asked):
        return self._generate(*given, streaming=True, **asked)

    def _generate(
        self,
        text,
        reference_wav_path=None,
        cfg_value=2.0,
        inference_timesteps=10,
        min_len=2,
        max_len=4096,
        retry_badcase=True,
        streaming=False,
    ):
        model = self.tts_model
        cache = model.build_prompt_cache(reference_wav_path=reference_wav_path) if reference_wav_path else None
        made = model._generate_with_prompt_cache(
            target_text=text,
            prompt_cache=cache,
            min_len=min_len,
            max_len=max_len,
            inference_timesteps=inference_timesteps,
            cfg_value=cfg_value,
            retry_badcase=retry_badcase,
            streaming=streaming,
        )
        for sound in made:
            Clock.spend("copy")
            yield sound.reshape(-1).numpy().astype(numpy.float32)


NAMES = ("", ".core", ".model", ".model.voxcpm2", ".modules", ".modules.audiovae")


def modules():
    """The package's modules by name, as far as they are imported."""
    made = {f"voxcpm{name}": ModuleType(f"voxcpm{name}") for name in NAMES}
    made["voxcpm"].core, made["voxcpm"].model = made["voxcpm.core"], made["voxcpm.model"]
    made["voxcpm.core"].VoxCPM = type("VoxCPM", (Pipeline,), {})
    made["voxcpm.model"].voxcpm2 = made["voxcpm.model.voxcpm2"]
    made["voxcpm.model.voxcpm2"].VoxCPM2Model, made["voxcpm.model.voxcpm2"].VoxCPMConfig = Model, Config
    made["voxcpm.modules.audiovae"].AudioVAEV2 = Vae
    return made


SHAPE = {
    "patch_size": 4,
    "dtype": "bfloat16",
    "max_length": 8192,
    "audio_vae_config": {"decoder_rates": [4, 3, 2], "out_sample_rate": 600},
}
"""A patch is 96 samples, which at 600 Hz are 160 ms, as the true one is."""


def install(monkeypatch):
    """Put the stand-in in place of the package, and its clock in place of all others; the modules by name."""
    monkeypatch.setattr(Clock, "now", 0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: Clock.now)
    monkeypatch.setattr(voxcpm2_weights, "published", lambda: Shape(SHAPE, 42, 7))
    found = modules()
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
    return found


@pytest.fixture
def package(monkeypatch):
    return install(monkeypatch)
