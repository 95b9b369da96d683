"""Convolution of volumes by the direct kernels, and its input gradient: each image of the result from the slices that it meets.

For what Winograd's way does not serve, such as strides.
"""
from __future__ import annotations

import functools

import numpy as np

from . import _dilated, _direct, _patches, _winograd
from ._direct_transposed import spread_images
from ._images import slices_of
from ._layout import Array, contiguous
from ._microkernels import ROWS
from ._packed_weight import packed_weight
from ._pool import empty
from ._row_copies import Window, enough_work

Sizes = tuple[int, ...]


@functools.lru_cache(maxsize=256)
def _met(length: int, taps: int, stride: int, padding: int, dilation: int, outputs: int, turned: bool) -> tuple[Sizes, ...]:
    """The slices of the input that each slice of the output meets, one for each tap, or -1; those of the output if `turned`."""
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


def _stacked(images: Array, outputs: int, channels: int, results: int, input_shape: Sizes, window: Window, groups: int) -> bool:
    """Whether the slices of `images` (N, C, D, H, W) are rather stacked as `channels` that become `results`: Winograd's way saves
    more, the taps cover an image or its patches are apart, or there is little to do. The results have `outputs` slices.
    """
    if window[:2] == input_shape[3:] or _patches.suits(window, groups):
        return True
    some = np.broadcast_to(images[:1, :1, :1, 0, 0], (len(images) * outputs, channels, 1))[..., np.newaxis]
    if _winograd.suits(some, window, groups, results) or _dilated.suits(some, window, groups, results):
        return True
    return not enough_work(some, window, results // groups)


def convolve(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
             ) -> Array | None:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,), none of them empty; or None
    where 2-d convolutions of stacked slices are faster.
    """
    kernel = weight.shape[2:]
    outputs, window = _window(x.shape, kernel, stride, padding, dilation)
    channels = x.shape[1] * kernel[0]
    if len(weight) < ROWS * groups or _stacked(x, outputs, channels, len(weight), x.shape, window, groups):
        return None
    y = empty((len(x), len(weight), outputs, window.out_height, window.out_width), x.dtype)
    images = slices_of(x.shape, y.shape, _met(x.shape[2], kernel[0], stride[0], padding[0], dilation[0], outputs, False))
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    taps = contiguous(weight.swapaxes(1, 2)).reshape(len(weight), -1, *kernel[1:])
    _direct.convolve_images(contiguous(x), images, *packed_weight(taps, bias, groups), window, y, groups, False)
    return y


def grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
               ) -> Array | None:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW), or None as there."""
    kernel = weight.shape[2:]
    _, window = _window(input_shape, kernel, stride, padding, dilation)
    results = input_shape[1] * kernel[0]
    if weight.shape[1] < ROWS or _stacked(g, g.shape[2], g.shape[1], results, input_shape, window, groups):
        return None
    dx = empty(tuple(input_shape), g.dtype)
    images = slices_of(g.shape, dx.shape, _met(input_shape[2], kernel[0], stride[0], padding[0], dilation[0], g.shape[2], True))
    by_group = contiguous(weight.reshape(groups, -1, *weight.shape[1:]).transpose(0, 3, 1, 2, 4, 5))
    taps = by_group.reshape(-1, weight.shape[1], *kernel[1:])
    if stride[1:] == (1, 1):
        _direct.grad_images(contiguous(g), images, taps, window, dx, groups)
    else:
        spread_images(contiguous(g), images, taps, window, dx, groups)
    return dx
