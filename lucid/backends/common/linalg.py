"""Matrix factorizations and linear systems that NumPy and CuPy both have: `table(xp, linalg, …)` binds them to either.

Both run LAPACK's algorithms (cuSOLVER's on a GPU), with LAPACK's signs, for stacks of matrices.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import elimination

Array = Any
Kernel = Callable[..., Any]


class LinAlgError(RuntimeError):
    """A matrix for which the operation has no result, such as a singular one.

    >>> try:
    ...     lucid.linalg.inv(lucid.zeros(2, 2))
    ... except lucid.linalg.LinAlgError:
    ...     print("singular")
    singular
    """


def report_unknown_pivots(xp: Any, factor: Array, info: Array) -> None:
    """Make a Cholesky factor with a pivot that is NaN one that fails: OpenBLAS takes it for a positive one, LAPACK's own routine
    reports it. All pivots behind it are NaN too.
    """
    if factor.size and xp.isnan(factor[..., -1, -1]).any():
        unknown = xp.isnan(xp.diagonal(factor, axis1=-2, axis2=-1))
        missed = unknown.any(-1) & (info == 0)
        factor[missed], info[missed] = np.nan, unknown.argmax(-1)[missed] + 1


def table(xp: Any, linalg: Any, decompose: Kernel,
          checked: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), by the functions of `linalg`, which has those of `xp.linalg`, and by `decompose`,
    its `svd`, which raises LinAlgError for elements that are not finite. `checked()` is the context in which `xp` reports
    singular matrices.

    The operations whose name ends in `_ex` report a matrix without a result by a number in `info`, as LAPACK does, and make
    its result NaN; it is 0 for all others.
    """
    eliminations = elimination.table(xp)

    def reporting(compute: Kernel, explain: Kernel, matrices: Array, *others: Array) -> tuple[Array, Array]:
        """``compute(matrices, *others)`` of one batch, and `info`, which is `explain(matrix)` where `compute` fails.

        All at once; one by one only if one of them fails.
        """
        batch = matrices.shape[:-2]
        try:
            with checked():
                return compute(matrices, *others), xp.zeros(batch, np.int32)
        except np.linalg.LinAlgError:
            pass
        given = (matrices, *others)
        result = xp.full(given[-1].shape, np.nan, given[-1].dtype)
        info = np.zeros(batch, np.int32)
        for index in np.ndindex(batch):
            try:
                with checked():
                    result[index] = compute(*[array[index] for array in given])
            except np.linalg.LinAlgError:
                info[index] = explain(matrices[index])
        return result, xp.asarray(info)

    def zero_pivot(matrix: Array) -> int:
        """The number of the first zero pivot of a singular matrix."""
        return int(eliminations["lu_factor"](matrix, pivot=True)[2]) or matrix.shape[-1]

    def indefinite_minor(matrix: Array) -> int:
        """The order of the first leading minor that is not positive definite."""
        definite, failing = 0, matrix.shape[-1]
        while failing - definite > 1:
            order = (definite + failing) // 2
            try:
                with checked():
                    linalg.cholesky(matrix[:order, :order])
                definite = order
            except np.linalg.LinAlgError:
                failing = order
        return failing

    def solve_ex(a: Array, b: Array) -> tuple[Array, Array]:
        """X with ``a @ X = b`` for stacks (..., n, n) and (..., n, k) of the same batch, and `info`."""
        if b.size == 0:
            return xp.empty(b.shape, b.dtype), xp.zeros(a.shape[:-2], np.int32)
        return reporting(linalg.solve, zero_pivot, a, b)

    def inv_ex(a: Array) -> tuple[Array, Array]:
        """The inverses, and `info`: the number of the first zero pivot."""
        return reporting(linalg.inv, zero_pivot, a)

    def cholesky_ex(a: Array) -> tuple[Array, Array]:
        """Lower Cholesky factors, of which the lower triangles are read, and `info`: the order of the first minor that fails."""
        factor, info = reporting(linalg.cholesky, indefinite_minor, a)
        report_unknown_pivots(xp, factor, info)
        return factor, info

    def det(a: Array) -> Array:
        return xp.asarray(linalg.det(a))

    def cofactors(a: Array) -> Array:
        """The conjugate matrices of cofactors, at every rank: with ``a = U diag(S) V^H`` it is U C V^H times the conjugate of
        det(U V^H), C being diagonal with the products of all singular values but one.
        """
        u, s, vh = svd(a, full_matrices=True)
        n = a.shape[-1]
        others = xp.where(xp.eye(n, dtype=bool), xp.ones_like(s)[..., None, :], s[..., None, :]).prod(-1)
        phase = xp.asarray(linalg.det(u) * linalg.det(vh)).conj()[..., None, None]
        return ((u * others[..., None, :]) @ vh * phase).astype(a.dtype, copy=False)

    def slogdet(a: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            sign, logarithm = linalg.slogdet(a)
        return xp.asarray(sign), xp.asarray(logarithm)

    def geqrf(x: Array) -> tuple[Array, Array]:
        """LAPACK's compact form of a QR factorization: R on and above the diagonal, reflectors below, and their tau."""
        packed, tau = linalg.qr(x, mode="raw")
        return packed.swapaxes(-1, -2), tau

    def qr(x: Array, *, mode: str) -> tuple[Array, Array]:
        """Q and R; Q is empty in mode 'r'."""
        q, r = (xp.empty(0, x.dtype), linalg.qr(x, mode=mode)) if mode == "r" else linalg.qr(x, mode=mode)
        return q, r

    def singular(x: Array, **attributes: bool) -> Any:
        try:
            with checked():
                return decompose(x, **attributes)
        except np.linalg.LinAlgError as error:
            raise LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite "
                              "values.") from error

    def svd(x: Array, *, full_matrices: bool) -> tuple[Array, Array, Array]:
        u, s, vh = singular(x, full_matrices=full_matrices)
        return u, s, vh

    def svdvals(x: Array) -> Array:
        """The singular values alone."""
        return xp.asarray(singular(x, compute_uv=False))

    def hermitian(function: Kernel, a: Array, uplo: str) -> Any:
        try:
            with checked():
                result = function(a, uplo)
            if xp.isfinite(result[0] if isinstance(result, tuple) else result).all():
                return result
        except np.linalg.LinAlgError:
            pass
        raise LinAlgError("linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned, has too "
                          "many repeated eigenvalues or is not finite.")

    def eigh(a: Array, *, uplo: str) -> tuple[Array, Array]:
        """Rising eigenvalues and eigenvectors of Hermitian matrices, of which the triangle `uplo` ('L' or 'U') is read."""
        values, vectors = hermitian(linalg.eigh, a, uplo)
        return values, vectors

    def eigvalsh(a: Array, *, uplo: str) -> Array:
        return hermitian(linalg.eigvalsh, a, uplo)

    def general(function: Kernel, a: Array) -> Any:
        if not xp.isfinite(a).all():
            raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
        try:
            with checked():
                return function(a)
        except np.linalg.LinAlgError as error:
            raise LinAlgError("linalg.eig: The algorithm failed to converge.") from error

    def eig(a: Array) -> tuple[Array, Array]:
        """Eigenvalues, in no order, and eigenvectors of norm 1: always complex."""
        values, vectors = general(linalg.eig, a)
        wide = np.result_type(a.dtype, np.complex64)
        return values.astype(wide, copy=False), vectors.astype(wide, copy=False)

    def eigvals(a: Array) -> Array:
        return general(linalg.eigvals, a).astype(np.result_type(a.dtype, np.complex64), copy=False)

    def pinv(a: Array, atol: Array, rtol: Array, *, hermitian: bool) -> Array:
        """Pseudoinverses: singular values up to max(atol, rtol * largest), in which the tolerances have the batch, count as 0."""
        if a.size == 0:
            return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        if hermitian:
            values, u = eigh(a, uplo="L")
            vh = u.conj().swapaxes(-1, -2)
        else:
            u, values, vh = svd(a, full_matrices=False)
        sizes = xp.abs(values)
        kept = sizes > xp.maximum(atol, rtol * sizes.max(-1))[..., None]
        inverse = xp.where(kept, 1 / xp.where(kept, values, xp.ones_like(values)), xp.zeros_like(values))
        return (vh.conj().swapaxes(-1, -2) * inverse[..., None, :]) @ u.conj().swapaxes(-1, -2)

    def lstsq(a: Array, b: Array, *, rcond: float, driver: str) -> tuple[Array, Array, Array]:
        """The shortest X that makes ``a @ X - b`` shortest, the ranks and the singular values, for stacks of one batch.

        Singular values up to `rcond` times the largest count as 0. It is used for every `driver`.
        """
        (rows, columns), batch = a.shape[-2:], a.shape[:-2]
        if a.size == 0:
            return (xp.zeros((*batch, columns, b.shape[-1]), a.dtype), xp.zeros(batch, np.int64),
                    xp.zeros((*batch, min(rows, columns)), a.real.dtype))
        u, s, vh = svd(a, full_matrices=False)
        kept = s > rcond * s.max(-1, keepdims=True)
        projected = u.conj().swapaxes(-1, -2) @ b
        scaled = xp.where(kept[..., None], projected / xp.where(kept, s, xp.ones_like(s))[..., None], xp.zeros_like(projected))
        return vh.conj().swapaxes(-1, -2) @ scaled, xp.asarray(kept.sum(-1)), s

    entries: list[Kernel] = [solve_ex, inv_ex, cholesky_ex, det, cofactors, slogdet, geqrf, qr, svd, svdvals, eigh, eigvalsh, eig,
                             eigvals, pinv, lstsq]
    return {function.__name__: function for function in entries} | eliminations
