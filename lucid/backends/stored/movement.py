"""The operations that move elements, on the bits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtypes
from .. import TABLES
from ..stored_array import Refused, StoredArray
from .casts import cast, narrow, number, widened

Array = Any
Kernel = Callable[..., Any]
_NUMBERS = (bool, int, float, complex, np.generic)


def moved(name: str) -> Kernel:
    """Operation `name` of the backend of the bits: numbers among its arguments are elements."""
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        like = next(array for array in arrays if array.__class__ is StoredArray)
        bits = [_bits(name, like, array) for array in arrays]
        if "value" in attributes:
            attributes["value"] = number(attributes["value"], like.dtype)
        out = attributes.get("out")
        if out is not None:
            attributes["out"] = _bits(name, like, out)
        result = TABLES[like.value.__class__][name](*bits, **attributes)
        if out is not None:
            return out
        return tuple(map(like.seen, result)) if result.__class__ is tuple else like.seen(result)

    return kernel


def _bits(name: str, like: StoredArray, value: Any) -> Any:
    """An argument of an operation on arrays as `like`, with its bits in place of elements."""
    if value.__class__ is StoredArray:
        if value.dtype != like.dtype:
            raise RuntimeError(f"op '{name}' got elements of {like.dtype.name} and {value.dtype.name}")
        return value.value
    return number(value, like.dtype) if isinstance(value, _NUMBERS) else value


def where_stored(a: Any, b: Any, condition: Array) -> StoredArray:
    """Elements of `a` where `condition` is true, else of `b`; a stored array first, by which the operation is found."""
    like = a if a.__class__ is StoredArray else b
    bits = TABLES[like.value.__class__]["where"](condition, _bits("where", like, a), _bits("where", like, b))
    return StoredArray(bits.astype(like.value.dtype, copy=False), like.dtype)  # a number has a dtype of its own


def copy(x: StoredArray, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Array:
    """A copy, or the elements in `out`, of whatever dtype that is."""
    table = TABLES[x.value.__class__]
    if out is None:
        return StoredArray(table["copy"](x.value, axes=axes), x.dtype)
    if out.__class__ is not StoredArray or out.dtype != x.dtype:
        return cast(x, dtype=out.dtype, out=out)
    table["copy"](x.value, out=out.value)
    return out


def fill(x: StoredArray, *, value: Any, out: StoredArray | None = None) -> StoredArray:
    """`value`, a number, in the shape of `x`."""
    bits = TABLES[x.value.__class__]["fill"](x.value, value=number(value, x.dtype), out=None if out is None else out.value)
    return StoredArray(bits, x.dtype) if out is None else out


def view_dtype(x: StoredArray, *, dtype: np.dtype) -> Array:
    """The memory of `x` as another dtype."""
    if dtype == x.dtype:
        return x.seen(x.value)
    return TABLES[x.value.__class__]["view_dtype"](x.value, dtype=dtype)


def index_put(x: StoredArray, values: Any, *, index: Any, accumulate: bool = False, out: StoredArray | None = None) -> Any:
    """`x` with `values` at `index`; parts that are views are written in any dtype, others where PyTorch does."""
    advanced = any(hasattr(item, "dtype") for item in (index if index.__class__ is tuple else (index,)))
    if advanced and (x.dtype.kind == "u" or x.dtype == _dtypes.float8_e8m0fnu):
        raise Refused("index_put", x.dtype)
    if values.__class__ in TABLES and values.__class__ is not StoredArray:
        values = narrow(values, x.dtype)
    if not accumulate:
        return _index_put(x, values, index=index, out=out)
    plain = widened(values) if values.__class__ is StoredArray else values
    result = narrow(TABLES[x.value.__class__]["index_put"](widened(x), plain, index=index, accumulate=True), x.dtype)
    return result if out is None else copy(result, out=out)


def pad(x: StoredArray, fill: Any, *, pads: Any, mode: str) -> StoredArray:
    """`x` with more elements around it, all the same."""
    if mode != "constant" or (fill is None and x.dtype == _dtypes.float8_e8m0fnu):
        raise Refused(f"{mode}_pad", x.dtype)
    return _pad(x, fill, pads=pads, mode=mode)


_index_put, _pad = moved("index_put"), moved("pad")
#: On the device of the bits, by the same names and with the same arguments.
NAMES = ("as_strided", "assemble", "broadcast_to", "concatenate", "contiguous", "diagonal", "diagonal_scatter", "getitem",
         "reshape", "roll", "split", "stack", "transpose", "unbind", "windows")
TABLE: dict[str, Kernel] = {name: moved(name) for name in NAMES} | {
    "copy": copy, "fill": fill, "index_put": index_put, "pad": pad, "view_dtype": view_dtype, "where_stored": where_stored,
    "where": lambda condition, a, b: where_stored(a, b, condition)}
