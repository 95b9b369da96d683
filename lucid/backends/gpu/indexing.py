"""Elements by index and by mask on a GPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import cupyx
import numpy as np
from lucid_kernels.cuda.elementwise import ternary

from ..common import embedding_bag, indexing
from ..merge import merge
from . import planning

Array = Any
Kernel = Callable[..., Any]


def scatter_add(array: Array, index: Any, values: Array) -> None:
    """Add `values` at `index`, in place, also where elements are named twice."""
    if array.dtype.kind == "c":  # no atomics: the parts, one after the other
        cupyx.scatter_add(array.real, index, values.real)
        cupyx.scatter_add(array.imag, index, values.imag)
    elif array.dtype == np.int64:  # no atomics, but two's complement adds like unsigned
        cupyx.scatter_add(array.view(np.uint64), index, values.view(np.uint64))
    elif array.dtype.itemsize < 4:
        wide = array.astype(np.int32)
        cupyx.scatter_add(wide, index, values.astype(np.int32))
        array[...] = wide.astype(array.dtype)
    else:
        cupyx.scatter_add(array, index, values)


def _combine_at(combine: Kernel, result: Array, indices: tuple[Array, ...], source: Array) -> None:
    """Sorted by place, scanned within each place, the last of each written: CuPy has no `ufunc.at` for most functions."""
    if not source.size:
        return
    flat = cupy.zeros(source.shape, np.int64)
    for place, length in zip(indices, result.shape, strict=True):
        flat = flat * length + place
    flat = flat.reshape(-1)
    order = cupy.argsort(flat, kind="stable")
    keys, values = flat[order], source.reshape(-1)[order]
    step = 1
    while step < keys.size:
        same = keys[step:] == keys[:-step]
        values[step:] = cupy.where(same, combine(values[:-step], values[step:]), values[step:])
        step *= 2
    last = cupy.ones(keys.shape, np.bool_)
    last[:-1] = keys[1:] != keys[:-1]
    spots, found = keys[last], values[last]
    whole = result.reshape(-1)  # a view: `result` is a fresh row-major copy
    whole[spots] = combine(whole[spots], found)


def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
    """``x[index]``, rows and columns by `take`, which is several times as fast."""
    if len(index) == 1 and hasattr(index[0], "dtype") and index[0].dtype.kind != "b":
        return x.take(index[0], axis=0)
    *lead, last = index
    whole = lead and all(item.__class__ is slice and item == slice(None) for item in lead)
    if whole and hasattr(last, "dtype") and last.dtype.kind != "b":  # of a view `take` would copy all first
        return x.take(last, axis=len(lead)) if x.flags.c_contiguous else cupy.ascontiguousarray(x[index])
    return x[index]


def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
    """`x` with `value` where `mask` is true."""
    if ternary.suits(mask, value, x) and (out is None or (out.shape == x.shape and out.dtype == x.dtype)):
        return ternary.where(mask, value, x, out=out)
    result = x.copy() if out is None else out
    cupy.copyto(result, value if hasattr(value, "dtype") else cupy.full((), value, x.dtype), where=mask)
    return result


def where(condition: Array, a: Any, b: Any) -> Array:
    """`a` where `condition` is true, else `b`."""
    return ternary.where(condition, a, b) if ternary.suits(condition, a, b) else cupy.where(condition, a, b)


def index_select_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
    """Zeros of `shape` with the slices of `g` added where `index_select` would read; of real numbers in a fixed order."""
    if g.dtype.kind == "c":
        return _COMMON["scatter_new"](g, shape=shape, index=(*(slice(None),) * axis, indices), unique=False)
    from lucid_kernels.cuda.indexing import embedding

    return embedding.index_select_grad(g, indices, shape=shape, axis=axis)


_FUNCTIONS: Sequence[Kernel] = (getitem, index_select_grad, masked_fill, where)
_COMMON: dict[str, Kernel] = indexing.table(cupy, scatter_add, _combine_at)
_OWN = {"embedding", "gather", "index_select", "index_select_grad"}  # kernels of ours, and the function above
TABLE: dict[str, Kernel] = merge(
    {name: entry for name, entry in _COMMON.items() if name not in _OWN}, embedding_bag.table(cupy, scatter_add),
    planning.all_planned({function.__name__: function for function in _FUNCTIONS}),
    {"nonzero": cupy.nonzero, "take": cupy.take, "take_along_axis": cupy.take_along_axis})
