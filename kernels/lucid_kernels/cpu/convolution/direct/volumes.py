"""Convolution of volumes by the direct kernels, and its gradients: each image of the result from the slices that it meets.

For what Winograd's way does not serve, such as strides.
"""
from __future__ import annotations

import numpy as np

from ...arrays.layout import Array, contiguous
from ...arrays.window import Window
from ...runtime.allocator import empty
from .. import patch_embedding
from ..dilation_bands import rows_met
from ..im2row import enough_work
from ..image_batch import slices_of
from ..volume import Sizes, slices_met, window_of_slices
from ..winograd import dilated as winograd_dilated
from ..winograd import forward as winograd_forward
from . import forward as direct_forward
from . import grad_weight as direct_grad_weight
from . import outer_grad_weight, output_channels
from .grad_input_strided import spread_images
from .microkernels import ROWS
from .packed_weight import weight_to_read

# Positions of a slice of the result from which on dot products take no longer than copies of slices and `outer_grad_weight`:
# 0.95 of the time for 196 of 64 channels, 1.03 for 100, 1.3 for 49 of 128, but 0.5 to 0.75 for 2x2x2 taps.
_LEAST_POSITIONS = 100


def _some_images(volumes: Array, slices: int, channels: int) -> Array:
    """As many images, of `channels` and one pixel, as all `slices` of the result of `volumes` (N, C, D, H, W) are made of."""
    return np.broadcast_to(volumes[:1, :1, :1, 0, 0], (len(volumes) * slices, channels, 1))[..., np.newaxis]


def _stacked(images: Array, results: int, input_shape: Sizes, window: Window, groups: int) -> bool:
    """Whether slices are rather stacked as the channels of `images` that become `results`: Winograd's way saves more, or the taps
    cover an image or its patches are apart.
    """
    if window[:2] == input_shape[3:] or patch_embedding.suits(window, groups):
        return True
    return winograd_forward.suits(images, window, groups, results) or winograd_dilated.suits(images, window, groups, results)


def suits(x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> bool:
    """Whether `convolve` is faster than 2-d convolutions of stacked slices, for arrays that are not empty."""
    outputs, window = window_of_slices(x.shape, weight_shape[2:], stride, padding, dilation)
    results, images = weight_shape[0], _some_images(x, outputs, x.shape[1] * weight_shape[2])
    if results < ROWS * groups or _stacked(images, results, x.shape, window, groups):
        return False
    return enough_work(images, window, results // groups)


def suits_backward(g: Array, input_shape: Sizes, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
                   ) -> bool:
    """Whether `grad_input` is faster."""
    _, window = window_of_slices(input_shape, weight_shape[2:], stride, padding, dilation)
    results, images = input_shape[1] * weight_shape[2], _some_images(g, g.shape[2], g.shape[1])
    if weight_shape[1] < ROWS or _stacked(images, results, input_shape, window, groups):
        return False
    return enough_work(images, window, results // groups)


def suits_weight(x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> bool:
    """Whether `grad_weight` is faster: not for small planes of stacked slices, whose sums are products of matrices."""
    outputs, window = window_of_slices(x.shape, weight_shape[2:], stride, padding, dilation)
    results, images = weight_shape[0], _some_images(x, outputs, x.shape[1] * weight_shape[2])
    if window.out_height * window.out_width < _LEAST_POSITIONS and outer_grad_weight.suits(images, window, groups, results):
        return False
    return not rows_met(window, x.shape[3]) and not _stacked(images, results, x.shape, window, groups)


def convolve(x: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,), none of them empty."""
    kernel = weight.shape[2:]
    outputs, window = window_of_slices(x.shape, kernel, stride, padding, dilation)
    y = empty((len(x), len(weight), outputs, window.out_height, window.out_width), x.dtype)
    met = slices_met(x.shape[2], kernel[0], stride[0], padding[0], dilation[0], outputs, False)
    images = slices_of(x.shape, y.shape, met)
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    taps = contiguous(weight.swapaxes(1, 2)).reshape(len(weight), -1, *kernel[1:])
    if output_channels.fills_vectors(x.shape[3], x.itemsize, len(weight), window, groups):
        output_channels.convolve_images(contiguous(x), images, taps, bias, window, y, groups)
        return y
    read = weight_to_read(taps, bias, groups, len(images.targets) * window.out_height * window.out_width)
    direct_forward.convolve_images(contiguous(x), images, read, window, y, groups, False)
    return y


def grad_input(g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW)."""
    kernel = weight.shape[2:]
    _, window = window_of_slices(input_shape, kernel, stride, padding, dilation)
    dx = empty(tuple(input_shape), g.dtype)
    met = slices_met(input_shape[2], kernel[0], stride[0], padding[0], dilation[0], g.shape[2], True)
    images = slices_of(g.shape, dx.shape, met)
    by_group = contiguous(weight.reshape(groups, -1, *weight.shape[1:]).transpose(0, 3, 1, 2, 4, 5))
    taps = by_group.reshape(-1, weight.shape[1], *kernel[1:])
    if stride[1:] == (1, 1):
        direct_forward.grad_images(contiguous(g), images, taps, window, dx, groups)
    else:
        spread_images(contiguous(g), images, taps, window, dx, groups)
    return dx


def grad_weight(g: Array, x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Gradient (O, C / G, KD, KH, KW) of `convolve` for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W)."""
    _, window = window_of_slices(x.shape, weight_shape[2:], stride, padding, dilation)
    met = slices_met(x.shape[2], weight_shape[2], stride[0], padding[0], dilation[0], g.shape[2], False)
    dweight = empty(tuple(weight_shape), g.dtype)
    direct_grad_weight.grad_weight(contiguous(g), contiguous(x), window, dweight, groups, met=met)
    return dweight
