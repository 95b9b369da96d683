"""Which tile computes a product on tensor cores, and into how many slices its sum is cut.

`tuning/sm_XY.json` has what was measured on a chip, by `key` (`kernels/bench/gpu_batch.py` writes it); the others are chosen by a
model of a Hopper: tensor cores, shared memory and the partial sums of slices. The same model says where exact float32, three
products of TF32 on tensor cores, is slower than `conv2d.cu`: small convolutions, whose operands another launch must pack first.
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

# A multiprocessor of an H100: multiplications of TF32 a cycle by mma.sync (0.63 of what wgmma reaches, which others have
# measured), bytes a cycle to and from shared memory, and its share of the bytes a cycle from memory.
_MULTIPROCESSORS = 132
_PRODUCTS = 512 * 2 * 0.63
_SHARED = 128
_MEMORY = 3.3e12 / 1.755e9 / _MULTIPROCESSORS
_LATENCY = 1500  # cycles of the first slabs and the results of a block
_LAUNCH = 3000  # and of one more kernel in a row
_LEAST_SLABS = 8  # of a slice: fewer would be all latency
_MULTIPLY_ADDS = 128 * 0.6  # a cycle, of conv2d.cu: of the units' 128 what loads and addresses leave
#: The number of a tile in a table where none was as fast as conv2d.cu.
MEASURED_SIMT = -1


def slab_cycles(tile: Tile, rounds: int) -> float:
    """Cycles of a multiprocessor for 128 bytes of terms in `rounds` products: 3 of the parts of float32, else 1.

    A slab has twice as many halves, which are twice as fast: both take the tensor cores as long.
    """
    warps = tile.threads // 32
    tensor_cores = rounds * tile.rows * tile.columns * 32 / _PRODUCTS
    shared = 128 * (warps * (tile.warp_rows + tile.warp_columns) + tile.rows + tile.columns) / _SHARED
    return max(tensor_cores, shared)


def model(tile: Tile, slices: int, rows: int, columns: int, slabs: int, products: int, rounds: int) -> float:
    """Cycles for `products` products of rows x columns results with sums of `slabs` slabs."""
    blocks = -(-rows // tile.rows) * -(-columns // tile.columns) * products * slices
    work = -(-blocks // _MULTIPROCESSORS) * -(-slabs // slices) * slab_cycles(tile, rounds)
    return work + _LATENCY + _parts(rows * columns * products, slices)


def simt(rows: int, columns: int, terms: int, products: int, most_blocks: int) -> float:
    """Cycles of conv2d.cu, in tiles of 64 x 64; a sum may be cut until there are `most_blocks`."""
    tiles = -(-rows // 64) * -(-columns // 64) * products
    slices = max(1, min(most_blocks // max(1, tiles), terms // 128))
    work = -(-tiles * slices // _MULTIPROCESSORS) * -(-terms // slices) * 64 * 64 / _MULTIPLY_ADDS
    return work + _LATENCY + _parts(rows * columns * products, slices) + (_LAUNCH if slices > 1 else 0)


def _parts(results: int, slices: int) -> float:
    """Cycles for writing the sums of slices and reading them again."""
    return 2 * 4 * results * slices / _MEMORY / _MULTIPROCESSORS if slices > 1 else 0


def key(kernel: str, rows: int, columns: int, slabs: int, products: int) -> str:
    """The name of a product in a tuning table."""
    return f"{kernel} {rows}x{columns}x{slabs}x{products}"


@functools.lru_cache(4096)
def choices(rows: int, columns: int, slabs: int, products: int, rounds: int, tiles: tuple[Tile, ...] = TILES
            ) -> list[tuple[float, Tile, int]]:
    """Cycles by the model, tile and slices of the configurations of `products` products of rows x columns results with sums of
    `slabs` slabs.
    """
    found = []
    for tile in tiles:
        slices = 1
        while slices == 1 or slabs // slices >= _LEAST_SLABS:
            # None of the slices is empty.
            found.append((model(tile, slices, rows, columns, slabs, products, rounds), tile,
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
    # One launch packs the operands, another one adds slices.
    return None if others <= cycles + _LAUNCH * (2 if slices > 1 else 1) else (tile, slices)
