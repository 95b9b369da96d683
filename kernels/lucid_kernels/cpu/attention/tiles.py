"""What attention does with one tile of scores besides the products: rows of queries and keys, softmax, hidden scores.

Loops over a row take whole runs of `_RUN` elements: LLVM makes vectors of them. With the length that a causal mask leaves in each
row, half of a row of 128 were scalar exponentials, one by one.
"""
from __future__ import annotations

import functools
import math
from typing import Any

from numba import carray  # type: ignore[attr-defined]

from ..arrays.layout import Array, contiguous
from ..math import basic as math_basic
from ..matmul.inner import COLUMN_BLOCK_BYTES, ROW_BLOCK
from ..runtime.jit import jit, jit_strict
from ..simd.address import address_of
from ..simd.aligned import aligned_empty
from ..simd.copy_rows import copy_rows
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.pointer import moved, pointer
from ..simd.transpose import transpose_block
from .microkernels import keep_run, row_dots
from .prefetch import add_rows

# A tile of the scores is 64 x 128 with AVX-512: 32 KiB in float32. Smaller ones spend their time on the edges of the products,
# larger ones leave the L1 cache. Tiles are whole blocks, of 3 rows with AVX2. There 96 x 96 took 1.1 times as long under a causal
# mask, 48 x 192 1.05 times without one.
QUERIES, KEYS = (64, 128) if VECTOR_BYTES == 64 else (48, 96)
LOG2_E = math.log2(math.e)  # exponentials are powers of two here: see `basic.exp2_nonpositive`
_RUN = VECTOR_BYTES  # elements: two vectors of AVX-512 or AVX2 at least, and a divisor of KEYS
# Softmax takes as many rows at a time as a vector has lanes. A block of a product may begin in the rows before and ends so many
# further on at most: it reads as many scores that a causal mask hides.
BEHIND = 0 if VECTOR_BYTES == 64 else ROW_BLOCK - 1

_carray: Any = carray
#: Where the rows of an operand lie: the address, and the elements from one sample, head and row to the next.
Layout = tuple[int, int, int, int]


