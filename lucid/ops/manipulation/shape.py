"""The shape of a tensor: the same elements in other dimensions. Where PyTorch returns a view, so does lucid: memory is
shared, and in-place writes are tracked.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.op import Op, ViewOp, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, canonical_dims, integers, require_tensor

METHODS = ("reshape", "view", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze")


def _reshape_rule(needs: Any, x: Tensor, *, shape: tuple[int, ...]) -> Vjp:
    source = x._array.shape
    return lambda g, y: (_reshape(g, shape=source),)


_reshape = ViewOp("reshape", _reshape_rule)
_reinterpret = Op("view_dtype", view=True)


def _resolve(shape: tuple[int, ...], size: int, given: Sequence[int]) -> tuple[int, ...]:
    """`shape` with its -1 replaced. Raises RuntimeError if `size` elements do not fit."""
    if -1 in shape:
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        rest = -math.prod(shape)  # of the other lengths
        if rest == 0:
            raise RuntimeError(f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified "
                               "dimension size -1 can be any value and is ambiguous")
        if size % rest:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        place = shape.index(-1)
        return (*shape[:place], size // rest, *shape[place + 1:])
    if shape and min(shape) < 0:
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if math.prod(shape) != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def reshape(input: Tensor, *sizes: Any, shape: Any = ()) -> Tensor:
    """The elements in another shape, one length of which may be -1; a view where the memory allows it."""
    x = require_tensor("reshape", input)._array
    return _reshape(input, shape=_resolve(integers(sizes or (shape,)), x.size, x.shape))


def view(input: Tensor, *sizes: Any, size: Any = (), dtype: Any = None) -> Tensor:
    """`reshape` that never copies; with a dtype, the same bytes as that dtype.

    Raises RuntimeError if the memory does not allow the shape: use `reshape` then.
    """
    if dtype is not None or (len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list))):
        return _view_dtype(input, _dtypes.as_dtype(sizes[0] if dtype is None else dtype))
    result = reshape(input, *sizes, shape=size)
    if result._view is None and result._array is not input._array and result._array.size > 1:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return result


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    if input._node is not None:
        raise RuntimeError("view with another dtype is not differentiable; detach() the tensor first")
    return _reinterpret(input, dtype=dtype)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`view` with the shape of `other`."""
    return view(input, other.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of `other`."""
    return reshape(input, other.shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one; a 0-d tensor becomes 1-d."""
    ndim = input.ndim
    first, last = canonical_dim(start_dim, ndim), canonical_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input._array.shape
    if ndim and first == last:
        return input
    return _reshape(input, shape=(*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension `dim` as several of lengths `sizes`, one of which may be -1."""
    dim = canonical_dim(dim, input.ndim)
    shape = input._array.shape
    return _reshape(input, shape=(*shape[:dim], *_resolve(tuple(sizes), shape[dim], shape), *shape[dim + 1:]))


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension."""
    return reshape(input, -1) if input.numel() else reshape(input, 0)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of length 1, or without those of `dim` that have length 1."""
    shape = input._array.shape
    dims = range(len(shape)) if dim is None else () if dim == () else canonical_dims(dim, len(shape))
    return _reshape(input, shape=tuple([n for i, n in enumerate(shape) if n != 1 or i not in dims]))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of length 1 inserted at `dim`."""
    shape = input._array.shape
    dim = canonical_dim(dim, len(shape) + 1)
    return _reshape(input, shape=(*shape[:dim], 1, *shape[dim:]))


register(__name__)
