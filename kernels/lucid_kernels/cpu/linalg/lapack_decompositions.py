"""Cholesky, QR, eigenvalue and singular value decompositions and least squares for stacks of matrices, by the LAPACK inside
NumPy's wheel: NumPy's own compute float32 in float64, which takes twice as long and more. None of the matrices is empty.
"""

from __future__ import annotations

import numpy as np

from ..arrays.layout import Array, contiguous
from ..arrays.strided_copy import copy
from ..movement.triangles import triangle
from .lapack_calls import LETTERS, Argument, letter, routine, run

_WORDS = {4: np.int32, 8: np.int64}  # as which elements are moved, by their size


def _triangle(x: Array, lower: bool) -> Array:
    """A contiguous copy of one triangle, with zeros beyond."""
    if x.itemsize not in _WORDS:
        return np.ascontiguousarray(np.tril(x) if lower else np.triu(x))
    return triangle(contiguous(x).view(_WORDS[x.itemsize]), 0, lower).view(x.dtype)


def _count(x: Array) -> int:
    return x.size // (x.shape[-1] * x.shape[-2])


def _each(x: Array) -> Argument:
    """An argument of which each matrix of a stack has its own."""
    return x, x.shape[-1] * x.shape[-2] * x.itemsize


def cholesky(a: Array) -> tuple[Array, Array]:
    """potrf: the lower factors of matrices (..., n, n), of which the lower triangles are read, and the order of the first leading
    minor that is not positive definite, or 0, int32 (...). The factor of such a matrix is NaN.
    """
    y, n = _triangle(a, lower=True), a.shape[-1]  # to Fortran it is an upper triangle, and so is the factor
    potrf, integer = routine(LETTERS[a.dtype.char] + "potrf_")
    order, info = np.array(n, integer), np.zeros(a.shape[:-2], integer)
    run(potrf, [(letter("U"), 0), (order, 0), _each(y), (order, 0), (info, integer.itemsize)], _count(a), n * n * n // 3)
    if info.any():
        y[info != 0] = np.nan
    return y, info.astype(np.int32)


_BLOCK = 32  # columns that LAPACK's QR handles at a time


def geqrf(x: Array) -> tuple[Array, Array]:
    """LAPACK's compact form of a QR factorization (..., m, n), laid out by columns, and tau (..., min(m, n))."""
    (rows, columns), by_columns = x.shape[-2:], copy(x.swapaxes(-1, -2))
    factor, integer = routine(LETTERS[x.dtype.char] + "geqrf_")
    k, size, item = min(rows, columns), _BLOCK * columns, x.itemsize
    tau, info = np.empty((*x.shape[:-2], k), x.dtype), np.empty(x.shape[:-2], integer)
    m, n = np.array(rows, integer), np.array(columns, integer)
    run(factor, [(m, 0), (n, 0), _each(by_columns), (m, 0), (tau, k * item), (x.dtype, size),
                 (np.array(size, integer), 0), (info, integer.itemsize)], _count(x), rows * columns * k)  # fmt: skip
    return by_columns.swapaxes(-1, -2), tau


def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
    """Q and R; Q is empty in mode 'r'."""
    packed, tau = geqrf(x)
    (rows, columns), k = x.shape[-2:], tau.shape[-1]
    wanted = rows if mode == "complete" else k
    r = _triangle(packed[..., :wanted, :], lower=False)
    if mode == "r":
        return np.empty(0, x.dtype), r
    vectors = packed.swapaxes(-1, -2)  # as it lies in memory
    if wanted != columns:
        vectors = np.zeros((*x.shape[:-2], wanted, rows), x.dtype)
        vectors[..., :k, :] = packed.swapaxes(-1, -2)[..., :k, :]
    generate, integer = routine(LETTERS[x.dtype.char] + ("orgqr_" if x.dtype.kind == "f" else "ungqr_"))
    size, info = _BLOCK * wanted, np.empty(x.shape[:-2], integer)
    m, n, reflectors = (np.array(number, integer) for number in (rows, wanted, k))
    run(generate, [(m, 0), (n, 0), (reflectors, 0), _each(vectors), (m, 0), (tau, k * x.itemsize), (x.dtype, size),
                   (np.array(size, integer), 0), (info, integer.itemsize)], _count(x), rows * wanted * k)  # fmt: skip
    return contiguous(vectors.swapaxes(-1, -2)), r


def eigh(a: Array, *, uplo: str, vectors: bool) -> tuple[Array, Array | None, Array]:
    """syevd: rising eigenvalues of symmetric matrices, of which the triangle `uplo` is read, eigenvectors or None, and
    LAPACK's info, int (...): 0 where they were found.
    """
    n, by_columns = a.shape[-1], copy(a.swapaxes(-1, -2))
    decompose, integer = routine(LETTERS[a.dtype.char] + "syevd_")
    values, info = np.empty(a.shape[:-1], a.dtype), np.empty(a.shape[:-2], integer)
    size, integers = (1 + (6 + _BLOCK) * n + 2 * n * n, 3 + 5 * n) if vectors else (1 + (2 + _BLOCK) * n, 1)
    order, lengths = np.array(n, integer), (np.array(size, integer), np.array(integers, integer))
    run(decompose, [(letter("V" if vectors else "N"), 0), (letter(uplo), 0), (order, 0), _each(by_columns), (order, 0),
                    (values, n * a.itemsize), (a.dtype, size), (lengths[0], 0), (integer, integers), (lengths[1], 0),
                    (info, integer.itemsize)], _count(a), (9 if vectors else 2) * n * n * n)  # fmt: skip
    return values, contiguous(by_columns.swapaxes(-1, -2)) if vectors else None, info


def svd(x: Array, *, full_matrices: bool, vectors: bool = True) -> tuple[Array | None, Array, Array | None, Array]:
    """gesdd: U, falling singular values and V^T of real matrices (..., m, n), None without `vectors`, and
    LAPACK's info, int (...): 0 where they were found.
    """
    (rows, columns), batch = x.shape[-2:], x.shape[:-2]
    by_columns, kind = copy(x.swapaxes(-1, -2)), "N" if not vectors else "A" if full_matrices else "S"
    decompose, integer = routine(LETTERS[x.dtype.char] + "gesdd_")
    low, high = sorted((rows, columns))
    values, info = np.empty((*batch, low), x.dtype), np.empty(batch, integer)
    across, down = (rows, columns) if full_matrices else (low, low)
    u, vh = (np.empty((*batch, *shape) if vectors else 1, x.dtype) for shape in ((across, rows), (columns, down)))
    size = _BLOCK * (low + high) + (4 * low * low + 7 * low + high if vectors else 3 * low + max(high, 7 * low))
    m, n, lead, length = (np.array(number, integer) for number in (rows, columns, down, size))
    to_u, to_vh = (_each(u), _each(vh)) if vectors else ((u, 0), (vh, 0))
    run(decompose, [(letter(kind), 0), (m, 0), (n, 0), _each(by_columns), (m, 0), (values, low * x.itemsize), to_u, (m, 0), to_vh,
                    (lead, 0), (x.dtype, size), (length, 0), (integer, 8 * low), (info, integer.itemsize)],
        _count(x), (9 if vectors else 3) * low * low * high)  # fmt: skip
    if not vectors:
        return None, values, None, info
    return contiguous(u.swapaxes(-1, -2)), values, contiguous(vh.swapaxes(-1, -2)), info


def lstsq(a: Array, b: Array, *, rcond: float) -> tuple[Array, Array]:
    """gelsy: the shortest X that makes ``a @ X - b`` shortest, for real stacks (..., m, n) and (..., m, k) of one batch, and the
    ranks, int64 (...), by a QR factorization with pivots: the order of the largest leading triangle whose condition is below
    1 / `rcond`.
    """
    (rows, columns), batch, right = a.shape[-2:], a.shape[:-2], b.shape[-1]
    low, high = sorted((rows, columns))
    by_columns, x = copy(a.swapaxes(-1, -2)), np.zeros((*batch, right, high), a.dtype)
    x[..., :rows] = b.swapaxes(-1, -2)
    solve, integer = routine(LETTERS[a.dtype.char] + "gelsy_")
    pivots, ranks, info = np.zeros((*batch, columns), integer), np.zeros(batch, integer), np.empty(batch, integer)
    size = max(low + 3 * columns + 1 + _BLOCK * (columns + 1), 2 * low + _BLOCK * right)
    m, n, k, lead, length = (np.array(number, integer) for number in (rows, columns, right, high, size))
    run(solve, [(m, 0), (n, 0), (k, 0), _each(by_columns), (m, 0), _each(x), (lead, 0), (pivots, columns * integer.itemsize),
                (np.array(rcond, a.dtype), 0), (ranks, integer.itemsize), (a.dtype, size), (length, 0),
                (info, integer.itemsize)], _count(a), low * low * high)  # fmt: skip
    return contiguous(x[..., :columns].swapaxes(-1, -2)), ranks.astype(np.int64, copy=False)
