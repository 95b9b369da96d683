"""Elements chosen by index, by mask and by order. Rows without targets, of the whole library on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

_RNG = np.random.default_rng(0)
INDICES = _RNG.integers(0, 1024, (1024, 256))
MASK = _RNG.random((1024, 1024)) > 0.5

#: label -> what is computed of `x` (1024, 1024), the indices, the mask and the library, and the same in NumPy
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "gather": (lambda x, i, m, lib: x.gather(1, i), lambda x, i, m: np.take_along_axis(x, i, 1)),
    "scatter_add": (lambda x, i, m, lib: x.scatter_add(1, i, x[:, :256]), lambda x, i, m: _scatter_add(x, i)),
    "embedding_bag": (lambda x, i, m, lib: lib.nn.functional.embedding_bag(i[:, :16], x, mode="sum"),
                      lambda x, i, m: x[i[:, :16]].sum(1)),
    "bincount": (lambda x, i, m, lib: lib.bincount(i.reshape(-1)), lambda x, i, m: np.bincount(i.reshape(-1))),
    "where": (lambda x, i, m, lib: lib.where(m, x, 0.0), lambda x, i, m: np.where(m, x, np.float32(0))),
    "x > 0.5": (lambda x, i, m, lib: x > 0.5, lambda x, i, m: x > np.float32(0.5)),
    "mask & ~mask": (lambda x, i, m, lib: m & ~m, lambda x, i, m: m & ~m),
    "maximum of indices": (lambda x, i, m, lib: lib.maximum(i, i), lambda x, i, m: np.maximum(i, i)),
    "x[mask]": (lambda x, i, m, lib: x[m], lambda x, i, m: x[m]),
    "sort": (lambda x, i, m, lib: x.sort(1).values, lambda x, i, m: np.sort(x, 1)),
    "topk 10": (lambda x, i, m, lib: x.topk(10, 1).values, lambda x, i, m: -np.sort(np.partition(-x, 9, 1)[:, :10], 1)),
    "topk 50": (lambda x, i, m, lib: x.topk(50, 1).values, lambda x, i, m: -np.sort(np.partition(-x, 49, 1)[:, :50], 1)),
    "cummax": (lambda x, i, m, lib: x.cummax(1).values, lambda x, i, m: np.maximum.accumulate(x, 1)),
}


def cases(side: Side) -> Iterator[Case]:
    """The calls on a matrix of floats."""
    for label in list(CALLS)[:2] if side.quick else CALLS:
        yield _case(side, label, *CALLS[label])


def _case(side: Side, label: str, call: Callable[..., Any], in_numpy: Callable[..., Any]) -> Case:
    values = normal(1024, 1024)

    def build(library: Library) -> Callable[[], Any]:
        x, indices, mask = (library.tensor(array) for array in (values, INDICES, MASK))
        return lambda: call(x, indices, mask, library.lib)

    return target(side, f"{label} of 1024x1024", None, build, numpy=lambda: lambda: in_numpy(values, INDICES, MASK),
                  bytes=2 * values.nbytes, exact=lambda: in_numpy(values, INDICES, MASK))


def _scatter_add(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    result = x.copy()
    np.add.at(result, (np.arange(len(x))[:, None], indices), x[:, : indices.shape[1]])
    return result
