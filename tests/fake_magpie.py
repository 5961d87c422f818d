"""A stand-in for NeMo's MagpieTTSModel at the interface that is used, whose methods take decreed times on a clock."""

import sys
from types import ModuleType, SimpleNamespace

import torch

RATE, PER_FRAME, VOICE = 1000, 50, 10
"""Twenty frames a second."""

TABLE = {"en": ["english_phoneme", "english"], "de": ["german_phoneme"]}

DECODER_S, DECODER_FRAME_S = 0.010, 0.0001
"""A step of the decoder, and as much more for each frame that is there already."""

CACHED_FRAME_S = 0.00005
LOCAL_FRAME_S = 0.004
EMBEDDING_S, ALIGNMENT_S, SAMPLING_S, LOOP_S = 0.001, 0.002, 0.003, 0.0005
BEGIN_S, TEXT_S, CODEC_FRAME_S, ITEM_S = 0.006, 0.05, 0.001, 0.0002


class Clock:
    """What stands in the place of `time.perf_counter`."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def take(self, seconds):
        self.now += seconds


class FakeMagpie(torch.nn.Module):
    """Its loop calls what NeMo's `generate_speech` calls, in that order."""

    def __init__(self, stack, clock):
        super().__init__()
        self.clock, self.frame_stacking_factor = clock, stack
        self.output_sample_rate, self.codec_model_samples_per_frame = RATE, PER_FRAME
        self.num_audio_codebooks, self.codebook_size, self.eos_id = 8, 2016, 51
        self._baked_embedding_T = torch.tensor(VOICE)
        self.inference_parameters = SimpleNamespace(max_decoder_steps=500, min_generated_frames=4, cfg_scale=2.5)
        self.decoder = torch.nn.Linear(3, 5)
        self.register_buffer("causal_mask", torch.ones(2, 2))
        self._codec_model = torch.nn.Linear(2, 1)
        self.cached = False
        self.decoder.reset_cache = lambda use_cache: setattr(self, "cached", use_cache)
        self._lt_helper = SimpleNamespace(sample_autoregressive=self._local)
        self._codec_helper = SimpleNamespace(codes_to_audio=self._decode)
        self.lacking, self.asked = 0, []
        """Frames that are left out at the end; what the loop was asked for."""

    def create_chunk_state(self, batch_size):
        self.clock.take(BEGIN_S)
        return SimpleNamespace(batch_size=batch_size)

    def prepare_context_tensors(self, batch):
        self.clock.take(TEXT_S)

    def embed_audio_tokens(self, frames):
        self.clock.take(EMBEDDING_S)

    def forward(self, frames):
        self.clock.take(DECODER_S + frames * (CACHED_FRAME_S if self.cached else DECODER_FRAME_S))

    def get_cross_attention_scores(self):
        self.clock.take(ALIGNMENT_S / 2)

    def get_most_attended_text_timestep(self):
        self.clock.take(ALIGNMENT_S / 4)

    def construct_inference_prior(self):
        self.clock.take(ALIGNMENT_S / 4)

    def sample_codes_from_logits(self):
        self.clock.take(SAMPLING_S)

    def _check_eos_and_update_state(self, batch):
        self.clock.take(ITEM_S * batch)

    def _local(self):
        self.clock.take(LOCAL_FRAME_S * self.frame_stacking_factor)

    def _decode(self, codes, lengths):
        self.clock.take(CODEC_FRAME_S * int(lengths[0]))
        return None, lengths * PER_FRAME, codes

    def generate_speech(
        self, batch, chunk_state, end_of_text, beginning_of_text, use_cfg, use_local_transformer_for_inference
    ):
        requests, stack = len(batch["text_lens"]), self.frame_stacking_factor
        assert batch["text"].shape == (requests, int(batch["text_lens"][0])), "texts of one length"
        assert end_of_text == [True] * requests and beginning_of_text and use_cfg
        assert chunk_state.batch_size == requests
        self.asked.append((requests, use_local_transformer_for_inference, self.cached))
        self.prepare_context_tensors(batch)
        settings = self.inference_parameters
        assert settings.min_generated_frames >= settings.max_decoder_steps, "an end could come before"
        for step in range(settings.max_decoder_steps // stack - self.lacking):
            self.embed_audio_tokens(step * stack)
            self.forward(step * stack)
            self.get_cross_attention_scores()
            self.get_most_attended_text_timestep()
            self.construct_inference_prior()
            if use_local_transformer_for_inference:
                self._lt_helper.sample_autoregressive()
            else:
                self.sample_codes_from_logits()
            self.sample_codes_from_logits()
            self._check_eos_and_update_state(requests)
            self.clock.take(LOOP_S)
        frames = (settings.max_decoder_steps // stack - self.lacking) * stack
        return SimpleNamespace(predicted_codes=None, predicted_codes_lens=torch.tensor([frames] * requests))


def step_s(stack, frames, local=True, cache=False, requests=1):
    """Seconds of a step with so many frames there already."""
    decoder = DECODER_S + frames * (CACHED_FRAME_S if cache else DECODER_FRAME_S)
    sampled = SAMPLING_S + (LOCAL_FRAME_S * stack if local else SAMPLING_S)
    return EMBEDDING_S + decoder + ALIGNMENT_S + sampled + ITEM_S * requests + LOOP_S


def loop_s(stack, frames, **way):
    return sum(step_s(stack, done, **way) for done in range(0, frames, stack))


def whole_s(stack, frames, **way):
    return BEGIN_S + TEXT_S + loop_s(stack, frames, **way) + CODEC_FRAME_S * frames


def get_tokenizer_for_language(language, available_tokenizers):
    fitting = [name for name in TABLE.get(language, ()) if name in available_tokenizers]
    return (fitting or ["english_phoneme"])[0]


class IPATokenizer:
    """Knows the letters of the words in its dictionary, and leaves out what it does not know."""

    def __init__(self, g2p, **settings):
        self.tokens = [" ", ".", ",", "?", "'", "<pad>", *sorted({letter for word in g2p for letter in word})]

    def encode(self, text):
        return [self.tokens.index(letter) for letter in text.upper() if letter in self.tokens]


HOLDS = {
    "nemo.collections.tts.parts.utils.tts_dataset_utils": {
        "LANGUAGE_TOKENIZER_MAP": TABLE,
        "get_tokenizer_for_language": get_tokenizer_for_language,
    },
    "nemo.collections.common.tokenizers.text_to_speech.tts_tokenizers": {"IPATokenizer": IPATokenizer},
    "nemo.collections.tts.g2p.models.i18n_ipa": {"IpaG2p": lambda phoneme_dict, **settings: phoneme_dict},
    "nemo.utils": {"logging": SimpleNamespace(setLevel=lambda level: None)},
}
"""NeMo's modules of text as far as they are used."""


def install(monkeypatch):
    """Put NeMo's modules of text into `sys.modules`, and the packages that they are in."""
    for name, members in HOLDS.items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth])
            if not isinstance(sys.modules.get(path), Stand):
                monkeypatch.setitem(sys.modules, path, Stand(path))
        vars(sys.modules[name]).update(members)


class Stand(ModuleType):
    """A module or package of the stand-in."""

    __path__ = ()
