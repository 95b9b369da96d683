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

from ..arrays.layout import Array
from ..arrays.window import Window
from ..convolution.channels_last import LANES, gather_band, whole
from ..convolution.im2row import fill_copies
from ..pooling.max_2x2_microkernels import CLIPPED
from ..runtime.intrinsic import I64, intrinsic
from ..runtime.jit import jit, jit_parallel
from ..simd.aligned import aligned_empty, whole_vectors
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep

# Rows that are added to sums of their own, which hides the latency of an addition.
_SUMS = 4
# Bytes of the rows of a sample: they are read in no order that the processor foresees, and should come from the L2 cache.
_ROWS_BYTES = 1 << 19
# Elements of a row for each result channel: with 48 for 8 channels, filling the rows takes longer than the products saved.
_RESULTS = 4
# Samples are shared out in this many parts at most. The number is fixed, so results do not depend on the number of threads.
_PARTS = 8


@jit
def _prepare(g, winners, corners, right, below, starts, scales):
    """Where the rows of some windows begin, and what they are multiplied by: g, or 0 where ReLU stops it.

    Rows of neighbours lie `right` and `below` apart, those of the windows' corners begin at `corners`. A loop of its own, which
    vectorises: 0.9 of the time that both take in one.
    """
    zero = g.dtype.type(0)
    for i in range(starts.shape[0]):
        winner = np.int32(winners[i])
        starts[i] = corners[i] + (right if winner & 1 else 0) + (below if winner & 2 else 0)
        scales[i] = g[i] if winner < CLIPPED else zero


@intrinsic
def _add_rows(typing, rows, offset, starts, scales, windows, sums, target):
    """sums[target + j] += sum over i < windows of scales[i] * rows[starts[i] + offset + j] for a vector of j, unchecked."""
    integer = types.int64
    signature = types.void(rows, integer, starts, scales, integer, sums, integer)

    def emit(context, builder, signature, arguments):
        rows, starts, scales, sums = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 5))
        offset, windows, target = (arguments[i] for i in (1, 4, 6))
        vectors = Vectors(builder, rows.type.pointee, VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8))
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_SUMS)]
        for total in totals:
            builder.store(vectors.zero, total)

        def add(total: Any, i: Any) -> None:
            row = vectors.load(gep(builder, rows, offset, builder.zext(builder.load(gep(builder, starts, i)), I64)))
            vectors.add_product(total, row, vectors.splat(builder.load(gep(builder, scales, i))))

        most = builder.sub(windows, builder.urem(windows, ir.Constant(I64, _SUMS)))
        with cgutils.for_range_slice(builder, ir.Constant(I64, 0), most, ir.Constant(I64, _SUMS), intp=I64) as (i, _):
            for number, total in enumerate(totals):
                add(total, builder.add(i, ir.Constant(I64, number)))
        with cgutils.for_range_slice(builder, most, windows, ir.Constant(I64, 1), intp=I64) as (i, _):
            add(totals[0], i)
        pointer = gep(builder, sums, target)
        one, other = (builder.fadd(*map(builder.load, totals[i : i + 2])) for i in (0, 2))
        vectors.store(builder.fadd(vectors.load(pointer), builder.fadd(one, other)), pointer)
        return context.get_dummy_value()

    return signature, emit


@jit
def _is_finite(values):
    check = values.dtype.type(0)
    for value in values:
        check += value * 0  # 0 times infinity or NaN is NaN
    return check == 0


@jit_parallel
def _sum_parts(g, winners, x, window, step, places, corners, sums, good):
    """sums (parts, O, pitch): for each result channel its taps, (C, KH, KW), and its bias. g and winners are (N, O, windows).

    good[part] is whether all its pixels are finite.
    """
    samples, outputs, windows = g.shape
    channels, positions, pitch = x.shape[1], window.out_height * window.out_width, sums.shape[2]
    taps, lanes = channels * window.kh * window.kw, VECTOR_BYTES // x.itemsize
    for part in numba.prange(sums.shape[0]):
        copies, rows = aligned_empty((taps + 1) * step, x), aligned_empty((positions + 1) * pitch, x)
        copies[taps * step :] = 1
        flat, starts, scales = sums[part].reshape(-1), np.empty(windows, np.int32), aligned_empty(windows, x)
        for n in range(part * samples // sums.shape[0], (part + 1) * samples // sums.shape[0]):
            good[part] &= _is_finite(x[n].reshape(-1))
            fill_copies(x, n, 1, 0, channels, window, window.kh, 0, window.out_height, step, copies)
            gather_band(copies, 0, step, taps + 1, positions, places, 0, rows)
            for o in range(outputs):
                _prepare(g[n, o], winners[n, o], corners, np.int32(pitch), np.int32(window.out_width * pitch), starts, scales)
                for j in range(0, pitch, lanes):
                    _add_rows(rows, j, starts, scales, windows, flat, o * pitch + j)


def _pitch(taps: int) -> int:
    """The elements of a row: the taps, a one and what fills the last vector."""
    return whole(taps + 1)


def suits(x: Array, weight_shape: tuple[int, ...], window: Window) -> bool:
    """Whether to call `grad_weight`: the rows of an image stay in the cache, and so many results share them that they pay."""
    pitch = _pitch(math.prod(weight_shape[1:]))
    fitting = pitch * window.out_height * window.out_width * x.itemsize <= _ROWS_BYTES
    return fitting and weight_shape[0] * _RESULTS >= pitch


def grad_weight(g: Array, winners: Array, x: Array, window: Window, dweight: Array, dbias: Array) -> bool:
    """Fill dweight (O, C, KH, KW) and dbias (O,) from x (N, C, H, W), all contiguous.

    g and `winners` (N, O, OH // 2, OW // 2) are of the maxima. False, and no results, where a pixel is not finite, for infinity
    times a zero that is left out here would be NaN.
    """
    samples, outputs = g.shape[:2]
    taps = dweight[0].size
    positions, pitch = window.out_height * window.out_width, _pitch(taps)
    parts = min(_PARTS, samples)
    sums, good = np.zeros((parts, outputs, pitch), x.dtype), np.ones(parts, np.bool_)
    places = np.minimum(np.arange(positions + LANES), positions) * pitch
    down, across = (np.arange(n, dtype=np.int32) for n in g.shape[2:])
    corners = (2 * pitch * (down.reshape(-1, 1) * np.int32(window.out_width) + across)).astype(np.int32).reshape(-1)
    flat = (array.reshape(samples, outputs, -1) for array in (g, winners))
    _sum_parts(*flat, x, window, whole_vectors(positions, x.itemsize), places, corners, sums, good)
    if not good.all():
        return False
    total = sums.sum(0)
    dweight[:] = total[:, :taps].reshape(dweight.shape)
    dbias[:] = total[:, taps]
    return True
