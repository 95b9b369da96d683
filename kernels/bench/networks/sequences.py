"""Networks of sequences: recurrent ones and transformers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.library import Library
from bench.networks.network import Network, labels


def lstm_classifier(library: Library) -> Any:
    """Tokens (N, T) -> two classes, by the last output of an LSTM."""
    nn = library.nn

    class Classifier(nn.Module):
        """An embedding, a recurrent layer and a linear one."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.recurrent, self.head = nn.Embedding(5000, 64), nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 2)

        def forward(self, x: Any) -> Any:
            """(N, T) -> (N, 2)."""
            return self.head(self.recurrent(self.tokens(x))[0][:, -1])

    return Classifier()


def gru_tagger(library: Library) -> Any:
    """Tokens (N, T) -> a tag for each, by a GRU in both directions."""
    nn = library.nn

    class Tagger(nn.Module):
        """An embedding, a recurrent layer and a linear one for each step."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(5000, 100)
            self.recurrent = nn.GRU(100, 100, batch_first=True, bidirectional=True)
            self.head = nn.Linear(200, 17)

        def forward(self, x: Any) -> Any:
            """(N, T) -> (N * T, 17)."""
            return self.head(self.recurrent(self.tokens(x))[0]).flatten(0, 1)

    return Tagger()


def character_lstm(library: Library) -> Any:
    """Characters (N, T) -> the next ones, by two layers of 256."""
    nn = library.nn

    class Characters(nn.Module):
        """An embedding, two recurrent layers and the head."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.head = nn.Embedding(65, 64), nn.Linear(256, 65)
            self.recurrent = nn.LSTM(64, 256, 2, batch_first=True)

        def forward(self, x: Any) -> Any:
            """(N, T) -> (N * T, 65)."""
            return self.head(self.recurrent(self.tokens(x))[0]).flatten(0, 1)

    return Characters()


def encoder(library: Library) -> Any:
    """Tokens (N, T) of different lengths -> two classes, by two layers of `nn.TransformerEncoder` with a padding mask."""
    nn = library.nn

    class Encoder(nn.Module):
        """An embedding, the encoder and the mean of its outputs."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.head = nn.Embedding(5000, 128), nn.Linear(128, 2)
            layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x: Any) -> Any:
            """(N, T) -> (N, 2); token 0 and all below 500 are padding."""
            return self.head(self.layers(self.tokens(x), src_key_padding_mask=x < 500).mean(1))

    return Encoder()


def llama(library: Library) -> Any:
    """Tokens (N, T) -> the next ones, by two blocks of RMS norm, rotary positions, causal attention and SwiGLU.

    Source: Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023.
    """
    nn, F, lib = library.nn, library.F, library.lib
    width, heads, context = 256, 4, 128
    head = width // heads
    angles = np.arange(context)[:, None] / 10_000 ** (np.arange(0, head, 2) / head)

    class Block(nn.Module):
        """Attention and a gated perceptron, each added to its input."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
            self.down = nn.Linear(2 * width, width, bias=False)
            self.register_buffer("cos", library.tensor(np.cos(angles).astype(np.float32)), persistent=False)
            self.register_buffer("sin", library.tensor(np.sin(angles).astype(np.float32)), persistent=False)

        def rotated(self, x: Any) -> Any:
            """(N, heads, T, head) with its halves turned by the angle of each position."""
            a, b = x.chunk(2, -1)
            return lib.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1)

        def forward(self, x: Any) -> Any:
            """(N, T, width) -> (N, T, width)."""
            n, t, _ = x.shape
            q, k, v = (part.view(n, t, heads, head).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v, is_causal=True)
            x = x + self.projection(mixed.transpose(1, 2).reshape(n, t, width))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Llama(nn.Module):
        """An embedding, the blocks and the head."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.blocks = nn.Embedding(1000, width), nn.Sequential(Block(), Block())
            self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 1000, bias=False)

        def forward(self, x: Any) -> Any:
            """(N, T) -> (N * T, 1000)."""
            return self.head(self.norm(self.blocks(self.tokens(x)))).flatten(0, 1)

    return Llama()


SEQUENCES = {
    "LSTM classifier": Network(lstm_classifier, labels(5000, 32, 50), labels(2, 32)),
    "GRU tagger": Network(gru_tagger, labels(5000, 32, 30), labels(17, 32 * 30)),
    "character LSTM": Network(character_lstm, labels(65, 32, 64), labels(65, 32 * 64)),
    "transformer encoder": Network(encoder, labels(5000, 32, 64), labels(2, 32)),
    "Llama": Network(llama, labels(1000, 8, 128), labels(1000, 8 * 128)),
}
