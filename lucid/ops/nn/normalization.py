"""Batch and layer normalisation: fused forward and gradient kernels, and the same gradient in operations.

The fused gradient is used by an ordinary backward. With `create_graph` the gradient is written with operations instead, in
which mean and variance are functions of the input again, and so differentiates any number of times.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ..._writers import writes
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import LEVELS, is_composed
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.inplace import increment
from ...autograd.op import Vjp
from ...tensor import Tensor, record_update
from .._operands import require_tensor
from ..elementwise.arithmetic import div
from .activation import require_floating

__all__ = ()  # functions of nn.functional only
_FLOATING = "fdeE"  # the characters of the dtypes
_HALVES = ("float16", "bfloat16")


# ---- batch norm --------------------------------------------------------------------------------------------------------
def _batch_norm_rule(needs: Any, x: Tensor, weight: Tensor | None, bias: Any, *, momentum: float, eps: float, out: Any) -> Vjp:
    dtypes = dtypes_of(x, weight, bias)

    def vjp(g: Tensor, statistics: Any) -> Sequence[Any]:
        if is_composed():
            dims = all_but_channels(x)
            gradients = composed(g, x, per_channel(weight, x), dims, dims, eps)
        else:
            mean, rstd = statistics
            gradients = _batch_norm_grad(g, x, weight, mean, rstd)
        return [*delivered(gradients, needs, dtypes), None, None, None]

    return vjp


def _batch_norm_eval_rule(needs: Any, x: Tensor, weight: Tensor | None, bias: Any, running_mean: Tensor,
                          running_var: Tensor, *, eps: float) -> Vjp:
    dtypes = dtypes_of(x, weight, bias)

    def vjp(g: Tensor, y: Any) -> Sequence[Any]:
        if is_composed():
            dims = all_but_channels(x)
            g32, x32 = wide(g), wide(x)
            rstd = (wide(running_var) + eps).rsqrt()
            normalized = (x32 - per_channel(wide(running_mean), x)) * per_channel(rstd, x)
            scale = rstd if weight is None else rstd * wide(weight)
            gradients: Sequence[Tensor] = (g32 * per_channel(scale, x), (g32 * normalized).sum(dims), g32.sum(dims))
        else:
            gradients = _batch_norm_eval_grad(g, x, weight, running_mean, running_var, eps=eps)
        return [*delivered(gradients, needs, dtypes), None, None]

    return vjp


_batch_norm = operation("batch_norm", _batch_norm_rule, saved_outputs=(1, 2), outputs=(0,), operands=6, inputs_seen=3)
_batch_norm_grad = operation("batch_norm_grad")
_batch_norm_eval = single_op("batch_norm_eval", _batch_norm_eval_rule)
_batch_norm_eval_grad = operation("batch_norm_eval_grad")


# ---- layer norm --------------------------------------------------------------------------------------------------------
def _layer_norm_rule(needs: Any, x: Tensor, weight: Tensor | None, bias: Any, *, normalized_ndim: int, eps: float) -> Vjp:
    dtypes = dtypes_of(x, weight, bias)

    def vjp(g: Tensor, statistics: Any) -> Sequence[Any]:
        if is_composed():
            outer, inner = outer_and_inner(x, normalized_ndim)
            gradients = composed(g, x, weight, inner, outer, eps)
        else:
            mean, rstd = statistics
            gradients = _layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=normalized_ndim)
        return delivered(gradients, needs, dtypes)

    return vjp


_layer_norm = operation("layer_norm", _layer_norm_rule, saved_outputs=(1, 2), outputs=(0,))
_layer_norm_grad = operation("layer_norm_grad")


# ---- the gradient in operations ------------------------------------------------------------------------------------------
def composed(g: Tensor, x: Tensor, weight: Tensor | None, over: tuple[int, ...], kept: tuple[int, ...], eps: float
              ) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a normalisation over dimensions `over`; those of weight and bias are sums over `kept`."""
    g, x = wide(g), wide(x)
    centered = x - x.mean(over, keepdim=True)
    rstd = ((centered * centered).mean(over, keepdim=True) + eps).rsqrt()
    normalized = centered * rstd
    scaled = g if weight is None else g * wide(weight)
    dx = rstd * (scaled - scaled.mean(over, keepdim=True) - normalized * (scaled * normalized).mean(over, keepdim=True))
    # A sum over no dimension is the tensor itself, not the sum over all.
    d_weight, d_bias = g * normalized, g
    if kept:
        d_weight, d_bias = d_weight.sum(kept), d_bias.sum(kept)
    return dx, d_weight, d_bias


