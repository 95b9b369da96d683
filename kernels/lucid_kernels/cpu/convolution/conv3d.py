"""3-d convolution and its gradients by kernels for whole volumes: `implementations.py` says which.

None is returned where 2-d convolutions of slices that are stacked as channels are faster, or where arrays are empty.
"""
from __future__ import annotations

from ..arrays.layout import Array
from .implementations import VOLUME_FORWARD, VOLUME_GRAD_INPUT, VOLUME_GRAD_WEIGHT
from .volume import Sizes, volume_problem


def convolve(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
             ) -> Array | None:
    """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,), or None."""
    if not x.size or not weight.size:
        return None
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    problem = volume_problem(x.shape, weight.shape, *geometry, x.itemsize)
    return VOLUME_FORWARD.choose(problem).run(x, weight, bias, *geometry)


def grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
               ) -> Array | None:
    """Gradient (N, C, D, H, W) of `convolve` for x, from g (N, O, OD, OH, OW), or None."""
    if not g.size or not weight.size:
        return None
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    problem = volume_problem(tuple(input_shape), weight.shape, *geometry, g.itemsize)
    return VOLUME_GRAD_INPUT.choose(problem).run(g, weight, input_shape, *geometry)


def grad_weight(g: Array, x: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
                ) -> Array | None:
    """Gradient (O, C / G, KD, KH, KW) of `convolve` for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W), or None,
    also where some of it is not finite, which Winograd's transforms may have caused.
    """
    if not g.size or not x.size:
        return None
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    problem = volume_problem(x.shape, tuple(weight_shape), *geometry, g.itemsize)
    return VOLUME_GRAD_WEIGHT.choose(problem).run(g, x, weight_shape, *geometry)
