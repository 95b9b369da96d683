"""Convolution, ReLU and max pooling as one operation: the results of the convolution never reach the memory."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._dtypes import int64
from ...autograd.grad_mode import is_grad_enabled
from ...autograd.op import Op, Pull
from ...tensor import Tensor
from .._independence import Origin, with_zero_gradients
from ..creation.creation import arange
from ._convolution_arguments import Geometry, Sizes, check_channels, check_sizes, geometry_of, require_operands
from .convolution import OPS, conv2d
from .pooling import max_pool2d_grad, relu_max_pool2d

__all__ = ()  # a step of `nn.Sequential`

# Products of a result. With more of them, the convolution takes much longer than its memory; but tiles of 3x3 taps are windows.
_MOST_TAPS = 64
_CLOSED = 4  # the winner of windows in which ReLU lets no gradient pass
_DTYPES = frozenset(map(np.dtype, (np.float32, np.float64)))


def _lengths(shape: Sizes, kernel: Sizes, geometry: Geometry) -> Sizes:
    """The height and width of the convolution's results."""
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, s, p, d in zip(shape[2:], kernel[2:], *geometry[:3], strict=True))


def indices_of(winners: Tensor, shape: Sizes) -> Tensor:
    """The indices of the maxima in the planes (H, W) of results of a shape (N, O, H, W), as `max_pool2d` has them."""
    down, across = (2 * arange(n, device=winners.device) for n in winners._array.shape[2:])
    number = winners.to(int64)
    return (down.unsqueeze(1) + number // 2 % 2) * shape[3] + across + number % 2


def gradient_of_maxima(g: Tensor, winners: Tensor, shape: Sizes, *arguments: Tensor | Origin) -> Tensor:
    """The gradient of pooled results for those of a shape (N, O, H, W), which were computed of `arguments`; differentiable."""
    full = max_pool2d_grad(g.masked_fill(winners == _CLOSED, 0), indices_of(winners, shape), input_shape=shape)
    return with_zero_gradients(full, *arguments)


def _rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor | None, **geometry: Any) -> Pull:
    input_shape, weight_shape = x._array.shape, weight._array.shape
    shape = (input_shape[0], weight_shape[0], *_lengths(input_shape, weight_shape, Geometry(**geometry)))
    origins = [Origin.of(t) for t in (x, weight, bias) if t is not None]
    needs_x, *needs_parameters = needs
    x, weight = x if any(needs_parameters) else None, weight if needs_x else None  # type: ignore[assignment]

    def pull(g: Tensor, kept: Any, needs: Any = needs) -> tuple[Any, Any, Any]:
        (winners,) = kept
        needs_x, *parameters = needs
        if not is_grad_enabled():
            gradients: tuple[Any, Any, Any] = _grad(g, winners, x if any(parameters) else None, weight if needs_x else None,
                                                    input_shape=input_shape, weight_shape=weight_shape, **geometry)
            return gradients
        full = gradient_of_maxima(g, winners, shape, *origins)
        dx = OPS[2].grad_input(full, weight, input_shape=input_shape, **geometry) if needs_x else None
        if not any(parameters):
            return dx, None, None
        return (dx, *OPS[2].grad_parameters(full, x, weight_shape=weight_shape, **geometry))

    return pull


_conv2d_relu_max_pool2d = Op("conv2d_relu_max_pool2d", _rule, keeps=(1,), outputs=(0,))
_grad = Op("conv2d_relu_max_pool2d_grad")


def conv2d_relu_max_pool2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                           dilation: Any = 1, groups: int = 1) -> Tensor:
    """``max_pool2d(relu(conv2d(input, weight, ...)), 2)``: one operation for few channels or 3x3 taps, else one after the other.

    Half-precision numbers are pooled after they have been rounded. Raises what the functions raise.
    """
    require_operands("conv2d", input, weight, bias, 2)
    geometry, same = geometry_of(stride, padding, dilation, groups, 2)
    shape, kernel = input._array.shape, weight._array.shape
    if not (len(shape) == 4 and input._array.dtype in _DTYPES and not same and (0 < math.prod(kernel[1:]) <= _MOST_TAPS
            or kernel[2:] == (3, 3)) and 0 not in (*shape, *kernel) and min(_lengths(shape, kernel, geometry)) >= 2):
        return relu_max_pool2d(conv2d(input, weight, bias, stride, padding, dilation, groups), 2)
    check_channels(shape, kernel, None if bias is None else bias._array.shape, geometry.groups, False)
    check_sizes(shape, kernel, geometry)
    result: Tensor = _conv2d_relu_max_pool2d(input, weight, bias, stride=geometry.stride, padding=geometry.padding,
                                             dilation=geometry.dilation, groups=geometry.groups)[0]
    return result
