"""Floating-point numbers of 8 bits from float32, and back: see `float8.cu`. Each element is read and written once."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

FORMATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
_BYTE, _FLOAT = np.dtype(np.uint8), np.dtype(np.float32)


def narrow(x: Any, *, format: str) -> Any:
    """The bits, as uint8, of the float32 numbers `x` in a `format`."""
    return _converted("narrow_float8", x, _BYTE, format)


def widen(bits: Any, *, format: str) -> Any:
    """The float32 numbers that the `bits` of a `format` mean."""
    return _converted("widen_float8", bits, _FLOAT, format)


def _converted(kernel: str, x: Any, dtype: np.dtype, format: str) -> Any:
    x = copies.contiguous(x)
    y = launch.empty(x.shape, dtype)
    if y.size:
        launch.kernel("float8", f"{kernel}<{FORMATS.index(format)}>")(*launch.grid_1d(y.size), (x, y, np.int64(y.size)))
    return y
