"""Pooling over (N, C, H, W), one (H, W) plane at a time; planes are independent and shared out among the threads.

The loops over planes are those of `max_2x2` for the commonest windows, else of `max_planes`,
`adaptive_max`, `avg` and `global_avg`. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import functools

import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from . import max_2x2 as windows
from .adaptive_max import max_ranges
from .avg import average_bands, average_grad_bands
from .global_avg import average_rows, average_rows_grad
from .max_planes import gather_planes, max_flat_rows, max_planes, max_rows, scatter_planes
from .windows import Axis, ranges

Pair = tuple[int, int]

# kernel_size, stride, padding and dilation of the commonest windows, which have their own loops.
_HALVING = (2, 2, 2, 2, 0, 0, 1, 1)


def _pooled_length(length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Output length along one axis. With ceil_mode the last window must start inside the input or its left padding."""
    span = length + 2 * padding - dilation * (kernel - 1) - 1
    pooled = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (pooled - 1) * stride >= length + padding:
        pooled -= 1
    return pooled


def _planes(array: Array) -> Array:
    """(N, C, H, W) as contiguous planes (N * C, H, W)."""
    n, c, h, w = array.shape
    return contiguous(array).reshape(n * c, h, w)


def _flat_planes(array: Array) -> Array:
    """(N, C, H, W) as contiguous flat planes (N * C, H * W)."""
    n, c, h, w = array.shape
    return contiguous(array).reshape(n * c, h * w)


def _rows_of_planes(array: Array) -> Array:
    """(N, C, 1, W) as contiguous rows (N * C, W)."""
    n, c, _, w = array.shape
    return contiguous(array).reshape(n * c, w)


def _adaptive_axes(full: tuple[int, ...], pooled: tuple[int, ...]) -> list[Axis]:
    """The axes of adaptive pooling from images of one shape to those of another."""
    return [Axis(*lengths) for lengths in zip(full[2:], pooled[2:])]


@upcast_half(results=(0, None))
def max_pool2d(
    x: Array,
    *,
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
    relu: bool = False,
    out: tuple[Array | None, Array | None] | None = None,
) -> tuple[Array, Array]:
    """Maxima y (N, C, OH, OW) of x (N, C, H, W), with `relu` ReLU of them, and their int64 positions in the H*W plane.

    With `relu` the position is -1 where ReLU lets no gradient pass. The first maximum of a window in row order wins, except
    that NaN wins over everything, the last one of several, as in PyTorch.
    """
    height, width = (
        _pooled_length(*axis, ceil_mode) for axis in zip(x.shape[2:], kernel_size, stride, padding, dilation)
    )
    out_y, out_indices = outputs(out, 2)
    shape = (*x.shape[:2], height, width)
    y = result(out_y, shape, x.dtype)
    indices = result(out_indices, shape, np.int64)
    window = (*kernel_size, *stride, *padding, *dilation)
    (kh, kw), (ph, pw), across = kernel_size, padding, stride[1]
    # Without gaps, and padding of half of them at most, each window has a pixel inside. 32 bits hold the positions of float32.
    in_vectors = dilation == (1, 1) and 2 * ph <= kh and 2 * pw <= kw and x.shape[2] * x.shape[3] < 1 << 31
    if window == _HALVING and 2 * height <= x.shape[2] and 2 * width <= x.shape[3]:
        windows.max_2x2(_planes(x), relu, _planes(y), _planes(indices))
    elif not in_vectors:
        max_planes(_planes(x), *window, relu, _planes(y), _planes(indices))
    elif across <= 2:
        max_rows(_planes(x), *window, relu, _planes(y), _planes(indices))
    elif across <= 4 and x.shape[2] == height == kh == 1:  # a quarter of the time of `max_ranges`, which transposes
        max_flat_rows(_rows_of_planes(x), kw, across, pw, relu, _rows_of_planes(y), _rows_of_planes(indices))
    else:
        axes = zip(x.shape[2:], (height, width), kernel_size, stride, padding)
        rows, columns = (ranges(Axis(*axis)) for axis in axes)
        max_ranges(_planes(x), rows, columns, relu, _planes(y), _planes(indices))
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half(results=(0, None))
def adaptive_max_pool2d(
    x: Array, *, output_size: Pair, out: tuple[Array | None, Array | None] | None = None
) -> tuple[Array, Array]:
    """`max_pool2d` over windows as those of `adaptive_avg_pool2d`: maxima (N, C, *output_size), and their positions."""
    out_y, out_indices = outputs(out, 2)
    shape = (*x.shape[:2], *output_size)
    y, indices = result(out_y, shape, x.dtype), result(out_indices, shape, np.int64)
    rows, columns = map(ranges, _adaptive_axes(x.shape, shape))
    max_ranges(_planes(x), rows, columns, False, _planes(y), _planes(indices))
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half
def max_pool2d_grad(
    g: Array, indices: Array, *, input_shape: tuple[int, ...], relu: bool = False, out: Array | None = None
) -> Array:
    """Gradient (N, C, H, W) of max pooling: g (N, C, OH, OW) added at `indices`, with `relu` nowhere for -1.

    IndexError where an index is out of range.
    """
    dx = result(out, tuple(input_shape), g.dtype)
    if not scatter_planes(_flat_planes(g), _flat_planes(indices), relu, True, _flat_planes(dx)):
        _raise_out_of_range("max_pool2d_grad", input_shape)
    return deliver(out, dx)


