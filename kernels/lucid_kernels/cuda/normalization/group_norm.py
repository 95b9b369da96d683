"""Group normalisation and its gradients on a GPU: see `row_norm`."""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.normalization import row_norm
from lucid_kernels.cuda.runtime import launch, rows


def group_norm(
    x: Any, weight: Any, bias: Any, *, groups: int, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """(y, mean, rstd) of `x`, normalised over each group of channels of a sample; see the CPU kernel."""
    out_y, out_mean, out_rstd = out or (None,) * 3
    x, wide = copies.contiguous(x), rows.accumulator(x.dtype)
    y = launch.result(out_y, x.shape, x.dtype)
    mean, rstd = (launch.result(target, (x.shape[0], groups), wide) for target in (out_mean, out_rstd))
    row_norm.forward(x, weight, bias, _layout(x, groups), eps, y, mean, rstd)
    return launch.deliver_all((y, mean, rstd), out)


def group_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """(dx, dweight, dbias) of `group_norm`; the last two in the dtype of `weight`, else of x."""
    out_dx, out_dweight, out_dbias = out or (None,) * 3
    g, x = copies.contiguous(g), copies.contiguous(x)
    dx = launch.result(out_dx, x.shape, x.dtype)
    kind = rows.gradient_dtype(x, weight)
    dweight, dbias = (launch.result(target, (x.shape[1],), kind) for target in (out_dweight, out_dbias))
    row_norm.backward(g, x, weight, mean, rstd, _layout(x, groups), dx, dweight, dbias)
    return launch.deliver_all((dx, dweight, dbias), out)


def _layout(x: Any, groups: int) -> row_norm.Layout:
    channels, span = x.shape[1] // groups, math.prod(x.shape[2:])
    return row_norm.Layout(x.shape[0] * groups, channels * span, groups, max(1, span))
