"""Large arrays in another dtype, on all threads: images of bytes as floating-point numbers, labels and flags as integers.

NumPy's conversions run on one thread. Those of floating-point numbers to integers are left to it, as C does not define what
becomes of numbers that do not fit.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._chunked import Chunked
from ._compile import jit_exact
from ._layout import Array
from ._pool import empty

_INTEGERS = "?bBhil"  # bool, int8, uint8, int16, int32 and int64


@Chunked
@jit_exact
def _convert(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i]


def serves(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether each number of the one dtype is one of the other, is rounded to one, or loses bits, as an int64 for int32."""
    if wanted.char in "fd":
        return given.char in _INTEGERS or given.char in "fd"
    return wanted.char in "il" and given.char in _INTEGERS and given.char != wanted.char


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """The C-contiguous `x` in a dtype that `serves` it."""
    y = empty(x.shape, dtype)
    flat = x.reshape(-1)
    _convert.run(flat.view(np.uint8) if x.dtype.char == "?" else flat, y.reshape(-1), fresh=True)
    return y
