"""Images and volumes read at any coordinates, by interpolation, and the gradients: spatial transformers, optical flow.

The elements that a point is made of and their weights do not depend on the channel. They are computed for a block of points,
which stays in the L1 cache while all channels are read there. What lies outside counts as zero, whatever its weight: that gives
PyTorch's NaN at coordinates that are NaN, and none of an inf that is not met.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, outputs, result
from ..runtime.jit import jit_exact, jit_inline, jit_parallel, jit_strict
from .bilinear_microkernels import add_corner_products, read_corners

_NEAREST, _LINEAR, _CUBIC = 1, 2, 4  # neighbours along a dimension
_TAPS = {"nearest": _NEAREST, "bilinear": _LINEAR, "bicubic": _CUBIC}
_ZEROS, _BORDER, _REFLECTION = range(3)
_PADDING = {"zeros": _ZEROS, "border": _BORDER, "reflection": _REFLECTION}
_KEYS = -0.75  # "Cubic convolution interpolation for digital image processing", 1981
_BLOCK = 128  # points
_GROUP = 16  # points, whole vectors, that are all inside or not
# Samples times groups of channels that share the gradient; each group computes offsets and weights again.
_PARTS = 8


class Sampling(NamedTuple):
    """The lengths (D, H, W) of the input (D = 1 for images), the number of coordinates, and how they are meant."""

    lengths: tuple[int, int, int]
    dims: int
    taps: int
    padding: int
    align_corners: bool


@jit_strict
def _unnormalize(grid, first, column, dims, length, align_corners, positions):
    """Coordinates from -1 to 1 as positions. In PyTorch's arithmetic: a bit decides what the nearest element is."""
    number = positions.dtype.type
    scale, shift = (number(length - 1), number(0)) if align_corners else (number(length), number(0.5))
    scale *= number(0.5)
    for p in range(positions.shape[0]):
        positions[p] = (grid[np.uint64((first + p) * dims + column)] + number(1)) * scale - shift


@jit_strict
def _pad(positions, slopes, length, padding, align_corners):
    """Positions moved into the input, and multiplied by it their slopes."""
    number = positions.dtype.type
    zero, one, half, last = number(0), number(1), number(0.5), number(length - 1)
    if padding == _REFLECTION:
        low, span = (zero, last) if align_corners else (-half, number(length))
        for p in range(positions.shape[0]):
            distance = positions[p] - low
            slope = -one if distance < zero else one
            distance = abs(distance)
            turns = np.floor(distance / span)
            rest = distance - turns * span
            odd = turns - np.floor(turns * half) * number(2) != zero
            positions[p] = (span - rest if odd else rest) + low
            slopes[p] *= -slope if odd else slope
    if padding != _ZEROS:
        for p in range(positions.shape[0]):
            position = positions[p]
            slopes[p] *= one if position > zero and position < last else zero
            position = position if position > zero else zero  # NaN too
            positions[p] = position if position < last else last


@jit_inline
def _offset(position, length):
    """The element at a whole position, -1 outside."""
    return np.int32(position) if position >= 0 and position < length else np.int32(-1)


@jit_exact
def _cubic_neighbour(t, positions, shares, moved, ignored, scale, length, padding, align_corners, offsets, weights, slopes):
    number = positions.dtype.type
    a, one, offset = number(_KEYS), number(1), number(t - 1)
    side = one if t < 2 else -one  # where the point is, seen from this neighbour
    for p in range(positions.shape[0]):
        d = (shares[p] - offset) * side
        if t == 1 or t == 2:
            weights[p] = ((a + number(2)) * d - (a + number(3))) * d * d + one
            slopes[p] = (number(3) * (a + number(2)) * d - number(2) * (a + number(3))) * d * side * scale
        else:
            weights[p] = ((d - number(5)) * d + number(8)) * d * a - number(4) * a
            slopes[p] = ((number(3) * d - number(10)) * d + number(8)) * a * side * scale
        moved[p] = positions[p] + offset
    _pad(moved, ignored, length, padding, align_corners)
    for p in range(positions.shape[0]):
        offsets[p] = _offset(moved[p], length)


