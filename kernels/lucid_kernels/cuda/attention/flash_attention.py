"""Attention on tensor cores: float32, float16 and bfloat16, heads of up to 256, chips from sm_80 on.

float32 is as exact as on the other cores. Half precision is read and written as it is; scores and sums are float32, and the
probabilities and gradients of scores are rounded before the products that they enter, as in FlashAttention. Masks are read in
their dtype. Dropout draws the words that `random.dropout` draws for the matrix of all probabilities.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucid_kernels.cuda.attention import problem
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.random import random
from lucid_kernels.cuda.runtime import launch, tuning

#: Dtypes as the kernels' names spell them.
TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16"}
_MASKS = {"f": 1, "e": 2, "E": 3}  # as attention_tiles.cuh numbers their dtypes
Draw = tuple[float, int, int]  # the probability of dropout, seed and offset of its random words


class Tiles(NamedTuple):
    """The constants of a kernel: 16 `blocks` rows of each of the `warps`, and `lines` that they meet at a time."""

    width: int
    blocks: int
    warps: int
    lines: int
    columns: int

    @property
    def rows(self) -> int:
        """The rows of a block."""
        return 16 * self.blocks * self.warps

    def shared(self, itemsize: int, row_tiles: int) -> int:
        """Bytes of shared memory: of the rows, of two pairs of tiles of lines, and of three statistics for each of these."""
        return (row_tiles * self.rows + 4 * self.lines) * (self.width * itemsize + 16) + 24 * self.lines


# By the bytes of an element. Of two for a width, the second is faster where there are enough rows to fill the device: two blocks
# of 16 rows a warp share what it reads from shared memory. The first fits the 99 KiB of a block on the smaller chips.
# More lines, blocks or columns, and ptxas spills registers.
_FORWARD = {
    4: [Tiles(32, 1, 4, 32, 32), Tiles(32, 2, 4, 32, 32), Tiles(64, 1, 4, 32, 64), Tiles(64, 2, 4, 16, 64),
        Tiles(128, 1, 4, 16, 128), Tiles(256, 1, 2, 16, 128)],
    2: [Tiles(32, 1, 4, 64, 32), Tiles(32, 2, 4, 64, 32), Tiles(64, 1, 4, 64, 64), Tiles(64, 2, 4, 64, 64),
        Tiles(128, 1, 4, 64, 128), Tiles(128, 2, 4, 32, 128), Tiles(256, 1, 4, 16, 256)],
}
_GRAD_QUERY = {
    4: [Tiles(32, 1, 4, 32, 32), Tiles(64, 1, 4, 32, 64), Tiles(64, 2, 4, 16, 64), Tiles(128, 1, 2, 16, 128),
        Tiles(128, 1, 4, 16, 128), Tiles(256, 1, 1, 16, 128), Tiles(256, 1, 2, 16, 128)],
    2: [Tiles(32, 1, 4, 64, 32), Tiles(64, 1, 4, 32, 64), Tiles(64, 2, 4, 32, 64), Tiles(128, 1, 4, 32, 128),
        Tiles(128, 1, 4, 64, 128), Tiles(256, 1, 2, 16, 256), Tiles(256, 1, 4, 16, 256)],
}
_GRAD_KEY_VALUE = {
    4: [Tiles(32, 1, 4, 32, 32), Tiles(64, 1, 4, 16, 64), Tiles(128, 1, 2, 16, 64), Tiles(128, 1, 4, 16, 64),
        Tiles(256, 1, 1, 16, 64), Tiles(256, 1, 2, 16, 64)],
    2: [Tiles(32, 1, 4, 64, 32), Tiles(64, 1, 4, 64, 64), Tiles(64, 2, 4, 32, 64), Tiles(128, 1, 4, 32, 128),
        Tiles(256, 1, 2, 16, 128), Tiles(256, 1, 4, 16, 128)],
}
#: The choices of each kernel, and how many tiles of rows it keeps.
KERNELS = {
    "flash_attention": (_FORWARD, 1), "flash_attention_grad_query": (_GRAD_QUERY, 2),
    "flash_attention_grad_key_value": (_GRAD_KEY_VALUE, 2),
}


@functools.cache
def _shared_memory(device: int) -> int:
    """The most shared memory that a block of `device` may have; 0 of chips without these instructions."""
    chosen = cupy.cuda.Device(device)
    return int(chosen.attributes["MaxSharedMemoryPerBlockOptin"]) if int(chosen.compute_capability) >= 80 else 0


@functools.cache
def choices(name: str, itemsize: int, width: int, device: int, is_plain: bool) -> list[Tiles]:
    """The smallest of the kernels that serve `width` and fit the device.

    `is_plain`: without mask and dropout, whose instructions would spill registers with more than 16 rows of a warp.
    """
    table, row_tiles = KERNELS[name]
    memory = _shared_memory(device)
    fitting = [tiles for tiles in table[itemsize] if tiles.width >= width and tiles.shared(itemsize, row_tiles) <= memory
               and (is_plain or tiles.blocks == 1)]
    return [tiles for tiles in fitting if tiles.width == fitting[0].width]


def serves(q: Any, v: Any) -> bool:
    """Whether the kernels here take these operands."""
    width, device = max(q.shape[3], v.shape[3]), cupy.cuda.runtime.getDevice()
    return q.dtype.name in TYPES and all(choices(name, q.itemsize, width, device, False) for name in KERNELS)


def key(name: str, itemsize: int, width: int, is_plain: bool, heads: int, rows: int) -> str:
    """The name of a problem in a tuning table, which has the place of its tiles among `choices`."""
    return f"{name} {itemsize}x{width} {heads}x{rows}{'' if is_plain else ' masked'}"


@functools.lru_cache(4096)
def _chosen(name: str, itemsize: int, width: int, device: int, is_plain: bool, heads: int, rows: int) -> Tiles:
    found = choices(name, itemsize, width, device, is_plain)
    measured = tuning.table(cupy.cuda.Device(device).compute_capability).get(key(name, itemsize, width, is_plain, heads, rows))
    if measured is not None and measured[0] < len(found):
        return found[measured[0]]
    small, large = (found * 2)[:2]
    return large if heads * launch.ceil_div(rows, large.rows) >= launch.multiprocessors() else small


def _run(name: str, dtype: Any, width: int, is_plain: bool, heads: int, rows: int, arguments: tuple[Any, ...]) -> None:
    """A block for the rows of each head and the columns that the chosen tiles have."""
    tiles = _chosen(name, dtype.itemsize, width, cupy.cuda.runtime.getDevice(), is_plain, heads, rows)
    numbers = ", ".join(map(str, (*tiles, str(is_plain).lower())))
    kernel = launch.kernel("flash_attention", f"{name}<{TYPES[dtype.name]}, {numbers}>")
    shared = tiles.shared(dtype.itemsize, KERNELS[name][1])
    if shared > 48 << 10:
        kernel.max_dynamic_shared_size_bytes = shared
    grid = heads * launch.ceil_div(rows, tiles.rows), max(1, launch.ceil_div(width, tiles.columns))
    kernel(grid, (32 * tiles.warps,), arguments, shared_mem=shared)


def _lines(x: Any) -> Any:
    """`x`, or a copy whose columns are neighbours: the kernels take any strides of the other dimensions."""
    step = x.itemsize
    fits = x.size and x.strides[3] == step and all(stride >= 0 and stride % step == 0 for stride in x.strides)
    if x.flags.c_contiguous or fits:
        return x
    return copies.contiguous(x)


def _strides(x: Any) -> tuple[np.int64, ...]:
    return tuple(np.int64(stride // x.itemsize) for stride in x.strides[:3])


def _pointer(x: Any) -> Any:
    """`x` as a launch takes it, an address: arrays that are not contiguous are refused, for it ignores their strides."""
    if x.flags.c_contiguous:
        return x
    last = sum((length - 1) * stride for length, stride in zip(x.shape, x.strides, strict=True))
    return cupy.ndarray((last // x.itemsize + 1,), x.dtype, x.data)


def _passed(*arrays: Any) -> tuple[Any, ...]:
    """Each address with its strides."""
    return tuple(argument for x in arrays for argument in (_pointer(x), *_strides(x)))


def _result(out: Any, shape: tuple[int, ...], x: Any) -> Any:
    """The array that a kernel writes: `out` where it can, else a new one that lies in memory in the order of x.

    So heads that come from a projection lie as the next one reads them.
    """
    if out is not None or x.flags.c_contiguous:
        return launch.result(out, shape, x.dtype)
    order = sorted(range(3), key=lambda dim: -x.strides[dim])
    memory = launch.empty((*(shape[dim] for dim in order), shape[3]), x.dtype)
    return memory.transpose(*(order.index(dim) for dim in range(3)), 3)


def _are_aligned(*arrays: Any) -> bool:
    """Whether 16 bytes of a row are at a multiple of 16, in all of them."""
    return all(x.shape[3] * x.itemsize % 16 == 0 and x.data.ptr % 16 == 0
               and all(length <= 1 or stride % 16 == 0 for length, stride in zip(x.shape[:3], x.strides, strict=False))
               for x in arrays)


def _mask(mask: Any, stand_in: Any) -> tuple[Any, np.int32]:
    """A mask as it is, and the number that the kernels know its dtype by."""
    if mask is None:
        return stand_in, np.int32(0)
    kind = _MASKS.get(mask.dtype.char)
    return copies.contiguous(mask.astype(np.float32) if kind is None else mask), np.int32(kind or 1)


def _is_plain(mask: Any, scale: float, draw: Draw | None) -> bool:
    """Whether there is neither mask nor dropout, and scores are dot products."""
    return mask is None and draw is None and problem.factors(mask, scale)[0] == 1


def _dropout(draw: Draw | None) -> tuple[Any, ...]:
    """Whether there is dropout, and its numbers."""
    p, seed, offset = draw or (0.0, 0, 0)
    threshold, kept = random.threshold_and_scale(p)
    return np.int32(draw is not None), threshold, np.float32(kept), random.as_uint64(seed), random.as_uint64(offset)


def _arguments(q: Any, k: Any, v: Any, mask: Any, stand_in: Any, scale: float, is_causal: bool, draw: Draw | None,
               like_q: tuple[Any, ...], like_v: tuple[Any, ...]) -> tuple[Any, ...]:
    aligned = _are_aligned(q, k, *like_q) + 2 * _are_aligned(v, *like_v)
    return (*map(_pointer, (q, k, v)), *_strides(q), *_strides(k), *_strides(v),
            *problem.arguments(q, k, v, mask, _mask(mask, stand_in), np.float32, scale, is_causal), *_dropout(draw),
            np.int32(aligned))


def attention(q: Any, k: Any, v: Any, mask: Any, *, scale: float, is_causal: bool, out: tuple[Any, ...],
              draw: Draw | None = None) -> tuple[Any, Any, Any]:
    """(y, shift, factor); with the numbers of a `draw`, after dropout of the probabilities."""
    q, k, v = map(_lines, (q, k, v))
    y = _result(out[0], (*q.shape[:3], v.shape[3]), q)
    shift, factor = (launch.result(target, q.shape[:3], np.float32) for target in out[1:3])
    if shift.size:
        arguments = (*_arguments(q, k, v, mask, shift, scale, is_causal, draw, (), (y,)), *_passed(y), shift, factor)
        width, is_plain = max(q.shape[3], v.shape[3]), _is_plain(mask, scale, draw)
        _run("flash_attention", q.dtype, width, is_plain, q.shape[0] * q.shape[1], q.shape[2], arguments)
    return y, shift, factor


def attention_grad(g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, shift: Any, factor: Any, *, scale: float, is_causal: bool,
                   out: tuple[Any, ...], draw: Draw | None = None) -> tuple[Any, Any, Any]:
    """(dq, dk, dv)."""
    g, q, k, v, y = map(_lines, (g, q, k, v, y))
    shift, factor = map(copies.contiguous, (shift, factor))
    dq, dk, dv = (_result(target, x.shape, x) for target, x in zip(out, (q, k, v), strict=True))
    dots = launch.empty(q.shape[:3], np.float32)
    if dots.size:
        kernel = launch.kernel("flash_attention", f"flash_attention_dots<{TYPES[q.dtype.name]}>")
        sizes = np.int32(q.shape[1]), np.int32(q.shape[2]), np.int64(dots.size), np.int32(v.shape[3])
        kernel((launch.ceil_div(dots.size, 32),), (256,), (*_passed(g, y), dots, *sizes, np.int32(_are_aligned(g, y))))
    chosen_by = q.dtype, max(q.shape[3], v.shape[3]), _is_plain(mask, scale, draw)
    arguments = (*_arguments(q, k, v, mask, shift, scale, is_causal, draw, (dq, dk), (g, dv)), *_passed(g), shift, factor, dots)
    if dq.size:
        _run("flash_attention_grad_query", *chosen_by, q.shape[0] * q.shape[1], q.shape[2], (*arguments, *_passed(dq)))
    if dk.size or dv.size:
        heads = k.shape[0] * k.shape[1]
        _run("flash_attention_grad_key_value", *chosen_by, heads, k.shape[2], (*arguments, *_passed(dk, dv)))
    return dq, dk, dv
