"""Depthwise convolution of volumes and its input gradient by `kernels`, the module `channels` or `planes`: plane by plane,
without the copies of other 3-d convolutions.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.layout import Array, contiguous
from ...runtime.allocator import empty
from ..volume import Sizes, input_slices, window_of_slices


def convolve(kernels: Any, x: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes,
             groups: int) -> Array:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, 1, KD, KH, KW), plus bias (O,), none of them empty."""
    kernel = weight.shape[2:]
    outputs, window = window_of_slices(x.shape, kernel, stride, padding, dilation)
    slices = input_slices(x.shape[2], kernel[0], stride[0], padding[0], dilation[0], outputs, False)
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    y = empty((x.shape[0], len(weight), outputs, window.out_height, window.out_width), x.dtype)
    kernels.convolve(contiguous(x), contiguous(weight)[:, 0], bias, window, slices, y)
    return y


def grad_input(kernels: Any, g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
               groups: int) -> Array:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW)."""
    samples, channels, depth = input_shape[:3]
    kernel, each = weight.shape[2:], g.shape[1] // channels
    outputs, window = window_of_slices(input_shape, kernel, stride, padding, dilation)
    once = input_slices(depth, kernel[0], stride[0], padding[0], dilation[0], outputs, True)
    # The outputs of a channel follow each other as if they were slices of one.
    slices = tuple(tuple(there if there < 0 else o * outputs + there for o in range(each) for there in some) for some in once)
    dx = empty(tuple(input_shape), g.dtype)
    volumes = contiguous(g).reshape(samples, channels, each * outputs, *g.shape[3:])
    turned = contiguous(weight).reshape(channels, each * kernel[0], *kernel[1:])
    kernels.grad_input(volumes, turned, window, slices, dx)
    return dx