@upcast_half
def max_pool2d_gather(x: Array, indices: Array, *, out: Array | None = None) -> Array:
    """y[n, c] (OH, OW) = the elements of the plane x[n, c] (H, W) at the flat positions indices[n, c] (OH, OW)."""
    y = result(out, indices.shape, x.dtype)
    if not gather_planes(_flat_planes(x), _flat_planes(indices), _flat_planes(y)):
        _raise_out_of_range("max_pool2d_gather", x.shape)
    return deliver(out, y)


@upcast_half
def max_unpool2d(x: Array, indices: Array, *, output_size: Pair, out: Array | None = None) -> Array:
    """Zeros (N, C, *output_size), and x (N, C, H, W) at the flat positions `indices` of their planes; the last of equal ones."""
    y = result(out, (*x.shape[:2], *output_size), x.dtype)
    if not scatter_planes(_flat_planes(x), _flat_planes(indices), False, None, _flat_planes(y)):
        _raise_out_of_range("max_unpool2d", y.shape)
    return deliver(out, y)


def _raise_out_of_range(name: str, input_shape: tuple[int, ...]) -> None:
    height, width = input_shape[2:]
    raise IndexError(f"{name}: an index is outside the {height}x{width} plane, 0 <= index < {height * width}")


@functools.lru_cache(maxsize=256)
def _window_sizes(axis: Axis, count_include_pad: bool) -> Array:
    """How many positions of the axis each window counts, as PyTorch does it: never those beyond the right padding."""
    if not count_include_pad:
        start, stop = ranges(axis)
        return np.maximum(stop - start, 0)
    start = np.arange(axis.pooled, dtype=np.int64) * axis.stride - axis.padding
    return np.minimum(start + axis.kernel, axis.length + axis.padding) - start


def _averaging(
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
    divisor_override: int | None,
) -> tuple[Axis, Axis, tuple[Array, Array]]:
    """The axes, and the divisors of windows: products of a number for each row and one for each column."""
    rows, columns = (Axis(*a) for a in zip(input_shape[2:], output_shape[2:], kernel_size, stride, padding))
    if divisor_override:
        return rows, columns, (np.full(rows.pooled, divisor_override), np.ones(columns.pooled, np.int64))
    return rows, columns, (_window_sizes(rows, count_include_pad), _window_sizes(columns, count_include_pad))


def _halves(
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    divisor_override: int | None,
) -> float:
    """The share of an element, if the windows are 2x2, side by side and all inside, and it is exact; else 0."""
    inside = 2 * output_shape[2] <= input_shape[2] and 2 * output_shape[3] <= input_shape[3]
    divisor = divisor_override or 4
    exact = divisor > 0 and divisor & (divisor - 1) == 0
    return 1 / divisor if inside and exact and (*kernel_size, *stride, *padding) == _HALVING[:6] else 0


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
    share = _halves(x.shape, y.shape, kernel_size, stride, padding, divisor_override)
    if share:
        windows.average_2x2(planes, x.dtype.type(share), _planes(y))
    else:
        windowing = _averaging(x.shape, y.shape, kernel_size, stride, padding, count_include_pad, divisor_override)
        average_bands(planes, *windowing, _planes(y))
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
    share = _halves(input_shape, g.shape, kernel_size, stride, padding, divisor_override) if covered else 0
    if share:
        windows.average_2x2_grad(planes, g.dtype.type(share), _planes(dx))
    else:
        windowing = _averaging(input_shape, g.shape, kernel_size, stride, padding, count_include_pad, divisor_override)
        average_grad_bands(planes, *windowing, _planes(dx))
    return deliver(out, dx)


@upcast_half
def adaptive_avg_pool2d(x: Array, *, output_size: Pair, out: Array | None = None) -> Array:
    """Averages (N, C, *output_size) of x (N, C, H, W): window i of O covers floor(i*H/O) to ceil((i+1)*H/O)."""
    y = result(out, (*x.shape[:2], *output_size), x.dtype)
    if tuple(output_size) == (1, 1):
        average_rows(_flat_planes(x), y.reshape(-1))
    else:
        rows, columns = _adaptive_axes(x.shape, y.shape)
        average_bands(_planes(x), rows, columns, (_window_sizes(rows, False), _window_sizes(columns, False)), _planes(y))
    return deliver(out, y)


@upcast_half
def adaptive_avg_pool2d_grad(g: Array, *, input_shape: tuple[int, ...], out: Array | None = None) -> Array:
    """Gradient (N, C, H, W) of adaptive average pooling for g (N, C, OH, OW)."""
    dx = result(out, tuple(input_shape), g.dtype)
    if g.shape[2:] == (1, 1):
        average_rows_grad(contiguous(g).reshape(-1), _flat_planes(dx))
    else:
        rows, columns = _adaptive_axes(dx.shape, g.shape)
        sizes = _window_sizes(rows, False), _window_sizes(columns, False)
        average_grad_bands(_planes(g), rows, columns, sizes, _planes(dx))
    return deliver(out, dx)
