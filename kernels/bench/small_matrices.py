"""Stacks of many small matrices: inverses, linear systems, determinants, products.

Rows without targets, of the whole library on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

#: the function of `linalg` -> the same in NumPy, of a (n, k, k) and b (n, k, 1)
CALLS: dict[str, Callable[..., Any]] = {"inv": lambda a, b: np.linalg.inv(a), "solve": np.linalg.solve,
                                        "det": lambda a, b: np.linalg.det(a), "matmul": lambda a, b: np.matmul(a, a)}
SHAPES = {"10000x3x3": (10000, 3), "2000x8x8": (2000, 8)}


def cases(side: Side) -> Iterator[Case]:
    """Each function for each shape."""
    for size in list(SHAPES)[:1] if side.quick else SHAPES:
        for name in CALLS:
            yield _case(side, name, size)


def _case(side: Side, name: str, size: str) -> Case:
    count, rows = SHAPES[size]
    a, b = normal(count, rows, rows) + 3 * np.eye(rows, dtype="f4"), normal(count, rows, 1, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        function, first, second = getattr(library.lib.linalg, name), library.tensor(a), library.tensor(b)
        operands = {"solve": (first, second), "matmul": (first, first)}.get(name, (first,))
        return lambda: function(*operands)

    return target(side, f"{name} {size}", None, build, numpy=lambda: lambda: CALLS[name](a, b), bytes=2 * a.nbytes,
                  exact=lambda: CALLS[name](a.astype("f8"), b.astype("f8")))
