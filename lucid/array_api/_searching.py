"""Indices, sorting and what is found by them."""
from __future__ import annotations

from typing import Any, overload

import lucid

from .. import Tensor
from ._operands import axes_of, together

__all__ = ["argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "where"]


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The places `indices` of `x` along `axis`, which may be left out for one dimension; negative ones count from the end.

    Raises ValueError without `axis` for several dimensions, and IndexError for an index out of range.

    >>> from lucid import array_api as xp
    >>> xp.take(xp.asarray([10, 20, 30]), xp.asarray([2, 0]))
    Tensor([30, 10], requires_grad=False)
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of {x.ndim} dimensions needs an axis")
        axis = 0
    (axis,) = axes_of(axis, x.ndim)
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The element of each place whose index along `axis` stands in `indices`; the other axes broadcast.

    >>> from lucid import array_api as xp
    >>> x = xp.asarray([[3, 1], [2, 5]])
    >>> xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1)
    Tensor([[1, 3],
            [2, 5]], requires_grad=False)
    """
    (axis,) = axes_of(axis, x.ndim)
    return lucid.take_along_dim(x, lucid.where(indices < 0, indices + x.shape[axis], indices).to(lucid.int64), axis)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the first of the largest elements stands.

    >>> from lucid import array_api as xp
    >>> xp.argmax(xp.asarray([[1, 5, 2], [7, 0, 7]]), axis=1)
    Tensor([1, 0], requires_grad=False)
    """
    return lucid.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the first of the smallest elements stands.

    >>> from lucid import array_api as xp
    >>> xp.argmin(xp.asarray([[1, 5, 2], [7, 0, 7]]), axis=1)
    Tensor([0, 1], requires_grad=False)
    """
    return lucid.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero.

    >>> from lucid import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0)
    Tensor([1, 2], requires_grad=False)
    """
    return lucid.sum(x != 0, axes_of(axis, x.ndim), keepdims) if x.ndim else (x != 0).to(lucid.int64)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, an array for each axis. Raises ValueError for a 0-d array.

    >>> from lucid import array_api as xp
    >>> xp.nonzero(xp.asarray([0, 1, 2]))
    (Tensor([1, 2], requires_grad=False),)
    """
    if not x.ndim:
        raise ValueError("nonzero: the array has no dimensions")
    return lucid.nonzero(x, as_tuple=True)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where each element of `x2` goes in `x1`, which is sorted, or is by the indices `sorter`.

    >>> from lucid import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([0, 3, 9]))
    Tensor([0, 1, 3], requires_grad=False)
    """
    x1, x2 = together("searchsorted", x1, x2)
    return lucid.searchsorted(x1, x2, side=side, sorter=None if sorter is None else sorter.to(lucid.int64))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along `axis`.

    >>> from lucid import array_api as xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    Tensor([3, 2, 1], requires_grad=False)
    """
    return lucid.sort(x, axis, descending, stable).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that put the elements in order along `axis`; equal ones keep their order if `stable`.

    >>> from lucid import array_api as xp
    >>> xp.argsort(xp.asarray([3, 1, 2]), descending=True)
    Tensor([0, 2, 1], requires_grad=False)
    """
    return lucid.argsort(x, axis, descending, stable)


@overload
def where(condition: Tensor, /) -> tuple[Tensor, ...]: ...


@overload
def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor: ...


def where(condition: Tensor, x1: Any = None, x2: Any = None, /) -> Any:
    """The elements of `x1` where `condition` is true, else those of `x2`; one of them may be a Python scalar.

    Without both, as scikit-learn calls it and NumPy and PyTorch allow, `nonzero`.

    >>> from lucid import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
    Tensor([1, 0], requires_grad=False)
    """
    if x1 is x2 is None:
        return nonzero(condition)
    return lucid.where(condition, *together("where", x1, x2))
