"""Arrays one after the other in one launch, for each 16 of them."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

Array = Any

_ARRAYS = 16
_SECTIONS = np.dtype([("begin", np.int64, _ARRAYS + 1), ("block", np.int64, _ARRAYS)])
_THREADS, _AT_ONCE = 256, 4  # of a block, and units of a thread
_UNITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64", 16: "uint4"}  # by bytes


def concatenate(*arrays: Array, axis: int) -> Array:
    """The arrays, of one dtype and alike but for `axis`, one after the other along it; others by CuPy's function."""
    first, shape = arrays[0], list(arrays[0].shape)
    shape[axis] = sum(array.shape[axis] for array in arrays)
    if any(array.dtype != first.dtype or array.ndim != first.ndim for array in arrays) or 0 in shape:
        return cupy.concatenate(arrays, axis=axis)
    if any(array.shape[:axis] + array.shape[axis + 1:] != first.shape[:axis] + first.shape[axis + 1:] for array in arrays):
        return cupy.concatenate(arrays, axis=axis)  # which says what is wrong
    arrays = tuple([array if array._c_contiguous else copies.copied(array, array.dtype) for array in arrays if array.size])
    y = launch.empty(shape, first.dtype)
    rows = math.prod(shape[:axis])
    widths = [array.nbytes // rows for array in arrays]
    unit = math.gcd(16, y.data.ptr, *[array.data.ptr for array in arrays], *widths)
    kernel = launch.kernel("concatenate", f"concatenate<{_UNITS[unit]}>")
    row, before = sum(widths) // unit, 0
    for start in range(0, len(arrays), _ARRAYS):
        some = arrays[start:start + _ARRAYS]
        sections = np.zeros((), _SECTIONS)
        ends = np.cumsum([width // unit for width in widths[start:start + _ARRAYS]])
        sections["begin"] = ends[-1]
        sections["begin"][0] = 0
        sections["begin"][1:len(ends) + 1] = ends
        blocks = np.cumsum([launch.ceil_div(array.nbytes // unit, _THREADS * _AT_ONCE) for array in some])
        sections["block"] = blocks[-1]  # of those that there are not
        sections["block"][0] = 0
        sections["block"][1:len(blocks)] = blocks[:-1]
        given = (*some, *[some[0]] * (_ARRAYS - len(some)))
        kernel((int(blocks[-1]),), (_THREADS,), (y, *given, sections, np.int64(before), np.int64(row), np.int64(rows)))
        before += int(ends[-1])
    return y
