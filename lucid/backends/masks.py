"""Elements chosen by a mask on the CPU, and places of those that are not 0: NumPy's ways or, for large arrays, our kernels."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .bits import BITS, as_bits

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

_LARGE = 1 << 14  # elements; Numba is imported with the first array of as many


def _kernels() -> Any:
    from lucid_kernels.cpu import selection  # compiles with Numba: imported with the first large mask

    return selection


def _compression() -> Any:
    from lucid_kernels.cpu import compression

    return compression


def _large_mask(index: tuple[Any, ...]) -> bool:
    """Whether an index is one large mask. Slices, which come often, are told by their class alone."""
    if len(index) != 1 or index[0].__class__ is not np.ndarray:
        return False
    return bool(index[0].size >= _LARGE and index[0].dtype.kind == "b")


def _single(value: Any, dtype: Any, bits: Any) -> Any:
    return np.full(1, value, dtype).view(bits)


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which serve small arrays, several dtypes and those that no kernel knows."""
    plain = dict(plain)  # the caller puts the results into the table that it passes
    plain_where, plain_fill, plain_getitem, plain_new, plain_put = (
        plain[name] for name in ("where", "masked_fill", "getitem", "scatter_new", "index_put")
    )

    def where(mask: Array, a: Any, b: Any) -> Array:
        arrays = [value for value in (a, b) if isinstance(value, np.ndarray) and value.ndim]
        if not arrays or arrays[0].size < _LARGE or mask.dtype != np.bool_:
            return plain_where(mask, a, b)
        dtype = np.result_type(a, b)
        bits = BITS.get(dtype.itemsize)
        if bits is None or any(array.dtype != dtype for array in arrays):
            return plain_where(mask, a, b)
        shape = np.broadcast_shapes(mask.shape, *[array.shape for array in arrays])
        mask, *given = (np.broadcast_to(array, shape) for array in (mask, *arrays))
        flat = [as_bits(array, bits) for array in given]
        if len(flat) == 2:
            return _kernels().choose(mask, *flat).view(dtype)
        number = _single(b if arrays[0] is a else a, dtype, bits)
        return _kernels().fill(np.logical_not(mask) if arrays[0] is a else mask, *flat, number).view(dtype)

    def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
        bits = BITS.get(x.itemsize)
        if x.size < _LARGE or bits is None or mask.dtype != np.bool_ or (out is not None and not out.flags.c_contiguous):
            return plain_fill(x, mask, value, out=out)
        mask, number = np.broadcast_to(mask, x.shape), _single(value, x.dtype, bits)
        if out is None:
            return _kernels().fill(mask, as_bits(x, bits), number).view(x.dtype)
        _kernels().fill_in_place(mask.copy() if np.may_share_memory(mask, out) else mask, as_bits(out, bits), number)
        return out

    def triangle(name: str) -> Kernel:
        def entry(x: Array, k: int = 0) -> Array:
            bits = BITS.get(x.itemsize)
            if x.size < _LARGE or bits is None:
                return plain[name](x, k)
            return _kernels().triangle(as_bits(x, bits), k, name == "tril").view(x.dtype)

        return entry

    def nonzero(x: Array) -> tuple[Array, ...]:
        if x.size < _LARGE:
            return x.nonzero()
        rest = _compression().places(x if x.dtype == np.bool_ else x != 0)
        found = []
        for length in reversed(x.shape[1:]):
            above = rest // length
            found.append(rest - above * length)
            rest = above
        return (rest, *reversed(found))

    def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
        if not _large_mask(index):
            return plain_getitem(x, index=index)
        mask, bits = index[0], BITS.get(x.itemsize)
        if mask.shape != x.shape[: mask.ndim]:
            return x[index]
        if mask.shape == x.shape and bits:
            return _compression().compress(mask, as_bits(x, bits)).view(x.dtype)
        return np.reshape(x, (mask.size, *x.shape[mask.ndim :])).take(_compression().places(mask), axis=0)

    def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
        bits = BITS.get(values.itemsize)
        if not _large_mask(index) or bits is None or values.ndim != 1 or index[0].shape != shape:
            return plain_new(values, shape=shape, index=index, unique=unique)
        return _compression().expand(index[0], as_bits(values, bits)).view(values.dtype)

    def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
        if accumulate or np.ndim(values) or not _large_mask(index) or index[0].shape != x.shape:
            return plain_put(x, values, index=index, accumulate=accumulate, out=out)
        return masked_fill(x, index[0], values, out=out)

    entries = (where, masked_fill, nonzero, getitem, scatter_new, index_put)
    return {"tril": triangle("tril"), "triu": triangle("triu")} | {entry.__name__: entry for entry in entries}
