"""Sums of large arrays with any strides, in place: gradients of overlapping parts of a tensor.

NumPy's take four times as long: on one thread, and row by row.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.strided_copy import Dimension, dimensions, in_rows, unit_of, units
from ..arrays.tensor_list import part
from ..runtime import tuning
from ..runtime.jit import jit_exact, jit_parallel
from ..simd.address import address_of

Array = np.ndarray[Any, Any]


@jit_exact
def _add_row(like: Any, source: int, target: int, count: int, repeated: bool) -> None:
    y = part(target, 0, count, like)
    if repeated:
        number = part(source, 0, 1, like)[0]
        for i in range(count):
            y[i] += number
    else:
        x = part(source, 0, count, like)
        for i in range(count):
            y[i] += x[i]


@jit_parallel
def _add_rows(like, source, target, counted, rows, count, piece, each, repeated):
    """Rows of `count` bytes; the arguments are those of `_copy_rows`."""
    total = units(counted, rows, piece)
    for task in numba.prange((total + each - 1) // each):
        for work in range(task * each, min(total, (task + 1) * each)):
            start, end, number = unit_of(counted, rows, piece, work)
            for row in range(number):
                begin, there = source + start + row * rows.source, target + end + row * rows.target
                _add_row(like, begin, there, count // like.itemsize, repeated)


def add_into(target: Array, source: Array) -> None:
    """target += source for arrays of one shape and dtype, which share no memory; in kernels where rows of float32 or float64 have
    no gaps in the target, and none in the source or one element each.
    """
    size = target.itemsize
    *outer, last = dimensions(target, source, size) or [Dimension(1, 0, 0)]
    suited = target.size >= tuning.ACCUMULATE_FROM and target.dtype.char in "fd" and last.length >= tuning.ACCUMULATE_LEAST_ROW
    if not suited or last.target != size or last.source not in (0, size):
        np.add(target, source, out=target)
        return
    repeated, like = last.source == 0, np.empty(0, target.dtype)

    def launch(source: int, target: int, given: list[Dimension], work: tuple[Any, ...]) -> None:
        _add_rows(like, source, target, *work, repeated)

    in_rows(launch, address_of(source), address_of(target), outer, last.length * size, repeated)
