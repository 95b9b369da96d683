"""The input gradient of strided convolutions of images with one channel or three, as first layers have: `few_channels.cu`.

It is exact. Bound by multiply-adds: of a tile of tensor cores, even the narrowest, it would fill a tenth.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.convolution import layout
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

_CHANNELS = (1, 3)
#: What few_channels.cu instantiates: kernel, stride, and the padding modulo the stride; and the squares of a thread.
_SQUARES = {(7, 2, 1): (4, 1), (3, 2, 0): (2,), (3, 2, 1): (2,)}
_ENOUGH_THREADS = 1 << 15  # on an H100 more squares for each of fewer threads take longer
_THREADS = 128
_LEAST_OUTPUTS = 8
_LARGEST = 1 << 31  # the kernel counts threads in 32 bits

Pair = tuple[int, int]


def convolve_grad_input(g: Any, weight: Any, *, input_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair,
                        groups: int, out: Any = None) -> Any:
    """`conv2d_grad_input`, or None where this does not serve."""
    kernel, step = weight.shape[2], stride[0]
    phase = padding[0] % step
    squares = _SQUARES.get((kernel, step, phase))
    if (squares is None or groups != 1 or input_shape[1] not in _CHANNELS or g.dtype == np.float64 or not g.size
            or weight.shape[3] != kernel or stride[1] != step or padding[1] % step != phase or tuple(dilation) != (1, 1)
            or weight.shape[0] < _LEAST_OUTPUTS or layout.is_channels_last(g) or math.prod(input_shape) >= _LARGEST):  # fmt: skip
        return None
    dx = launch.result(out, input_shape, g.dtype)
    height, columns = launch.ceil_div(input_shape[2], step), input_shape[0] * launch.ceil_div(input_shape[3], step)
    count = next((count for count in squares if columns * launch.ceil_div(height, count) >= _ENOUGH_THREADS), squares[-1])
    threads = columns * launch.ceil_div(height, count)
    numbers = ", ".join(map(str, (input_shape[1], kernel, step, phase, count)))
    launch.kernel("few_channels", f"few_channels_grad_input<{launch.ctype(g.dtype)}, {numbers}>")(
        (launch.ceil_div(threads, _THREADS),), (_THREADS,),
        (copies.contiguous(g), copies.contiguous(weight), dx, np.uint32(threads),
         *map(np.int32, (g.shape[1], *input_shape[2:], *g.shape[2:], *padding))),
    )  # fmt: skip
    return launch.deliver(dx, out)
