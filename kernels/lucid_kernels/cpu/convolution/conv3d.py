"""3-d convolution and its gradients by kernels for whole volumes: each call goes to the way that suits its shape.

None is returned where 2-d convolutions of slices that are stacked as channels are faster, or where arrays are empty.
`winograd3d` serves planes of 3x3 taps with 16 channels and more, `depthwise3d` one input channel a group, `direct3d` others.
"""
from __future__ import annotations

from ..arrays.layout import Array
from .depthwise import volumes as depthwise_volumes
from .direct import volumes as direct_volumes
from .volume import Sizes
from .winograd import volumes as winograd_volumes


def _is_depthwise(weight_shape: Sizes, groups: int) -> bool:
    return groups > 1 and weight_shape[1] == 1


def convolve(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
             ) -> Array | None:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,), or None."""
    if not x.size or not weight.size:
        return None
    if _is_depthwise(weight.shape, groups):
        return depthwise_volumes.convolve(x, weight, bias, stride=stride, padding=padding, dilation=dilation)
    geometry = stride, padding, dilation
    if winograd_volumes.suits(x.dtype, x.shape, weight.shape, *geometry, groups, forward=True):
        return winograd_volumes.convolve(x, weight, bias, padding)
    if direct_volumes.suits(x, weight.shape, *geometry, groups):
        return direct_volumes.convolve(x, weight, bias, *geometry, groups)
    return None


def grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
               ) -> Array | None:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW), or None."""
    if not g.size or not weight.size:
        return None
    if _is_depthwise(weight.shape, groups):
        return depthwise_volumes.grad_input(g, weight, input_shape=input_shape, stride=stride, padding=padding, dilation=dilation)
    geometry = stride, padding, dilation
    if winograd_volumes.suits(g.dtype, input_shape, weight.shape, *geometry, groups):
        return winograd_volumes.grad_input(g, weight, input_shape, padding)
    if direct_volumes.suits_backward(g, input_shape, weight.shape, *geometry, groups):
        return direct_volumes.grad_input(g, weight, input_shape, *geometry, groups)
    return None


def grad_weight(g: Array, x: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
                ) -> Array | None:
    """Gradient (O, C / G, KD, KH, KW) of `convolve` for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W), or None,
    also where some of it is not finite, which Winograd's transforms may have caused.
    """
    if not g.size or not x.size or _is_depthwise(weight_shape, groups):
        return None
    geometry = stride, padding, dilation
    if winograd_volumes.suits(g.dtype, x.shape, weight_shape, *geometry, groups):
        return winograd_volumes.grad_weight(g, x, weight_shape, padding)
    if direct_volumes.suits_weight(x, weight_shape, *geometry, groups):
        return direct_volumes.grad_weight(g, x, weight_shape, *geometry, groups)
    return None
