"""Loops over one plane for depthwise convolution, in LLVM IR: rows of pixels in registers, masked edges, no padded copy.

A vector of pixels, once loaded, meets all output rows of a block that it reaches: 6 loads, not 12, for a column of 3 taps at 4
rows. Loads that cross cache lines are what bounds these loops. They ask for the next plane while they work on this one: in this
order of reading the processor does not foresee it, and a plane from memory would take five times as long.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Rows of results in registers at a time. More spill: LLVM loads all their pixels first.
_ROWS = 4
_LANE = ir.IntType(32)


class _Plane:
    """A plane of `height` rows of `width` pixels from `start` on; outside of it are zeros."""

    def __init__(self, vectors: _Vectors, start: Any, height: Any, width: Any) -> None:
        self.vectors, self.builder = vectors, vectors.builder
        self.start, self.height, self.width = start, height, width
        self.lanes = ir.VectorType(_LANE, vectors.type.count)
        self.limit = self.splat(width)
        self.size = self.builder.mul(height, width)

    def splat(self, number: Any) -> Any:
        first = self.builder.insert_element(ir.Constant(self.lanes, ir.Undefined), self.builder.trunc(number, _LANE),
                                            ir.Constant(_LANE, 0))
        zeros = ir.Constant(self.lanes, [0] * self.lanes.count)
        return self.builder.shuffle_vector(first, ir.Constant(self.lanes, ir.Undefined), zeros)

    def inside(self, column: Any) -> Any:
        """A mask of the lanes whose columns, from `column` on, are in the plane."""
        numbers = ir.Constant(self.lanes, list(range(self.lanes.count)))
        return self.builder.icmp_unsigned("<", self.builder.add(self.splat(column), numbers), self.limit)

    def row(self, number: Any) -> tuple[Any, Any]:
        """The start of a row and whether it is in the plane; for a row outside, the start of another."""
        there = self.builder.icmp_unsigned("<", number, self.height)
        number = self.builder.select(there, number, ir.Constant(_INT, 0))
        return _at(self.builder, self.start, self.builder.mul(number, self.width)), there

    def mask(self, inside: Any, there: Any) -> Any:
        """`inside` for a row that is there, else nothing."""
        return self.builder.select(there, inside, ir.Constant(inside.type, [0] * self.lanes.count))


def _constant(number: int) -> Any:
    return ir.Constant(_INT, number)


def _for_steps(builder: ir.IRBuilder, stop: Any, step: int) -> Any:
    """A loop over 0, step, ... below `stop`."""
    return cgutils.for_range_slice(builder, _constant(0), stop, _constant(step), intp=_INT)


def _make_filter(height: int, stride: int) -> Any:
    """`filter_plane` for `height` rows of taps and a stride of 1 or 2 in both directions."""

    @_intrinsic
    def filter_plane(typing, x, x_start, x_height, x_width, weight, weight_start, columns, dilation, top, left, bias, y, y_start,
                     y_height, y_width, accumulate):
        """Fill the plane of y from `y_start` on with bias plus the products of the taps, or with `accumulate` add these to it.

        Tap (a, b) is weight[weight_start + a * columns + b]; for the output (i, j) it meets the pixel (stride * i + a - top,
        stride * j + b * dilation - left). Nothing is checked.
        """
        integer = types.int64
        signature = types.void(x, integer, integer, integer, weight, integer, integer, integer, integer, integer, x.dtype, y,
                               integer, integer, integer, types.boolean)

        def emit(context, builder, signature, arguments):
            data = [_data(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 11)]
            x, weight, y = (_at(builder, pointer, arguments[i]) for pointer, i in zip(data, (1, 5, 12)))
            columns, dilation, top, left, bias = (arguments[i] for i in (6, 7, 8, 9, 10))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = _Vectors(builder, x.type.pointee, lanes)
            pixels, results = _Plane(vectors, x, *arguments[2:4]), _Plane(vectors, y, *arguments[13:15])
            totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_ROWS)]

            def values(row, there, column, masks):
                """The pixels of a row from `column` on, every `stride`-th."""
                parts = [vectors.load_masked(_at(builder, row, column, part * lanes), pixels.mask(mask, there))
                         for part, mask in enumerate(masks)]
                return parts[0] if stride == 1 else vectors.every_second(*parts)

            with _for_steps(builder, results.height, _ROWS) as (first, _):
                above = builder.sub(builder.mul(first, _constant(stride)), top)
                rows = [pixels.row(builder.add(above, _constant(i))) for i in range(stride * (_ROWS - 1) + height)]
                targets = [results.row(builder.add(first, _constant(r))) for r in range(_ROWS)]
                with _for_steps(builder, results.width, lanes) as (j, _):
                    for row, _ in targets:
                        vectors.prefetch(_at(builder, row, j, results.size))
                    column = builder.mul(j, _constant(stride))
                    for row, _ in rows[: stride * _ROWS]:
                        for part in range(stride):
                            vectors.prefetch(_at(builder, row, column, part * lanes, pixels.size), write=False)
                    reached = results.inside(j)
                    written = [(_at(builder, row, j), results.mask(reached, there)) for row, there in targets]
                    full = builder.icmp_signed("<=", builder.add(j, _constant(lanes)), results.width)
                    for total in totals:
                        builder.store(vectors.splat(bias), total)
                    with builder.if_then(arguments[15]):
                        for total, target in zip(totals, written):
                            builder.store(vectors.load_masked(*target), total)
                    with cgutils.for_range(builder, columns) as loop:
                        tapped = builder.sub(builder.add(column, builder.mul(loop.index, dilation)), left)
                        masks = [pixels.inside(builder.add(tapped, _constant(part * lanes))) for part in range(stride)]
                        taps = [_at(builder, weight, loop.index, builder.mul(columns, _constant(a))) for a in range(height)]
                        scales = [vectors.splat(builder.load(tap)) for tap in taps]
                        for i, (row, there) in enumerate(rows):
                            value = values(row, there, tapped, masks)
                            for a in range(height):
                                r, rest = divmod(i - a, stride)
                                if rest == 0 and 0 <= r < _ROWS:
                                    vectors.add_product(totals[r], value, scales[a])
                    for total, target, (_, there) in zip(totals, written, targets):
                        vectors.store_reached(builder.load(total), *target, builder.and_(full, there))
            return context.get_dummy_value()

        return signature, emit

    return filter_plane


filter_3, filter_5, filter_7 = (_make_filter(height, 1) for height in (3, 5, 7))
filter_3_strided, filter_5_strided = (_make_filter(height, 2) for height in (3, 5))


def _make_correlate(stride: int) -> Any:
    """`correlate_planes` for a stride of 1 or 2 in both directions."""

    @_intrinsic
    def correlate_planes(typing, g, g_start, g_height, g_width, g_ahead, x, x_start, x_height, x_width, x_ahead, top, left,
                         sums):
        """sums[3 * a + b] = sum of g(i, j) * x(stride * i + a - top, stride * j + b - left) over a plane of g, for 3x3 taps.

        `sums` has room for whole vectors (RUN_SUMS). The planes that come next are `g_ahead` and `x_ahead` elements away.
        Nothing is checked.
        """
        integer = types.int64
        signature = types.void(g, *(integer,) * 4, x, *(integer,) * 6, sums)

        def emit(context, builder, signature, arguments):
            g, x = (_at(builder, _data(context, builder, signature.args[i], arguments[i]), arguments[i + 1]) for i in (0, 5))
            sums = _data(context, builder, signature.args[12], arguments[12])
            g_ahead, x_ahead, top, left = (arguments[i] for i in (4, 9, 10, 11))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = _Vectors(builder, x.type.pointee, lanes)
            upstream, pixels = _Plane(vectors, g, *arguments[2:4]), _Plane(vectors, x, *arguments[7:9])
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(3)] for _ in range(3)]
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)

            def add_rows(first: Any, whole: bool) -> None:
                """Add the products of _ROWS rows of g, not all of which need be there unless they are `whole`."""
                above = builder.sub(builder.mul(first, _constant(stride)), top)
                rows = [pixels.row(builder.add(above, _constant(i))) for i in range(stride * (_ROWS - 1) + 3)]
                sources = [upstream.row(builder.add(first, _constant(r))) for r in range(_ROWS)]
                with _for_steps(builder, upstream.width, lanes) as (j, _):
                    beneath = builder.mul(j, _constant(stride))
                    for row, _ in sources:
                        vectors.prefetch(_at(builder, row, j, g_ahead), write=False)
                    for row, _ in rows[: stride * _ROWS]:
                        for part in range(stride):
                            vectors.prefetch(_at(builder, row, beneath, part * lanes, x_ahead), write=False)
                    reached = upstream.inside(j)
                    values = [vectors.load_masked(_at(builder, row, j), upstream.mask(reached, there))
                              for row, there in sources]
                    for b in range(3):
                        column = builder.sub(builder.add(beneath, _constant(b)), left)
                        insides = [pixels.inside(builder.add(column, _constant(part * lanes))) for part in range(stride)]
                        for i, (row, there) in enumerate(rows):
                            parts = [vectors.load_masked(_at(builder, row, column, part * lanes), pixels.mask(inside, there))
                                     for part, inside in enumerate(insides)]
                            # An inf or NaN in a pixel that no g meets would make NaN of the zero in its lane.
                            pixel = parts[0] if stride == 1 else vectors.every_second(*parts)
                            pixel = builder.select(reached, pixel, vectors.zero)
                            for a in range(3):
                                r, rest = divmod(i - a, stride)
                                if rest == 0 and 0 <= r < _ROWS:
                                    met = pixel if whole else builder.select(sources[r][1], pixel, vectors.zero)
                                    vectors.add_product(totals[a][b], met, values[r])

            most = builder.and_(upstream.height, _constant(-_ROWS))
            with _for_steps(builder, most, _ROWS) as (first, _):
                add_rows(first, True)
            with builder.if_then(builder.icmp_signed("<", most, upstream.height)):
                add_rows(most, False)
            for number, added in enumerate(vectors.sums([builder.load(total) for row in totals for total in row])):
                vectors.store(added, _at(builder, sums, number * lanes))
            return context.get_dummy_value()

        return signature, emit

    return correlate_planes


correlate_planes, correlate_planes_strided = _make_correlate(1), _make_correlate(2)
