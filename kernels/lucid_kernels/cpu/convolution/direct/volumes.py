"""Convolution of volumes by the direct kernels, and its gradients: each image of the result from the slices that it meets.

For what Winograd's algorithm does not compute, such as strides.
"""
from __future__ import annotations

import numpy as np

from ...arrays.layout import Array, contiguous
from ...runtime import tuning
from ...runtime.allocator import empty
from ...runtime.implementations import unmet
from .. import patch_embedding
from ..dilation_bands import valid_rows
from ..image_batch import slices_of
from ..problem import Problem
from ..volume import Sizes, input_slices, window_of_slices
from ..winograd import dilated as winograd_dilated
from ..winograd import forward as winograd_forward
from . import forward as direct_forward
from . import grad_weight as direct_grad_weight
from . import outer_grad_weight
from .grad_input_strided import spread_images
from .microkernels import BLOCK_ROWS
from .packed_weight import turned_weight, weight_to_read
from .parts import gradient_bands


def _stacked(problem: Problem) -> Problem:
    """The convolution of slices that are stacked as the channels of images."""
    return problem._replace(channels=problem.channels * problem.slices, slices=1)


def _rather_stacked(problem: Problem) -> str | None:
    """Why images of stacked slices are faster: taps cover an image, patches are apart, or Winograd's algorithm saves more."""
    images = _stacked(problem)
    return unmet(
        (problem.window[:2] != (problem.height, problem.width), "taps that cover an image"),
        (patch_embedding.why_not(images) is not None, "patches that are apart"),
        (winograd_forward.why_not(images) is not None, "winograd is faster for stacked slices"),
        (winograd_dilated.why_not(images) is not None, "winograd is faster for stacked slices"),
    )


def why_not(problem: Problem) -> str | None:
    enough = problem.outputs_of_group >= BLOCK_ROWS[problem.vector_bytes]
    return unmet((enough, "few outputs of a group"), (problem.is_large, "small")) or _rather_stacked(problem)


def grad_input_why_not(problem: Problem) -> str | None:
    enough = problem.channels // problem.groups >= BLOCK_ROWS[problem.vector_bytes]
    return unmet((enough, "few channels of a group"), (problem.is_large, "small")) or _rather_stacked(problem)


def grad_weight_why_not(problem: Problem) -> str | None:
    """Not for small planes of stacked slices, whose sums are products of matrices."""
    products = problem.positions < tuning.DIRECT_VOLUMES_LEAST_POSITIONS and outer_grad_weight.why_not(_stacked(problem)) is None
    return unmet(
        (not problem.is_depthwise, "one input channel a group"),
        (not products, "outer_grad_weight is faster for stacked slices"),
        (not valid_rows(problem.window, problem.height), "rows of taps that meet only padding"),
    ) or _rather_stacked(problem)


def convolve(x: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,), none of them empty."""
    kernel = weight.shape[2:]
    outputs, window = window_of_slices(x.shape, kernel, stride, padding, dilation)
    y = empty((len(x), len(weight), outputs, window.out_height, window.out_width), x.dtype)
    met = input_slices(x.shape[2], kernel[0], stride[0], padding[0], dilation[0], outputs, False)
    images = slices_of(x.shape, y.shape, met)
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    taps = contiguous(weight.swapaxes(1, 2)).reshape(len(weight), -1, *kernel[1:])
    read = weight_to_read(taps, bias, groups, len(images.targets) * window.out_height * window.out_width)
    direct_forward.convolve_images(contiguous(x), images, read, window, y, groups, False)
    return y


def grad_input(g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW)."""
    kernel = weight.shape[2:]
    _, window = window_of_slices(input_shape, kernel, stride, padding, dilation)
    dx = empty(tuple(input_shape), g.dtype)
    met = input_slices(input_shape[2], kernel[0], stride[0], padding[0], dilation[0], g.shape[2], True)
    images = slices_of(g.shape, dx.shape, met)
    by_group = contiguous(weight.reshape(groups, -1, *weight.shape[1:]).transpose(0, 3, 1, 2, 4, 5))
    taps = by_group.reshape(-1, weight.shape[1], *kernel[1:])
    if stride[1:] == (1, 1):
        for source, some, part, turned, target in gradient_bands(contiguous(g), images, taps, window, dx):
            direct_forward.convolve_images(source, some, turned_weight(part, groups), turned, target, groups, True)
    else:
        spread_images(contiguous(g), images, taps, window, dx, groups)
    return dx


def grad_weight(g: Array, x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Gradient (O, C / G, KD, KH, KW) of `convolve` for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W)."""
    _, window = window_of_slices(x.shape, weight_shape[2:], stride, padding, dilation)
    met = input_slices(x.shape[2], weight_shape[2], stride[0], padding[0], dilation[0], g.shape[2], False)
    dweight = empty(tuple(weight_shape), g.dtype)
    direct_grad_weight.grad_weight(contiguous(g), contiguous(x), window, dweight, None, groups, met)
    return dweight
