"""Which tile computes a product on tensor cores, and into how many slices its sum is cut.

`tuning/sm_XY.json` has what was measured on a chip, by `key`; the others are chosen by a model of a Hopper chip: tensor cores,
shared memory and the partial sums of slices, without the latencies. The choice depends on the product alone, so results do too.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator
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


#: As the sources instantiate them.
TILES = (Tile(128, 128, 64, 64, 3), Tile(128, 64, 64, 32, 3), Tile(128, 32, 32, 32, 4), Tile(64, 64, 32, 32, 4))

# A multiprocessor of an H100: multiplications of TF32 a cycle by mma.sync (0.63 of what wgmma reaches, which others have
# measured), bytes a cycle to and from shared memory, and its share of the bytes a cycle from memory.
_MULTIPROCESSORS = 132
_PRODUCTS = 512 * 2 * 0.63
_SHARED = 128
_MEMORY = 3.3e12 / 1.755e9 / _MULTIPROCESSORS
_LATENCY = 1500  # cycles of the first slabs and the results of a block
_LEAST_SLABS = 8  # of a slice: fewer would be all latency


def slab_cycles(tile: Tile, speed: int) -> float:
    """Cycles of a multiprocessor for 128 bytes of terms; `speed` is 1 for TF32 and 2 for terms of half the size.

    A slab has twice as many of those, so both take the tensor cores as long.
    """
    warps = tile.threads // 32
    tensor_cores = tile.rows * tile.columns * 32 * speed / (_PRODUCTS * speed)
    shared = 128 * (warps * (tile.warp_rows + tile.warp_columns) + tile.rows + tile.columns) / _SHARED
    return max(tensor_cores, shared)


def model(tile: Tile, slices: int, rows: int, columns: int, slabs: int, products: int, speed: int) -> float:
    """Cycles for `products` products of rows x columns results with sums of `slabs` slabs."""
    blocks = -(-rows // tile.rows) * -(-columns // tile.columns) * products * slices
    work = -(-blocks // _MULTIPROCESSORS) * -(-slabs // slices) * slab_cycles(tile, speed)
    parts = 2 * 4 * rows * columns * products * slices / _MEMORY / _MULTIPROCESSORS if slices > 1 else 0
    return work + _LATENCY + parts


def key(kernel: str, rows: int, columns: int, slabs: int, products: int) -> str:
    """The name of a product in a tuning table."""
    return f"{kernel} {rows}x{columns}x{slabs}x{products}"


def candidates(slabs: int, tiles: tuple[Tile, ...] = TILES) -> Iterator[tuple[Tile, int]]:
    """The tiles and slices among which one is chosen for sums of `slabs` slabs; no slice is empty."""
    for tile in tiles:
        slices = 1
        while slices == 1 or slabs // slices >= _LEAST_SLABS:
            yield tile, -(-slabs // -(-slabs // slices)) if slabs else 1
            slices *= 2


@functools.lru_cache(4096)
def choose(capability: str, kernel: str, rows: int, columns: int, slabs: int, products: int, speed: int,
           tiles: tuple[Tile, ...] = TILES) -> tuple[Tile, int]:
    """The tile, one of `tiles`, and the slices for `products` products of rows x columns results with sums of `slabs` slabs."""
    measured = tuning.table(capability).get(key(kernel, rows, columns, slabs, products))
    if measured is not None and TILES[measured[0]] in tiles:
        return TILES[measured[0]], measured[1]
    _, tile, slices = min((model(tile, slices, rows, columns, slabs, products, speed), tile, slices)
                          for tile, slices in candidates(slabs, tiles))
    return tile, slices
