"""Images of another size, or read at any coordinates, forward and gradient: rows without targets,
of the whole library on a CPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Calls, Library, target

#: label -> (shape, arguments)
IMAGES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "bilinear 64@28 to 56": ((8, 64, 28, 28), {"scale_factor": 2, "mode": "bilinear"}),
    "bilinear 3@256 to 224": ((8, 3, 256, 256), {"size": 224, "mode": "bilinear"}),
    "bicubic 16@28 to 56": ((8, 16, 28, 28), {"scale_factor": 2, "mode": "bicubic"}),
    "nearest 64@28 to 56": ((8, 64, 28, 28), {"scale_factor": 2}),
    "trilinear 32@8x14x14 to 16x28x28": ((2, 32, 8, 14, 14), {"scale_factor": 2, "mode": "trilinear"}),
}
#: label -> shape, of images that an affine transform turns
TURNED = {"3@224 turned": (8, 3, 224, 224), "64@56 turned": (4, 64, 56, 56), "8@32x64x64 turned": (1, 8, 32, 64, 64)}


def cases(side: Side) -> Iterator[Case]:
    """What decoders of segmentation nets and image pipelines do."""
    for label, (shape, options) in list(IMAGES.items())[2:3] if side.quick else IMAGES.items():
        yield from _cases(side, label, shape, options)
    for label, shape in list(TURNED.items())[1:2] if side.quick else TURNED.items():
        yield from _turned(side, label, shape)


def _cases(side: Side, label: str, shape: tuple[int, ...], options: dict[str, Any]) -> Iterator[Case]:
    values = normal(*shape)

    def forward(library: Library) -> Calls:
        x = library.tensor(values)
        return {layout: functools.partial(library.F.interpolate, library.in_layout(x, layout) if x.ndim == 4 else x, **options)
                for layout in library.layouts()}

    def gradient(library: Library) -> Calls:
        calls = {}
        for layout in library.layouts():
            x = library.tensor(values, grad=True)
            leaf = library.in_layout(x, layout) if x.ndim == 4 else x
            y = library.F.interpolate(leaf, **options)
            calls[layout] = library.backward(y, [leaf], library.lib.ones_like(y))
        return calls

    yield target(side, f"{label} forward", None, forward, bytes=values.nbytes)
    yield target(side, f"{label} gradient", None, gradient, bytes=values.nbytes)


def _turned(side: Side, label: str, shape: tuple[int, ...]) -> Iterator[Case]:
    dims = len(shape) - 2
    values, theta = normal(*shape), 0.1 * normal(shape[0], dims, dims + 1) + np.eye(dims, dims + 1, dtype="f4")

    def sample(library: Library, *, grad: bool) -> tuple[Any, list[Any]]:
        x, grid = library.tensor(values, grad=grad), library.F.affine_grid(library.tensor(theta), shape, align_corners=False)
        leaves = [x, grid.requires_grad_() if grad else grid]
        return functools.partial(library.F.grid_sample, *leaves, align_corners=False), leaves

    def forward(library: Library) -> Calls:
        return sample(library, grad=False)[0]

    def gradient(library: Library) -> Calls:
        call, leaves = sample(library, grad=True)
        y = call()
        return library.backward(y, leaves, library.lib.ones_like(y))

    yield target(side, f"{label} forward", None, forward, bytes=2 * values.nbytes)
    yield target(side, f"{label} gradient", None, gradient, bytes=3 * values.nbytes)
