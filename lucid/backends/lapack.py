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
_REAL = (np.dtype(np.float32), np.dtype(np.float64))
_SMALL_ROWS = 8  # LAPACK is faster with more
_MANY = 1 << 12  # elements; Numba is imported with the first stack of as many


def table() -> dict[str, Kernel]:
    """The operations of `linear_algebra` on NumPy."""
    entries = linear_algebra.table(np)
    plain = entries.copy()

    def lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
        """LAPACK's getrf; by elimination without pivots, which LAPACK does not offer."""
        kernels = _kernels() if pivot else None
        return kernels.lu_factor(a) if kernels else plain["lu_factor"](a, pivot=pivot)

    def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
        """BLAS's trsm."""
        solve = getattr(_kernels(), "solve_triangular", plain["solve_triangular"])
        return solve(t, b, upper=upper, unitriangular=unitriangular)

    def det(a: Array) -> Array:
        """The product of the pivots: NumPy's det is the exponential of the sum of their logarithms, and less exact."""
        if _are_small(a):
            return _small_kernels().determinants(a)
        compact, pivots, _ = lu_factor(a, pivot=True)
        swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
        with np.errstate(all="ignore"):
            product = np.diagonal(compact, axis1=-2, axis2=-1).prod(-1)
        return np.asarray(np.where(swaps % 2, -product, product))

    def solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
        """NumPy's, or by our kernel for many small matrices."""
        if _are_small(a) and 0 < b.shape[-1] <= _SMALL_ROWS and b.dtype == a.dtype:
            return _small_kernels().solve(a, b)
        return plain["solve_ex"](a, b)

    def inv_ex(a: Array) -> tuple[Array, Array]:
        """NumPy's, or by our kernel for many small matrices."""
        return _small_kernels().solve(a, None) if _are_small(a) else plain["inv_ex"](a)

    def lu_permutation(pivots: Array, *, rows: int) -> Array:
        """The order of rows, by a compiled loop."""
        from lucid_kernels.cpu import lapack

        return lapack.lu_permutation(pivots, rows=rows)

    entries |= {function.__name__: function for function in (lu_factor, solve_triangular, solve_ex, inv_ex, det, lu_permutation)}
    return {name: _on_one_thread(kernel) for name, kernel in entries.items()}


def _are_small(a: Array) -> bool:
    """Whether these are so many small matrices that several are eliminated at a time."""
    return a.shape[-1] <= _SMALL_ROWS and a.size >= _MANY and a.dtype in _REAL


def _small_kernels() -> Any:
    from lucid_kernels.cpu import small_matrices

    return small_matrices


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
