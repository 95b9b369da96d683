"""Loops of layer and RMS normalisation in LLVM IR: rows that are streamed, short rows with AVX2, and the gradients.

A gradient takes a block of rows at once, which share the loads of the weight, and the loads and stores of the sums for the
parameters. Its second loop works on what is in the cache, and prefetches the rows of the next block meanwhile; the first one
prefetches for the lines of the result. Row by row it took 1.35 times as long for 1024x256, 1.75 times for 4096x64. The
normalisation itself does not gain with AVX-512: reading and writing four rows at once it took 1.1 to 1.3 times as long where the
cache holds them. With AVX2 the sums of short rows, and their square roots, wait for each other: it takes the moments of four rows
at once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES, WIDE
from ..simd.ir import Vectors, data_of, gep, shuffle
from ..simd.nontemporal import emit_row

# Rows of a block: 4 of the gradient have 16 scalars in registers, and 8 sums.
ROWS = 4 if WIDE else 2
# Rows whose moments are taken at once. Of 2, twice as many cycles are spent waiting; 8 do not have all sums in registers.
MOMENT_ROWS = 4
# Elements summed in the row's own dtype before float64 takes over. float64 throughout costs 1.6x on 8192x256 float32.
SUM_BLOCK = 4096


def optional_data(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, number: int) -> Any:
    """The pointer to the first element of an argument, None where that is None."""
    kind = signature.args[number]
    return None if kind is types.none else data_of(context, builder, kind, arguments[number])


def vectors_of(context: Any, builder: ir.IRBuilder, array_type: Any) -> Vectors:
    """What emits operations on vectors of the elements of an array."""
    return Vectors(builder, context.get_value_type(array_type.dtype), VECTOR_BYTES // (array_type.dtype.bitwidth // 8))


class Block:
    """`rows` rows of `count` elements, `pitch` apart, in arrays with one layout."""

    def __init__(
        self, context: Any, builder: ir.IRBuilder, array_type: Any, rows: int, start: Any, pitch: Any, count: Any
    ) -> None:
        self.builder, self.rows, self.count = builder, rows, count
        self.vectors = vectors_of(context, builder, array_type)
        self.lanes = constant(self.vectors.type.count)
        self.offsets = [builder.add(start, builder.mul(pitch, constant(r))) for r in range(rows)]
        self.next = builder.mul(pitch, constant(rows))

    def of(self, pointer: Any) -> list[Any]:
        """The starts of the rows in the array at `pointer`."""
        return [gep(self.builder, pointer, offset) for offset in self.offsets]

    def splats(self, pointer: Any, first: Any) -> list[Any]:
        """Vectors of the scalar of each row, from `first` on."""
        pointers = [gep(self.builder, pointer, first, r) for r in range(self.rows)]
        return [self.vectors.splat(self.builder.load(place)) for place in pointers]

    def slots(self, count: int) -> list[Any]:
        """Vectors for sums, 0 at first."""
        slots = [cgutils.alloca_once(self.builder, self.vectors.type) for _ in range(count)]
        for slot in slots:
            self.builder.store(self.vectors.zero, slot)
        return slots

    def add(self, slot: Any, value: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(slot), value), slot)

    def columns(self, body: Callable[[Any, Any], None]) -> None:
        """Emit body(column, mask) for the whole vectors, with None for the mask, and once for the rest."""
        rest = self.builder.urem(self.count, self.lanes)
        whole = self.builder.sub(self.count, rest)
        with cgutils.for_range_slice(self.builder, constant(0), whole, self.lanes, intp=I64) as (column, _):
            body(column, None)
        with self.builder.if_then(self.builder.icmp_signed(">", rest, constant(0))):
            body(whole, self.vectors.first(rest))

    def pairs_of_columns(self, body: Callable[[Any, Any, int], None], twice: bool = False) -> None:
        """Emit body(column, mask, number) for the whole vectors, two at a time, `number` 0 and 1, and for the rest.

        With `twice` the last elements come again in a whole vector, if there are so many: AVX2's masked store is microcode on
        AMD's processors.
        """
        builder, lanes, zero = self.builder, self.lanes, constant(0)
        paired = builder.and_(self.count, constant(-2 * self.vectors.type.count))
        with cgutils.for_range_slice(builder, zero, paired, builder.mul(lanes, constant(2)), intp=I64) as (column, _):
            body(column, None, 0)
            body(builder.add(column, lanes), None, 1)
        whole = builder.and_(self.count, constant(-self.vectors.type.count))
        with builder.if_then(builder.icmp_signed(">", whole, paired)):
            body(paired, None, 0)
        rest = builder.sub(self.count, whole)
        with builder.if_then(builder.icmp_signed(">", rest, zero)):
            if not twice:
                body(whole, self.vectors.first(rest), 1)
                return
            with builder.if_else(builder.icmp_signed(">", whole, zero)) as (then, otherwise):
                with then:
                    body(builder.sub(self.count, lanes), None, 1)
                with otherwise:
                    body(whole, self.vectors.first(rest), 1)

    def load(self, pointer: Any, column: Any, mask: Any) -> Any:
        return self.vectors.load_part(gep(self.builder, pointer, column), mask)

    def store(self, value: Any, pointer: Any, column: Any, mask: Any) -> None:
        place = gep(self.builder, pointer, column)
        if mask is None:
            self.vectors.store(value, place)
        else:
            self.vectors.store_masked(value, place, mask)

    def sums(self, slots: list[Any]) -> Any:
        """The sums of the lanes of each slot, as a vector in float64 with as many lanes as there are slots."""
        (sums,) = self.vectors.sums([self.builder.load(slot) for slot in slots])
        sums, double = shuffle(self.builder, sums, sums, range(len(slots))), ir.VectorType(ir.DoubleType(), len(slots))
        return sums if sums.type == double else self.builder.fpext(sums, double)

    def scalars(self, vector: Any) -> list[Any]:
        """The lanes of a vector in float64, rounded to the dtype of the rows."""
        lanes = [self.builder.extract_element(vector, constant(lane)) for lane in range(vector.type.count)]
        element = self.vectors.type.element
        return lanes if isinstance(element, ir.DoubleType) else [self.builder.fptrunc(lane, element) for lane in lanes]

    def put(self, vector: Any, pointer: Any, first: Any) -> None:
        """Write the lanes of a vector in float64, that of the first row at `first`."""
        for r, number in enumerate(self.scalars(vector)):
            self.builder.store(number, gep(self.builder, pointer, first, r))


def parts(context: Any, builder: ir.IRBuilder, block: Sequence[Any], body: Callable[[Block, Any], None]) -> None:
    """Emit body(part, column) for parts of a block, given by the arguments of `Block`, of `SUM_BLOCK` columns or what is left."""
    array_type, rows, start, pitch, count = block
    step = constant(SUM_BLOCK)
    with cgutils.for_range_slice(builder, constant(0), count, step, intp=I64) as (column, _):
        left = builder.sub(count, column)
        size = builder.select(builder.icmp_signed("<", left, step), left, step)
        body(Block(context, builder, array_type, rows, builder.add(start, column), pitch, size), column)


def doubles(builder: ir.IRBuilder, rows: int, number: Any) -> Any:
    """A vector in float64 that has the integer `number` for each row."""
    return Vectors(builder, ir.DoubleType(), rows).splat(builder.sitofp(number, ir.DoubleType()))


def fused(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, in one instruction where there is one."""
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


