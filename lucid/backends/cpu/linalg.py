"""Operations of linear algebra on a CPU: by the LAPACK inside NumPy's wheel where NumPy offers less than it has.

Its threads are kept out: they spin after a call on the cores that kernels need, and up to 512 x 512 one thread is as fast as two.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import openblas

from ..common import linalg
from ..families import MANY, compiler_is_loaded

Array = np.ndarray
Kernel = Callable[..., Any]
_REAL = (np.dtype(np.float32), np.dtype(np.float64))
_SIDE_BY_SIDE = 8  # rows of matrices of which several are eliminated at a time; LAPACK is faster with more
# Rows of matrices for our loops, and of those that are faster than LAPACK for stacks of more elements too.
_MOST_ROWS, _FEW_ROWS, _FEW_ELEMENTS = 32, 16, 1 << 11
_LARGE = 1 << 9  # elements of which NumPy, which computes in float64, takes longer than a kernel


def table() -> dict[str, Kernel]:
    """The operations of `linear_algebra` on NumPy."""
    entries = linalg.table(np, linalg=_factorizations())
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
        compact, pivots, _ = lu_factor(a, pivot=True)
        if a.size and a.dtype in _REAL:
            return _few_kernels().pivots_product(compact, pivots)[0]
        swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
        with np.errstate(all="ignore"):
            product = np.diagonal(compact, axis1=-2, axis2=-1).prod(-1)
        return np.asarray(np.where(swaps % 2, -product, product))

    def slogdet(a: Array) -> tuple[Array, Array]:
        """The sign and the logarithm of the size of `det`."""
        if not _by_kernel(a):
            return plain["slogdet"](a)
        compact, pivots, _ = lu_factor(a, pivot=True)
        if a.dtype in _REAL:
            return _few_kernels().pivots_product(compact, pivots)[1:]
        swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
        diagonal = np.diagonal(compact, axis1=-2, axis2=-1)
        size = np.abs(diagonal)
        with np.errstate(all="ignore"):
            sign = np.where(size > 0, diagonal / size, 0).prod(-1)  # 0 for NaN too, as in PyTorch
            logarithm = np.log(size).sum(-1, dtype=np.float64)
        return np.where(swaps % 2, -sign, sign).astype(a.dtype), np.asarray(logarithm, size.dtype)

    def lstsq(a: Array, b: Array, *, rcond: float, driver: str) -> tuple[Array, Array, Array]:
        """By a QR factorization for 'gelsy', without singular values: a sixth of the time."""
        if driver != "gelsy" or a.dtype not in _REAL or not a.size * b.size or not (_by_kernel(a) or _few_by_kernel()):
            return plain["lstsq"](a, b, rcond=rcond, driver=driver)
        x, ranks = _factors().lstsq(a, b, rcond=rcond)
        return x, ranks, np.empty((*ranks.shape, 0), a.dtype)

    def solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
        if b.size and a.dtype == b.dtype and _by_kernel(a):
            return _kernels().solve(a, b)
        return plain["solve_ex"](a, b)

    def inv_ex(a: Array) -> tuple[Array, Array]:
        return _kernels().inverse(a) if _by_kernel(a) else plain["inv_ex"](a)

    def cholesky_ex(a: Array) -> tuple[Array, Array]:
        if not _by_kernel(a):
            return plain["cholesky_ex"](a)
        factor, info = _factors().cholesky(a)
        linalg.report_unknown_pivots(np, factor, info)
        return factor, info

    def lu_permutation(pivots: Array, *, rows: int) -> Array:
        """The order of rows, by a compiled loop."""
        from lucid_kernels.cpu.linalg import lapack_solve

        return lapack_solve.lu_permutation(pivots, rows=rows)

    ours = (lu_factor, solve_triangular, slogdet, lstsq, det, solve_ex, inv_ex, cholesky_ex, lu_permutation)
    entries |= {function.__name__: function for function in ours}
    entries = {name: _on_one_thread(kernel) for name, kernel in entries.items()}
    return entries | _small_table(entries)


def _small_table(larger: dict[str, Kernel]) -> dict[str, Kernel]:
    """Operations on matrices of a few rows by loops of our own, which take a third of the time of LAPACK's calls; on others they
    are those of `larger`.
    """
    def det(a: Array) -> Array:
        if _are_many(a):
            return _many_kernels().determinants(a)
        return _few_kernels().determinants(a) if small(a) else larger["det"](a)

    def slogdet(a: Array) -> tuple[Array, Array]:
        return _few_kernels().slogdet(a) if small(a) else larger["slogdet"](a)

    def solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
        columns = b.shape[-1]
        if b.dtype is a.dtype and columns:
            if columns <= _SIDE_BY_SIDE and _are_many(a):
                return _many_kernels().solve(a, b)
            if columns <= _MOST_ROWS and small(a):
                return _few_kernels().solve(a, b)
        return larger["solve_ex"](a, b)

    def inv_ex(a: Array) -> tuple[Array, Array]:
        if _are_many(a):
            return _many_kernels().solve(a, None)
        return _few_kernels().solve(a, None) if small(a) else larger["inv_ex"](a)

    def lu_factor(a: Array, *, pivot: bool) -> tuple[Array, Array, Array]:
        return _few_kernels().lu_factor(a) if pivot and small(a) else larger["lu_factor"](a, pivot=pivot)

    def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
        if b.dtype is t.dtype and 0 < b.shape[-1] <= _MOST_ROWS and small(t):
            return _few_kernels().solve_triangular(t, b, upper=upper, unitriangular=unitriangular)
        return larger["solve_triangular"](t, b, upper=upper, unitriangular=unitriangular)

    def cholesky_ex(a: Array) -> tuple[Array, Array]:
        return _few_kernels().cholesky(a) if small(a) else larger["cholesky_ex"](a)

    def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
        return _few_kernels().qr(x, mode=mode) if small(x) else larger["qr"](x, mode=mode)

    ours = (det, slogdet, lu_factor, solve_ex, inv_ex, solve_triangular, cholesky_ex, qr)
    return {function.__name__: function for function in ours}


def small(a: Array) -> bool:
    """Whether these are matrices of so few rows that our loops are faster than LAPACK.

    Of few elements only where the compiler is loaded.
    """
    rows, columns = a.shape[-2:]
    most = rows if rows > columns else columns
    size = a.size
    if not size or most > _MOST_ROWS or (most > _FEW_ROWS and size > _FEW_ELEMENTS) or a.dtype.char not in "fd":
        return False
    return size >= _LARGE or compiler_is_loaded()


def _by_kernel(a: Array) -> bool:
    """Whether our calls of LAPACK factorize these matrices."""
    return a.size >= _LARGE and a.dtype.char in "fdFD" and _kernels() is not None


def _few_by_kernel() -> bool:
    """Whether our calls of LAPACK are ready for small matrices too."""
    return compiler_is_loaded() and _kernels() is not None


def _factors() -> Any:
    from lucid_kernels.cpu.linalg import lapack_decompositions

    return lapack_decompositions


def _factorizations() -> SimpleNamespace:
    """The functions of `numpy.linalg` that `linear_algebra` takes, by our calls of LAPACK for all but small matrices."""
    numpy: Any = np.linalg

    def checked(given: tuple[Any, ...]) -> Any:
        """All but the last result, which tells by numbers that are not 0 what has failed."""
        *results, info = given
        if info.any():
            raise np.linalg.LinAlgError("the algorithm has failed")
        return results[0] if len(results) == 1 else tuple(results)

    def qr(x: Array, mode: str) -> Any:
        if not _by_kernel(x):
            return numpy.qr(x, mode=mode)
        if mode == "raw":
            packed, tau = _factors().geqrf(x)
            return packed.swapaxes(-1, -2), tau
        q, r = _factors().qr(x, mode=mode)
        return r if mode == "r" else (q, r)

    def svd(x: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if x.dtype not in _REAL or not _by_kernel(x):
            return numpy.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
        u, values, vh = checked(_factors().svd(x, full_matrices=full_matrices, vectors=compute_uv))
        return (u, values, vh) if compute_uv else values

    def eigh(a: Array, uplo: str) -> Any:
        if a.dtype not in _REAL or not _by_kernel(a):
            return numpy.eigh(a, uplo)
        return checked(_factors().eigh(a, uplo=uplo, vectors=True))

    def eigvalsh(a: Array, uplo: str) -> Array:
        if a.dtype not in _REAL or not _by_kernel(a):
            return numpy.eigvalsh(a, uplo)
        return checked(_factors().eigh(a, uplo=uplo, vectors=False))[0]

    ours = {function.__name__: function for function in (qr, svd, eigh, eigvalsh)}
    return SimpleNamespace(**ours, solve=numpy.solve, inv=numpy.inv, cholesky=numpy.cholesky, det=numpy.det,
                           slogdet=numpy.slogdet, eig=numpy.eig, eigvals=numpy.eigvals)


def _are_many(a: Array) -> bool:
    """Whether these are so many small matrices that several are eliminated at a time."""
    return a.size >= MANY and a.shape[-1] <= _SIDE_BY_SIDE and a.dtype in _REAL


def _many_kernels() -> Any:
    from lucid_kernels.cpu.linalg import batched_elimination

    return batched_elimination


@functools.cache
def _few_kernels() -> Any:
    from lucid_kernels.cpu.linalg import small_decompositions

    return small_decompositions


@functools.cache
def _kernels() -> Any:
    """The kernels, which import Numba; None where NumPy has another LAPACK."""
    from lucid_kernels.cpu.linalg import lapack_solve

    return lapack_solve if lapack_solve.available() else None


def _on_one_thread(kernel: Kernel) -> Kernel:
    @functools.wraps(kernel)
    def run(*arrays: Array, **attributes: Any) -> Any:
        if arrays[0].size + arrays[-1].size < _LARGE:  # OpenBLAS starts none; to change their number takes a microsecond
            return kernel(*arrays, **attributes)
        with openblas.one_thread:
            return kernel(*arrays, **attributes)

    return run
