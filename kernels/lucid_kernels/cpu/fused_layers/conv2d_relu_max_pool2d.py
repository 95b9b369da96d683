"""Convolution, ReLU and max pooling in one pass, and the gradients of the parameters.

Where there are few input channels, writing the results of the convolution to memory and reading them again takes longer than
computing them: here an image's are pooled while they are in the cache. With many channels, a window is a tile of `forward`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..arrays.window import Window
from ..convolution.conv2d import Pair, conv2d, conv2d_grad_input, conv2d_grad_parameters, window_of
from ..convolution.direct import forward as direct_forward
from ..convolution.direct.microkernels import VECTORS
from ..convolution.direct.packed_weight import packed_weight
from ..convolution.image_batch import planes_of
from ..convolution.problem import Problem, image_problem
from ..convolution.winograd import forward as winograd_forward
from ..convolution.winograd import grad_weight as winograd_grad_weight
from ..pooling.max_2x2 import expanded, max_2x2, max_2x2_planes
from ..runtime.jit import jit_parallel
from ..runtime.threads import THREADS
from ..simd.aligned import aligned_empty
from ..simd.cpu_features import VECTOR_BYTES
from . import pooled_grad_weight

# Products of a result: with more the convolution takes much longer than its memory.
_MOST_TAPS = 64
# Bytes of the results of an image, which are written and read again by one thread.
_RESULTS_BYTES = 1 << 20


@jit_parallel
def _convolve_and_pool(x, images, window, cut, rows, step, taps, weight, y, winners):
    """ReLU of the maxima y (N, O, OH, OW) of 2x2 results each, and the winners.

    A task takes `cut.images` images.
    """
    samples, channels = y.shape[:2]
    block = VECTORS * (VECTOR_BYTES // x.itemsize)
    for task in numba.prange((samples + cut.images - 1) // cut.images):
        copies = aligned_empty(cut.channels * window.kw * cut.period * step + block, x)
        copies[copies.shape[0] - block :] = 0  # the last block reads on for up to a block of positions
        results = aligned_empty(channels * window.out_height * window.out_width, x)
        planes = results.reshape(channels, window.out_height, window.out_width)
        for n in range(task * cut.images, min(samples, (task + 1) * cut.images)):
            direct_forward.convolve_band(x, images, window, cut, n, 1, 0, window.out_height, rows, step, taps, weight,
                                  0, weight.blocks, 0, 1, channels, copies, results)
            max_2x2_planes(planes, y[n], winners[n], 0, channels)


def _by_tiles(problem: Problem) -> bool:
    return winograd_forward.why_not(problem) is None


def _plan_by_image(x: Array, weight: Array, window: Window, groups: int) -> tuple[Any, ...] | None:
    """How `forward` cuts the work, where an image at a time is pooled: few enough products, whose results stay in the cache."""
    results = weight.shape[0] * window.out_height * window.out_width * x.itemsize
    few = groups == 1 and weight.shape[1] * window.kh * window.kw <= _MOST_TAPS and results <= _RESULTS_BYTES
    if not few or not image_problem(x.shape, len(weight), 1, window, x.itemsize).is_large:
        return None
    plan = direct_forward.plan_of(
        x.shape[0], x.shape[0], x.itemsize, weight.shape[1], window, weight.shape[0], 1, False, THREADS.value
    )
    cut = plan[0]
    enough = direct_forward.splits_of(-(-x.shape[0] // cut.images), weight.shape[0]) == 1
    return plan if (cut.samples, cut.band) == (1, window.out_height) and weight.shape[1] <= cut.channels and enough else None


@upcast_half(results=(0, None))
def conv2d_relu_max_pool2d(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: tuple[Array | None, Array | None] | None = None,
) -> tuple[Array, Array]:
    """ReLU of the maxima (N, O, OH // 2, OW // 2) of 2x2 results of `conv2d` each, and their winners: which result passes its
    gradient, 0 to 3 in row order as uint8, or 4 where ReLU lets none pass.
    """
    window = window_of(x.shape, weight.shape, stride, padding, dilation)
    shape = (x.shape[0], weight.shape[0], window.out_height // 2, window.out_width // 2)
    plan = _plan_by_image(x, weight, window, groups)
    out_y, out_winners = outputs(out, 2)
    y, winners = result(out_y, shape, x.dtype), result(out_winners, shape, np.uint8)
    if plan is None and not (0 not in shape and _by_tiles(image_problem(x.shape, shape[1], groups, window, x.itemsize))):
        results = conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
        planes = [array.reshape(shape[0] * shape[1], *array.shape[2:]) for array in (results, y, winners)]
        max_2x2(planes[0], False, *planes[1:])
        return deliver(out_y, y), deliver(out_winners, winners)
    x, bias = contiguous(x), np.zeros(shape[1], x.dtype) if bias is None else contiguous(bias)
    if plan is None:
        winograd_forward.convolve_and_pool(x, contiguous(weight), bias, window, y, winners)
    else:
        cut, rows, step, taps, _ = plan
        # Each image goes to the same results, which are pooled before the next.
        images = planes_of(x.shape, shape)._replace(targets=np.zeros(len(x), np.int64),
                                                    target_pitch=window.out_height * window.out_width)
        _convolve_and_pool(x.reshape(-1), images, window, cut, rows, step, taps, packed_weight(weight, bias, 1), y, winners)
    return deliver(out_y, y), deliver(out_winners, winners)


@upcast_half
def conv2d_relu_max_pool2d_grad(
    g: Array,
    winners: Array,
    x: Array | None,
    weight: Array | None,
    *,
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array | None, Array | None, Array | None]:
    """Gradients (dx, dweight, dbias) of `conv2d_relu_max_pool2d` from g (N, O, OH // 2, OW // 2).

    dx (N, C, H, W) is None without the weight (O, C/G, KH, KW), dweight and dbias (O,) without x.
    """
    window = window_of(input_shape, weight_shape, stride, padding, dilation)
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    out_x, *out_parameters = outputs(out, 3)
    g, winners, full, dx = contiguous(g), contiguous(winners), None, None
    if weight is not None:
        if g.size and _by_tiles(image_problem(input_shape, weight_shape[0], groups, window, g.itemsize)):
            dx = result(out_x, tuple(input_shape), g.dtype)
            winograd_forward.grad_input(g, contiguous(weight), window, dx, winners=winners)
            dx = deliver(out_x, dx)
        else:
            full = expanded(g, winners, window)
            dx = conv2d_grad_input(full, weight, input_shape=input_shape, **options, out=out_x)
    if x is None:
        return dx, None, None
    return dx, *_grad_parameters(g, winners, full, x, window, options, weight_shape, out_parameters)


def _grad_parameters(
    g: Array, winners: Array, full: Array | None, x: Array, window: Window, options: Any, shape: tuple[int, ...],
    out: Sequence[Array | None]
) -> tuple[Array, Array]:
    """dweight, of a shape, and dbias; `full` is g, expanded, or None."""
    groups = options["groups"]
    by_tiles = g.size > 0 and _by_tiles(image_problem(x.shape, shape[0], groups, window, x.itemsize))
    if g.size and full is None and (by_tiles or (groups == 1 and pooled_grad_weight.suits(x, shape, window))):
        dweight, dbias = result(out[0], tuple(shape), g.dtype), result(out[1], tuple(shape[:1]), g.dtype)
        if by_tiles:
            winograd_grad_weight.grad_weight(g, contiguous(x), window, dweight, dbias, winners=winners)
        if by_tiles or pooled_grad_weight.grad_weight(g, winners, contiguous(x), window, dweight, dbias):
            return deliver(out[0], dweight), deliver(out[1], dbias)
    full = expanded(g, winners, window) if full is None else full
    return conv2d_grad_parameters(full, x, weight_shape=shape, **options, out=out)
