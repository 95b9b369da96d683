"""Elementwise operations: the batch dimensions are aligned, and the kernels broadcast as they always do."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backends.elementwise import ROWS
from ..lifted import Level, call
from .basis import aligned, at, expanded, inner, lift, new_rules, rank, reshaped

RULES, rule = new_rules()

# Those whose kernels take operands of several shapes; others get all in one.
_BROADCASTING = frozenset(
    "add sub mul div maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor power where".split())
_OTHERS = "where masked_fill abs_grad sgn cast join_parts polar poisson_quantile"


@rule(*ROWS, _OTHERS)
def elementwise(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    row = ROWS.get(name)
    out = None
    if row is not None and len(arrays) > row.arrays and hasattr(arrays[-1], "dtype"):
        *arrays, out = arrays  # the kernels of arithmetic take it by position
    ndim = max(map(rank, arrays))
    values = [aligned(level, array, ndim) for array in arrays]
    if name not in _BROADCASTING and len(values) > 1:
        shape = np.broadcast_shapes(*[value.shape for value in values if hasattr(value, "dtype")])
        values = [expanded(value, shape) if hasattr(value, "dtype") else value for value in values]
    result = lift(level, call(name, values, attributes))
    if out is None:
        return result
    call("copy", (result.value,), {"out": inner(level, out)})
    return out


@rule("fused")
def fused(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """A formula of arrays that all have dimensions: for scalars it is another one."""
    given = [array for array in arrays if array is not None]
    if any(array.ndim == 0 for array in given):
        return NotImplemented
    ndim = max(map(rank, given))
    return lift(level, call(name, [None if array is None else aligned(level, array, ndim) for array in arrays], attributes))


@rule("fill")
def fill(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    value = attributes["value"]
    if at(level, value):
        (x,) = arrays
        filled = expanded(aligned(level, value, x.ndim), (level.size, *x.shape))
        return lift(level, call("cast", (call("copy", (filled,)),), {"dtype": x.dtype}))
    return lift(level, call(name, (inner(level, arrays[0]),), attributes))


@rule("copy contiguous")
def copy(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    axes = attributes.get("axes")
    if axes is not None:
        attributes = {**attributes, "axes": (0, *[axis + 1 for axis in axes])}
    return lift(level, call(name, (inner(level, x),), attributes))


@rule("check_bounds check_nonzero")
def check_bounds(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return call(name, (inner(level, arrays[0]),), attributes)


@rule("full")
def full(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    value, shape = attributes["fill_value"], tuple(attributes["shape"])
    filled = expanded(reshaped(value.value, (level.size, *(1,) * (len(shape) - value.ndim), *value.shape)), (level.size, *shape))
    return lift(level, call("cast", (call("copy", (filled,)),), {"dtype": np.dtype(attributes["dtype"])}))
