"""Matrix factorizations and linear systems that NumPy and CuPy both have, written once: `table(xp)` binds them to either.

Both run LAPACK's algorithms (cuSOLVER's on a GPU), with LAPACK's signs, for stacks of matrices.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]


class LinAlgError(RuntimeError):
    """A matrix for which the operation has no result, such as a singular one."""


def table(xp: Any, checked: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy); `checked()` is the context in which `xp` reports singular matrices."""
    linalg = xp.linalg

    def solve(a: Array, b: Array) -> Array:
        """X with ``a @ X = b`` for stacks (..., n, n) and (..., n, k) of the same batch. Raises LinAlgError."""
        if b.size == 0:
            return xp.empty(b.shape, b.dtype)
        try:
            with checked():
                return linalg.solve(a, b)
        except np.linalg.LinAlgError as error:
            raise LinAlgError("linalg.solve: The solver failed because the input matrix is singular.") from error

    def geqrf(x: Array) -> tuple[Array, Array]:
        """LAPACK's compact form of a QR factorization: R on and above the diagonal, reflectors below, and their tau."""
        packed, tau = linalg.qr(x, mode="raw")
        return packed.swapaxes(-1, -2), tau

    def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
        """Q and R; Q is empty in mode 'r'."""
        q, r = (xp.empty(0, x.dtype), linalg.qr(x, mode=mode)) if mode == "r" else linalg.qr(x, mode=mode)
        return q, r

    def svd(x: Array, *, full_matrices: bool) -> tuple[Array, Array, Array]:
        try:
            with checked():
                u, s, vh = linalg.svd(x, full_matrices=full_matrices)
        except np.linalg.LinAlgError as error:
            raise LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite "
                              "values.") from error
        return u, s, vh

    return {"solve": solve, "geqrf": geqrf, "qr": qr, "svd": svd}
