"""Batch normalisation, an added residual and ReLU in one pass over (N, C, *), and the gradients, on a GPU."""
from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.elementwise.elementwise import relu_grad
from lucid_kernels.cuda.normalization import batch_norm as plain
from lucid_kernels.cuda.runtime import launch


def _apply(x: Any, residual: Any, weight: Any, bias: Any, mean: Any, rstd: Any, y: Any) -> None:
    channels = x.shape[1]
    if x.size:
        size = x.size // (x.shape[0] * channels)
        planes = x.size // size
        launch.kernel("batch_norm_relu", f"normalize_relu<{launch.ctype(x.dtype)}>")(
            *plain.plane_threads(planes, size),
            (
                x, *launch.optional(residual, x), *launch.optional(weight, x), *launch.optional(bias, x), mean, rstd, y,
                np.int64(planes), np.int64(channels), np.int64(size),
            ),
        )  # fmt: skip


@launch.upcast_half(statistics=(1, 2), like={3: 4, 4: 5})
def batch_norm_relu(
    x: Any,
    residual: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any, Any]:
    """(y, mean, rstd, running_mean, running_var), y = max(batch_norm(x) + residual, 0). `out` may name the running arrays.

    Without `training` the running statistics are used, and returned as they are.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = out or (None,) * 5
    x, dtype, channels = launch.contiguous(x), x.dtype, x.shape[1]
    y = launch.result(out_y, x.shape, dtype)
    new_mean, new_var = running_mean, running_var
    if training:
        mean, rstd = (launch.result(target, (channels,), dtype) for target in (out_mean, out_rstd))
        new_mean, new_var = (
            None if old is None else launch.result(target, (channels,), dtype)
            for old, target in ((running_mean, out_running_mean), (running_var, out_running_var))
        )
        plain.statistics(x, running_mean, running_var, mean, rstd, new_mean, new_var, momentum, eps)
    else:
        mean = launch.as_parameter(running_mean, x).copy()
        rstd = 1 / cupy.sqrt(launch.as_parameter(running_var, x) + dtype.type(eps))
        new_mean, new_var = (None if old is None else old.copy() for old in (running_mean, running_var))
    _apply(x, residual, weight, bias, mean, rstd, y)
    return (
        launch.deliver(y, out_y),
        launch.deliver(mean, out_mean),
        launch.deliver(rstd, out_rstd),
        plain.deliver_running(new_mean, out_running_mean, running_mean),
        plain.deliver_running(new_var, out_running_var, running_var),
    )


@launch.upcast_half(like={1: 3, 2: 4, 3: 0})
def batch_norm_relu_grad(
    g: Any,
    x: Any,
    y: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    rstd: Any,
    *,
    training: bool,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """(dx, dweight, dbias, dresidual) of `batch_norm_relu`; `y` is its result if there was a residual, else both are None."""
    out_dx, out_dweight, out_dbias, out_dresidual = out or (None,) * 4
    x = launch.contiguous(x)
    mean, rstd = launch.as_parameter(mean, x), launch.as_parameter(rstd, x)
    with_residual = y is not None
    if y is None:
        y = launch.empty(x.shape, x.dtype)
        _apply(x, None, weight, bias, mean, rstd, y)
    masked = relu_grad(g, y, out=out_dresidual)
    outs = (out_dx, out_dweight, out_dbias)
    if training:
        gradients = plain.batch_norm_grad(masked, x, weight, mean, rstd, out=outs)
    else:
        # eps = 0 and the variance of which rstd is the root: what it was made from is not known here.
        gradients = plain.batch_norm_eval_grad(masked, x, weight, mean, 1 / (rstd * rstd), eps=0.0, out=outs)
    return (*gradients, masked if with_residual else None)
