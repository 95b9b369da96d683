"""Rows copied by vectors."""
from __future__ import annotations

from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import constant, intrinsic
from .cpu_features import VECTOR_BYTES
from .ir import Vectors, data_of, gep


@intrinsic
def copy_rows(typing, source, source_start, source_pitch, target, target_start, target_pitch, rows, count):
    """Copy some rows: for r below `rows` and i below `count`, unchecked,

    target[target_start + r * target_pitch + i] = source[source_start + r * source_pitch + i].

    The last vector of a row is masked: LLVM's own loop moves 64 elements at a time and the rest one by one, which takes four
    times as long for a plane of 7x7.
    """
    integer = types.int64
    signature = types.void(source, integer, integer, target, integer, integer, integer, integer)

    def emit(context, builder, signature, arguments):
        source = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
        target = gep(builder, data_of(context, builder, signature.args[3], arguments[3]), arguments[4])
        source_pitch, target_pitch, rows, count = (arguments[i] for i in (2, 5, 6, 7))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, source.type.pointee, lanes)
        whole, rest = (divide(count, constant(lanes)) for divide in (builder.udiv, builder.urem))
        mask, unfinished = vectors.first(rest), builder.icmp_unsigned("!=", rest, constant(0))
        with cgutils.for_range(builder, rows) as row:
            row_source = gep(builder, source, builder.mul(row.index, source_pitch))
            row_target = gep(builder, target, builder.mul(row.index, target_pitch))
            with cgutils.for_range(builder, whole) as loop:
                j = builder.mul(loop.index, constant(lanes))
                vectors.store(vectors.load(gep(builder, row_source, j)), gep(builder, row_target, j))
            with builder.if_then(unfinished):
                j = builder.mul(whole, constant(lanes))
                vectors.store_masked(vectors.load_masked(gep(builder, row_source, j), mask), gep(builder, row_target, j), mask)
        return context.get_dummy_value()

    return signature, emit
