"""How kernels over rows and columns are launched: see `rows.cuh`. All of it depends on shapes and alignments alone."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

LINE = 16  # bytes that a thread moves at once
_KEPT = 32  # elements of the rows that stay in a thread's registers, at most 8 packs
_WARP, _LARGEST = 32, 512  # threads of a row
#: Threads that the columns of a kernel should keep busy, where there are few of them.
_ENOUGH_THREADS = 1 << 16


def accumulator(dtype: Any) -> Any:
    """The dtype in which numbers of a floating `dtype` are computed with."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def optional(array: Any, dtype: Any, *stand_ins: Any) -> tuple[Any, np.int32]:
    """`launch.optional` for a parameter that a kernel reads in `dtype`; where it is None, an array of it stands in unread."""
    if array is not None:
        return launch.contiguous(array if array.dtype == dtype else array.astype(dtype)), np.int32(1)
    found = next((other for other in stand_ins if other.dtype == dtype), None)
    return launch.empty((1,), dtype) if found is None else found, np.int32(0)


def parameters(x: Any, *given: Any) -> tuple[Any, tuple[Any, ...]]:
    """The dtype in which a kernel reads parameters beside x, and these in it: that of x where all have it, else `accumulator`."""
    kind = x.dtype if all(array is None or array.dtype == x.dtype for array in given) else accumulator(x.dtype)
    return kind, tuple(None if array is None else optional(array, kind)[0] for array in given)


def gradient_dtype(x: Any, parameter: Any) -> Any:
    """The dtype of a parameter's gradient: its own, that of x where there is none. float64 stays with float64."""
    if parameter is None or np.float64 in (x.dtype, parameter.dtype):
        return x.dtype
    return parameter.dtype


def pack(width: int, *arrays: Any) -> int:
    """How many elements a thread moves at once: 16 bytes of them where rows of `width` start at such multiples in all arrays.

    None may be among the arrays. Their widest element decides.
    """
    given = [array for array in arrays if array is not None]
    count = LINE // min(array.dtype.itemsize for array in given)
    whole = not width % count and not any(array.data.ptr % LINE for array in given)
    return count if whole else 1


def geometry(rows: int, width: int, pack: int, arrays: int = 1) -> tuple[tuple[int], tuple[int, int]]:
    """Grid and block of a kernel over `Rows`: a warp for a short row, a block for a long one."""
    kept = min(_KEPT, 8 * pack) // arrays
    threads = _WARP
    while threads < _LARGEST and threads * kept < width:
        threads *= 2
    if threads == _WARP:
        return launch.grid_cap(launch.ceil_div(rows, 4)), (_WARP, 4)
    return launch.grid_cap(rows), (threads, 1)


def packs(width: int, pack: int, arrays: int = 1) -> int:
    """How many packs of a row the threads of a kernel over `Rows` keep: of a short row no more than it has."""
    most = min(_KEPT // pack, 8) // arrays
    return next((count for count in (1, 2) if pack > 1 and _WARP * pack * count >= width), most)


def columns(slices: int, length: int) -> tuple[tuple[int], tuple[int, int]]:
    """Grid and block of a kernel over slices with gaps: few slices share a block of more threads for each."""
    across = launch.BLOCK
    while across > 8 and slices * (launch.BLOCK // across) < _ENOUGH_THREADS and length > launch.BLOCK // across:
        across //= 2
    return launch.grid_cap(launch.ceil_div(slices, across)), (across, launch.BLOCK // across)
