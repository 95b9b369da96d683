"""Batch normalisation, an added residual and ReLU as one operation: it moves the input a third as often as the three."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._writers import writes
from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed
from ...autograd.inplace import increment
from ...autograd.op import Vjp
from ...tensor import Tensor, record_update
from .activation import relu_grad
from .normalization import all_but_channels, by_kernel, composed, delivered, dtypes_of, per_channel, require_batch, wide

__all__ = ()  # functions of nn.functional only


def _rule(needs: Any, x: Tensor, residual: Any, weight: Tensor | None, bias: Tensor | None, *, training: bool, momentum: float,
          eps: float, out: Any) -> Vjp:
    dtypes = dtypes_of(x, residual, weight, bias)
    added = residual is not None

    def vjp(g: Tensor, kept: Any) -> Sequence[Any]:
        y, mean, rstd = kept
        if is_composed():
            masked = relu_grad(g, y)
            dx, d_weight, d_bias = composed_of_mode(masked, x, weight, mean, rstd, training, eps)
            gradients = (dx, masked, d_weight, d_bias)
        else:
            dx, d_weight, d_bias, masked = _batch_norm_relu_grad(g, x, y if added else None, weight, bias, mean, rstd,
                                                                 training=training)
            gradients = (dx, masked, d_weight, d_bias)
        return [*delivered(gradients, needs, dtypes), None, None, None]

    return vjp


def composed_of_mode(g: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor, training: bool, eps: float
                     ) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch normalisation in operations; without `training` mean and rstd (C,) are constants."""
    dims = all_but_channels(x)
    if training:
        return composed(g, x, per_channel(weight, x), dims, dims, eps)
    g = wide(g)
    normalized = (wide(x) - per_channel(mean, x)) * per_channel(rstd, x)
    scale = rstd if weight is None else rstd * wide(weight)
    return g * per_channel(scale, x), (g * normalized).sum(dims), g.sum(dims)


_batch_norm_relu = operation("batch_norm_relu", _rule, saved_outputs=(0, 1, 2), outputs=(0,), operands=7, inputs_seen=4)
_batch_norm_relu_grad = operation("batch_norm_relu_grad")


@writes("written")
def batch_norm_relu(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
                    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5, *,
                    residual: Tensor | None = None, counter: Tensor | None = None) -> Tensor:
    """``relu(batch_norm(input, ...) + residual)`` in one pass over the memory; the first arguments are those of `batch_norm`.

    `residual` has the shape and dtype of `input`, or is None for nothing. `counter` grows by 1 in training. Differentiable any
    number of times.

    Raises what `batch_norm` raises, and RuntimeError for a residual of another shape or dtype.

    >>> F.batch_norm_relu(lucid.tensor([[1.0, 10.0], [3.0, 30.0]]), None, None, training=True)
    Tensor([[0.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    require_batch("batch_norm_relu", input, running_mean, running_var, weight, bias, training, eps)
    if residual is not None and (residual._array.shape, residual._array.dtype) != (input._array.shape, input._array.dtype):
        raise RuntimeError(f"batch_norm_relu: the residual must have the shape and dtype of the input, {list(input.shape)} and "
                           f"{input.dtype}, but has {list(residual.shape)} and {residual.dtype}")
    inside, after = by_kernel(counter if training else None, input)
    written = [t for t in (running_mean, running_var, inside) if training and t is not None]
    out = None
    if training and running_mean is not None and running_var is not None:
        out = (None, None, None, running_mean._array, running_var._array)
    result: Tensor = _batch_norm_relu(input, residual, weight, bias, running_mean, running_var, inside,
                                      training=training, momentum=momentum, eps=eps, out=out)[0]
    for tensor in written:
        record_update(tensor)
    if after is not None:
        increment(after)
    return result
