"""Reductions, scans, sorting, and what else works along dimensions: the same along those of the array inside."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lifted import Level, call
from .basis import at, dimension, lift, new_rules, reshaped, spread

RULES, rule = new_rules()


@rule("sum mean prod max min nansum any all var std var_mean std_mean logsumexp norm norm2 argmax argmin max_with_indices "
      "min_with_indices extreme")
def reduction(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    value, axis, keepdims = x.value, attributes["axis"], attributes["keepdims"]
    if x.ndim == 0:
        return lift(level, call(name, (reshaped(value, (level.size, 1)),), {**attributes, "axis": 1, "keepdims": False}))
    if axis is None and name.startswith("arg"):
        result = call(name, (reshaped(value, (level.size, x.size)),), {**attributes, "axis": 1, "keepdims": False})
        return lift(level, reshaped(result, (level.size, *(1,) * x.ndim)) if keepdims else result)
    if axis is None:
        axis = tuple(range(1, value.ndim))
    elif isinstance(axis, (tuple, list)):
        axis = tuple([dimension(dim, x.ndim) for dim in axis])
    else:
        axis = dimension(axis, x.ndim)
    return lift(level, call(name, (value,), {**attributes, "axis": axis}))


@rule("median")
def median(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return NotImplemented if arrays[0].ndim != 1 else lift(level, call(name, (arrays[0].value,), attributes))


def _along(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any], key: str) -> Any:
    ndim = max(array.ndim for array in arrays)
    values = [spread(level, array) for array in arrays]
    if ndim:
        return lift(level, call(name, values, {**attributes, key: dimension(attributes[key], ndim)}))
    values = [reshaped(value, (level.size, 1)) for value in values]
    result = call(name, values, {**attributes, key: 1})
    if result.__class__ is tuple:
        return lift(level, tuple([reshaped(part, (level.size,)) for part in result]))
    return lift(level, reshaped(result, (level.size,)))


@rule("cumsum cumprod cummax cummin logcumsumexp sort argsort topk cross")
def along_axis(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return _along(level, name, arrays, attributes, "axis")


@rule("softmax log_softmax softmax_grad log_softmax_grad")
def along_dim(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return _along(level, name, arrays, attributes, "dim")


@rule("searchsorted")
def searchsorted(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    edges, values = arrays
    if not at(level, edges) and edges.ndim == 1:
        return lift(level, call(name, (edges, values.value), attributes))
    rows, wanted = spread(level, edges), spread(level, values)
    shape, count = wanted.shape, rows.shape[-1]
    if edges.ndim == 1:
        wanted = reshaped(wanted, (level.size, values.size))
    rows = reshaped(rows, (-1 if count and rows.size else level.size, count)) if rows.ndim != 2 else rows
    if wanted.ndim != 2:
        wanted = reshaped(wanted, (rows.shape[0], wanted.size // max(rows.shape[0], 1)))
    return lift(level, reshaped(call(name, (rows, wanted), attributes), shape))


@rule("dot")
def dot(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    a, b = arrays
    if not at(level, b):
        return lift(level, call("matmul", (a.value, b), {}))
    if not at(level, a):
        return lift(level, call("matmul", (b.value, a), {}))
    x, y = a.value, b.value
    product = call("matmul", (reshaped(x, (x.shape[0], 1, x.shape[1])), reshaped(y, (*y.shape, 1))), {})
    return lift(level, reshaped(product, (level.size,)))
