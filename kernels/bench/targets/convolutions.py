"""Convolutions, forward and both gradients, against the faster of PyTorch's layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side
from bench.cases import conv2d
from bench.cases.conv2d import Layer
from bench.library import Calls, Library, target

BATCH = 32
#: A layer -> the targets forward, of the input gradient and of the weight gradient.
SQUARE = (1.0, 1.05, 1.05)
LAYERS = {
    Layer("3x3 64@56", BATCH, 64, 64, 56, 3, padding=1): SQUARE,
    Layer("3x3 128@28", BATCH, 128, 128, 28, 3, padding=1): SQUARE,
    Layer("3x3 256@14", BATCH, 256, 256, 14, 3, padding=1): SQUARE,
    Layer("3x3 512@7", BATCH, 512, 512, 7, 3, padding=1): SQUARE,
    Layer("1x1 64->256@56", BATCH, 64, 256, 56, 1): (1.05,) * 3,
    Layer("7x7 stem 3->64@224", BATCH, 3, 64, 224, 7, 2, 3): (1.05,) * 3,
    Layer("depthwise 3x3 64@56", BATCH, 64, 64, 56, 3, padding=1, groups=64): (1.05,) * 3,
    Layer("3x3 1->32@28", BATCH, 1, 32, 28, 3, padding=1): (1.05,) * 3,
}


def cases(side: Side) -> Iterator[Case]:
    """Layers of ResNet, of MobileNet and of a small net, batch 32."""
    for layer, bounds in list(LAYERS.items())[-1:] if side.quick else LAYERS.items():
        yield from _cases(side, layer, bounds)


def _cases(side: Side, layer: Layer, bounds: tuple[float, ...]) -> Iterator[Case]:
    images, filters, upstream = layer.arrays()
    facts: dict[str, Any] = {"flops": 2 * upstream.size * filters[0].size, "arithmetic": "tf32",
                             "needs": ("nn.functional.conv2d",), "bytes": images.nbytes + filters.nbytes + upstream.nbytes}

    def prepare(library: Library, layout: str, image_grad: bool, filter_grad: bool) -> tuple[Any, Any, Any]:
        x = library.in_layout(library.tensor(images, grad=image_grad), layout)
        weight = library.in_layout(library.tensor(filters, grad=filter_grad), layout)
        call = library.F.conv2d
        return x, weight, lambda: call(x, weight, None, layer.stride, layer.padding, 1, layer.groups)

    def forward(library: Library) -> Calls:
        return {layout: prepare(library, layout, True, True)[2] for layout in library.layouts()}

    def gradient(library: Library, of_input: bool) -> Calls:
        calls = {}
        for layout in library.layouts():
            x, weight, call = prepare(library, layout, of_input, not of_input)
            g = library.in_layout(library.tensor(upstream), layout)
            calls[layout] = library.backward(call(), [x if of_input else weight], g)
        return calls

    yield target(side, f"conv {layer.name} forward", bounds[0], forward, **facts, part=np.s_[:1],
                 exact=lambda: conv2d.convolve(images[:1], filters, layer))
    yield target(side, f"conv {layer.name} input gradient", bounds[1], lambda library: gradient(library, True), **facts,
                 exact=lambda: conv2d.input_gradient(upstream[:1], filters, layer), part=np.s_[:1])
    yield target(side, f"conv {layer.name} weight gradient", bounds[2], lambda library: gradient(library, False), **facts,
                 exact=lambda: conv2d.weight_gradient(upstream, images, layer), part=np.s_[:2])
