"""Norms, products with sparse matrices and with groups of matrices, by names that stand in PyTorch's own namespace only."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor
from .._out import accepts_out
from ..manipulation.joining import cat, stack
from .matmul import matmul
from .matrix_norms import matrix_norm
from .vector_norms import vector_norm


@accepts_out
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix, or of those that two dimensions `dim` hold.

    >>> lucid.nuclear_norm(lucid.diag(lucid.tensor([3.0, -4.0])))
    Tensor(7.0, requires_grad=False)
    """
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    if dim is None and input.ndim != 2:
        raise RuntimeError(f"Expected a tensor with 2 dimensions, but got a tensor with {input.ndim} dimensions instead.")
    result: Tensor = matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)
    return result


@accepts_out
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The root of the sum of squares along one or two dimensions, or along all if `dim` is empty.

    >>> lucid.frobenius_norm(lucid.tensor([[3.0, 4.0]]), 1)
    Tensor([5.0], requires_grad=False)
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    result: Tensor = vector_norm(input, 2, dims or None, keepdim)
    return result


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`sparse.mm`.

    >>> lucid.spmm(lucid.eye(2).to_sparse(), lucid.ones(2, 1))
    Tensor([[1.0],
            [1.0]], requires_grad=False)
    """
    return matmul(input, mat2)


dsmm = spmm


def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
               ) -> Tensor:
    """The products of several pairs of matrices, of which one side may lie together in one matrix: group number i ends at
    ``offs[i]`` of its rows (of `mat_a` (n, k), with `mat_b` (g, k, m)), of its columns (of `mat_b` (k, m), with `mat_a` (g, n,
    k)) or of the length that is summed over (of both (n, k) and (k, m), with the result (g, n, m)). Two stacks are multiplied
    as by `bmm`, without `offs`. What is beyond the last end is zero. `offs` is read on the host.

    >>> tokens, experts = lucid.ones(3, 2), lucid.arange(1.0, 3.0).reshape(2, 1, 1).expand(2, 2, 1)
    >>> F.grouped_mm(tokens, experts, offs=lucid.tensor([1, 3], dtype=lucid.int32)).flatten()
    Tensor([2.0, 4.0, 4.0], requires_grad=False)
    """
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported")
    if mat_a.ndim not in (2, 3) or mat_b.ndim not in (2, 3):
        raise RuntimeError("mat_a has to be 2 or 3d, and mat_b has to be 2 or 3d")
    if (offs is None) != (mat_a.ndim == mat_b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        result = matmul(mat_a, mat_b)
        return result if out_dtype is None else result.to(out_dtype)
    ends = [int(end) for end in offs.tolist()]
    starts = [0, *ends[:-1]]
    groups = list(zip(starts, ends, strict=True))
    if any(start > end for start, end in groups):
        raise RuntimeError(f"grouped_mm: the ends must not fall, got {ends}")
    for matrices in (mat_a, mat_b):
        if matrices.ndim == 3 and len(matrices) != len(groups):
            raise RuntimeError(f"matrix batch sizes have to match: {len(matrices)} matrices and {len(groups)} groups")
    if mat_a.ndim == 2 and mat_b.ndim == 2:
        result = stack([matmul(mat_a[:, start:end], mat_b[start:end]) for start, end in groups])
    elif mat_a.ndim == 2:
        parts = [matmul(mat_a[start:end], mat_b[number]) for number, (start, end) in enumerate(groups)]
        rest = mat_a.new_zeros((mat_a.shape[0] - ends[-1], mat_b.shape[-1]))
        result = cat([*parts, rest], 0)
    else:
        parts = [matmul(mat_a[number], mat_b[:, start:end]) for number, (start, end) in enumerate(groups)]
        rest = mat_a.new_zeros((mat_a.shape[1], mat_b.shape[1] - ends[-1]))
        result = cat([*parts, rest], 1)
    return result if out_dtype is None else result.to(out_dtype)
