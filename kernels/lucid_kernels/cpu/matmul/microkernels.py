"""Register blocks of a matrix product over operands that may lie anywhere, with masks at the edges."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, gep, unrolled

MOST_VECTORS = 3  # of a block: with four rows 12 sums in 16 registers, with AVX-512 and eight rows 24 in 32
# Steps of a sum in one iteration: the bookkeeping of each takes as many instructions as its multiply-adds with AVX2.
_STEPS = 1 if VECTOR_BYTES == 64 else 4


def _opaque(builder: ir.IRBuilder, value: Any) -> Any:
    """`value`, of which LLVM does not know what it is: with what it knew, it kept the addresses of all rows at all unrolled
    steps, more than there are registers for, and products took 1.3 times as long on a Zen 3.
    """
    return builder.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [value], False)


def make_multiply(row_count: int, vector_count: int, *, filled: bool = False, prefetches: bool = False) -> Any:
    """The block of so many rows and vectors, which may read whole vectors of `filled` rows of b, and `prefetches` what the next
    block of rows reads and writes.
    """

    @intrinsic
    def multiply(typing, a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free):
        """`rows`, at most `row_count`, and `columns` of c are a @ b for `count` steps of the sum, and with `add` that plus
        `added`, whose rows are `added_pitch` apart: 0 for the same row always. For pointers; nothing is checked.

        Missing rows are the last one again; the columns fill `vector_count` vectors, the last one in part. With `free`, what
        follows a row may be written.
        """

        def emit(context, builder, signature, arguments):
            a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free = arguments
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, a.type.pointee, lanes)
            last = vectors.between((vector_count - 1) * lanes, columns)
            whole = builder.or_(free, builder.icmp_signed("==", columns, constant(vector_count * lanes)))
            limit = builder.sub(rows, constant(1))

            def lines(start, step):
                indices = (constant(r) for r in range(row_count))
                reached = (builder.select(builder.icmp_signed("<", row, limit), row, limit) for row in indices)
                return [gep(builder, start, builder.mul(row, step)) for row in reached]

            def load(line, whole=False):
                pointers = [gep(builder, line, v * lanes) for v in range(vector_count)]
                return [*map(vectors.load, pointers[:-1]), vectors.load_part(pointers[-1], None if whole else last)]

            def prefetch(index):
                """A line of each row of the next block in turn; read to the L2 cache, as L1 may have room for one block."""
                row = builder.add(builder.urem(index, constant(row_count)), constant(row_count))
                line = builder.mul(builder.and_(index, constant(-lanes)), depth_step)
                vectors.prefetch(gep(builder, a, builder.mul(row, row_step), line), write=False, level=2)
                vector = builder.urem(builder.udiv(index, constant(row_count)), constant(vector_count))
                vectors.prefetch(gep(builder, c, builder.mul(row, c_pitch), builder.mul(vector, constant(lanes))))

            starts, targets = lines(a, row_step), lines(c, c_pitch)
            totals = [[cgutils.alloca_once_value(builder, vectors.zero) for _ in range(vector_count)] for _ in range(row_count)]

            line_slot, step_slot = (cgutils.alloca_once_value(builder, x) for x in (b, constant(0)))

            def multiply_step(_):
                line, step = builder.load(line_slot), builder.load(step_slot)
                values = load(line, filled)
                for start, total in zip(starts, totals):
                    scale = vectors.splat(builder.load(gep(builder, start, step)))
                    for sum_, value in zip(total, values):
                        vectors.add_product(sum_, value, scale)
                builder.store(gep(builder, line, pitch), line_slot)
                after = builder.add(step, depth_step)
                builder.store(_opaque(builder, after) if _STEPS > 1 else after, step_slot)

            unrolled(builder, count, _STEPS, multiply_step, prefetch if prefetches else lambda _: None)
            with builder.if_then(add):
                for line, total in zip(lines(added, added_pitch), totals):
                    for sum_, value in zip(total, load(line)):
                        builder.store(builder.fadd(builder.load(sum_), value), sum_)
            for target, total in zip(targets, totals):
                for v, sum_ in enumerate(total[:-1]):
                    vectors.store(builder.load(sum_), gep(builder, target, v * lanes))
                vectors.store_reached(builder.load(total[-1]), gep(builder, target, (vector_count - 1) * lanes), last, whole)
            return context.get_dummy_value()

        integer, flag = types.int64, types.boolean
        return types.void(a, integer, integer, b, integer, integer, integer, integer, c, integer, flag, added, integer,
                          flag), emit  # fmt: skip

    return multiply
