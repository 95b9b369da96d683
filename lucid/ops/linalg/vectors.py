"""Lengths, distances and angles of vectors along a dimension, and indices as vectors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes, backends
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import require_tensor
from ..elementwise._fused import fused_formula
from ..elementwise.comparison import clip
from ..manipulation.broadcasting import broadcast_shapes

__all__ = ()  # functions of nn.functional only


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros of shape ``tensor.shape + (num_classes,)`` with a one at the index in `tensor`.

    -1 takes the largest index plus 1. Raises RuntimeError for other dtypes than int64 and for indices out of range.
    """
    if require_tensor("one_hot", tensor).dtype != _dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if tensor.is_meta and num_classes != -1:
        return tensor.new_empty((*tensor.shape, num_classes))
    indices = tensor._array
    if indices.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(indices.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = tensor.new_zeros((*indices.shape, num_classes))
    backends.run("scatter", (result._array, indices[..., None], 1), {"axis": indices.ndim, "out": result._array})
    return result


def normalize(input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """`input` divided by its `p`-norm along `dim`, which counts as at least `eps`."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    if out is not None:
        raise NotImplementedError("normalize: out is not supported; assign the result")
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return input / length


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The scalar product of `x1` and `x2` along `dim`, divided by their lengths, each counted as at least `eps`.

    They broadcast. Raises RuntimeError if neither is floating.
    """
    common = _dtypes.promote_types(x1.dtype, x2.dtype)
    if not _dtypes.is_floating(common):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_name(common)}")
    x1, x2 = x1.to(common), x2.to(common)
    if x1._array.shape != x2._array.shape:
        shape = broadcast_shapes(x1.shape, x2.shape)  # whose dimensions `dim` counts
        x1, x2 = x1.expand(shape), x2.expand(shape)
    return _unit_products(x1, x2, x1.norm(2, dim, keepdim=True), x2.norm(2, dim, keepdim=True), eps).sum(dim)


@fused_formula
def _unit_products(x1: Tensor, x2: Tensor, length1: Tensor, length2: Tensor, eps: float) -> Tensor:
    """Divided before the products are summed, so that no square of a length can overflow or underflow."""
    return x1 / clip(length1, min=eps) * (x2 / clip(length2, min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of ``x1 - x2 + eps`` along the last dimension. They broadcast."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)
