"""Operations of linear algebra on a CPU: by the LAPACK inside NumPy's wheel where NumPy offers less than it has.

Its threads are kept out: they spin after a call on the cores that kernels need, and up to 512 x 512 one thread is as fast as two.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import blas

from . import linear_algebra

Array = np.ndarray
Kernel = Callable[..., Any]


def table() -> dict[str, Kernel]:
    """The operations of `linear_algebra` on NumPy."""
    entries = linear_algebra.table(np)
    by_elimination = {name: entries[name] for name in ("lu_factor", "solve_triangular")}

    def lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
        """LAPACK's getrf; by elimination without pivots, which LAPACK does not offer."""
        kernels = _kernels() if pivot else None
        return kernels.lu_factor(a) if kernels else by_elimination["lu_factor"](a, pivot=pivot)

    def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
        """BLAS's trsm."""
        solve = getattr(_kernels(), "solve_triangular", by_elimination["solve_triangular"])
        return solve(t, b, upper=upper, unitriangular=unitriangular)

    def det(a: Array) -> Array:
        """The product of the pivots: NumPy's det is the exponential of the sum of their logarithms, and less exact."""
        compact, pivots, _ = lu_factor(a, pivot=True)
        swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
        with np.errstate(all="ignore"):
            product = np.diagonal(compact, axis1=-2, axis2=-1).prod(-1)
        return np.asarray(np.where(swaps % 2, -product, product))

    def lu_permutation(pivots: Array, *, rows: int) -> Array:
        """The order of rows, by a compiled loop."""
        from lucid_kernels.cpu import lapack

        return lapack.lu_permutation(pivots, rows=rows)

    entries |= {function.__name__: function for function in (lu_factor, solve_triangular, det, lu_permutation)}
    return {name: _on_one_thread(kernel) for name, kernel in entries.items()}


@functools.cache
def _kernels() -> Any:
    """The kernels, which import Numba; None where NumPy has another LAPACK."""
    from lucid_kernels.cpu import lapack

    return lapack if lapack.available() else None


def _on_one_thread(kernel: Kernel) -> Kernel:
    @functools.wraps(kernel)
    def run(*arrays: Array, **attributes: Any) -> Any:
        with blas.one_thread:
            return kernel(*arrays, **attributes)

    return run