@intrinsic
def stream_normalized(typing, x, start, count, weight, bias, mean, rstd, y):
    """y = (x - mean) * rstd * weight + bias, with non-temporal stores, for `count` elements from `start` on; arrays are as if
    flat.

    mean and bias may be None. What comes next in x is prefetched (see `emit_row`); without, it took as long as normal stores.
    Unchecked.
    """
    signature = types.void(x, types.intp, types.intp, weight, bias, mean, x.dtype, y)

    def emit(context, builder, signature, arguments):
        x, weight, bias, y = (optional_data(context, builder, signature, arguments, i) for i in (0, 3, 4, 7))
        _, start, count, _, _, mean, rstd, _ = arguments
        x, y = (gep(builder, pointer, start) for pointer in (x, y))
        vectors = vectors_of(context, builder, signature.args[0])
        scale = vectors.splat(rstd)
        centre = None if signature.args[5] is types.none else vectors.splat(mean)

        def value(column: Any, mask: Any) -> Any:
            normal = vectors.load_part(gep(builder, x, column), mask)
            if centre is not None:
                normal = builder.fsub(normal, centre)
            normal, factor = builder.fmul(normal, scale), vectors.load_part(gep(builder, weight, column), mask)
            if bias is None:
                return builder.fmul(normal, factor)
            return fused(builder, normal, factor, vectors.load_part(gep(builder, bias, column), mask))

        emit_row(builder, vectors, y, count, value, [x])
        return context.get_dummy_value()

    return signature, emit


