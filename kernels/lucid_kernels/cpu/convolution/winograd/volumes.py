"""Convolution of volumes with planes of 3x3 taps by Winograd's algorithm, and its gradients.

A slice is transformed once for a group of slices of the result, whose sums go over the taps of the depth as well. Slices stacked
as channels were copied and transformed for each tap: 1.2 to 1.6 times as long for 64 to 16 channels, and 2.7 for the weight
gradient of 16.
"""
from __future__ import annotations

import numpy as np

from ...arrays.layout import Array, contiguous
from ...runtime.allocator import empty
from ...runtime.implementations import unmet
from ..direct import volumes as direct_volumes
from ..problem import Problem
from ..volume import Sizes, window_of_slices
from . import forward as winograd_forward
from . import grad_weight as winograd_grad_weight
from .tiles import Depth

_ONES = (1, 1, 1)


def _shape_why_not(problem: Problem) -> str | None:
    return unmet(
        (problem.depth_steps == (1, 1), "strided or dilated along the depth"),
        # Columns of taps that meet only padding, as of images of one pixel, are left out of 2-d convolutions.
        (1 not in (problem.height, problem.width), "rows or columns of one pixel"),
    )


def why_not(problem: Problem) -> str | None:
    return _shape_why_not(problem) or winograd_forward.why_not(problem)


def forward_why_not(problem: Problem) -> str | None:
    return _shape_why_not(problem) or winograd_forward.forward_why_not(problem)


def convolve(x: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C, KD, 3, 3), plus bias (O,), none of them empty."""
    outputs, window = window_of_slices(x.shape, weight.shape[2:], _ONES, padding, _ONES)
    y = empty((len(x), len(weight), outputs, window.out_height, window.out_width), x.dtype)
    x, weight = contiguous(x), contiguous(weight)
    bias = np.zeros(len(weight), x.dtype) if bias is None else contiguous(bias)
    doubtful = winograd_forward.convolve_volumes(x, weight, False, bias, window, Depth(weight.shape[2], padding[0]), y)
    if doubtful is not None:
        y[doubtful] = direct_volumes.convolve(x[doubtful], weight, bias, _ONES, padding, _ONES, 1)
    return y


def grad_input(g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW)."""
    _, window = window_of_slices(input_shape, weight.shape[2:], _ONES, padding, _ONES)
    turned = window._replace(ph=2 - window.ph, pw=2 - window.pw, out_height=input_shape[3], out_width=input_shape[4])
    depth = Depth(weight.shape[2], weight.shape[2] - 1 - padding[0])
    dx, g, weight = empty(tuple(input_shape), g.dtype), contiguous(g), contiguous(weight)
    doubtful = winograd_forward.convolve_volumes(g, weight, True, np.zeros(weight.shape[1], g.dtype), turned, depth, dx)
    if doubtful is not None:
        dx[doubtful] = direct_volumes.grad_input(g[doubtful], weight, (len(doubtful), *input_shape[1:]), _ONES, padding, _ONES, 1)
    return dx


def grad_weight(g: Array, x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
                ) -> Array | None:
    """Gradient (O, C, KD, 3, 3) of `convolve` for its weight, or None where some of it is not finite."""
    _, window = window_of_slices(x.shape, weight_shape[2:], _ONES, padding, _ONES)
    dweight, depth = empty(tuple(weight_shape), g.dtype), Depth(weight_shape[2], padding[0])
    finite = winograd_grad_weight.fill_volumes_if_finite(contiguous(g), contiguous(x), window, depth, dweight, None)
    return dweight if finite else None
