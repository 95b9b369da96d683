"""Softmax and log-softmax over one dimension, and their gradients.

The array is seen as (outer, C, inner), C the reduced dimension. With `inner == 1` a row lies in memory in one piece and
a kernel works on it while it is in cache. Otherwise the kernel takes one outer index and a tile of the inner
dimension at a time and runs along that tile, so that its loops are contiguous and vectorise. The sums of a row are
taken in the dtype of the array, one row in one thread: the order depends on the shape only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, result, tile, tiles
from ..math import basic as math_basic
from ..runtime import tuning
from ..runtime.jit import jit, jit_parallel
from ..simd.nontemporal import fence, stream_row, streams_rows
from ..simd.reduce import maximum_of
from .softmax_microkernels import stream_grad_row

# The tile of the inner dimension that a kernel takes at once: 64 classes of it fill 128 KiB in float32.
_TILE = 512


# --- contiguous rows; large results are streamed, from a row that stays in the cache ---


@jit
def _softmax_rows(x: Any, y: Any, streaming: bool) -> None:
    one = x.dtype.type(1)
    width = np.uint64(x.shape[1])
    row = np.empty(x.shape[1] if streaming else 0, x.dtype)
    written = x if streaming else y
    for r in range(x.shape[0]):
        start = np.uint64(r) * width
        # A NaN need not show in the maximum: it shows in the sum.
        largest = maximum_of(x, start, start + width, written)
        total = x.dtype.type(0)
        if streaming:
            for c in range(x.shape[1]):
                e = math_basic.exp_nonpositive(x[r, c] - largest)
                row[c] = e
                total += e
            stream_row(row, one / total, y, start, x)
        else:
            # Indexed in full: with views of the rows it took 1.1 times as long at 128 elements a row.
            for c in range(x.shape[1]):
                e = math_basic.exp_nonpositive(x[r, c] - largest)
                y[r, c] = e
                total += e
            scale = one / total
            for c in range(x.shape[1]):
                y[r, c] *= scale
    if streaming:
        fence()


@jit
def _log_softmax_rows(x: Any, y: Any, streaming: bool) -> None:
    one = x.dtype.type(1)
    width = np.uint64(x.shape[1])
    row = np.empty(x.shape[1] if streaming else 0, x.dtype)
    written = x if streaming else y
    for r in range(x.shape[0]):
        start = np.uint64(r) * width
        largest = maximum_of(x, start, start + width, written)
        total = x.dtype.type(0)
        for c in range(x.shape[1]):
            total += math_basic.exp_nonpositive(x[r, c] - largest)
        logarithm = x.dtype.type(math.log(total))
        if streaming:
            for c in range(x.shape[1]):
                row[c] = math_basic.log_share(x[r, c], largest, logarithm)
            stream_row(row, one, y, start, x)
        else:
            for c in range(x.shape[1]):
                y[r, c] = math_basic.log_share(x[r, c], largest, logarithm)
    if streaming:
        fence()


@jit
def _softmax_grad_rows(g: Any, y: Any, dx: Any, streaming: bool) -> None:
    for r in range(y.shape[0]):
        total = y.dtype.type(0)
        for c in range(y.shape[1]):
            total += y[r, c] * g[r, c]
        if streaming:
            stream_grad_row(g, y, total, dx, r * y.shape[1], y.shape[1])
        else:
            for c in range(y.shape[1]):
                dx[r, c] = y[r, c] * (g[r, c] - total)
    if streaming:
        fence()


@jit
def _log_softmax_grad_rows(g: Any, y: Any, dx: Any, streaming: bool) -> None:
    """Never streams: it has more to compute than to move, and took 1.1 to 1.3 of the time."""
    for r in range(y.shape[0]):
        upstream = g[r]
        row = y[r]
        target = dx[r]
        total = row.dtype.type(0)
        for c in range(row.shape[0]):
            total += upstream[c]
        for c in range(row.shape[0]):
            target[c] = upstream[c] - math_basic.exp_nonpositive(row[c]) * total


@jit_parallel
def _softmax_rows_parallel(x: Any, y: Any, streaming: bool, rows: int) -> None:
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        _softmax_rows(x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows], streaming)


@jit_parallel
def _log_softmax_rows_parallel(x: Any, y: Any, streaming: bool, rows: int) -> None:
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        _log_softmax_rows(x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows], streaming)


@jit_parallel
def _softmax_grad_rows_parallel(g: Any, y: Any, dx: Any, streaming: bool, rows: int) -> None:
    for i in numba.prange((y.shape[0] + rows - 1) // rows):
        part = slice(i * rows, (i + 1) * rows)
        _softmax_grad_rows(g[part], y[part], dx[part], streaming)


@jit_parallel
def _log_softmax_grad_rows_parallel(g: Any, y: Any, dx: Any, streaming: bool, rows: int) -> None:
    for i in numba.prange((y.shape[0] + rows - 1) // rows):
        part = slice(i * rows, (i + 1) * rows)
        _log_softmax_grad_rows(g[part], y[part], dx[part], streaming)


# --- any dimension: `planes` is (outer, C, inner) ---


@jit
def _tile_maximum(x: Any, start: int, stop: int) -> Any:
    """For the columns [start, stop) of x (C, inner) the maximum over C."""
    largest = x[0][start:stop].copy()
    for c in range(1, x.shape[0]):
        row = x[c][start:stop]
        for i in range(row.shape[0]):
            largest[i] = math_basic.maximum(largest[i], row[i])
    return largest


@jit
def _softmax_tile(x: Any, y: Any, start: int, stop: int) -> None:
    largest = _tile_maximum(x, start, stop)
    total = np.zeros_like(largest)
    for c in range(x.shape[0]):
        row = x[c][start:stop]
        target = y[c][start:stop]
        for i in range(row.shape[0]):
            e = math_basic.exp_nonpositive(row[i] - largest[i])
            target[i] = e
            total[i] += e
    for i in range(total.shape[0]):
        total[i] = x.dtype.type(1) / total[i]
    for c in range(x.shape[0]):
        target = y[c][start:stop]
        for i in range(target.shape[0]):
            target[i] *= total[i]


@jit
def _log_softmax_tile(x: Any, y: Any, start: int, stop: int) -> None:
    largest = _tile_maximum(x, start, stop)
    total = np.zeros_like(largest)
    for c in range(x.shape[0]):
        row = x[c][start:stop]
        for i in range(row.shape[0]):
            total[i] += math_basic.exp_nonpositive(row[i] - largest[i])
    for i in range(total.shape[0]):
        total[i] = math.log(total[i])
    for c in range(x.shape[0]):
        row = x[c][start:stop]
        target = y[c][start:stop]
        for i in range(row.shape[0]):
            target[i] = math_basic.log_share(row[i], largest[i], total[i])


@jit
def _softmax_grad_tile(g: Any, y: Any, dx: Any, start: int, stop: int) -> None:
    total = np.zeros(stop - start, y.dtype)
    for c in range(y.shape[0]):
        row = y[c][start:stop]
        upstream = g[c][start:stop]
        for i in range(row.shape[0]):
            total[i] += row[i] * upstream[i]
    for c in range(y.shape[0]):
        row = y[c][start:stop]
        upstream = g[c][start:stop]
        target = dx[c][start:stop]
        for i in range(row.shape[0]):
            target[i] = row[i] * (upstream[i] - total[i])


@jit
def _log_softmax_grad_tile(g: Any, y: Any, dx: Any, start: int, stop: int) -> None:
    total = np.zeros(stop - start, y.dtype)
    for c in range(y.shape[0]):
        upstream = g[c][start:stop]
        for i in range(upstream.shape[0]):
            total[i] += upstream[i]
    for c in range(y.shape[0]):
        row = y[c][start:stop]
        upstream = g[c][start:stop]
        target = dx[c][start:stop]
        for i in range(row.shape[0]):
            target[i] = upstream[i] - math_basic.exp_nonpositive(row[i]) * total[i]


@jit_parallel
def _softmax_planes(x: Any, y: Any) -> None:
    for i in numba.prange(x.shape[0] * tiles(x.shape[2], _TILE)):
        n, start, stop = tile(i, x.shape[2], _TILE)
        _softmax_tile(x[n], y[n], start, stop)


@jit_parallel
def _log_softmax_planes(x: Any, y: Any) -> None:
    for i in numba.prange(x.shape[0] * tiles(x.shape[2], _TILE)):
        n, start, stop = tile(i, x.shape[2], _TILE)
        _log_softmax_tile(x[n], y[n], start, stop)


@jit_parallel
def _softmax_grad_planes(g: Any, y: Any, dx: Any) -> None:
    for i in numba.prange(y.shape[0] * tiles(y.shape[2], _TILE)):
        n, start, stop = tile(i, y.shape[2], _TILE)
        _softmax_grad_tile(g[n], y[n], dx[n], start, stop)


@jit_parallel
def _log_softmax_grad_planes(g: Any, y: Any, dx: Any) -> None:
    for i in numba.prange(y.shape[0] * tiles(y.shape[2], _TILE)):
        n, start, stop = tile(i, y.shape[2], _TILE)
        _log_softmax_grad_tile(g[n], y[n], dx[n], start, stop)


Kernel = Callable[..., None]


def _run(rows: Kernel, rows_parallel: Kernel, planes: Kernel, dim: int, out: Array | None, *arrays: Array) -> Array:
    """Apply one of the three kernels of a function to arrays of one shape and dtype; the result is its last argument."""
    first = arrays[-1]
    if out is None and 0 < first.size < tuning.PARALLEL_FROM and dim in (-1, first.ndim - 1) and _have_contiguous_rows(arrays):
        small = np.empty(first.shape, first.dtype)  # what follows takes four times as long as the kernel
        rows(*arrays, small, False)
        return small
    y = result(out, first.shape, first.dtype)
    if first.size == 0:
        return deliver(out, y)
    shape = first.shape or (1,)
    dim %= len(shape)
    width, inner = shape[dim], math.prod(shape[dim + 1 :])
    whole = [contiguous(array) for array in arrays]
    whole.append(y)
    if inner > 1:
        planes(*(array.reshape(-1, width, inner) for array in whole))
    elif first.size < tuning.PARALLEL_FROM:
        rows(*[array.reshape(-1, width) for array in whole], False)
    else:
        streaming = y is not out and streams_rows(len(whole) * y.nbytes, width * y.itemsize)
        rows_parallel(*(array.reshape(-1, width) for array in whole), streaming, max(1, GRAIN // width))
    return deliver(out, y)


def _have_contiguous_rows(arrays: tuple[Array, ...]) -> bool:
    for array in arrays:  # noqa: SIM110 - `all` takes three times as long
        if array.ndim != 2 or not array.flags.c_contiguous:
            return False
    return True


@upcast_half
def softmax(x: Array, *, dim: int, out: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) over `dim`. A row with NaN, +inf, or nothing but -inf gives NaN, as in PyTorch."""
    return _run(_softmax_rows, _softmax_rows_parallel, _softmax_planes, dim, out, x)


@upcast_half
def log_softmax(x: Array, *, dim: int, out: Array | None = None) -> Array:
    """x - log(sum(exp(x))) over `dim`."""
    return _run(_log_softmax_rows, _log_softmax_rows_parallel, _log_softmax_planes, dim, out, x)


@upcast_half
def softmax_grad(g: Array, y: Array, *, dim: int, out: Array | None = None) -> Array:
    """y (g - sum(g y)), `y` the result of `softmax`."""
    return _run(_softmax_grad_rows, _softmax_grad_rows_parallel, _softmax_grad_planes, dim, out, g, y)


@upcast_half
def log_softmax_grad(g: Array, y: Array, *, dim: int, out: Array | None = None) -> Array:
    """g - exp(y) sum(g), `y` the result of `log_softmax`."""
    return _run(_log_softmax_grad_rows, _log_softmax_grad_rows_parallel, _log_softmax_grad_planes, dim, out, g, y)