def _make_moments(rows: int) -> Any:
    @intrinsic
    def moments(typing, x, start, pitch, count, eps, mean, rstd, first):
        """For row r: its mean to mean[first + r], and 1 / sqrt(variance + eps) to rstd[first + r]. Unchecked.

        With None for `mean` it is taken to be 0.
        """
        integer = types.int64
        signature = types.void(x, integer, integer, integer, types.float64, mean, rstd, integer)

        def emit(context, builder, signature, arguments):
            x, mean, rstd = (optional_data(context, builder, signature, arguments, i) for i in (0, 5, 6))
            count, eps, first = arguments[3], arguments[4], arguments[7]
            rows_of_x = (signature.args[0], rows, *arguments[1:4])
            block = Block(context, builder, *rows_of_x)
            double = Vectors(builder, ir.DoubleType(), rows)
            size = doubles(builder, rows, count)

            def mean_of(add: Callable[[Block, Any, Any, Any, int], None]) -> Any:
                """The means of what add(part, total, value, mask, r) adds to the sums of the rows, in float64."""
                result = cgutils.alloca_once(builder, double.type)
                builder.store(double.zero, result)

                def of_part(part: Block, _: Any) -> None:
                    sources, totals = part.of(x), part.slots(2 * rows)

                    def body(column: Any, mask: Any, number: int) -> None:
                        for r in range(rows):
                            add(part, totals[2 * r + number], part.load(sources[r], column, mask), mask, r)

                    part.pairs_of_columns(body)
                    for r in range(rows):
                        part.add(totals[2 * r], builder.load(totals[2 * r + 1]))
                    builder.store(builder.fadd(builder.load(result), part.sums(totals[::2])), result)

                parts(context, builder, rows_of_x, of_part)
                return builder.fdiv(builder.load(result), size)

            means: list[Any] = []
            if mean is not None:
                block.put(mean_of(lambda part, total, value, mask, r: part.add(total, value)), mean, first)
                means = block.splats(mean, first)

            def add_square(part: Block, total: Any, value: Any, mask: Any, r: int) -> None:
                if means:
                    value = builder.fsub(value, means[r])
                    if mask is not None:
                        value = builder.select(mask, value, part.vectors.zero)
                part.vectors.add_product(total, value, value)

            variance = builder.fadd(mean_of(add_square), double.splat(eps))
            kind = ir.FunctionType(double.type, [double.type])
            root = builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{rows}f64"), [variance])
            block.put(builder.fdiv(ir.Constant(double.type, [1.0] * rows), root), rstd, first)
            return context.get_dummy_value()

        return signature, emit

    return moments


