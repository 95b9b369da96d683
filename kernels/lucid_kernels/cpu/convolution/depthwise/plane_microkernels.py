"""Loops over one plane for depthwise convolution, in LLVM IR: rows of pixels in registers, masked edges, no padded copy.

A vector of pixels, once loaded, meets all output rows of a block that it reaches: 9 loads, not 21, for a column of 3 taps at 7
rows. Loads that cross cache lines are what bounds these loops. They prefetch the next plane while they work on this one: in this
order of reading the processor does not foresee it, and a plane from memory would take five times as long.

Rows outside of a plane are a row of zeros elsewhere, and what is computed for some is written elsewhere: a mask for each row and
column took as long as the products, for there are 7 registers for masks.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import I64, constant, intrinsic
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep
from ...simd.lanes import LANE, Plane, for_steps

# Rows of results in registers at a time. A multiply-add takes four cycles and two start in each: with 4 rows 7x7 taps took 1.6
# times as long, 3x3 taps 1.3 times. 7 divide the planes of most networks for images of 224 pixels. 16 registers have room for 4.
_ROWS = 7 if VECTOR_BYTES == 64 else 4


def _make_filter(height: int, stride: int) -> Any:
    """`filter_plane` for `height` rows of taps and a stride of 1 or 2 in both directions."""

    @intrinsic
    def filter_plane(typing, x, x_start, x_height, x_width, weight, weight_start, columns, dilation, top, left, bias, y, y_start,
                     y_height, y_width, accumulate, spare):
        """Fill the plane of y from `y_start` on with bias plus the products of the taps, or with `accumulate` add these to it.

        Tap (a, b) is weight[weight_start + a * columns + b]; for the output (i, j) it meets the pixel (stride * i + a - top,
        stride * j + b * dilation - left). With a stride of 2 neighbouring taps share what is loaded, and the dilation is 1.
        `spare` has `x_width` zeros, and behind them `y_width` elements that are overwritten.
        Nothing is checked.
        """
        integer = types.int64
        signature = types.void(x, integer, integer, integer, weight, integer, integer, integer, integer, integer, x.dtype, y,
                               integer, integer, integer, types.boolean, spare)

        def emit(context, builder, signature, arguments):
            data = [data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 11)]
            x, weight, y = (gep(builder, pointer, arguments[i]) for pointer, i in zip(data, (1, 5, 12)))
            columns, dilation, top, left, bias = (arguments[i] for i in (6, 7, 8, 9, 10))
            zeros = data_of(context, builder, signature.args[16], arguments[16])
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, x.type.pointee, lanes)
            pixels, results = Plane(vectors, x, *arguments[2:4]), Plane(vectors, y, *arguments[13:15])
            totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_ROWS)]

            with for_steps(builder, results.height, _ROWS) as (first, _):
                above = builder.sub(builder.mul(first, constant(stride)), top)
                rows = pixels.rows(above, stride * (_ROWS - 1) + height, zeros)
                targets = results.rows(first, _ROWS, gep(builder, zeros, pixels.width))
                with for_steps(builder, results.width, lanes) as (j, _):
                    results.prefetch(first, _ROWS, j, results.size, write=True)
                    column = builder.mul(j, constant(stride))
                    for part in range(stride):
                        there = builder.add(column, constant(part * lanes))
                        pixels.prefetch(above, stride * _ROWS, there, pixels.size, write=False)
                    reached = results.inside(j)
                    written = [gep(builder, row, j) for row in targets]
                    full = builder.icmp_signed("<=", builder.add(j, constant(lanes)), results.width)
                    for total in totals:
                        builder.store(vectors.splat(bias), total)
                    with builder.if_then(arguments[15]):
                        for total, target in zip(totals, written):
                            builder.store(vectors.load_masked(target, reached), total)

                    def add_columns(tap: Any, count: int) -> None:
                        """Add the products of `count` columns of taps, which share what is loaded."""
                        tapped = builder.sub(builder.add(column, builder.mul(tap, dilation)), left)
                        masks = [pixels.inside(builder.add(tapped, constant(part * lanes))) for part in range(stride)]
                        scales = [[vectors.splat(builder.load(gep(builder, weight, tap, builder.mul(columns, constant(a)), b)))
                                   for a in range(height)] for b in range(count)]
                        for i, row in enumerate(rows):
                            parts = [vectors.load_masked(gep(builder, row, tapped, part * lanes), mask)
                                     for part, mask in enumerate(masks)]
                            for b in range(count):
                                value = parts[0] if stride == 1 else vectors.every_second(parts[0], parts[1], b)
                                for a in range(height):
                                    r, rest = divmod(i - a, stride)
                                    if rest == 0 and 0 <= r < _ROWS:
                                        vectors.add_product(totals[r], value, scales[b][a])

                    paired = builder.and_(columns, constant(-stride))
                    with for_steps(builder, paired, stride) as (tap, _):
                        add_columns(tap, stride)
                    if stride == 2:
                        with builder.if_then(builder.icmp_signed("<", paired, columns)):
                            add_columns(paired, 1)
                    for total, target in zip(totals, written):
                        vectors.store_reached(builder.load(total), target, reached, full)
            return context.get_dummy_value()

        return signature, emit

    return filter_plane


@intrinsic
def filter_3x3(typing, x, x_start, x_height, x_width, weight, weight_start, top, left, bias, y, y_start, y_height, y_width,
               accumulate, spare):
    """`filter_plane` for 3x3 taps without strides and dilation, two vectors of results at a time.

    What the second and the third column of taps meet is shifted out of what the first one does, and what follows: 3 loads that
    cross cache lines for 2 vectors, not 6. Planes of 28x28 to 112x112 take 0.73 to 0.84 of the time.
    """
    integer = types.int64
    signature = types.void(x, integer, integer, integer, weight, integer, integer, integer, x.dtype, y, integer, integer, integer,
                           types.boolean, spare)

    def emit(context, builder, signature, arguments):
        data = [data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 9)]
        x, weight, y = (gep(builder, pointer, arguments[i]) for pointer, i in zip(data, (1, 5, 10)))
        top, left, bias, accumulate = (arguments[i] for i in (6, 7, 8, 13))
        zeros = data_of(context, builder, signature.args[14], arguments[14])
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, x.type.pointee, lanes)
        pixels, results = Plane(vectors, x, *arguments[2:4]), Plane(vectors, y, *arguments[11:13])
        totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(2)] for _ in range(_ROWS)]
        scales = [[vectors.splat(builder.load(gep(builder, weight, 3 * a + b))) for b in range(3)] for a in range(3)]
        indices = ir.VectorType(LANE, lanes)
        moves = [ir.Constant(indices, list(range(b, b + lanes))) for b in range(3)]

        with for_steps(builder, results.height, _ROWS) as (first, _):
            above = builder.sub(first, top)
            rows = pixels.rows(above, _ROWS + 2, zeros)
            targets = results.rows(first, _ROWS, gep(builder, zeros, pixels.width))
            with for_steps(builder, results.width, 2 * lanes) as (j, _):
                columns = [builder.add(j, constant(part * lanes)) for part in range(2)]
                for column in columns:
                    results.prefetch(first, _ROWS, column, results.size, write=True)
                    pixels.prefetch(above, _ROWS, column, pixels.size, write=False)
                reached = [results.inside(column) for column in columns]
                for row in totals:
                    for total in row:
                        builder.store(vectors.splat(bias), total)
                with builder.if_then(accumulate):
                    for row, target in zip(totals, targets):
                        for total, column, mask in zip(row, columns, reached):
                            builder.store(vectors.load_masked(gep(builder, target, column), mask), total)
                met = builder.sub(j, left)
                masks = [pixels.inside(builder.add(met, constant(part * lanes))) for part in range(3)]
                for i, row in enumerate(rows):
                    parts = [vectors.load_masked(gep(builder, row, met, part * lanes), mask) for part, mask in enumerate(masks)]
                    for b, move in enumerate(moves):
                        values = [builder.shuffle_vector(one, other, move) if b else one for one, other in zip(parts, parts[1:])]
                        for a in range(max(0, i - _ROWS + 1), min(3, i + 1)):
                            for total, value in zip(totals[i - a], values):
                                vectors.add_product(total, value, scales[a][b])
                for row, target in zip(totals, targets):
                    for total, column, mask in zip(row, columns, reached):
                        vectors.store_masked(builder.load(total), gep(builder, target, column), mask)
        return context.get_dummy_value()

    return signature, emit


filter_3, filter_5, filter_7 = (_make_filter(height, 1) for height in (3, 5, 7))
filter_3_strided, filter_5_strided = (_make_filter(height, 2) for height in (3, 5))


def _make_correlate(stride: int) -> Any:
    """`correlate_planes` for a stride of 1 or 2 in both directions."""

    @intrinsic
    def correlate_planes(typing, g, g_start, g_height, g_width, g_ahead, x, x_start, x_height, x_width, x_ahead, top, left, zeros,
                         sums):
        """sums[3 * a + b] = sum of g(i, j) * x(stride * i + a - top, stride * j + b - left) over a plane of g, for 3x3 taps.

        `sums` has room for whole vectors (RUN_SUMS). The planes that come next are `g_ahead` and `x_ahead` elements away.
        There are `x_width` zeros. Nothing is checked.
        """
        integer = types.int64
        signature = types.void(g, *(integer,) * 4, x, *(integer,) * 6, zeros, sums)

        def emit(context, builder, signature, arguments):
            g, x = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[i + 1]) for i in (0, 5))
            zeros, sums = (data_of(context, builder, signature.args[i], arguments[i]) for i in (12, 13))
            g_ahead, x_ahead, top, left = (arguments[i] for i in (4, 9, 10, 11))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, x.type.pointee, lanes)
            upstream, pixels = Plane(vectors, g, *arguments[2:4]), Plane(vectors, x, *arguments[7:9])
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(3)] for _ in range(3)]
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)

            def add_rows(first: Any, count: int) -> None:
                """Add the products of `count` rows of g."""
                above = builder.sub(builder.mul(first, constant(stride)), top)
                rows = pixels.rows(above, stride * (count - 1) + 3, zeros)
                sources = [upstream.row_pointer(builder.add(first, constant(r))) for r in range(count)]
                with for_steps(builder, upstream.width, lanes) as (j, _):
                    beneath = builder.mul(j, constant(stride))
                    upstream.prefetch(first, count, j, g_ahead, write=False)
                    for part in range(stride):
                        there = builder.add(beneath, constant(part * lanes))
                        pixels.prefetch(above, stride * count, there, x_ahead, write=False)
                    reached = upstream.inside(j)
                    values = [vectors.load_masked(gep(builder, row, j), reached) for row in sources]
                    for taken in range(0, 3, stride):  # one column of taps, or two that share loads
                        column = builder.sub(builder.add(beneath, constant(taken)), left)
                        masks = [pixels.inside(builder.add(column, constant(part * lanes))) for part in range(stride)]
                        # An inf or NaN in a pixel that no g meets would make NaN of the zero in its lane.
                        if stride == 1:
                            masks = [builder.and_(masks[0], reached)]
                        for i, row in enumerate(rows):
                            parts = [vectors.load_masked(gep(builder, row, column, part * lanes), mask)
                                     for part, mask in enumerate(masks)]
                            for b in range(taken, min(3, taken + stride)):
                                pixel = parts[0]
                                if stride == 2:
                                    pixel = vectors.every_second(parts[0], parts[1], b - taken)
                                    pixel = builder.select(reached, pixel, vectors.zero)
                                for a in range(3):
                                    r, rest = divmod(i - a, stride)
                                    if rest == 0 and 0 <= r < count:
                                        vectors.add_product(totals[a][b], pixel, values[r])

            whole = builder.sub(upstream.height, builder.srem(upstream.height, constant(_ROWS)))
            with for_steps(builder, whole, _ROWS) as (first, _):
                add_rows(first, _ROWS)
            with cgutils.for_range_slice(builder, whole, upstream.height, constant(1), intp=I64) as (first, _):
                add_rows(first, 1)
            for number, added in enumerate(vectors.sums([builder.load(total) for row in totals for total in row])):
                vectors.store(added, gep(builder, sums, number * lanes))
            return context.get_dummy_value()

        return signature, emit

    return correlate_planes


correlate_planes, correlate_planes_strided = _make_correlate(1), _make_correlate(2)
