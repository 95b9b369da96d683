"""Elements by index and by mask on a GPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import cupyx
import numpy as np
from lucid_kernels.cuda.elementwise import ternary
from lucid_kernels.cuda.indexing import scatter as scatter_kernels

from ..._determinism import are_deterministic_algorithms_enabled
from ..common import indexing
from ..merge import merge
from . import planning

Array = Any
Kernel = Callable[..., Any]


def _in_order() -> bool:
    """Whether sums and writes are to be the same in every run."""
    return are_deterministic_algorithms_enabled()


def _by_indices(array: Array, index: tuple[Any, ...]) -> tuple[tuple[int, ...], list[Array]] | None:
    """The dimensions that `index` has integers for, and these; None if kernels of ours do not take it."""
    dims = tuple([dim for dim, item in enumerate(index) if item.__class__ is cupy.ndarray])
    indices = [index[dim] for dim in dims]
    for item in index:
        if item.__class__ is cupy.ndarray:
            if item.dtype.kind not in "iu":
                return None
        elif item.__class__ is not slice or item != _WHOLE:
            return None
    ndim = array.ndim - len(dims) + max([item.ndim for item in indices], default=0)
    turned = len(dims) > scatter_kernels.MOST_INDICES and min(array.strides) < 0
    return (dims, indices) if scatter_kernels.suits(array, len(dims), ndim) and not turned else None


def _by_mask(array: Array, index: tuple[Any, ...]) -> Array | None:
    """The one mask in an index of nothing else, as it broadcasts to `array`; None for any other index. Values for it are the same
    at each of its elements: others come with numbers in its place.
    """
    masks = [dim for dim, item in enumerate(index) if item.__class__ is cupy.ndarray]
    if len(masks) != 1 or index[masks[0]].dtype.kind != "b" or any(
            item.__class__ is not slice or item != _WHOLE for item in (*index[: masks[0]], *index[masks[0] + 1 :])):
        return None
    mask = index[masks[0]]
    return mask.reshape(*mask.shape, *[1] * (array.ndim - masks[0] - mask.ndim))


def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
    """`x` with `values` (or a Python number) at `index`; `accumulate` adds them to what is there."""
    found = _by_indices(x if out is None else out, index)
    if found is None:
        mask = None if accumulate else _by_mask(x, index)
        if mask is not None:
            return _write(TABLE["masked_fill"], x, mask, values, out=out)
        return _COMMON["index_put"](x, values, index=index, accumulate=accumulate, out=out)
    return _write(_put, x, values, *found[1], out=out, dims=found[0], accumulate=accumulate, in_order=_in_order())


def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
    """Zeros of `shape` with `values` added at `index`; `unique` says that no element is named twice."""
    found = _by_indices(_Like(shape, values), index)
    if found is None:
        return _COMMON["scatter_new"](values, shape=shape, index=index, unique=unique)
    return _new(values, *found[1], shape=tuple(shape), dims=found[0], unique=unique, in_order=_in_order())


def index_add(x: Array, indices: Array, source: Array, *, axis: int, out: Array | None = None) -> Array:
    """`x` with the slices of `source` added to those along `axis` that `indices` (n,) name."""
    if not scatter_kernels.suits(x, 1, x.ndim):
        return _COMMON["index_add"](x, indices, source, axis=axis, out=out)
    return _write(_put, x, source, indices, out=out, dims=(axis % max(1, x.ndim),), accumulate=True, in_order=_in_order())


def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False, out: Array | None = None) -> Array:
    """`x` with `source` (or a Python number) where `gather` would read; `accumulate` adds to what is there."""
    if not scatter_kernels.suits(x, 1, x.ndim):
        return _COMMON["scatter"](x, indices, source, axis=axis, accumulate=accumulate, out=out)
    return _write(_along, x, indices, source, out=out, axis=axis, accumulate=accumulate, in_order=_in_order())


def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str) -> Array:
    """`x` combined with `source` ('prod', 'amax', 'amin') where `gather` would read."""
    if x.dtype.kind == "c" or not scatter_kernels.suits(x, 1, x.ndim):
        return _COMMON["scatter_reduce"](x, indices, source, axis=axis, reduce=reduce)
    return _reduced(x, indices, source, axis=axis, reduce=reduce, in_order=_in_order())


def gather_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int, unique: bool = False) -> Array:
    """Zeros of `shape` with `g` added where `gather` would read; `unique` says that no element is named twice."""
    if unique and scatter_kernels.suits_place(g, indices, tuple(shape), axis):
        return _placed(g, indices, shape=tuple(shape), axis=axis)
    if not scatter_kernels.suits(g, 1, len(shape)):
        return _COMMON["gather_grad"](g, indices, shape=shape, axis=axis, unique=unique)
    return _gathered(g, indices, shape=tuple(shape), axis=axis, unique=unique, in_order=_in_order())


def _write(kernel: Kernel, x: Array, *others: Any, out: Array | None, **attributes: Any) -> Array:
    """A kernel that writes into `out`, beside whose memory the `others` that it reads must lie; or into a new array."""
    if out is None:
        return kernel(x, *others, **attributes)
    memory = out.data.mem
    apart = [y.copy() if y.__class__ is cupy.ndarray and y.data.mem is memory else y for y in others]
    return kernel(x, *apart, out=out, **attributes)


class _Like:
    """An array that is not there yet."""

    strides = (0,)

    def __init__(self, shape: tuple[int, ...], values: Array) -> None:
        self.ndim, self.dtype = len(shape), values.dtype


def scatter_add(array: Array, index: Any, values: Array) -> None:
    """Add `values` at `index`, in place, also where elements are named twice."""
    found = _by_indices(array, index if index.__class__ is tuple else (index,))
    if found is not None:
        _write(_put, array, values, *found[1], out=array, dims=found[0], accumulate=True, in_order=_in_order())
    elif array.dtype.kind == "c":  # no atomics: the parts, one after the other
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
    last = index[-1] if index else Ellipsis
    if not hasattr(last, "dtype") or last.dtype.kind == "b":
        return x[index]
    if len(index) == 1:
        return x.take(last, axis=0)
    lead = index[:-1]
    if all(item.__class__ is slice and item == slice(None) for item in lead):  # of a view `take` would copy all first
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
_WHOLE = slice(None)
#: The kernels of ours behind the entries of these names: with indices as arguments, whose plans hold the order that is required.
WRITES = planning.all_planned({kernel.__name__: kernel for kernel in (
    scatter_kernels.index_put, scatter_kernels.scatter_new, scatter_kernels.scatter, scatter_kernels.gather_grad,
    scatter_kernels.scatter_reduce, scatter_kernels.place)})
_put, _new, _along, _gathered, _reduced, _placed = WRITES.values()
_WRITING: dict[str, Kernel] = {
    function.__name__: function for function in (gather_grad, index_add, index_put, scatter, scatter_new, scatter_reduce)}
_COMMON: dict[str, Kernel] = indexing.table(cupy, scatter_add, _combine_at)
_OWN = {"embedding", "gather", "index_select", "index_select_grad", *_WRITING}  # kernels of ours, and the function above
TABLE: dict[str, Kernel] = merge(
    {name: entry for name, entry in _COMMON.items() if name not in _OWN},
    planning.all_planned({function.__name__: function for function in _FUNCTIONS}), _WRITING,
    {"nonzero": cupy.nonzero, "take": cupy.take, "take_along_axis": cupy.take_along_axis})
