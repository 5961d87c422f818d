"""A stand-in for NeMo's model at the interface that is used: its streamed frames are those of the whole, but for one.

Frame i is made of feature frames 8 i and 8 i - 10, each raised by one where it is there. Padding a chunk with zeros
thus differs from having nothing there, as it does for the real encoder, whose convolutions have biases.
"""

import sys
from types import ModuleType, SimpleNamespace

import torch
from torch import nn

from measure.recognition.conformer import Shape
from measure.recognition.nemotron import HOP, LANGUAGES, Recogniser

SMALL = Shape(layers=2, hidden=12, heads=4, channels=16, features=6, left=56, prediction=8, vocabulary=30, prompts=4)


class Encoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.weight = nn.Parameter(
            torch.randn(shape.hidden, shape.features, generator=torch.Generator().manual_seed(1))
        )
        self.streaming_cfg = SimpleNamespace(pre_encode_cache_size=[0, 9], drop_extra_pre_encoded=2)
        self.asked = []

    def set_default_att_context_size(self, sizes):
        self.asked.append(tuple(sizes))

    def get_initial_cache_state(self, streams, dtype, device):
        shape = self.shape
        inputs = torch.zeros(shape.layers, streams, shape.left, shape.hidden, dtype=dtype)
        convolutions = torch.zeros(shape.layers, streams, shape.hidden, shape.kernel - 1, dtype=dtype)
        return inputs, convolutions, torch.zeros(streams, dtype=torch.long)

    def frames(self, mel, dropped=0):
        made = []
        for place in range(8 * dropped, mel.shape[2], 8):
            there = [mel[:, :, each] + 1 for each in (place, place - 10) if each >= 0]
            made.append(sum(there) @ self.weight.to(mel.dtype).T)
        return torch.stack(made, 2)

    def cache_aware_stream_step(self, mel, lengths, inputs, convolutions, held, keep, dropped):
        encoded = self.frames(mel, dropped)
        counts = (lengths.clamp(min=0) + 7) // 8 - dropped
        held = (held + encoded.shape[2]).clamp(max=self.shape.left)
        return encoded, counts.clamp(0, encoded.shape[2]), inputs, convolutions, held

    def forward(self, audio_signal, length):
        return self.frames(audio_signal), (length + 7) // 8


