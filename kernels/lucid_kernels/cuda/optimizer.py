"""Fused optimizer steps: see `optimizer.cu`. `out` may be the inputs themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda import launch


@launch.upcast_half(like={0: 0, 1: 2})
def sgd(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """One step of stochastic gradient descent: `(param, momentum_buffer)`.

    Without a buffer and with momentum the first buffer is the gradient; without momentum the buffer is passed through.
    """
    out_param, out_buffer = out if out is not None else (None, None)
    new_param = launch.result(out_param, param.shape, param.dtype)
    new_buffer = launch.result(out_buffer, param.shape, param.dtype) if momentum else None
    scalar = param.dtype.type
    if param.size:
        launch.kernel("optimizer", f"sgd<{launch.ctype(param.dtype)}>")(
            *launch.grid_1d(param.size),
            (launch.contiguous(param), launch.as_parameter(grad, param), *launch.optional(momentum_buffer, new_param),
             new_param, *launch.optional(new_buffer, new_param), scalar(lr), scalar(momentum), scalar(1 - dampening),
             scalar(weight_decay), np.int32(bool(nesterov)), np.int32(bool(maximize)), np.int64(param.size)),
        )  # fmt: skip
    return (
        launch.deliver(new_param, out_param),
        launch.deliver(new_buffer, out_buffer) if momentum else momentum_buffer,
    )


@launch.upcast_half(like={0: 0, 1: 2, 2: 3, 3: 4})
def adam(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    max_exp_avg_sq: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: float,
    decoupled_weight_decay: bool,
    amsgrad: bool,
    maximize: bool,
    out: tuple[Any, Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """One step of Adam or AdamW: `(param, exp_avg, exp_avg_sq, max_exp_avg_sq)`.

    `step` counts from 1. Without `amsgrad`, `max_exp_avg_sq` comes back as it is.
    """
    outs = out if out is not None else (None,) * 4
    largest = amsgrad and max_exp_avg_sq is not None
    count = 4 if largest else 3
    new = [launch.result(target, param.shape, param.dtype) for target in outs[:count]]
    scalar = param.dtype.type
    if param.size:
        arrays = (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)[: count + 1]
        olds = [launch.as_parameter(array, param) for array in arrays]
        if not largest:  # what stands in for the maxima is not touched
            olds.append(olds[3])
        launch.kernel("optimizer", f"adam<{launch.ctype(param.dtype)}>")(
            *launch.grid_1d(param.size),
            (*olds, *new, *new[:4 - count], scalar(lr / (1 - beta1**step)), scalar(math.sqrt(1 - beta2**step)),
             scalar(1 - beta1), scalar(beta2), scalar(1 - beta2), scalar(eps),
             scalar(0 if decoupled_weight_decay else weight_decay),
             scalar(1 - lr * weight_decay if decoupled_weight_decay else 1), np.int32(bool(largest)),
             np.int32(bool(maximize)), np.int64(param.size)),
        )  # fmt: skip
    results = [launch.deliver(array, target) for array, target in zip(new, outs[:count], strict=True)]
    return tuple(results) if largest else (*results, max_exp_avg_sq)
