"""Linear algebra: the standard's extension, and the four of its functions that stand in the namespace itself.

>>> from lucid import array_api as xp
>>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
Tensor([[0.50, 0.00],
        [0.00, 0.25]], requires_grad=False)
"""
from __future__ import annotations

from typing import Any, NamedTuple

import lucid

from .. import Tensor
from ._operands import axes_of, together

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
           "vecdot", "vector_norm"]


class _Eigen(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class _QR(NamedTuple):
    Q: Tensor
    R: Tensor


class _SignLog(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class _SVD(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix products. Raises RuntimeError for a 0-d array.

    >>> from lucid import array_api as xp
    >>> xp.matmul(xp.asarray([[1.0, 2.0]]), xp.asarray([[3.0], [4.0]]))
    Tensor([[11.0]], requires_grad=False)
    """
    return lucid.matmul(*together("matmul", x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view with the last two axes exchanged. Raises ValueError for fewer than two.

    >>> from lucid import array_api as xp
    >>> xp.matrix_transpose(xp.asarray([[1, 2], [3, 4]]))
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: an array of {x.ndim} dimensions holds no matrices")
    return lucid.transpose(x, -2, -1)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over axes: over the last of `x1` and the first of `x2` for a number.

    >>> from lucid import array_api as xp
    >>> xp.tensordot(xp.ones((2, 3, 4)), xp.ones((3, 4, 5))).shape
    lucid.Size([2, 5])
    """
    x1, x2 = together("tensordot", x1, x2)
    return lucid.tensordot(x1, x2, axes if isinstance(axes, int) else tuple(list(side) for side in axes))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Inner products along an axis counted from the end, of the conjugates of `x1` with `x2`.

    >>> from lucid import array_api as xp
    >>> xp.vecdot(xp.asarray([[1.0, 2.0]]), xp.asarray([3.0, 4.0]))
    Tensor([11.0], requires_grad=False)
    """
    x1, x2 = _with_one_axis("vecdot", x1, x2, axis)
    return lucid.linalg.vecdot(x1, x2, dim=axis) if x1.dtype.kind in "fcV" else (x1 * x2).sum(axis, dtype=x1.dtype)


def _with_one_axis(name: str, x1: Tensor, x2: Tensor, axis: int) -> list[Tensor]:
    """Both in one dtype. Raises ValueError if `axis` is of two lengths (it does not broadcast) or not counted from the end."""
    shared = min(x1.ndim, x2.ndim)
    if not -shared <= axis < 0:
        raise ValueError(f"{name}: axis {axis} is none of the last {shared} axes, which are counted from the end: -1 and so on")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"{name}: axis {axis} has the lengths {x1.shape[axis]} and {x2.shape[axis]}")
    return together(name, x1, x2)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of a vector with each of another.

    >>> from lucid import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    Tensor([[3, 4],
            [6, 8]], requires_grad=False)
    """
    return lucid.outer(*together("outer", x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products along an axis of length 3; the other axes broadcast.

    >>> from lucid import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1.0, 0.0, 0.0]), xp.asarray([0.0, 1.0, 0.0]))
    Tensor([0.0, 0.0, 1.0], requires_grad=False)
    """
    x1, x2 = _with_one_axis("cross", x1, x2, axis)
    return lucid.linalg.cross(*lucid.broadcast_tensors(x1, x2), dim=axis)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangles L with ``x = L L^H``, or their conjugate transposes.

    >>> from lucid import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return lucid.linalg.cholesky(x, upper=upper)


def det(x: Tensor, /) -> Tensor:
    """Determinants.

    >>> from lucid import array_api as xp
    >>> xp.linalg.det(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(-2.0, requires_grad=False)
    """
    return lucid.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Views of the diagonals of matrices.

    >>> from lucid import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    Tensor([1, 4], requires_grad=False)
    """
    return lucid.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> _Eigen:
    """The eigenvalues, in ascending order, and eigenvectors of hermitian matrices.

    >>> from lucid import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return _Eigen(*lucid.linalg.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of hermitian matrices in ascending order.

    >>> from lucid import array_api as xp
    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 1.0], [1.0, 2.0]]))
    Tensor([1.0, 3.0], requires_grad=False)
    """
    return lucid.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Inverses.

    >>> from lucid import array_api as xp
    >>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.50, 0.00],
            [0.00, 0.25]], requires_grad=False)
    """
    return lucid.linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of matrices.

    >>> from lucid import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Tensor(5.0, requires_grad=False)
    """
    return lucid.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Products of matrices with themselves, of their inverses for a negative `n`.

    >>> from lucid import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Tensor([[1.0, 3.0],
            [0.0, 1.0]], requires_grad=False)
    """
    return lucid.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than `rtol` times the largest.

    >>> from lucid import array_api as xp
    >>> xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor(1, requires_grad=False)
    """
    return lucid.linalg.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Pseudo-inverses; singular values of `rtol` times the largest and less count as zeros.

    >>> from lucid import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return lucid.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> _QR:
    """Orthonormal columns and upper triangles whose product is `x`.

    >>> from lucid import array_api as xp
    >>> q, r = xp.linalg.qr(xp.asarray([[3.0, 1.0], [4.0, 2.0]]))
    >>> xp.abs(r)
    Tensor([[5.0, 2.2],
            [0.0, 0.4]], requires_grad=False)
    """
    return _QR(*lucid.linalg.qr(x, mode))


def slogdet(x: Tensor, /) -> _SignLog:
    """The signs of determinants and the logarithms of their absolute values.

    >>> from lucid import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[1.0, 2.0], [3.0, 4.0]])).logabsdet
    Tensor(0.6931, requires_grad=False)
    """
    return _SignLog(*lucid.linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of ``x1 @ x = x2``; `x2` is a vector if it has one dimension, else matrices.

    >>> from lucid import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))
    Tensor([1.0, 0.5], requires_grad=False)
    """
    x1, x2 = together("solve", x1, x2)
    if x2.ndim == 1:
        return lucid.linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = lucid.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return lucid.linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> _SVD:
    """Singular values, in descending order, between the vectors on both sides.

    >>> from lucid import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    Tensor([4.0, 3.0], requires_grad=False)
    """
    return _SVD(*lucid.linalg.svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values in descending order.

    >>> from lucid import array_api as xp
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Tensor([4.0, 3.0], requires_grad=False)
    """
    return lucid.linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices.

    >>> from lucid import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    Tensor(5, requires_grad=False)
    """
    return lucid.sum(diagonal(x, offset=offset), -1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Norms of vectors along `axis`, or of all elements.

    >>> from lucid import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    Tensor(5.0, requires_grad=False)
    """
    axes = axes_of(axis, x.ndim)
    if axis is None:
        result = lucid.linalg.vector_norm(x.reshape(-1), ord)
        return result.reshape([1] * x.ndim) if keepdims else result
    if not axes:
        return lucid.linalg.vector_norm(x.unsqueeze(-1), ord, dim=-1)
    return lucid.linalg.vector_norm(x, ord, dim=axes, keepdim=keepdims)
