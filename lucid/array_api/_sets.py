"""The different elements of an array. NaN differs from itself, so that each of them is an element of its own."""
from __future__ import annotations

from typing import NamedTuple

import lucid

from .. import Tensor

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class _All(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class _Counts(NamedTuple):
    values: Tensor
    counts: Tensor


class _Inverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> _All:
    """The different elements, sorted; the index of the first of each in the flattened array; where among them each element of `x`
    is; how often each occurs. Complex ones are sorted by the real, then by the imaginary part.

    >>> from lucid import array_api as xp
    >>> xp.unique_all(xp.asarray([3, 1, 3])).inverse_indices
    Tensor([1, 0, 1], requires_grad=False)
    """
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = flat[order]
    is_first = lucid.ones(flat.shape, dtype=lucid.bool, device=x.device)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = lucid.nonzero(is_first).reshape(-1)
    inverse = lucid.empty(flat.shape, dtype=lucid.int64, device=x.device)
    inverse[order] = lucid.cumsum(is_first, 0) - 1
    ends = lucid.cat([starts, lucid.full((1,), flat.numel(), device=x.device)])
    return _All(ordered[starts], order[starts], inverse.reshape(x.shape), lucid.diff(ends))


def _order(flat: Tensor) -> Tensor:
    """The indices that sort `flat`; equal elements keep their order."""
    if flat.dtype.kind != "c":
        return lucid.argsort(flat, stable=True)
    by_imaginary = lucid.argsort(flat.imag, stable=True)
    return by_imaginary[lucid.argsort(flat.real[by_imaginary], stable=True)]


def unique_counts(x: Tensor, /) -> _Counts:
    """The different elements, sorted, and how often each occurs.

    >>> from lucid import array_api as xp
    >>> xp.unique_counts(xp.asarray([3, 1, 3])).counts
    Tensor([1, 2], requires_grad=False)
    """
    found = unique_all(x)
    return _Counts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> _Inverse:
    """The different elements, sorted, and where among them each element of `x` is.

    >>> from lucid import array_api as xp
    >>> xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices
    Tensor([1, 0, 1], requires_grad=False)
    """
    found = unique_all(x)
    return _Inverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements, sorted.

    >>> from lucid import array_api as xp
    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    Tensor([1, 3], requires_grad=False)
    """
    return unique_all(x).values
