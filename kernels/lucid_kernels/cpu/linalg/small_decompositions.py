"""Determinants, systems, triangles, LU, Cholesky and QR factors of matrices of a few rows, one after the other, by rows.

A call of LAPACK takes 10 us and more from Python; these loops take 3 us for one matrix of 4 rows, and up to 32 rows no longer
than LAPACK does. Of many matrices of up to 8 rows `small_matrices` handles several at a time.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_exact, jit_parallel

# Multiply-adds of one iteration of a parallel loop: some 15 us.
_SHARE = 1 << 15


@jit_exact
def _add_multiple(row: Any, factor: Any, other: Any, start: int) -> None:
    """``row += factor * other`` from place `start` on."""
    for j in range(start, row.shape[0]):
        row[j] += factor * other[j]


@jit_exact
def _eliminate(work: Any) -> Any:
    """Make the left square of `work` (n, n + k) upper triangular, with partial pivoting, and change the right side with it.

    What is left below the diagonal is not read any more. The sign of the permutation and the number of the first pivot that is
    zero, from 1, or 0; a NaN counts as the largest pivot.
    """
    n, sign, failed = work.shape[0], 1, 0
    for k in range(n):
        best, size = k, abs(work[k, k])
        for i in range(k + 1, n):
            other = abs(work[i, k])
            if other > size or (other != other and size == size):
                best, size = i, other
        upper = work[k]
        if best != k:
            sign, lower = -sign, work[best]
            for j in range(k, work.shape[1]):
                upper[j], lower[j] = lower[j], upper[j]
        pivot = upper[k]
        if pivot == 0:
            failed = failed if failed else k + 1
            continue
        for i in range(k + 1, n):
            _add_multiple(work[i], -work[i, k] / pivot, upper, k + 1)
    return sign, failed


@jit_exact
def _substitute(work: Any) -> None:
    """Solve for the right side of what `_eliminate` leaves."""
    n = work.shape[0]
    for k in range(n - 1, -1, -1):
        line = work[k]
        pivot = line[k]
        for j in range(n, line.shape[0]):
            line[j] /= pivot
        for i in range(k):
            _add_multiple(work[i], -work[i, k], line, n)


@jit_exact
def _put_beside(work: Any, a: Any, transposed: bool) -> None:
    """The square `a`, or its transpose, into the left of `work`, and a unit matrix into its right, as far as there is one."""
    n = work.shape[0]
    for i in range(n):
        line = work[i]
        for j in range(n):
            line[j] = a[j, i] if transposed else a[i, j]
        for j in range(n, line.shape[0]):
            line[j] = 1 if j - n == i else 0


@jit_exact
def _multiply_pivots(triangle: Any, turned: int) -> Any:
    """The determinant, its sign and the logarithm of its size, from the diagonal and the sign of the permutation."""
    product, sign, logarithm = np.float64(turned), np.float64(turned), 0.0
    for k in range(triangle.shape[0]):
        pivot = np.float64(triangle[k, k])
        product *= pivot
        if not pivot > 0:
            sign = -sign if pivot < 0 else np.float64(0)  # 0 for NaN too, as in PyTorch
        logarithm += np.log(abs(pivot))
    return product, sign, logarithm


@jit_exact
def _multiply_each(triangles: Any, pivots: Any, y: Any, signs: Any, logarithms: Any) -> None:
    for matrix in range(triangles.shape[0]):
        turned = 1
        for k in range(pivots.shape[1]):
            if pivots[matrix, k] != k + 1:
                turned = -turned
        y[matrix], signs[matrix], logarithms[matrix] = _multiply_pivots(triangles[matrix], turned)


@jit_exact
def _determinants_of_some(a: Any, first: int, last: int, y: Any, signs: Any, logarithms: Any) -> None:
    n = a.shape[1]
    work = np.empty((n, n), a.dtype)
    for matrix in range(first, last):
        _put_beside(work, a[matrix], False)
        turned, _ = _eliminate(work)
        y[matrix], signs[matrix], logarithms[matrix] = _multiply_pivots(work, turned)


@jit_parallel
def _determinants(a: Any, each: int, y: Any, signs: Any, logarithms: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _determinants_of_some(a, task * each, min(a.shape[0], (task + 1) * each), y, signs, logarithms)


@jit_exact
def _solve_some(a: Any, b: Any, inverse: bool, first: int, last: int, y: Any, info: Any) -> None:
    n, columns = a.shape[1], y.shape[2]
    work, nan = np.empty((n, n + columns), a.dtype), a.dtype.type(np.nan)
    for matrix in range(first, last):
        _put_beside(work, a[matrix], False)
        if not inverse:
            work[:, n:] = b[matrix]
        _, failed = _eliminate(work)
        info[matrix] = failed
        if failed:
            y[matrix] = nan
        else:
            _substitute(work)
            y[matrix] = work[:, n:]


@jit_parallel
def _solve(a: Any, b: Any, inverse: bool, each: int, y: Any, info: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _solve_some(a, b, inverse, task * each, min(a.shape[0], (task + 1) * each), y, info)


@jit_exact
def _cholesky_of_some(a: Any, first: int, last: int, y: Any, info: Any) -> None:
    n, nan = a.shape[1], a.dtype.type(np.nan)
    work = np.empty((n, n), a.dtype)  # the transposed factor, whose rows are changed
    for matrix in range(first, last):
        given, factor, failed = a[matrix], y[matrix], 0
        for i in range(n):
            for j in range(i, n):
                work[i, j] = given[j, i]
        for k in range(n):
            line = work[k]
            if not line[k] > 0:
                failed = k + 1
                break
            pivot = np.sqrt(line[k])
            line[k] = pivot
            for j in range(k + 1, n):
                line[j] /= pivot
            for i in range(k + 1, n):
                _add_multiple(work[i], -line[i], line, i)
        info[matrix] = failed
        for i in range(n):
            for j in range(n):
                factor[i, j] = nan if failed else work[j, i] if j <= i else 0


@jit_parallel
def _cholesky(a: Any, each: int, y: Any, info: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _cholesky_of_some(a, task * each, min(a.shape[0], (task + 1) * each), y, info)


@jit_exact
def _solve_triangle(t: Any, x: Any, upper: bool, unitriangular: bool) -> None:
    n = t.shape[0]
    for step in range(n):
        k = n - 1 - step if upper else step
        row = x[k]
        for j in range(k + 1 if upper else 0, n if upper else k):
            _add_multiple(row, -t[k, j], x[j], 0)
        if not unitriangular:
            for j in range(row.shape[0]):
                row[j] /= t[k, k]


@jit_parallel
def _solve_triangles(t: Any, each: int, upper: bool, unitriangular: bool, x: Any) -> None:
    for task in numba.prange((t.shape[0] + each - 1) // each):
        for matrix in range(task * each, min(t.shape[0], (task + 1) * each)):
            _solve_triangle(t[matrix], x[matrix], upper, unitriangular)


@jit_exact
def _lu_of_one(work: Any, pivots: Any) -> int:
    """The factors in the place of a matrix, and the number of the first pivot that is zero, or 0."""
    rows, failed = work.shape[0], 0
    for k in range(pivots.shape[0]):
        best, size = k, abs(work[k, k])
        for i in range(k + 1, rows):
            other = abs(work[i, k])
            if other > size or (other != other and size == size):
                best, size = i, other
        pivots[k] = best + 1
        upper = work[k]
        if best != k:
            lower = work[best]
            for j in range(work.shape[1]):
                upper[j], lower[j] = lower[j], upper[j]
        if upper[k] == 0:
            failed = failed if failed else k + 1
            continue
        for i in range(k + 1, rows):
            work[i, k] /= upper[k]
            _add_multiple(work[i], -work[i, k], upper, k + 1)
    return failed


@jit_parallel
def _lu(work: Any, each: int, pivots: Any, info: Any) -> None:
    for task in numba.prange((work.shape[0] + each - 1) // each):
        for matrix in range(task * each, min(work.shape[0], (task + 1) * each)):
            info[matrix] = _lu_of_one(work[matrix], pivots[matrix])


@jit
def _norm_below(work: Any, k: int) -> float:
    """The norm of column k below the diagonal."""
    total, largest = 0.0, 0.0
    for i in range(k + 1, work.shape[0]):
        total += np.float64(work[i, k]) * np.float64(work[i, k])
    if 1e-280 < total < 1e280 or total != total:
        return np.sqrt(total)
    for i in range(k + 1, work.shape[0]):  # squares that float64 has not, or zeros
        largest = max(largest, abs(np.float64(work[i, k])))
    if largest == 0 or largest == np.inf:
        return largest
    total = 0.0
    for i in range(k + 1, work.shape[0]):
        total += (work[i, k] / largest) ** 2
    return largest * np.sqrt(total)


@jit_exact
def _reflect(vectors: Any, k: int, tau: Any, target: Any, start: int, sums: Any) -> None:
    """Apply ``1 - tau v v^T``, v being 1 in row k and column k of `vectors` below, to the columns of `target` from `start` on."""
    upper = target[k]
    sums[start:] = upper[start:]
    for i in range(k + 1, target.shape[0]):
        _add_multiple(sums, vectors[i, k], target[i], start)
    _add_multiple(upper, -tau, sums, start)
    for i in range(k + 1, target.shape[0]):
        _add_multiple(target[i], -tau * vectors[i, k], sums, start)


@jit_exact
def _qr_of_some(x: Any, first: int, last: int, q: Any, r: Any) -> None:
    rows, columns = x.shape[1], x.shape[2]
    count, kept, wanted = min(rows, columns), r.shape[1], q.shape[2]
    work, taus = np.empty((rows, columns), x.dtype), np.empty(count, x.dtype)
    sums, more = np.empty(columns, x.dtype), np.empty(wanted, x.dtype)
    for matrix in range(first, last):
        work[:] = x[matrix]
        for k in range(count):
            below, alpha = _norm_below(work, k), np.float64(work[k, k])
            taus[k] = 0
            if below == 0:
                continue
            beta = -np.copysign(np.hypot(alpha, below), alpha)
            taus[k] = (beta - alpha) / beta
            for i in range(k + 1, rows):
                work[i, k] = work[i, k] / (alpha - beta)
            work[k, k] = beta
            _reflect(work, k, taus[k], work, k + 1, sums)
        for i in range(kept):
            for j in range(columns):
                r[matrix, i, j] = work[i, j] if j >= i else 0
        if wanted:
            found = q[matrix]
            for i in range(rows):
                for j in range(wanted):
                    found[i, j] = 1 if i == j else 0
            for k in range(count - 1, -1, -1):
                _reflect(work, k, taus[k], found, k, more)


@jit_parallel
def _qr(x: Any, each: int, q: Any, r: Any) -> None:
    for task in numba.prange((x.shape[0] + each - 1) // each):
        _qr_of_some(x, task * each, min(x.shape[0], (task + 1) * each), q, r)


def _matrices(array: Array) -> Array:
    """A contiguous stack (count, m, n)."""
    array = contiguous(array)
    return array if array.ndim == 3 else array.reshape(-1, *array.shape[-2:])


def _share(work: int) -> int:
    """The matrices of one iteration of a parallel loop, each of so many multiply-adds."""
    return max(1, _SHARE // max(1, work))


def _pivots(a: Array) -> tuple[Array, Array, Array]:
    flat, batch = _matrices(a), a.shape[:-2]
    y, sign, logarithm = (np.empty(batch, a.dtype) for _ in range(3))
    _determinants(flat, _share(a.shape[-1] ** 3 // 3), y.reshape(-1), sign.reshape(-1), logarithm.reshape(-1))
    return y, sign, logarithm


def determinants(a: Array) -> Array:
    """The determinants (...) of matrices (..., n, n), float32 or float64: products of pivots."""
    return _pivots(a)[0]


def slogdet(a: Array) -> tuple[Array, Array]:
    """The signs of the determinants (...) of matrices (..., n, n), float32 or float64, and the logarithms of their sizes."""
    _, sign, logarithm = _pivots(a)
    return sign, logarithm


def pivots_product(compact: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """The determinants (...), their signs and the logarithms of their sizes, of LU factors (..., n, n), float32 or float64, laid
    out by columns, and the rows (..., n) that were swapped, from 1.
    """
    batch, n = compact.shape[:-2], compact.shape[-1]
    y, sign, logarithm = (np.empty(batch, compact.dtype) for _ in range(3))
    _multiply_each(_matrices(compact.swapaxes(-1, -2)), contiguous(pivots).reshape(-1, n), y.reshape(-1), sign.reshape(-1),
                   logarithm.reshape(-1))
    return y, sign, logarithm


def solve(a: Array, b: Array | None) -> tuple[Array, Array]:
    """X with ``a @ X = b`` for matrices (..., n, n) and (..., n, k), float32 or float64, of one batch; the inverses without b.

    And `info`, int32: the number of the first pivot that is zero, from 1, or 0. Such a matrix has NaN for a result.
    """
    flat, n = _matrices(a), a.shape[-1]
    given, columns = (flat, n) if b is None else (_matrices(b), b.shape[-1])
    y, info = empty((len(flat), n, columns), a.dtype), np.empty(a.shape[:-2], np.int32)
    _solve(flat, given, b is None, _share(n * n * (n // 3 + columns)), y, info.reshape(-1))
    return y.reshape(*a.shape[:-1], columns), info


def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """X with ``t @ X = b`` for triangles (..., n, n) and (..., n, k), float32 or float64, of one batch; zeros on the diagonal
    give inf and NaN. The rest of `t` is not read, nor with `unitriangular` its diagonal.
    """
    x, n = b.copy(order="C"), t.shape[-1]
    _solve_triangles(_matrices(t), _share(n * n * b.shape[-1] // 2), upper, unitriangular, x.reshape(-1, *b.shape[-2:]))
    return x


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    """L below the diagonal and U of matrices (..., m, n), float32 or float64; the rows that were swapped, from 1, int32 (..., k),
    k = min(m, n); and the number of the first pivot that is zero, or 0, int32 (...).
    """
    work, batch, (rows, columns) = a.copy(order="C"), a.shape[:-2], a.shape[-2:]
    pivots, info = np.empty((*batch, min(rows, columns)), np.int32), np.empty(batch, np.int32)
    _lu(work.reshape(-1, rows, columns), _share(rows * columns * pivots.shape[-1] // 3), pivots.reshape(-1, pivots.shape[-1]),
        info.reshape(-1))  # fmt: skip
    return work, pivots, info


def cholesky(a: Array) -> tuple[Array, Array]:
    """The lower factors of matrices (..., n, n), float32 or float64, of which the lower triangles are read, and `info`, int32
    (...): the order of the first leading minor that is not positive definite, or 0. The factor of such a matrix is NaN.
    """
    flat, n = _matrices(a), a.shape[-1]
    y, info = empty(flat.shape, a.dtype), np.empty(a.shape[:-2], np.int32)
    _cholesky(flat, _share(n * n * n // 6), y, info.reshape(-1))
    return y.reshape(a.shape), info


def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
    """Q and R of matrices (..., m, n), float32 or float64, by Householder's reflectors, with LAPACK's signs; Q is empty in mode
    'r'.
    """
    flat, (rows, columns) = _matrices(x), x.shape[-2:]
    kept = rows if mode == "complete" else min(rows, columns)
    wanted = 0 if mode == "r" else kept
    q, r = empty((len(flat), rows, wanted), x.dtype), empty((len(flat), kept, columns), x.dtype)
    _qr(flat, _share(2 * rows * columns * kept), q, r)
    batch = x.shape[:-2]
    return q.reshape(*batch, rows, wanted) if wanted else np.empty(0, x.dtype), r.reshape(*batch, kept, columns)
