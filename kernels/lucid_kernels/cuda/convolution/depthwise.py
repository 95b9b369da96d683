"""Depthwise convolutions, one input and one output channel a group, and their gradients: see `depthwise.cu`.

Images are read as they lie: as planes, or with the channels last, in pairs. Each function returns None where it does not serve;
`conv2d.cu` computes the others.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import channels as _channels
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.windows import window_counts

_KERNELS = (3, 5, 7)  # as depthwise.cu instantiates them
_STRIDES = (1, 2)
_ROWS = {1: 8, 2: 4}  # strip_rows of depthwise.cu
_LARGEST = 1 << 31  # the kernels count threads, and pixels of a channel, in 32 bits
_BLOCKS_WANTED = 1 << 10  # for the weight gradient: two waves on a large chip; a constant, so that results do not vary
_LEAST_ITEMS = 2 * launch.BLOCK  # of a slice: fewer would be all reduction

Pair = tuple[int, int]


def _serves(input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, dilation: Pair, groups: int) -> bool:
    """Whether the kernels have been compiled for it."""
    kernel = weight_shape[2]
    return (input_shape[1] == weight_shape[0] == groups and weight_shape[3] == kernel in _KERNELS
            and stride[0] == stride[1] in _STRIDES and tuple(dilation) == (1, 1) and math.prod(input_shape) < _LARGEST)  # fmt: skip


def _launch(name: str, image: Any, source: Any, weight: Any, target: Any, arguments: tuple[Any, ...], last: bool, stride: int,
            rest: tuple[int, ...], size: Pair, geometry: tuple[int, ...]) -> None:
    """Launch a kernel with a thread for each strip of the `size` results, or squares of results, of `image`."""
    batch, channels = image[:2]
    pack = 2 if last and not channels % 2 and target.dtype != np.float64 and not _odd(source, target) else 1
    kernel = weight.shape[2]
    if last:
        weight = weight.reshape(channels, kernel * kernel).T
    threads = batch * (channels // pack) * launch.ceil_div(size[0], _ROWS[stride]) * size[1]
    numbers = ", ".join(map(str, (pack, kernel, stride, *rest)))
    launch.kernel("depthwise", f"{name}<{launch.ctype(target.dtype)}, {numbers}>")(
        (launch.ceil_div(threads, launch.BLOCK),), (launch.BLOCK,),
        (source, copies.contiguous(weight), *arguments, np.uint32(threads), np.int32(last), *map(np.int32, geometry)),
    )  # fmt: skip


def _odd(*arrays: Any) -> bool:
    """Whether one of the arrays does not start at a pair of elements."""
    return any(array.data.ptr % (2 * array.dtype.itemsize) for array in arrays)


def convolve(x: Any, weight: Any, bias: Any, *, stride: Pair, padding: Pair, dilation: Pair, groups: int, out: Any = None) -> Any:
    """`conv2d`, or None."""
    if not (x.size and _serves(x.shape, weight.shape, stride, dilation, groups)):
        return None
    size = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    order = _channels.Order(x)
    y = order.result(out, (*x.shape[:2], *size), x.dtype)
    if y.size:
        source = order.inner(x)
        _launch("depthwise", x.shape, source, weight, y, (*launch.optional(bias, source), y), order.last, stride[0], (), size,
                (x.shape[1], *x.shape[2:], *size, *padding))
    return order.deliver(y, out)


def convolve_grad_input(g: Any, weight: Any, *, input_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                        groups: int, out: Any = None) -> Any:
    """`conv2d_grad_input`, or None."""
    step = stride[0]
    phase = padding[0] % step
    if not (g.size and _serves(input_shape, weight.shape, stride, dilation, groups) and padding[1] % step == phase):
        return None
    order = _channels.Order(g)
    dx = order.result(out, input_shape, g.dtype)
    squares = tuple(launch.ceil_div(length, step) for length in input_shape[2:])
    paired = not (order.last or input_shape[3] % 2 or _odd(dx))
    _launch("depthwise_grad_input", input_shape, order.inner(g), weight, dx, (dx,), order.last, step, (phase,), squares,
            (paired, input_shape[1], *input_shape[2:], *g.shape[2:], *padding))
    return order.deliver(dx, out)


def convolve_grad_weight(g: Any, x: Any, *, weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                         groups: int, out: Any = None) -> Any:
    """`conv2d_grad_weight`, or None."""
    if not (g.size and _serves(x.shape, weight_shape, stride, dilation, groups)):
        return None
    batch, channels, out_h, out_w = g.shape
    dw = launch.result(out, weight_shape, g.dtype)
    kind, kernel, step = launch.ctype(g.dtype), weight_shape[2], stride[0]
    items = batch * launch.ceil_div(out_h, _ROWS[step]) * out_w
    slices = max(1, min(_BLOCKS_WANTED // channels, items // _LEAST_ITEMS))
    whole = slices == 1 and not launch.is_half(dw)
    parts = dw if whole else launch.empty((slices, *weight_shape), np.float32 if launch.is_half(dw) else dw.dtype)
    geometry = (slices, batch, channels, *x.shape[2:], out_h, out_w, *padding)
    launch.kernel("depthwise", f"depthwise_grad_weight<{kind}, {kernel}, {step}>")(
        (channels * slices,), (launch.BLOCK,),
        (copies.contiguous(g), copies.contiguous(x), parts, *map(np.int32, geometry)))  # fmt: skip
    if not whole:
        launch.kernel("depthwise", f"depthwise_sum_slices<{kind}>")(
            *launch.grid_1d(dw.size), (parts, dw, np.int32(slices), np.int64(dw.size)))  # fmt: skip
    return launch.deliver(dw, out)
