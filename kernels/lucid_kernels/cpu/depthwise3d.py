"""Depthwise convolution of volumes and its input gradient: plane by plane, without the copies of other 3-d convolutions."""
from __future__ import annotations

import functools

import numpy as np

from ._depthwise import convolve_volumes, grad_input_volumes
from ._depthwise_lanes import Slices
from ._layout import Array, contiguous
from ._pool import empty
from ._row_copies import Window

Sizes = tuple[int, ...]


@functools.lru_cache(maxsize=64)
def _slices(length: int, taps: int, stride: int, padding: int, dilation: int, outputs: int, turned: bool) -> Slices:
    """The slices of the input that each slice of the output meets, for each tap of the depth; those of the output if `turned`."""
    meets = {(o, tap): o * stride + tap * dilation - padding for o in range(outputs) for tap in range(taps)}
    if turned:
        back = {(there, tap): o for (o, tap), there in meets.items()}
        return tuple(tuple(back.get((there, tap), -1) for tap in range(taps)) for there in range(length))
    return tuple(tuple(meets[o, tap] if 0 <= meets[o, tap] < length else -1 for tap in range(taps)) for o in range(outputs))


def _window(input_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, Window]:
    """The slices of the output, and the window of one of them."""
    outputs = [(n + 2 * p - d * (k - 1) - 1) // s + 1
               for n, k, s, p, d in zip(input_shape[2:], kernel, stride, padding, dilation, strict=True)]
    return outputs[0], Window(*kernel[1:], *stride[1:], *padding[1:], *dilation[1:], *outputs[1:])


def convolve(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, 1, KD, KH, KW), plus bias (O,), in C groups; none is empty."""
    kernel = weight.shape[2:]
    outputs, window = _window(x.shape, kernel, stride, padding, dilation)
    slices = _slices(x.shape[2], kernel[0], stride[0], padding[0], dilation[0], outputs, False)
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    y = empty((x.shape[0], len(weight), outputs, window.out_height, window.out_width), x.dtype)
    convolve_volumes(contiguous(x), contiguous(weight)[:, 0], bias, window, slices, y)
    return y


def grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW)."""
    samples, channels, depth = input_shape[:3]
    kernel, each = weight.shape[2:], g.shape[1] // channels
    outputs, window = _window(input_shape, kernel, stride, padding, dilation)
    once = _slices(depth, kernel[0], stride[0], padding[0], dilation[0], outputs, True)
    # The outputs of a channel follow each other as if they were slices of one.
    slices = tuple(tuple(there if there < 0 else o * outputs + there for o in range(each) for there in some) for some in once)
    dx = empty(tuple(input_shape), g.dtype)
    volumes = contiguous(g).reshape(samples, channels, each * outputs, *g.shape[3:])
    turned = contiguous(weight).reshape(channels, each * kernel[0], *kernel[1:])
    grad_input_volumes(volumes, turned, window, slices, dx)
    return dx
