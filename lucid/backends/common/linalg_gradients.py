"""Gradients of determinants, linear systems, inverses and factorizations as one operation each, where nothing is recorded.

Written once for NumPy and CuPy: `table(xp, kernels)` binds them to either, and to the operations `kernels` of its table. The
rules in `lucid/ops` say where the formulas are from.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, kernels: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), of matrices of one batch and dtype."""

    def product(a: Array, b: Array) -> Array:
        return kernels["matmul"](a, b)

    def fill_diagonal(matrices: Array, values: Array) -> None:
        """Write the values (..., n) into the diagonals of matrices (..., n, n) that are ours."""
        diagonal = xp.arange(matrices.shape[-1])
        matrices[..., diagonal, diagonal] = values

    def nearly_singular(a: Array) -> Array:
        """Whether a pivot of some matrix says that its inverse has lost a third of the digits."""
        if not a.size:
            return xp.zeros((), bool)
        sizes = xp.abs(xp.diagonal(kernels["lu_factor"](a, pivot=True)[0], axis1=-2, axis2=-1))
        return xp.asarray((sizes.min(-1) <= float(np.finfo(a.dtype).eps) ** (1 / 3) * sizes.max(-1)).any())

    def det_grad(a: Array, y: Array, g: Array) -> Array:
        """Of the determinants y (...): g times the conjugate matrices of cofactors."""
        if nearly_singular(a):
            return _spread(g) * kernels["cofactors"](a)
        return _spread(g * y.conj()) * _adjoint(kernels["inv_ex"](a)[0])

    def slogdet_grad(a: Array, g: Array) -> Array:
        """Of the logarithms of the sizes of determinants (...): g, which may be complex, times the adjoint inverses."""
        return _spread(g).astype(a.dtype, copy=False) * _adjoint(kernels["inv_ex"](a)[0])

    def solve_grad(a: Array, x: Array, g: Array) -> tuple[Array, Array]:
        """Of x with ``a @ x = b``: the gradients of a and b."""
        to_b = kernels["solve_ex"](_adjoint(a), g)[0]
        return -product(to_b, _adjoint(x)), to_b

    def inv_grad(y: Array, g: Array) -> Array:
        """Of the inverses y."""
        turned = _adjoint(y)
        return -product(product(turned, g), turned)

    def cholesky_grad(y: Array, g: Array) -> Array:
        """Of the lower factors y: a Hermitian gradient."""
        turned = _adjoint(y)
        below = xp.tril(product(turned, g))
        diagonal = xp.diagonal(below, axis1=-2, axis2=-1)
        symmetric = (below + _adjoint(below)) / 2
        fill_diagonal(symmetric, diagonal.real / 2)
        half = kernels["solve_triangular"](turned, symmetric, upper=True, unitriangular=False)
        return _adjoint(kernels["solve_triangular"](turned, _adjoint(half), upper=True, unitriangular=False))

    def qr_grad(q: Array, r: Array, to_q: Array | None, to_r: Array | None) -> Array:
        """Of Q (..., m, n) and R (..., n, n) with m >= n."""
        to_q = xp.zeros_like(q) if to_q is None else to_q
        to_r = xp.zeros_like(r) if to_r is None else to_r
        mixed = product(r, _adjoint(to_r)) - product(_adjoint(to_q), q)
        below = xp.tril(mixed, -1)
        symmetric = below + _adjoint(below)
        fill_diagonal(symmetric, xp.diagonal(mixed, axis1=-2, axis2=-1).real)
        right = _adjoint(to_q + product(q, symmetric))
        return _adjoint(kernels["solve_triangular"](r, right, upper=True, unitriangular=False))

    def eigh_grad(values: Array, vectors: Array, to_values: Array | None, to_vectors: Array | None) -> Array:
        """Of eigenvalues (..., n) and eigenvectors (..., n, n) of Hermitian matrices."""
        to_values = xp.zeros_like(values) if to_values is None else to_values
        turned = _adjoint(vectors)
        if to_vectors is None:
            return product(vectors * to_values[..., None, :], turned)
        inner = product(turned, to_vectors)
        gaps = values[..., None, :] - values[..., :, None]
        fill_diagonal(gaps, xp.ones_like(values))
        inner = (inner - _adjoint(inner)) / (2 * gaps)
        fill_diagonal(inner, to_values)
        return product(product(vectors, inner), turned)

    entries = (nearly_singular, det_grad, slogdet_grad, solve_grad, inv_grad, cholesky_grad, qr_grad, eigh_grad)
    return {function.__name__: function for function in entries}


def _adjoint(x: Array) -> Array:
    return x.conj().swapaxes(-1, -2)


def _spread(scalars: Array) -> Array:
    """A number for each matrix, to multiply its elements with."""
    return scalars[..., None, None]
