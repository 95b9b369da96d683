"""Largest and smallest elements of large arrays over adjacent axes, and their positions, on all threads.

The views, pieces and units of work are those of `reduction`. The smallest element is the largest of the negated ones. A NaN wins
over everything, and the first of equal elements, as in NumPy and PyTorch. CuPy has fast reductions of its own: no CUDA twin.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array
from ..math import basic as math_basic
from ..runtime import tuning
from ..runtime.jit import jit, jit_exact, jit_parallel
from .reduction import PIECE, View, bounds, joined_rows, rows_of_pieces

_TILE = 512  # columns of a unit of work: what is known of them stays in the L1 cache
_SCAN = 64  # elements that are compared at once in the search for a position


@jit
def _largest(flat: Any, start: Any, stop: Any, sign: Any) -> Any:
    best = sign * flat[start]
    for i in range(start, stop):
        best = math_basic.maximum(best, sign * flat[i])
    return best


@jit
def _hits(flat: Any, start: Any, stop: Any, value: Any) -> Any:
    """How many elements are `value` or NaN."""
    count = np.int32(0)
    for i in range(start, stop):
        count += np.int32((flat[i] == value) | (flat[i] != flat[i]))
    return count


@jit_exact
def _position(flat: Any, start: Any, stop: Any, value: Any) -> Any:
    """Where the first element is that is `value` or NaN: without one of them `value` itself would be NaN."""
    step = np.uint64(_SCAN)
    while start + step < stop and _hits(flat, start, start + step, value) == 0:
        start += step
    while start < stop and not (flat[start] == value or flat[start] != flat[start]):
        start += np.uint64(1)
    return start


@jit_exact
def _units_of_rows(
    flat: Any, length: int, pieces: int, sign: Any, located: bool, values: Any, positions: Any, first: int, last: int
) -> None:
    for unit in range(first, last):
        start, stop = bounds(unit, length, pieces)
        values[unit] = sign * _largest(flat, start, stop, sign)
        if located:
            positions[unit] = np.int64(_position(flat, start, stop, values[unit])) - unit // pieces * length


@jit_parallel
def _rows(flat: Any, length: int, pieces: int, sign: Any, located: bool, values: Any, positions: Any) -> None:
    step = max(1, GRAIN // min(length, PIECE))
    for i in numba.prange((values.shape[0] + step - 1) // step):
        last = min(values.shape[0], (i + 1) * step)
        _units_of_rows(flat, length, pieces, sign, located, values, positions, i * step, last)


@jit_exact
def _columns_of_rows(flat: Any, start: Any, step: Any, rows: int, sign: Any, best: Any, where: Any) -> None:
    """For each column the largest of `rows` elements, times `sign`, and the row that it stands in."""
    width = np.uint64(best.shape[0])
    for j in range(width):
        best[j] = sign * flat[start + j]
        where[j] = 0
    for r in range(1, rows):
        base = start + np.uint64(r) * step
        row = np.int32(r)
        for j in range(width):
            value = sign * flat[base + j]
            known = best[j]
            better = (value > known) | ((value != value) & (known == known))
            best[j] = value if better else known
            where[j] = row if better else where[j]
    for j in range(width):
        best[j] *= sign


@jit_exact
def _largest_of_rows(flat: Any, start: Any, step: Any, rows: int, sign: Any, best: Any) -> None:
    """`_columns_of_rows` without the rows, in a third of the time."""
    width = np.uint64(best.shape[0])
    for j in range(width):
        best[j] = sign * flat[start + j]
    r = 1
    while r + 4 <= rows:  # four at a time: what is known is loaded and stored a quarter as often
        a = start + np.uint64(r) * step
        b, c, d = a + step, a + np.uint64(2) * step, a + np.uint64(3) * step
        for j in range(width):
            first = math_basic.maximum(sign * flat[a + j], sign * flat[b + j])
            second = math_basic.maximum(sign * flat[c + j], sign * flat[d + j])
            best[j] = math_basic.maximum(best[j], math_basic.maximum(first, second))
        r += 4
    for last in range(r, rows):
        base = start + np.uint64(last) * step
        for j in range(width):
            best[j] = math_basic.maximum(best[j], sign * flat[base + j])
    for j in range(width):
        best[j] *= sign


@jit_parallel
def _columns(flat: Any, outer: int, length: int, inner: int, rows: int, sign: Any, values: Any, positions: Any) -> None:
    """values and positions, or None, (outer, pieces, inner) of pieces of `rows` rows."""
    tiles = (inner + _TILE - 1) // _TILE
    pieces = values.shape[1]
    for unit in numba.prange(outer * pieces * tiles):
        o = unit // (pieces * tiles)
        piece = unit // tiles % pieces
        left = unit % tiles * _TILE
        start, count = np.uint64((o * length + piece * rows) * inner + left), min(rows, length - piece * rows)
        best = values[o, piece, left : left + _TILE]
        if positions is None:
            _largest_of_rows(flat, start, np.uint64(inner), count, sign, best)
        else:
            _columns_of_rows(flat, start, np.uint64(inner), count, sign, best, positions[o, piece, left : left + _TILE])


def extreme_values(x: Array, view: View, *, smallest: bool) -> Array:
    """The largest (smallest) elements (outer, inner) over C, for inner > 1; a few columns are read as wide rows."""
    outer, length, inner = view
    joined = joined_rows(length, inner)
    length, width = length // joined, joined * inner
    rows, pieces = rows_of_pieces((outer, length, width), _TILE)
    values = np.empty((outer, pieces, width), x.dtype)
    _columns(x.reshape(-1), outer, length, width, rows, x.dtype.type(-1 if smallest else 1), values, None)
    values = values.reshape(outer, pieces * joined, inner)
    return values[:, 0] if pieces == joined == 1 else (values.min if smallest else values.max)(axis=1)


def suits(view: View, *, located: bool) -> bool:
    """Whether there are columns enough for vectors, if these are columns."""
    _, length, inner = view
    return inner == 1 or inner * (1 if located else joined_rows(length, inner)) >= tuning.EXTREMES_NARROWEST


def extremes(x: Array, view: View, *, smallest: bool, located: bool = True) -> tuple[Array, Array]:
    """The largest (smallest) elements (outer, inner) over C, and their int64 positions in C, undefined without `located`."""
    outer, length, inner = view
    sign = x.dtype.type(-1 if smallest else 1)
    flat = x.reshape(-1)
    if inner == 1:
        pieces = -(-length // PIECE)
        values, positions = np.empty((outer, pieces, 1), x.dtype), np.empty((outer, pieces, 1), np.int64)
        _rows(flat, length, pieces, sign, located, values.reshape(-1), positions.reshape(-1))
    else:
        rows, pieces = rows_of_pieces(view, _TILE)
        values, positions = np.empty((outer, pieces, inner), x.dtype), np.empty((outer, pieces, inner), np.int32)
        _columns(flat, outer, length, inner, rows, sign, values, positions)
        positions = positions + (rows * np.arange(pieces))[:, None]
    if pieces == 1:
        return values[:, 0], positions[:, 0]
    piece = (values.argmin if smallest else values.argmax)(axis=1, keepdims=True)
    return np.take_along_axis(values, piece, 1)[:, 0], np.take_along_axis(positions, piece, 1)[:, 0]
