"""Batch normalisation, ReLU and max pooling in one call, and the gradients: the kernels of `batch_norm_relu` and
`conv2d_relu_max_pool2d`, which pools.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.fused_layers.batch_norm_relu import batch_norm_relu
from lucid_kernels.cuda.fused_layers.conv2d_relu_max_pool2d import relu_max_pairs, relu_max_pairs_grad
from lucid_kernels.cuda.normalization import batch_norm as plain
from lucid_kernels.cuda.runtime import launch


@launch.upcast_half(statistics=(1, 2, 3), like={4: 3, 5: 4})
def batch_norm_relu_max_pool2d(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """(y, winners, mean, rstd, running_mean, running_var): ReLU of the maxima (N, C, H // 2, W // 2) of 2x2 pixels each of
    batch_norm(x), and which pixels pass their gradients: 0 to 3 in row order as uint8, or 4 where ReLU lets none pass.
    """
    out_y, out_winners, *out_statistics = out or (None,) * 6
    pixels, *statistics = batch_norm_relu(
        x, None, weight, bias, running_mean, running_var, training=training, momentum=momentum, eps=eps,
        out=(None, *out_statistics),
    )  # fmt: skip
    shape = (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2)
    y, winners = launch.result(out_y, shape, x.dtype), launch.result(out_winners, shape, np.dtype(np.uint8))
    relu_max_pairs(pixels, y, winners)
    mean, rstd, new_mean, new_var = statistics
    return launch.deliver(y, out_y), launch.deliver(winners, out_winners), mean, rstd, new_mean, new_var


@launch.upcast_half(like={0: 2, 1: 3, 2: 3})
def batch_norm_relu_max_pool2d_grad(
    g: Any,
    winners: Any,
    x: Any,
    weight: Any,
    mean: Any,
    rstd: Any,
    *,
    training: bool,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `batch_norm_relu_max_pool2d`, from the gradient of its maxima."""
    x = launch.contiguous(x)
    mean, rstd = launch.as_parameter(mean, x), launch.as_parameter(rstd, x)
    full = relu_max_pairs_grad(g, winners, x.shape)
    if training:
        return plain.batch_norm_grad(full, x, weight, mean, rstd, out=out)
    # eps = 0 and the variance of which rstd is the root: what it was made from is not known here.
    return plain.batch_norm_eval_grad(full, x, weight, mean, 1 / (rstd * rstd), eps=0.0, out=out)
