"""Layer normalisation and its gradients on a GPU."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

_TILE, _TURNS = 32, 8  # the block of `column_sums`
_ROWS_A_CHUNK = 64
_MOST_CHUNKS = 256


@launch.upcast_half(statistics=(1, 2))
def layer_norm(
    x: Any, weight: Any, bias: Any, *, normalized_ndim: int, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) of `x`, normalised over its last `normalized_ndim` dimensions."""
    out_y, out_mean, out_rstd = out or (None,) * 3
    outer = x.shape[: x.ndim - normalized_ndim]
    rows, width = math.prod(outer), math.prod(x.shape[x.ndim - normalized_ndim :])
    x = launch.contiguous(x)
    y = launch.result(out_y, x.shape, x.dtype)
    mean, rstd = launch.result(out_mean, outer, x.dtype), launch.result(out_rstd, outer, x.dtype)
    if not width:
        launch.fill(mean, 0)
        launch.fill(rstd, math.nan)
    elif rows:
        grid, block = launch.slices(rows, width)
        arguments = (
            x, *launch.optional(weight, x), *launch.optional(bias, x), y, mean, rstd,
            np.int64(rows), np.int64(width), x.dtype.type(eps),
        )  # fmt: skip
        launch.kernel("layer_norm", f"layer_norm<{launch.ctype(x.dtype)}>")(grid, block, arguments)
    return launch.deliver_all((y, mean, rstd), out)


@launch.upcast_half(like={1: 2, 2: 2})
def layer_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, normalized_ndim: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `layer_norm`. dweight and dbias are summed in an order that the shape alone fixes."""
    out_dx, out_dweight, out_dbias = out or (None,) * 3
    shape = x.shape[x.ndim - normalized_ndim :]
    rows, width = math.prod(x.shape[: x.ndim - normalized_ndim]), math.prod(shape)
    g, x = launch.contiguous(g), launch.contiguous(x)
    mean, rstd = launch.as_parameter(mean, x), launch.as_parameter(rstd, x)
    name = launch.ctype(x.dtype)
    dx = launch.result(out_dx, x.shape, x.dtype)
    dweight, dbias = launch.result(out_dweight, shape, x.dtype), launch.result(out_dbias, shape, x.dtype)
    sizes = (np.int64(rows), np.int64(width))
    if x.size:
        launch.kernel("layer_norm", f"layer_norm_grad<{name}>")(
            *launch.slices(rows, width), (g, x, *launch.optional(weight, x), mean, rstd, dx, *sizes)
        )
    if width:
        chunk = max(_ROWS_A_CHUNK, launch.ceil_div(rows, _MOST_CHUNKS))
        chunks = launch.ceil_div(rows, chunk)
        partials = (dweight, dbias) if chunks == 1 else tuple(launch.empty((chunks, width), x.dtype) for _ in range(2))
        if chunks:
            launch.kernel("layer_norm", f"column_sums<{name}>")(
                (launch.ceil_div(width, _TILE), chunks), (_TILE, _TURNS), (g, x, mean, rstd, *partials, *sizes, np.int64(chunk))
            )
        if chunks != 1:  # without rows the sums are zero
            launch.kernel("layer_norm", f"add_partials<{name}>")(
                *launch.grid_1d(width), (*partials, dweight, dbias, np.int64(chunks), np.int64(width))
            )
    return launch.deliver_all((dx, dweight, dbias), out)
