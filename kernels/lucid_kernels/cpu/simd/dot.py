"""Inner products of several rows with several others at once, in registers."""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import constant, intrinsic
from .cpu_features import VECTOR_BYTES, WIDE
from .ir import Vectors, data_of, gep

# `dot_block` computes the products of DOT_ROWS rows with DOT_TAPS rows: 24 (12) sums. The taps stay in the L1 cache from one
# block of rows to the next; the rows come from the L2 cache, the more slowly the fewer taps share them.
DOT_ROWS = 4


DOT_TAPS = 6 if WIDE else 3


RUN_TAPS = 9


# The most positions behind the last whole block for which `dot_run` takes less than a vector of them, which takes 5/12 of a
# block: with it one image of 512 channels of 7x7 takes 0.8 of the time.
DOT_POSITIONS = 8


def _whole_vectors(sums: int) -> int:
    """The elements that `sums` fill, whole vectors of either dtype."""
    return -(-sums * 4 // VECTOR_BYTES) * VECTOR_BYTES // 4


# The elements that `dot_block` and `dot_run` write.
DOT_SUMS = _whole_vectors(DOT_ROWS * DOT_TAPS)


RUN_SUMS = _whole_vectors(RUN_TAPS)


def _make_dot(row_count: int, tap_count: int) -> Any:
    @intrinsic
    def dot(typing, g, g_start, rows, columns, start, taps, samples, g_step, step, count, sums):
        """Add to sums[r * tap_count + t] the products of `row_count` rows of g with `tap_count` rows of the columns, unchecked.

        `sums` has room for whole vectors (DOT_SUMS, RUN_SUMS).

        Row r of a sample starts at g[g_start + rows[r]], tap t at columns[start + taps[t]]; both have `count` elements. The next
        sample comes `g_step` and `step` elements later.
        """
        integer = types.int64
        signature = types.void(g, integer, rows, columns, integer, taps, integer, integer, integer, integer, sums)

        def emit(context, builder, signature, arguments):
            g, rows, columns, taps, sums = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 5, 10))
            g_start, start, samples, g_step, step, count = (arguments[i] for i in (1, 4, 6, 7, 8, 9))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, columns.type.pointee, lanes)
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(tap_count)] for _ in range(row_count)]
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)
            left = [gep(builder, g, g_start, builder.load(gep(builder, rows, r))) for r in range(row_count)]
            right = [gep(builder, columns, start, builder.load(gep(builder, taps, t))) for t in range(tap_count)]
            whole = builder.udiv(count, constant(lanes))
            rest = builder.urem(count, constant(lanes))
            mask = vectors.first(rest)

            def add(sample, j, load):
                g_sample, sample_start = builder.mul(sample, g_step), builder.mul(sample, step)
                values = [load(gep(builder, pointer, sample_start, j)) for pointer in right]
                for row, pointer in zip(totals, left):
                    scale = load(gep(builder, pointer, g_sample, j))
                    for total, value in zip(row, values):
                        vectors.add_product(total, value, scale)

            with cgutils.for_range(builder, samples) as sample:
                with cgutils.for_range(builder, whole) as loop:
                    add(sample.index, builder.mul(loop.index, constant(lanes)), vectors.load)
                with builder.if_then(builder.icmp_unsigned("!=", rest, constant(0))):
                    add(sample.index, builder.mul(whole, constant(lanes)), lambda p: vectors.load_masked(p, mask))
            for number, added in enumerate(vectors.sums([builder.load(total) for row in totals for total in row])):
                target = gep(builder, sums, number * lanes)
                vectors.store(builder.fadd(vectors.load(target), added), target)
            return context.get_dummy_value()

        return signature, emit

    return dot


dot_block = _make_dot(DOT_ROWS, DOT_TAPS)


dot_run = _make_dot(1, RUN_TAPS)
