"""Normalisation by the root of the mean square, and its gradients, on a GPU."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

_TILE, _TURNS = 32, 8  # the block of `weight_sums`
_ROWS_A_CHUNK = 64
_MOST_CHUNKS = 256


@launch.upcast_half(statistics=(1,))
def rms_norm(x: Any, weight: Any, *, normalized_ndim: int, eps: float, out: tuple[Any, ...] | None = None) -> tuple[Any, Any]:
    """(y, rstd) of `x`, divided by the root of its mean square over the last `normalized_ndim` dimensions."""
    out_y, out_rstd = out or (None,) * 2
    outer = x.shape[: x.ndim - normalized_ndim]
    rows, width = math.prod(outer), math.prod(x.shape[x.ndim - normalized_ndim :])
    x = launch.contiguous(x)
    y, rstd = launch.result(out_y, x.shape, x.dtype), launch.result(out_rstd, outer, x.dtype)
    if not width:
        launch.fill(rstd, math.nan)
    elif rows:
        launch.kernel("rms_norm", f"rms_norm<{launch.ctype(x.dtype)}>")(
            *launch.slices(rows, width),
            (x, *launch.optional(weight, x), y, rstd, np.int64(rows), np.int64(width), x.dtype.type(eps)),
        )
    return launch.deliver_all((y, rstd), out)


@launch.upcast_half(like={1: 2})
def rms_norm_grad(
    g: Any, x: Any, weight: Any, rstd: Any, *, normalized_ndim: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any]:
    """(dx, dweight) of `rms_norm`. dweight is summed in an order that the shape alone fixes."""
    out_dx, out_dweight = out or (None,) * 2
    shape = x.shape[x.ndim - normalized_ndim :]
    rows, width = math.prod(x.shape[: x.ndim - normalized_ndim]), math.prod(shape)
    g, x = launch.contiguous(g), launch.contiguous(x)
    rstd = launch.as_parameter(rstd, x)
    name = launch.ctype(x.dtype)
    dx, dweight = launch.result(out_dx, x.shape, x.dtype), launch.result(out_dweight, shape, x.dtype)
    sizes = (np.int64(rows), np.int64(width))
    if x.size:
        launch.kernel("rms_norm", f"rms_norm_grad<{name}>")(
            *launch.slices(rows, width), (g, x, *launch.optional(weight, x), rstd, dx, *sizes)
        )
    if width:
        chunk = max(_ROWS_A_CHUNK, launch.ceil_div(rows, _MOST_CHUNKS))
        chunks = launch.ceil_div(rows, chunk)
        partial = dweight if chunks == 1 else launch.empty((chunks, width), x.dtype)
        if chunks:
            launch.kernel("rms_norm", f"weight_sums<{name}>")(
                (launch.ceil_div(width, _TILE), chunks), (_TILE, _TURNS), (g, x, rstd, partial, *sizes, np.int64(chunk))
            )
        if chunks != 1:  # without rows the sums are zero
            launch.kernel("rms_norm", f"add_weights<{name}>")(
                *launch.grid_1d(width), (partial, dweight, np.int64(chunks), np.int64(width))
            )
    return launch.deliver_all((dx, dweight), out)
