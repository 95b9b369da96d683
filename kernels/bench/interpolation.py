"""Images of another size, forward and gradient: rows without targets, of the whole library on a CPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

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


def cases(side: Side) -> Iterator[Case]:
    """What decoders of segmentation nets and image pipelines do."""
    for label, (shape, options) in list(IMAGES.items())[2:3] if side.quick else IMAGES.items():
        yield from _cases(side, label, shape, options)


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
