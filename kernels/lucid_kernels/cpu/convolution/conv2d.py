"""2-d convolution and its gradients: `implementations.py` says which kernels compute a call.

float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucid_kernels.windows import window_counts

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..arrays.window import Window
from ..runtime.allocator import empty
from ..runtime.implementations import Implementations
from .implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT
from .problem import Problem, image_problem

Pair = tuple[int, int]


def window_of(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair
) -> Window:
    kh, kw = weight_shape[2:]
    out_height, out_width = window_counts(input_shape[2:], (kh, kw), stride, padding, dilation)
    return Window(kh, kw, *stride, *padding, *dilation, out_height, out_width)


def _valid_taps(length: int, taps: int, stride: int, padding: int, dilation: int, outputs: int) -> tuple[int, int]:
    """The first and the last of the taps along a dimension that meet any of `length` pixels, if one does; those between count."""
    first = max(0, -(((outputs - 1) * stride - padding) // dilation))
    last = min(taps, (length - 1 + padding) // dilation + 1)
    return (first, last) if first < last else (0, taps)


def problem_of(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair, groups: int,
    itemsize: int = 4,
) -> tuple[Problem, tuple[slice, ...]]:
    """The problem without the rows and columns of taps that meet only padding, and the index of the others in the weight.

    3x3 taps over images of one column are three then, and one over a pixel.
    """
    window = window_of(input_shape, weight_shape, stride, padding, dilation)
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    top, bottom = _valid_taps(input_shape[2], kh, sh, ph, dh, out_height)
    left, right = _valid_taps(input_shape[3], kw, sw, pw, dw, out_width)
    fewer = window._replace(kh=bottom - top, kw=right - left, ph=ph - top * dh, pw=pw - left * dw)
    met = slice(None), slice(None), slice(top, bottom), slice(left, right)
    return image_problem(input_shape, weight_shape[0], groups, fewer, itemsize), met


@functools.lru_cache(maxsize=1024)
def _chosen(implementations: Implementations, *arguments: Any) -> tuple[Callable[..., None], Window, tuple[slice, ...] | None]:
    """What computes the problem of the `arguments` of `problem_of`, its window, and the taps that it has unless it has all."""
    problem, met = problem_of(*arguments)
    whole = problem.window[:2] == arguments[1][2:]
    return implementations.choose(problem).run, problem.window, None if whole else met


@upcast_half
def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Cross-correlation y (N, O, OH, OW) of x (N, C, H, W) with weight (O, C/G, KH, KW), plus bias (O,)."""
    run, window, met = _chosen(FORWARD, x.shape, weight.shape, stride, padding, dilation, groups, x.itemsize)
    y = result(out, (x.shape[0], weight.shape[0], window.out_height, window.out_width), x.dtype)
    bias = np.zeros(weight.shape[0], x.dtype) if bias is None else contiguous(bias)
    if x.size and weight.size and y.size:
        run(contiguous(x), contiguous(weight if met is None else weight[met]), bias, window, y, groups)
    elif y.size:
        y[:] = bias.reshape(-1, 1, 1)
    return deliver(out, y)


@upcast_half
def conv2d_grad_input(
    g: Array,
    weight: Array,
    *,
    input_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Gradient (N, C, H, W) of conv2d for its input, from g (N, O, OH, OW) and weight (O, C/G, KH, KW)."""
    run, window, met = _chosen(GRAD_INPUT, tuple(input_shape), weight.shape, stride, padding, dilation, groups, g.itemsize)
    dx = result(out, tuple(input_shape), g.dtype)
    if g.size and dx.size:
        run(contiguous(g), contiguous(weight if met is None else weight[met]), window, dx, groups)
    else:
        dx.fill(0)
    return deliver(out, dx)


@upcast_half
def conv2d_grad_weight(
    g: Array,
    x: Array,
    *,
    weight_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Gradient (O, C/G, KH, KW) of conv2d for its weight, from g (N, O, OH, OW) and x (N, C, H, W)."""
    dweight = result(out, tuple(weight_shape), g.dtype)
    _grad_parameters(contiguous(g), contiguous(x), (stride, padding, dilation), groups, dweight, None)
    return deliver(out, dweight)


@upcast_half
def conv2d_grad_parameters(
    g: Array,
    x: Array,
    *,
    weight_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array]:
    """Gradients (dweight, dbias) of conv2d for its weight (O, C/G, KH, KW) and its bias (O,): `conv2d_grad_weight`, and the
    sums of g (N, O, OH, OW), which it reads anyway.
    """
    out = outputs(out, 2)
    dweight, dbias = result(out[0], tuple(weight_shape), g.dtype), result(out[1], (weight_shape[0],), g.dtype)
    _grad_parameters(contiguous(g), contiguous(x), (stride, padding, dilation), groups, dweight, dbias)
    return deliver(out[0], dweight), deliver(out[1], dbias)


def _grad_parameters(
    g: Array, x: Array, steps: tuple[Pair, Pair, Pair], groups: int, dweight: Array, dbias: Array | None
) -> None:
    """Fill dweight, and dbias unless that is None; `steps` are stride, padding and dilation."""
    run, window, met = _chosen(GRAD_WEIGHT, x.shape, dweight.shape, *steps, groups, x.itemsize)
    if not (g.size and x.size):
        dweight.fill(0)
        if dbias is not None:
            g.sum((0, 2, 3), out=dbias)
    elif met is None:
        run(g, x, window, dweight, dbias, groups)
    else:
        dweight.fill(0)
        of_met = empty((*dweight.shape[:2], *window[:2]), dweight.dtype)
        run(g, x, window, of_met, dbias, groups)
        dweight[met] = of_met
