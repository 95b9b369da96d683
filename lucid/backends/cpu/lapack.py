"""LAPACK inside NumPy's wheel, by calls of our own where NumPy offers less than it has.

Its threads are kept out: they spin after a call on the cores that kernels need, and up to 512 x 512 one thread is as fast as two.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import openblas

from ..families import compiler_is_loaded
from ..sizes import LAPACK_FROM

Array = np.ndarray
Kernel = Callable[..., Any]
REAL = (np.dtype(np.float32), np.dtype(np.float64))


def on_one_thread(kernel: Kernel) -> Kernel:
    @functools.wraps(kernel)
    def run(*arrays: Array, **attributes: Any) -> Any:
        if arrays[0].size + arrays[-1].size < LAPACK_FROM:  # OpenBLAS starts none; to change their number takes a microsecond
            return kernel(*arrays, **attributes)
        with openblas.one_thread:
            return kernel(*arrays, **attributes)

    return run


def by_kernel(a: Array) -> bool:
    """Whether our calls of LAPACK factorize these matrices."""
    return a.size >= LAPACK_FROM and a.dtype.char in "fdFD" and kernels() is not None


def has_small_kernels() -> bool:
    """Whether our calls of LAPACK are ready for small matrices too."""
    return compiler_is_loaded() and kernels() is not None


def factors() -> Any:
    from lucid_kernels.cpu.linalg import lapack_decompositions

    return lapack_decompositions


@functools.cache
def kernels() -> Any:
    """The kernels, which import Numba; None where NumPy has another LAPACK."""
    from lucid_kernels.cpu.linalg import lapack_solve

    return lapack_solve if lapack_solve.available() else None


def factorizations() -> SimpleNamespace:
    """The functions of `numpy.linalg` that `common.linalg` takes, by our calls of LAPACK for all but small matrices."""
    numpy: Any = np.linalg

    def checked(given: tuple[Any, ...]) -> Any:
        """All but the last result, LAPACK's info, which is not 0 where something has failed."""
        *results, info = given
        if info.any():
            raise np.linalg.LinAlgError("the algorithm has failed")
        return results[0] if len(results) == 1 else tuple(results)

    def qr(x: Array, mode: str) -> Any:
        if not by_kernel(x):
            return numpy.qr(x, mode=mode)
        if mode == "raw":
            packed, tau = factors().geqrf(x)
            return packed.swapaxes(-1, -2), tau
        q, r = factors().qr(x, mode=mode)
        return r if mode == "r" else (q, r)

    def svd(x: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if x.dtype not in REAL or not by_kernel(x):
            return numpy.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
        u, values, vh = checked(factors().svd(x, full_matrices=full_matrices, vectors=compute_uv))
        return (u, values, vh) if compute_uv else values

    def eigh(a: Array, uplo: str) -> Any:
        if a.dtype not in REAL or not by_kernel(a):
            return numpy.eigh(a, uplo)
        return checked(factors().eigh(a, uplo=uplo, vectors=True))

    def eigvalsh(a: Array, uplo: str) -> Array:
        if a.dtype not in REAL or not by_kernel(a):
            return numpy.eigvalsh(a, uplo)
        return checked(factors().eigh(a, uplo=uplo, vectors=False))[0]

    ours = {function.__name__: function for function in (qr, svd, eigh, eigvalsh)}
    return SimpleNamespace(**ours, solve=numpy.solve, inv=numpy.inv, cholesky=numpy.cholesky, det=numpy.det,
                           slogdet=numpy.slogdet, eig=numpy.eig, eigvals=numpy.eigvals)
