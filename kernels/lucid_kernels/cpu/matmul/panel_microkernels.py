"""The register blocks of 1x1 convolutions: rows of the weight where it lies, times a panel of pixels.

With the 32 registers of AVX-512 they have 8 rows of two vectors. Three would take 0.9 of the time for many positions, but what is
left of 64 fills a third of them: 56x56 positions take up to 1.24. With the 16 of AVX2 a block has 6 rows, or 4, of two vectors,
and a panel is as wide as a cache line: 4 rows of three vectors, which share the loads as well, take 1.05 to 1.15 times as long.
Four steps of the sum share the prefetch of a line of the next panel and what else a loop needs: with that for each of them,
and prefetches of the next block, a Zen 3 has no room for all multiply-adds and reaches four fifths of its peak.
"""
from __future__ import annotations

from typing import Any

from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils

from ..runtime.intrinsic import constant, intrinsic
from ..runtime.jit import jit, jit_inline
from ..simd.cpu_features import PREFETCH_WITHIN, VECTOR_BYTES
from ..simd.ir import Vectors, gep, unrolled
from ..simd.pointer import moved
from .packing import VECTORS, make_copy

_IS_WIDE = VECTOR_BYTES == 64
PANEL_BYTES = VECTORS * VECTOR_BYTES  # of one step of the sum
# Rows of a block, by the bytes of a vector. The last blocks may have fewer, so that together they have all: an even number, with
# 16 registers.
_ROWS, _FEWER_ROWS = {32: 6, 64: 8}, {32: 4, 64: 8}
ROWS, FEWER_ROWS = _ROWS[VECTOR_BYTES], _FEWER_ROWS[VECTOR_BYTES]
_STEPS = 1 if _IS_WIDE else 4  # of the sum in each iteration of a loop
EACH_STEP = 1 << 16  # the `pace` of a line with each step of a sum


def filled(rows: int, vector_bytes: int = VECTOR_BYTES) -> int:
    """The least number from `rows` on of rows that blocks can have together."""
    most, fewest = _ROWS[vector_bytes], _FEWER_ROWS[vector_bytes]
    return max(fewest, rows + -rows % (most - fewest or most))


def fills_blocks(rows: int, vector_bytes: int = VECTOR_BYTES) -> bool:
    """Whether blocks can have that many rows together."""
    return filled(rows, vector_bytes) == rows


@jit
def block_count(rows: int) -> int:
    return (rows + ROWS - 1) // ROWS


@jit
def first_row(block: int, rows: int) -> int:
    """The first row of a block of those that have `rows` together."""
    blocks = block_count(rows)
    small = (blocks * ROWS - rows) // max(1, ROWS - FEWER_ROWS)
    return block * ROWS - max(0, block + small - blocks) * (ROWS - FEWER_ROWS)


