"""Normalisation of the groups of channels of each sample, and of each channel of each sample."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._second_order import ForSecondOrder, by_recording
from .activation import require_floating
from .normalization import batch_norm, delivered, dtypes_of, layer_norm, per_channel, require_matching_dtypes, wide

__all__ = ()  # functions of nn.functional only


def _rule(needs: Sequence[bool], x: Tensor, weight: Tensor | None, bias: Tensor | None, *, groups: int, eps: float) -> Vjp:
    dtypes, needs = dtypes_of(x, weight, bias), tuple(needs)
    shift = None if bias is None else ForSecondOrder(bias)

    def vjp(g: Tensor, statistics: Any) -> Sequence[Any]:
        if not is_composed():
            return delivered(_group_norm_grad(g, x, weight, *statistics, groups=groups), needs, dtypes)
        inputs = (x, weight, None if shift is None else shift())
        return by_recording(functools.partial(_composed, groups=groups, eps=eps), inputs, needs, g)

    return vjp


_group_norm = operation("group_norm", _rule, saved_outputs=(1, 2), outputs=(0,))
_group_norm_grad = operation("group_norm_grad")


def _composed(input: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int, eps: float) -> Tensor:
    """`group_norm` in operations, which differentiate again."""
    samples, channels, *rest = shape = input._array.shape
    size = channels // groups * math.prod(rest)
    result = layer_norm(wide(input).reshape(samples, groups, size), (size,), eps=eps).reshape(shape)
    if weight is not None:
        result = result * per_channel(wide(weight), input)
    if bias is not None:
        result = result + per_channel(wide(bias), input)
    return result.to(input.dtype)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalise each of `num_groups` groups of channels of each sample of `input` (N, C, *), then scale and shift each channel.

    `weight` and `bias` are (C,) or None. Raises RuntimeError for a number of groups that does not divide the channels and for
    parameters of wrong sizes or dtypes, ValueError for a single value, ZeroDivisionError for no groups.

    Source: Wu and He, "Group Normalization", 2018.

    >>> F.group_norm(lucid.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
    Tensor([[-1.0,  1.0, -1.0,  1.0]], requires_grad=False)
    """
    shape = require_floating("group_norm", input)._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    samples, channels, *rest = shape
    if samples * (channels // num_groups) * math.prod(rest) == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{[samples * channels // num_groups, num_groups, *rest]}")
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and num_groups={num_groups}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter._array.shape != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                               f"of shape {list(parameter._array.shape)} and input of shape {list(shape)}")
    require_matching_dtypes("group_norm", input, [weight, bias])
    if not input._array.size:
        return _composed(input, weight, bias, num_groups, eps)
    return _group_norm(input, weight, bias, groups=num_groups, eps=eps)[0]


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each sample of `input` (N, C, *) by its own mean and variance, then scale and shift it.

    The running statistics follow the averages over the samples; without `use_input_stats` they are used instead. All parameters
    are (C,) or None. Raises ValueError for channels of a single value and for only one of the running tensors, RuntimeError for
    wrong sizes, mixed dtypes and missing running statistics.

    Source: Ulyanov, Vedaldi and Lempitsky, "Instance Normalization", 2016.

    >>> F.instance_norm(lucid.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    Tensor([[[-1.0,  1.0],
             [-1.0,  1.0]]], requires_grad=False)
    """
    require_floating("instance_norm", input)
    shape = input._array.shape
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    samples, channels, *rest = shape
    for name, parameter in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {parameter.numel()}")
    if not samples:
        return input.clone()

    def repeated(parameter: Tensor) -> Tensor:
        """A parameter for each channel of each sample, which are the channels of one large sample."""
        return parameter.reshape(1, channels).expand(samples, channels).reshape(-1)

    weight, bias = (None if parameter is None else repeated(parameter) for parameter in (weight, bias))
    running = [] if running_mean is None or running_var is None else [running_mean, running_var]
    followed = [repeated(statistic.detach()).clone() for statistic in running]
    mean, variance = followed or (None, None)
    result = batch_norm(input.reshape(1, samples * channels, *rest), mean, variance, weight, bias, True, momentum, eps)
    for statistic, updated in zip(running, followed, strict=True):
        statistic.copy_(updated.reshape(samples, channels).mean(0))
    return result.reshape(shape)