@intrinsic
def normalized_row(typing, x, start, count, ahead, weight, bias, mean, rstd, number, y):
    """y = (x - mean) * rstd * weight + bias for `count` elements from `start` on, with the mean and rstd at `number`. Unchecked.

    mean and bias may be None. What comes `ahead` elements later in x is prefetched.
    """
    integer = types.int64
    signature = types.void(x, integer, integer, integer, weight, bias, mean, rstd, integer, y)

    def emit(context, builder, signature, arguments):
        x, weight, bias, mean, rstd, y = (optional_data(context, builder, signature, arguments, i) for i in (0, 4, 5, 6, 7, 9))
        start, count, ahead, number = (arguments[i] for i in (1, 2, 3, 8))
        block = Block(context, builder, signature.args[0], 1, start, count, count)
        (source,), (target,), (scale,) = block.of(x), block.of(y), block.splats(rstd, number)
        centre = None if mean is None else block.splats(mean, number)[0]

        def body(column: Any, mask: Any, number: int) -> None:
            if number == 0:  # two vectors fill a line
                block.vectors.prefetch(gep(builder, source, ahead, column), write=False)
            value = block.load(source, column, mask)
            if centre is not None:
                value = builder.fsub(value, centre)
            value, factor = builder.fmul(value, scale), block.load(weight, column, mask)
            if bias is None:
                value = builder.fmul(value, factor)
            else:
                value = fused(builder, value, factor, block.load(bias, column, mask))
            block.store(value, target, column, mask)

        block.pairs_of_columns(body, twice=True)
        return context.get_dummy_value()

    return signature, emit


def _make_grad_means(rows: int) -> Any:
    @intrinsic
    def grad_means(typing, g, x, start, pitch, count, weight, mean, rstd, first, dx, offsets, slopes):
        """For row r: the mean of g * weight to offsets[r], that of g * weight * (x - mean) * rstd**2 to slopes[r]. Unchecked.

        With the mean and rstd at first + r. With None for `mean` it is taken to be 0, and `offsets` is not used. The lines of dx
        are prefetched, to be written; give x where it is not.
        """
        integer = types.int64
        signature = types.void(g, x, integer, integer, integer, weight, mean, rstd, integer, dx, offsets, slopes)

        def emit(context, builder, signature, arguments):
            g, x, weight, mean, rstd, dx, offsets, slopes = (
                optional_data(context, builder, signature, arguments, i) for i in (0, 1, 5, 6, 7, 9, 10, 11))
            count, first = arguments[4], arguments[8]
            rows_of_x = (signature.args[1], rows, *arguments[2:5])
            block = Block(context, builder, *rows_of_x)
            means = None if mean is None else block.splats(mean, first)
            double = Vectors(builder, ir.DoubleType(), rows)
            results = [cgutils.alloca_once(builder, double.type) for _ in range(2 if mean is not None else 1)]
            for slot in results:
                builder.store(double.zero, slot)

            def add(part: Block, first_column: Any) -> None:
                upstream, sources, targets = part.of(g), part.of(x), part.of(dx)
                factors = gep(builder, weight, first_column)
                dots, totals = part.slots(rows), part.slots(rows)

                def body(column: Any, mask: Any) -> None:
                    factor = part.load(factors, column, mask)
                    for r in range(rows):
                        part.vectors.prefetch(gep(builder, targets[r], column))
                        product = builder.fmul(part.load(upstream[r], column, mask), factor)
                        distance = part.load(sources[r], column, mask)
                        if means is not None:
                            distance = builder.fsub(distance, means[r])
                            part.add(totals[r], product)
                        part.vectors.add_product(dots[r], product, distance)

                part.columns(body)
                for slot, added in zip(results, (dots, totals)):  # noqa: B905
                    builder.store(builder.fadd(builder.load(slot), part.sums(added)), slot)

            parts(context, builder, rows_of_x, add)
            size = doubles(builder, rows, count)
            slope, *offset = (builder.fdiv(builder.load(slot), size) for slot in results)
            zero = constant(0)
            for vector in offset:
                block.put(vector, offsets, zero)
            for r, number in enumerate(block.scalars(slope)):
                scale = builder.load(gep(builder, rstd, first, r))
                builder.store(builder.fmul(builder.fmul(number, scale), scale), gep(builder, slopes, r))
            return context.get_dummy_value()

        return signature, emit

    return grad_means


