"""The gradient of an array whose slices were looked up by number: see `embedding.cu`."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch, rows

_BAD_INDEX = launch.error_code("embedding_grad: index {value} is outside the table of {limit} rows")


def embedding_grad(g: Any, indices: Any, *, rows: int, padding_idx: int | None, out: Any = None) -> Any:
    """Gradient (rows, D) of the table: the rows of g (n, D) added up by indices (n,), without those equal to `padding_idx`."""
    dx = launch.result(out, (rows, g.shape[1]), g.dtype)
    _add_slices(g, indices, dx, 0, padding_idx)
    return launch.deliver(dx, out)


def index_select_grad(g: Any, indices: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of `shape` with the slices of `g` along `axis` added where `indices` name them."""
    dx = launch.empty(shape, g.dtype)
    _add_slices(g, indices, dx, axis, None)
    return dx


def _add_slices(g: Any, indices: Any, dx: Any, axis: int, padding_idx: int | None) -> None:
    launch.fill(dx, 0)
    if not g.size:
        return
    g = launch.contiguous(g)
    order = cupy.argsort(indices, kind="stable")
    sorted_indices = indices.astype(np.int64)[order]
    outer, inner = math.prod(dx.shape[:axis]), math.prod(dx.shape[axis + 1 :])
    pack = rows.pack(inner, g, dx)
    launch.kernel("embedding", f"embedding_grad<{launch.ctype(g.dtype)}, {pack}>")(
        *launch.grid_1d(g.size // pack),
        (g, order, sorted_indices, dx, *map(np.int64, (outer, indices.size, inner // pack, dx.shape[axis])),
         np.int64(-1 if padding_idx is None else padding_idx), launch.error_flag(), _BAD_INDEX),
    )  # fmt: skip
