"""Batch normalisation of (N, C, *) and its gradients on a GPU."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

_CHUNK = 8192  # elements that one block reduces: 32 KiB of float32 stay in the L1 cache for the second pass
_MOST_CHUNKS = 1024  # a channel


def _shape(x: Any) -> tuple[int, int, int]:
    """(N, C, S)."""
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


def _chunks(count: int) -> tuple[int, int]:
    """Size and number of the chunks of a channel of `count` elements. Depends on the shape only."""
    chunk = max(_CHUNK, launch.ceil_div(count, _MOST_CHUNKS))
    return chunk, launch.ceil_div(count, chunk)


def plane_threads(planes: int, size: int) -> tuple[tuple[int], tuple[int, int]]:
    """Grid and block over planes of `size` elements: small planes share a block."""
    along = 1
    while along < min(size, launch.BLOCK):
        along *= 2
    return launch.grid_cap(launch.ceil_div(planes, launch.BLOCK // along)), (along, launch.BLOCK // along)


def _warp_each(channels: int) -> tuple[tuple[int], tuple[int]]:
    """Grid and block with a warp for each channel."""
    return launch.grid_cap(launch.ceil_div(channels, 4)), (128,)


def _kernel(name: str, dtype: Any, evaluate: bool | None = None) -> Any:
    form = "" if evaluate is None else f", {'true' if evaluate else 'false'}"
    return launch.kernel("batch_norm", f"{name}<{launch.ctype(dtype)}{form}>")


def _normalize(x: Any, weight: Any, bias: Any, mean: Any, deviation: Any, y: Any, eps: float, evaluate: bool) -> None:
    samples, channels, size = _shape(x)
    if x.size:
        planes = samples * channels
        _kernel("normalize", x.dtype, evaluate)(
            *plane_threads(planes, size),
            (
                x, *launch.optional(weight, x), *launch.optional(bias, x), mean, deviation, y,
                np.int64(planes), np.int64(channels), np.int64(size), x.dtype.type(eps),
            ),
        )  # fmt: skip


def statistics(
    x: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any, new_mean: Any, new_var: Any, momentum: float, eps: float
) -> None:
    """Write `mean` and `rstd` of each channel of `x` (contiguous), and the new running statistics where there are any."""
    samples, channels, size = _shape(x)
    count, dtype = samples * size, x.dtype
    if not x.size:
        launch.fill(mean, 0)
        launch.fill(rstd, 0)
        for old, new in ((running_mean, new_mean), (running_var, new_var)):
            if new is not None and new is not old:
                launch.deliver(old, new)
        return
    chunk, chunks = _chunks(count)
    means, squares = (launch.empty((channels, chunks), dtype) for _ in range(2))
    sizes = (np.int64(count), np.int64(chunk), np.int64(chunks))
    _kernel("chunk_statistics", dtype)(
        launch.grid_cap(channels * chunks),
        (launch.row_block(min(count, chunk)),),
        (x, means, squares, np.int64(channels), np.int64(size), *sizes),
    )
    old_mean, has_mean = launch.optional(running_mean, mean)
    old_var, has_var = launch.optional(running_var, mean)
    _kernel("combine_statistics", dtype)(
        *_warp_each(channels),
        (
            means, squares, mean, rstd, old_mean, mean if new_mean is None else new_mean, has_mean,
            old_var, mean if new_var is None else new_var, has_var,
            np.int64(channels), *sizes, dtype.type(momentum), dtype.type(eps),
        ),
    )  # fmt: skip


@launch.upcast_half(statistics=(1, 2), like={3: 3, 4: 4})
def batch_norm(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    *,
    momentum: float,
    eps: float,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any, Any]:
    """(y, mean, rstd, running_mean, running_var) in training. `out` may name the running arrays themselves.

    An empty batch leaves the running statistics as they are.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = out or (None,) * 5
    x, dtype, channels = launch.contiguous(x), x.dtype, x.shape[1]
    y = launch.result(out_y, x.shape, dtype)
    mean, rstd = (launch.result(target, (channels,), dtype) for target in (out_mean, out_rstd))
    new_mean, new_var = (
        None if old is None else launch.result(target, (channels,), dtype)
        for old, target in ((running_mean, out_running_mean), (running_var, out_running_var))
    )
    statistics(x, running_mean, running_var, mean, rstd, new_mean, new_var, momentum, eps)
    _normalize(x, weight, bias, mean, rstd, y, eps, evaluate=False)
    return (
        launch.deliver(y, out_y),
        launch.deliver(mean, out_mean),
        launch.deliver(rstd, out_rstd),
        deliver_running(new_mean, out_running_mean, running_mean),
        deliver_running(new_var, out_running_var, running_var),
    )


def deliver_running(new: Any, out: Any, old: Any) -> Any:
    """The updated running statistic in the dtype of the old one; None where that is None."""
    return None if old is None else launch.deliver(new if out is not None else new.astype(old.dtype, copy=False), out)


@launch.upcast_half
def batch_norm_eval(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, eps: float, out: Any = None
) -> Any:
    """`x` normalised with the running statistics."""
    x = launch.contiguous(x)
    mean, var = launch.as_parameter(running_mean, x), launch.as_parameter(running_var, x)
    y = launch.result(out, x.shape, x.dtype)
    _normalize(x, weight, bias, mean, var, y, eps, evaluate=True)
    return launch.deliver(y, out)


@launch.upcast_half(like={1: 2, 2: 2})
def batch_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `batch_norm`."""
    return _gradients(g, x, weight, mean, rstd, 0.0, False, out)


@launch.upcast_half(like={1: 2, 2: 2})
def batch_norm_eval_grad(
    g: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, *, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `batch_norm_eval`; the running statistics are constants."""
    return _gradients(g, x, weight, running_mean, running_var, eps, True, out)


def _gradients(
    g: Any, x: Any, weight: Any, mean: Any, deviation: Any, eps: float, evaluate: bool, out: tuple[Any, ...] | None
) -> tuple[Any, ...]:
    out_dx, out_dweight, out_dbias = out or (None,) * 3
    samples, channels, size = _shape(x)
    count, planes = samples * size, samples * channels
    g, x = launch.contiguous(g), launch.contiguous(x)
    mean, deviation = launch.as_parameter(mean, x), launch.as_parameter(deviation, x)
    dtype = x.dtype
    dx = launch.result(out_dx, x.shape, dtype)
    dweight, dbias = (launch.result(target, (channels,), dtype) for target in (out_dweight, out_dbias))
    if x.size:
        chunk, chunks = _chunks(count)
        weights, biases = (launch.empty((channels, chunks), dtype) for _ in range(2))
        _kernel("chunk_gradients", dtype, evaluate)(
            launch.grid_cap(channels * chunks),
            (launch.row_block(min(count, chunk)),),
            (
                g, x, mean, deviation, biases, weights, np.int64(channels), np.int64(size), np.int64(count),
                np.int64(chunk), np.int64(chunks), dtype.type(eps),
            ),
        )  # fmt: skip
        _kernel("combine_gradients", dtype)(
            *_warp_each(channels), (biases, weights, dbias, dweight, np.int64(channels), np.int64(chunks))
        )
        _kernel("input_gradient", dtype, evaluate)(
            *plane_threads(planes, size),
            (
                g, x, *launch.optional(weight, x), mean, deviation, dbias, dweight, dx, np.int64(planes),
                np.int64(channels), np.int64(size), np.int64(count), dtype.type(eps),
            ),
        )  # fmt: skip
    else:
        launch.fill(dweight, 0)
        launch.fill(dbias, 0)
    return launch.deliver_all((dx, dweight, dbias), out)
