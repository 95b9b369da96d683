"""2-d convolution and its gradients: each call goes to the way that suits its shape.

`forward` serves 3x3 taps of 16 channels and more, `dilated` those with a dilation, `planes` one input channel a group,
`output_channels` small planes and groups, `forward`, `grad_weight` and `outer_grad_weight` the others, and
`grad_input_strided` their input gradient with strides.
Patches that do not overlap (`patch_embedding`) and taps as large as the image are products of matrices. float16 and bfloat16 are
computed in float32.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result
from ..arrays.window import Window
from ..matmul import matmul, openblas
from ..reduction import reduction
from ..runtime.allocator import empty
from . import patch_embedding
from .depthwise.planes import depthwise, depthwise_grad_input, depthwise_grad_weight
from .dilation_bands import rows_met
from .direct import outer_grad_weight, output_channels
from .direct.forward import convolve, grad_input
from .direct.grad_input_strided import grad_input_strided
from .direct.grad_weight import grad_weight
from .im2row import thinned
from .pointwise import grad_weight as pointwise_grad_weight
from .winograd import dilated as winograd_dilated
from .winograd import forward as winograd_forward
from .winograd import grad_weight as winograd_grad_weight

Pair = tuple[int, int]


def window_of(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair
) -> Window:
    kh, kw = weight_shape[2:]
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    out_height = (input_shape[2] + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_width = (input_shape[3] + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    return Window(kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width)


def _met(length: int, taps: int, stride: int, padding: int, dilation: int, outputs: int) -> tuple[int, int]:
    """The first and the last of the taps along a dimension that meet any of `length` pixels, if one does; those between count."""
    first = max(0, -(((outputs - 1) * stride - padding) // dilation))
    last = min(taps, (length - 1 + padding) // dilation + 1)
    return (first, last) if first < last else (0, taps)


@functools.lru_cache(maxsize=1024)  # a sixth of the time around the kernel of a small layer
def _without_idle_taps(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair
) -> tuple[Window, tuple[slice, ...]]:
    """The window without the rows and columns of taps that meet only padding, and the index of the others in the weight.

    3x3 taps over images of one column are three then, and one over a pixel.
    """
    window = window_of(input_shape, weight_shape, stride, padding, dilation)
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    top, bottom = _met(input_shape[2], kh, sh, ph, dh, out_height)
    left, right = _met(input_shape[3], kw, sw, pw, dw, out_width)
    fewer = window._replace(kh=bottom - top, kw=right - left, ph=ph - top * dh, pw=pw - left * dw)
    return fewer, (slice(None), slice(None), slice(top, bottom), slice(left, right))


def _is_depthwise(weight_shape: tuple[int, ...], groups: int) -> bool:
    """One input channel a group: a GEMM with KH * KW rows is slower than direct loops."""
    return groups > 1 and weight_shape[1] == 1


def _is_product(input_shape: tuple[int, ...], window: Window, groups: int) -> bool:
    """Whether the taps cover the image, and each sample has one output: a product of matrices."""
    return groups == 1 and window[:2] == input_shape[2:] and window[4:6] == (0, 0) and window[8:] == (1, 1)


def _is_pointwise(window: Window, groups: int) -> bool:
    """A single tap that meets pixels only, of all channels."""
    return groups == window.kh == window.kw == 1 and (window.ph, window.pw) == (0, 0)


def _is_one_convolution(window: Window) -> bool:
    """Whether the input gradient is a single convolution: all its elements meet the same taps."""
    return (window.sh, window.sw) == (1, 1) or (window.kh, window.kw) == (1, 1)


def _is_large(g: Array, channels: int) -> bool:
    """Whether the product of matrices that an image of g (N, O, H, W) makes for 1x1 taps is worth a call."""
    return g[0].size * channels >= openblas.TILES_FROM


def _flat(array: Array) -> Array:
    """A matrix whose rows are array[i]."""
    return contiguous(array).reshape(array.shape[0], -1)


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
    window, met = _without_idle_taps(x.shape, weight.shape, stride, padding, dilation)
    weight = weight[met]
    if x.size and weight.size and _is_product(x.shape, window, groups):
        y = matmul.matmul(_flat(x), _flat(weight).T, None if bias is None else contiguous(bias))
        return deliver(out, y.reshape(*y.shape, 1, 1))
    if x.size and weight.size and patch_embedding.suits(window, groups):
        return deliver(out, patch_embedding.convolve(x, weight, bias, window))
    y = result(out, (x.shape[0], weight.shape[0], window.out_height, window.out_width), x.dtype)
    if bias is None:
        bias = np.zeros(weight.shape[0], x.dtype)
    if y.size == 0:
        return deliver(out, y)
    if _is_depthwise(weight.shape, groups):
        depthwise(contiguous(x), contiguous(weight), contiguous(bias), window, y)
    elif winograd_forward.suits_forward(x, window, groups, weight.shape[0]):
        winograd_forward.convolve(contiguous(x), contiguous(weight), contiguous(bias), window, y)
    elif winograd_dilated.suits(x, window, groups, weight.shape[0]):
        winograd_dilated.convolve(contiguous(x), contiguous(weight), contiguous(bias), window, y)
    elif output_channels.suits(x, y, window, groups):
        output_channels.convolve(contiguous(x), contiguous(weight), contiguous(bias), window, y, groups)
    else:
        convolve(contiguous(x), weight, contiguous(bias), window, y, groups)
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
    window, met = _without_idle_taps(tuple(input_shape), weight.shape, stride, padding, dilation)
    weight = weight[met]
    if g.size and weight.size and _is_product(tuple(input_shape), window, groups):
        return deliver(out, matmul.matmul(_flat(g), _flat(weight)).reshape(input_shape))
    if len(g) == 1 and _is_pointwise(window, groups) and g.shape[2:] == input_shape[2:] and _is_large(g, weight.shape[1]):
        return deliver(out, matmul.matmul(_flat(weight).T, _flat(g[0])).reshape(input_shape))
    dx = result(out, tuple(input_shape), g.dtype)
    g = contiguous(g)
    if g.size == 0 or dx.size == 0:
        dx.fill(0)
    elif patch_embedding.suits(window, groups):
        patch_embedding.grad_input(g, weight, window, dx)
    elif _is_depthwise(weight.shape, groups):
        depthwise_grad_input(g, contiguous(weight), window, dx)
    elif winograd_forward.suits(g, window, groups, weight.shape[1]):
        winograd_forward.grad_input(g, contiguous(weight), window, dx)
    elif winograd_dilated.suits(g, window, groups, weight.shape[1]):
        winograd_dilated.grad_input(g, contiguous(weight), window, dx)
    elif output_channels.suits_backward(g, dx, window, groups):
        output_channels.grad_input(g, contiguous(weight), window, dx, groups)
    elif _is_one_convolution(window):
        grad_input(g, weight, window, dx, groups)
    else:
        grad_input_strided(g, contiguous(weight), window, dx, groups)
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
    window, met = _without_idle_taps(x.shape, dweight.shape, *steps)
    whole = dweight
    if window[:2] != whole.shape[2:]:
        whole.fill(0)
        dweight = empty((*whole.shape[:2], *window[:2]), whole.dtype)
    _grad_met_parameters(g, x, window, groups, dweight, dbias)
    if dweight is not whole:
        whole[met] = dweight


def _grad_met_parameters(g: Array, x: Array, window: Window, groups: int, dweight: Array, dbias: Array | None) -> None:
    """`_grad_parameters` for taps all of which meet pixels."""
    if g.size == 0 or x.size == 0:
        dweight.fill(0)
    elif _is_product(x.shape, window, groups):
        matmul.matmul(_flat(g).T, _flat(x), out=dweight.reshape(dweight.shape[0], -1))
    elif patch_embedding.suits(window, groups):
        patch_embedding.grad_weight(g, x, window, dweight)
    elif _is_depthwise(dweight.shape, groups):
        depthwise_grad_weight(g, x, window, dweight)
    elif _is_pointwise(window, groups) and _is_large(g, x.shape[1]):
        pointwise_grad_weight.grad_weight(g, x if g.shape[2:] == x.shape[2:] else thinned(x, window), dweight)
    elif winograd_forward.suits(x, window, groups, dweight.shape[0]):
        winograd_grad_weight.grad_weight(g, x, window, dweight, dbias)
        return
    elif winograd_dilated.suits(x, window, groups, dweight.shape[0]):
        winograd_dilated.grad_weight(g, x, window, dweight, dbias)
        return
    elif outer_grad_weight.suits(x, window, groups, dweight.shape[0]):
        outer_grad_weight.grad_weight(g, x, window, dweight)
    elif bands := rows_met(window, x.shape[2]):
        for band in bands:
            part, rows = empty((*dweight.shape[:2], 1, window.kw), dweight.dtype), contiguous(g[:, :, band.top : band.bottom])
            _grad_met_parameters(rows, x, band.window(window), groups, part, None)
            dweight[:, :, band.first : band.last] = part
    else:
        grad_weight(g, x, window, dweight, groups, dbias)
        return
    if dbias is not None:
        _sum_channels(g, dbias)


def _sum_channels(g: Array, dbias: Array) -> None:
    """Fill dbias (O,) with the sums of g (N, O, OH, OW)."""
    samples, channels, height, width = g.shape
    planes = g.reshape(samples, channels, height * width)
    view = reduction.view_of(planes, 2)
    if g.size < PARALLEL_FROM or view is None:
        planes.sum((0, 2), out=dbias)
    else:
        dbias[:] = reduction.total(planes, view).reshape(samples, channels).sum(0)
