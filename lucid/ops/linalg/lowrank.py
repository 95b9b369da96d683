"""Singular vectors of the largest singular values by random projections (Halko, Martinsson and Tropp, "Finding structure with
randomness", 2011, algorithms 4.4 and 5.1).
"""
from __future__ import annotations

from ...tensor import Tensor
from .._operands import require_tensor
from ..random.random import randn
from .matmul import matmul
from .qr_svd import qr, svd

Factors = tuple[Tensor, Tensor, Tensor]


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Factors:
    """(U, S, V) with ``U diag(S) V^H`` near the matrix `A`, or each of a stack, or ``A - M``: its `q` largest singular values.

    The random projection is sharpened by `niter` power iterations. Raises ValueError for less than two dimensions.

    >>> u, s, v = lucid.svd_lowrank(lucid.randn(20, 5), q=2)
    >>> u.shape, s.shape, v.shape
    (lucid.Size([20, 2]), lucid.Size([2]), lucid.Size([5, 2]))
    """
    if require_tensor("svd_lowrank", A).ndim < 2:
        raise ValueError(f"not enough values to unpack (expected 2, got {A.ndim})")
    matrix = A if M is None else A - M
    wanted, rounds = 6 if q is None else q, 2 if niter is None else niter
    start = randn(matrix.shape[-1], wanted, dtype=matrix.dtype, device=matrix.device)
    basis = qr(matmul(matrix, start))[0]
    for _ in range(rounds):
        basis = qr(matmul(matrix, qr(matmul(matrix.mH, basis))[0]))[0]
    left, values, right = svd(matmul(basis.mH, matrix), full_matrices=False)
    return matmul(basis, left), values, right.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """The principal components of the rows of `A`: `svd_lowrank` of it, less the means of its columns if `center`.

    `q` is 6, or less for smaller matrices. Raises ValueError for a `q` beyond the sides of the matrix and a negative `niter`,
    RuntimeError for integers.

    >>> u, s, v = lucid.pca_lowrank(lucid.randn(20, 5), q=2)
    >>> u.shape, s.shape, v.shape
    (lucid.Size([20, 2]), lucid.Size([2]), lucid.Size([5, 2]))
    """
    if require_tensor("pca_lowrank", A).ndim < 2:
        raise ValueError(f"not enough values to unpack (expected 2, got {A.ndim})")
    smaller = min(A.shape[-2:])
    if q is None:
        q = min(6, smaller)
    elif not 0 <= q <= smaller:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
