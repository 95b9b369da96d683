"""The register blocks of 1x1 convolutions with the 32 registers of AVX-512."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, ASKS_WITHIN, VECTOR_BYTES, _at, _intrinsic, _unrolled, _Vectors
from ._panels import VECTORS

# Three vectors of 64 bytes would take 0.9 of the time for many positions, but what is left of 64 fills a third of them: 1x1 taps
# of 56x56 positions take up to 1.24.
WIDE_ROWS = 8
EACH_STEP = 1 << 16  # the `pace` of a line with each step of a sum


def _make_multiply(columns: int) -> Any:
    @_intrinsic
    def multiply(typing, a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace):
        """WIDE_ROWS rows of c, `pitch` elements apart and `columns` vectors wide, are a @ b, and with `add` that plus `added`.

        `b` is a panel of pixels of `count` steps; the rows of `a` lie `line_step` apart, those of `added`, which may be those of
        c, `added_pitch`. Meanwhile it asks for two lines of each step of what will be packed next, at `later` and `later_step`
        elements apart: `pace` / EACH_STEP lines with each step of the sum; and for what the next block needs. Nothing is checked.
        """

        def emit(context, builder, signature, arguments):
            a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace = arguments
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = _Vectors(builder, a.type.pointee, lanes)

            def rows(start, step):
                return [_at(builder, start, builder.mul(step, ir.Constant(_INT, r))) for r in range(WIDE_ROWS)]

            def fetch_later(step):
                """Of many lines at once the processor drops some, and the others keep it from reading what it needs at once."""
                line = builder.udiv(builder.mul(step, pace), ir.Constant(_INT, EACH_STEP))
                half = builder.mul(builder.and_(line, ir.Constant(_INT, 1)), ir.Constant(_INT, (columns - 1) * lanes))
                place = builder.add(builder.mul(builder.lshr(line, ir.Constant(_INT, 1)), later_step), half)
                vectors.prefetch(_at(builder, later, place), write=False, level=2)

            def fetch_next(step):
                """Ask for a line of what the next block of rows writes, and for one of what it reads.

                What is read goes to the L2 cache: rows may lie 4 KiB apart, where the L1 cache has room for those of one block
                only.
                """
                row = builder.add(builder.and_(step, ir.Constant(_INT, WIDE_ROWS - 1)), ir.Constant(_INT, WIDE_ROWS))
                vector = builder.and_(builder.udiv(step, ir.Constant(_INT, WIDE_ROWS)), ir.Constant(_INT, columns - 1))
                vectors.prefetch(_at(builder, c, builder.mul(row, pitch), builder.mul(vector, ir.Constant(_INT, lanes))))
                line = builder.and_(step, ir.Constant(_INT, -lanes))
                vectors.prefetch(_at(builder, a, builder.mul(row, line_step), line), write=False, level=2)

            def multiply_step(step):
                source = _at(builder, b, builder.mul(step, ir.Constant(_INT, columns * lanes)))
                values = [vectors.load(_at(builder, source, v * lanes)) for v in range(columns)]
                fetch_later(step)
                if ASKS_WITHIN:
                    fetch_next(step)
                for line, start in zip(totals, starts):
                    scale = vectors.splat(builder.load(_at(builder, start, step)))
                    for total, value in zip(line, values):
                        vectors.add_product(total, value, scale)

            totals = [[cgutils.alloca_once_value(builder, vectors.zero) for _ in range(columns)] for _ in range(WIDE_ROWS)]
            targets, starts = rows(c, pitch), rows(a, line_step)
            _unrolled(builder, count, 1, multiply_step)
            vectors.store_sums(totals, targets, add, rows(added, added_pitch))
            return context.get_dummy_value()

        integer = types.int64
        return types.void(a, integer, b, integer, c, integer, types.boolean, added, integer, later, integer, integer), emit

    return multiply


multiply_wide, multiply_wide_narrow = _make_multiply(VECTORS), _make_multiply(1)
