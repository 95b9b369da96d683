"""Gradients of determinants, linear systems, inverses and factorizations of matrices of a few rows: one loop for each formula.

Composed of operations on arrays they are 5 to 15 calls, each of which takes longer than all the arithmetic of one such matrix.
The formulas are those of the rules in `lucid/ops`, but for that of determinants.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_exact, jit_parallel
from .small_decompositions import add_multiple, eliminate, matrices, put_beside, share, substitute


@jit_exact
def _add_product(y: Any, a: Any, b: Any, transposed: bool) -> None:
    """``y += a @ b``, or ``a.T @ b``."""
    for i in range(y.shape[0]):
        row = y[i]
        for k in range(b.shape[0]):
            add_multiple(row, a[k, i] if transposed else a[i, k], b[k], 0)


@jit_exact
def _solve_upper(t: Any, transposed: bool, x: Any) -> None:
    """Change x to ``t^-1 @ x`` for an upper triangle t, or ``t.T^-1 @ x`` for a lower one."""
    for k in range(t.shape[0] - 1, -1, -1):
        line, pivot = x[k], t[k, k]
        for j in range(line.shape[0]):
            line[j] /= pivot
        for i in range(k):
            add_multiple(x[i], -(t[k, i] if transposed else t[i, k]), line, 0)


@jit
def _grow_adjugate(work: Any, k: int, column: Any, adjugate: Any, product: float) -> None:
    """The adjugate of the first k + 1 rows and columns of an upper triangle from that of the first k, whose determinant is
    `product`: with [[U, u], [0, d]] it is [[d adj(U), -adj(U) u], [0, det(U)]].
    """
    pivot = work[k, k]
    for i in range(k):
        column[i] = work[i, k]
    for i in range(k):
        row, total = adjugate[i], column[0] * 0
        for j in range(i, k):
            total += row[j] * column[j]
            row[j] *= pivot
        row[k] = -total
    adjugate[k, k] = product


@jit_exact
def _det_grad_of_some(g: Any, a: Any, first: int, last: int, y: Any) -> None:
    n = a.shape[1]
    work, adjugate = np.empty((n, 2 * n), np.float64), np.zeros((n, n), np.float64)
    column = np.empty(n, np.float64)
    for matrix in range(first, last):
        put_beside(work, a[matrix], False)
        sign, _ = eliminate(work)
        product = np.float64(sign)
        for k in range(n):
            _grow_adjugate(work, k, column, adjugate, product)
            product *= work[k, k]
        found, upstream = y[matrix], np.float64(g[matrix])
        for i in range(n):
            column[:] = 0
            for k in range(i, n):
                add_multiple(column, adjugate[i, k], work[k, n:], 0)
            for j in range(n):
                found[j, i] = upstream * column[j]


@jit_parallel
def _det_grad(g: Any, a: Any, each: int, y: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _det_grad_of_some(g, a, task * each, min(a.shape[0], (task + 1) * each), y)


@jit_exact
def _slogdet_grad_of_some(g: Any, a: Any, first: int, last: int, y: Any) -> None:
    n, nan = a.shape[1], a.dtype.type(np.nan)
    work = np.empty((n, 2 * n), a.dtype)
    for matrix in range(first, last):
        put_beside(work, a[matrix], True)
        _, failed = eliminate(work)
        if not failed:
            substitute(work)
        factor, found = nan if failed else g[matrix], y[matrix]
        for i in range(n):
            for j in range(n):
                found[i, j] = factor * work[i, n + j]


@jit_parallel
def _slogdet_grad(g: Any, a: Any, each: int, y: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _slogdet_grad_of_some(g, a, task * each, min(a.shape[0], (task + 1) * each), y)


@jit_exact
def _solve_grad_of_some(g: Any, a: Any, x: Any, first: int, last: int, to_a: Any, to_b: Any) -> None:
    n, columns = a.shape[1], g.shape[2]
    work, turned, nan = np.empty((n, n + columns), a.dtype), np.empty((columns, n), a.dtype), a.dtype.type(np.nan)
    for matrix in range(first, last):
        put_beside(work, a[matrix], True)
        work[:, n:] = g[matrix]
        _, failed = eliminate(work)
        found, product = to_b[matrix], to_a[matrix]
        if failed:
            found[:] = nan
        else:
            substitute(work)
            found[:] = work[:, n:]
        for i in range(n):
            for c in range(columns):
                turned[c, i] = -x[matrix, i, c]
        product[:] = 0
        _add_product(product, found, turned, False)


@jit_parallel
def _solve_grad(g: Any, a: Any, x: Any, each: int, to_a: Any, to_b: Any) -> None:
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _solve_grad_of_some(g, a, x, task * each, min(a.shape[0], (task + 1) * each), to_a, to_b)


@jit_exact
def _inv_grad_of_some(g: Any, inverse: Any, first: int, last: int, y: Any) -> None:
    n = g.shape[1]
    product, turned = np.empty((n, n), g.dtype), np.empty((n, n), g.dtype)
    for matrix in range(first, last):
        for i in range(n):
            for j in range(n):
                product[i, j] = 0
                turned[i, j] = -inverse[matrix, j, i]
        _add_product(product, inverse[matrix], g[matrix], True)
        y[matrix] = 0
        _add_product(y[matrix], product, turned, False)


@jit_parallel
def _inv_grad(g: Any, inverse: Any, each: int, y: Any) -> None:
    for task in numba.prange((g.shape[0] + each - 1) // each):
        _inv_grad_of_some(g, inverse, task * each, min(g.shape[0], (task + 1) * each), y)


@jit_exact
def _cholesky_grad_of_some(g: Any, factor: Any, first: int, last: int, y: Any) -> None:
    n, half = g.shape[1], g.dtype.type(0.5)
    product, turned = np.empty((n, n), g.dtype), np.empty((n, n), g.dtype)
    for matrix in range(first, last):
        lower = factor[matrix]
        product[:] = 0
        _add_product(product, lower, g[matrix], True)
        for i in range(n):
            for j in range(i):
                product[i, j] *= half
                product[j, i] = product[i, j]
            product[i, i] *= half
        _solve_upper(lower, True, product)
        for i in range(n):
            for j in range(n):
                turned[i, j] = product[j, i]
        _solve_upper(lower, True, turned)
        for i in range(n):
            for j in range(n):
                y[matrix, i, j] = turned[j, i]


@jit_parallel
def _cholesky_grad(g: Any, factor: Any, each: int, y: Any) -> None:
    for task in numba.prange((g.shape[0] + each - 1) // each):
        _cholesky_grad_of_some(g, factor, task * each, min(g.shape[0], (task + 1) * each), y)


@jit_exact
def _qr_grad_of_some(to_q: Any, to_r: Any, q: Any, r: Any, first: int, last: int, y: Any) -> None:
    rows, n = q.shape[1], q.shape[2]
    mixed, sums, turned = np.empty((n, n), q.dtype), np.empty((n, n), q.dtype), np.empty((n, rows), q.dtype)
    product = np.empty((rows, n), q.dtype)
    for matrix in range(first, last):
        upper = r[matrix]
        for i in range(n):
            for j in range(n):
                mixed[i, j] = -to_r[matrix, j, i]  # the transpose, to multiply rows with
                sums[i, j] = 0
        _add_product(sums, upper, mixed, False)
        _add_product(sums, to_q[matrix], q[matrix], True)  # minus what the formula calls mixed
        for i in range(n):
            for j in range(i):
                sums[j, i] = sums[i, j] = -sums[i, j]
            sums[i, i] = -sums[i, i]
        product[:] = to_q[matrix]
        _add_product(product, q[matrix], sums, False)
        for i in range(rows):
            for j in range(n):
                turned[j, i] = product[i, j]
        _solve_upper(upper, False, turned)
        for i in range(rows):
            for j in range(n):
                y[matrix, i, j] = turned[j, i]


@jit_parallel
def _qr_grad(to_q: Any, to_r: Any, q: Any, r: Any, each: int, y: Any) -> None:
    for task in numba.prange((q.shape[0] + each - 1) // each):
        _qr_grad_of_some(to_q, to_r, q, r, task * each, min(q.shape[0], (task + 1) * each), y)


@jit_exact
def _eigh_grad_of_some(to_values: Any, to_vectors: Any, values: Any, vectors: Any, of_vectors: bool, first: int, last: int,
                       y: Any) -> None:
    n, half = vectors.shape[1], vectors.dtype.type(0.5)
    turned, inner = np.empty((n, n), vectors.dtype), np.empty((n, n), vectors.dtype)
    product = np.empty((n, n), vectors.dtype)
    for matrix in range(first, last):
        base, numbers = vectors[matrix], values[matrix]
        turned[:] = 0
        if of_vectors:
            _add_product(turned, base, to_vectors[matrix], True)
        for i in range(n):
            for j in range(n):
                inner[i, j] = half * (turned[i, j] - turned[j, i]) / (numbers[j] - numbers[i]) if of_vectors else 0
            inner[i, i] = to_values[matrix, i]
        product[:] = 0
        _add_product(product, base, inner, False)
        for i in range(n):
            for j in range(n):
                turned[i, j] = base[j, i]
        y[matrix] = 0
        _add_product(y[matrix], product, turned, False)


@jit_parallel
def _eigh_grad(to_values: Any, to_vectors: Any, values: Any, vectors: Any, of_vectors: bool, each: int, y: Any) -> None:
    for task in numba.prange((values.shape[0] + each - 1) // each):
        first, last = task * each, min(values.shape[0], (task + 1) * each)
        _eigh_grad_of_some(to_values, to_vectors, values, vectors, of_vectors, first, last, y)


def det_grad(a: Array, g: Array) -> Array:
    """Of determinants (...), with the gradient g, for matrices a (..., n, n): g times the matrix of cofactors, at every rank.

    With ``P a = L U`` the adjugate is adj(U) L^-1 P times the sign of P: no pivot is divided by. It is computed in float64.
    """
    flat = matrices(a)
    y = empty(flat.shape, a.dtype)
    _det_grad(contiguous(g).reshape(-1), flat, share(a.shape[-1] ** 3), y)
    return y.reshape(a.shape)


def slogdet_grad(a: Array, g: Array) -> Array:
    """Of the logarithms of the sizes of determinants (...): g times the transposed inverse; NaN for singular matrices."""
    flat = matrices(a)
    y = empty(flat.shape, a.dtype)
    _slogdet_grad(contiguous(g).reshape(-1), flat, share(a.shape[-1] ** 3), y)
    return y.reshape(a.shape)


def solve_grad(a: Array, x: Array, g: Array) -> tuple[Array, Array]:
    """Of x with ``a @ x = b``, matrices (..., n, n) and (..., n, k): the gradients of a and b; NaN for singular matrices."""
    flat, upstream, n, columns = matrices(a), matrices(g), a.shape[-1], g.shape[-1]
    to_a, to_b = empty(flat.shape, a.dtype), empty(upstream.shape, a.dtype)
    _solve_grad(upstream, flat, matrices(x), share(n * n * (n // 3 + 2 * columns)), to_a, to_b)
    return to_a.reshape(a.shape), to_b.reshape(g.shape)


def inv_grad(inverse: Array, g: Array) -> Array:
    """Of the inverses of matrices (..., n, n)."""
    flat = matrices(g)
    y = empty(flat.shape, g.dtype)
    _inv_grad(flat, matrices(inverse), share(2 * g.shape[-1] ** 3), y)
    return y.reshape(g.shape)


def cholesky_grad(factor: Array, g: Array) -> Array:
    """Of lower Cholesky factors (..., n, n): a symmetric gradient."""
    flat = matrices(g)
    y = empty(flat.shape, g.dtype)
    _cholesky_grad(flat, matrices(factor), share(2 * g.shape[-1] ** 3), y)
    return y.reshape(g.shape)


def qr_grad(q: Array, r: Array, to_q: Array, to_r: Array) -> Array:
    """Of Q (..., m, n) and R (..., n, n) of matrices (..., m, n) with m >= n."""
    flat, (rows, n) = matrices(q), q.shape[-2:]
    y = empty(flat.shape, q.dtype)
    _qr_grad(matrices(to_q), matrices(to_r), flat, matrices(r), share(3 * rows * n * n), y)
    return y.reshape(q.shape)


def eigh_grad(values: Array, vectors: Array, to_values: Array, to_vectors: Array | None) -> Array:
    """Of eigenvalues (..., n) and eigenvectors (..., n, n) of symmetric matrices; `to_vectors` may be None."""
    flat, n = matrices(vectors), vectors.shape[-1]
    y, turning = empty(flat.shape, vectors.dtype), flat if to_vectors is None else matrices(to_vectors)
    numbers, upstream = (contiguous(array).reshape(-1, n) for array in (values, to_values))
    _eigh_grad(upstream, turning, numbers, flat, to_vectors is not None, share(3 * n**3), y)
    return y.reshape(vectors.shape)
