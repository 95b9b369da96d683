"""Convolution, ReLU and max pooling in one call, and the gradients: the kernels of `conv2d` and `conv2d_relu_max_pool2d.cu`."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters
from lucid_kernels.cuda.runtime import launch


def _launch(name: str, arrays: tuple[Any, ...], planes: Any, threads: int) -> None:
    """For `planes` (N, O, H, W) of pixels."""
    sizes = planes.shape[0] * planes.shape[1], *planes.shape[2:]
    if threads:
        launch.kernel("conv2d_relu_max_pool2d", f"{name}<{launch.ctype(planes.dtype)}>")(
            *launch.grid_1d(threads), (*arrays, *map(np.int64, sizes))
        )


def relu_max_pairs(pixels: Any, y: Any, winners: Any) -> None:
    """Fill y and winners (N, C, H // 2, W // 2) with ReLU of the maxima of 2x2 `pixels` (N, C, H, W) each, and the winners."""
    _launch("relu_max_pairs", (pixels, y, winners), pixels, y.size)


def relu_max_pairs_grad(g: Any, winners: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of pixels of a `shape` from that of their maxima."""
    full = launch.result(None, shape, g.dtype)
    _launch("relu_max_pairs_grad", (launch.contiguous(g), launch.contiguous(winners), full), full, full.size)
    return full


@launch.upcast_half(statistics=(1,))
def conv2d_relu_max_pool2d(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> tuple[Any, Any]:
    """`(y, winners)`: ReLU of the maxima (N, O, OH // 2, OW // 2) of 2x2 results of `conv2d`, and which results pass their
    gradients: 0 to 3 in row order as uint8, or 4 where ReLU lets none pass.
    """
    results = conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    out_y, out_winners = (None, None) if out is None else out
    shape = (*results.shape[:2], *(n // 2 for n in results.shape[2:]))
    y, winners = launch.result(out_y, shape, x.dtype), launch.result(out_winners, shape, np.dtype(np.uint8))
    relu_max_pairs(results, y, winners)
    return launch.deliver(y, out_y), launch.deliver(winners, out_winners)


@launch.upcast_half
def conv2d_relu_max_pool2d_grad(
    g: Any,
    winners: Any,
    x: Any,
    weight: Any,
    *,
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    """`(dx, dweight, dbias)` of `conv2d_relu_max_pool2d`, from the gradient of its maxima: `dx` is None without the weight,
    the others without x.
    """
    sizes = zip(input_shape[2:], weight_shape[2:], stride, padding, dilation, strict=True)
    results = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    out_x, *out_parameters = (None, None, None) if out is None else out
    full = relu_max_pairs_grad(g, winners, (*g.shape[:2], *results))
    dx, parameters = None, (None, None)
    if weight is not None:
        dx = conv2d_grad_input(full, weight, input_shape=input_shape, **options, out=out_x)
    if x is not None:
        parameters = conv2d_grad_parameters(full, x, weight_shape=weight_shape, **options, out=tuple(out_parameters))
    return dx, *parameters