@jit_exact
def _neighbours(grid, first, count, column, length, sampling, scratch, offsets, weights, slopes):
    """The elements along one dimension that points are made of, their weights, and the slopes of those by the coordinate."""
    positions, steps = scratch[0, :count], scratch[1, :count]
    number = positions.dtype.type
    align_corners, padding = sampling.align_corners, sampling.padding
    scale = number(length - 1 if align_corners else length) * number(0.5)
    _unnormalize(grid, first, column, sampling.dims, length, align_corners, positions)
    steps[:] = scale
    if sampling.taps == _CUBIC:
        for p in range(count):
            floor = np.floor(positions[p])
            steps[p] = positions[p] - floor
            positions[p] = floor
        for t in range(4):
            _cubic_neighbour(t, positions, steps, scratch[2, :count], scratch[3, :count], scale, length, padding, align_corners,
                             offsets[t, :count], weights[t, :count], slopes[t, :count])
        return
    _pad(positions, steps, length, padding, align_corners)
    left = offsets[0, :count]
    if sampling.taps == _NEAREST:
        for p in range(count):
            left[p] = _offset(np.rint(positions[p]), length)
        weights[0, :count] = number(1)
        return
    left_weights, left_slopes = weights[0, :count], slopes[0, :count]
    right, right_weights, right_slopes = offsets[1, :count], weights[1, :count], slopes[1, :count]
    for p in range(count):
        floor = np.floor(positions[p])
        left[p], right[p] = _offset(floor, length), _offset(floor + number(1), length)
        left_weights[p], right_weights[p] = (floor + number(1)) - positions[p], positions[p] - floor
        left_slopes[p], right_slopes[p] = -steps[p], steps[p]


@jit_exact
def _together(inner, inner_weights, outer, outer_weights, pitch, offsets, weights):
    """Offsets along two dimensions as one, `pitch` elements for a step of the outer one, and the products of weights."""
    for p in range(offsets.shape[0]):
        offset = outer[p] * np.int32(pitch) + inner[p]
        offsets[p] = offset if inner[p] >= 0 and outer[p] >= 0 else np.int32(-1)
        weights[p] = inner_weights[p] * outer_weights[p]


@jit_exact
def _inside(axis_offsets, first, last):
    """Whether all neighbours along two dimensions are elements, of points first..last."""
    least = np.int32(0)
    for axis in range(2):
        for t in range(2):
            offsets = axis_offsets[axis, t, first:last]
            for p in range(offsets.shape[0]):
                least = min(least, offsets[p])
    return least == 0


@jit_exact
def _find_runs(axis_offsets, count, runs):
    """Cut points 0..count into runs of groups inside and others: the number of runs, each a row (first, last, whether inside)."""
    number = 0
    for first in range(0, count, _GROUP):
        last = min(count, first + _GROUP)
        inside = np.int64(_inside(axis_offsets, first, last))
        if number and runs[number - 1, 2] == inside:
            runs[number - 1, 1] = last
        else:
            runs[number, 0], runs[number, 1], runs[number, 2] = first, last, inside
            number += 1
    return number


@jit_exact
def _neighbourhoods(grid, first, count, sampling, scratch, axis_offsets, axis_weights, axis_slopes, offsets, weights, runs):
    """`_neighbours` along all dimensions, and together: the elements of a plane or volume and their weights.

    And how many runs of points there are. In those inside, the first of four elements of a plane tells where the others are.
    """
    dims, taps, width = sampling.dims, sampling.taps, sampling.lengths[2]
    for column in range(dims):  # the coordinate of the last dimension comes first
        _neighbours(grid, first, count, column, sampling.lengths[2 - column], sampling, scratch, axis_offsets[column],
                    axis_weights[column], axis_slopes[column])
    for z in range(taps if dims == 3 else 1):
        for y in range(taps):
            for x in range(taps):
                tap = (z * taps + y) * taps + x
                _together(axis_offsets[0, x, :count], axis_weights[0, x, :count], axis_offsets[1, y, :count],
                          axis_weights[1, y, :count], width, offsets[tap, :count], weights[tap, :count])
                if dims == 3:
                    _together(offsets[tap, :count], weights[tap, :count], axis_offsets[2, z, :count], axis_weights[2, z, :count],
                              width * sampling.lengths[1], offsets[tap, :count], weights[tap, :count])
    offsets[0, count:] = 0
    if dims == 2 and taps == _LINEAR:
        return _find_runs(axis_offsets, count, runs)
    runs[0, 0], runs[0, 1], runs[0, 2] = 0, count, 0
    return 1


@jit_inline
def _value(x, offset):
    """An element, 0 outside: without a branch, which coordinates without a pattern would mislead."""
    value = x[np.uint64(max(offset, np.int32(0)))]
    return value if offset >= 0 else x.dtype.type(0)


