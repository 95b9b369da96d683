"""Batch normalisation, ReLU and max pooling as one operation: the normalised tensor never reaches the graph."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._writers import writes
from ...autograd.grad_mode import is_grad_enabled
from ...autograd.op import Op, Pull
from ...tensor import Tensor, record_update
from .batch_norm_relu import batch_norm_relu, composed_of_mode
from .conv2d_relu_max_pool2d import gradient_of_maxima
from .normalization import delivered, dtypes_of, require_batch
from .pooling import max_pool2d

__all__ = ()  # a step of `nn.Sequential`

_DTYPES = frozenset(map(np.dtype, (np.float32, np.float64)))


def _rule(needs: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, *, training: bool, momentum: float, eps: float,
          out: Any) -> Pull:
    dtypes = dtypes_of(x, weight, bias)

    def pull(g: Tensor, kept: Any) -> Sequence[Any]:
        winners, mean, rstd = kept
        if is_grad_enabled():
            full = gradient_of_maxima(g, winners, x._array.shape, *(t for t in (x, weight, bias) if t is not None))
            gradients = composed_of_mode(full, x, weight, mean, rstd, training, eps)
        else:
            gradients = _grad(g, winners, x, weight, mean, rstd, training=training)
        return [*delivered(gradients, needs, dtypes), None, None]

    return pull


_batch_norm_relu_max_pool2d = Op("batch_norm_relu_max_pool2d", _rule, keeps=(1, 2, 3), outputs=(0,), ruled=3)
_grad = Op("batch_norm_relu_max_pool2d_grad")


@writes("written")
def batch_norm_relu_max_pool2d(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
                               weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
                               momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """``max_pool2d(relu(batch_norm(input, ...)), 2)`` with the arguments of `batch_norm`: one operation for float32 and float64
    images (N, C, H, W), H and W at least 2; else one after the other. Raises what the functions raise.
    """
    array = input._array
    if not (array.ndim == 4 and array.dtype in _DTYPES and array.size and min(array.shape[2:]) >= 2):
        result: Tensor = max_pool2d(batch_norm_relu(input, running_mean, running_var, weight, bias, training, momentum, eps), 2)
        return result
    require_batch("batch_norm_relu_max_pool2d", input, running_mean, running_var, weight, bias, training, eps)
    written = [t for t in (running_mean, running_var) if training and t is not None]
    out = None
    if training and running_mean is not None and running_var is not None:
        out = (None, None, None, None, running_mean._array, running_var._array)
    result = _batch_norm_relu_max_pool2d(input, weight, bias, running_mean, running_var, training=training, momentum=momentum,
                                         eps=eps, out=out)[0]
    for statistic in written:
        record_update(statistic)
    return result
