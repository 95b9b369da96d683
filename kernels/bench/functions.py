"""Divisions with rest, distances, products and other functions that no target is set for, activations of small tensors, and
attention of one query.

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
    yield _next_word(side, keys=1024)


def _case(side: Side, label: str, length: int, call: Callable[..., Any], in_numpy: Callable[..., Any]) -> Case:
    x, y = normal(length), normal(length, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        ours, others = library.tensor(x), library.tensor(y)
        return lambda: call(library.lib, ours, others)

    return target(side, label, None, build, numpy=lambda: lambda: in_numpy(x, y), bytes=3 * x.nbytes,
                  exact=lambda: in_numpy(x.astype(np.float64), y.astype(np.float64)))


def _next_word(side: Side, keys: int) -> Case:
    """Attention of one query in 8 heads of width 64, as for each further word of a text."""
    arrays = [normal(1, 8, length, 64, seed=seed) for seed, length in enumerate((1, keys, keys))]

    def build(library: Library) -> Callable[[], Any]:
        q, k, v = (library.tensor(array) for array in arrays)
        return lambda: library.F.scaled_dot_product_attention(q, k, v)

    return target(side, f"attention of one query, {keys} keys", None, build, numpy=lambda: lambda: _attention(*arrays),
                  bytes=sum(array.nbytes for array in arrays),
                  exact=lambda: _attention(*(array.astype(np.float64) for array in arrays)))


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.dtype.type(q.shape[3]))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def _huber(difference: np.ndarray) -> np.ndarray:
    distance = np.abs(difference)
    return np.mean(np.where(distance <= 1, difference * difference / 2, distance - 0.5))