def layout(x: Array) -> tuple[Array, Layout]:
    """`x` (B, H, L, E), or a copy of it if its last dimension is not contiguous, and where its rows lie."""
    item = x.itemsize
    batch, head, row, column = x.strides
    bits = batch | head | row  # negative if one of them is; item is a power of two
    if column != item or bits < 0 or bits % item:
        x = contiguous(x)
        batch, head, row, _ = x.strides
    return x, (address_of(x), batch // item, head // item, row // item)


@jit
def row_of(layout: Any, heads: int, n: int, row: int, like: Any) -> Any:
    """The pointer to a row of head `n`; `like` is any array of the dtype."""
    batch, head, pitch = layout[1:]
    return pointer(like, layout[0] + (n // heads * batch + n % heads * head + row * pitch) * like.itemsize)


@jit
def queue_rows(ahead: Any, operand: int, layout: Any, heads: int, n: int, width: int, rows: int, item: int) -> None:
    """Put the rows of head `n` on the list of those to prefetch, as those of its `operand`."""
    batch, head, pitch = layout[1:]
    add_rows(ahead, operand, layout[0] + (n // heads * batch + n % heads * head) * item, pitch * item, width * item, rows)


@jit
def whole_columns(width: int, like: Any) -> int:
    """`width` rounded up to whole blocks of columns of the products."""
    columns = COLUMN_BLOCK_BYTES // like.itemsize
    return (width + columns - 1) // columns * columns


@jit
def room(rows: int, columns: int, like: Any) -> Any:
    """Rows that are not initialised; the first one begins at a whole vector.

    Products of tiles that begin 16 bytes after one take 1.01 to 1.15 times as long.
    """
    return aligned_empty(rows * columns, like).reshape(rows, columns)


@jit
def rows_of(layout: Any, heads: int, n: int, start: int, count: int, block: int, width: int, columns: int, like: Any) -> Any:
    """Rows of head `n` as a C-contiguous array with `columns` columns, zeros from `width` on, and whole blocks of `block` rows.

    That is the memory itself where the rows lie so, else a copy.
    """
    if layout[3] == width == columns and count % block == 0:
        return _carray(row_of(layout, heads, n, start, like), (count, columns))
    rows = room((count + block - 1) // block * block, columns, like)
    rows[:] = 0
    copy_rows(_carray(row_of(layout, heads, n, start, like), (1,)), 0, layout[3], rows, 0, columns, count, width)
    return rows


@jit
def store_rows(source: Any, layout: Any, heads: int, n: int, start: int, count: int, width: int) -> None:
    """The inverse of `rows_of`: write the first `count` rows of `source` to head `n`."""
    copy_rows(source, 0, source.shape[1], _carray(row_of(layout, heads, n, start, source), (1,)), 0, layout[3], count, width)


@jit
def transpose(layout: Any, heads: int, n: int, start: int, count: int, target: Any) -> None:
    """target[:, j] is row `start + j` of head `n`, 0 from `count` on; `target` is C-contiguous, of whole vectors.

    Blocks of shuffles take a fifth of the time of LLVM's loop, which gathers.
    """
    pitch, width, length, item = layout[3], target.shape[0], target.shape[1], target.itemsize
    first, lanes = row_of(layout, heads, n, start, target), VECTOR_BYTES // item
    rows, columns = count - count % lanes, width - width % lanes
    for j in range(0, rows, lanes):
        for d in range(0, columns, lanes):
            to = pointer(target, target.ctypes.data + (d * length + j) * item)
            transpose_block(moved(first, j * pitch + d), pitch, to, length)
    for d in range(width):
        line, x = target[d], _carray(moved(first, d), (count * pitch,))
        for j in range(rows if d < columns else 0, count):
            line[j] = x[j * pitch]
        line[count:] = 0


@jit
def dots_of_rows(a: Any, a_pitch: int, b: Any, b_pitch: int, count: int, width: int, dots: Any) -> None:
    """dots[r] = the product of two rows, those at the pointers `a` and `b` and then so many elements further on each time."""
    lanes = VECTOR_BYTES // dots.itemsize
    whole = count - count % lanes
    for r in range(0, whole, lanes):
        to = pointer(dots, dots.ctypes.data + r * dots.itemsize)
        row_dots(moved(a, r * a_pitch), a_pitch, moved(b, r * b_pitch), b_pitch, width, to)
    for r in range(whole, count):
        x, y = _carray(moved(a, r * a_pitch), (width,)), _carray(moved(b, r * b_pitch), (width,))
        dots[r] = 0
        for j in range(width):
            dots[r] += x[j] * y[j]


@jit
def whole_runs(keys: int) -> int:
    """`keys` rounded up to what the loops over a row take at once."""
    return (keys + _RUN - 1) // _RUN * _RUN


@jit
def filled(last: int, visible: int, step: int, seen: int) -> int:
    """How many scores of the rows up to row `last` softmax computes: whole runs, with all that the products read of them."""
    return whole_runs(min(seen, visible + (last + BEHIND) * step))


@jit
def columns_from(rows: Any, start: int) -> Any:
    """The columns from `start` on, in rows as far apart: an array that owns nothing, whose last row ends too late."""
    return _carray(pointer(rows, rows.ctypes.data + start * rows.itemsize), rows.shape)


@jit
def kept_rows(powers: Any, n: int, query: int, key: int) -> Any:
    """What is kept of head `n` from a query and a key on, as an array that owns nothing."""
    rows, columns = powers.shape[1], powers.shape[2]
    offset = (n * rows + query) * columns + key
    return _carray(pointer(powers, powers.ctypes.data + offset * powers.itemsize), (rows - query, columns))


@jit
def heads_of(x: Any, task: int, first: int, count: int) -> Any:
    """x[task, first : first + count] as an array that owns nothing."""
    _, heads, rows, columns = x.shape
    offset = (task * heads + first) * rows * columns
    return _carray(pointer(x, x.ctypes.data + offset * x.itemsize), (count, rows, columns))


@jit
def add_mask(row: Any, mask: Any, scale: Any) -> None:
    """row = row * scale + mask."""
    for c in range(row.shape[0]):
        row[c] = row[c] * scale + mask[c]


@jit
def _row_of(scores: Any, row: int, length: int) -> Any:
    """The first elements of a row, as an array that owns nothing: counting references took 4 % of the time of short sequences."""
    return _carray(pointer(scores, scores.ctypes.data + row * scores.shape[1] * scores.itemsize), (length,))


@functools.partial(jit_strict, inline=True)
def _product(a: Any, b: Any) -> Any:
    """a * b, rounded: with a multiplication and subtraction in one, large scores were far beyond the largest of them."""
    return a * b


@jit
def exponentials(scores: Any, row: int, length: int, masked: bool, scale: Any, shift: Any) -> Any:
    """row = 2 ** (row * scale - shift) for whole runs of a row of scores, where no exponent is positive; returns the sum.

    If it is `masked`, row = e ** (row - shift): the lowest number, which is a usual mask, times log2(e) would be -inf.
    """
    total, part = scores.dtype.type(0), _row_of(scores, row, length)
    if masked:
        for c in range(whole_runs(length)):
            e = math_basic.exp2_nonpositive((part[c] - shift) * part.dtype.type(LOG2_E))
            part[c] = e
            total += e
    else:
        for c in range(whole_runs(length)):
            e = math_basic.exp2_nonpositive(_product(part[c], scale) - shift)
            part[c] = e
            total += e
    return total


@jit
def keep(scores: Any, row: int, length: int, powers: Any, offset: int) -> None:
    """Write a part of a row to `powers`, from `offset` on."""
    keep_run(_row_of(scores, row, length), powers, offset)


@jit
def scaled_rows(layout: Any, heads: int, n: int, count: int, width: int, factors: Any, target: Any) -> None:
    """target[r, :width] is row r of head `n` times factors[r], for `count` rows; the rest of `target` is 0."""
    target[count:] = 0
    for r in range(count):
        line, to, factor = _carray(row_of(layout, heads, n, r, target), (width,)), target[r], factors[r]
        for j in range(width):
            to[j] = line[j] * factor
        to[width:] = 0


@jit
def row_gradients(exponentials: Any, gradients: Any, row: int, length: int, dot: Any, scale: Any) -> None:
    """Gradients become exponential * (gradient - dot) * scale, for whole runs of a row."""
    part, other = _row_of(exponentials, row, length), _row_of(gradients, row, length)
    for c in range(whole_runs(length)):
        other[c] = part[c] * (other[c] - dot) * scale
