"""Copies of large arrays with any strides, on all threads: rows that are whole in both arrays, rows of one element each, or tiles
of a transposition.

Both arrays are described by the fewest dimensions that do. One of those that has no gaps in either array is the row, or one that
has none in the target and repeats an element of the source; else the one without gaps in the target and the one without gaps in
the source are transposed, tile by tile. The others are counted.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_parallel
from ..simd.address import address_of
from ..simd.nontemporal import fence, streams
from ..simd.strided import copy_bytes, copy_elements, copy_tiles, fill_rows, side

# Bytes that a thread copies at least, and those of a unit of work.
CHUNK = 1 << 16
# Elements of a piece of a transposition: 16 KiB of float32 in the L1 cache, twice.
_ELEMENTS = 1 << 12
# Tiles from one that is read to one that is prefetched: 16 took half the time of 4, for 25 MB of images.
_AHEAD = 16
_LINE = 64  # bytes of a line of the cache
Array = np.ndarray[Any, Any]

_SIZES = (1, 2, 4, 8)
_KINDS = {size: np.empty(0, f"u{size}") for size in _SIZES}


class Dimension(NamedTuple):
    """A length, and the bytes from one element to the next in the target and in the source."""

    length: int
    target: int
    source: int


def dimensions(target: Array, source: Array, size: int) -> list[Dimension]:
    """The fewest dimensions that both arrays of one shape have in common, in the order of the target's memory.

    Elements of more than `size` bytes count as a dimension of parts.
    """
    given = [Dimension(*fields) for fields in zip(target.shape, target.strides, source.strides) if fields[0] != 1]
    if target.itemsize != size:
        given.append(Dimension(target.itemsize // size, size, size))
    merged: list[Dimension] = []
    for inner in sorted(given, key=lambda dimension: -abs(dimension.target)):
        outer = merged[-1] if merged else None
        if outer and (outer.target, outer.source) == (inner.length * inner.target, inner.length * inner.source):
            merged[-1] = Dimension(outer.length * inner.length, inner.target, inner.source)
        else:
            merged.append(inner)
    return merged


Launch = Callable[[int, int, list[Dimension], tuple[Any, ...]], None]


@jit
def _offset(unit, lengths, strides):
    """How far unit `unit` of the counted dimensions is from the first."""
    offset = 0
    for axis in range(lengths.shape[0] - 1, -1, -1):
        offset += unit % lengths[axis] * strides[axis]
        unit //= lengths[axis]
    return offset


@jit
def units(counted, rows, piece):
    """How many units of work the counted dimensions and pieces of `piece` rows make."""
    return (rows.length + piece - 1) // piece * counted[0].prod()


@jit
def unit_of(counted, rows, piece, work):
    """How far the first row of unit `work` is from the first in the source and in the target, and its number of rows."""
    pieces = (rows.length + piece - 1) // piece
    unit, first = work // pieces, work % pieces * piece
    start = _offset(unit, counted[0], counted[2]) + first * rows.source
    end = _offset(unit, counted[0], counted[1]) + first * rows.target
    return start, end, min(piece, rows.length - first)


@jit_parallel
def _copy_rows(source, target, counted, rows, count, piece, each, stream):
    """Rows of `count` bytes: the dimension `rows` in pieces of `piece` rows, of which a thread takes `each` at least."""
    total = units(counted, rows, piece)
    for task in numba.prange((total + each - 1) // each):
        for work in range(task * each, min(total, (task + 1) * each)):
            start, end, number = unit_of(counted, rows, piece, work)
            copy_bytes(source + start, rows.source, target + end, rows.target, number, count, stream)
        if stream:
            fence()


@jit_parallel
def _fill_rows(kind, source, target, counted, rows, count, piece, each, stream):
    """`_copy_rows` for rows that repeat an element."""
    total = units(counted, rows, piece)
    for task in numba.prange((total + each - 1) // each):
        for work in range(task * each, min(total, (task + 1) * each)):
            start, end, number = unit_of(counted, rows, piece, work)
            fill_rows(kind, source + start, rows.source, target + end, rows.target, number, count, stream)
        if stream:
            fence()


@jit
def transpose_panel(kind, source, source_pitch, target, target_pitch, rows, columns, tile, ahead, stream):
    """Transpose `rows` x `columns` elements; a panel as wide as a tile in tiles, of which the last two may overlap."""
    if columns != tile or rows < tile:
        copy_elements(kind, source, source_pitch, target, target_pitch, rows, columns)
        return
    copy_tiles(kind, source, source_pitch, target, target_pitch, rows // tile, ahead, stream)
    if rows % tile:
        last = rows - tile
        source, target = source + last * source_pitch, target + last * kind.itemsize
        copy_tiles(kind, source, source_pitch, target, target_pitch, 1, ahead, False)


@jit_parallel
def _copy_transposed(kind, source, target, counted, rows, columns, piece, width, tile, ahead, each, stream):
    """Units of two dimensions: `rows` has no gaps in the target, `columns` none in the source; in pieces of `piece` x `width`.

    A thread takes `each` of those at least.
    """
    lengths, targets, sources = counted[0], counted[1], counted[2]
    down, across = (rows.length + piece - 1) // piece, (columns.length + width - 1) // width
    total = down * across * lengths.prod()
    for task in numba.prange((total + each - 1) // each):
        for work in range(task * each, min(total, (task + 1) * each)):
            unit, place = work // (down * across), work % (down * across)
            # The last panel has the width of all others, and shares columns with the one before it.
            column, row = min(place // down * width, columns.length - width), place % down * piece
            start = source + _offset(unit, lengths, sources) + column * columns.source + row * rows.source
            end = target + _offset(unit, lengths, targets) + column * columns.target + row * rows.target
            transpose_panel(
                kind, start, rows.source, end, columns.target, min(piece, rows.length - row), width, tile, ahead, stream
            )  # fmt: skip
        if stream:
            fence()


def _counted(some: list[Dimension]) -> Array:
    """The fields of some dimensions, a row for each of them."""
    return np.array(some, np.int64).reshape(-1, 3).T.copy()


def streams_rows(shortest: int, *offsets: int) -> bool:
    """Whether rows of `shortest` bytes at least, which begin at sums of `offsets`, are streamed."""
    ragged = any(offset % _LINE for offset in offsets)
    return shortest >= (tuning.COPY_STREAMED_RAGGED_ROW if ragged else tuning.COPY_STREAMED_ROW)


def in_rows(launch: Launch, source: int, target: int, given: list[Dimension], count: int, repeated: bool) -> None:
    """Have `launch` do something for rows of `count` bytes between the addresses of two arrays; for long ones in pieces, so that
    threads share them. `repeated`: a row of the source is one element.

    `launch(source, target, given, work)` gets the dimensions of the rows, and as `work` what the kernels here take of that.
    """
    rest = count % CHUNK
    if count >= 2 * CHUNK:
        pieces = Dimension(count // CHUNK, CHUNK, 0 if repeated else CHUNK)
        in_rows(launch, source, target, [*given, pieces], CHUNK, repeated)
        if rest:
            in_rows(launch, source + (0 if repeated else count - rest), target + count - rest, given, rest, repeated)
        return
    *others, rows = given or [Dimension(1, count, count)]
    piece = min(rows.length, max(1, CHUNK // count))
    each = max(1, CHUNK // (piece * count))
    launch(source, target, given, (_counted(others), rows, count, piece, each))


def _copy_in_rows(target: Array, source: Array, given: list[Dimension], count: int, size: int, repeated: bool) -> None:
    streams_any = streams(target.nbytes if repeated else 2 * target.nbytes)
    if not repeated and count >= tuning.COPY_STREAMED_ROW:  # in the order of the source: 0.9 of the time, for heads of 256 bytes
        given = sorted(given, key=lambda dimension: -abs(dimension.source))

    def launch(source: int, target: int, given: list[Dimension], work: tuple[Any, ...]) -> None:
        stream = streams_any and streams_rows(work[2], target, work[2], *(dimension.target for dimension in given))
        if repeated:
            _fill_rows(_KINDS[size], source, target, *work, stream and target % size == 0)
        else:
            _copy_rows(source, target, *work, stream)

    in_rows(launch, address_of(source), address_of(target), given, count, repeated)


def copy_into(target: Array, source: Array) -> None:
    """target[...] = source for arrays of one shape and dtype, which share no memory."""
    size = 8 if target.itemsize % 8 == 0 else target.itemsize
    given = dimensions(target, source, size)
    if not given or target.size == 0 or size not in _SIZES or given[-1].target != size:
        np.copyto(target, source)
        return
    *outer, last = given
    if last.source in (0, size):
        _copy_in_rows(target, source, outer, last.length * size, size, repeated=last.source == 0)
        return
    addresses = address_of(source), address_of(target)
    stream = streams(2 * target.nbytes)
    dense = next((dimension for dimension in outer if dimension.source == size), None)
    if dense is None or last.length * dense.length < tuning.COPY_SMALL_PANEL[dense.length < last.length]:
        np.copyto(target, source)
        return
    outer.remove(dense)
    tile = side(size)
    tiles = last.length >= tile and dense.length >= tile
    # Panels as wide as a tile; where one dimension is short, element by element, as many of the other as make a piece.
    width = tile if tiles else min(dense.length, max(1, _ELEMENTS // last.length))
    piece = min(last.length, _ELEMENTS // width if tiles else max(1, _ELEMENTS // width))
    each = max(1, CHUNK // (width * piece * size))
    # The next tiles of the same panel, or those of a panel that follows if it has only a few.
    long = piece >= 2 * _AHEAD * tile
    ahead = _AHEAD * tile * last.source if long else max(1, _AHEAD * tile // piece) * tile * size
    pitches = (addresses[1], dense.target, *(dimension.target for dimension in outer))
    stream = stream and tile * size == _LINE and not any(pitch % _LINE for pitch in pitches)
    _copy_transposed(
        _KINDS[size], *addresses, _counted(outer), last, dense, piece, width, tile, ahead, each, stream
    )  # fmt: skip


def copy(source: Array) -> Array:
    """A copy in row-major order; NumPy's where that is as fast."""
    rows = source.ndim == 0 or source.strides[-1] == source.itemsize
    result = empty(source.shape, source.dtype)
    (np.copyto if source.nbytes < (tuning.COPY_ROWS_BYTES if rows else tuning.COPY_BYTES) else copy_into)(result, source)
    return result
