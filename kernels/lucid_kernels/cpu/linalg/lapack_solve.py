"""LU factorization, linear systems and triangles for stacks of matrices, by the LAPACK and BLAS inside NumPy's wheel.

NumPy itself has no LU factorization and no triangular solver, and eliminating with array operations takes ten times as long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.layout import Array, contiguous
from ..arrays.strided_copy import copy
from ..runtime.jit import jit_exact
from .lapack_calls import LETTERS, Argument, available, letter, routine, run

_BLOCK = 64  # columns that LAPACK handles at a time, if its workspace is that large

__all__ = ["available", "inverse", "lu_factor", "lu_permutation", "solve", "solve_triangular"]


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    """getrf with partial pivoting for matrices (..., m, n) of float32, float64, complex64 or complex128.

    L below the diagonal and U, laid out by columns; the rows that were swapped, from 1, int32 (..., k), k = min(m, n); and the
    number of the first pivot that is zero, or 0, int32 (...).
    """
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    k, count = min(rows, columns), math.prod(batch)
    by_columns = copy(a.swapaxes(-1, -2))
    getrf, integer = routine(LETTERS[a.dtype.char] + "getrf_")
    pivots, info = np.empty((*batch, k), integer), np.zeros(batch, integer)
    if by_columns.size:
        m, n = np.array(rows, integer), np.array(columns, integer)
        run(getrf, [(m, 0), (n, 0), (by_columns, rows * columns * a.itemsize), (m, 0), (pivots, k * integer.itemsize),
                    (info, integer.itemsize)], count, rows * columns * k)  # fmt: skip
    return by_columns.swapaxes(-1, -2), pivots.astype(np.int32), info.astype(np.int32)


def solve(a: Array, b: Array) -> tuple[Array, Array]:
    """gesv: X with ``a @ X = b`` for matrices (..., n, n) and (..., n, k) of one batch and dtype, and the number of the first
    pivot that is zero, or 0, int32 (...). The solution of such a system is NaN.
    """
    batch, (n, columns), count = b.shape[:-2], b.shape[-2:], b.size // (b.shape[-1] * b.shape[-2])
    matrices, x = copy(a.swapaxes(-1, -2)), copy(b.swapaxes(-1, -2))
    gesv, integer = routine(LETTERS[a.dtype.char] + "gesv_")
    pivots, info = np.empty((*batch, n), integer), np.zeros(batch, integer)
    order, k, work = np.array(n, integer), np.array(columns, integer), n * n * (n // 3 + columns)
    run(gesv, [(order, 0), (k, 0), (matrices, n * n * a.itemsize), (order, 0), (pivots, n * integer.itemsize),
               (x, n * columns * a.itemsize), (order, 0), (info, integer.itemsize)], count, work)  # fmt: skip
    if info.any():
        x[info != 0] = np.nan
    return contiguous(x.swapaxes(-1, -2)), info.astype(np.int32)


def inverse(a: Array) -> tuple[Array, Array]:
    """getri: the inverses of matrices (..., n, n), NaN of singular ones, and the info of `lu_factor`, int32 (...)."""
    compact, pivots, info = lu_factor(a)
    by_columns, n = compact.swapaxes(-1, -2), a.shape[-1]
    getri, integer = routine(LETTERS[a.dtype.char] + "getri_")
    pivots, order, ignored = pivots.astype(integer), np.array(n, integer), np.empty(info.shape, integer)
    size = _BLOCK * n
    run(getri, [(order, 0), (by_columns, n * n * a.itemsize), (order, 0), (pivots, n * integer.itemsize),
                (a.dtype, size), (np.array(size, integer), 0), (ignored, integer.itemsize)],
        a.size // (n * n), n * n * n)  # fmt: skip
    if info.any():
        by_columns[info != 0] = np.nan
    return contiguous(compact), info


@jit_exact
def _swap(pivots: Any, order: Any) -> None:
    rows = order.shape[1]
    for matrix in range(order.shape[0]):
        for i in range(rows):
            order[matrix, i] = i
        for i in range(pivots.shape[1]):
            other = (pivots[matrix, i] - 1) % rows
            kept = order[matrix, i]
            order[matrix, i] = order[matrix, other]
            order[matrix, other] = kept


def lu_permutation(pivots: Array, *, rows: int) -> Array:
    """The order, int64 (..., rows), that swaps `pivots` (..., k), from 1 and modulo `rows`, bring rows into."""
    batch = pivots.shape[:-1]
    order = np.empty((*batch, rows), np.int64)
    if order.size:
        count = order.size // rows
        _swap(pivots.astype(np.int64).reshape(count, pivots.shape[-1]), order.reshape(count, rows))
    return order


def _memory(t: Array) -> tuple[Array, bool, int, int]:
    """A stack (count, n, n) as trsm reads it: the stack or a copy, whether rows are dense, their distance, that of matrices."""
    item, n = t.itemsize, t.shape[-1]
    for by_rows in (True, False):
        distance, step = (t.strides[1], t.strides[2]) if by_rows else (t.strides[2], t.strides[1])
        if (step == item or n == 1) and distance >= n * item and distance % item == 0:
            return t, by_rows, distance // item, t.strides[0]
    t = np.ascontiguousarray(t)
    return t, True, n, n * n * item


def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """X with ``t @ X = b`` for triangles (..., n, n) and (..., n, k) of one batch and dtype; zeros on the diagonal give inf and
    NaN. The rest of `t` is not read, nor with `unitriangular` its diagonal.
    """
    x = b.copy(order="C")
    if not x.size:
        return x
    n, columns = x.shape[-2:]
    trsm, integer = routine(LETTERS[t.dtype.char] + "trsm_")
    t, by_rows, distance, step = _memory(t.reshape(-1, n, n))
    # Row by row, X and t are their own transposes to Fortran, and it is X^T t^T = b^T that it solves.
    flags = map(letter, "R" + ("U" if by_rows != upper else "L") + ("N" if by_rows else "T") + ("U" if unitriangular else "N"))
    m, k, lda = np.array(n, integer), np.array(columns, integer), np.array(distance, integer)
    one = np.ones(1, x.dtype)
    arguments: list[Argument] = [*[(flag, 0) for flag in flags], (k, 0), (m, 0), (one, 0), (t, step), (lda, 0),
                 (x, n * columns * x.itemsize), (k, 0)]  # fmt: skip
    run(trsm, arguments, x.size // (n * columns), n * n * columns)
    return x
