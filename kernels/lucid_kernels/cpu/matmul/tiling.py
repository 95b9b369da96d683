"""How a matrix product is cut into tiles: by the time that the busiest thread needs, from measured costs."""
from __future__ import annotations

import functools
from typing import NamedTuple

from lucid_kernels.integers import round_up

from ..simd.cpu_features import VECTOR_BYTES
from .microkernels import MOST_VECTORS

# Rows of the register blocks, and of those at the lower edge; and bytes of their columns.
BLOCK_ROWS = 8 if VECTOR_BYTES == 64 else 4
FEW_ROWS = BLOCK_ROWS // 2
STRIP_BYTES = MOST_VECTORS * VECTOR_BYTES
# Nanoseconds on one core, of which only the ratios count: a product of two float32, and an element that is packed, copied or
# fetched into the L2 cache. A result that is turned is written and read once more.
_PRODUCT = 0.0085
_PACKED, _COPIED, _READ, _TURNED = 0.12, 0.06, 0.015, 0.25
_TILE = 300.0
# Vectors of a strip that take as long as one vector: four rows of one are too few sums to hide the latency of an addition.
_LEAST_VECTORS = 1 if VECTOR_BYTES == 64 else 2
# At the end a thread waits for the others, on a busy machine for a good part of a tile.
_WAITING = 0.125
# The longest sides of a tile, in bytes of a column or row. Packed rows, 1 KiB of each at a time, and the sums of a turned tile
# have a quarter of the L2 cache.
_PACKED_SIDE, _READ_SIDE = 1024, 4096
# Bytes: steps of rows and of columns this far apart push each other out of the caches. And the rows from which on that costs
# more than a copy of the columns, which four rows of AVX2 read so much faster from the L1 cache that most are copied.
_FAR_ROWS, _FAR_COLUMNS, _OFTEN = 2048, 4096 if VECTOR_BYTES == 64 else 256, 128


class Plan(NamedTuple):
    """How a product (m, n) is computed, or its transpose (n, m) where that is `turned`: the sides of the tiles, and whether the
    rows of its left operand are packed and the columns of its right one copied.
    """

    turned: bool
    rows: int
    columns: int
    packs_rows: bool
    copies_columns: bool


class Operands(NamedTuple):
    """A product of (m, k) and (k, n), and the strides of both in bytes, one of each that of an element."""

    m: int
    k: int
    n: int
    left: tuple[int, int]
    right: tuple[int, int]
    itemsize: int

    def turned(self) -> Operands:
        """Those of the transposed product."""
        return Operands(self.n, self.k, self.m, self.right[::-1], self.left[::-1], self.itemsize)

    @property
    def packs_rows(self) -> bool:
        """Whether the left operand's rows are packed: those whose steps lie far apart, for more than a strip of columns."""
        return self.left[1] >= _FAR_ROWS and self.n * self.itemsize > STRIP_BYTES

    @property
    def copies_columns(self) -> bool:
        """Whether the right operand's columns are copied: those with contiguous steps, or steps far apart that are read often."""
        return self.right[1] != self.itemsize or (self.right[0] >= _FAR_COLUMNS and self.m >= _OFTEN)


def _sides(length: int, unit: int, most: int) -> list[int]:
    """Lengths of the parts, multiples of `unit`, in which `length` may be cut."""
    parts = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, *(-(-length // (most >> halved)) for halved in range(4))}
    return sorted({side for part in parts if (side := round_up(-(-length // part), unit)) <= most})


def _best(operands: Operands, turned: bool, threads: int) -> tuple[float, Plan]:
    """(time, plan) of the fastest cut; the time is in nanoseconds of float32."""
    m, k, n, item = operands.m, operands.k, operands.n, operands.itemsize
    packs, copies, lanes = operands.packs_rows, operands.copies_columns, VECTOR_BYTES // item
    row_cost = _PACKED if packs else _READ
    column_cost = _READ if not copies else _COPIED if operands.right[1] == item else _PACKED
    longest = (_PACKED_SIDE if packs or turned else _READ_SIDE) // item
    widest = (_PACKED_SIDE if turned else _READ_SIDE) // item
    best = None
    for rows in _sides(m, lanes, longest):
        for columns in _sides(n, lanes, widest):
            tiles = -(-m // rows) * -(-n // columns)
            computed = round_up(min(rows, m), FEW_ROWS) * max(round_up(min(columns, n), lanes), _LEAST_VECTORS * lanes)
            tile = k * (computed * _PRODUCT + rows * row_cost + columns * column_cost) + (computed * _TURNED if turned else 0)
            time = (-(-tiles // threads) + (_WAITING if threads > 1 else 0)) * (tile * item / 4 + _TILE)
            if best is None or time < best[0]:
                best = time, Plan(turned, rows, columns, packs, copies)
    assert best is not None
    return best


@functools.lru_cache(maxsize=1024)
def plan_of(left_shape: tuple[int, int], n: int, left: tuple[int, int], right: tuple[int, int], itemsize: int, threads: int
            ) -> Plan:
    """The plan for `threads` threads of a product with n columns, for the strides of both operands.

    Whether the result is turned depends on the operands only: the bits of a sum do.
    """
    operands = Operands(*left_shape, n, left, right, itemsize)
    candidates = [(operands, False)]
    if right[1] != itemsize and n >= BLOCK_ROWS:
        candidates.append((operands.turned(), True))
    chosen, turned = min(candidates, key=lambda candidate: _best(candidate[0], candidate[1], 1)[0])
    return _best(chosen, turned, threads)[1]
