"""The networks of the training steps, built from the layers of lucid or of PyTorch, and what a step computes at least."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bench.environment import ROOT
from bench.library import Library


class Decoder(NamedTuple):
    """The sizes of a GPT."""

    layers: int
    width: int
    heads: int
    context: int
    vocabulary: int

    @property
    def products(self) -> tuple[int, ...]:
        """`Model.layers` of it. Embeddings multiply nothing; half of the two products of attention is masked."""
        block = 12 * self.width**2 * self.context + self.context**2 * self.width
        return (0, *[block] * self.layers, self.width * self.vocabulary * self.context)


GPT = Decoder(4, 256, 8, 128, 256)


def mlp(library: Library) -> Any:
    """784-256-10."""
    nn = library.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def digits_cnn(library: Library) -> Any:
    """The net of examples/digits.py."""
    spec = importlib.util.spec_from_file_location("digits", ROOT / "examples" / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build_model(library.nn)


def image_cnn(library: Library) -> Any:
    """Two convolutions with pooling and two linear layers for images of 28x28, as for MNIST."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet18(library: Library) -> Any:
    """ResNet-18 for images of 32x32: a stem of 3x3 without pooling.

    Source: He et al., "Deep Residual Learning for Image Recognition", 2016.
    """
    nn = library.nn

    class Block(nn.Module):
        """Two convolutions beside an identity, or a 1x1 convolution where the shape changes."""

        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU()
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)) if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            """(N, inputs, H, W) -> (N, outputs, H / stride, W / stride)."""
            y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
            return self.relu(y + self.shortcut(x))

    blocks, inputs = [], 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def gpt(library: Library, size: Decoder = GPT) -> Any:
    """A decoder with pre-normalisation, learnt positions and GELU; tokens (N, T) -> logits (N * T, vocabulary).

    Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
    """
    nn, F, width, group = library.nn, library.F, size.width, size.width // size.heads

    class Block(nn.Module):
        """Causal self-attention and a two-layer perceptron, each added to its input."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            """(N, T, width) -> (N, T, width)."""
            n, t, _ = x.shape
            heads = self.qkv(self.norm1(x)).reshape(n, t, 3, size.heads, group).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
            x = x + self.projection(mixed.transpose(1, 2).reshape(n, t, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        """Embeddings, blocks, a last normalisation and the head."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(size.vocabulary, width), nn.Embedding(size.context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(size.layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, size.vocabulary, bias=False)
            self.register_buffer("order", library.lib.arange(size.context), persistent=False)

        def forward(self, tokens: Any) -> Any:
            """Tokens (N, T) -> logits (N * T, vocabulary)."""
            x = self.tokens(tokens) + self.positions(self.order[: tokens.shape[1]])
            return self.head(self.norm(self.blocks(x))).reshape(-1, size.vocabulary)

    return GPT()


@dataclass(frozen=True)
class Model:
    """A network, its batch and the layers that do its arithmetic."""

    build: Callable[[Library], Any]
    batch: int
    image: tuple[int, ...]  # the shape of one input; () for tokens
    classes: int
    layers: tuple[int, ...]  # multiplications of each layer for one input, the first layer first
    target: float | None
    needs: tuple[str, ...] = ()
    criterion: str = "CrossEntropyLoss"
    context: int = GPT.context  # of tokens
    dtype: str = "float32"  # of the parameters and of images
    channels_last: bool = False  # on both sides; else PyTorch has its faster layout

    @property
    def flops(self) -> int:
        """Operations of a step: each layer forward and for two gradients; the first one has no input gradient."""
        return 2 * self.batch * (3 * sum(self.layers) - self.layers[0])

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch of random inputs and labels."""
        rng = np.random.default_rng(0)
        if not self.image:
            tokens = rng.integers(0, self.classes, (self.batch, self.context + 1))
            return np.ascontiguousarray(tokens[:, :-1]), tokens[:, 1:].reshape(-1)
        return rng.random((self.batch, *self.image), np.float32), rng.integers(0, self.classes, self.batch)


def _resnet_layers() -> tuple[int, ...]:
    layers, inputs, size = [27 * 64 * 32**2], 64, 32
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        size //= stride
        layers += [(9 * inputs + 3 * 9 * outputs + (inputs if stride > 1 else 0)) * outputs * size**2]
        inputs = outputs
    return (*layers, 512 * 10)


MODELS = {
    "MLP 784-256-10, batch 64": Model(mlp, 64, (784,), 10, (784 * 256, 2560), 0.75),
    "digits CNN, batch 64": Model(digits_cnn, 64, (1, 8, 8), 10, (9 * 16 * 64, 9 * 16 * 32 * 64, 512 * 64, 640), 0.6),
    "28x28 CNN, batch 64": Model(image_cnn, 64, (1, 28, 28), 10,
                                 (9 * 32 * 784, 9 * 32 * 64 * 196, 3136 * 128, 1280), 0.5),
    "ResNet-18 CIFAR, batch 64": Model(resnet18, 64, (3, 32, 32), 10, _resnet_layers(), 0.9),
    "GPT 4x256, context 128, batch 8": Model(gpt, 8, (), GPT.vocabulary, GPT.products, 0.5,
                                             ("nn.functional.scaled_dot_product_attention",)),
}
