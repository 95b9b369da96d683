"""Eigenvalues of symmetric matrices of a few rows, and singular values of float32 ones, without vectors, in float64.

Householder's reflections make a matrix tridiagonal, implicit QR steps with Wilkinson's shift then diagonal (Golub and Van Loan,
"Matrix computations", 2013, algorithms 8.3.1 and 8.3.2). NumPy's functions take 3 us longer to be called, and twice as long for
stacks of matrices of 4 rows.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array
from ..runtime.jit import jit, jit_exact, jit_parallel
from .small_decompositions import add_multiple, matrices, share

_STEPS = 60  # for each row; two or three are usual
_STEP = 250  # multiply-adds in whose time the steps for one row are done, each of which waits for the one before


@jit
def _reflect_row(work: Any, k: int, vector: Any, product: Any) -> float:
    """Make zeros of what lies right of the second diagonal in row k of a symmetric matrix, from both sides; what becomes of the
    element on it.
    """
    n, total = work.shape[0], 0.0
    for i in range(k + 2, n):
        total += work[k, i] * work[k, i]
    first = work[k, k + 1]
    if total == 0:
        return first
    size = np.sqrt(first * first + total)
    factor = 1 / (size * (size + abs(first)))
    for i in range(k + 1, n):
        vector[i] = work[k, i]
    vector[k + 1] += np.copysign(size, first)
    along = 0.0
    for i in range(k + 1, n):
        row, inner = work[i], 0.0
        for j in range(k + 1, n):
            inner += row[j] * vector[j]
        product[i] = factor * inner
        along += product[i] * vector[i]
    for i in range(k + 1, n):
        product[i] -= factor / 2 * along * vector[i]
    for i in range(k + 1, n):
        add_multiple(work[i], -vector[i], product, k + 1)
        add_multiple(work[i], -product[i], vector, k + 1)
    return -np.copysign(size, first)


@jit_exact
def _chase(diagonal: Any, beside: Any, first: int, last: int) -> None:
    """One step for rows first to last, which no zero beside the diagonal separates."""
    half, edge = (diagonal[last - 1] - diagonal[last]) / 2, beside[last - 1]
    shift = diagonal[last] - edge * edge / (half + np.copysign(np.hypot(half, edge), half))
    x, z = diagonal[first] - shift, beside[first]
    for k in range(first, last):
        size = np.sqrt(x * x + z * z)
        c, s = (x / size, z / size) if size > 0 else (1.0, 0.0)
        if k > first:
            beside[k - 1] = size
        upper, lower, between = diagonal[k], diagonal[k + 1], beside[k]
        change = s * (2 * c * between + s * (lower - upper))  # the trace stays
        diagonal[k] = upper + change
        diagonal[k + 1] = lower - change
        beside[k] = c * s * (lower - upper) + (c * c - s * s) * between
        if k < last - 1:
            x, z = beside[k], s * beside[k + 1]
            beside[k + 1] *= c


@jit_exact
def _eigenvalues(work: Any, beside: Any, vector: Any, product: Any, values: Any) -> bool:
    """The rising eigenvalues of `work`, which is changed; False where they are not found, as of matrices with NaN."""
    n, largest = work.shape[0], 0.0
    for i in range(n):
        for j in range(n):
            size = abs(work[i, j])
            if not size < np.inf:
                return False
            largest = max(largest, size)
    scale = largest if largest > 1e100 or 0 < largest < 1e-100 else 1.0  # so that squares are numbers of float64
    for i in range(n):
        for j in range(n):
            work[i, j] /= scale
    for k in range(n - 1):
        beside[k] = _reflect_row(work, k, vector, product)
    for i in range(n):
        values[i] = work[i, i]
    last, steps = n - 1, 0
    while last > 0:
        first = last
        while first > 0 and abs(beside[first - 1]) > 2.0**-53 * (abs(values[first - 1]) + abs(values[first])):
            first -= 1
        if first == last:
            last -= 1
            continue
        steps += 1
        if steps > _STEPS * n:
            return False
        _chase(values, beside, first, last)
    for i in range(n):
        value, place = values[i] * scale, i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    return True


@jit_exact
def _eigvalsh_of_some(a: Any, upper: bool, first: int, last: int, y: Any, info: Any) -> None:
    n = a.shape[1]
    work, beside, vector, product, values = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for matrix in range(first, last):
        given = a[matrix]
        for i in range(n):
            for j in range(i + 1):
                work[i, j] = work[j, i] = given[j, i] if upper else given[i, j]
        info[matrix] = 0 if _eigenvalues(work, beside, vector, product, values) else 1
        y[matrix] = values


@jit_parallel
def _eigvalsh(a: Any, upper: bool, each: int, y: Any, info: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _eigvalsh_of_some(a, upper, task * each, min(a.shape[0], (task + 1) * each), y, info)


@jit_exact
def _svdvals_of_some(x: Any, first: int, last: int, y: Any, info: Any) -> None:
    rows, columns, n = x.shape[1], x.shape[2], y.shape[1]
    work, beside, vector, product, values = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    row = np.empty(n)
    for matrix in range(first, last):
        given = x[matrix]
        work[:] = 0
        for k in range(max(rows, columns)):  # the squares of the singular values are the eigenvalues of this sum
            for i in range(n):
                row[i] = given[k, i] if rows > columns else given[i, k]
            for i in range(n):
                add_multiple(work[i], row[i], row, 0)
        info[matrix] = 0 if _eigenvalues(work, beside, vector, product, values) else 1
        for i in range(n):
            y[matrix, i] = np.sqrt(max(values[n - 1 - i], 0.0))


@jit_parallel
def _svdvals(x: Any, each: int, y: Any, info: Any) -> None:
    for task in numba.prange((x.shape[0] + each - 1) // each):
        _svdvals_of_some(x, task * each, min(x.shape[0], (task + 1) * each), y, info)


def eigvalsh(a: Array, *, uplo: str) -> tuple[Array, Array]:
    """Rising eigenvalues (..., n) of symmetric matrices, float32 or float64, of which the triangle `uplo` is read, and numbers
    that are 0 where they were found, int32 (...).
    """
    flat, n, info = matrices(a), a.shape[-1], np.empty(a.shape[:-2], np.int32)
    y = np.empty((len(flat), n), a.dtype)
    _eigvalsh(flat, uplo == "U", share(4 * n**3 + _STEP * n), y, info.reshape(-1))
    return y.reshape(a.shape[:-1]), info


def svdvals(x: Array) -> tuple[Array, Array]:
    """Falling singular values (..., min(m, n)) of float32 matrices (..., m, n), and numbers as of `eigvalsh`.

    They are the roots of eigenvalues, of which float64 holds as many digits as float32 has of the largest value: 1e-8 of it.
    """
    flat, n, info = matrices(x), min(x.shape[-2:]), np.empty(x.shape[:-2], np.int32)
    y = np.empty((len(flat), n), x.dtype)
    _svdvals(flat, share(4 * n * n * max(x.shape[-2:]) + _STEP * n), y, info.reshape(-1))
    return y.reshape(*x.shape[:-2], n), info
