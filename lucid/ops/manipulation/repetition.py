"""Elements repeated, in memory of their own."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, integers, require_tensor
from ..creation.creation import arange
from .broadcasting import expand
from .padding import pad
from .shape import ravel, reshape, unsqueeze

_bag_indices = operation("bag_indices")  # of "bags" of positions, one for each element

METHODS = ("repeat", "tile", "repeat_interleave")


def repeat(input: Tensor, *sizes: Any, repeats: Any = ()) -> Tensor:
    """The tensor repeated along each dimension; more counts than dimensions add dimensions in front.

    >>> lucid.tensor([1, 2]).repeat(2, 2)
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], requires_grad=False)
    """
    counts, shape = integers(sizes or (repeats,)), input._array.shape
    if len(counts) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    full = (1,) * (len(counts) - len(shape)) + shape
    pairs = [n for count, length in zip(counts, full, strict=True) for n in (count, length)]
    wide = reshape(input, [n for length in full for n in (1, length)])
    return _copied_as(expand(wide, pairs), tuple(c * n for c, n in zip(counts, full, strict=True)))


def _copied_as(expanded: Tensor, shape: tuple[int, ...]) -> Tensor:
    """An expanded tensor copied into memory of its own, in another shape."""
    return reshape(expanded.clone(), shape)


def tile(input: Tensor, *sizes: Any, dims: Any = ()) -> Tensor:
    """`repeat` with missing counts, in front, taken as 1.

    >>> lucid.tile(lucid.tensor([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], requires_grad=False)
    """
    counts = integers(sizes or (dims,))
    return repeat(input, (1,) * max(input.ndim - len(counts), 0) + counts)


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element (or slice along `dim`) repeated in place; `repeats` is a number or an int32 or int64 tensor
    of one number for each; NotImplementedError for other dtypes.

    Without `repeats`, `input` is the vector of counts, and the result says which of them each position belongs to. `output_size`
    is the length that the result must have: RuntimeError otherwise.

    >>> lucid.repeat_interleave(lucid.tensor([1, 2]), 2)
    Tensor([1, 1, 2, 2], requires_grad=False)
    >>> lucid.repeat_interleave(lucid.tensor([1, 2]), lucid.tensor([3, 1]))
    Tensor([1, 1, 1, 2], requires_grad=False)
    """
    if repeats is None:
        if require_tensor("repeat_interleave", input).ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return repeat_interleave(arange(input.numel(), device=input.device), input, 0, output_size=output_size)
    result = _repeated(input, repeats, dim)
    axis = 0 if dim is None else canonical_dim(dim, input.ndim)
    if output_size is not None and result._array.shape[axis] != output_size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {result._array.shape[axis]}, got {output_size}")
    return result


def _repeated(input: Tensor, repeats: Any, dim: int | None) -> Tensor:
    if dim is None:
        input, dim = ravel(input), 0
    dim = canonical_dim(dim, input.ndim)
    length = input._array.shape[dim]
    if isinstance(repeats, Tensor):
        if repeats.numel() not in (1, length):
            raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                               f"{repeats.numel()} and input.size({dim}) = {length}")
        if repeats.dtype not in (_dtypes.int32, _dtypes.int64):
            raise NotImplementedError(f"\"repeat_interleave\" not implemented for repeats of dtype '{type_name(repeats.dtype)}'")
    if isinstance(repeats, Tensor) and repeats.numel() != 1:
        if (repeats < 0).any():
            raise RuntimeError("repeats can not be negative")
        edges = pad(repeats.to(input.device, _dtypes.int64).cumsum(0), (1, 0))
        return input.index_select(dim, _bag_indices(edges, count=int(edges[-1])))
    times = int(repeats)
    shape = input._array.shape
    wide = expand(unsqueeze(input, dim + 1), (*shape[:dim + 1], times, *shape[dim + 1:]))
    return _copied_as(wide, (*shape[:dim], length * times, *shape[dim + 1:]))


register(__name__)
