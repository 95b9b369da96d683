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
            (*map(launch.contiguous, (param, grad, momentum_buffer)), new_param, new_buffer, scalar(lr),
             scalar(momentum), scalar(1 - dampening), scalar(weight_decay), np.int32(bool(nesterov)),
             np.int32(bool(maximize)), np.int64(param.size)),
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

    `step` counts from 1. The last result is None without `amsgrad`.
    """
    outs = out if out is not None else (None,) * 4
    new = [launch.result(target, param.shape, param.dtype) for target in (outs if amsgrad else outs[:3])]
    if not amsgrad:
        new.append(None)
    scalar = param.dtype.type
    if param.size:
        olds = (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq if amsgrad else None)
        launch.kernel("optimizer", f"adam<{launch.ctype(param.dtype)}>")(
            *launch.grid_1d(param.size),
            (*map(launch.contiguous, olds), *new, scalar(lr / (1 - beta1**step)),
             scalar(math.sqrt(1 - beta2**step)), scalar(1 - beta1), scalar(beta2), scalar(1 - beta2), scalar(eps),
             scalar(0 if decoupled_weight_decay else weight_decay),
             scalar(1 - lr * weight_decay if decoupled_weight_decay else 1), np.int32(bool(maximize)),
             np.int64(param.size)),
        )  # fmt: skip
    results = [
        launch.deliver(array, target) if array is not None else None for array, target in zip(new, outs, strict=True)
    ]
    return tuple(results)  # type: ignore[return-value]
