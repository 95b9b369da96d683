"""Convolution, ReLU and max pooling in one pass, and the gradients of the parameters.

Where there are few input channels, writing the results of the convolution to memory and reading them again takes longer than
computing them: here an image's are pooled while they are in the cache. With many channels, a window is a tile of `_winograd`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from . import _direct, _pooled_grad_weight, _winograd
from ._aligned import aligned_empty
from ._compile import jit_parallel
from ._layout import Array, contiguous, deliver, outputs, result, upcast_half
from ._max_pool2d_planes import clip_planes
from ._microkernels import VECTOR_BYTES, VECTORS
from ._packed_weight import packed_weight
from ._pool2d_windows import max_2x2_planes
from ._row_copies import Window, enough_work
from .conv2d import Pair, conv2d, conv2d_grad_parameters, window_of
from .pool2d import max_pool2d, max_pool2d_grad

_PAIRS: Any = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False}
# Products of a result: with more the convolution takes much longer than its memory.
_MOST_TAPS = 64
# Bytes of the results of an image, which are written and read again by one thread.
_RESULTS_BYTES = 1 << 20


@jit_parallel
def _convolve_and_pool(x, window, cut, rows, step, taps, weight, bias, y, indices):
    """Maxima y (N, O, OH, OW) of 2x2 results each, and their places. weight (blocks, K, ROWS) and bias are packed.

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
            _direct.convolve_band(x[n : n + 1], window, cut, 0, 1, 0, window.out_height, rows, step, taps, weight,
                                  bias, 0, weight.shape[0], 0, 1, channels, copies, results)
            max_2x2_planes(planes, y[n], indices[n], 0, channels)
            clip_planes(y[n], 0, channels)


def _plan_by_image(x: Array, weight: Array, window: Window, groups: int) -> tuple[Any, ...] | None:
    """How `_direct` cuts the work, where an image at a time is pooled: few enough products, whose results stay in the cache."""
    results = weight.shape[0] * window.out_height * window.out_width * x.itemsize
    few = groups == 1 and weight.shape[1] * window.kh * window.kw <= _MOST_TAPS and results <= _RESULTS_BYTES
    if not few or not enough_work(x, window, weight.shape[0]):
        return None
    plan = _direct.plan_of(x.shape[0], x.itemsize, weight.shape[1], window, weight.shape[0], 1, False)
    cut, _, _, _, splits = plan
    return plan if (cut.samples, cut.band, splits) == (1, window.out_height, 1) and weight.shape[1] <= cut.channels else None


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
    """ReLU of the maxima (N, O, OH // 2, OW // 2) of 2x2 results of `conv2d` each, and their int64 places in the OH*OW plane."""
    window = window_of(x.shape, weight.shape, stride, padding, dilation)
    shape = (x.shape[0], weight.shape[0], window.out_height // 2, window.out_width // 2)
    plan = _plan_by_image(x, weight, window, groups)
    if plan is None and not (0 not in shape and _winograd.suits(x, window, groups, shape[1])):
        results = conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
        maxima: tuple[Array, Array] = max_pool2d(results, **_PAIRS, relu=True, out=out)
        return maxima
    out_y, out_indices = outputs(out, 2)
    y, indices = result(out_y, shape, x.dtype), result(out_indices, shape, np.int64)
    x, bias = contiguous(x), np.zeros(shape[1], x.dtype) if bias is None else contiguous(bias)
    if plan is None:
        _winograd.convolve_and_pool(x, contiguous(weight), bias, window, y, indices)
    else:
        cut, rows, step, taps, _ = plan
        _convolve_and_pool(x, window, cut, rows, step, taps, *packed_weight(weight, bias, 1), y, indices)
    return deliver(out_y, y), deliver(out_indices, indices)


@upcast_half
def conv2d_relu_max_pool2d_grad_parameters(
    g: Array,
    indices: Array,
    y: Array,
    x: Array,
    *,
    weight_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array]:
    """Gradients (dweight, dbias) of `conv2d_relu_max_pool2d` for its weight (O, C/G, KH, KW) and its bias (O,).

    From g (N, O, OH // 2, OW // 2), what the function returned and x (N, C, H, W). IndexError where an index is out of range.
    """
    window = window_of(x.shape, weight_shape, stride, padding, dilation)
    if g.size and groups == 1 and _pooled_grad_weight.suits(x, weight_shape, window):
        out_weight, out_bias = outputs(out, 2)
        dweight, dbias = result(out_weight, weight_shape, g.dtype), result(out_bias, weight_shape[:1], g.dtype)
        arrays = contiguous(g), contiguous(indices), contiguous(y), contiguous(x)
        if _pooled_grad_weight.grad_weight(*arrays, window, dweight, dbias):
            return deliver(out_weight, dweight), deliver(out_bias, dbias)
    shape = (*y.shape[:2], window.out_height, window.out_width)
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return conv2d_grad_parameters(max_pool2d_grad(g, indices, y, input_shape=shape), x, weight_shape=weight_shape, **options,
                                  out=out)
