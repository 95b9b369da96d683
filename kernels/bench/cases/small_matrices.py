"""Stacks of many small matrices: inverses, linear systems, determinants, products; and a few, forward and backward.

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
#: Functions whose gradients are measured too, and of how many matrices of how many rows.
FEW = ("det", "solve", "inv", "cholesky", "qr", "eigh")
SPECTRA = ("eigvalsh", "svdvals")
FEW_SHAPES = {"1x4x4": (1, 4), "100x4x4": (100, 4), "1x64x64": (1, 64)}


def cases(side: Side) -> Iterator[Case]:
    """Each function for each shape; gradients and spectra of few matrices."""
    for size in list(SHAPES)[:1] if side.quick else SHAPES:
        for name in CALLS:
            yield _case(side, name, size)
    for size in list(FEW_SHAPES)[:1] if side.quick else FEW_SHAPES:
        for name in FEW:
            yield _gradient(side, name, size)
        for name in SPECTRA:
            yield _spectrum(side, name, size)


def _spectrum(side: Side, name: str, size: str) -> Case:
    count, rows = FEW_SHAPES[size]
    a = normal(count, rows, rows)
    a = a @ a.swapaxes(-1, -2)

    def build(library: Library) -> Callable[[], Any]:
        function, matrices = getattr(library.lib.linalg, name), library.tensor(a)
        return lambda: function(matrices)

    def exact() -> Any:
        values = np.linalg.eigvalsh(a.astype("f8"))
        return values if name == "eigvalsh" else values[..., ::-1]

    return target(side, f"{name} {size}", None, build, bytes=a.nbytes, exact=exact)


def _gradient(side: Side, name: str, size: str) -> Case:
    count, rows = FEW_SHAPES[size]
    a, b = normal(count, rows, rows), normal(count, rows, 2, seed=1)
    a = a @ a.swapaxes(-1, -2) + rows * np.eye(rows, dtype="f4")

    def build(library: Library) -> Callable[[], Any]:
        function, first, second = getattr(library.lib.linalg, name), library.tensor(a, grad=True), library.tensor(b)
        operands = (first, second) if name == "solve" else (first,)

        def call() -> Any:
            first.grad = None
            result = function(*operands)
            results = list(result) if isinstance(result, tuple) else [result]
            library.lib.autograd.backward(results, [r.detach() for r in results])

        return call

    return target(side, f"{name} {size} forward and backward", None, build, bytes=2 * a.nbytes)


def _case(side: Side, name: str, size: str) -> Case:
    count, rows = SHAPES[size]
    a, b = normal(count, rows, rows) + 3 * np.eye(rows, dtype="f4"), normal(count, rows, 1, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        function, first, second = getattr(library.lib.linalg, name), library.tensor(a), library.tensor(b)
        operands = {"solve": (first, second), "matmul": (first, first)}.get(name, (first,))
        return lambda: function(*operands)

    return target(side, f"{name} {size}", None, build, numpy=lambda: lambda: CALLS[name](a, b), bytes=2 * a.nbytes,
                  exact=lambda: CALLS[name](a.astype("f8"), b.astype("f8")))
