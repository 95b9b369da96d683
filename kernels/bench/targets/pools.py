"""Max and average pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.cases import pool2d
from bench.library import Library, target

FORWARD, BACKWARD = 0.2, 0.8
PART = np.s_[:2]  # images are independent: two tell the error
#: label -> (the function, the window, the padding); the stride is 2
POOLS = {"max pool 2x2": ("max_pool2d", 2, 0), "max pool 3x3 s2": ("max_pool2d", 3, 1), "avg pool 2x2": ("avg_pool2d", 2, 0)}


def cases(side: Side) -> Iterator[Case]:
    """The images of the first stage of ResNet, batch 32."""
    values = normal(*((4, *pool2d.SHAPE[1:]) if side.quick else pool2d.SHAPE))
    for label, (function, window, padding) in POOLS.items():
        yield from _cases(side, label, function, window, padding, values)


def _cases(side: Side, label: str, function: str, window: int, padding: int, values: np.ndarray) -> Iterator[Case]:
    largest = function == "max_pool2d"
    result = (values.shape[-1] + 2 * padding - window) // 2 + 1
    upstream = normal(*values.shape[:2], result, result, seed=1)

    def prepare(library: Library) -> tuple[Any, Callable[[], Any]]:
        x, call = library.tensor(values, grad=True), getattr(library.F, function)
        return x, lambda: call(x, window, 2, padding)

    def backward(library: Library) -> Callable[[], Any]:
        x, forward = prepare(library)
        return library.backward(forward(), [x], library.tensor(upstream))

    def exact() -> np.ndarray:
        windows = pool2d.windows(values[PART].astype(np.float64), window, padding, -np.inf if largest else 0.0)
        return windows.max((-1, -2)) if largest else windows.mean((-1, -2))

    traffic = values.nbytes + upstream.nbytes * (3 if largest else 1)  # with the indices of the maxima, int64
    yield target(side, f"{label} forward", FORWARD, lambda library: prepare(library)[1], bytes=traffic, exact=exact,
                 part=PART)
    yield target(side, f"{label} backward", BACKWARD, backward, bytes=traffic,
                 exact=lambda: pool2d.gradient(upstream[PART].astype(np.float64), values[PART], window, padding, largest),
                 part=PART)
