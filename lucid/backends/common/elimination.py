"""Gaussian elimination for stacks of matrices, of array operations that NumPy and CuPy share: neither module has a batched LU
factorization, nor a triangular solver.

The loops run over columns and rows, never over the batch; what they leave are products of matrices (the right-looking LU and
the recursive substitution of Golub and Van Loan, "Matrix computations", 2013, sections 3.1 and 3.2).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]

PANEL = 32  # columns that are eliminated one by one, between products of matrices
SUBSTITUTED = 16  # rows that are substituted one by one


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    def size(x: Array) -> Array:
        """What LAPACK compares to choose a pivot: of a complex number |re| + |im|."""
        return xp.abs(x) if x.dtype.kind != "c" else xp.abs(x.real) + xp.abs(x.imag)

    def swap(array: Array, batch: Array, row: int, other: Array) -> None:
        kept = array[:, row].copy()
        array[:, row] = array[batch, other]
        array[batch, other] = kept

    def lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
        """LAPACK's getrf for matrices (..., m, n): L below the diagonal and U, the row that each of the k = min(m, n) columns
        swaps its own with (..., k), from 1, and the number of the first pivot that is zero, or 0 (...).
        """
        rows, columns = a.shape[-2:]
        k = min(rows, columns)
        batch_shape = a.shape[:-2]
        lu = xp.ascontiguousarray(a).reshape(-1, rows, columns).copy() if a.size else xp.zeros((0, rows, columns), a.dtype)
        batch = xp.arange(lu.shape[0])
        pivots = xp.empty((lu.shape[0], k), np.int32)
        pivots[...] = xp.arange(1, k + 1)
        for start in range(0, k if lu.size else 0, PANEL):
            stop = min(start + PANEL, k)
            panel = lu[:, start:, start:stop].swapaxes(1, 2).copy()  # dense columns: half the time at 512 x 512
            by_rows = panel.swapaxes(1, 2)
            for i in range(stop - start):
                if pivot:
                    best = size(panel[:, i, i:]).argmax(1) + i
                    pivots[:, start + i] = best + start + 1
                    swap(by_rows, batch, i, best)
                    swap(lu, batch, start + i, best + start)
                diagonal = panel[:, i, i]
                panel[:, i, i + 1:] /= xp.where(diagonal == 0, xp.ones_like(diagonal), diagonal)[:, None]
                panel[:, i + 1:, i + 1:] -= panel[:, i + 1:, i, None] * panel[:, i, None, i + 1:]
            lu[:, start:, start:stop] = by_rows
            if stop < columns:
                right = lu[:, start:stop, stop:]
                substitute(lu[:, start:stop, start:stop], right, lower=True, unit=True)
                lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ right
        if not lu.size:  # no matrix, or empty ones
            return (xp.zeros(a.shape, a.dtype), xp.zeros((*batch_shape, k), np.int32), xp.zeros(batch_shape, np.int32))
        steps = xp.arange(k)
        zero = lu[:, steps, steps] == 0
        info = xp.where(zero.any(1), zero.argmax(1) + 1, 0).astype(np.int32)
        return lu.reshape(a.shape), pivots.reshape(*batch_shape, k), info.reshape(batch_shape)

    def lu_permutation(pivots: Array, *, rows: int) -> Array:
        """The order that the swaps of `lu_factor` bring the rows into: `A[order]` is L U. Pivots are taken modulo `rows`."""
        flat = (pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).astype(np.int64) - 1) % max(rows, 1)
        batch = xp.arange(flat.shape[0])
        order = xp.empty((flat.shape[0], rows), np.int64)
        order[...] = xp.arange(rows)
        for j in range(flat.shape[1]):
            swap(order, batch, j, flat[:, j])
        return order.reshape(*pivots.shape[:-1], rows)

    def substitute(t: Array, x: Array, *, lower: bool, unit: bool) -> None:
        """Solve ``t @ y = x`` in the memory of `x`. Elements of `t` on the other side of the diagonal are not read."""
        n = t.shape[-1]
        if n > SUBSTITUTED:
            half = n // 2
            first, second = (slice(half), slice(half, n)) if lower else (slice(half, n), slice(half))
            substitute(t[..., first, first], x[..., first, :], lower=lower, unit=unit)
            x[..., second, :] -= t[..., second, first] @ x[..., first, :]
            substitute(t[..., second, second], x[..., second, :], lower=lower, unit=unit)
            return
        for i in range(n) if lower else reversed(range(n)):
            known = slice(i) if lower else slice(i + 1, n)
            x[..., i:i + 1, :] -= t[..., i:i + 1, known] @ x[..., known, :]
            if not unit:
                x[..., i, :] /= t[..., i, i, None]

    def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
        """X with ``t @ X = b`` for triangles (..., n, n) and (..., n, k) of one batch; zeros on the diagonal give inf and NaN."""
        x = xp.ascontiguousarray(b).reshape(b.shape).copy()
        if x.size:
            substitute(t, x, lower=not upper, unit=unitriangular)
        return x

    return {"lu_factor": lu_factor, "lu_permutation": lu_permutation, "solve_triangular": solve_triangular}
