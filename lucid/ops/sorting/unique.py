"""Distinct elements, rows and runs."""
from __future__ import annotations

from typing import Any, Literal, overload

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor
from ..creation.creation import arange
from ..indexing.nonzero import nonzero
from ..manipulation.joining import cat
from .sorting import sort

METHODS = ("unique", "unique_consecutive")


_lexsort = operation("lexsort")


def _groups(ordered: Tensor, order: Tensor | None, inverse: bool, counts: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Of the slices along dimension 0, equal ones side by side: one of each, the number of the group of each, their lengths."""
    length = ordered.shape[0]
    if length == 0:
        none = ordered.new_zeros(0, dtype=_dtypes.int64)
        return ordered, none if inverse else None, none if counts else None
    changes = ordered[1:] != ordered[:-1]
    if changes.ndim > 1:
        changes = changes.flatten(1).any(1)
    starts = cat([changes.new_ones(1), changes])
    first = nonzero(starts).reshape(-1)
    group = None
    if inverse:
        group = starts.cumsum(0) - 1
        group = group if order is None else group.new_zeros(length).scatter(0, order, group)
    sizes = cat([first[1:], first.new_full((1,), length)]) - first if counts else None
    return ordered[first], group, sizes


def _rows(input: Tensor, dim: int) -> tuple[Tensor, Any]:
    """`input` with `dim` in front, and what puts it back."""
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = canonical_dim(dim, input.ndim)
    if any(n == 0 for d, n in enumerate(input.shape) if d != axis):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return input.movedim(axis, 0), lambda found: found.movedim(0, axis)


def _answer(*results: Tensor | None) -> Any:
    given = tuple(r for r in results if r is not None)
    return given[0] if len(given) == 1 else given


def _orderable(input: Tensor) -> Tensor:
    x = require_tensor("unique", input).detach()
    if x.is_complex():
        raise NotImplementedError(f"\"unique\" not implemented for '{type_name(x.dtype)}'")
    return x


@overload
def unique(input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False,
           return_counts: Literal[False] = False, dim: int | None = None) -> Tensor: ...


@overload
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any: ...


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The different elements in order (whether or not `sorted` asks for it), or the different slices along `dim`.

    With `return_inverse`, also where each element went, and with `return_counts` how often each appears: a tuple then. NaNs
    differ from each other. Waits for a GPU; raises NotImplementedError on the device 'meta', where the length is unknown.

    >>> lucid.unique(lucid.tensor([3, 1, 3, 2]))
    Tensor([1, 2, 3], requires_grad=False)
    >>> lucid.unique(lucid.tensor([3, 1, 3]), return_counts=True)
    (Tensor([1, 3], requires_grad=False), Tensor([1, 2], requires_grad=False))
    """
    x = _orderable(input)
    if dim is None:
        values, order = sort(x.reshape(-1), 0)
        found, group, counts = _groups(values, order, return_inverse, return_counts)
        return _answer(found, None if group is None else group.reshape(x.shape), counts)
    rows, back = _rows(x, dim)
    order = _lexsort(rows.reshape(rows.shape[0], -1)) if rows.shape[0] else arange(0, device=x.device)
    found, group, counts = _groups(rows[order], order, return_inverse, return_counts)
    return _answer(back(found), group, counts)


@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
                       dim: int | None = None) -> Tensor: ...


@overload
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any: ...


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The first of each run of equal elements, or of equal slices along `dim`; results and errors as of `unique`.

    >>> lucid.unique_consecutive(lucid.tensor([1, 1, 2, 1]))
    Tensor([1, 2, 1], requires_grad=False)
    """
    x = _orderable(input)
    if dim is None:
        found, group, counts = _groups(x.reshape(-1), None, return_inverse, return_counts)
        return _answer(found, None if group is None else group.reshape(x.shape), counts)
    rows, back = _rows(x, dim)
    found, group, counts = _groups(rows, None, return_inverse, return_counts)
    return _answer(back(found), group, counts)


register(__name__)
