"""Convolution, ReLU and max pooling in one call, and the gradients of the parameters: the kernels of each, on a GPU."""
from __future__ import annotations

from typing import Any

from lucid_kernels.cuda import launch
from lucid_kernels.cuda.conv2d import conv2d, conv2d_grad_parameters
from lucid_kernels.cuda.pool2d import max_pool2d, max_pool2d_grad

_PAIRS: Any = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False}


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
    """`(y, indices)`: ReLU of the maxima (N, O, OH // 2, OW // 2) of 2x2 results of `conv2d`, and their places as int64 indices
    into the OH*OW plane.
    """
    results = conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    maxima: tuple[Any, Any] = max_pool2d(results, **_PAIRS, relu=True, out=out)
    return maxima


@launch.upcast_half
def conv2d_relu_max_pool2d_grad_parameters(
    g: Any,
    indices: Any,
    y: Any,
    x: Any,
    *,
    weight_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> tuple[Any, Any]:
    """`(dweight, dbias)` of `conv2d_relu_max_pool2d`, from the gradient of its maxima and from what it returned and took."""
    height, width = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], weight_shape[2:], stride, padding, dilation, strict=True)
    )
    full = max_pool2d_grad(g, indices, y, input_shape=(*y.shape[:2], height, width))
    gradients: tuple[Any, Any] = conv2d_grad_parameters(
        full, x, weight_shape=weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups, out=out
    )
    return gradients
