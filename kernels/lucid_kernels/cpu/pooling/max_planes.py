"""Max pooling of planes over any windows, its gradient, and the elements at given positions.

A plane is computed an output row at a time, one tap of the window after the other, so that the inner loop runs along the row
and vectorises; each output still sees its window in row order, which is the order PyTorch compares in.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import row_chunk
from ..arrays.window import valid_ranges
from ..runtime.jit import jit, jit_exact, jit_parallel
from .max_2x2_microkernels import prefetch_elements
from .max_microkernels import max_row, max_row_2, max_row_3, max_row_4

# Elements between those that are scattered and those that are prefetched, and how many are prefetched at once.
_AHEAD = 1024
_PREFETCHED = 64


@jit_exact
def _pool_planes(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, first, last):
    """`max_planes` for the planes first..last."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    ranges = valid_ranges(kw, pw, dw, sw, width, out_width)
    columns = np.empty(out_width, np.int64)
    for j in range(out_width):
        left = j * sw - pw
        columns[j] = left if left >= 0 else left + (-left + dw - 1) // dw * dw
    for p in range(first, last):
        for oh in range(out_height):
            top = oh * sh - ph
            # An all -inf window points at its first tap inside the input.
            first_row = top if top >= 0 else top + (-top + dh - 1) // dh * dh
            for j in range(out_width):
                y[p, oh, j] = -np.inf
                indices[p, oh, j] = first_row * width + columns[j]
            for a in range(kh):
                ih = top + a * dh
                if ih < 0 or ih >= height:
                    continue
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo >= hi:
                        continue
                    best = y[p, oh, lo:hi]
                    where = indices[p, oh, lo:hi]
                    values = x[p, ih, start:]
                    position = ih * width + start
                    # A constant stride becomes vector shuffles; a run-time stride does not vectorise. As a
                    # function of its own this loop took 2.6 times as long: a call, and its slices' reference counts.
                    if sw == 1:
                        for j in range(best.shape[0]):
                            value = values[j]
                            better = (value > best[j]) | np.isnan(value)
                            best[j] = value if better else best[j]
                            where[j] = position + j if better else where[j]
                    elif sw == 2:
                        for j in range(best.shape[0]):
                            value = values[2 * j]
                            better = (value > best[j]) | np.isnan(value)
                            best[j] = value if better else best[j]
                            where[j] = position + 2 * j if better else where[j]
                    else:
                        for j in range(best.shape[0]):
                            value = values[j * sw]
                            better = (value > best[j]) | np.isnan(value)
                            best[j] = value if better else best[j]
                            where[j] = position + j * sw if better else where[j]


@jit_exact
def clip_planes(y, indices, first, last):
    """ReLU of the planes first..last, in place; the indices of what it lets no gradient pass to become -1."""
    values, kept, zero = y[first:last].reshape(-1), indices[first:last].reshape(-1), y.dtype.type(0)
    for i in range(values.shape[0]):
        kept[i] = -1 if values[i] <= zero else kept[i]
        values[i] = zero if values[i] < zero else values[i]


@jit_parallel
def max_planes(x, kh, kw, sh, sw, ph, pw, dh, dw, relu, y, indices):
    """Maxima of x (P, H, W) over any windows, to y (P, OH, OW), and their positions in the plane; with `relu` ReLU of them."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        last = min(count, (i + 1) * step)
        _pool_planes(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, i * step, last)
        if relu:
            clip_planes(y, indices, i * step, last)


@jit
def _pool_rows(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, first, last):
    """`max_rows` for the planes first..last."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    pixels, best, where = x.reshape(-1), y.reshape(-1), indices.reshape(-1)
    for p in range(first, last):
        for oh in range(out_height):
            plane, target = p * height * width, (p * out_height + oh) * out_width
            if sw == 1:
                max_row(pixels, plane, height, width, kh, kw, dh, dw, oh * sh - ph, pw, best, where, target, out_width)
            else:
                max_row_2(pixels, plane, height, width, kh, kw, dh, dw, oh * sh - ph, pw, best, where, target, out_width)


