"""The shape of a tensor: the same elements in other dimensions. Where PyTorch returns a view, so does lucid: memory is
shared, and in-place writes are tracked.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ..._namespace.foreign import defer, defers
from ...autograd.calls import operation, view_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, canonical_dims, integers, require_tensor

METHODS = ("reshape", "view", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze")


def _reshape_rule(needs: Any, x: Tensor, *, shape: tuple[int, ...]) -> Vjp:
    source = x._array.shape
    return lambda g, y: (_reshape(g, shape=source),)


_reshape = view_op("reshape", _reshape_rule)
_reinterpret = operation("view_dtype", view=True)


@functools.lru_cache(maxsize=1024)  # of integers, as `integers` gives them
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


@defers
def reshape(input: Tensor, *sizes: Any, shape: Any = ()) -> Tensor:
    """The elements in another shape, one length of which may be -1; a view where the memory allows it.

    >>> lucid.reshape(lucid.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], requires_grad=False)
    """
    try:
        x = require_tensor("reshape", input)._array
    except TypeError:
        return defer("reshape", input, *sizes, **({"shape": shape} if shape else {}))
    return _reshape(input, shape=_resolve(integers(sizes or (shape,)), x.size, x.shape))


def view(input: Tensor, *sizes: Any, size: Any = (), dtype: Any = None) -> Tensor:
    """`reshape` that never copies; with a dtype, the same bytes as that dtype.

    Raises RuntimeError if the memory does not allow the shape: use `reshape` then.

    >>> lucid.arange(6).view(2, 3)
    Tensor([[0, 1, 2],
            [3, 4, 5]], requires_grad=False)
    >>> lucid.tensor([1.0]).view(lucid.int32)
    Tensor([1065353216], dtype=int32, requires_grad=False)
    """
    if dtype is not None or (len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list))):
        return _view_dtype(input, _dtypes.as_dtype(sizes[0] if dtype is None else dtype))
    x = require_tensor("view", input)._array
    result: Tensor = _reshape(input, shape=_resolve(integers(sizes or (size,)), x.size, x.shape))
    if result._view is None and result._array is not x and x.size > 1:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return result


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    if input._node is not None:
        raise RuntimeError("view with another dtype is not differentiable; detach() the tensor first")
    return _reinterpret(input, dtype=dtype)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`view` with the shape of `other`.

    >>> lucid.view_as(lucid.arange(4), lucid.zeros(2, 2))
    Tensor([[0, 1],
            [2, 3]], requires_grad=False)
    """
    return view(input, other.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of `other`.

    >>> lucid.reshape_as(lucid.arange(4), lucid.zeros(2, 2))
    Tensor([[0, 1],
            [2, 3]], requires_grad=False)
    """
    return reshape(input, other.shape)


@defers
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one; a 0-d tensor becomes 1-d.

    >>> lucid.flatten(lucid.zeros(2, 3, 4)).shape, lucid.flatten(lucid.zeros(2, 3, 4), start_dim=1).shape
    (lucid.Size([24]), lucid.Size([2, 12]))
    """
    try:
        shape = input._array.shape
    except AttributeError:
        return defer("flatten", input, *(() if (start_dim, end_dim) == (0, -1) else (start_dim, end_dim)))
    flat = _flattened(shape, start_dim, end_dim)
    return input if flat == shape and shape else _reshape(input, shape=flat)


@functools.lru_cache(maxsize=256, typed=True)  # typed: True is no dimension
def _flattened(shape: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    first, last = canonical_dim(start, len(shape)), canonical_dim(end, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:])


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension `dim` as several of lengths `sizes`, one of which may be -1.

    >>> lucid.unflatten(lucid.zeros(2, 6), 1, (3, -1)).shape
    lucid.Size([2, 3, 2])
    """
    dim = canonical_dim(dim, input.ndim)
    shape = input._array.shape
    return _reshape(input, shape=(*shape[:dim], *_resolve(integers((sizes,)), shape[dim], shape), *shape[dim + 1:]))


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension. A view where the memory is contiguous, else a copy.

    >>> lucid.ravel(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([1, 2, 3, 4], requires_grad=False)
    """
    return reshape(input, -1) if input.numel() else reshape(input, 0)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of length 1, or without those of `dim` that have length 1.

    >>> lucid.squeeze(lucid.zeros(1, 2, 1)).shape, lucid.squeeze(lucid.zeros(1, 2, 1), 0).shape
    (lucid.Size([2]), lucid.Size([2, 1]))
    """
    shape = input._array.shape
    dims = range(len(shape)) if dim is None else () if dim == () else canonical_dims(dim, len(shape))
    return _reshape(input, shape=tuple([n for i, n in enumerate(shape) if n != 1 or i not in dims]))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of length 1 inserted at `dim`. A view. Raises IndexError for a `dim` outside [-n - 1, n].

    >>> lucid.unsqueeze(lucid.tensor([1, 2]), 1)
    Tensor([[1],
            [2]], requires_grad=False)
    """
    return _reshape(input, shape=_unsqueezed(input._array.shape, dim))


@functools.lru_cache(maxsize=256, typed=True)
def _unsqueezed(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    dim = canonical_dim(dim, len(shape) + 1)
    return (*shape[:dim], 1, *shape[dim:])


register(__name__)
