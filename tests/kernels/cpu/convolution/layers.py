"""The convolutions of well-known networks, and which implementation serves each: `layers.txt`.

`python -m tests.kernels.cpu.convolution.layers` writes the file anew, for the layers that stand in it. A layer is added as a line
without implementations: ``network: 3x224x224, 64x3x7x7, stride 2, padding 3``.
"""
from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

PATH = pathlib.Path(__file__).with_name("layers.txt")
BATCHES = (1, 8, 32)
# Bytes of the vectors of AVX2 and AVX-512.
VECTORS = (32, 64)

Pair = tuple[int, int]
Served = tuple[str, str, str]


class Layer(NamedTuple):
    """A convolution of images (C, H, W) with a weight (O, C / G, KH, KW)."""

    network: str
    image: tuple[int, ...]
    weight: tuple[int, ...]
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    @property
    def groups(self) -> int:
        return self.image[0] // self.weight[1]

    def __str__(self) -> str:
        sizes = ", ".join("x".join(map(str, shape)) for shape in (self.image, self.weight))
        steps = "".join(f", {name} {_text(pair)}" for name in ("stride", "padding", "dilation")
                        if (pair := getattr(self, name)) != self._field_defaults[name])
        return f"{self.network}: {sizes}{steps}"


def _text(pair: Pair) -> str:
    return str(pair[0]) if pair[0] == pair[1] else "x".join(map(str, pair))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


def _layer(text: str) -> Layer:
    network, rest = text.split(": ")
    image, weight, *steps = rest.split(", ")
    pairs = {name: (_numbers(numbers) * 2)[:2] for name, numbers in (step.split(" ") for step in steps)}
    return Layer(network, _numbers(image), _numbers(weight), **pairs)


def read() -> Iterator[Layer]:
    """The layers of the file."""
    lines = (line.split("|")[0].strip() for line in PATH.read_text().splitlines() if line and not line.startswith("#"))
    return map(_layer, dict.fromkeys(lines))


def lines(layers: Iterable[Layer], served: Callable[[Layer, int, int], Served]) -> Iterator[str]:
    """The lines of the file: ``served(layer, images, vector_bytes)`` names what serves forward pass, input and weight gradient.

    Batches that are served alike share a line.
    """
    for layer in layers:
        rows: dict[str, list[str]] = {}
        for images in BATCHES:
            narrow, wide = (served(layer, images, vector_bytes) for vector_bytes in VECTORS)
            row = " | ".join(one if one == other else f"{one} / {other}" for one, other in zip(narrow, wide))
            rows.setdefault(row, []).append(str(images))
        for row, batches in rows.items():
            yield f"{layer} | {' '.join(batches)} | {row}"


HEADER = """\
# Which implementation serves the convolutions of well-known networks (float32):
# network: image, weight, stride, padding, dilation | images of a batch | forward | input gradient | weight gradient
# Where AVX2 and AVX-512 differ: AVX2 / AVX-512. Written by layers.py; a change of dispatch shows as a diff of this file.
"""


def served(layer: Layer, images: int, vector_bytes: int) -> Served:
    from lucid_kernels.cpu.convolution.conv2d import problem_of
    from lucid_kernels.cpu.convolution.implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT

    problem, _ = problem_of((images, *layer.image), layer.weight, layer.stride, layer.padding, layer.dilation, layer.groups)
    problem = problem._replace(vector_bytes=vector_bytes)
    forward, grad_input, grad_weight = (some.choose(problem).name for some in (FORWARD, GRAD_INPUT, GRAD_WEIGHT))
    return forward, grad_input, grad_weight


if __name__ == "__main__":
    text = HEADER + "".join(line + "\n" for line in lines(list(read()), served))
    PATH.write_text(text)
