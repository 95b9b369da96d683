"""Large arrays in another dtype, on all threads: images of bytes as floating point, labels and flags as integers.

NumPy's conversions run on one thread. What becomes of floating-point numbers that an integer cannot hold C does not define: these
loops have the processor's own instructions do it, as NumPy's have.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.layout import Array
from ..arrays.loops import Chunked
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact

_INTEGERS = "?bBhil"  # bool, int8, uint8, int16, int32 and int64


@Chunked
@jit_exact
def _convert(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i]


@Chunked
@jit_exact
def _truncate(x: Any, y: Any) -> None:
    """Floating-point numbers for integers of 8 or 16 bits, which get the last bits of one of 32."""
    for i in range(y.shape[0]):
        y[i] = np.int32(x[i])


@Chunked
@jit_exact
def _to_bool(x: Any, y: Any) -> None:
    zero = x.dtype.type(0)
    for i in range(y.shape[0]):
        y[i] = x[i] != zero


def suits(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether these are dtypes that loops convert, to all but unsigned integers of more than 8 bits."""
    if given.char not in "fd" + _INTEGERS or given.char == wanted.char:
        return False
    return wanted.char in "fdil" or (wanted.char in "?bBh" and given.char in "fd")


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """The C-contiguous `x` in a dtype that `suits`."""
    y = empty(x.shape, dtype)
    loop = _convert if dtype.char in "fdil" else _to_bool if dtype.char == "?" else _truncate
    given, computed = (array.view(np.uint8) if array.dtype.char == "?" else array for array in (x, y))
    loop.run(given.ravel(), computed.ravel(), fresh=True)
    return y
