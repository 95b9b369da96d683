"""Sums of outer products in registers, in LLVM IR: the products of Winograd's convolution, whose channels are neighbours."""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import constant, intrinsic
from ...runtime.jit import jit
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep, unrolled
from ..channels_last import LANES
from ..direct.microkernels import ROWS

# Vectors of a panel: three, which AVX2 has registers for, would leave a ninth of 64 channels empty.
VECTORS = 2
# Columns of a panel; the last one may have a single vector.
PANEL = VECTORS * LANES
# Rows that are computed together with a panel of a single vector, for as many sums as with a whole one.
LINES = ROWS * VECTORS
# Rows that are computed together with a whole panel, and what is left with ROWS at a time. With 16 registers six are 12 sums, and
# two of their steps share an iteration: 0.8 to 0.9 of the time, 0.9 to 1.0 of weight gradients. Of four steps the prefetches
# leave lines out: these took 1.1 to 1.2 times as long, and 1.05 with two steps of ROWS rows as well.
MORE_ROWS, _STEPS = (ROWS, 1) if VECTOR_BYTES == 64 else (6, 2)


def _make_outer(row_count: int, vector_count: int, together: int) -> Any:
    @intrinsic
    def outer(typing, a, a_start, line, step, b, b_start, width, count, c, c_start, pitch, accumulate, ahead, pace):
        """c[c_start + r * pitch + j] = sum over k < count of a[a_start + r * line + k * step] * b[b_start + k * width + j],

        or with `accumulate` the sum added to what is there, for r < row_count and the j of `vector_count` vectors; nothing is
        checked. Each step prefetches the cache line of b[ahead + k * pace], or what lies behind b.
        """
        integer = types.int64
        signature = types.void(a, *(integer,) * 3, b, *(integer,) * 3, c, integer, integer, types.boolean, integer, integer)

        def emit(context, builder, signature, arguments):
            a, b, c = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[i + 1])
                       for i in (0, 4, 8))
            line, step, width, count, pitch, accumulate, pace = (arguments[i] for i in (2, 3, 6, 7, 10, 11, 13))
            ahead = gep(builder, data_of(context, builder, signature.args[4], arguments[4]), arguments[12])
            vectors = Vectors(builder, b.type.pointee, LANES)
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(vector_count)] for _ in range(row_count)]
            lines, targets = ([gep(builder, pointer, builder.mul(each, constant(r))) for r in range(row_count)]
                              for pointer, each in ((a, line), (c, pitch)))
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)

            def prefetch_line(step):
                vectors.prefetch(gep(builder, ahead, builder.mul(step, pace)), write=False)

            def multiply_step(index):
                source = gep(builder, b, builder.mul(index, width))
                values = [vectors.load(gep(builder, source, v * LANES)) for v in range(vector_count)]
                for row, scales in zip(totals, lines):
                    scale = vectors.splat(builder.load(gep(builder, scales, builder.mul(index, step))))
                    for total, value in zip(row, values):
                        vectors.add_product(total, value, scale)

            unrolled(builder, count, together, multiply_step, prefetch_line)
            # Added last: a sum over few steps has smaller errors than one that runs on from what is there.
            vectors.store_sums(totals, targets, accumulate, targets)
            return context.get_dummy_value()

        return signature, emit

    return outer


_outer_more, _outer_fewer = _make_outer(MORE_ROWS, VECTORS, _STEPS), _make_outer(ROWS, VECTORS, 1)
_outer_single = _make_outer(LINES, 1, 1)  # two steps would need more than 16 registers


def _make_prefetch(write: bool, level: int) -> Any:
    @intrinsic
    def prefetch(typing, array, start, lines):
        """Prefetch some cache lines of a flat array, or what lies behind it, from an element on."""
        signature = types.void(array, types.int64, types.int64)

        def emit(context, builder, signature, arguments):
            pointer = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
            vectors = Vectors(builder, pointer.type.pointee, LANES)
            with cgutils.for_range(builder, arguments[2]) as loop:
                vectors.prefetch(gep(builder, pointer, builder.mul(loop.index, constant(LANES))), write, level)
            return context.get_dummy_value()

        return signature, emit

    return prefetch


prefetch_to_read, prefetch_to_write = _make_prefetch(write=False, level=2), _make_prefetch(write=True, level=1)


@jit
def multiply_panel(a, a_start, line, step, rows, b, b_start, width, count, c, c_start, pitch, accumulate):
    """`rows` rows, a multiple of LINES, of c by a panel of b, `width` elements wide: PANEL or a vector (`_make_outer`).

    While it computes, it prefetches what follows the panel in memory, which is the next panel, a line in a few steps. Where a
    large weight comes from the L3 cache, that takes 0.55 to 0.75 of the time; with the lines of a block of rows all at once,
    which wait for each other, hardly less than without.
    """
    each = MORE_ROWS if width == PANEL else LINES
    pace = (width * each + rows - 1) // rows
    # Blocks of ROWS rows, for an even number of rows.
    fewer = -rows % MORE_ROWS // (MORE_ROWS - ROWS) if MORE_ROWS > ROWS and width == PANEL else 0
    for r in range(0, rows - fewer * ROWS, each):
        ahead = b_start + width * count + r * width * count // rows
        if width == PANEL:
            _outer_more(a, a_start + r * line, line, step, b, b_start, width, count, c, c_start + r * pitch, pitch, accumulate,
                        ahead, pace)
        else:
            _outer_single(a, a_start + r * line, line, step, b, b_start, width, count, c, c_start + r * pitch, pitch,
                          accumulate, ahead, pace)
    for r in range(rows - fewer * ROWS, rows, ROWS):
        ahead = b_start + width * count + r * width * count // rows
        _outer_fewer(a, a_start + r * line, line, step, b, b_start, width, count, c, c_start + r * pitch, pitch, accumulate,
                     ahead, pace)
