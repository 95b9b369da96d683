"""Copies by tiles between arrays whose innermost dimensions differ, also of floats into other ones: see `transpose.cuh`."""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.runtime import launch

Array = Any
Shape = tuple[int, ...]

_OUTER = 6
_LEAST = 16  # columns: of fewer the caches serve long steps as well. Of fewer rows a tile has all, and more columns
_WIDE = 256
_CASTS = frozenset(("fe", "fE", "fd", "df", "ef", "eE", "Ef", "Ee"))  # characters of both dtypes
_WORDS = {1: ("unsigned char", np.uint8), 2: ("unsigned short", np.uint16), 4: ("unsigned", np.uint32), 8: ("u64", np.uint64)}
_TILES = np.dtype([
    ("columns", np.int64), ("rows", np.int64), ("column_step", np.int64), ("row_step", np.int64), ("across", np.int64),
    ("down", np.int64), ("size", np.int64, _OUTER), ("x_step", np.int64, _OUTER), ("y_step", np.int64, _OUTER),
    ("x_first", np.int64), ("y_first", np.int64), ("dims", np.int64)])


def transposed(x: Array, out: Array) -> bool:
    """Whether `x`, broadcast, has been written to `out`: in other memory, of dtypes and layouts that tiles suit."""
    cast = x.dtype != out.dtype
    suits = x.dtype.char + out.dtype.char in _CASTS if cast else x.itemsize in _WORDS
    if not suits or (x._c_contiguous and out._c_contiguous):
        return False
    found = _tiles(out.shape, out.strides, out.itemsize, x.shape, x.strides, x.itemsize)
    if found is None:
        return False
    tiles, count = found
    short = int(tiles["rows"]) < _LEAST
    name, block = ("transpose_short", (_WIDE,)) if short else ("transpose", (32, 8))
    if cast:
        kernel = launch.kernel("transpose_cast", f"{name}<{launch.ctype(x.dtype)}, {launch.ctype(out.dtype)}>")
    else:
        kind, word = _WORDS[x.itemsize]
        kernel = launch.kernel("transpose", f"{name}<{kind}, {kind}>")
        x, out = x.view(word), out.view(word)
    kernel(launch.grid_cap(count), block, (strides.memory(out), strides.memory(x), tiles, np.int64(count)))
    return True


@functools.lru_cache(4096)
def _tiles(shape: Shape, y_strides: Shape, y_itemsize: int, x_shape: Shape, x_strides: Shape, x_itemsize: int
           ) -> tuple[np.ndarray, int] | None:
    """The kernel's `Tiles`, and how many there are in all; None where tiles do not suit."""
    dims = strides.dimensions(shape, [(shape, y_strides, y_itemsize), (x_shape, x_strides, x_itemsize)])
    columns, (y_inner, column_step) = dims[0]
    place = next((d for d, (_, steps) in enumerate(dims) if d and steps[1] == 1), 0)
    if not place or y_inner != 1 or column_step == 1 or len(dims) > _OUTER + 2:
        return None
    rows, (row_step, _) = dims[place]
    if columns < (_LEAST if rows >= _LEAST else _WIDE // 4):
        return None
    outer = [dim for d, dim in enumerate(dims) if d not in (0, place)]
    tiles = np.zeros((), _TILES)
    side = 64 if y_itemsize == 2 else 32  # as in the source
    across, down = launch.ceil_div(columns, side), launch.ceil_div(rows, side)
    if rows < _LEAST:
        across, down = launch.ceil_div(columns, _WIDE), 1
    tiles["columns"], tiles["rows"], tiles["column_step"], tiles["row_step"] = columns, rows, column_step, row_step
    tiles["across"], tiles["down"], tiles["size"] = across, down, 1
    for d, (size, (y_step, x_step)) in enumerate(outer):
        tiles["size"][d], tiles["x_step"][d], tiles["y_step"][d] = size, x_step, y_step
    tiles["x_first"] = strides.extent(x_shape, x_strides, x_itemsize)[0]
    tiles["y_first"] = strides.extent(shape, y_strides, y_itemsize)[0]
    tiles["dims"] = len(outer)
    return tiles, across * down * math.prod([size for size, _ in outer])
