"""Pooling over (N, C, H, W), one (H, W) plane at a time; planes are independent and shared out among the threads.

`implementations.py` says which loops over planes compute a call. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lucid_kernels.windows import window_counts

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..runtime.implementations import Implementations
from .adaptive_max import max_ranges
from .implementations import AVERAGE, AVERAGE_GRAD, MAX, Pair, Problem, max_with_winners
from .max_2x2 import expand_2x2
from .max_planes import gather_planes, scatter_planes
from .windows import Axis, ranges


@functools.lru_cache(maxsize=1024)
def _chosen(implementations: Implementations, *fields: Any) -> tuple[Callable[..., None], Problem]:
    """What computes the problem of these fields, and the problem."""
    problem = Problem(*fields)
    return implementations.choose(problem).run, problem


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
    relu: bool = False,
    winners: bool = False,
    out: tuple[Array | None, Array | None] | None = None,
) -> tuple[Array, Array]:
    """Maxima y (N, C, OH, OW) of x (N, C, H, W), with `relu` ReLU of them, and their int64 positions in the H*W plane.

    With `relu` the position is -1 where ReLU lets no gradient pass. With `winners` the positions are only for `max_pool2d_grad`
    and `max_pool2d_gather`: those in 2x2 windows side by side are bytes, 0 to 3 in row order, and 4 instead of -1. The first
    maximum of a window in row order wins, except that NaN wins over everything, the last one of several, as in PyTorch.
    """
    height, width = window_counts(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    out_y, out_indices = outputs(out, 2)
    shape = (*x.shape[:2], height, width)
    run, problem = _chosen(MAX, x.shape[2:], (height, width), kernel_size, stride, padding, dilation)
    y = result(out_y, shape, x.dtype)
    indices = result(out_indices, shape, np.uint8 if winners and run is max_with_winners else np.int64)
    run(_planes(x), problem, relu, _planes(y), _planes(indices))
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half(results=(0, None))
def adaptive_max_pool2d(
    x: Array, *, output_size: Pair, out: tuple[Array | None, Array | None] | None = None
) -> tuple[Array, Array]:
    """`max_pool2d` over windows as those of `adaptive_avg_pool2d`: maxima (N, C, *output_size), and their positions."""
    out_y, out_indices = outputs(out, 2)
    shape = (*x.shape[:2], *output_size)
    y, indices = result(out_y, shape, x.dtype), result(out_indices, shape, np.int64)
    rows, columns = (ranges(Axis(*lengths)) for lengths in zip(x.shape[2:], output_size))
    max_ranges(_planes(x), rows, columns, False, _planes(y), _planes(indices))
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half
def max_pool2d_grad(
    g: Array, indices: Array, *, input_shape: tuple[int, ...], relu: bool = False, window: tuple[Pair, ...] | None = None,
    out: Array | None = None
) -> Array:
    """Gradient (N, C, H, W) of max pooling: g (N, C, OH, OW) added at `indices`, with `relu` nowhere for -1.

    IndexError where an index is out of range. Indices that are bytes are winners: see `max_pool2d`. `window` is for a GPU.
    """
    dx = result(out, tuple(input_shape), g.dtype)
    if indices.dtype == np.uint8:
        expand_2x2(_planes(g), _planes(indices), _planes(dx))
    elif not scatter_planes(_flat_planes(g), _flat_planes(indices), relu, True, _flat_planes(dx)):
        _raise_out_of_range("max_pool2d_grad", input_shape)
    return deliver(out, dx)


@upcast_half
def max_pool2d_gather(x: Array, indices: Array, *, out: Array | None = None) -> Array:
    """y[n, c] (OH, OW) = the elements of the plane x[n, c] (H, W) at the flat positions indices[n, c] (OH, OW).

    Of indices that are bytes, the winners of `max_pool2d`, 4 gives 0.
    """
    y = result(out, indices.shape, x.dtype)
    if indices.dtype == np.uint8:
        windows = x[:, :, : 2 * indices.shape[2], : 2 * indices.shape[3]]
        elements = [windows[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        np.choose(indices, [*elements, x.dtype.type(0)], out=y)
    elif not gather_planes(_flat_planes(x), _flat_planes(indices), _flat_planes(y)):
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
    height, width = window_counts(x.shape[2:], kernel_size, stride, padding, ceil_mode=ceil_mode)
    y = result(out, (*x.shape[:2], height, width), x.dtype)
    windows = kernel_size, stride, padding, (1, 1), count_include_pad, divisor_override
    run, problem = _chosen(AVERAGE, x.shape[2:], (height, width), *windows)
    run(_planes(x), problem, _planes(y))
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
    windows = kernel_size, stride, padding, (1, 1), count_include_pad, divisor_override
    run, problem = _chosen(AVERAGE_GRAD, dx.shape[2:], g.shape[2:], *windows)
    run(_planes(g), problem, _planes(dx))
    return deliver(out, dx)


@upcast_half
def adaptive_avg_pool2d(x: Array, *, output_size: Pair, out: Array | None = None) -> Array:
    """Averages (N, C, *output_size) of x (N, C, H, W): window i of O covers floor(i*H/O) to ceil((i+1)*H/O)."""
    y = result(out, (*x.shape[:2], *output_size), x.dtype)
    run, problem = _chosen(AVERAGE, x.shape[2:], y.shape[2:])
    run(_planes(x), problem, _planes(y))
    return deliver(out, y)


@upcast_half
def adaptive_avg_pool2d_grad(g: Array, *, input_shape: tuple[int, ...], channels_last: bool = False, out: Array | None = None
                             ) -> Array:
    """Gradient (N, C, H, W) of adaptive average pooling for g (N, C, OH, OW); row-major here: a GPU has `channels_last`."""
    dx = result(out, tuple(input_shape), g.dtype)
    run, problem = _chosen(AVERAGE_GRAD, dx.shape[2:], g.shape[2:])
    run(_planes(g), problem, _planes(dx))
    return deliver(out, dx)
