"""Elements chosen by a mask on the CPU, and indices of those that are not 0: by NumPy or, for large arrays, by our kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...sizes import MANY
from ..bits import BITS, as_bits

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]


def _ternary() -> Any:
    from lucid_kernels.cpu.elementwise import ternary  # compiles with Numba: imported with the first large mask

    return ternary


def _masked_select() -> Any:
    from lucid_kernels.cpu.indexing import masked_select

    return masked_select


def is_large(index: tuple[Any, ...]) -> bool:
    """Whether an index is one large mask. Slices, which come often, are told by their class alone."""
    if len(index) != 1 or index[0].__class__ is not np.ndarray:
        return False
    return bool(index[0].size >= MANY and index[0].dtype.kind == "b")


def select(x: Array, mask: Array) -> Array:
    """``x[mask]`` for a large mask."""
    if mask.shape != x.shape[: mask.ndim]:
        return x[mask]  # raises
    bits = BITS.get(x.itemsize)
    if mask.shape == x.shape and bits:
        return _masked_select().compress(mask, as_bits(x, bits)).view(x.dtype)
    return np.reshape(x, (mask.size, *x.shape[mask.ndim :])).take(_masked_select().positions(mask), axis=0)


def expand(values: Array, mask: Array) -> Array:
    """Zeros with the vector `values`, of elements of 1 to 8 bytes, where a large mask is true."""
    return _masked_select().expand(mask, as_bits(values, BITS[values.itemsize])).view(values.dtype)


def _broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """np.broadcast_to, which takes 2 us, where that is anything else than `array` itself."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def where(condition: Array, a: Any, b: Any) -> Array:
    """`a` where `condition` is true, else `b`."""
    if condition.size < MANY and getattr(a, "size", 1) < MANY and getattr(b, "size", 1) < MANY:
        return np.where(condition, a, b)
    dtype = a.dtype if a.__class__ is b.__class__ and a.dtype is b.dtype else np.result_type(a, b)
    shape, size = condition.shape, 0
    for value in (a, b):
        if isinstance(value, np.ndarray) and value.ndim:
            if value.dtype != dtype:
                return np.where(condition, a, b)
            size = max(size, value.size)
            if value.shape != shape:
                shape = np.broadcast_shapes(shape, value.shape)
    if size < MANY or dtype.itemsize > 8 or condition.dtype != np.bool_:
        return np.where(condition, a, b)
    sides = [np.asarray(value, dtype) for value in (a, b)]
    return _ternary().where(_broadcast(condition, shape), *[_broadcast(side, shape) if side.ndim else side for side in sides])


def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
    """`x` with `value` where `mask` is true."""
    here = out is None or (out is x and x.flags.writeable)
    if x.size < MANY or x.itemsize > 8 or mask.dtype != np.bool_ or not here:
        result = x.copy() if out is None else out
        if not hasattr(value, "dtype"):
            value = x.dtype.type(value)  # a fifth of the time
        np.copyto(result, value, where=mask)
        return result
    return _ternary().masked_fill(x, _broadcast(mask, x.shape), np.asarray(value, x.dtype), out=out)


def nonzero(x: Array) -> tuple[Array, ...]:
    """The indices of the elements that are not 0, an array for each dimension."""
    if x.size < MANY:
        return x.nonzero()
    rest = _masked_select().positions(x if x.dtype == np.bool_ else x != 0)
    found = []
    for length in reversed(x.shape[1:]):
        above = rest // length
        found.append(rest - above * length)
        rest = above
    return (rest, *reversed(found))


TABLE: dict[str, Kernel] = {"masked_fill": masked_fill, "nonzero": nonzero, "where": where}
