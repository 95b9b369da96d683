"""Running sums along each axis. Rows without targets, of the whole library on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target


def cases(side: Side) -> Iterator[Case]:
    """Of a matrix, and of one long row."""
    for shape in ((200, 400), (70_000,)) if side.quick else ((2048, 2048), (1 << 22,)):
        for axis in range(len(shape)):
            yield _case(side, f"cumsum over axis {axis}, {'x'.join(map(str, shape))}", normal(*shape), axis)


def _case(side: Side, label: str, values: np.ndarray, axis: int) -> Case:
    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values)
        return lambda: library.lib.cumsum(x, axis)

    return target(side, label, None, build, numpy=lambda: lambda: np.cumsum(values, axis), bytes=2 * values.nbytes,
                  exact=lambda: np.cumsum(values.astype(np.float64), axis))