class Joint(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.enc = nn.Linear(shape.hidden, shape.prediction)
        self.pred = nn.Linear(shape.prediction, shape.prediction)
        self.joint_net = nn.Sequential(nn.ReLU(), nn.Linear(shape.prediction, shape.vocabulary + 1))

    def project_encoder(self, frames):
        return self.enc(frames)

    def project_prednet(self, histories):
        return self.pred(histories)

    def joint_after_projection(self, frames, histories):
        return self.joint_net(frames[:, :, None] + histories[:, None])


class Prediction(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary + 1, shape.prediction)

    def predict(self, tokens, state, add_sos, batch_size):
        return self.embedding(tokens) / 10, state


class Computer:
    """Greedy, one token a frame at most; a token is its place in the vocabulary."""

    cuda_graphs_mode = None

    def __init__(self, model):
        self.model, self.max_symbols, self.batches = model, 10, []

    def __call__(self, x, out_len, prev_batched_state=None):
        model = self.model
        start = torch.zeros(len(x), 1, dtype=torch.long)
        history, _ = model.decoder.predict(start, None, False, len(x))
        logits = model.joint.joint_after_projection(
            model.joint.project_encoder(x), model.joint.project_prednet(history)
        ).squeeze(2)
        best = logits.argmax(-1)
        rows = [
            [int(token) for token in row[: int(count)] if token < logits.shape[-1] - 1]
            for row, count in zip(best, out_len, strict=True)
        ]
        self.batches.append(len(x))
        most = max(map(len, rows), default=0)
        padded = torch.tensor([row + [0] * (most - len(row)) for row in rows], dtype=torch.long).reshape(len(x), most)
        return SimpleNamespace(current_lengths=torch.tensor([len(row) for row in rows]), transcript=padded), "state"


class Model(nn.Module):
    """What NeMo's EncDecRNNTBPEModelWithPrompt is asked for."""

    concat = True

    def __init__(self, shape=SMALL, letters=""):
        super().__init__()
        torch.manual_seed(0)
        self.encoder, self.joint, self.decoder = Encoder(shape), Joint(shape), Prediction(shape)
        self.prompt_kernel = nn.Linear(1, 1)
        self.computer = Computer(self)
        self.decoding = SimpleNamespace(
            decoding=SimpleNamespace(decoding_computer=self.computer), rnnt_decoder_predictions_tensor=self.decode
        )
        self.cfg = SimpleNamespace(model_defaults={"prompt_dictionary": LANGUAGES})
        self.letters = letters
        self.steps = []

    def set_inference_prompt(self, language):
        if language not in LANGUAGES:
            raise ValueError(f"Unknown target language {language!r}")
        self._inference_prompt_index = LANGUAGES[language]

    def _apply_prompt_to_encoded(self, encoded):
        return encoded + self._inference_prompt_index if hasattr(self, "_inference_prompt_index") else encoded

    def preprocessor(self, input_signal, length):
        """Loudness of the ten milliseconds around each hop, and a constant a feature."""
        padded = nn.functional.pad(input_signal, (HOP, HOP))
        loudness = padded.unfold(1, 2 * HOP, HOP).abs().mean(2)
        rows = torch.linspace(-1, 1, SMALL.features)[None, :, None]
        return 50 * loudness[:, None] * rows, length // HOP

    def decode(self, encoder_output, encoded_lengths, return_hypotheses, partial_hypotheses):
        told, _ = self.computer(encoder_output.transpose(1, 2), encoded_lengths)
        counts = told.current_lengths.tolist()
        rows = [row[:count].tolist() for row, count in zip(told.transcript, counts, strict=True)]
        before = partial_hypotheses or [SimpleNamespace(y_sequence=[]) for _ in rows]
        made = [[*old.y_sequence, *row] for old, row in zip(before, rows, strict=True)]
        return [SimpleNamespace(y_sequence=row, text=self.letters or " ".join(map(str, row))) for row in made]

    def conformer_stream_step(self, **given):
        self.steps.append({name: given[name] for name in ("keep_all_outputs", "drop_extra_pre_encoded")})
        encoded, counts, *cache = self.encoder.cache_aware_stream_step(
            given["processed_signal"],
            given["processed_signal_length"],
            given["cache_last_channel"],
            given["cache_last_time"],
            given["cache_last_channel_len"],
            given["keep_all_outputs"],
            given["drop_extra_pre_encoded"],
        )
        told = self.decode(self._apply_prompt_to_encoded(encoded), counts, True, given["previous_hypotheses"])
        return [each.y_sequence for each in told], told, *cache, told


class Buffer:
    """NeMo's buffer of features: the first chunk one frame and 8 a frame of look-ahead, later ones 8 a frame."""

    def __init__(self, model, online_normalization, pad_and_drop_preencoded):
        self.model, self.buffer, self.buffer_idx = model, None, 0
        self.right = model.encoder.asked[-1][1]

    def append_audio(self, sound, stream_id):
        mel, _ = self.model.preprocessor(torch.from_numpy(sound)[None], torch.tensor([len(sound)]))
        lengths = torch.tensor([mel.shape[2]])
        if self.buffer is None:
            self.buffer, self.streams_length = mel, lengths
            return
        longest = max(mel.shape[2], self.buffer.shape[2])
        both = [nn.functional.pad(each, (0, longest - each.shape[2])) for each in (self.buffer, mel)]
        self.buffer, self.streams_length = torch.cat(both), torch.cat((self.streams_length, lengths))

    def __iter__(self):
        while self.buffer_idx < self.buffer.shape[2]:
            size = 8 * (self.right + 1) if self.buffer_idx else 1 + 8 * self.right
            chunk = self.buffer[:, :, self.buffer_idx : self.buffer_idx + size]
            again = min(self.buffer_idx, 9)
            before = self.buffer[:, :, self.buffer_idx - again : self.buffer_idx]
            zeros = torch.zeros_like(self.buffer[:, :, : 9 - again if self.buffer_idx else 0])
            mel = torch.cat((zeros, before, chunk), 2)
            added = mel.shape[2] - chunk.shape[2]
            lengths = (self.streams_length - self.buffer_idx + added).clamp(0, mel.shape[2])
            if self.buffer_idx and chunk.shape[2] < 8:
                return
            self.buffer_idx += size
            yield mel, lengths

    def is_buffer_empty(self):
        return self.buffer_idx >= self.buffer.shape[2]


def built(shape=SMALL, precision="fp32", kind="random", letters=""):
    """A recogniser around the stand-in."""
    return Recogniser(Model(shape, letters), shape, precision, "cpu", kind)


def with_buffer(patch):
    """Put the buffer where NeMo's is imported from; `patch` is pytest's, and undoes it."""
    place = "nemo.collections.asr.parts.utils.streaming_utils"
    for end in range(1, place.count(".") + 1):
        name = ".".join(place.split(".")[:end])
        patch.setitem(sys.modules, name, ModuleType(name))
    patch.setitem(sys.modules, place, ModuleType(place))
    sys.modules[place].CacheAwareStreamingAudioBuffer = Buffer
