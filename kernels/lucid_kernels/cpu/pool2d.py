"""Pooling over (N, C, H, W), one (H, W) plane at a time; planes are independent and shared out among the threads.

A plane is computed an output row at a time, one tap of the window after the other, so that the inner loop runs along
the row and vectorises; each output still sees its window in row order, which is the order PyTorch adds and compares in.
float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from . import _pool2d_windows as windows
from ._compile import jit, jit_exact, jit_parallel
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result, row_chunk, upcast_half
from ._sliding import valid_ranges

Pair = tuple[int, int]

# kernel_size, stride, padding and dilation of the commonest windows, which have their own loops.
_HALVING = (2, 2, 2, 2, 0, 0, 1, 1)
_OVERLAPPING = (3, 3, 2, 2, 1, 1, 1, 1)


def _pooled_length(length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Output length along one axis. With ceil_mode the last window must start inside the input or its left padding."""
    span = length + 2 * padding - dilation * (kernel - 1) - 1
    pooled = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (pooled - 1) * stride >= length + padding:
        pooled -= 1
    return pooled


# ---- max pooling ---------------------------------------------------------------------------------------------------


@jit_exact
def _max_planes(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, first, last):
    """Pool planes first..last of x (P, H, W) into y and indices (P, OH, OW)."""
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


@jit_parallel
def _max_planes_parallel(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices):
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _max_planes(x, kh, kw, sh, sw, ph, pw, dh, dw, y, indices, i * step, min(count, (i + 1) * step))


@jit
def _scatter_planes(g, indices, dx, first, last):
    """Add g (P, Q) to the positions `indices` of the planes dx (P, S); return whether all of them were in range.

    For 2x2 windows every element could be written once, in order, by comparing positions: in vectors too that took as long as
    zeros and this scatter in the L1 cache.
    """
    size = np.uint64(dx.shape[1])
    good = True
    for p in range(first, last):
        target = dx[p]
        for i in range(target.shape[0]):
            target[i] = 0
        grad = g[p]
        where = indices[p]
        for i in range(grad.shape[0]):
            k = np.uint64(where[i])  # a negative index becomes a huge one
            if k < size:
                target[k] += grad[i]
            else:
                good = False
    return good