@jit_exact
def _read(x, offsets, weights, first, last, y):
    """y = the weighed sums of the elements of one channel, for points first..last."""
    here, weight = offsets[0, first:last], weights[0, first:last]
    if offsets.shape[0] == 1:
        for p in range(y.shape[0]):
            y[p] = _value(x, here[p])
        return
    for p in range(y.shape[0]):
        y[p] = weight[p] * _value(x, here[p])
    for tap in range(1, offsets.shape[0]):
        here, weight = offsets[tap, first:last], weights[tap, first:last]
        for p in range(y.shape[0]):
            y[p] += weight[p] * _value(x, here[p])


@jit_exact
def _sample(x, grid, first, last, sampling, y):
    """Points first..last of all channels of a sample: x (C, elements), y (C, points)."""
    taps = sampling.taps ** sampling.dims
    scratch, axis_offsets = np.empty((4, _BLOCK), x.dtype), np.empty((3, 4, _BLOCK), np.int32)
    axis_weights, axis_slopes = np.empty((3, 4, _BLOCK), x.dtype), np.empty((3, 4, _BLOCK), x.dtype)
    offsets, weights = np.empty((taps, _BLOCK), np.int32), np.empty((taps, _BLOCK), x.dtype)
    runs = np.empty((_BLOCK // _GROUP, 3), np.int64)
    for start in range(first, last, _BLOCK):
        count = min(_BLOCK, last - start)
        number = _neighbourhoods(grid, start, count, sampling, scratch, axis_offsets, axis_weights, axis_slopes, offsets, weights,
                                 runs)
        for c in range(x.shape[0]):
            for run in range(number):
                a, b = runs[run, 0], runs[run, 1]
                here = y[c, start + a : start + b]
                if runs[run, 2]:
                    read_corners(x[c], offsets[0, a:], sampling.lengths[2], weights[0, a:], _BLOCK, b - a, here)
                else:
                    _read(x[c], offsets, weights, a, b, here)


@jit_parallel
def _sample_parallel(x, grid, sampling, each, y):
    parts = (y.shape[2] + each - 1) // each
    for task in numba.prange(x.shape[0] * parts):
        n, first = task // parts, task % parts * each
        _sample(x[n], grid[n], first, min(y.shape[2], first + each), sampling, y[n])


@jit_exact
def _add_products(g, x, offsets, slopes):
    """Add to the gradient of the weights of a tap what one channel gives."""
    for p in range(g.shape[0]):
        slopes[p] += g[p] * _value(x, offsets[p])


@jit_exact
def _spread(g, offsets, weights, dx):
    """Add the gradient of one channel to the elements that its points were made of."""
    for p in range(g.shape[0]):
        if offsets[p] >= 0:
            dx[np.uint64(offsets[p])] += weights[p] * g[p]


@jit_exact
def _coordinates_grad(sampling, axis_weights, axis_slopes, slopes, first, count, dgrid):
    """The gradients of the coordinates, of those of the weights."""
    dims = np.uint64(sampling.dims)
    target = dgrid[first * sampling.dims : (first + count) * sampling.dims]
    target[:] = 0
    for z in range(sampling.taps if dims == 3 else 1):
        for y in range(sampling.taps):
            for x in range(sampling.taps):
                slope = slopes[(z * sampling.taps + y) * sampling.taps + x, :count]
                across, down = axis_weights[0, x, :count], axis_weights[1, y, :count]
                across_slope, down_slope = axis_slopes[0, x, :count], axis_slopes[1, y, :count]
                if dims == 2:
                    for p in range(np.uint64(count)):
                        target[p * dims] += slope[p] * across_slope[p] * down[p]
                        target[p * dims + 1] += slope[p] * across[p] * down_slope[p]
                    continue
                deep, deep_slope = axis_weights[2, z, :count], axis_slopes[2, z, :count]
                for p in range(np.uint64(count)):
                    target[p * dims] += slope[p] * across_slope[p] * down[p] * deep[p]
                    target[p * dims + 1] += slope[p] * across[p] * down_slope[p] * deep[p]
                    target[p * dims + 2] += slope[p] * across[p] * down[p] * deep_slope[p]


@jit_exact
def _grad(g, x, grid, sampling, dx, dgrid, with_input, with_weights):
    """Gradients of all points of some channels of a sample: x and dx are (C, elements), g is (C, points)."""
    taps, points = sampling.taps ** sampling.dims, g.shape[1]
    scratch, axis_offsets = np.empty((4, _BLOCK), x.dtype), np.empty((3, 4, _BLOCK), np.int32)
    axis_weights, axis_slopes = np.empty((3, 4, _BLOCK), x.dtype), np.empty((3, 4, _BLOCK), x.dtype)
    offsets, weights = np.empty((taps, _BLOCK), np.int32), np.empty((taps, _BLOCK), x.dtype)
    slopes, runs = np.empty((taps, _BLOCK), x.dtype), np.empty((_BLOCK // _GROUP, 3), np.int64)
    dx[:] = 0
    for start in range(0, points, _BLOCK):
        count = min(_BLOCK, points - start)
        number = _neighbourhoods(grid, start, count, sampling, scratch, axis_offsets, axis_weights, axis_slopes, offsets, weights,
                                 runs)
        slopes[:] = 0
        for c in range(g.shape[0]):
            part = g[c, start : start + count]
            for run in range(number if with_weights else 0):
                a, b = runs[run, 0], runs[run, 1]
                if runs[run, 2]:
                    add_corner_products(part[a:b], x[c], offsets[0, a:], sampling.lengths[2], b - a, slopes[0, a:], _BLOCK)
                else:
                    for tap in range(taps):
                        _add_products(part[a:b], x[c], offsets[tap, a:b], slopes[tap, a:b])
            for tap in range(taps):
                if with_input:
                    _spread(part, offsets[tap, :count], weights[tap, :count], dx[c])
        if with_weights:
            _coordinates_grad(sampling, axis_weights, axis_slopes, slopes, start, count, dgrid)


@jit_parallel
def _grad_parallel(g, x, grid, sampling, parts, dx, dgrid, with_input, with_weights):
    channels = g.shape[1]
    for task in numba.prange(g.shape[0] * parts):
        n, part = task // parts, task % parts
        first, last = part * channels // parts, (part + 1) * channels // parts
        _grad(g[n, first:last], x[n, first:last], grid[n], sampling, dx[n, first:last], dgrid[task], with_input, with_weights)


def _sampling(x: Array, mode: str, padding_mode: str, align_corners: bool) -> Sampling:
    lengths = (1, *x.shape[2:])[-3:]
    return Sampling(lengths, x.ndim - 2, _TAPS[mode], _PADDING[padding_mode], align_corners)


def _flat(x: Array, trailing: int) -> Array:
    """The last dimensions as one."""
    return contiguous(x).reshape(*x.shape[: x.ndim - trailing], -1) if x.size else x.reshape(*x.shape[: x.ndim - trailing], 0)


@upcast_half
def grid_sample(x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool, out: Array | None = None) -> Array:
    """x (N, C, H, W) or (N, C, D, H, W) at the coordinates of grid (N, *S, 2 or 3), in the order x, y, z: (N, C, *S)."""
    shape = (*x.shape[:2], *grid.shape[1:-1])
    y = result(out, shape, x.dtype)
    if y.size:
        sampling = _sampling(x, mode, padding_mode, align_corners)
        work = sampling.taps**sampling.dims * x.shape[1]
        each = -(-max(1, GRAIN // work) // _BLOCK) * _BLOCK
        _sample_parallel(_flat(x, sampling.dims), _flat(grid, sampling.dims + 1), sampling, each, y.reshape(*shape[:2], -1))
    return deliver(out, y)


@upcast_half
def grid_sample_grad(g: Array, x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool, with_input: bool,
                     with_grid: bool, out: Any = None) -> tuple[Array | None, Array | None]:
    """The gradients (dx, dgrid) of `grid_sample`; None for one that is not wanted."""
    out_x, out_grid = outputs(out, 2)
    dx = result(out_x, x.shape if with_input else (*x.shape[:2], 0), x.dtype)
    dgrid = result(out_grid, grid.shape if with_grid else (len(grid), 0), grid.dtype)
    if mode == "nearest" or g.size == 0:
        dgrid.fill(0)
    if g.size == 0:
        dx.fill(0)
    elif with_input or mode != "nearest":
        sampling, (samples, channels) = _sampling(x, mode, padding_mode, align_corners), g.shape[:2]
        parts, with_weights = max(1, min(channels // 8, _PARTS // samples)), with_grid and mode != "nearest"
        shares = dgrid.reshape(samples, -1) if parts == 1 else np.empty((samples * parts, dgrid.size // samples), grid.dtype)
        _grad_parallel(_flat(g, sampling.dims), _flat(x, sampling.dims), _flat(grid, sampling.dims + 1), sampling, parts,
                       dx.reshape(samples, channels, -1), shares, with_input, with_weights)
        if parts > 1 and with_weights:
            shares.reshape(samples, parts, -1).sum(axis=1, out=dgrid.reshape(samples, -1))
    return deliver(out_x, dx) if with_input else None, deliver(out_grid, dgrid) if with_grid else None