def _make_multiply(row_count: int, columns: int) -> Any:
    @intrinsic
    def multiply(typing, a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace):
        """`row_count` rows of c, `pitch` elements apart and `columns` vectors wide, are a @ b, and with `add` that plus `added`.

        `b` is a panel of pixels of `count` steps; the rows of `a` lie `line_step` apart, those of `added`, which may be those of
        c, `added_pitch`. Meanwhile it prefetches the lines of each step of what will be packed next, at `later` and `later_step`
        elements apart: `pace` / EACH_STEP lines with each step of the sum, one in an iteration at most; with many registers also
        what the next block needs. Nothing is checked.
        """

        def emit(context, builder, signature, arguments):
            a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace = arguments
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, a.type.pointee, lanes)

            def rows(start, step):
                return [gep(builder, start, builder.mul(step, constant(r))) for r in range(row_count)]

            def multiply_step(step):
                source = gep(builder, b, builder.mul(step, constant(columns * lanes)))
                values = [vectors.load(gep(builder, source, v * lanes)) for v in range(columns)]
                for line, start in zip(totals, starts):
                    scale = vectors.splat(builder.load(gep(builder, start, step)))
                    for total, value in zip(line, values):
                        vectors.add_product(total, value, scale)

            def prefetch(step):
                """Of many lines at once the processor drops some, and the others keep it from reading what it needs at once."""
                line = builder.udiv(builder.mul(step, pace), constant(EACH_STEP))
                place = builder.mul(line, later_step)
                if _IS_WIDE:  # a step of a panel is two lines
                    half = builder.mul(builder.and_(line, constant(1)), constant((columns - 1) * lanes))
                    place = builder.add(builder.mul(builder.lshr(line, constant(1)), later_step), half)
                vectors.prefetch(gep(builder, later, place), write=False, level=2)
                if _IS_WIDE and PREFETCH_WITHIN:
                    prefetch_next(step)

            def prefetch_next(step):
                """For a line of what the next block of rows writes, and for one of what it reads.

                What is read goes to the L2 cache: rows may lie 4 KiB apart, where the L1 cache has room for those of one block
                only.
                """
                row = builder.add(builder.and_(step, constant(row_count - 1)), constant(row_count))
                vector = builder.and_(builder.udiv(step, constant(row_count)), constant(columns - 1))
                vectors.prefetch(gep(builder, c, builder.mul(row, pitch), builder.mul(vector, constant(lanes))))
                line = builder.and_(step, constant(-lanes))
                vectors.prefetch(gep(builder, a, builder.mul(row, line_step), line), write=False, level=2)

            totals = [[cgutils.alloca_once_value(builder, vectors.zero) for _ in range(columns)] for _ in range(row_count)]
            targets, starts = rows(c, pitch), rows(a, line_step)
            unrolled(builder, count, _STEPS, multiply_step, prefetch)
            vectors.store_sums(totals, targets, add, rows(added, added_pitch))
            return context.get_dummy_value()

        integer = types.int64
        return types.void(a, integer, b, integer, c, integer, types.boolean, added, integer, later, integer, integer), emit

    return multiply


_multiply, _multiply_narrow = (_make_multiply(ROWS, columns) for columns in (VECTORS, 1))
_multiply_fewer, _multiply_narrow_fewer = (_make_multiply(FEWER_ROWS, columns) for columns in (VECTORS, 1))


@jit_inline
def _multiply_with_few_registers(rows: int, a: Any, line_step: int, b: Any, narrow: bool, count: int, c: Any, pitch: int,
                                 add: bool, added: Any, added_pitch: int, later: Any, later_step: int, pace: int) -> None:
    """The block of `rows` rows, for a panel as wide as others or, `narrow`, of one vector. Inlined: calls take a fifth of the
    time for 64 channels.
    """
    if rows == ROWS:
        if narrow:
            _multiply_narrow(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
        else:
            _multiply(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    elif narrow:
        _multiply_narrow_fewer(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    else:
        _multiply_fewer(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)


@jit
def _multiply_with_many_registers(rows: int, a: Any, line_step: int, b: Any, narrow: bool, count: int, c: Any, pitch: int,
                                  add: bool, added: Any, added_pitch: int, later: Any, later_step: int, pace: int) -> None:
    if narrow:
        _multiply_narrow(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    else:
        _multiply(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)


multiply_pixels = _multiply_with_many_registers if _IS_WIDE else _multiply_with_few_registers


_copy_narrow, _copy_line = make_copy(1), make_copy(VECTORS)


@jit
def pack_pixels(source: Any, pitch: int, narrow: bool, count: int, panel: Any) -> None:
    """Copy the pixels of `count` channels, `pitch` elements apart, to a panel, or one of a vector if that is `narrow`."""
    lanes = VECTOR_BYTES // carray(source, (1,)).itemsize
    for step in range(count):
        if narrow:
            _copy_narrow(moved(source, step * pitch), moved(panel, step * lanes))
        else:
            _copy_line(moved(source, step * pitch), moved(panel, step * VECTORS * lanes))
