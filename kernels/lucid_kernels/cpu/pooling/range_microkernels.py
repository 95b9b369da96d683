"""Maxima of neighbouring rows, and of neighbouring columns of transposed rows, with their positions, in LLVM IR.

Positions are integers as wide as the elements, so that one mask is enough for both.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep
from ..simd.lanes import Scalars

# Vectors of a row in registers at a time.
_VECTORS = 2


class _Positions(Scalars):
    """Vectors of positions, which go with those of the elements."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__(vectors.builder, vectors.type.count, ir.IntType(8 * vectors.alignment))

    def splat(self, number: Any) -> Any:
        """A vector of a 64-bit number."""
        element = self.type.element
        return super().splat(number if element == I64 else self.builder.trunc(number, element))


@intrinsic
def max_down(typing, x, start, pitch, rows, position, best, positions, target, width):
    """best[target + j] = the maximum over k below `rows` of x[start + k * pitch + j], for j below `width`, at least one row;

    positions[target + j] = position + k * pitch + j: the first of equal ones, but the last NaN. Whole vectors are written. Flat
    arrays; nothing is checked.
    """
    integer = types.int64
    signature = types.void(x, integer, integer, integer, integer, best, positions, integer, integer)

    def emit(context, builder, signature, arguments):
        x, best, positions = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 5, 6))
        start, pitch, rows, position, target, width = (arguments[i] for i in (1, 2, 3, 4, 7, 8))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, x.type.pointee, lanes)
        integers = _Positions(vectors)
        steps = ir.Constant(integers.type, list(range(lanes)))
        slots = [(cgutils.alloca_once(builder, vectors.type), cgutils.alloca_once(builder, integers.type))
                 for _ in range(_VECTORS)]

        def columns(first: Any, load: list[Any]) -> None:
            """The vectors of columns from `first` on, which each of `load` reads."""
            for number, (value, where) in enumerate(slots[: len(load)]):
                column = builder.add(first, constant(number * lanes))
                builder.store(load[number](gep(builder, x, start, column)), value)
                builder.store(builder.add(integers.splat(builder.add(position, column)), steps), where)
            with cgutils.for_range_slice(builder, constant(1), rows, constant(1), intp=I64) as (k, _):
                offset = builder.mul(k, pitch)
                for number, (value, where) in enumerate(slots[: len(load)]):
                    column = builder.add(first, constant(number * lanes))
                    here, best_here = load[number](gep(builder, x, start, offset, column)), builder.load(value)
                    place = builder.add(integers.splat(builder.add(builder.add(position, column), offset)), steps)
                    better = builder.fcmp_unordered("uno", here, here)
                    better = builder.or_(better, builder.fcmp_ordered(">", here, best_here))
                    builder.store(builder.select(better, here, best_here), value)
                    builder.store(builder.select(better, place, builder.load(where)), where)
            for number, (value, where) in enumerate(slots[: len(load)]):
                end = builder.add(target, builder.add(first, constant(number * lanes)))
                vectors.store(builder.load(value), gep(builder, best, end))
                integers.store(builder.load(where), gep(builder, positions, end))

        block = constant(_VECTORS * lanes)
        whole = builder.sub(width, builder.srem(width, block))
        with cgutils.for_range_slice(builder, constant(0), whole, block, intp=I64) as (j, _):
            columns(j, [vectors.load] * _VECTORS)
        with cgutils.for_range_slice(builder, whole, width, constant(lanes), intp=I64) as (j, _):
            mask = vectors.first(builder.sub(width, j))
            columns(j, [lambda pointer: vectors.load_masked(pointer, mask)])
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def max_across(typing, x, positions, starts, stops, first, last, shift, y, where):
    """Vector j - first of y = the maximum of the vectors starts[j] - shift..stops[j] - shift of x, for j from `first` to `last`;

    of `where`, the `positions` that belong to them: the smallest of equal elements, but the largest of NaN. Flat
    arrays; nothing is checked.
    """
    integer = types.int64
    signature = types.void(x, positions, starts, stops, integer, integer, integer, y, where)

    def emit(context, builder, signature, arguments):
        x, positions, starts, stops, y, where = (data_of(context, builder, signature.args[i], arguments[i])
                                              for i in (0, 1, 2, 3, 7, 8))
        first, last, shift = arguments[4:7]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, x.type.pointee, lanes)
        integers = _Positions(vectors)
        value, place = cgutils.alloca_once(builder, vectors.type), cgutils.alloca_once(builder, integers.type)

        def column(j: Any) -> tuple[Any, Any]:
            at = builder.mul(builder.sub(j, shift), constant(lanes))
            return vectors.load(gep(builder, x, at)), integers.load(gep(builder, positions, at))

        with cgutils.for_range_slice(builder, first, last, constant(1), intp=I64) as (j, _):
            start = builder.load(gep(builder, starts, j))
            for slot, vector in zip((value, place), column(start)):
                builder.store(vector, slot)
            stop = builder.load(gep(builder, stops, j))
            with cgutils.for_range_slice(builder, builder.add(start, constant(1)), stop, constant(1), intp=I64) as (k, _):
                (here, number), best, least = column(k), builder.load(value), builder.load(place)
                earlier, nan = builder.icmp_signed("<", number, least), builder.fcmp_unordered("uno", here, here)
                equal = builder.and_(builder.fcmp_ordered("==", here, best), earlier)
                known = builder.and_(builder.fcmp_unordered("uno", best, best), earlier)  # a NaN that comes later
                better = builder.or_(builder.fcmp_ordered(">", here, best), equal)
                better = builder.or_(better, builder.and_(nan, builder.not_(known)))
                builder.store(builder.select(better, here, best), value)
                builder.store(builder.select(better, number, least), place)
            end = builder.mul(builder.sub(j, first), constant(lanes))
            vectors.store(builder.load(value), gep(builder, y, end))
            integers.store(builder.load(place), gep(builder, where, end))
        return context.get_dummy_value()

    return signature, emit
