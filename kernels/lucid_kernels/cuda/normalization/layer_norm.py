"""Layer normalisation and its gradients on a GPU: see `row_norm`."""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.normalization import row_norm
from lucid_kernels.cuda.runtime import launch, rows


def layer_norm(
    x: Any, weight: Any, bias: Any, *, normalized_ndim: int, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) of `x`, normalised over its last `normalized_ndim` dimensions."""
    out_y, out_mean, out_rstd = out or (None,) * 3
    outer, wide = x.shape[: x.ndim - normalized_ndim], rows.accumulator(x.dtype)
    x = copies.contiguous(x)
    y = launch.result(out_y, x.shape, x.dtype)
    mean, rstd = launch.result(out_mean, outer, wide), launch.result(out_rstd, outer, wide)
    row_norm.forward(x, weight, bias, _layout(x, normalized_ndim), eps, y, mean, rstd)
    return launch.deliver_all((y, mean, rstd), out)


def layer_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, normalized_ndim: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `layer_norm`; the last two in the dtype of `weight`, else of x."""
    out_dx, out_dweight, out_dbias = out or (None,) * 3
    g, x = copies.contiguous(g), copies.contiguous(x)
    dx = launch.result(out_dx, x.shape, x.dtype)
    shape, kind = x.shape[x.ndim - normalized_ndim :], rows.gradient_dtype(x, weight)
    dweight, dbias = launch.result(out_dweight, shape, kind), launch.result(out_dbias, shape, kind)
    row_norm.backward(g, x, weight, mean, rstd, _layout(x, normalized_ndim), dx, dweight, dbias)
    return launch.deliver_all((dx, dweight, dbias), out)


def _layout(x: Any, normalized_ndim: int) -> row_norm.Layout:
    split = x.ndim - normalized_ndim
    return row_norm.Layout(math.prod(x.shape[:split]), math.prod(x.shape[split:]))