def _make_grad(rows: int, streaming: bool) -> Any:
    @intrinsic
    def grad_rows(typing, g, x, start, pitch, count, weight, mean, rstd, first, offsets, slopes, place, dx, dweight, dbias):
        """dx = (g * weight - offset - (x - mean) * slope) * rstd for row r, with mean and rstd at first + r, the others at
        place + r.

        Adds g * (x - mean) * rstd to dweight, and g to dbias. Mean and dbias may be None; there is no offset then. With
        `streaming`, dx has non-temporal stores. Unchecked.
        """
        integer = types.int64
        row = (g, x, integer, integer, integer, weight, mean, rstd, integer, offsets, slopes, integer)
        signature = types.void(*row, dx, dweight, dbias)

        def emit(context, builder, signature, arguments):
            g, x, weight, mean, rstd, offsets, slopes, dx, dweight, dbias = (
                optional_data(context, builder, signature, arguments, i) for i in (0, 1, 5, 6, 7, 9, 10, 12, 13, 14))
            first, place = arguments[8], arguments[11]
            block = Block(context, builder, signature.args[1], rows, *arguments[2:5])
            upstream, sources, targets = block.of(g), block.of(x), block.of(dx)
            scales, factors = block.splats(rstd, first), block.splats(slopes, place)
            means, shifts = (None if mean is None else block.splats(pointer, number)
                             for pointer, number in ((mean, first), (offsets, place)))
            totals = [pointer for pointer in (dweight, dbias) if pointer is not None]

            def values(column: Any, mask: Any) -> list[Any]:
                """The gradients of the rows; what they add to the parameters is written."""
                factor, *added = (block.load(pointer, column, mask) for pointer in (weight, *totals))
                results = []
                for r in range(rows):
                    gradient, distance = (block.load(pointer, column, mask) for pointer in (upstream[r], sources[r]))
                    if means is not None:
                        distance = builder.fsub(distance, means[r])
                    added[0] = fused(builder, gradient, builder.fmul(distance, scales[r]), added[0])
                    if dbias is not None:
                        added[1] = builder.fadd(added[1], gradient)
                    shift = block.vectors.zero if shifts is None else builder.fneg(shifts[r])
                    result = fused(builder, builder.fneg(distance), factors[r], fused(builder, gradient, factor, shift))
                    results.append(builder.fmul(result, scales[r]))
                for pointer, total in zip(totals, added, strict=True):
                    block.store(total, pointer, column, mask)
                return results

            def body(column: Any, mask: Any) -> None:
                for pointer in (*upstream, *sources):
                    block.vectors.prefetch(gep(builder, pointer, block.next, column), write=False)
                for result, target in zip(values(column, mask), targets, strict=True):
                    block.store(result, target, column, mask)

            if streaming:  # one row of a block whose sums were taken together
                emit_row(builder, block.vectors, targets[0], block.count, lambda *at: values(*at)[0], [*upstream, *sources], ROWS)
            else:
                block.columns(body)
            return context.get_dummy_value()

        return signature, emit

    return grad_rows


moments_block, moments_row = _make_moments(MOMENT_ROWS), _make_moments(1)
grad_means_block, grad_means_row = _make_grad_means(ROWS), _make_grad_means(1)
grad_block, grad_row = _make_grad(ROWS, streaming=False), _make_grad(1, streaming=False)
stream_grad = _make_grad(1, streaming=True)
