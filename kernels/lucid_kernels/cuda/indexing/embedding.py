"""The gradient of an array whose slices were looked up by number: see `embedding.cu`, and `embedding_unsorted.cu` for few.

Many are sorted first (`sort_indices.cu`), by CuPy where they are very many.
"""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, recording, rows

#: Indices up to which every thread looks through all: reads of the cache, where sorting is several launches.
MOST_UNSORTED = 128
#: Indices up to which comparing each with each is faster than CuPy's sort; those of a block, of a share, and the most shares.
MOST_COMPARED = 1 << 14
_KEYS, _SHARE, _SHARES = 1024, 256, 32
#: The fewest indices of a chunk; of many it has half their root, so that neither chunks nor runs over many chunks take long.
LEAST_CHUNK = 16

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
    sizes = tuple(map(np.int64, (outer, indices.size, inner // pack, dx.shape[axis])))
    padding = np.int64(-1 if padding_idx is None else padding_idx)
    if indices.size <= MOST_UNSORTED:
        launch.kernel("embedding_unsorted", f"embedding_grad_unsorted<{kinds}>")(
            *launch.grid_1d(g.size // pack), (g, indices, dx, *sizes, padding, launch.error_flag(), _BAD_INDEX))
        return
    order, ordered = _sorted(indices, dx.shape[axis])
    chunk = LEAST_CHUNK
    while chunk * chunk * 4 < indices.size:
        chunk *= 2
    chunks = launch.ceil_div(indices.size, chunk)
    parts = np.int64(chunk), np.int64(chunks)
    partial = launch.empty((outer, chunks, 2, inner), rows.accumulator(g.dtype))
    grid = launch.grid_1d(outer * chunks * (inner // pack))
    launch.kernel("embedding", f"embedding_grad<{kinds}>")(
        *grid, (g, order, ordered, dx, partial, *sizes, *parts, padding, launch.error_flag(), _BAD_INDEX))
    if chunks > 1:
        launch.kernel("embedding", f"embedding_spans<{kinds}>")(*grid, (partial, ordered, dx, *sizes, *parts, padding))


def _sorted(indices: Any, length: int) -> tuple[Any, Any]:
    """The places of `indices` into `length` rows in their order, equal ones in that of their places, and the indices so."""
    count = indices.size
    if count > MOST_COMPARED:
        recording.unrepeatable()
        order = cupy.argsort(indices, kind="stable")
        return order, indices[order]
    share = _SHARE * launch.ceil_div(launch.ceil_div(count, _SHARE), _SHARES)
    shares = launch.ceil_div(count, share)
    counts = launch.empty((shares, count), np.int32)
    order, ordered = launch.empty((count,), np.int64), launch.empty((count,), np.int64)
    launch.kernel("sort_indices", "sort_counts")(
        (launch.ceil_div(count, _KEYS), shares), (launch.BLOCK,), (indices, counts, *map(np.int64, (count, length, share))))
    launch.kernel("sort_indices", "sort_places")(
        *launch.grid_1d(count), (indices, counts, order, ordered, np.int64(count), np.int64(shares)))
    return order, ordered
