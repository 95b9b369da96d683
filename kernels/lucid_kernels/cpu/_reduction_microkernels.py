"""Sums of contiguous elements at the speed of memory, in LLVM IR."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Sums in registers: an addition takes 3 cycles, in which the L2 cache delivers 3 vectors at most.
_SUMS = 4
# Bytes from what is added to what is asked for. The processor's own prefetching does not go beyond a page: with this, arrays
# larger than the cache took 0.8 of the time, with 4 KiB as with 16 KiB.
_AHEAD = 8192


@_intrinsic
def sum_of(typing, flat, start, stop):
    """The sum of flat[start:stop], in the dtype of the array; nothing is checked."""
    signature = flat.dtype(flat, types.uint64, types.uint64)

    def emit(context, builder, signature, arguments):
        flat = _data(context, builder, signature.args[0], arguments[0])
        start, stop = arguments[1:]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, flat.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_SUMS)]
        for total in totals:
            builder.store(vectors.zero, total)

        def add(value: Any, total: Any) -> None:
            builder.store(builder.fadd(builder.load(total), value), total)

        def whole(first: Any, step: int) -> Any:
            """`first` moved on by as many whole steps as fit."""
            step = ir.Constant(_INT, step)
            return builder.add(first, builder.mul(builder.udiv(builder.sub(stop, first), step), step))

        most = whole(start, _SUMS * lanes)
        with cgutils.for_range_slice(builder, start, most, ir.Constant(_INT, _SUMS * lanes), intp=_INT) as (i, _):
            for number, total in enumerate(totals):
                place = _at(builder, flat, i, number * lanes)
                vectors.prefetch(_at(builder, place, _AHEAD * lanes // VECTOR_BYTES), write=False)
                add(vectors.load(place), total)
        rest = whole(most, lanes)
        with cgutils.for_range_slice(builder, most, rest, ir.Constant(_INT, lanes), intp=_INT) as (i, _):
            add(vectors.load(_at(builder, flat, i)), totals[0])
        with builder.if_then(builder.icmp_unsigned("<", rest, stop)):
            add(vectors.load_masked(_at(builder, flat, rest), vectors.first(builder.sub(stop, rest))), totals[1])
        sums = [builder.load(total) for total in totals]
        while len(sums) > 1:
            sums = [builder.fadd(*sums[at : at + 2]) for at in range(0, len(sums), 2)]
        return builder.extract_element(vectors.sums(sums)[0], ir.Constant(_INT, 0))

    return signature, emit
