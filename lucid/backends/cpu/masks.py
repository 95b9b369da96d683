"""Elements chosen by a mask on the CPU, and places of those that are not 0: NumPy's ways or, for large arrays, our kernels."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..families import MANY
from .bits import BITS, as_bits

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]



def _combination() -> Any:
    from lucid_kernels.cpu.elementwise import ternary  # compiles with Numba: imported with the first large mask

    return ternary


def _compression() -> Any:
    from lucid_kernels.cpu.indexing import masked_select

    return masked_select


def _large_mask(index: tuple[Any, ...]) -> bool:
    """Whether an index is one large mask. Slices, which come often, are told by their class alone."""
    if len(index) != 1 or index[0].__class__ is not np.ndarray:
        return False
    return bool(index[0].size >= MANY and index[0].dtype.kind == "b")


def spread(array: Array, shape: tuple[int, ...]) -> Array:
    """np.broadcast_to, which takes 2 us, where that is anything else than `array` itself."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which serve small arrays, several dtypes and those that no kernel knows."""
    plain = dict(plain)  # the caller puts the results into the table that it passes
    plain_where, plain_fill, plain_getitem, plain_new, plain_put = (
        plain[name] for name in ("where", "masked_fill", "getitem", "scatter_new", "index_put")
    )

    def where(condition: Array, a: Any, b: Any) -> Array:
        if condition.size < MANY and getattr(a, "size", 1) < MANY and getattr(b, "size", 1) < MANY:
            return plain_where(condition, a, b)
        dtype = a.dtype if a.__class__ is b.__class__ and a.dtype is b.dtype else np.result_type(a, b)
        shape, size = condition.shape, 0
        for value in (a, b):
            if isinstance(value, np.ndarray) and value.ndim:
                if value.dtype != dtype:
                    return plain_where(condition, a, b)
                size = max(size, value.size)
                if value.shape != shape:
                    shape = np.broadcast_shapes(shape, value.shape)
        if size < MANY or dtype.itemsize > 8 or condition.dtype != np.bool_:
            return plain_where(condition, a, b)
        sides = [np.asarray(value, dtype) for value in (a, b)]
        return _combination().where(spread(condition, shape), *[spread(side, shape) if side.ndim else side for side in sides])

    def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
        here = out is None or (out is x and x.flags.writeable)
        if x.size < MANY or x.itemsize > 8 or mask.dtype != np.bool_ or not here:
            return plain_fill(x, mask, value, out=out)
        return _combination().masked_fill(x, spread(mask, x.shape), np.asarray(value, x.dtype), out=out)

    def triangle(name: str) -> Kernel:
        def entry(x: Array, k: int = 0) -> Array:
            bits = BITS.get(x.itemsize)
            if x.size < MANY or bits is None:
                return plain[name](x, k)
            from lucid_kernels.cpu.movement import triangles

            return triangles.triangle(as_bits(x, bits), k, name == "tril").view(x.dtype)

        return entry

    def nonzero(x: Array) -> tuple[Array, ...]:
        if x.size < MANY:
            return x.nonzero()
        rest = _compression().positions(x if x.dtype == np.bool_ else x != 0)
        found = []
        for length in reversed(x.shape[1:]):
            above = rest // length
            found.append(rest - above * length)
            rest = above
        return (rest, *reversed(found))

    def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
        if not index or index[-1].__class__ is not np.ndarray:  # views, which come often
            return x[index]
        if not _large_mask(index):
            return plain_getitem(x, index=index)
        mask, bits = index[0], BITS.get(x.itemsize)
        if mask.shape != x.shape[: mask.ndim]:
            return x[index]
        if mask.shape == x.shape and bits:
            return _compression().compress(mask, as_bits(x, bits)).view(x.dtype)
        return np.reshape(x, (mask.size, *x.shape[mask.ndim :])).take(_compression().positions(mask), axis=0)

    def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
        bits = BITS.get(values.itemsize)
        if not _large_mask(index) or bits is None or values.ndim != 1 or index[0].shape != shape:
            return plain_new(values, shape=shape, index=index, unique=unique)
        return _compression().expand(index[0], as_bits(values, bits)).view(values.dtype)

    def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
        if accumulate or not _large_mask(index) or np.ndim(values) or index[0].shape != x.shape:
            return plain_put(x, values, index=index, accumulate=accumulate, out=out)
        return masked_fill(x, index[0], values, out=out)

    entries = (where, masked_fill, nonzero, getitem, scatter_new, index_put)
    return {"tril": triangle("tril"), "triu": triangle("triu")} | {entry.__name__: entry for entry in entries}
