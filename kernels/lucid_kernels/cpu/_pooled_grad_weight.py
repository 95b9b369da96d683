"""Weight gradient of a convolution whose results were max pooled, for few taps: a window passes its gradient to one position.

The pixels that the taps meet at a position are a row, a vector or a few, with a one for the bias behind them. A window adds
its gradient times one such row: a quarter of the products for windows of 2x2, and the gradient of the results, four times as
large as that of the maxima and mostly zeros, is never made.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._aligned import aligned_empty, whole_vectors
from ._channels_last import LANES, gather_band, whole
from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors
from ._row_copies import Window, fill_copies

# Rows that are added to sums of their own, which hides the latency of an addition.
_SUMS = 4
# Bytes of the rows of a sample: they are read in no order that the processor foresees, and should come from the L2 cache.
_ROWS_BYTES = 1 << 19
# Elements of a row for each result channel: with 48 for 8 channels, filling the rows takes longer than the products saved.
_RESULTS = 4
# Samples are shared out in this many parts at most. The number is fixed, so results do not depend on the number of threads.
_PARTS = 8


@_intrinsic
def _add_rows(typing, rows, offset, pitch, count, g, indices, y, start, windows, sums, target):
    """sums[target + j] += sum over i < windows of g[start + i] * rows[indices[start + i] * pitch + offset + j]

    for a vector of j and those i with a y[start + i] that is positive or NaN. Whether all indices are below `count`; others are
    taken for the last one. Nothing else is checked.
    """
    integer = types.int64
    signature = types.boolean(rows, integer, integer, integer, g, indices, y, integer, integer, sums, integer)

    def emit(context, builder, signature, arguments):
        rows, g, indices, y, sums = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 5, 6, 9))
        offset, pitch, count, start, windows, target = (arguments[i] for i in (1, 2, 3, 7, 8, 10))
        vectors = _Vectors(builder, rows.type.pointee, VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8))
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_SUMS)]
        for total in totals:
            builder.store(vectors.zero, total)
        beyond = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
        zero, most_index = ir.Constant(rows.type.pointee, 0.0), builder.sub(count, ir.Constant(_INT, 1))

        def add(total: Any, i: Any) -> None:
            index = builder.load(_at(builder, indices, i))
            place = builder.select(builder.icmp_unsigned("<", index, count), index, most_index)
            builder.store(builder.or_(builder.load(beyond), builder.xor(index, place)), beyond)
            clipped = builder.fcmp_ordered("<=", builder.load(_at(builder, y, i)), zero)
            scale = builder.select(clipped, zero, builder.load(_at(builder, g, i)))
            row = vectors.load(_at(builder, rows, offset, builder.mul(place, pitch)))
            vectors.add_product(total, row, vectors.splat(scale))

        last = builder.add(start, windows)
        most = builder.sub(last, builder.urem(windows, ir.Constant(_INT, _SUMS)))
        with cgutils.for_range_slice(builder, start, most, ir.Constant(_INT, _SUMS), intp=_INT) as (i, _):
            for number, total in enumerate(totals):
                add(total, builder.add(i, ir.Constant(_INT, number)))
        with cgutils.for_range_slice(builder, most, last, ir.Constant(_INT, 1), intp=_INT) as (i, _):
            add(totals[0], i)
        pointer = _at(builder, sums, target)
        one, other = (builder.fadd(*map(builder.load, totals[i : i + 2])) for i in (0, 2))
        vectors.store(builder.fadd(vectors.load(pointer), builder.fadd(one, other)), pointer)
        return builder.icmp_unsigned("==", builder.load(beyond), ir.Constant(_INT, 0))

    return signature, emit


@jit
def _is_finite(values):
    check = values.dtype.type(0)
    for value in values:
        check += value * 0  # 0 times infinity or NaN is NaN
    return check == 0


@jit_parallel
def _sum_parts(g, indices, y, x, window, step, places, sums, good):
    """sums (parts, O, pitch): for each result channel its taps, (C, KW, KH), and its bias. g, indices and y are (N, O, windows).

    good[part] is whether all its pixels are finite and all its indices places; if not, the sums are not complete.
    """
    samples, outputs, windows = g.shape
    channels, positions, pitch = x.shape[1], window.out_height * window.out_width, sums.shape[2]
    taps, lanes = channels * window.kh * window.kw, VECTOR_BYTES // x.itemsize
    for part in numba.prange(sums.shape[0]):
        copies, rows = aligned_empty((taps + 1) * step, x), aligned_empty((positions + 1) * pitch, x)
        copies[taps * step :] = 1
        flat = sums[part].reshape(-1)
        for n in range(part * samples // sums.shape[0], (part + 1) * samples // sums.shape[0]):
            fine = _is_finite(x[n].reshape(-1))
            fill_copies(x, n, 1, 0, channels, window, window.kh, 0, window.out_height, step, copies)
            gather_band(copies, 0, step, taps + 1, positions, places, 0, rows)
            for o in range(outputs):
                for j in range(0, pitch, lanes):
                    fine &= _add_rows(rows, j, pitch, positions, g, indices, y, (n * outputs + o) * windows, windows, flat,
                                      o * pitch + j)
            good[part] &= fine


def _pitch(taps: int) -> int:
    """The elements of a row: the taps, a one and what fills the last vector."""
    return whole(taps + 1)


def suits(x: Array, weight_shape: tuple[int, ...], window: Window) -> bool:
    """Whether to call `grad_weight`: the rows of an image stay in the cache, and so many results share them that they pay."""
    pitch = _pitch(math.prod(weight_shape[1:]))
    fitting = pitch * window.out_height * window.out_width * x.itemsize <= _ROWS_BYTES
    return fitting and weight_shape[0] * _RESULTS >= pitch


def grad_weight(g: Array, indices: Array, y: Array, x: Array, window: Window, dweight: Array, dbias: Array) -> bool:
    """Fill dweight (O, C, KH, KW) and dbias (O,) from x (N, C, H, W), all contiguous.

    g and y (N, O, *) are the maxima's gradients and themselves after ReLU, `indices` their places in the planes of results.
    False, and no results, where a pixel is not finite, for infinity times a zero that is left out here would be NaN; or where an
    index is out of range.
    """
    samples, outputs = g.shape[:2]
    (_, channels, kh, kw), taps = dweight.shape, dweight[0].size
    positions, pitch = window.out_height * window.out_width, _pitch(taps)
    parts = min(_PARTS, samples)
    sums, good = np.zeros((parts, outputs, pitch), x.dtype), np.ones(parts, np.bool_)
    places = np.minimum(np.arange(positions + LANES), positions) * pitch
    flat = (array.reshape(samples, outputs, -1) for array in (g, indices, y))
    _sum_parts(*flat, x, window, whole_vectors(positions, x.itemsize), places, sums, good)
    if not good.all():
        return False
    total = sums.sum(0)
    dweight[:] = total[:, :taps].reshape(outputs, channels, kw, kh).swapaxes(2, 3)
    dbias[:] = total[:, taps]
    return True
