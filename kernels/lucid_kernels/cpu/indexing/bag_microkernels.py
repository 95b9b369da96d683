"""Sums of rows of a table that are named one after the other, held in vector registers, in LLVM IR."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep

# Vectors of a row that are added up at a time: the most of these that are left.
_VECTORS = (8, 4, 2, 1)
# Rows that are prefetched: they lie anywhere in the table, which the processor does not foresee.
_AHEAD = 8


@intrinsic
def sum_rows(typing, weight, indices, first, last, end, factors, weighted, y, start):
    """y[start : start + D] = the sum of the rows weight[indices[i]] of a table (V, D), times factors[i] where `weighted`, for i
    in first..last; `end` is how many indices there are. Nothing is checked.
    """
    integer = types.int64
    signature = types.void(weight, indices, integer, integer, integer, factors, types.boolean, y, integer)

    def emit(context, builder, signature, arguments):
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, table.shape)[1]
        indices, factors, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (1, 5, 7))
        first, last, end, weighted, start = (arguments[i] for i in (2, 3, 4, 6, 8))
        kind = signature.args[0].dtype
        vectors = Vectors(builder, context.get_data_type(kind), VECTOR_BYTES // (kind.bitwidth // 8))
        lanes = vectors.type.count
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_VECTORS[0])]
        one = constant(1)

        def row(i: Any) -> Any:
            return gep(builder, table.data, builder.mul(builder.load(gep(builder, indices, i)), width))

        def add_up(column: Any, count: int, mask: Any) -> None:
            """The sums of `count` vectors of columns; a mask is that of the only one."""
            for total in totals[:count]:
                builder.store(vectors.zero, total)
            with cgutils.for_range_slice(builder, first, last, one, intp=I64) as (i, _):
                ahead = builder.add(i, constant(_AHEAD))
                ahead = gep(builder, row(builder.select(builder.icmp_signed("<", ahead, end), ahead, i)), column)
                here = gep(builder, row(i), column)
                factor = cgutils.alloca_once_value(builder, ir.Constant(vectors.type.element, 1.0))
                with builder.if_then(weighted):
                    builder.store(builder.load(gep(builder, factors, i)), factor)
                scale = vectors.splat(builder.load(factor))
                for vector, total in enumerate(totals[:count]):
                    vectors.prefetch(gep(builder, ahead, vector * lanes), write=False)
                    vectors.add_product(total, vectors.load_part(gep(builder, here, vector * lanes), mask), scale)
            for vector, total in enumerate(totals[:count]):
                target = gep(builder, y, start, column, vector * lanes)
                if mask is None:
                    vectors.store(builder.load(total), target)
                else:
                    vectors.store_masked(builder.load(total), target, mask)

        column = constant(0)
        for count in _VECTORS:
            block = constant(count * lanes)
            whole = builder.sub(width, builder.srem(builder.sub(width, column), block))
            with cgutils.for_range_slice(builder, column, whole, block, intp=I64) as (at, _):
                add_up(at, count, None)
            column = whole
        with builder.if_then(builder.icmp_signed("<", column, width)):
            add_up(column, 1, vectors.first(builder.sub(width, column)))
        return context.get_dummy_value()

    return signature, emit
