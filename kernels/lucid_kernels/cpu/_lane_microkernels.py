"""Sums of products of vectors whose lanes are channels, in LLVM IR: which vectors meet is read from a list."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors
from ._strided_microkernels import ask

# Products added to sums of their own: more than one addition is under way.
_SUMS = 4


@_intrinsic
def sum_products(typing, a, b, pairs, ends, first, results, later):
    """Vector r of `results` = the vector `first` + the sum of a[pairs[k, 0]] * b[pairs[k, 1]], ends[r] <= k < ends[r + 1].

    Flat arrays, and elements at which vectors begin. As many cache lines as there are results are asked for from the address
    `later` on, to be written. Nothing is checked.
    """
    signature = types.void(a, b, pairs, ends, first, results, types.int64)

    def emit(context, builder, signature, arguments):
        a, b, pairs, ends, first, results = (_data(context, builder, signature.args[i], arguments[i]) for i in range(6))
        count = context.make_array(signature.args[3])(context, builder, arguments[3]).nitems
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, a.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_SUMS)]
        start = vectors.load(first)

        def number(value: int) -> Any:
            return ir.Constant(_INT, value)

        def add(total: Any, k: Any, further: int) -> None:
            pair = _at(builder, pairs, builder.shl(k, number(1)), 2 * further)
            one, other = (builder.zext(builder.load(_at(builder, pair, side)), _INT) for side in range(2))
            vectors.add_product(total, vectors.load(_at(builder, a, one)), vectors.load(_at(builder, b, other)))

        with cgutils.for_range(builder, builder.sub(count, number(1))) as loop:
            ask(builder, builder.add(arguments[6], builder.mul(loop.index, number(64))), write=True)
            begin = builder.load(_at(builder, ends, loop.index))
            end = builder.load(_at(builder, ends, loop.index, 1))
            whole = builder.and_(builder.sub(end, begin), number(-_SUMS))
            middle = builder.add(begin, whole)
            for total in totals:
                builder.store(start if total is totals[0] else vectors.zero, total)
            with cgutils.for_range_slice(builder, begin, middle, number(_SUMS), intp=_INT) as (k, _):
                for further, total in enumerate(totals):
                    add(total, k, further)
            with cgutils.for_range_slice(builder, middle, end, number(1), intp=_INT) as (k, _):
                add(totals[0], k, 0)
            parts = [builder.load(total) for total in totals]
            while len(parts) > 1:
                parts = [builder.fadd(*parts[at : at + 2]) for at in range(0, len(parts), 2)]
            vectors.store(parts[0], _at(builder, results, builder.mul(loop.index, number(lanes))))
        return context.get_dummy_value()

    return signature, emit