@jit_parallel
def _scatter_planes_parallel(g, indices, dx):
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    good = np.ones(1, np.bool_)
    for i in numba.prange((count + step - 1) // step):
        if not _scatter_planes(g, indices, dx, i * step, min(count, (i + 1) * step)):
            good[0] = False
    return good[0]


@jit
def _gather_planes(x, indices, y, first, last):
    """y (P, Q) = the elements `indices` of the planes x (P, S); return whether all of them were in range."""
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
def _gather_planes_parallel(x, indices, y):
    count = y.shape[0]
    step = row_chunk(y.size // max(1, count))
    good = np.ones(1, np.bool_)
    for i in numba.prange((count + step - 1) // step):
        if not _gather_planes(x, indices, y, i * step, min(count, (i + 1) * step)):
            good[0] = False
    return good[0]


# ---- average pooling -----------------------------------------------------------------------------------------------


def _window_sizes(
    length: int, pooled: int, kernel: int, stride: int, padding: int, count_include_pad: bool
) -> np.ndarray:
    """How many positions of one axis each window counts, as PyTorch does it: never those beyond the right padding."""
    start = np.arange(pooled, dtype=np.int64) * stride - padding
    stop = np.minimum(start + kernel, length + padding)
    if not count_include_pad:
        start = np.maximum(start, 0)
        stop = np.minimum(stop, length)
    return stop - start


@jit_exact
def _average_planes(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y, first, last):
    """Average planes first..last of x (P, H, W); a window's divisor is rows[oh] * columns[ow], or `override` if not 0."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    ranges = valid_ranges(kw, pw, 1, sw, width, out_width)
    for p in range(first, last):
        for oh in range(out_height):
            total = y[p, oh]
            for j in range(out_width):
                total[j] = 0
            for a in range(kh):
                ih = oh * sh - ph + a
                if ih < 0 or ih >= height:
                    continue
                row = x[p, ih]
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo >= hi:
                        continue
                    target = total[lo:hi]
                    values = row[start:]
                    if sw == 1:
                        for j in range(target.shape[0]):
                            target[j] += values[j]
                    elif sw == 2:
                        for j in range(target.shape[0]):
                            target[j] += values[2 * j]
                    else:
                        for j in range(target.shape[0]):
                            target[j] += values[j * sw]
            for j in range(out_width):
                divisor = override if override != 0 else rows[oh] * columns[j]
                # A window wholly in the padding is 0, also where its divisor is.
                if divisor != 0:
                    total[j] = total[j] / x.dtype.type(divisor)


@jit_parallel
def _average_planes_parallel(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y):
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_planes(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y, i * step, min(count, (i + 1) * step))


@jit_exact
def _average_grad_planes(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx, first, last):
    """Spread planes first..last of g (P, OH, OW) over the windows they were averaged from, into dx (P, H, W)."""
    _, height, width = dx.shape
    _, out_height, out_width = g.shape
    share = np.empty(out_width, g.dtype)
    ranges = valid_ranges(kw, pw, 1, sw, width, out_width)
    for p in range(first, last):
        for ih in range(height):
            target = dx[p, ih]
            for j in range(width):
                target[j] = 0
        for oh in range(out_height):
            for j in range(out_width):
                divisor = override if override != 0 else rows[oh] * columns[j]
                share[j] = g[p, oh, j] / g.dtype.type(divisor)
            for a in range(kh):
                ih = oh * sh - ph + a
                if ih < 0 or ih >= height:
                    continue
                row = dx[p, ih]
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo >= hi:
                        continue
                    values = share[lo:hi]
                    target = row[start:]
                    if sw == 1:
                        for j in range(values.shape[0]):
                            target[j] += values[j]
                    elif sw == 2:
                        for j in range(values.shape[0]):
                            target[2 * j] += values[j]
                    else:
                        for j in range(values.shape[0]):
                            target[j * sw] += values[j]


@jit_parallel
def _average_grad_planes_parallel(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx):
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_grad_planes(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx, i * step, min(count, (i + 1) * step))


@jit_exact
def _bounds(index, length, pooled):
    """Where adaptive window `index` of `pooled` starts and stops: floor(i * L / O) and ceil((i + 1) * L / O)."""
    return index * length // pooled, ((index + 1) * length + pooled - 1) // pooled


@jit
def _adaptive_planes(x, y, first, last):
    """Average planes first..last of x (P, H, W) into y (P, OH, OW)."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    for p in range(first, last):
        for oh in range(out_height):
            top, bottom = _bounds(oh, height, out_height)
            for ow in range(out_width):
                left, right = _bounds(ow, width, out_width)
                total = 0.0
                for ih in range(top, bottom):
                    row = x[p, ih, left:right]
                    for j in range(row.shape[0]):
                        total += row[j]
                y[p, oh, ow] = total / ((bottom - top) * (right - left))


@jit_parallel
def _adaptive_planes_parallel(x, y):
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _adaptive_planes(x, y, i * step, min(count, (i + 1) * step))


@jit
def _adaptive_grad_planes(g, dx, first, last):
    """Spread planes first..last of g (P, OH, OW) over the adaptive windows, into dx (P, H, W)."""
    _, height, width = dx.shape
    _, out_height, out_width = g.shape
    for p in range(first, last):
        for ih in range(height):
            target = dx[p, ih]
            for j in range(width):
                target[j] = 0
        for oh in range(out_height):
            top, bottom = _bounds(oh, height, out_height)
            for ow in range(out_width):
                left, right = _bounds(ow, width, out_width)
                share = g[p, oh, ow] / g.dtype.type((bottom - top) * (right - left))
                for ih in range(top, bottom):
                    target = dx[p, ih, left:right]
                    for j in range(target.shape[0]):
                        target[j] += share


@jit_parallel
def _adaptive_grad_planes_parallel(g, dx):
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _adaptive_grad_planes(g, dx, i * step, min(count, (i + 1) * step))


# ---- entry points --------------------------------------------------------------------------------------------------


def _planes(array: Array) -> Array:
    """(N, C, H, W) as contiguous planes (N * C, H, W)."""
    n, c, h, w = array.shape
    return contiguous(array).reshape(n * c, h, w)


def _flat_planes(array: Array) -> Array:
    """(N, C, H, W) as contiguous flat planes (N * C, H * W)."""
    n, c, h, w = array.shape
    return contiguous(array).reshape(n * c, h * w)


@upcast_half(results=(0, None))
def max_pool2d(
    x: Array,
    *,
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
    out: tuple[Array | None, Array | None] | None = None,
) -> tuple[Array, Array]:
    """Maxima y (N, C, OH, OW) of x (N, C, H, W), and their int64 positions in the H*W plane.

    The first maximum of a window in row order wins, except that NaN wins over everything, the last one of several, as
    in PyTorch.
    """
    height, width = (
        _pooled_length(*axis, ceil_mode) for axis in zip(x.shape[2:], kernel_size, stride, padding, dilation)
    )
    out_y, out_indices = outputs(out, 2)
    shape = (*x.shape[:2], height, width)
    y = result(out_y, shape, x.dtype)
    indices = result(out_indices, shape, np.int64)
    planes = _planes(x)
    arguments: tuple[Any, ...]
    window = (*kernel_size, *stride, *padding, *dilation)
    if window == _HALVING and 2 * height <= x.shape[2] and 2 * width <= x.shape[3]:
        serial, parallel = windows.max_2x2, windows.max_2x2_parallel
        arguments = (planes, _planes(y), _planes(indices))
    elif window == _OVERLAPPING and x.shape[2] * x.shape[3] < 1 << 31:
        serial, parallel = windows.max_3x3, windows.max_3x3_parallel
        arguments = (planes, _planes(y), _planes(indices))
    else:
        serial, parallel = _max_planes, _max_planes_parallel
        arguments = (planes, *kernel_size, *stride, *padding, *dilation, _planes(y), _planes(indices))
    if x.size < PARALLEL_FROM:
        serial(*arguments, 0, planes.shape[0])
    else:
        parallel(*arguments)
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half
def max_pool2d_grad(
    g: Array, indices: Array, *, input_shape: tuple[int, ...], out: Array | None = None
) -> Array:
    """Gradient (N, C, H, W) of max pooling: g (N, C, OH, OW) added at `indices`. IndexError where one is out of range."""
    dx = result(out, tuple(input_shape), g.dtype)
    arguments = (_flat_planes(g), _flat_planes(indices), _flat_planes(dx))
    if dx.size < PARALLEL_FROM:
        good = _scatter_planes(*arguments, 0, arguments[0].shape[0])
    else:
        good = _scatter_planes_parallel(*arguments)
    if not good:
        _raise_out_of_range("max_pool2d_grad", input_shape)
    return deliver(out, dx)


@upcast_half
def max_pool2d_gather(x: Array, indices: Array, *, out: Array | None = None) -> Array:
    """y[n, c] (OH, OW) = the elements of the plane x[n, c] (H, W) at the flat positions indices[n, c] (OH, OW)."""
    y = result(out, indices.shape, x.dtype)
    arguments = (_flat_planes(x), _flat_planes(indices), _flat_planes(y))
    if y.size < PARALLEL_FROM:
        good = _gather_planes(*arguments, 0, arguments[0].shape[0])
    else:
        good = _gather_planes_parallel(*arguments)
    if not good:
        _raise_out_of_range("max_pool2d_gather", x.shape)
    return deliver(out, y)


def _raise_out_of_range(name: str, input_shape: tuple[int, ...]) -> None:
    height, width = input_shape[2:]
    raise IndexError(f"{name}: an index is outside the {height}x{width} plane, 0 <= index < {height * width}")


def _window_sizes_2d(
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
) -> tuple[Array, Array]:
    """`_window_sizes` along H and along W."""
    axes = zip(input_shape[2:], output_shape[2:], kernel_size, stride, padding)
    rows, columns = (_window_sizes(*axis, count_include_pad) for axis in axes)
    return rows, columns


def _halves(
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    divisor_override: int | None,
) -> bool:
    """Whether the windows are 2x2, side by side and all inside: their divisor is 4, and dividing by it is exact."""
    inside = 2 * output_shape[2] <= input_shape[2] and 2 * output_shape[3] <= input_shape[3]
    return inside and divisor_override is None and (*kernel_size, *stride, *padding) == _HALVING[:6]


@upcast_half
def avg_pool2d(
    x: Array,
    *,
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Array | None = None,
) -> Array:
    """Averages (N, C, OH, OW) over the windows of x (N, C, H, W)."""
    height, width = (
        _pooled_length(*axis, 1, ceil_mode) for axis in zip(x.shape[2:], kernel_size, stride, padding)
    )
    y = result(out, (*x.shape[:2], height, width), x.dtype)
    planes = _planes(x)
    if _halves(x.shape, y.shape, kernel_size, stride, padding, divisor_override):
        serial, parallel = windows.average_2x2, windows.average_2x2_parallel
        arguments: tuple[Any, ...] = (planes, x.dtype.type(0.25), _planes(y))
    else:
        sizes = _window_sizes_2d(x.shape, y.shape, kernel_size, stride, padding, count_include_pad)
        serial, parallel = _average_planes, _average_planes_parallel
        arguments = (planes, *kernel_size, *stride, *padding, *sizes, divisor_override or 0, _planes(y))
    if x.size < PARALLEL_FROM:
        serial(*arguments, 0, planes.shape[0])
    else:
        parallel(*arguments)
    return deliver(out, y)


@upcast_half
def avg_pool2d_grad(
    g: Array,
    *,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Array | None = None,
) -> Array:
    """Gradient (N, C, H, W) of average pooling for g (N, C, OH, OW); `ceil_mode` shows in the shape of g."""
    dx = result(out, tuple(input_shape), g.dtype)
    planes = _planes(g)
    covered = tuple(input_shape[2:]) == (2 * g.shape[2], 2 * g.shape[3])
    if covered and _halves(input_shape, g.shape, kernel_size, stride, padding, divisor_override):
        serial, parallel = windows.average_2x2_grad, windows.average_2x2_grad_parallel
        arguments: tuple[Any, ...] = (planes, g.dtype.type(0.25), _planes(dx))
    else:
        sizes = _window_sizes_2d(input_shape, g.shape, kernel_size, stride, padding, count_include_pad)
        serial, parallel = _average_grad_planes, _average_grad_planes_parallel
        arguments = (planes, *kernel_size, *stride, *padding, *sizes, divisor_override or 0, _planes(dx))
    if dx.size < PARALLEL_FROM:
        serial(*arguments, 0, planes.shape[0])
    else:
        parallel(*arguments)
    return deliver(out, dx)


def _adaptive_pair(full: Array, pooled: Array) -> tuple[Array, Array]:
    """The planes of both arrays of adaptive pooling. For global pooling a plane is one long row, which vectorises."""
    planes, windows = _planes(full), _planes(pooled)
    if pooled.shape[2:] == (1, 1):
        planes = planes.reshape(planes.shape[0], 1, full.shape[2] * full.shape[3])
    return planes, windows


@upcast_half
def adaptive_avg_pool2d(x: Array, *, output_size: Pair, out: Array | None = None) -> Array:
    """Averages (N, C, *output_size) of x (N, C, H, W): window i of O covers floor(i*H/O) to ceil((i+1)*H/O)."""
    y = result(out, (*x.shape[:2], *output_size), x.dtype)
    planes, pooled = _adaptive_pair(x, y)
    if x.size < PARALLEL_FROM:
        _adaptive_planes(planes, pooled, 0, planes.shape[0])
    else:
        _adaptive_planes_parallel(planes, pooled)
    return deliver(out, y)


@upcast_half
def adaptive_avg_pool2d_grad(g: Array, *, input_shape: tuple[int, ...], out: Array | None = None) -> Array:
    """Gradient (N, C, H, W) of adaptive average pooling for g (N, C, OH, OW)."""
    dx = result(out, tuple(input_shape), g.dtype)
    planes, pooled = _adaptive_pair(dx, g)
    if dx.size < PARALLEL_FROM:
        _adaptive_grad_planes(pooled, planes, 0, planes.shape[0])
    else:
        _adaptive_grad_planes_parallel(pooled, planes)
    return deliver(out, dx)
