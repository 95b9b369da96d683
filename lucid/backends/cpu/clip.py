"""Large CPU arrays between bounds: `clip` of scalars, arrays and None."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..sizes import UFUNC_LOOPS_BYTES
from . import ufunc_loops

Array = Any
_NUMBERS = {float, int, None.__class__}


def clip(x: Array, low: Any, high: Any, *, out: Array | None = None) -> Array | None:
    """`x` between `low` and `high`; None where NumPy is as fast."""
    if low.__class__ in _NUMBERS and high.__class__ in _NUMBERS and x.dtype.char in "fd":
        if low != low or high != high or not x.flags.c_contiguous:
            return None
        from lucid_kernels.cpu.elementwise import ternary

        least: Any = -math.inf if low is None else low
        most: Any = math.inf if high is None else high
        return ternary.clip(x, least, most, out=out)
    given = [(name, bound) for name, bound in (("maximum", low), ("minimum", high)) if bound is not None]
    names, bounds = tuple(name for name, _ in given), [bound for _, bound in given]
    arrays = [bound for bound in bounds if isinstance(bound, np.ndarray)]
    if out is not None or any(bound.shape not in ((), x.shape) for bound in arrays):
        return None
    if x.dtype.char in "fd":
        from lucid_kernels.cpu.arrays import layout
        from lucid_kernels.cpu.elementwise import operation

        if all(array.dtype is x.dtype and (array.flags.c_contiguous or layout.has_dense_rows(array)) for array in (x, *arrays)):
            return operation.operation(names, x, *bounds)
    if x.nbytes >= UFUNC_LOOPS_BYTES and x.dtype.kind in "iu":
        return ufunc_loops.apply("clip" if len(names) > 1 else names[0], x, *bounds)
    return None
