"""How a matrix product is cut into tiles: by the time that the busiest thread needs, from measured costs."""
from __future__ import annotations

import functools
from typing import NamedTuple

from ._microkernels import ROWS, VECTOR_BYTES
from ._panels import COLUMN_PANEL_BYTES

# Nanoseconds on one core, of which only the ratios count: a product of two float32, and an element that is packed or, for a left
# operand whose rows are read where they lie, fetched into the L2 cache. A result that is turned is written and read once more.
_PRODUCT = 0.0085
_PACKED_COLUMNS, _PACKED_ROWS, _READ_ROWS, _TURNED = 0.12, 0.12, 0.01, 0.25
_TILE = 300.0
# At the end a thread waits for the others, on a busy machine for a good part of a tile.
_WAITING = 0.125
# The longest sides of a tile, in bytes of a column or row. Packed rows, 1 KiB of each at a time, and the sums of a turned tile
# have a quarter of the L2 cache. Rows that are read where they lie may come from L3: more of them for a packed panel save 3 %.
_PACKED_ROWS_SIDE, _READ_ROWS_SIDE, _COLUMNS_SIDE = 1024, 4096, 4096


class Tiles(NamedTuple):
    """The sides of the tiles of a result (m, n), or of its transpose (n, m) where that is computed: `turned`."""

    turned: bool
    rows: int
    columns: int


class Operands(NamedTuple):
    """A product of (m, k) and (k, n), and whether the steps of a sum are contiguous in the left and the right operand."""

    m: int
    k: int
    n: int
    left_contiguous: bool
    right_contiguous: bool
    itemsize: int

    def turned(self) -> Operands:
        """Those of the transposed product."""
        return Operands(self.n, self.k, self.m, self.right_contiguous, self.left_contiguous, self.itemsize)


def _up(length: int, side: int) -> int:
    return -(-length // side) * side


def _sides(length: int, unit: int, most: int) -> list[int]:
    """Lengths of the parts, multiples of `unit`, in which `length` may be cut."""
    parts = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, *(-(-length // (most >> halved)) for halved in range(4))}
    return sorted({side for part in parts if (side := _up(-(-length // part), unit)) <= most})


def _best(operands: Operands, turned: bool, threads: int) -> tuple[float, Tiles]:
    """(time, tiles) of the fastest cut; the time is in nanoseconds of float32."""
    m, k, n, packed, scale = operands.m, operands.k, operands.n, not operands.left_contiguous, operands.itemsize / 4
    best = None
    lanes = VECTOR_BYTES // operands.itemsize
    longest = (_PACKED_ROWS_SIDE if packed or turned else _READ_ROWS_SIDE) // operands.itemsize
    widest = (_PACKED_ROWS_SIDE if turned else _COLUMNS_SIDE) // operands.itemsize
    for rows in _sides(m, lanes, longest):
        for columns in _sides(n, COLUMN_PANEL_BYTES // operands.itemsize, widest):
            tiles = -(-m // rows) * -(-n // columns)
            computed = _up(min(rows, m), ROWS) * _up(min(columns, n), lanes)
            steps = computed * _PRODUCT + columns * _PACKED_COLUMNS + rows * (_PACKED_ROWS if packed else _READ_ROWS)
            tile = scale * (k * steps + (computed * _TURNED if turned else 0)) + _TILE
            time = (-(-tiles // threads) + (_WAITING if threads > 1 else 0)) * tile
            if best is None or time < best[0]:
                best = time, Tiles(turned, rows, columns)
    assert best is not None
    return best


def _ways(operands: Operands) -> list[tuple[Operands, bool]]:
    """The product itself, and the transposed one where its left operand has rows enough that need not be packed."""
    return [(operands, False)] + ([(operands.turned(), True)] if operands.right_contiguous and operands.n >= ROWS else [])


@functools.lru_cache(maxsize=1024)
def tiles_of(operands: Operands, threads: int) -> Tiles:
    """The tiles for `threads` threads. Whether the result is turned depends on the operands only: the bits of a sum do."""
    way = min(_ways(operands), key=lambda way: _best(way[0], way[1], 1)[0])
    return _best(way[0], way[1], threads)[1]


@functools.lru_cache(maxsize=1024)
def waste(operands: Operands) -> float:
    """The share of the time, on one thread, in which something else than wanted products is computed."""
    time = min(_best(of, turned, 1)[0] for of, turned in _ways(operands))
    return 1 - operands.m * operands.k * operands.n * _PRODUCT * operands.itemsize / 4 / time
