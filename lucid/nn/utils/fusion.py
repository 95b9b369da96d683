"""Batch normalisation in evaluation mode folded into the layer before it: one layer less, the same results.

With the running statistics fixed, ``bn(y) = (y - mean) / sqrt(var + eps) * weight + bias`` is linear in `y`, so it goes into
weight and bias of the layer that computes `y`.
"""
from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import zeros_like
from ...ops.elementwise.unary import rsqrt
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter

LayerT = TypeVar("LayerT", bound=Module)


def fuse_conv_bn_eval(conv: LayerT, bn: Any, transpose: bool = False) -> LayerT:
    """A copy of the convolution `conv` that computes ``bn(conv(x))``.

    Both are in evaluation mode, and `bn` has running statistics: else AssertionError is raised. `transpose` says that `conv`
    is a transposed convolution, whose weight has the output channels in dimension 1. `requires_grad` and dtypes of weight
    and bias are kept; a bias that was not there does not require grad.

    >>> conv, norm, x = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval(), lucid.randn(1, 1, 5, 5)
    >>> lucid.allclose(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
    True
    """
    _check_modes(conv, bn)
    fused: Any = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, *_statistics(bn), bn.weight, bn.bias, transpose)
    return fused


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Weight and bias of `fuse_conv_bn_eval` from those of the layers, running mean, running variance and eps.

    `conv_w` is (out, in / groups, ...), with `transpose` (in, out / groups, ...), all others (out,).

    >>> one = lucid.ones(1)
    >>> weight, bias = nn.utils.fuse_conv_bn_weights(lucid.ones(1, 1, 1), one, one * 3, one * 4, 0.0, one, one)
    >>> weight.item(), bias.item()
    (0.5, 0.0)
    """
    conv_b, bias_dtype = (zeros_like(bn_rm), conv_w.dtype) if conv_b is None else (conv_b, conv_b.dtype)
    with no_grad():
        scale = rsqrt(bn_rv + bn_eps)
        scale = scale if bn_w is None else bn_w * scale
        shift = (conv_b - bn_rm) * scale
        shape = [1, -1] if transpose else [-1, 1]
        weight = conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))
        bias = shift if bn_b is None else shift + bn_b
    return (Parameter(weight.to(dtype=conv_w.dtype), conv_w.requires_grad),
            Parameter(bias.to(dtype=bias_dtype), conv_b.requires_grad))


def fuse_linear_bn_eval(linear: LayerT, bn: Any) -> LayerT:
    """A copy of the linear layer `linear` that computes ``bn(linear(x))`` for `x` of two dimensions.

    As `fuse_conv_bn_eval`. Raises AssertionError too unless `bn` has as many features as `linear` gives, or one, and
    TypeError for a `bn` without weight and bias.

    >>> linear, norm, x = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval(), lucid.randn(4, 3)
    >>> lucid.allclose(nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    True
    """
    _check_modes(linear, bn)
    fused: Any = copy.deepcopy(linear)
    if bn.num_features not in (fused.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={fused.out_features} and bn.num_features={bn.num_features}")
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_statistics(bn), bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Weight and bias of `fuse_linear_bn_eval` from those of the layers, running mean, running variance and eps.

    `linear_w` is (out, in), all others (out,).

    >>> one = lucid.ones(1)
    >>> weight, bias = nn.utils.fuse_linear_bn_weights(lucid.ones(1, 1), one, one * 3, one * 4, 0.0, one, one)
    >>> weight.item(), bias.item()
    (0.5, 0.0)
    """
    linear_b, bias_dtype = (zeros_like(bn_rm), linear_w.dtype) if linear_b is None else (linear_b, linear_b.dtype)
    with no_grad():
        scale = bn_w * rsqrt(bn_rv + bn_eps)
        weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
        bias = (linear_b - bn_rm) * scale + bn_b
    return Parameter(weight, linear_w.requires_grad), Parameter(bias.to(dtype=bias_dtype), linear_b.requires_grad)


def _check_modes(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _statistics(bn: Any) -> tuple[Tensor, Tensor, float]:
    """Running mean, running variance and eps."""
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var, bn.eps