def dtypes_of(*tensors: Tensor | None) -> list[Any]:
    return [None if t is None else t._array.dtype for t in tensors]


def delivered(gradients: Sequence[Tensor], needs: Sequence[bool], dtypes: Sequence[Any]) -> list[Any]:
    """The needed gradients, in the dtypes of their inputs; None for the others."""
    results: list[Any] = []
    for gradient, needed, dtype in zip(gradients, needs, dtypes):  # noqa: B905  (`needs` may have more)
        if not needed:
            results.append(None)
        else:
            results.append(gradient if gradient._array.dtype is dtype else gradient.to(dtype))
    return results


def all_but_channels(x: Tensor) -> tuple[int, ...]:
    """The dimensions of x (N, C, *) that batch normalisation sums over."""
    return (0, *range(2, x._array.ndim))


def outer_and_inner(x: Tensor, normalized_ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions before the last `normalized_ndim`, and those."""
    first = x._array.ndim - normalized_ndim
    return tuple(range(first)), tuple(range(first, x._array.ndim))


def wide(tensor: Tensor) -> Tensor:
    """Half precision as float32: the statistics are computed in it."""
    return tensor.float() if tensor._array.dtype.name in _HALVES else tensor


def per_channel(parameter: Tensor | None, x: Tensor) -> Any:
    """A parameter of shape (C,) in a shape that broadcasts against (N, C, *)."""
    return None if parameter is None else parameter.reshape(-1, *[1] * (x._array.ndim - 2))


# ---- public functions ------------------------------------------------------------------------------------------------------
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of `input` (N, C, *) to mean 0 and variance 1, then scale and shift it.

    In training with the statistics of the batch, which also move `running_mean` and `running_var` (in place, the variance
    unbiased); otherwise with the running ones. All parameters are (C,) or None. Half precision may have float32 parameters.

    Raises ValueError for one value per channel in training, for only one of the running tensors and for ``eps <= 0`` in
    training; RuntimeError for wrong sizes and mixed dtypes and for missing running statistics in evaluation.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015.

    >>> F.batch_norm(lucid.tensor([[1.0, 10.0], [3.0, 30.0]]), None, None, training=True)
    Tensor([[-1.0, -1.0],
            [ 1.0,  1.0]], requires_grad=False)
    """
    return counted_batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps, None)


@writes("written")
def counted_batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
                       bias: Tensor | None, training: bool, momentum: float, eps: float, counter: Tensor | None) -> Tensor:
    """`batch_norm`, which in training also adds 1 to `counter` once the batch has been normalised: in its kernel if it can."""
    require_batch("batch_norm", input, running_mean, running_var, weight, bias, training, eps)
    if not training:
        return _batch_norm_eval(input, weight, bias, running_mean, running_var, eps=eps)
    inside, after = by_kernel(counter, input)
    written = [t for t in (running_mean, running_var, inside) if t is not None]
    out = None
    if running_mean is not None and running_var is not None:
        out = (None, None, None, running_mean._array, running_var._array)
    result: Tensor = _batch_norm(input, weight, bias, running_mean, running_var, inside, momentum=momentum, eps=eps, out=out)[0]
    for tensor in written:
        record_update(tensor)
    if after is not None:
        increment(after)
    return result


