"""Batch normalisation, an added residual and ReLU in one pass over (N, C, *), and the gradients, on a GPU: see `batch_norm`."""
from __future__ import annotations

from typing import Any

from lucid_kernels.cuda.normalization import batch_norm as plain
from lucid_kernels.cuda.runtime import launch, rows


def batch_norm_relu(
    x: Any,
    residual: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    counter: Any = None,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any, Any]:
    """(y, mean, rstd, running_mean, running_var), y = max(batch_norm(x) + residual, 0). `out` may name the running arrays.

    Without `training` the running statistics are used, and returned as they are; with it `counter`, an array of one int64,
    grows by 1, in place.
    """
    if training:
        results = plain.train(x, residual, weight, bias, running_mean, running_var, counter, momentum, eps, True, out)
        y, mean, rstd, new_mean, new_var = results
        return y, mean, rstd, new_mean, new_var
    out_y, *outs = out or (None,) * 5
    mean, rstd = plain.known(running_mean, running_var, rows.accumulator(x.dtype), eps)
    y = plain.evaluate_with(x, residual, weight, bias, mean, rstd, True, out_y)
    known = (mean, rstd, running_mean, running_var)
    return y, *(array if array is None else launch.deliver(array, target) for array, target in zip(known, outs, strict=True))


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
    gate = plain.COMPUTED if y is None else plain.RESULT
    dx, dweight, dbias, dresidual = plain.gradients(g, x, y, weight, bias, mean, rstd, gate, not training, out)
    return dx, dweight, dbias, dresidual