@jit_parallel
def max_rows(x, kh, kw, sh, sw, ph, pw, dh, dw, relu, y, indices):
    """`max_planes` for windows 1 or 2 columns apart that all have a pixel inside, and planes of less than 2^31."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        last = min(count, (i + 1) * step)
        _pool_rows(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, i * step, last)
        if relu:
            clip_planes(y, indices, i * step, last)


@jit
def _pool_flat_rows(x, kw, sw, pw, y, indices, first, last):
    """`max_flat_rows` for the rows first..last."""
    width, out_width = x.shape[1], y.shape[1]
    pixels, best, where = x.reshape(-1), y.reshape(-1), indices.reshape(-1)
    for row in range(first, last):
        source, target = row * width, row * out_width
        if sw == 3:
            max_row_3(pixels, source, 1, width, 1, kw, 1, 1, 0, pw, best, where, target, out_width)
        else:
            max_row_4(pixels, source, 1, width, 1, kw, 1, 1, 0, pw, best, where, target, out_width)


@jit_parallel
def max_flat_rows(x, kw, sw, pw, relu, y, indices):
    """`max_rows` for planes of one row, x (P, W) and y (P, OW), and windows 3 or 4 columns apart."""
    count = x.shape[0]
    step = row_chunk(x.shape[1])
    for i in numba.prange((count + step - 1) // step):
        last = min(count, (i + 1) * step)
        _pool_flat_rows(x, kw, sw, pw, y, indices, i * step, last)
        if relu:
            clip_planes(y, indices, i * step, last)


@jit
def _scatter_planes(g, indices, relu, add, dx, first, last):
    """`scatter_planes` for the planes first..last.

    For 2x2 windows every element could be written once, in order, by comparing positions: in vectors too that took as long as
    zeros and this scatter in the L1 cache. So did streamed stores, while the reads ahead take 0.75 of the time for 45 MB.
    """
    length = g.shape[1]
    size = np.uint64(dx.shape[1])
    good = True
    for p in range(first, last):
        target = dx[p]
        for i in range(target.shape[0]):
            target[i] = 0
        for start in range(0, length, _PREFETCHED):
            prefetch_elements(g, p * length + start + _AHEAD, _PREFETCHED)
            prefetch_elements(indices, p * length + start + _AHEAD, _PREFETCHED)
            grad = g[p, start : start + _PREFETCHED]
            where = indices[p, start : start + _PREFETCHED]
            for i in range(grad.shape[0]):
                k = np.uint64(where[i])  # a negative index becomes a huge one
                if k < size:
                    if add is None:
                        target[k] = grad[i]
                    else:
                        target[k] += grad[i]
                else:
                    good &= relu and where[i] == -1
    return good


@jit_parallel
def scatter_planes(g, indices, relu, add, dx):
    """dx (P, S) = g (P, Q) at the positions `indices` of the planes, else 0; with `relu` -1 is nowhere.

    What has one position is added, or with None for `add` the last stays, for which other code is compiled.

    Returns whether all positions were in range.
    """
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    good = np.ones(1, np.bool_)
    for i in numba.prange((count + step - 1) // step):
        if not _scatter_planes(g, indices, relu, add, dx, i * step, min(count, (i + 1) * step)):
            good[0] = False
    return good[0]


@jit
def _gather_planes(x, indices, y, first, last):
    """`gather_planes` for the planes first..last."""
    size = np.uint64(x.shape[1])
    good = True
    for p in range(first, last):
        values = x[p]
        target = y[p]
        where = indices[p]
        for i in range(target.shape[0]):
            k = np.uint64(where[i])
            if k < size:
                target[i] = values[k]
            else:
                good = False
    return good


@jit_parallel
def gather_planes(x, indices, y):
    """y (P, Q) = the elements `indices` of the planes x (P, S); return whether all of them were in range."""
    count = y.shape[0]
    step = row_chunk(y.size // max(1, count))
    good = np.ones(1, np.bool_)
    for i in numba.prange((count + step - 1) // step):
        if not _gather_planes(x, indices, y, i * step, min(count, (i + 1) * step)):
            good[0] = False
    return good[0]
