"""Loops over one plane for the input gradient of depthwise convolution with strides of 2, in LLVM IR.

The gradients of two neighbouring rows and columns of the input meet different taps: the four kinds are summed in registers of
their own from the same loads, and interleaved as they are stored. Each upstream plane is read once and each result written
once: 0.25 to 0.4 of the time of four convolutions, one for each kind, and a pass that puts them together.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import constant, intrinsic
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep
from ...simd.lanes import Plane, for_steps

# Pairs of rows of results in registers at a time, each of four vectors.
_PAIRS = 2


def _make_spread(size: int) -> Any:
    """`spread_plane` for `size` rows and columns of taps."""

    @intrinsic
    def spread_plane(typing, g, g_start, g_height, g_width, weight, weight_start, top, left, x, x_start, x_height, x_width,
                     accumulate, spare):
        """Fill the plane of x from `x_start` on with the products of the taps, or with `accumulate` add them to it.

        Tap (a, b) is weight[weight_start + a * size + b]; g(i, j) goes through it to x(2 * i + a - top, 2 * j + b - left).
        `spare` has `g_width` zeros, and behind them `x_width` elements that are overwritten.
        Nothing is checked.
        """
        integer = types.int64
        signature = types.void(g, integer, integer, integer, weight, integer, integer, integer, x, integer, integer, integer,
                               types.boolean, spare)

        def emit(context, builder, signature, arguments):
            data = [data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 8)]
            g, weight, x = (gep(builder, pointer, arguments[i]) for pointer, i in zip(data, (1, 5, 9)))
            top, left, accumulate = (arguments[i] for i in (6, 7, 12))
            zeros = data_of(context, builder, signature.args[13], arguments[13])
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, g.type.pointee, lanes)
            upstream, results = Plane(vectors, g, *arguments[2:4]), Plane(vectors, x, *arguments[10:12])
            totals = {key: cgutils.alloca_once(builder, vectors.type) for key in
                      [(pair, row, column) for pair in range(_PAIRS) for row in range(2) for column in range(2)]}
            reach = (size + 1) // 2  # rows, and columns, of g that a row of results meets

            def first_pair(edge):
                """The first pair 2 * i - edge, 2 * i + 1 - edge with something inside."""
                return builder.ashr(edge, constant(1))

            def pairs(length, edge):
                """How many pairs have something inside."""
                return builder.sub(builder.ashr(builder.add(builder.add(length, edge), constant(1)), constant(1)),
                                   first_pair(edge))

            with for_steps(builder, pairs(results.height, top), _PAIRS) as (start, _):
                first = builder.add(start, first_pair(top))
                highest = builder.sub(first, constant(reach - 1))
                sources = dict(enumerate(upstream.rows(highest, reach - 1 + _PAIRS, zeros), 1 - reach))
                above = builder.sub(builder.mul(first, constant(2)), top)
                targets = results.rows(above, 2 * _PAIRS, gep(builder, zeros, upstream.width))
                with for_steps(builder, pairs(results.width, left), lanes) as (step, _):
                    column = builder.add(step, first_pair(left))
                    target = builder.sub(builder.mul(column, constant(2)), left)
                    for half in range(2):
                        there = builder.add(target, constant(half * lanes))
                        results.prefetch(above, 2 * _PAIRS, there, results.size, write=True)
                    upstream.prefetch(first, _PAIRS, column, upstream.size, write=False)
                    for total in totals.values():
                        builder.store(vectors.zero, total)
                    for across in range(reach):
                        at = builder.sub(column, constant(across))
                        inside = upstream.inside(at)
                        for i, row in sources.items():
                            value = vectors.load_masked(gep(builder, row, at), inside)
                            for (pair, down, right), total in totals.items():
                                a, b = 2 * (pair - i) + down, 2 * across + right
                                if 0 <= a < size and b < size:
                                    scale = vectors.splat(builder.load(gep(builder, weight, a * size + b)))
                                    vectors.add_product(total, value, scale)
                    for half in range(2):
                        place = builder.add(target, constant(half * lanes))
                        inside = results.inside(place)
                        behind = builder.sub(results.width, constant(lanes))
                        full = builder.and_(builder.icmp_signed(">=", place, constant(0)),
                                            builder.icmp_signed("<=", place, behind))
                        for r, row in enumerate(targets):
                            even, odd = (builder.load(totals[r // 2, r % 2, right]) for right in range(2))
                            pointer = gep(builder, row, place)
                            none = ir.Constant(inside.type, [0] * lanes)
                            before = vectors.load_masked(pointer, builder.select(accumulate, inside, none))
                            sums = builder.fadd(vectors.interleaved(even, odd, half), before)
                            vectors.store_reached(sums, pointer, inside, full)
            return context.get_dummy_value()

        return signature, emit

    return spread_plane


spread_3, spread_4, spread_5 = (_make_spread(size) for size in (3, 4, 5))
