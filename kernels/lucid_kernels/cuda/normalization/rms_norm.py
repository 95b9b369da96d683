"""Normalisation by the root of the mean square, and its gradients, on a GPU: see `row_norm`."""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.normalization import row_norm
from lucid_kernels.cuda.runtime import launch, rows


def rms_norm(x: Any, weight: Any, *, normalized_ndim: int, eps: float, out: tuple[Any, ...] | None = None) -> tuple[Any, Any]:
    """(y, rstd) of `x`, divided by the root of its mean square over the last `normalized_ndim` dimensions."""
    out_y, out_rstd = out or (None,) * 2
    x = copies.contiguous(x)
    y = launch.result(out_y, x.shape, x.dtype)
    rstd = launch.result(out_rstd, x.shape[: x.ndim - normalized_ndim], rows.accumulator(x.dtype))
    row_norm.forward(x, weight, None, _layout(x, normalized_ndim), eps, y, None, rstd)
    return launch.deliver_all((y, rstd), out)


def rms_norm_grad(
    g: Any, x: Any, weight: Any, rstd: Any, *, normalized_ndim: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any]:
    """(dx, dweight) of `rms_norm`; dweight in the dtype of `weight`, else of x."""
    out_dx, out_dweight = out or (None,) * 2
    g, x = copies.contiguous(g), copies.contiguous(x)
    dx = launch.result(out_dx, x.shape, x.dtype)
    dweight = launch.result(out_dweight, x.shape[x.ndim - normalized_ndim :], rows.gradient_dtype(x, weight))
    row_norm.backward(g, x, weight, None, rstd, _layout(x, normalized_ndim), dx, dweight, None)
    return launch.deliver_all((dx, dweight), out)


def _layout(x: Any, normalized_ndim: int) -> row_norm.Layout:
    split = x.ndim - normalized_ndim
    return row_norm.Layout(math.prod(x.shape[:split]), math.prod(x.shape[split:]), centred=False)
