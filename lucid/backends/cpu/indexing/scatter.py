"""Elements and slices of CPU arrays that are written by index: by NumPy for a few, by our kernels for many."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...sizes import ADD_AT_FROM, ADD_AT_OF_VECTOR_FROM
from ..bits import BITS, as_bits

Array = np.ndarray[Any, Any]

WHOLE = slice(None)
_ADDED = frozenset(np.dtype(kind) for kind in ("f4", "f8", "i4", "i8"))  # whose sums a kernel is compiled for


def kernels() -> Any:
    """What compiles with Numba: imported with the first many indices."""
    from lucid_kernels.cpu.indexing import gather_scatter

    return gather_scatter


def scatter_add(array: Array, index: Any, values: Any) -> None:
    """Add `values` (or a number) at `index`, in place; many slices by our kernel: `add.at` takes 10 to 40 times as long."""
    slices = None
    if isinstance(values, np.ndarray) and are_added(values, array.ndim, array.dtype) and array.flags.c_contiguous:
        slices = slices_of_index(array.shape, index if isinstance(index, tuple) else (index,))
    if slices is None:
        np.add.at(array, index, values)
        return
    first, last, positions = slices
    lead, rest = array.shape[:first], array.shape[last:]
    shape = (*lead, *positions.shape, *rest)
    if values.shape != shape:
        values = np.broadcast_to(values, shape)
    add_slices(array.reshape(*lead, -1, *rest), positions.reshape(-1), values.reshape(*lead, positions.size, *rest), first)


def are_added(values: Array, ndim: int, dtype: np.dtype) -> bool:
    """Whether our kernels add `values` to slices of a contiguous array of `ndim` dimensions."""
    return values.size >= (ADD_AT_OF_VECTOR_FROM if ndim == 1 else ADD_AT_FROM) and dtype in _ADDED and values.dtype == dtype


def add_slices(array: Array, indices: Array, values: Array, axis: int) -> None:
    """Add `values` to the slices along `axis` that `indices` name, none negative or out of range, in place."""
    if array.ndim == 1:
        combine(array, indices, values, axis, kernels().ADD)
        return
    from lucid_kernels.cpu.arrays import layout as arrays_layout
    from lucid_kernels.cpu.indexing import index_add

    index_add.scatter_add(array, indices, arrays_layout.contiguous(values), axis)


def slices_of_index(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[int, int, Array] | None:
    """An index that has vectors for dimensions first to last, and all of the others, as one for these dimensions together.

    None for other indices, those out of range among them.
    """
    dims = [dim for dim, item in enumerate(index) if isinstance(item, np.ndarray)]
    others = [item for item in index if not isinstance(item, np.ndarray)]
    if not dims or dims[-1] - dims[0] >= len(dims) or any(item != WHOLE for item in others):
        return None
    positions: Any = 0
    for dim in dims:
        given, length = index[dim], shape[dim]
        if given.dtype.kind not in "iu" or not given.size:
            return None
        if not _are_below(length, given):
            if not -length <= given.min() <= given.max() < length:
                return None
            given = np.where(given < 0, given + length, given)
        given = given.astype(np.int64, copy=False)
        positions = positions * length + given if dim != dims[0] else given
    return dims[0], dims[-1] + 1, positions


def _are_below(length: int, indices: Array) -> bool:
    """Whether all indices are from 0 to below `length`: as unsigned integers, negative ones are too large as well."""
    return bool(np.maximum.reduce(indices.view(f"u{indices.itemsize}"), axis=None) < length)


def combine(result: Array, indices: Array, source: Any, axis: int, kind: int) -> bool:
    """Whether our kernel has combined `source`, an array or a number, with the elements of `result` at the indices."""
    loops = kernels()
    bits = result.dtype if result.dtype in _ADDED else BITS.get(result.itemsize) if kind == loops.WRITE else None
    view = loops.view_of(result.shape, indices.shape, axis)
    values = np.asarray(source, result.dtype)
    if bits is None or view is None or not result.flags.c_contiguous or values.shape not in ((), indices.shape):
        return False
    values, indices = (array.copy() if np.may_share_memory(array, result) else array for array in (values, indices))
    values = as_bits(values, bits).reshape(values.shape)
    loops.scatter(as_bits(result, bits), indices.astype(np.int64, copy=False), values, view, kind)
    return True
