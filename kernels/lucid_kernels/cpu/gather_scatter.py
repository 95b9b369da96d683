"""One element for each index along a dimension: read, or written or combined with what is there.

NumPy wants an index for every dimension, which it broadcasts, and combines with `ufunc.at`: 3 to 30 times the time. The array is
seen as (outer, length, inner), the indices as (rows, lines, width), with no more rows and no wider than it. Threads share the
rows, or the columns of a few rows, so that elements with the same index are combined in their order.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from ._compile import jit_exact, jit_parallel, jit_unrolled
from ._layout import GRAIN, Array, contiguous
from ._pool import empty

#: What `scatter` does with an element and the one that is there.
WRITE, ADD, MULTIPLY, LARGEST, SMALLEST = range(5)
# Columns of a task, where it has one row only.
_COLUMNS = 256


class View(NamedTuple):
    """Steps of an array from one of its rows to the next and along the axis, its length there, and the sizes of the indices."""

    pitch: int
    step: int
    length: int
    rows: int
    lines: int
    width: int


def view_of(shape: tuple[int, ...], lengths: tuple[int, ...], axis: int) -> View | None:
    """How indices of `lengths` meet an array of `shape`; None where they are shorter in other dimensions than the axis, the first
    and the one after the axis.
    """
    if lengths[1:axis] != shape[1:axis] or lengths[axis + 2 :] != shape[axis + 2 :]:
        return None
    step, width = math.prod(shape[axis + 1 :]), math.prod(lengths[axis + 1 :])
    return View(shape[axis] * step, step, shape[axis], math.prod(lengths[:axis]), lengths[axis], width)


@jit_unrolled
def _read_column(x, indices, y, first, last, step, length):
    """`_read` for lines of one index each."""
    good = True
    for line in range(np.uint64(first), np.uint64(last)):
        index = np.uint64(indices[line])
        inside = index < length
        good &= inside
        y[line] = x[(index if inside else np.uint64(0)) * step]
    return good


@jit_unrolled
def _read(x, indices, y, first, last, view):
    """y = x at the indices of lines first..last, of `width` each, of a row of x. Whether all are in range; others count as 0."""
    step, length, width = np.uint64(view.step), np.uint64(view.length), np.uint64(view.width)
    good: Any = True
    if width == 1:
        if step == 1:  # without a multiplication: 0.8 of the time
            return _read_column(x, indices, y, first, last, np.uint64(1), length)
        return _read_column(x, indices, y, first, last, step, length)
    for line in range(np.uint64(first), np.uint64(last)):
        for c in range(width):
            i = line * width + c
            index = np.uint64(indices[i])
            inside = index < length
            good &= inside
            y[i] = x[(index if inside else np.uint64(0)) * step + c]
    return good


@jit_parallel
def _read_parallel(x, indices, y, view, each, parts):
    size = view.lines * view.width
    good = np.ones(1, np.bool_)
    for task in numba.prange((view.rows + each - 1) // each * parts):
        row, part = task // parts * each, task % parts
        first, last = part * view.lines // parts, (part + 1) * view.lines // parts
        for n in range(row, min(view.rows, row + each)):
            start = n * size
            if not _read(x[n * view.pitch :], indices[start : start + size], y[start : start + size], first, last, view):
                good[0] = False
    return good[0]


@jit_exact
def _combined(kind, old, new):
    if kind == ADD:
        return old + new
    if kind == MULTIPLY:
        return old * new
    if kind == LARGEST:
        return new if new > old or new != new else old
    if kind == SMALLEST:
        return new if new < old or new != new else old
    return new


@jit_unrolled
def _write_column(target, indices, source, each, lines, step, length, kind):
    """`_write` for lines of one index each."""
    good = True
    for line in range(np.uint64(lines)):
        index = np.uint64(indices[line])
        if index < length:
            target[index * step] = _combined(kind, target[index * step], source[line * each])
        else:
            good = False
    return good


@jit_unrolled
def _write(target, indices, source, each, left, right, view, kind):
    """Combine columns left..right of a row of indices with a row of the target, in their order. Whether all are in range.

    The source has an element for each index, or with `each` 0 one for all.
    """
    step, length, width, each = np.uint64(view.step), np.uint64(view.length), np.uint64(view.width), np.uint64(each)
    if width == 1:
        if step == each == 1 and kind == ADD:  # constants in the loop, not variables: 0.7 of the time
            return _write_column(target, indices, source, np.uint64(1), view.lines, np.uint64(1), length, ADD)
        if step == each == 1:
            return _write_column(target, indices, source, np.uint64(1), view.lines, np.uint64(1), length, kind)
        return _write_column(target, indices, source, each, view.lines, step, length, kind)
    good = True
    for line in range(np.uint64(view.lines)):
        for c in range(np.uint64(left), np.uint64(right)):
            i = line * width + c
            index = np.uint64(indices[i])
            if index < length:
                place = index * step + c
                target[place] = _combined(kind, target[place], source[i * each])
            else:
                good = False
    return good


@jit_parallel
def _write_parallel(target, indices, source, each, view, kind, rows, parts):
    size = view.lines * view.width
    good = np.ones(1, np.bool_)
    for task in numba.prange((view.rows + rows - 1) // rows * parts):
        first, part = task // parts * rows, task % parts
        left, right = part * view.width // parts, (part + 1) * view.width // parts
        for n in range(first, min(view.rows, first + rows)):
            start = n * size
            values = source[start * each :]
            if not _write(target[n * view.pitch :], indices[start : start + size], values, each, left, right, view, kind):
                good[0] = False
    return good[0]


def _require(good: bool, view: View) -> None:
    if not good:
        raise IndexError(f"an index is out of bounds for a dimension of length {view.length}")


def gather(x: Array, indices: Array, view: View) -> Array:
    """The elements of x that the indices (rows, lines, width) name, in the shape of the indices.

    Any dtype of numbers that Numba knows. IndexError for an index out of range.
    """
    y = empty(indices.shape, x.dtype)
    if indices.size:
        rows = max(1, GRAIN // (view.lines * view.width))
        parts = max(1, view.lines * view.width // GRAIN) if rows == 1 else 1
        arguments = contiguous(x).reshape(-1), contiguous(indices).reshape(-1), y.reshape(-1)
        _require(_read_parallel(*arguments, view, rows, min(parts, view.lines)), view)
    return y


def scatter(target: Array, indices: Array, source: Array, view: View, kind: int) -> None:
    """Combine the elements of `target` that the indices name with those of the source, as `kind` says, in place.

    The target is contiguous; the source has the shape of the indices or is 0-d. IndexError for an index out of range, which is
    left out.
    """
    if not indices.size:
        return
    rows = max(1, GRAIN // (view.lines * view.width))
    parts = max(1, view.width // _COLUMNS) if view.rows < 8 and rows == 1 else 1
    flat = contiguous(indices).reshape(-1), contiguous(source).reshape(-1)
    _require(_write_parallel(target.reshape(-1), *flat, int(source.ndim > 0), view, kind, rows, parts), view)
