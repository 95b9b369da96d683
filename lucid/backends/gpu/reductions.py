"""Reductions on a GPU: one kernel of floating arrays, and sums and truth of bools and integers; CuPy's functions of others."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.elementwise.fused import fused
from lucid_kernels.cuda.reduction.reduce import FLOATING, MOST_DIMS, normalized, reduce
from lucid_kernels.cuda.runtime import rows
from lucid_kernels.expression import Node, Program

from .. import symbolic
from ..common import reductions
from ..common.reductions import unreduced
from ..merge import merge
from . import planning

Array = Any
Kernel = Callable[..., Any]
_WHOLE = frozenset("?ilq")
_INT64 = np.dtype(np.int64)


def table() -> dict[str, Kernel]:
    """The operations."""
    general = reductions.table(cupy, cupy)

    def suits(x: Array, kinds: frozenset[str] = FLOATING) -> bool:
        return bool(x.dtype.char in kinds and x.size and x.ndim <= MOST_DIMS)

    def total(name: str, operation: str) -> Kernel:
        otherwise = general[name]

        @functools.wraps(otherwise)
        def kernel(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
            if suits(x) and (dtype is None or dtype == x.dtype):
                return reduce(operation, x, axis, keepdims, x.dtype, out=out)
            if suits(x, _WHOLE) and (dtype is None or dtype == _INT64):
                return reduce(operation, x, axis, keepdims, _INT64, out=out)
            into = {} if out is None else {"out": out}
            return otherwise(x, axis=axis, keepdims=keepdims, dtype=dtype, **into)

        return kernel

    def folded(name: str, operation: str, number: Callable[..., float] = lambda x, axis: 0.0) -> Kernel:
        otherwise = general[name]

        @functools.wraps(otherwise)
        def kernel(x: Array, *, axis: Any, keepdims: bool) -> Array:
            if suits(x):
                return reduce(operation, x, axis, keepdims, x.dtype, p=number(x, axis))
            return otherwise(x, axis=axis, keepdims=keepdims)

        return kernel

    def truth(name: str, operation: str) -> Kernel:
        otherwise = general[name]

        @functools.wraps(otherwise)
        def kernel(x: Array, *, axis: Any, keepdims: bool) -> Array:
            if suits(x) or suits(x, _WHOLE):
                return reduce(operation, x, axis, keepdims, np.dtype(bool))
            return otherwise(x, axis=axis, keepdims=keepdims)

        return kernel

    def located(name: str, operation: str, both: bool) -> Kernel:
        otherwise = general[name]

        @functools.wraps(otherwise)
        def kernel(x: Array, *, axis: Any, keepdims: bool) -> Any:
            if not suits(x):
                return otherwise(x, axis=axis, keepdims=keepdims)
            found = reduce(operation, x, axis, keepdims, x.dtype, _INT64)
            return found if both else found[1]

        return kernel

    def moment(name: str, operation: str, both: bool) -> Kernel:
        otherwise = general[name]

        @functools.wraps(otherwise)
        def kernel(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Any:
            if not suits(x):
                return otherwise(x, axis=axis, keepdims=keepdims, correction=correction)
            freedom = max(_count(x, axis) - correction, 0)  # NaN if none is left: 0 / 0
            found = reduce(operation, x, axis, keepdims, x.dtype, x.dtype, p=freedom)
            return found if both else found[0]

        return kernel

    @functools.wraps(general["norm"])
    def norm(x: Array, *, axis: Any, keepdims: bool, order: float) -> Array:
        if not suits(x):
            return general["norm"](x, axis=axis, keepdims=keepdims, order=order)
        if order == 1:
            return reduce("Norm1", x, axis, keepdims, x.dtype)
        return reduce("NormP", x, axis, keepdims, x.dtype, p=order, q=1 / order)

    @functools.wraps(general["norm2_grad"])
    def norm2_grad(g: Array, x: Array, y: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
        if not (x.dtype == g.dtype == y.dtype and x.dtype.char in FLOATING):
            return general["norm2_grad"](g, x, y, axis=axis, keepdims=keepdims)
        return fused(unreduced(g, x.ndim, axis, keepdims), x, unreduced(y, x.ndim, axis, keepdims), program=_norm2_slope(x.dtype))

    @functools.wraps(general["norm_grad"])
    def norm_grad(g: Array, x: Array, y: Array, *, axis: tuple[int, ...] | None, keepdims: bool, order: float) -> Array:
        if not (x.dtype == g.dtype == y.dtype and x.dtype.char in FLOATING):
            return general["norm_grad"](g, x, y, axis=axis, keepdims=keepdims, order=order)
        g, y = (unreduced(array, x.ndim, axis, keepdims) for array in (g, y))
        return fused(g, x, y, program=_norm_slope(x.dtype, order))

    @functools.wraps(general["extreme"])
    def extreme(x: Array, *, axis: Any, keepdims: bool, smallest: bool, sizes: bool) -> Any:
        if not suits(x):
            return general["extreme"](x, axis=axis, keepdims=keepdims, smallest=smallest, sizes=sizes)
        return reduce("Peak", x, axis, keepdims, x.dtype, rows.accumulator(x.dtype), p=smallest + 2 * sizes)

    @functools.wraps(general["extreme_grad"])
    def extreme_grad(g: Array, x: Array, y: Array, ties: Array, *, axis: Any, keepdims: bool, rule: str) -> Array:
        if not (x.dtype == g.dtype == y.dtype and x.dtype.char in FLOATING):
            return general["extreme_grad"](g, x, y, ties, axis=axis, keepdims=keepdims, rule=rule)
        g, y, ties = (unreduced(array, x.ndim, axis, keepdims) for array in (g, y, ties))
        return fused(g, x, y, ties, program=_shares(x.dtype, ties.dtype, rule))

    entries: dict[str, Kernel] = {
        "sum": total("sum", "SumAll"), "prod": total("prod", "Product"),
        "mean": folded("mean", "Mean", _count), "nansum": folded("nansum", "NanSum"), "max": folded("max", "Maximum"),
        "min": folded("min", "Minimum"), "norm2": folded("norm2", "Norm2"), "logsumexp": folded("logsumexp", "LogSumExp"),
        "any": truth("any", "Any"), "all": truth("all", "All"),
        "argmax": located("argmax", "ArgMax", False), "argmin": located("argmin", "ArgMin", False),
        "max_with_indices": located("max_with_indices", "ArgMax", True),
        "min_with_indices": located("min_with_indices", "ArgMin", True),
        "var": moment("var", "Variance", False), "std": moment("std", "Deviation", False),
        "var_mean": moment("var_mean", "Variance", True), "std_mean": moment("std_mean", "Deviation", True),
        "extreme": extreme, "extreme_grad": extreme_grad, "norm": norm, "norm_grad": norm_grad, "norm2_grad": norm2_grad}
    assert entries.keys() == general.keys()
    return planning.all_planned(merge(entries))


def _count(x: Array, axis: Any) -> float:
    """How many elements are reduced to one."""
    return math.prod([x.shape[d] for d in normalized(axis, x.ndim)])


@functools.cache
def _norm2_slope(dtype: Any) -> Program:
    """``x / y * g``, and 0 where y is 0, as x is there."""
    g, x, y = (Node("input", dtype, (), place) for place in range(3))
    zero = Node("eq", np.dtype(bool), (y, Node("constant", dtype, (), 0.0)))
    divisor = Node("where", dtype, (zero, Node("constant", dtype, (), 1.0), y))
    return Program([Node("mul", dtype, (Node("div", dtype, (x, divisor)), g))])


@functools.cache
def _norm_slope(dtype: Any, order: float) -> Program:
    """The direction of x times (its size / y) to the power of order - 1 times g; 0 where x or y is and that were infinite."""
    op = symbolic.TABLE
    g, x, y = (symbolic.argument(place, dtype, True) for place in range(3))
    if order == 1:
        return Program([op["mul"](op["sign"](x), g).node])
    zero, size = op["eq"](y, 0.0), op["abs"](x)
    if order < 2:  # the direction of zero is zero, whatever it is multiplied by
        size = op["where"](op["eq"](size, 0.0), 1.0, size)
    if order < 0:  # it is 0 because of one element only
        g = op["where"](zero, 0.0, g)
    power = op["power"](op["div"](size, op["where"](zero, 1.0, y)), order - 1)
    return Program([op["mul"](op["sign"](x), op["mul"](power, g)).node])


@functools.cache
def _shares(dtype: Any, count: Any, rule: str) -> Program:
    """What the elements x at the extreme y get of its gradient g, of which there are so many ties."""
    op = symbolic.TABLE
    g, x, y = (symbolic.argument(place, dtype, True) for place in range(3))
    share = op["div"](g, op["cast"](symbolic.argument(3, count, True), dtype=dtype))
    place = op["abs"](x) if rule == "norm" else x
    chosen, nan = op["eq"](place, y), op["ne"](y, y)
    if rule == "amax":
        share = op["where"](nan, math.nan, share)
    else:
        chosen = op["bitwise_or"](chosen, op["bitwise_and"](nan, op["ne"](place, place)))
    if rule == "max":
        return Program([op["where"](chosen, share, 0.0).node])
    share = op["mul"](op["cast"](chosen, dtype=dtype), share)
    return Program([(op["mul"](op["sign"](x), share) if rule == "norm" else share).node])
