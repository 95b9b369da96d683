"""Depthwise convolutions, one input and one output channel a group, and their gradients: see `depthwise.cu`.

Images are read as they lie: as planes, or with the channels last in pairs. Each function returns None where it does not serve;
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
_PACK = 2  # neighbouring channels that a thread computes where they lie last
_COLUMNS = {"f": (4, 2), "e": (4,), "E": (4,), "d": ()}  # that a thread computes of planes whose size the convolution keeps, or divides
_LARGEST = 1 << 31  # the kernels count threads, and pixels of a channel, in 32 bits
# Blocks of a weight gradient, two waves on a large chip and one; constants, so that results do not vary.
_SLICED, _SLICED_LAST = 1 << 10, 1 << 8
_LEAST_ITEMS = 2 * launch.BLOCK  # of a slice: fewer would be all reduction

Pair = tuple[int, int]


def _serves(input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, dilation: Pair, groups: int) -> bool:
    """Whether the kernels have been compiled for it."""
    kernel = weight_shape[2]
    return (input_shape[1] == weight_shape[0] == groups and weight_shape[3] == kernel in _KERNELS
            and stride[0] == stride[1] in _STRIDES and tuple(dilation) == (1, 1) and math.prod(input_shape) < _LARGEST)  # fmt: skip


def _rows(columns: int, stride: int) -> int:
    """Rows that a thread computes, as in depthwise.cu: of results, or of squares of as many pixels as the stride has."""
    return (8 if columns == 1 else 4) // stride


def _columns(large: Any, small: Any, kernel: int, stride: int, padding: Pair, last: bool) -> int:
    """Columns that a thread computes of the larger and the smaller one of the images of a convolution."""
    width = small.shape[-1]
    same = not last and padding[1] == kernel // 2 and large.shape[-1] == stride * width
    if not same or large.data.ptr % 16 or small.data.ptr % 16:
        return 1
    return next((columns for columns in _COLUMNS[small.dtype.char] if not width % columns), 1)


def _as_it_lies(source: Any, out: Any) -> tuple[Any, _channels.Order, Any]:
    """Images as a kernel reads them: those with the channels last as they are where they can be read in pairs, else as planes.

    Also their order, and `out` where that can be written in pairs.
    """
    last = _channels.Order(source).last and not source.shape[1] % _PACK and source.dtype != np.float64
    if not last or _is_apart(_PACK, source):
        source = copies.contiguous(source)
    order = _channels.Order(source)
    return order.inner(source), order, None if order.last and out is not None and _is_apart(_PACK, out) else out


def _is_apart(pack: int, array: Any) -> bool:
    """Whether an array does not start at a pack of elements."""
    return bool(array.data.ptr % (pack * array.dtype.itemsize))


def _launch(name: str, shape: tuple[int, ...], last: bool, arrays: tuple[Any, ...], weight: Any, numbers: tuple[int, ...],
            threads: int, geometry: tuple[int, ...]) -> None:
    """Launch a kernel with `threads` threads for each channel of images of this `shape`."""
    channels, taps = weight.shape[0], weight.shape[2] * weight.shape[3]
    pack = _PACK if last else 1
    weight = copies.contiguous(weight.reshape(channels, taps).T if last else weight)
    threads *= shape[0] * (channels // pack)
    values = ", ".join(map(str, (pack, *numbers)))
    launch.kernel("depthwise", f"{name}<{launch.ctype(weight.dtype)}, {values}>")(
        (launch.ceil_div(threads, launch.BLOCK),), (launch.BLOCK,),
        (arrays[0], weight, *arrays[1:], np.uint32(threads), *map(np.int32, geometry)),
    )  # fmt: skip


def convolve(x: Any, weight: Any, bias: Any, *, stride: Pair, padding: Pair, dilation: Pair, groups: int, out: Any = None) -> Any:
    """`conv2d`, or None."""
    if not (x.size and _serves(x.shape, weight.shape, stride, dilation, groups)):
        return None
    size = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    source, order, into = _as_it_lies(x, out)
    y = order.result(into, (*x.shape[:2], *size), x.dtype)
    if y.size:
        kernel, step = weight.shape[2], stride[0]
        columns = _columns(source, y, kernel, step, padding, order.last)
        _launch("depthwise", x.shape, order.last, (source, *launch.optional(bias, source), y), weight, (columns, kernel, step),
                launch.ceil_div(size[0], _rows(columns, step)) * (size[1] // columns), (*x.shape[1:], *size, *padding))
    return order.deliver(y, out)


def convolve_grad_input(g: Any, weight: Any, *, input_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                        groups: int, out: Any = None) -> Any:
    """`conv2d_grad_input`, or None."""
    step = stride[0]
    phase = padding[0] % step
    if not (g.size and _serves(input_shape, weight.shape, stride, dilation, groups) and padding[1] % step == phase):
        return None
    source, order, into = _as_it_lies(g, out)
    dx = order.result(into, input_shape, g.dtype)
    kernel, squares = weight.shape[2], [launch.ceil_div(length, step) for length in input_shape[2:]]
    columns = _columns(dx, source, kernel, step, padding, order.last)
    _launch("depthwise_grad_input", input_shape, order.last, (source, dx), weight, (columns, kernel, step, phase),
            launch.ceil_div(squares[0], _rows(columns, step)) * (squares[1] // columns), (*input_shape[1:], *g.shape[2:], *padding))
    return order.deliver(dx, out)


def convolve_grad_weight(g: Any, x: Any, *, weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                         groups: int, out: Any = None) -> Any:
    """`conv2d_grad_weight`, or None."""
    if not (g.size and _serves(x.shape, weight_shape, stride, dilation, groups)):
        return None
    (batch, channels, out_h, out_w), input_size = g.shape, x.shape[2:]
    dw = launch.result(out, weight_shape, g.dtype)
    kernel, step = weight_shape[2], stride[0]
    lies = [_as_it_lies(array, None)[:2] for array in (g, x)]
    if all(order.last for _, order in lies):
        (g, _), (x, _) = lies
        packs = channels // _PACK
        lanes = min(32, 1 << (packs - 1).bit_length())
        across, block = launch.ceil_div(packs, lanes), (lanes, launch.BLOCK // lanes)
        items = batch * launch.ceil_div(out_h, 4) * launch.ceil_div(out_w, 4)
        slices = max(1, min(_SLICED_LAST // across, items // (2 * block[1])))
        name = f"depthwise_grad_weight_last<{launch.ctype(g.dtype)}, {kernel}, {step}>"
    else:
        g, x = copies.contiguous(g), copies.contiguous(x)
        columns, across, block = _columns(x, g, kernel, step, padding, False), channels, (launch.BLOCK, 1)
        items = batch * launch.ceil_div(out_h, _rows(columns, step)) * (out_w // columns)
        slices = max(1, min(_SLICED // channels, items // _LEAST_ITEMS))
        name = f"depthwise_grad_weight<{launch.ctype(g.dtype)}, {columns}, {kernel}, {step}>"
    parts = launch.empty((slices, *weight_shape), np.float32 if launch.is_half(dw) else dw.dtype)
    geometry = (slices, batch, channels, *input_size, out_h, out_w, *padding)
    launch.kernel("depthwise", name)((across * slices,), block, (g, x, parts, *map(np.int32, geometry)))
    launch.kernel("depthwise", f"depthwise_sum_slices<{launch.ctype(g.dtype)}>")(
        (launch.ceil_div(dw.size, 32),), (32, 8), (parts, dw, np.int32(slices), np.int32(dw.size)))  # fmt: skip
    return launch.deliver(dw, out)
