"""Rows copied by vectors."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, intrinsic
from .cpu_features import VECTOR_BYTES
from .ir import Vectors, data_of, gep


def _make_copy(stride: int) -> Any:
    @intrinsic
    def copy(typing, source, source_start, source_pitch, target, target_start, target_pitch, rows, count):
        """Copy every `stride`-th element of some rows: for r below `rows` and i below `count`, unchecked,

        target[target_start + r * target_pitch + i] = source[source_start + r * source_pitch + stride * i].

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
            whole, rest = (divide(count, ir.Constant(I64, lanes)) for divide in (builder.udiv, builder.urem))
            # Of the last of the `stride` vectors only what is needed: the memory may end there.
            last = vectors.first(ir.Constant(I64, lanes - stride + 1))
            needed = builder.sub(builder.mul(rest, ir.Constant(I64, stride)), ir.Constant(I64, stride - 1))
            masks = [vectors.between(v * lanes, needed) for v in range(stride)]
            rest_mask, unfinished = vectors.first(rest), builder.icmp_unsigned("!=", rest, ir.Constant(I64, 0))

            def load(row, j, load_part):
                """The elements from `j` on, which lie in `stride` vectors of the source."""
                start = builder.mul(j, ir.Constant(I64, stride))
                parts = [load_part(gep(builder, row, start, v * lanes), v) for v in range(stride)]
                return parts[0] if stride == 1 else vectors.every_second(*parts)

            with cgutils.for_range(builder, rows) as row:
                row_source = gep(builder, source, builder.mul(row.index, source_pitch))
                row_target = gep(builder, target, builder.mul(row.index, target_pitch))
                with cgutils.for_range(builder, whole) as loop:
                    j = builder.mul(loop.index, ir.Constant(I64, lanes))
                    part = load(row_source, j, lambda p, v: vectors.load_masked(p, last) if v else vectors.load(p))
                    vectors.store(part, gep(builder, row_target, j))
                with builder.if_then(unfinished):
                    j = builder.mul(whole, ir.Constant(I64, lanes))
                    part = load(row_source, j, lambda p, v: vectors.load_masked(p, masks[v]))
                    vectors.store_masked(part, gep(builder, row_target, j), rest_mask)
            return context.get_dummy_value()

        return signature, emit

    return copy


copy_rows = _make_copy(1)


copy_every_second = _make_copy(2)
