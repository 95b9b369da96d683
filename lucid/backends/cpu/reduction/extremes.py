"""Largest and smallest elements of CPU arrays, and whether any or all are true: by NumPy, large ones on all threads."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import sizes
from ...common import reductions
from ...merge import merge
from . import narrow
from .layouts import is_view, kernels, of_view, shaped

Array = Any
Kernel = Callable[..., Any]

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}

_shared = SimpleNamespace(**reductions.table(np, narrow))


def any(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """Whether any element is true."""
    if axis is None and x.size >= sizes.ANY_OF_INTEGERS_FROM and x.dtype.kind in "iu":
        return narrow.max(x.view(_UNSIGNED[x.itemsize]), axis=None, keepdims=keepdims) != 0
    return narrow.any(x, axis=axis, keepdims=keepdims)


def all(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """Whether all elements are true."""
    if axis is None and x.size >= sizes.ANY_OF_INTEGERS_FROM and x.dtype.kind in "iu":
        return narrow.min(x.view(_UNSIGNED[x.itemsize]), axis=None, keepdims=keepdims) != 0
    return narrow.all(x, axis=axis, keepdims=keepdims)


def _found(x: Array, axis: Any, smallest: bool, located: bool) -> tuple[Array, Any] | None:
    """The extremes (outer, inner) and, if `located`, where they are; None where NumPy has to find them."""
    view = kernels().view_of(x, axis) if x.size >= sizes.EXTREMES_OF_ROWS_FROM else None
    if view is None or builtins.max(view[1:]) >= 1 << 31 or (view[2] != 1 and x.size < sizes.EXTREMES_OF_COLUMNS_FROM):
        return None
    if view[0] == view[2] == 1 and not located and x.size < sizes.EXTREME_OF_ALL_FROM:
        return None
    from lucid_kernels.cpu.reduction import max_min

    if not max_min.suits(view, located=located):
        return None
    if view[2] != 1 and not located:
        return max_min.extreme_values(x, view, smallest=smallest), None
    result: tuple[Array, Any] = max_min.extremes(x, view, smallest=smallest, located=located)
    return result


def _extremes(name: str) -> dict[str, Kernel]:
    """`max`, `argmax` and `max_with_indices`, or the same of `min`."""
    smallest, names = name == "min", (name, f"arg{name}", f"{name}_with_indices")
    of_numpy, position_of_numpy, both_of_numpy = (getattr(_shared, entry) for entry in names)

    def value(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.size >= sizes.LARGE and is_view(x):
            return of_view(value, x, axis, keepdims)
        both = _found(x, axis, smallest, False)
        return of_numpy(x, axis=axis, keepdims=keepdims) if both is None else shaped(both[0], x, axis, keepdims)

    def position(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        # Along rows NumPy on one thread is as fast as ours on two: it compares and remembers in one pass; but it needs some
        # time for each.
        rows = axis is None or axis == x.ndim - 1
        by_numpy = rows and (axis is None or not sizes.EXTREMES_SHORTEST_ROW <= x.shape[-1] <= sizes.EXTREMES_LONGEST_ROW)
        both = None if by_numpy else _found(x, axis, smallest, True)
        if both is None:
            return position_of_numpy(x, axis=axis, keepdims=keepdims)
        return shaped(both[1], x, axis, keepdims, np.int64)

    def both(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
        pair = _found(x, axis, smallest, True)
        if pair is None:
            return both_of_numpy(x, axis=axis, keepdims=keepdims)
        return shaped(pair[0], x, axis, keepdims), shaped(pair[1], x, axis, keepdims, np.int64)

    entries = dict(zip(names, (value, position, both), strict=True))
    for entry, function in entries.items():
        function.__name__ = entry
    return entries


TABLE: dict[str, Kernel] = merge(
    {"all": all, "any": any, "extreme": _shared.extreme, "extreme_grad": _shared.extreme_grad},
    _extremes("max"), _extremes("min"))
