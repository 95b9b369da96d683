"""Large CPU arrays as a reduction kernel takes them: views of other layouts, and the shape of the result."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from lucid_kernels.cpu.arrays import broadcast

from ...half_precision import HALVES
from ...memory_format import inverse, memory_axes
from . import narrow

Array = Any
Kernel = Callable[..., Any]


@functools.cache
def kernels() -> Any:
    from lucid_kernels.cpu.reduction import reduction  # compiles with Numba: imported with the first large array

    return reduction


def shaped(result: Array, x: Array, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
    """A result (outer, inner) in `dtype`, that of `x` by default, and the shape of the reduction."""
    shaped = result.reshape(narrow.reduced_shape(x.shape, axis, keepdims))
    return shaped.astype(x.dtype if dtype is None else dtype, copy=False)


def is_view(x: Array) -> bool:
    """Whether `of_view` is for the large array `x`: where each element is apart from the others a copy takes longer than NumPy's
    reduction.
    """
    return not x.flags.c_contiguous and (x.itemsize in x.strides or 0 in x.strides)


def of_view(function: Kernel, x: Array, axis: Any, keepdims: bool, **options: Any) -> Array:
    """A reduction for which the order of elements does not matter: of a large array that is not in row-major order, or has gaps,
    it gets one that is, or has none.

    NumPy's sums of views take up to 6 times as long, and of float32 have up to 20 times PyTorch's error: along some axes it adds
    number after number.
    """
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    additive = function.__name__ in ("sum", "mean")
    if broadcast.repeats(x) and additive and x.dtype not in HALVES:
        few = broadcast.distinct(x)
        result = function(few, axis=axis, keepdims=True, **options)
        if function.__name__ == "sum":
            result = result * math.prod([x.shape[dim] // few.shape[dim] for dim in axes])
        result = broadcast.materialized(result, tuple([1 if dim in axes else n for dim, n in enumerate(x.shape)]))
    else:
        from lucid_kernels.cpu.arrays import layout as arrays_layout

        order = memory_axes(x)
        in_order = x.transpose(order)
        positions = None if axis is None else tuple([place for place, dim in enumerate(order) if dim in axes])
        total = _sum_of_gapped_rows(in_order, positions) if additive and options.get("dtype") in (None, x.dtype) else None
        if total is None:
            result = function(arrays_layout.contiguous(in_order), axis=positions, keepdims=True, **options)
        else:
            result = (total if function.__name__ == "sum" else total / (x.size // total.size)).astype(x.dtype)
        result = result.transpose(inverse(order))
    return result if keepdims else result.reshape([n for dim, n in enumerate(x.shape) if dim not in axes])


def _sum_of_gapped_rows(x: Array, axis: Any) -> Array | None:
    """The sum in float64 over `axis`, its dimensions kept, of an array with gaps between its rows; None where a copy without them
    has to be summed.
    """
    if x.flags.c_contiguous or (axis is not None and x.ndim - 1 not in axis):
        return None
    from lucid_kernels.cpu.reduction import strided_sum

    return strided_sum.row_sums(x)[..., None].sum(axis=axis, keepdims=True) if strided_sum.suits(x) else None
