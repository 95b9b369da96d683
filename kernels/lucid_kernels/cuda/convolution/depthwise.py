"""Depthwise convolutions, one input and one output channel a group, and their gradients: see `depthwise.cu`.

Images are read as they lie: as planes, or with the channels last in packs. Each function returns None where it does not serve;
`conv2d.cu` computes the others, and float64.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import channels as _channels
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.windows import window_counts

_WINDOWS = {(3, 1), (3, 2), (5, 1), (5, 2), (7, 1)}  # side and stride, as depthwise.cu instantiates them
#: Columns that a thread computes, by stride and dtype, of planes whose size the convolution keeps, or divides by the stride.
_COLUMNS: dict[tuple[int, str], tuple[int, ...]] = {
    (1, "f"): (4, 2), (1, "e"): (8, 4), (1, "E"): (8, 4), (2, "f"): (2,), (2, "e"): (4,), (2, "E"): (4,)}
_PAIR = 2  # neighbouring channels that a thread sums the gradient of the weight of, where they lie last
_STRIP_LAST = {3: (4, 4), 5: (4, 2), 7: (2, 1)}  # and the rows and columns of results of which it does at a time
_LARGEST = 1 << 31  # the kernels count threads, and pixels of a channel, in 32 bits
# Blocks of a weight gradient, two waves on a large chip and one; constants, so that results do not vary.
_SLICED, _SLICED_LAST = 1 << 10, 1 << 8
_LEAST_ITEMS = 2 * launch.BLOCK  # of a slice: fewer would be all reduction

Pair = tuple[int, int]


def _serves(x: Any, input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, dilation: Pair, groups: int
            ) -> bool:
    """Whether the kernels have been compiled for it; x is an image of the convolution."""
    side, step = weight_shape[2], stride[0]
    return (x.size > 0 and x.dtype != np.float64 and input_shape[1] == weight_shape[0] == groups and weight_shape[3] == side
            and stride[1] == step and (side, step) in _WINDOWS and tuple(dilation) == (1, 1)
            and math.prod(input_shape) < _LARGEST)  # fmt: skip


def _pack(dtype: Any, kernel: int) -> int:
    """Neighbouring channels that a thread computes, where they lie last. Of larger kernels the registers hold less."""
    return 4 if dtype.char in "eE" and kernel == 3 else 2


def _rows(pack: int, columns: int, kernel: int, stride: int) -> int:
    """Rows that a thread computes, rows_of in depthwise.cu: of results, or of squares of as many pixels as the stride has."""
    return 4 if stride > 1 or columns == 8 or (pack > 1 and (columns > 1 or kernel == 7)) else 8


def _columns(large: Any, small: Any, pack: int, kernel: int, stride: int, padding: Pair) -> int:
    """Columns that a thread computes of the larger and the smaller one of the images of a convolution, as they lie."""
    if pack > 1:
        return 4 if kernel == 3 and stride == 1 and not (small.shape[2] % 4 or large.shape[2] % 4) else 1
    width = small.shape[3]
    if padding[1] != kernel // 2 or large.shape[3] != stride * width or large.data.ptr % 16 or small.data.ptr % 16:
        return 1
    return next((columns for columns in _COLUMNS.get((stride, small.dtype.char), ()) if not width % columns), 1)


def _input_order(source: Any, out: Any, pack: int) -> tuple[Any, _channels.Order, Any]:
    """Images as a kernel reads them: with the channels last where they lie so and can be read in packs, else as planes.

    Also their order, and `out` where that can be written in packs.
    """
    last = _channels.Order(source).last and not source.shape[1] % pack
    if not last or _is_apart(pack, source):
        source = copies.contiguous(source)
    order = _channels.Order(source)
    return order.inner(source), order, None if order.last and out is not None and _is_apart(pack, out) else out


def _is_apart(pack: int, array: Any) -> bool:
    """Whether an array does not start at a pack of elements."""
    return bool(array.data.ptr % (pack * array.dtype.itemsize))


def _launch(name: str, arrays: tuple[Any, ...], weight: Any, size: tuple[int, ...], pack: int, columns: int,
            numbers: tuple[int, ...], geometry: tuple[int, ...]) -> None:
    """Launch a kernel with a thread for each strip of rows and columns of `size` results, or squares; image and channels."""
    channels, kernel = weight.shape[0], weight.shape[2]
    strips = launch.ceil_div(size[0], _rows(pack, columns, kernel, numbers[0])) * (size[1] // columns)
    threads = arrays[0].shape[0] * (channels // pack) * strips
    weight = copies.contiguous(weight.reshape(channels, kernel * kernel).T if pack > 1 else weight)
    values = ", ".join(map(str, (pack, columns, kernel, *numbers)))
    launch.kernel("depthwise", f"{name}<{launch.ctype(weight.dtype)}, {values}>")(
        (launch.ceil_div(threads, launch.BLOCK),), (launch.BLOCK,),
        (arrays[0], weight, *arrays[1:], np.uint32(threads), *map(np.int32, geometry)),
    )  # fmt: skip


def convolve(x: Any, weight: Any, bias: Any, *, stride: Pair, padding: Pair, dilation: Pair, groups: int, out: Any = None) -> Any:
    """`conv2d`, or None."""
    if not _serves(x, x.shape, weight.shape, stride, dilation, groups):
        return None
    kernel, step = weight.shape[2], stride[0]
    size = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    pack = _pack(x.dtype, kernel)
    source, order, into = _input_order(x, out, pack)
    y = order.result(into, (*x.shape[:2], *size), x.dtype)
    if y.size:
        pack = pack if order.last else 1
        _launch("depthwise", (source, *launch.optional(bias, source), y), weight, size, pack,
                _columns(source, y, pack, kernel, step, padding), (step,), (*x.shape[1:], *size, *padding))
    return order.deliver(y, out)


def convolve_grad_input(g: Any, weight: Any, *, input_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                        groups: int, out: Any = None) -> Any:
    """`conv2d_grad_input`, or None."""
    kernel, step = weight.shape[2], stride[0]
    phase = padding[0] % step
    if padding[1] % step != phase or not _serves(g, input_shape, weight.shape, stride, dilation, groups):
        return None
    pack = _pack(g.dtype, kernel)
    source, order, into = _input_order(g, out, pack)
    dx = order.result(into, input_shape, g.dtype)
    pack = pack if order.last else 1
    squares = launch.ceil_div(input_shape[2], step), launch.ceil_div(input_shape[3], step)
    _launch("depthwise_grad_input", (source, dx), weight, squares, pack, _columns(dx, source, pack, kernel, step, padding),
            (step, phase), (*input_shape[1:], *g.shape[2:], *padding))
    return order.deliver(dx, out)


def convolve_grad_weight(g: Any, x: Any, *, weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                         groups: int, out: Any = None) -> Any:
    """`conv2d_grad_weight`, or None."""
    if not _serves(g, x.shape, weight_shape, stride, dilation, groups):
        return None
    (batch, channels, out_h, out_w), input_size = g.shape, x.shape[2:]
    dw = launch.result(out, weight_shape, g.dtype)
    kernel, step = weight_shape[2], stride[0]
    lies = [_input_order(array, None, _PAIR)[:2] for array in (g, x)]
    if all(order.last for _, order in lies):
        (g, _), (x, _) = lies
        packs = channels // _PAIR
        lanes = min(32, 1 << (packs - 1).bit_length())
        across, block = launch.ceil_div(packs, lanes), (lanes, launch.BLOCK // lanes)
        strip = _STRIP_LAST[kernel]
        items = batch * launch.ceil_div(out_h, strip[0]) * launch.ceil_div(out_w, strip[1])
        slices = max(1, min(_SLICED_LAST // across, items // (2 * block[1])))
        name = f"depthwise_grad_weight_last<{launch.ctype(g.dtype)}, {kernel}, {step}>"
    else:
        g, x = copies.contiguous(g), copies.contiguous(x)
        columns, across, block = _columns(x, g, 1, kernel, step, padding), channels, (launch.BLOCK, 1)
        items = batch * launch.ceil_div(out_h, _rows(1, columns, kernel, step)) * (out_w // columns)
        slices = max(1, min(_SLICED // channels, items // _LEAST_ITEMS))
        name = f"depthwise_grad_weight<{launch.ctype(g.dtype)}, {columns}, {kernel}, {step}>"
    parts = launch.empty((slices, *weight_shape), np.float32)
    geometry = (slices, batch, channels, *input_size, out_h, out_w, *padding)
    launch.kernel("depthwise", name)((across * slices,), block, (g, x, parts, *map(np.int32, geometry)))
    launch.kernel("depthwise", f"depthwise_sum_slices<{launch.ctype(g.dtype)}>")(
        (launch.ceil_div(dw.size, 32),), (32, 8), (parts, dw, np.int32(slices), np.int32(dw.size)))  # fmt: skip
    return launch.deliver(dw, out)
