"""Sums, means, variances and log-sum-exps of large arrays over adjacent axes, on all threads.

NumPy's reductions run on one thread, `var` and `logsumexp` through temporaries of the size of the array. The array is seen as
(outer, C, inner), C the reduced axes. With `inner == 1` a unit of work is a row, or a piece of a long one; otherwise a tile
of `inner` and a piece of C, along which the loops are contiguous. The pieces depend on the shape only, and are combined in
order: so the result does not depend on the number of threads.

Everything but exponentials is accumulated in float64, sums by blocks: of a row, or of eight elements of a column. CuPy has fast
reductions of its own, so there is no CUDA twin.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numba
import numpy as np

from ..arrays import half_precision
from ..arrays.layout import GRAIN, Array
from ..arrays.loops import compile_source
from ..math import basic as math_basic
from ..matmul import openblas
from ..runtime import tuning
from ..runtime.jit import jit, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.reduce import sum_of

_BLOCK = np.uint64(1 << 10)  # elements of a row that are folded in their own dtype
PIECE = 1 << 14  # elements of a row that one unit of work takes: 64 KiB of float32, in the L2 cache for a second pass
# Columns of a unit of work: 32 KiB of float64 sums. With shorter tiles each row touches another page, which the hardware
# does not prefetch: 1024 columns took twice as long.
_TILE = 4096
_ROWS = 16  # rows of a tile that are in the L2 cache for a second pass: 256 KiB of float32
_UNITS = 8  # C is cut in pieces where there would be fewer units of work than these
# Elements along a row that pay for the call of a loop of `fold`. Without AVX-512, products of rows of 4 take 0.45 of NumPy's
# time, of 10 0.4, of 20 0.25.
LEAST_FOLDED = tuning.REDUCTION_LEAST_FOLDED[VECTOR_BYTES]

# Indices are unsigned: signed ones are checked for being negative, which keeps a loop from being vectorised.


# --- pieces of rows of the flat array ---


@jit
def _sum_of(flat: Any, start: Any, stop: Any) -> float:
    """Sum in float64: the mean that squared distances are taken from."""
    total = 0.0
    for i in range(start, stop):
        total += np.float64(flat[i])
    return total


@jit
def _square_sum_of(flat: Any, start: Any, stop: Any, centre: float) -> float:
    """Sum of the squared distances from `centre`."""
    total = 0.0
    for i in range(start, stop):
        d = np.float64(flat[i]) - centre
        total += d * d
    return total


@jit
def bounds(unit: int, length: int, pieces: int) -> Any:
    """Where unit `unit` of rows of `length` elements, cut in `pieces`, starts and stops in the flat array."""
    row = unit // pieces
    first = unit % pieces * PIECE
    return np.uint64(row * length + first), np.uint64(row * length + min(first + PIECE, length))


@jit
def _moment_units(flat: Any, length: int, pieces: int, means: Any, squares: Any, first: int, last: int) -> None:
    for unit in range(first, last):
        start, stop = bounds(unit, length, pieces)
        mean = _sum_of(flat, start, stop) / np.float64(stop - start)
        means[unit] = mean
        squares[unit] = _square_sum_of(flat, start, stop, mean)


@jit
def _logsumexp_units(flat: Any, length: int, pieces: int, peaks: Any, totals: Any, first: int, last: int) -> None:
    real = flat.dtype.type
    for unit in range(first, last):
        start, stop = bounds(unit, length, pieces)
        largest = flat[start]
        for i in range(start, stop):
            largest = math_basic.maximum(largest, flat[i])
        shift = largest if np.isfinite(largest) else real(0)  # inf - inf would be NaN
        total = real(0)
        for i in range(start, stop):
            total += math_basic.exp(flat[i] - shift)
        peaks[unit] = shift
        totals[unit] = total


@jit
def _sum_without_nan(flat: Any, start: Any, stop: Any) -> float:
    """Sum with NaN as 0, within blocks in the dtype of the array, as `sum_of`."""
    total, zero = 0.0, flat.dtype.type(0)
    while start < stop:
        end = min(start + _BLOCK, stop)
        part = zero
        for i in range(start, end):
            part += flat[i] if flat[i] == flat[i] else zero
        total += np.float64(part)
        start = end
    return total


@jit
def _square_sum_of_blocks(flat: Any, start: Any, stop: Any) -> float:
    """Sum of squares, within blocks in the dtype of the array."""
    total = 0.0
    while start < stop:
        end = min(start + _BLOCK, stop)
        part = flat.dtype.type(0)
        for i in range(start, end):
            part += flat[i] * flat[i]
        total += np.float64(part)
        start = end
    return total


@jit
def _product_of_blocks(flat: Any, start: Any, stop: Any) -> float:
    """Product, within short blocks in the dtype of the array."""
    total = 1.0
    while start < stop:
        end = min(start + _BLOCK, stop)
        part = flat.dtype.type(1)
        for i in range(start, end):
            part *= flat[i]
        total *= np.float64(part)
        start = end
    return total


@jit
def _sum_of_integers(flat: Any, start: Any, stop: Any) -> Any:
    total = np.int64(0)
    for i in range(start, stop):
        total += np.int64(flat[i])
    return total


def _rows(name: str, fold: Any, widen: Any = None) -> Any:
    """The kernel that puts fold(flat, start, stop) of each unit into totals; of half precision that `widen` makes float32
    first."""
    work = "totals[unit] = fold(flat, start, stop)"
    if widen is not None:  # in the L2 cache
        work = """size = np.int64(stop - start)
            widen(flat[np.int64(start) : np.int64(stop)], room[:size])
            totals[unit] = fold(room, np.uint64(0), np.uint64(size))"""
    text = f"""def {name}_rows(flat, length, pieces, totals):
    step = max(1, GRAIN // min(length, PIECE))
    for i in numba.prange((totals.shape[0] + step - 1) // step):
        {"" if widen is None else "room = np.empty(min(length, PIECE), np.float32)"}
        for unit in range(i * step, min(totals.shape[0], (i + 1) * step)):
            start, stop = bounds(unit, length, pieces)
            {work}
"""
    scope = {"__name__": __name__, "GRAIN": GRAIN, "PIECE": PIECE, "bounds": bounds, "fold": fold, "np": np, "widen": widen}
    return compile_source(text, f"{name}_rows", __file__, scope, allocates=widen is not None)


_FOLDS = {"sum": _sum_without_nan, "squares": _square_sum_of_blocks, "product": _product_of_blocks, "total": sum_of}


@functools.cache
def _fold_rows(of: str, dtype: Any) -> Any:
    if dtype.itemsize > 2:
        return _rows(of, _FOLDS[of])
    return _rows(f"{of}_of_{dtype.name}", _FOLDS[of], half_precision.loop_to_widen(dtype))  # by its name it is found on disk


@jit_parallel
def _moment_rows(flat: Any, length: int, pieces: int, means: Any, squares: Any) -> None:
    step = max(1, GRAIN // min(length, PIECE))
    for i in numba.prange((means.shape[0] + step - 1) // step):
        _moment_units(flat, length, pieces, means, squares, i * step, min(means.shape[0], (i + 1) * step))


@jit_parallel
def _logsumexp_rows(flat: Any, length: int, pieces: int, peaks: Any, totals: Any) -> None:
    step = max(1, GRAIN // min(length, PIECE))
    for i in numba.prange((peaks.shape[0] + step - 1) // step):
        _logsumexp_units(flat, length, pieces, peaks, totals, i * step, min(peaks.shape[0], (i + 1) * step))


@jit_parallel
def _sum_of_all(flat: Any) -> float:
    """The sum of all elements, in pieces that are added up in order."""
    size = flat.shape[0]
    pieces = (size + PIECE - 1) // PIECE
    totals = np.empty(pieces)
    for i in numba.prange(pieces):
        totals[i] = sum_of(flat, np.uint64(i * PIECE), np.uint64(min(size, (i + 1) * PIECE)))
    total = 0.0
    for number in totals:
        total += number
    return total


# --- tiles of columns ---


@jit
def _add_rows(flat: Any, start: Any, step: Any, rows: int, totals: Any) -> None:
    """Add `rows` rows of the flat array, which begin at `start` and lie `step` apart, to totals, each number in float64."""
    width = np.uint64(totals.shape[0])
    r = 0
    while r + 4 <= rows:  # four at a time: the sums are loaded and stored a quarter as often
        a = start + np.uint64(r) * step
        b, c, d = a + step, a + np.uint64(2) * step, a + np.uint64(3) * step
        for j in range(width):
            totals[j] += (np.float64(flat[a + j]) + np.float64(flat[b + j])) + (
                np.float64(flat[c + j]) + np.float64(flat[d + j])
            )
        r += 4
    for last in range(r, rows):
        base = start + np.uint64(last) * step
        for j in range(width):
            totals[j] += np.float64(flat[base + j])


@jit
def _add_blocks(flat: Any, start: Any, step: Any, rows: int, totals: Any) -> None:
    """As `_add_rows`, eight rows at a time pair by pair in their dtype: in 0.55 to 0.8 of the time."""
    four, whole = np.uint64(4) * step, rows - rows % 8
    for r in range(0, whole, 8):
        a = start + np.uint64(r) * step
        b, c, d = a + step, a + np.uint64(2) * step, a + np.uint64(3) * step
        e, f, g, h = a + four, b + four, c + four, d + four
        for j in range(np.uint64(totals.shape[0])):
            one = (flat[a + j] + flat[b + j]) + (flat[c + j] + flat[d + j])
            other = (flat[e + j] + flat[f + j]) + (flat[g + j] + flat[h + j])
            totals[j] += np.float64(one + other)
    _add_rows(flat, start + np.uint64(whole) * step, step, rows - whole, totals)


@jit
def _add_squares(flat: Any, start: Any, step: Any, rows: int, centre: Any, squares: Any) -> None:
    """Add the squared distances of these rows from `centre` to squares."""
    for r in range(rows):
        base = start + np.uint64(r) * step
        for j in range(np.uint64(squares.shape[0])):
            d = np.float64(flat[base + j]) - centre[j]
            squares[j] += d * d


@jit
def _moments_of_columns(flat: Any, start: Any, step: Any, rows: int, means: Any, squares: Any) -> None:
    """Means and sums of squared distances from them over `rows` rows, a block after the other (Chan's formula)."""
    width = means.shape[0]
    block_means = np.empty(width)
    block_squares = np.empty(width)
    for first in range(0, rows, _ROWS):
        size = min(_ROWS, rows - first)
        begin = start + np.uint64(first) * step
        for j in range(width):
            block_means[j] = 0.0
            block_squares[j] = 0.0
        _add_rows(flat, begin, step, size, block_means)
        for j in range(width):
            block_means[j] /= size
        _add_squares(flat, begin, step, size, block_means, block_squares)
        share = size / (first + size)
        for j in range(width):
            d = block_means[j] - means[j] if first else 0.0
            means[j] = means[j] + d * share if first else block_means[j]
            squares[j] = squares[j] + block_squares[j] + d * d * (first * share) if first else block_squares[j]


@jit
def _add_up(parts: Any, result: Any) -> None:
    """result (outer, columns): the sums of parts (outer, rows, several times as many columns), in order."""
    for o in range(result.shape[0]):
        for j in range(result.shape[1]):
            result[o, j] = 0.0
        for piece in range(parts.shape[1]):
            for start in range(0, parts.shape[2], result.shape[1]):
                for j in range(result.shape[1]):
                    result[o, j] += parts[o, piece, start + j]


@jit_parallel
def _sum_columns(flat: Any, outer: int, length: int, inner: int, rows: int, totals: Any, result: Any) -> None:
    """totals (outer, pieces, inner): the sums over pieces of `rows` rows; and those of them, where they are not the result."""
    tiles = (inner + _TILE - 1) // _TILE
    pieces = totals.shape[1]
    for unit in numba.prange(outer * pieces * tiles):
        o = unit // (pieces * tiles)
        first = unit // tiles % pieces * rows
        left = unit % tiles * _TILE
        target = totals[o, first // rows, left : left + _TILE]
        target[:] = 0.0
        start = np.uint64((o * length + first) * inner + left)
        _add_blocks(flat, start, np.uint64(inner), min(rows, length - first), target)
    if result.size < totals.size:
        _add_up(totals, result)


@jit_parallel
def _moment_columns(flat: Any, outer: int, length: int, inner: int, rows: int, means: Any, squares: Any) -> None:
    """means and squares (outer, pieces, inner)."""
    tiles = (inner + _TILE - 1) // _TILE
    pieces = means.shape[1]
    for unit in numba.prange(outer * pieces * tiles):
        o = unit // (pieces * tiles)
        first = unit // tiles % pieces * rows
        left = unit % tiles * _TILE
        start = np.uint64((o * length + first) * inner + left)
        _moments_of_columns(
            flat, start, np.uint64(inner), min(rows, length - first), means[o, first // rows, left : left + _TILE],
            squares[o, first // rows, left : left + _TILE],
        )  # fmt: skip


# --- entry points ---

View = tuple[int, int, int]


def view_of(x: Array, axis: int | tuple[int, ...] | None, others: bool = False) -> View | None:
    """(outer, C, inner) for a reduction of `x` over `axis`; None where these kernels do not suit.

    They take C-contiguous arrays of float32 and float64, or of `others`, that are not empty, and adjacent axes, counted from
    the front.
    """
    if (not others and x.dtype.char not in "fd") or not x.flags.c_contiguous or not x.size:
        return None
    return (1, x.size, 1) if axis is None else view_of_shape(x.shape, axis)


@functools.lru_cache(maxsize=1024)
def view_of_shape(shape: tuple[int, ...], axis: int | tuple[int, ...]) -> View | None:
    """`view_of` of arrays of this shape that they take."""
    axes = (axis,) if isinstance(axis, int) else tuple(sorted(axis))
    if not axes or axes[-1] - axes[0] + 1 != len(axes):
        return None
    return math.prod(shape[: axes[0]]), math.prod(shape[axes[0] : axes[-1] + 1]), math.prod(shape[axes[-1] + 1 :])


def rows_of_pieces(view: View, tile: int) -> tuple[int, int]:
    """The length of the pieces that C is cut in where inner > 1, and their number; `tile` columns are a unit of work."""
    outer, length, inner = view
    units = outer * -(-inner // tile)
    pieces = 1 if units >= _UNITS else max(1, min(_UNITS, length * inner // GRAIN))
    rows = -(-length // pieces)
    return rows, -(-length // rows)


def joined_rows(length: int, inner: int) -> int:
    """How many rows of a few columns are summed as one: a power of two that divides their number."""
    joined = 1
    while 2 * joined * inner <= tuning.REDUCTION_FEW_COLUMNS and length % (2 * joined) == 0:
        joined *= 2
    return joined


@functools.lru_cache(maxsize=1024)
def _joined_columns(view: View) -> tuple[int, int, int, int]:
    """(length, width, rows, pieces) of rows that are summed as one, and of the pieces that C is cut in."""
    outer, length, inner = view
    joined = joined_rows(length, inner)
    return length // joined, joined * inner, *rows_of_pieces((outer, length // joined, joined * inner), _TILE)


def total(x: Array, view: View) -> Array:
    """The sums (outer, inner), in float64 but for those of short rows, which have the dtype of `x`."""
    outer, length, inner = view
    if inner == 1 and length <= tuning.REDUCTION_BLAS_LONGEST_ROW:
        with openblas.one_thread:  # OpenBLAS would take threads, which spin afterwards
            return x.reshape(outer, length) @ np.ones((length, 1), x.dtype)
    if inner == 1:
        return fold(x, view, "total")
    length, width, rows, pieces = _joined_columns(view)
    totals = np.empty((outer, pieces, width))
    result = totals[:, 0] if pieces == 1 and width == inner else np.empty((outer, inner))
    _sum_columns(x.reshape(-1), outer, length, width, rows, totals, result)
    return result


def total_of_all(x: Array) -> float:
    """The sum of all elements of a C-contiguous array of float32 or float64, in float64."""
    total: float = _sum_of_all(x.ravel())
    return total


def fold(x: Array, view: View, of: str) -> Array:
    """The 'total' of all elements, the 'sum' of those that are not NaN, the sum of 'squares' or the 'product' over C for
    `inner == 1`: (outer, 1), in float64. x may have half precision.
    """
    outer, length, _ = view
    pieces = -(-length // PIECE)
    totals = np.empty(outer * pieces)
    _fold_rows(of, x.dtype)(x.reshape(-1).view(np.uint16) if x.itemsize == 2 else x.reshape(-1), length, pieces, totals)
    rows = totals.reshape(outer, pieces)
    if pieces == 1:
        return rows
    with np.errstate(all="ignore"):
        return np.asarray((np.multiply if of == "product" else np.add).reduce(rows, axis=1, keepdims=True))


@functools.cache
def _integer_rows() -> Any:
    return _rows("integer", _sum_of_integers)


def integer_total(x: Array, view: View) -> Array:
    """The sums of integers over C for `inner == 1`: (outer, 1), in int64, where sums that are too large wrap around."""
    outer, length, _ = view
    pieces = -(-length // PIECE)
    totals = np.empty(outer * pieces, np.int64)
    _integer_rows()(x.reshape(-1), length, pieces, totals)
    rows = totals.reshape(outer, pieces)
    return rows if pieces == 1 else rows.sum(axis=1, keepdims=True)


def square_total(x: Array, view: View) -> Array:
    """The sums (outer, inner) of the squared distances from the mean, in float64."""
    outer, length, inner = view
    flat = x.reshape(-1)
    if inner == 1:
        rows, pieces = PIECE, -(-length // PIECE)
    else:
        rows, pieces = rows_of_pieces(view, _TILE)
    means, squares = np.empty((2, outer, pieces, inner))
    if inner == 1:
        _moment_rows(flat, length, pieces, means.reshape(-1), squares.reshape(-1))
    else:
        _moment_columns(flat, outer, length, inner, rows, means, squares)
    if pieces == 1:
        return squares[:, 0]
    sizes = np.minimum(rows, length - rows * np.arange(pieces))[:, None]
    centre = (means * sizes).sum(axis=1, keepdims=True) / length
    return (squares + sizes * np.square(means - centre)).sum(axis=1)


def logsumexp(x: Array, view: View) -> Array:
    """log(sum(exp(x))) over C for `inner == 1`: (outer, 1), in float64."""
    outer, length, _ = view
    pieces = -(-length // PIECE)
    peaks, totals = np.empty((2, outer * pieces), x.dtype)
    _logsumexp_rows(x.reshape(-1), length, pieces, peaks, totals)
    peaks, totals = (a.reshape(outer, pieces).astype(np.float64) for a in (peaks, totals))
    peak = peaks.max(axis=1, keepdims=True)
    return np.asarray(np.log((totals * np.exp(peaks - peak)).sum(axis=1, keepdims=True)) + peak)
