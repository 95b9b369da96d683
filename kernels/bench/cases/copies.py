"""Copies of permuted and joined arrays, as attention heads and images with their channels last need them.

Rows without targets, of the whole library on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

#: label -> (shape, permutation) of a contiguous copy
PERMUTED = {
    "heads 8x512x8x64": ((8, 512, 8, 64), (0, 2, 1, 3)),
    "channels last 32x64x56x56": ((32, 64, 56, 56), (0, 2, 3, 1)),
    "channels first 32x56x56x64": ((32, 56, 56, 64), (0, 3, 1, 2)),
    "channels first 32x224x224x3": ((32, 224, 224, 3), (0, 3, 1, 2)),
    "transpose 2048x2048": ((2048, 2048), (1, 0)),
    "reversed 64x64x64x32": ((64, 64, 64, 32), (3, 2, 1, 0)),
}


def cases(side: Side) -> Iterator[Case]:
    """Contiguous copies, a copy of a contiguous array, arrays joined, padded and filled ones, slices by index, the gradient of
    differences of neighbours, which adds parts that overlap, and the sum of a part with gaps.
    """
    for label, (shape, axes) in list(PERMUTED.items())[:1] if side.quick else PERMUTED.items():
        values = normal(*shape)
        yield _case(side, f"{label} contiguous", values, _permuted(axes), _permuted_in_numpy(axes))
    if not side.quick:
        images = normal(32, 32, 56, 56)
        yield _case(side, "clone 32x32x56x56", images, lambda library, x: x.clone(), np.copy)
        yield _case(side, "cat 2 of 32x32x56x56", images, lambda library, x: library.lib.cat([x, x], 1),
                    lambda x: np.concatenate([x, x], 1))
        rows = normal(64, 16384)
        yield _case(side, "cat 64 of 16384", rows, lambda library, x: library.lib.cat(list(x)), lambda x: np.concatenate(list(x)))
        planes = normal(16, 16, 64, 64)
        for mode, name in {"constant": "constant", "reflect": "reflect", "circular": "wrap"}.items():
            yield _case(side, f"pad 2 {mode} 16x16x64x64", planes,
                        lambda library, x, mode=mode: library.F.pad(x, (2, 2, 2, 2), mode=mode),
                        lambda x, name=name: np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)), name))
        yield _case(side, "expand 2048x1024", normal(2048, 1), lambda library, x: x.expand(2048, 1024).contiguous(),
                    lambda x: np.repeat(x, 1024, 1), read=0)
        yield _selection(side, normal(2048, 1024))
        yield _differences(side, normal(2048, 1024))
        yield _sum_of_part(side, normal(2048, 1024))


def _selection(side: Side, values: np.ndarray) -> Case:
    places = np.random.default_rng(0).integers(0, len(values), 2 * len(values))

    def build(library: Library) -> Callable[[], Any]:
        x, index = library.tensor(values), library.tensor(places)
        return lambda: x[index]

    return target(side, "select 4096 of 2048x1024", None, build, numpy=lambda: lambda: values[places], bytes=4 * values.nbytes,
                  exact=lambda: values[places])


def _differences(side: Side, values: np.ndarray) -> Case:
    """The gradient of x[:, 1:] - x[:, :-1]."""
    g = normal(len(values), values.shape[1] - 1, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values, grad=True)
        return library.backward(x[:, 1:] - x[:, :-1], [x], library.tensor(g))

    return target(side, "differences 2048x1024 gradient", None, build, bytes=2 * values.nbytes,
                  exact=lambda: np.pad(g.astype(float), ((0, 0), (1, 0))) - np.pad(g.astype(float), ((0, 0), (0, 1))))


def _sum_of_part(side: Side, values: np.ndarray) -> Case:
    part = values[:, 1:-1]

    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values)[:, 1:-1]
        return lambda: x.sum()

    return target(side, "sum of a part 2048x1022", None, build, numpy=lambda: lambda: part.sum(), bytes=part.nbytes,
                  exact=lambda: part.sum(dtype=float))


def _permuted(axes: tuple[int, ...]) -> Callable[[Library, Any], Any]:
    return lambda library, x: x.permute(axes).contiguous()


def _permuted_in_numpy(axes: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.ascontiguousarray(x.transpose(axes))


def _case(side: Side, label: str, values: np.ndarray, call: Callable[[Library, Any], Any],
          in_numpy: Callable[[np.ndarray], np.ndarray], read: int = 1) -> Case:
    """`read`: the numbers read for each one written."""
    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values)
        return lambda: call(library, x)

    return target(side, label, None, build, numpy=lambda: lambda: in_numpy(values), bytes=(1 + read) * in_numpy(values).nbytes,
                  exact=lambda: in_numpy(values))
