"""Sums of products of vectors whose lanes are channels, in LLVM IR: which vectors meet is read from a list."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import I64, constant, intrinsic
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep, shuffle
from ...simd.strided import prefetch_line

# Results of a run, whose sums are in registers.
RUN = 8
# How many factors a meeting may have, which are in registers too: most windows have rows of that many, others of several such.
FACTORS = (7, 5, 3, 2, 1)
# Bytes of a cache line.
_LINE = 64


def _make(adds: bool) -> Any:
    """`sum_products`, or `add_products` if it `adds` what it finds."""

    @intrinsic
    def sum_products(typing, a, b, meetings, runs, step, width, factor_step, pitch, first, results, next_a, a_lines, next_b,
                     b_lines):
        """Runs of results: for each (begin, end, place, size) of `runs` and r < size <= RUN, the vector `place` + r * `pitch` of

        `results` = the vector `first` + the sum of a[start + (r + t) * step] * b[factor + t * factor_step] over t < count of each
        (start, column, factor, count) of `meetings` from `begin` to `end`, as far as 0 <= column + (r + t) * step < width: others
        are not in the row. Indices of vectors in flat arrays; each count is one of FACTORS. `add_products` adds that to
        `results`, which are float64. Nothing is checked.

        Each run prefetches `a_lines` cache lines, from the address `next_a` on, that will be read, and for `b_lines` from
        `next_b` on, that will be written, or by `add_products` read. Planes from memory take 0.7 of the time as where they are
        all prefetched at once: few lines can be in flight, and what needs another waits.
        """
        integer = types.int64
        signature = types.void(a, b, meetings, runs, *(integer,) * 4, first, results, *(integer,) * 4)

        def emit(context, builder, signature, arguments):
            a, b, meetings, runs, first, results = (data_of(context, builder, signature.args[i], arguments[i])
                                                    for i in (0, 1, 2, 3, 8, 9))
            step, width, factor_step, pitch = arguments[4:8]
            next_a, a_lines, next_b, b_lines = arguments[10:]
            rows = cgutils.unpack_tuple(builder, context.make_array(signature.args[3])(context, builder, arguments[3]).shape)[0]
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, a.type.pointee, lanes)
            totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(RUN)]
            start = vectors.load(first)

            def vector(array: Any, place: Any) -> Any:
                return gep(builder, array, builder.mul(place, constant(lanes)))

            def prefetch_lines(address: Any, part: Any, lines: Any, write: bool) -> None:
                begin = builder.add(address, builder.mul(builder.mul(part, lines), constant(_LINE)))
                with cgutils.for_range(builder, lines) as line:
                    prefetch_line(builder, builder.add(begin, builder.mul(line.index, constant(_LINE))), write)

            def meet(size: int, count: int, place: Any, column: Any, factor: Any) -> None:
                """Add the products of `count` factors to `size` sums: each vector of `a` is loaded once for all that it meets."""
                factors = []
                for _ in range(count):
                    factors.append(vectors.load(vector(b, factor)))
                    factor = builder.add(factor, factor_step)
                for met in range(size + count - 1):
                    with builder.if_then(builder.icmp_unsigned("<", column, width)):
                        value = vectors.load(vector(a, place))
                        for t in range(max(0, met - size + 1), min(count, met + 1)):
                            vectors.add_product(totals[met - t], value, factors[t])
                    place, column = builder.add(place, step), builder.add(column, step)

            def put(total: Any, target: Any) -> None:
                if not adds:
                    vectors.store(total, target)
                    return
                wide = Vectors(builder, ir.DoubleType(), min(lanes, VECTOR_BYTES // 8))
                for part in range(0, lanes, wide.type.count):
                    added = shuffle(builder, total, total, range(part, part + wide.type.count))
                    if added.type != wide.type:
                        added = builder.fpext(added, wide.type)
                    place = gep(builder, target, part)
                    wide.store(builder.fadd(wide.load(place), added), place)

            def sum_run(begin: Any, end: Any, place: Any, size: int) -> None:
                for total in totals[:size]:
                    builder.store(start, total)
                with cgutils.for_range_slice(builder, begin, end, constant(1), intp=I64) as (k, _):
                    meeting = gep(builder, meetings, builder.shl(k, constant(2)))
                    there, column, factor, count = (builder.sext(builder.load(gep(builder, meeting, i)), I64) for i in range(4))
                    behind = builder.append_basic_block("met")
                    choice = builder.switch(count, behind)
                    for some in FACTORS:
                        block = builder.append_basic_block(f"meet{some}")
                        choice.add_case(constant(some), block)
                        builder.position_at_end(block)
                        meet(size, some, there, column, factor)
                        builder.branch(behind)
                    builder.position_at_end(behind)
                for r, total in enumerate(totals[:size]):
                    put(builder.load(total), vector(results, builder.add(place, builder.mul(pitch, constant(r)))))

            with cgutils.for_range(builder, rows) as loop:
                run = gep(builder, runs, builder.shl(loop.index, constant(2)))
                begin, end, place, length = (builder.load(gep(builder, run, i)) for i in range(4))
                prefetch_lines(next_a, loop.index, a_lines, False)
                prefetch_lines(next_b, loop.index, b_lines, not adds)
                for size in range(1, RUN + 1):
                    with builder.if_then(builder.icmp_signed("==", length, constant(size))):
                        sum_run(begin, end, place, size)
            return context.get_dummy_value()

        return signature, emit

    return sum_products


sum_products, add_products = _make(False), _make(True)
