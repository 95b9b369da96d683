"""Half-precision numbers are stored as such and computed with as float32."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = Any
HALVES = frozenset({np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})
_CONVERTED_FROM = 1 << 12  # elements from which on our kernel converts them: NumPy's conversion takes 8 to 20 times as long


def wide(x: Array) -> Array:
    """`x` as float32 if it holds half-precision numbers."""
    if x.dtype not in HALVES:
        return x
    if x.size >= _CONVERTED_FROM and x.__class__ is np.ndarray:
        from lucid_kernels.cpu.arrays import half_precision as kernels

        if kernels.converts(x.dtype):
            return kernels.widen(x)
    return x.astype(np.float32)


def in_float32(x: Array) -> Array:
    """`x`, of any dtype, as float32."""
    return wide(x).astype(np.float32, copy=False)
