"""Divisions with rest, distances, products and other functions that no target is set for, and activations of small tensors.

Rows without targets, of the whole library on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

LENGTHS = {"1k": 1000, "100k": 100_000, "4M": 4_000_000}
Call = tuple[Callable[..., Any], Callable[..., Any]]

#: label -> what is computed of `x` and `y` (n,) with the library, and the same in NumPy
PAIRS: dict[str, Call] = {
    "fmod": (lambda lib, x, y: lib.fmod(x, y), np.fmod),
    "remainder": (lambda lib, x, y: x % y, np.remainder),
    "floor_divide": (lambda lib, x, y: x // y, np.floor_divide),
    "hypot": (lambda lib, x, y: lib.hypot(x, y), np.hypot),
    "hardswish": (lambda lib, x, y: lib.nn.functional.hardswish(x), lambda x, y: x * np.clip(x / 6 + 0.5, 0, 1)),
    "elu": (lambda lib, x, y: lib.nn.functional.elu(x), lambda x, y: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "elu float64": (lambda lib, x, y: lib.nn.functional.elu(x.double()),
                    lambda x, y: np.where(x > 0, x, np.expm1(np.minimum(x, 0))).astype("f8")),
    "logaddexp2": (lambda lib, x, y: lib.logaddexp2(x, y), np.logaddexp2),
    "nextafter": (lambda lib, x, y: lib.nextafter(x, y), np.nextafter),
    "huber_loss": (lambda lib, x, y: lib.nn.functional.huber_loss(x, y), lambda x, y: _huber(x - y)),
    "prod": (lambda lib, x, y: (x * 0 + 1).prod(), lambda x, y: np.prod(x * 0 + 1)),
    "nansum": (lambda lib, x, y: lib.nansum(x), lambda x, y: np.nansum(x)),
    "max": (lambda lib, x, y: x.max(), lambda x, y: x.max()),
}


def cases(side: Side) -> Iterator[Case]:
    """Each function, at each length."""
    for size, length in list(LENGTHS.items())[:2] if side.quick else LENGTHS.items():
        for name, (call, in_numpy) in PAIRS.items():
            yield _case(side, f"{name} {size}", length, call, in_numpy)


def _case(side: Side, label: str, length: int, call: Callable[..., Any], in_numpy: Callable[..., Any]) -> Case:
    x, y = normal(length), normal(length, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        ours, others = library.tensor(x), library.tensor(y)
        return lambda: call(library.lib, ours, others)

    return target(side, label, None, build, numpy=lambda: lambda: in_numpy(x, y), bytes=3 * x.nbytes,
                  exact=lambda: in_numpy(x.astype(np.float64), y.astype(np.float64)))


def _huber(difference: np.ndarray) -> np.ndarray:
    distance = np.abs(difference)
    return np.mean(np.where(distance <= 1, difference * difference / 2, distance - 0.5))
