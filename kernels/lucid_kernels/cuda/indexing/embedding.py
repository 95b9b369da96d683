"""The gradient of an array whose slices were looked up by number: see `embedding.cu`, and `embedding_unsorted.cu` for few."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, recording, rows

#: Indices up to which every thread looks through all: reads of the cache, where sorting is several launches. Not measured.
MOST_UNSORTED = 1024

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
    copies.fill(dx, 0)
    if not g.size:
        return
    g = copies.contiguous(g)
    indices = indices if indices._c_contiguous and indices.dtype == np.int64 else copies.copied(indices, np.dtype(np.int64))
    outer, inner = math.prod(dx.shape[:axis]), math.prod(dx.shape[axis + 1 :])
    pack = rows.pack(inner, g, dx)
    kinds = f"{launch.ctype(g.dtype)}, {pack}"
    places: tuple[Any, ...]
    if indices.size <= MOST_UNSORTED:
        kernel, places = launch.kernel("embedding_unsorted", f"embedding_grad_unsorted<{kinds}>"), (indices,)
    else:
        recording.unrepeatable()
        order = cupy.argsort(indices, kind="stable")
        kernel, places = launch.kernel("embedding", f"embedding_grad<{kinds}>"), (order, indices[order])
    kernel(
        *launch.grid_1d(g.size // pack),
        (g, *places, dx, *map(np.int64, (outer, indices.size, inner // pack, dx.shape[axis])),
         np.int64(-1 if padding_idx is None else padding_idx), launch.error_flag(), _BAD_INDEX),
    )  # fmt: skip