def by_kernel(counter: Tensor | None, input: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """`counter` as one that the kernel that normalises `input` may count in, an int64 that nobody follows, or as one that has to
    grow after it.
    """
    if counter is None:
        return None, None
    array = counter._array
    if (array.__class__ is input._array.__class__ and not array.ndim and array.dtype == _dtypes.int64 and counter._node is None
            and counter._view is None and not grad_mode.get() & LEVELS):
        return counter, None
    return None, counter


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalise the last dimensions of `input`, which are `normalized_shape`, to mean 0 and variance 1.

    `weight` and `bias` have that shape or are None. Raises TypeError for a `normalized_shape` that is not a sequence and
    RuntimeError for shapes and dtypes that do not fit.

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.

    >>> F.layer_norm(lucid.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,))
    Tensor([[-1.0,  1.0],
            [-1.0,  1.0]], requires_grad=False)
    """
    if not _is_usual(input, normalized_shape, weight, bias):
        normalized_shape = require_normalized_shape("layer_norm", require_tensor("layer_norm", input), normalized_shape,
                                                    {"weight": weight, "bias": bias})
        require_floating("layer_norm", input)
        require_matching_dtypes("layer_norm", input, [weight, bias])
    return _layer_norm(input, weight, bias, normalized_ndim=len(normalized_shape), eps=eps)[0]


def _is_usual(input: Any, normalized_shape: Any, weight: Any, bias: Any) -> bool:
    """Whether the arguments of `layer_norm` are as most are, and right: the checks one by one take half a microsecond more."""
    if input.__class__ is not Tensor or normalized_shape.__class__ is not tuple or not normalized_shape or (
            weight is None or bias is None):
        return False
    x, w, b = input._array, weight._array, bias._array
    dtype = x.dtype
    return bool(dtype.char in _FLOATING and w.dtype is dtype is b.dtype and w.shape == normalized_shape == b.shape
                and x.shape[-len(normalized_shape):] == normalized_shape)


def require_batch(name: str, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
                  bias: Tensor | None, training: bool, eps: float) -> None:
    """The checks of `batch_norm`."""
    array = require_floating(name, input)._array
    shape, dtype = array.shape, array.dtype
    channels = shape[1] if len(shape) > 1 else 0
    if training:
        if array.size == channels:
            _require_several_values(input)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if running_mean is None and not training:
        raise RuntimeError("running_mean must be defined in evaluation mode")
    mixed = False
    for role, parameter in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if parameter is not None:
            its = parameter._array
            if its.size != channels:
                raise RuntimeError(f"{role} should contain {channels} elements not {parameter.numel()}")
            mixed = mixed or its.dtype is not dtype
    if len(shape) < 2:
        raise RuntimeError(f"{name} needs an input of at least 2 dimensions (N, C, *), not {list(shape)}")
    if mixed:
        require_matching_dtypes(name, input, [running_mean, running_var, weight, bias])


def require_normalized_shape(name: str, input: Tensor, normalized_shape: Any, parameters: dict[str, Tensor | None]
                             ) -> tuple[int, ...]:
    """`normalized_shape` as a tuple, if it is the end of the shape of `input` and the shape of the parameters."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
                        f"{type(normalized_shape).__name__}")
    wanted = tuple(normalized_shape)
    if not wanted:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
                           "but got normalized_shape = []")
    for role, parameter in parameters.items():
        if parameter is not None and parameter._array.shape != wanted:
            raise RuntimeError(f"Expected {role} to be of same shape as normalized_shape, but got {role} of shape "
                               f"{list(parameter._array.shape)} and normalized_shape = {list(wanted)}")
    shape = input._array.shape
    if shape[len(shape) - len(wanted):] != wanted or len(shape) < len(wanted):
        raise RuntimeError(f"Given normalized_shape={list(wanted)}, expected input with shape "
                           f"[*, {', '.join(map(str, wanted))}], but got input of size{list(shape)}")
    return wanted


def _require_several_values(input: Tensor) -> None:
    """Raise ValueError if a channel has a single value, whose variance is 0."""
    shape = input._array.shape
    if len(shape) > 1 and shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


def require_matching_dtypes(name: str, input: Tensor, parameters: list[Tensor | None]) -> None:
    """Raise RuntimeError unless the parameters have the dtype of `input`, or float32 for half precision."""
    dtype = input._array.dtype
    for parameter in parameters:
        if parameter is None or parameter._array.dtype == dtype:
            continue
        if dtype.name not in _HALVES or parameter._array.dtype.name != "float32":
            raise RuntimeError(f"{name}: mixed dtypes: the input is {type_name(dtype)}, so expect parameters to have scalar "
                               f"type {type_name(dtype)}, but got {type_name(parameter._array.dtype)}")


def normalize(input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """`input` divided by its `p`-norm along `dim`, which counts as at least `eps`; written to `out` where one is given.

    >>> F.normalize(lucid.tensor([[3.0, 4.0], [0.0, 0.0]]))
    Tensor([[0.6, 0.8],
            [0.0, 0.0]], requires_grad=False)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return div(input, length, out=out)
