"""Which tile computes a product on tensor cores, and into how many slices its sum is cut.

`tuning/sm_XY.json` has what was measured on a chip, by `key` (`kernels/bench/gpu_batch.py` writes it); the others are chosen by
a model of a Hopper: tensor cores, the level 2 cache, what blocks do around their sums, and the partial sums of slices. The same
model says where exact float32, three products of TF32 on tensor cores, is slower than `conv2d.cu`: small convolutions, whose
operands another launch must pack first.
The choice depends on the product alone, so results do too.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from lucid_kernels.cuda.runtime import tuning


class Tile(NamedTuple):
    """What a block computes, what each of its warps does, and the slabs in shared memory."""

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.warp_rows * (self.columns // self.warp_columns) * 32

    def __str__(self) -> str:
        return ", ".join(map(str, self))


#: As the sources instantiate them. Those of warps serve all chips, exact float32 (but the first, in which its parts would spill
#: registers) and the weight gradient.
WARP_TILES = (Tile(128, 128, 64, 64, 3), Tile(128, 64, 64, 32, 3), Tile(128, 32, 32, 32, 4), Tile(64, 64, 32, 32, 4))
#: Those of warpgroups, whose warps have 16 rows and all columns, want wgmma.
WARPGROUP_TILES = (Tile(128, 128, 16, 128, 3), Tile(128, 64, 16, 64, 4), Tile(128, 256, 16, 256, 4), Tile(64, 128, 16, 128, 4),
                   Tile(64, 64, 16, 64, 4))
TILES = WARP_TILES + WARPGROUP_TILES

# An H100. The times of 39 products of this kind and all their configurations, measured on one, gave what is not its clock or its
# width: of the best configuration of each, what this model chooses takes 1.03 times as long in the mean, and 1.3 times at worst.
_MULTIPROCESSORS = 132
_PRODUCTS = 1024 * 0.63  # multiplications of TF32 a cycle of a multiprocessor by mma.sync
_WARPGROUP_PRODUCTS = 1024 * 0.9  # by wgmma
_READ = 48  # bytes a cycle from the level 2 cache to a multiprocessor
_SLAB = 170  # cycles around a slab
_BLOCK = 4600  # of a block in front of its slabs and behind them
_RESULT = 0.36  # of a result of a block
_PARTS = 2400  # bytes of the sums of slices a cycle of the chip, written and read again
_LAUNCH = 5000  # of one more kernel in a row
_LEAST_SLABS = 8  # of a slice: fewer would be all latency
_MULTIPLY_ADDS = 128 * 0.6  # a cycle, of conv2d.cu: of the units' 128 what loads and addresses leave
#: The number of a tile in a table where none was as fast as conv2d.cu.
MEASURED_SIMT = -1


def slab_cycles(tile: Tile, rounds: int, row_bytes: int) -> float:
    """Cycles of a multiprocessor for `row_bytes` bytes of terms of each row and column, in `rounds` products: 3 of the parts of
    float32, else 1. Halves are half the bytes, and twice as fast.
    """
    speed = _WARPGROUP_PRODUCTS if tile in WARPGROUP_TILES else _PRODUCTS
    products = rounds * tile.rows * tile.columns * row_bytes / 4 / speed
    return max(products, row_bytes * (tile.rows + tile.columns) / _READ) + _SLAB


def model(tile: Tile, slices: int, rows: int, columns: int, slabs: int, products: int, rounds: int, row_bytes: int = 128,
          added: bool = False) -> float:
    """Cycles for `products` products of rows x columns results with sums of `slabs` slabs; `added`: slices are added in any case,
    even one.
    """
    together = 1 if tile.rows + tile.columns > 256 else 2  # blocks of a multiprocessor
    blocks = -(-rows // tile.rows) * -(-columns // tile.columns) * products * slices
    waves, rest = divmod(blocks, _MULTIPROCESSORS * together)
    sums = -(-slabs // slices) * slab_cycles(tile, rounds, row_bytes)
    around = _BLOCK + _RESULT * tile.rows * tile.columns
    work = waves * (sums * together + around) + (sums * -(-rest // _MULTIPROCESSORS) + around if rest else 0)
    return work + _parts(rows * columns * products, slices) + (_LAUNCH if slices > 1 and not added else 0)


def simt(rows: int, columns: int, terms: int, products: int, most_blocks: int) -> float:
    """Cycles of conv2d.cu, in tiles of 64 x 64; a sum may be cut until there are `most_blocks`."""
    tiles = -(-rows // 64) * -(-columns // 64) * products
    slices = max(1, min(most_blocks // max(1, tiles), terms // 128))
    work = -(-tiles * slices // _MULTIPROCESSORS) * -(-terms // slices) * 64 * 64 / _MULTIPLY_ADDS
    return work + _BLOCK + _parts(rows * columns * products, slices) + (_LAUNCH if slices > 1 else 0)


def _parts(results: int, slices: int) -> float:
    """Cycles for writing the sums of slices and reading them again."""
    return 2 * 4 * results * slices / _PARTS if slices > 1 else 0


def key(kernel: str, rows: int, columns: int, slabs: int, products: int) -> str:
    """The name of a product in a tuning table."""
    return f"{kernel} {rows}x{columns}x{slabs}x{products}"


@functools.lru_cache(4096)
def choices(rows: int, columns: int, slabs: int, products: int, rounds: int, tiles: tuple[Tile, ...] = TILES,
            row_bytes: int = 128, added: bool = False) -> list[tuple[float, Tile, int]]:
    """Cycles by the model, tile and slices of the configurations of such products: see `model`."""
    found = []
    for tile in tiles:
        slices = 1
        while slices == 1 or slabs // slices >= _LEAST_SLABS:
            # None of the slices is empty.
            found.append((model(tile, slices, rows, columns, slabs, products, rounds, row_bytes, added), tile,
                          -(-slabs // -(-slabs // slices)) if slabs else 1))
            slices *= 2
    return found


def choose(capability: str, name: str, found: Sequence[tuple[float, Tile, int]], others: float) -> tuple[Tile, int] | None:
    """Tile and slices: those that were measured under `name`, a `key`, else the fastest of the `choices` found.

    None where a kernel without tensor cores was faster, or by the model, of which `others` are the cycles, is.
    """
    measured = tuning.table(capability).get(name)
    if measured is not None:
        if measured[0] == MEASURED_SIMT and others < math.inf:
            return None
        if measured[0] >= 0 and any(tile == TILES[measured[0]] for _, tile, _ in found):
            return TILES[measured[0]], measured[1]
    cycles, tile, slices = min(found)
    return None if others <= cycles + 2 * _LAUNCH else (tile, slices)  # which pack the operands
