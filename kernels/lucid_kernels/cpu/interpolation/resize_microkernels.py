"""Weighted sums of neighbouring rows, and of neighbouring columns of transposed rows, in LLVM IR."""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep
from ..simd.strided import prefetch_line

# Vectors of a row in registers at a time.
_VECTORS = 4


def _weighted(vectors: Vectors, weight: Any, taps: Any, totals: list[Any], load: Any) -> None:
    """totals = the sum over k below `taps` of weight[k] * load(k); without taps 0.

    The first product starts the sum: added to zero, -0.0 would become 0.0.
    """
    builder = vectors.builder
    for total in totals:
        builder.store(vectors.zero, total)
    with builder.if_then(builder.icmp_signed(">", taps, constant(0))):
        scale = vectors.splat(builder.load(weight))
        for total, value in zip(totals, load(constant(0))):
            builder.store(builder.fmul(scale, value), total)
        with cgutils.for_range_slice(builder, constant(1), taps, constant(1), intp=I64) as (k, _):
            scale = vectors.splat(builder.load(gep(builder, weight, k)))
            for total, value in zip(totals, load(k)):
                vectors.add_product(total, value, scale)


@intrinsic
def weigh_rows(typing, x, start, pitch, weights, first, taps, y, target, width):
    """y[target + j] = the sum over k below `taps` of weights[first + k] * x[start + k * pitch + j], for j below `width`.

    Flat arrays; nothing is checked.
    """
    integer = types.int64
    signature = types.void(x, integer, integer, weights, integer, integer, y, integer, integer)

    def emit(context, builder, signature, arguments):
        x, weights, y = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[at])
                         for i, at in ((0, 1), (3, 4), (6, 7)))
        pitch, taps, width = (arguments[i] for i in (2, 5, 8))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, x.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_VECTORS)]

        def source(k: Any, j: Any) -> Any:
            return gep(builder, x, builder.mul(k, pitch), j)

        block = constant(_VECTORS * lanes)
        whole = builder.sub(width, builder.srem(width, block))
        with cgutils.for_range_slice(builder, constant(0), whole, block, intp=I64) as (j, _):
            columns = [builder.add(j, constant(v * lanes)) for v in range(_VECTORS)]
            _weighted(vectors, weights, taps, totals, lambda k: [vectors.load(source(k, column)) for column in columns])
            for column, total in zip(columns, totals):
                vectors.store(builder.load(total), gep(builder, y, column))
        with cgutils.for_range_slice(builder, whole, width, constant(lanes), intp=I64) as (j, _):
            mask = vectors.first(builder.sub(width, j))
            _weighted(vectors, weights, taps, totals[:1], lambda k: [vectors.load_masked(source(k, j), mask)])
            vectors.store_masked(builder.load(totals[0]), gep(builder, y, j), mask)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def weigh_columns(typing, x, starts, counts, weights, step, y, later):
    """Vector j of y = the sum over k below counts[j] of weights[step * j + k] * vector starts[j] + k of x, for each of `counts`.

    As many vectors from the address `later` on are prefetched, to be written. Flat arrays; nothing is checked.
    """
    signature = types.void(x, starts, counts, weights, types.int64, y, types.int64)

    def emit(context, builder, signature, arguments):
        x, starts, counts, weights, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 3, 5))
        count = context.make_array(signature.args[2])(context, builder, arguments[2]).nitems
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, x.type.pointee, lanes)
        total = cgutils.alloca_once(builder, vectors.type)
        with cgutils.for_range(builder, count) as loop:
            j = loop.index
            prefetch_line(builder, builder.add(arguments[6], builder.mul(j, constant(VECTOR_BYTES))), write=True)
            source = gep(builder, x, builder.mul(builder.load(gep(builder, starts, j)), constant(lanes)))
            weight, taps = gep(builder, weights, builder.mul(j, arguments[4])), builder.load(gep(builder, counts, j))
            _weighted(vectors, weight, taps, [total],
                      lambda k: [vectors.load(gep(builder, source, builder.mul(k, constant(lanes))))])
            vectors.store(builder.load(total), gep(builder, y, builder.mul(j, constant(lanes))))
        return context.get_dummy_value()

    return signature, emit
