"""Sums of products of vectors whose lanes are channels, in LLVM IR: which vectors meet is read from a list."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors
from ._strided_microkernels import ask

# Results of a run, whose sums are in registers: each takes a vector of its own and one that all share.
RUN = 8


@_intrinsic
def sum_products(typing, a, b, pairs, runs, step, pitch, first, results, later):
    """Runs of results: for each (begin, end, place, count) of `runs` and r < count <= RUN, the vector `place` + r * `pitch` of

    `results` = the vector `first` + the sum of a[pairs[k, 0] + r * step] * b[pairs[k, 1]] over begin <= k < end. Flat arrays, and
    elements at which vectors begin; `place` and `pitch` count vectors. As many cache lines as there are results are asked for
    from the address `later` on, to be written. Nothing is checked.
    """
    integer = types.int64
    signature = types.void(a, b, pairs, runs, integer, integer, first, results, integer)

    def emit(context, builder, signature, arguments):
        a, b, pairs, runs, first, results = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 3, 6, 7))
        step, pitch, later = (arguments[i] for i in (4, 5, 8))
        rows = cgutils.unpack_tuple(builder, context.make_array(signature.args[3])(context, builder, arguments[3]).shape)[0]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, a.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(RUN)]
        start = vectors.load(first)

        def number(value: int) -> Any:
            return ir.Constant(_INT, value)

        def sum_run(begin: Any, end: Any, place: Any, count: int) -> None:
            for r, total in enumerate(totals[:count]):
                builder.store(start, total)
                here = builder.add(place, builder.mul(pitch, number(r)))
                ask(builder, builder.add(later, builder.mul(here, number(64))), write=True)
            with cgutils.for_range_slice(builder, begin, end, number(1), intp=_INT) as (k, _):
                pair = _at(builder, pairs, builder.shl(k, number(1)))
                one, other = (builder.zext(builder.load(_at(builder, pair, side)), _INT) for side in range(2))
                shared = vectors.load(_at(builder, b, other))
                for r, total in enumerate(totals[:count]):
                    value = vectors.load(_at(builder, a, one, builder.mul(step, number(r))))
                    vectors.add_product(total, value, shared)
            for r, total in enumerate(totals[:count]):
                here = builder.add(place, builder.mul(pitch, number(r)))
                vectors.store(builder.load(total), _at(builder, results, builder.mul(here, number(lanes))))

        with cgutils.for_range(builder, rows) as loop:
            run = _at(builder, runs, builder.shl(loop.index, number(2)))
            begin, end, place, length = (builder.load(_at(builder, run, i)) for i in range(4))
            for count in range(1, RUN + 1):
                with builder.if_then(builder.icmp_signed("==", length, number(count))):
                    sum_run(begin, end, place, count)
        return context.get_dummy_value()

    return signature, emit
