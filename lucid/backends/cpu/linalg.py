"""Linear algebra on the CPU: by LAPACK, and matrices of a few rows by loops of our own, which take a third of the time."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import sizes
from ..common import linalg
from ..families import compiler_is_loaded
from .lapack import REAL, by_kernel, factorizations, factors, has_small_kernels, kernels, on_one_thread

Array = np.ndarray
Kernel = Callable[..., Any]


def _small(a: Array) -> bool:
    """Whether these are matrices of so few rows that our loops are faster than LAPACK.

    Of few elements only where the compiler is loaded.
    """
    rows, columns = a.shape[-2:]
    most = rows if rows > columns else columns
    size = a.size
    if not size or a.dtype.char not in "fd" or most > sizes.MATRIX_MOST_ROWS:
        return False
    if most > sizes.MATRIX_FEW_ROWS and size > sizes.MATRIX_FEW_ELEMENTS:
        return False
    return size >= sizes.LAPACK_FROM or compiler_is_loaded()


def _are_many(a: Array) -> bool:
    """Whether these are so many small matrices that several are eliminated at a time."""
    return a.size >= sizes.MANY and a.shape[-1] <= sizes.ELIMINATION_MOST_ROWS and a.dtype in REAL


def _many_kernels() -> Any:
    from lucid_kernels.cpu.linalg import batched_elimination

    return batched_elimination


@functools.cache
def _few_kernels() -> Any:
    from lucid_kernels.cpu.linalg import small_decompositions

    return small_decompositions


_factorizations = factorizations()
_shared = SimpleNamespace(**linalg.table(np, _factorizations, _factorizations.svd))
_large_qr = on_one_thread(_shared.qr)


def det(a: Array) -> Array:
    """The determinants."""
    if _are_many(a):
        return _many_kernels().determinants(a)
    return _few_kernels().determinants(a) if _small(a) else _large_det(a)


@on_one_thread
def _large_det(a: Array) -> Array:
    """The product of the pivots: NumPy's det is the exponential of the sum of their logarithms, and less exact."""
    compact, pivots, _ = _large_lu_factor(a, pivot=True)
    if a.size and a.dtype in REAL:
        return _few_kernels().pivots_product(compact, pivots)[0]
    swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
    with np.errstate(all="ignore"):
        product = np.diagonal(compact, axis1=-2, axis2=-1).prod(-1)
    return np.asarray(np.where(swaps % 2, -product, product))


def slogdet(a: Array) -> tuple[Array, Array]:
    """The signs of the determinants and the logarithms of their sizes."""
    return _few_kernels().slogdet(a) if _small(a) else _large_slogdet(a)


@on_one_thread
def _large_slogdet(a: Array) -> tuple[Array, Array]:
    if not by_kernel(a):
        return _shared.slogdet(a)
    compact, pivots, _ = _large_lu_factor(a, pivot=True)
    if a.dtype in REAL:
        return _few_kernels().pivots_product(compact, pivots)[1:]
    swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
    diagonal = np.diagonal(compact, axis1=-2, axis2=-1)
    size = np.abs(diagonal)
    with np.errstate(all="ignore"):
        sign = np.where(size > 0, diagonal / size, 0).prod(-1)  # 0 for NaN too, as in PyTorch
        logarithm = np.log(size).sum(-1, dtype=np.float64)
    return np.where(swaps % 2, -sign, sign).astype(a.dtype), np.asarray(logarithm, size.dtype)


def solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
    """X with ``a @ X = b``, and `info`."""
    columns = b.shape[-1]
    if b.dtype is a.dtype and columns:
        if columns <= sizes.ELIMINATION_MOST_ROWS and _are_many(a):
            return _many_kernels().solve(a, b)
        if columns <= sizes.MATRIX_MOST_ROWS and _small(a):
            return _few_kernels().solve(a, b)
    return _large_solve_ex(a, b)


@on_one_thread
def _large_solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
    if b.size and a.dtype == b.dtype and by_kernel(a):
        return kernels().solve(a, b)
    return _shared.solve_ex(a, b)


def inv_ex(a: Array) -> tuple[Array, Array]:
    """The inverses, and `info`: the number of the first zero pivot."""
    if _are_many(a):
        return _many_kernels().solve(a, None)
    return _few_kernels().solve(a, None) if _small(a) else _large_inv_ex(a)


@on_one_thread
def _large_inv_ex(a: Array) -> tuple[Array, Array]:
    return kernels().inverse(a) if by_kernel(a) else _shared.inv_ex(a)


def lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
    """LAPACK's getrf."""
    return _few_kernels().lu_factor(a) if pivot and _small(a) else _large_lu_factor(a, pivot=pivot)


@on_one_thread
def _large_lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
    """LAPACK's getrf; by elimination without pivots, which LAPACK does not offer."""
    lapack = kernels() if pivot else None
    return lapack.lu_factor(a) if lapack else _shared.lu_factor(a, pivot=pivot)


def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """X with ``t @ X = b`` for triangles."""
    if b.dtype is t.dtype and 0 < b.shape[-1] <= sizes.MATRIX_MOST_ROWS and _small(t):
        return _few_kernels().solve_triangular(t, b, upper=upper, unitriangular=unitriangular)
    return _large_solve_triangular(t, b, upper=upper, unitriangular=unitriangular)


@on_one_thread
def _large_solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """BLAS's trsm."""
    solve = getattr(kernels(), "solve_triangular", _shared.solve_triangular)
    return solve(t, b, upper=upper, unitriangular=unitriangular)


def cholesky_ex(a: Array) -> tuple[Array, Array]:
    """Lower Cholesky factors, and `info`: the order of the first minor that fails."""
    return _few_kernels().cholesky(a) if _small(a) else _large_cholesky_ex(a)


@on_one_thread
def _large_cholesky_ex(a: Array) -> tuple[Array, Array]:
    if not by_kernel(a):
        return _shared.cholesky_ex(a)
    factor, info = factors().cholesky(a)
    linalg.report_unknown_pivots(np, factor, info)
    return factor, info


def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
    """Q and R; Q is empty in mode 'r'."""
    return _few_kernels().qr(x, mode=mode) if _small(x) else _large_qr(x, mode=mode)


@on_one_thread
def lstsq(a: Array, b: Array, *, rcond: float, driver: str) -> tuple[Array, Array, Array]:
    """By a QR factorization for 'gelsy', without singular values: a sixth of the time."""
    if driver != "gelsy" or a.dtype not in REAL or not a.size * b.size or not (by_kernel(a) or has_small_kernels()):
        return _shared.lstsq(a, b, rcond=rcond, driver=driver)
    x, ranks = factors().lstsq(a, b, rcond=rcond)
    return x, ranks, np.empty((*ranks.shape, 0), a.dtype)


@on_one_thread
def lu_permutation(pivots: Array, *, rows: int) -> Array:
    """The order of rows, by a compiled loop."""
    from lucid_kernels.cpu.linalg import lapack_solve

    return lapack_solve.lu_permutation(pivots, rows=rows)


_FUNCTIONS: Sequence[Kernel] = (
    cholesky_ex, det, inv_ex, lstsq, lu_factor, lu_permutation, qr, slogdet, solve_ex, solve_triangular,
    *map(on_one_thread, (_shared.cofactors, _shared.eig, _shared.eigh, _shared.eigvals, _shared.eigvalsh, _shared.geqrf,
                         _shared.pinv, _shared.svd, _shared.svdvals)))
TABLE: dict[str, Kernel] = {function.__name__: function for function in _FUNCTIONS}
