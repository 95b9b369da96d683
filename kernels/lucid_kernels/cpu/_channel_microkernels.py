"""Loops over neighbouring channels of (N, C, S) for batch normalisation, in LLVM IR.

Each works on the rows of some channels in one sample, which lie in one piece of memory, then in the next sample. A channel by
itself is short pieces in many pages, which the processor does not foresee, and which fall into few sets of the caches: planes of
4x4 took 3 times as long. The loops ask for what is `ahead` elements away. Arrays of numbers have one for each of these
channels. Nothing is checked.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Vectors of a step of sums, each with sums of its own: an addition takes 3 or 4 cycles.
_STEP = 2
# Vectors whose lanes are summed in their own dtype before float64 takes over: each lane adds a dozen elements or two.
_STRETCH = 16 * _STEP
_NONE = ir.Constant(_INT, 0)

# start, samples, pitch from a sample to the next, channels, length of a row, ahead
PLACE = types.UniTuple(types.int64, 6)


class _Channels:
    """The rows of some channels: `length` elements each, one after the other in each sample."""

    def __init__(self, context: Any, builder: ir.IRBuilder, array_type: Any, place: Any) -> None:
        self.builder = builder
        self.start, self.samples, self.pitch, self.channels, self.length, self.ahead = cgutils.unpack_tuple(builder, place)
        self.lanes = VECTOR_BYTES // (array_type.dtype.bitwidth // 8)
        self.vectors = _Vectors(builder, context.get_value_type(array_type.dtype), self.lanes)

    def numbers(self, channel: Any, *pointers: Any) -> list[Any]:
        """Vectors of the numbers of a channel."""
        return [self.vectors.splat(self.builder.load(_at(self.builder, pointer, channel))) for pointer in pointers]

    def row(self, start: Any, length: Any, body: Callable[[Any, Any, int], None], step: int = 1) -> None:
        """Emit body(at, mask, number) for the vectors of a row, `step` with other numbers at a time; None is no mask."""
        builder = self.builder
        rest = builder.and_(length, ir.Constant(_INT, self.lanes - 1))
        whole = builder.sub(length, rest)
        most = builder.and_(whole, ir.Constant(_INT, -step * self.lanes))
        with cgutils.for_range_slice(builder, _NONE, most, ir.Constant(_INT, step * self.lanes), intp=_INT) as (column, _):
            for number in range(step):
                body(builder.add(builder.add(start, column), ir.Constant(_INT, number * self.lanes)), None, number)
        if step > 1:
            with cgutils.for_range_slice(builder, most, whole, ir.Constant(_INT, self.lanes), intp=_INT) as (column, _):
                body(builder.add(start, column), None, 0)
        with builder.if_then(builder.icmp_signed(">", rest, _NONE)):
            body(builder.add(start, whole), self.vectors.first(rest), step - 1)

    def each(self, prepare: Callable[[Any], Callable[[Any, Any, int], None]]) -> None:
        """Emit the rows of all samples and channels with the body that prepare(channel) returns."""
        builder = self.builder
        with cgutils.for_range(builder, self.samples) as sample:
            first = builder.add(self.start, builder.mul(sample.index, self.pitch))
            with cgutils.for_range(builder, self.channels) as channel:
                body = prepare(channel.index)
                self.row(builder.add(first, builder.mul(channel.index, self.length)), self.length, body)

    def load(self, pointer: Any, at: Any, mask: Any) -> Any:
        self.vectors.prefetch(_at(self.builder, pointer, at, self.ahead), write=False)
        place = _at(self.builder, pointer, at)
        return self.vectors.load(place) if mask is None else self.vectors.load_masked(place, mask)

    def store(self, value: Any, pointer: Any, at: Any, mask: Any) -> None:
        self.vectors.prefetch(_at(self.builder, pointer, at, self.ahead))
        place = _at(self.builder, pointer, at)
        if mask is None:
            self.vectors.store(value, place)
        else:
            self.vectors.store_masked(value, place, mask)

    def affine(self, value: Any, factor: Any, offset: Any) -> Any:
        """value * factor + offset, in one instruction where there is one: the same bits forward and backward."""
        return self.builder.fadd(self.builder.fmul(value, factor, flags=("contract",)), offset, flags=("contract",))

    def unless_positive(self, test: Any, value: Any) -> Any:
        """0 where test <= 0, else `value`, also where the test is NaN."""
        return self.builder.select(self.builder.fcmp_ordered("<=", test, self.vectors.zero), self.vectors.zero, value)

    def two_sums(self, prepare: Callable[[Any], Callable[[Any, Any], tuple[Any, Any, Any]]], buffer: Any, totals: Any) -> None:
        """Sum a and b * c for each channel in each lane, to `totals` in float64, where prepare(channel)(at, mask) is (a, b, c).

        `buffer` and `totals` have room for two vectors a channel.
        """
        builder, stretch = self.builder, ir.Constant(_INT, _STRETCH * self.lanes)
        slots = [[cgutils.alloca_once(builder, self.vectors.type) for _ in range(_STEP)] for _ in range(2)]
        size = builder.mul(self.channels, ir.Constant(_INT, 2 * self.lanes))

        def clear(memory: Any, item: int) -> None:
            cgutils.memset(builder, memory, builder.mul(size, ir.Constant(_INT, item)), 0)

        def add_row(start: Any, channel: Any, length: Any) -> None:
            terms = prepare(channel)
            first = _at(builder, buffer, builder.mul(channel, ir.Constant(_INT, 2 * self.lanes)))
            places = [first, _at(builder, first, self.lanes)]
            for (one, other), place in zip(slots, places):
                builder.store(self.vectors.load(place), one)
                builder.store(self.vectors.zero, other)

            def body(at: Any, mask: Any, number: int) -> None:
                operands = terms(at, mask)
                if mask is not None:
                    operands = tuple(builder.select(mask, operand, self.vectors.zero) for operand in operands)
                builder.store(builder.fadd(builder.load(slots[0][number]), operands[0]), slots[0][number])
                self.vectors.add_product(slots[1][number], operands[1], operands[2])

            self.row(start, length, body, _STEP)
            for (one, other), place in zip(slots, places):
                self.vectors.store(builder.fadd(builder.load(one), builder.load(other)), place)

        clear(totals, 8)
        # The vectors of a short row are added to one sum, and each has but a few elements.
        least = ir.Constant(_INT, 2 * _STEP * self.lanes)
        long = builder.icmp_signed(">", self.length, least)
        group = builder.udiv(stretch, builder.select(long, self.length, least))
        group = builder.select(builder.icmp_signed(">", group, _NONE), group, ir.Constant(_INT, 1))
        with (
            cgutils.for_range_slice(builder, _NONE, self.samples, group, intp=_INT) as (first, _),
            cgutils.for_range_slice(builder, _NONE, self.length, stretch, intp=_INT) as (column, _),
        ):
            clear(buffer, self.vectors.alignment)
            length = self._least(stretch, builder.sub(self.length, column))
            with cgutils.for_range(builder, self._least(group, builder.sub(self.samples, first))) as sample:
                offset = builder.mul(builder.add(first, sample.index), self.pitch)
                start = builder.add(builder.add(self.start, offset), column)
                with cgutils.for_range(builder, self.channels) as channel:
                    add_row(builder.add(start, builder.mul(channel.index, self.length)), channel.index, length)
            with cgutils.for_range_slice(builder, _NONE, size, ir.Constant(_INT, self.lanes), intp=_INT) as (at, _):
                self._collect(_at(builder, buffer, at), _at(builder, totals, at))

    def _collect(self, sums: Any, totals: Any) -> None:
        """Add a vector of sums to one of float64 numbers."""
        double = _Vectors(self.builder, ir.DoubleType(), self.lanes)
        wide = self.vectors.load(sums)
        if wide.type != double.type:
            wide = self.builder.fpext(wide, double.type)
        double.store(self.builder.fadd(double.load(totals), wide), totals)

    def _least(self, one: Any, other: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", one, other), one, other)


@_intrinsic
def shifted_sums(typing, x, place, centre, buffer, totals):
    """The sums of x - centre and of its square, lane by lane: two vectors of `totals` a channel."""
    signature = types.void(x, PLACE, centre, buffer, totals)

    def emit(context, builder, signature, arguments):
        x, centre, buffer, totals = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 4))
        channels = _Channels(context, builder, signature.args[0], arguments[1])

        def prepare(channel: Any) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
            (shift,) = channels.numbers(channel, centre)

            def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                distance = builder.fsub(channels.load(x, at, mask), shift)
                return distance, distance, distance

            return terms

        channels.two_sums(prepare, buffer, totals)
        return context.get_dummy_value()

    return signature, emit


def _make_normalize(relu: bool, added: bool) -> Any:
    @_intrinsic
    def normalize(typing, x, residual, place, mean, scale, bias, y):
        """y = (x - mean) * scale + bias, plus the residual if it is `added`; with `relu` the larger of that and 0."""
        signature = types.void(x, residual, PLACE, mean, scale, bias, y)

        def emit(context, builder, signature, arguments):
            x, residual, mean, scale, bias, y = (_data(context, builder, signature.args[i], arguments[i])
                                                 for i in (0, 1, 3, 4, 5, 6))
            channels = _Channels(context, builder, signature.args[0], arguments[2])

            def prepare(channel: Any) -> Callable[[Any, Any, int], None]:
                centre, factor, offset = channels.numbers(channel, mean, scale, bias)

                def body(at: Any, mask: Any, number: int) -> None:
                    value = channels.affine(builder.fsub(channels.load(x, at, mask), centre), factor, offset)
                    if added:
                        value = builder.fadd(value, channels.load(residual, at, mask))
                    channels.store(channels.unless_positive(value, value) if relu else value, y, at, mask)

                return body

            channels.each(prepare)
            return context.get_dummy_value()

        return signature, emit

    return normalize


normalize, normalize_relu, normalize_add_relu = (_make_normalize(*kind) for kind in ((False, False), (True, False), (True, True)))


def _make_grad_sums(recomputed: bool) -> Any:
    @_intrinsic
    def grad_sums(typing, g, x, place, mean, scale, bias, buffer, totals):
        """The sums of g and of g * (x - mean), lane by lane: two vectors of `totals` a channel.

        If it is `recomputed`, g counts where (x - mean) * scale + bias is positive, or NaN.
        """
        signature = types.void(g, x, PLACE, mean, scale, bias, buffer, totals)

        def emit(context, builder, signature, arguments):
            g, x, mean, scale, bias, buffer, totals = (_data(context, builder, signature.args[i], arguments[i])
                                                     for i in (0, 1, 3, 4, 5, 6, 7))
            channels = _Channels(context, builder, signature.args[1], arguments[2])

            def prepare(channel: Any) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
                centre, factor, offset = channels.numbers(channel, mean, scale, bias)

                def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                    gradient, distance = channels.load(g, at, mask), builder.fsub(channels.load(x, at, mask), centre)
                    if recomputed:
                        gradient = channels.unless_positive(channels.affine(distance, factor, offset), gradient)
                    return gradient, gradient, distance

                return terms

            channels.two_sums(prepare, buffer, totals)
            return context.get_dummy_value()

        return signature, emit

    return grad_sums


grad_sums, recomputed_grad_sums = _make_grad_sums(False), _make_grad_sums(True)


@_intrinsic
def masked_grad_sums(typing, g, y, x, place, mean, gm, buffer, totals):
    """gm = g where not y <= 0, else 0; its sums and those of gm * (x - mean), as `grad_sums`."""
    signature = types.void(g, y, x, PLACE, mean, gm, buffer, totals)

    def emit(context, builder, signature, arguments):
        g, y, x, mean, gm, buffer, totals = (_data(context, builder, signature.args[i], arguments[i])
                                           for i in (0, 1, 2, 4, 5, 6, 7))
        channels = _Channels(context, builder, signature.args[2], arguments[3])

        def prepare(channel: Any) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
            (centre,) = channels.numbers(channel, mean)

            def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                masked = channels.unless_positive(channels.load(y, at, mask), channels.load(g, at, mask))
                channels.store(masked, gm, at, mask)
                return masked, masked, builder.fsub(channels.load(x, at, mask), centre)

            return terms

        channels.two_sums(prepare, buffer, totals)
        return context.get_dummy_value()

    return signature, emit


def _make_grad(recomputed: bool) -> Any:
    @_intrinsic
    def grad(typing, g, x, place, mean, scale, bias, shift, slope, dx):
        """dx = scale * (g - shift - (x - mean) * slope).

        If it is `recomputed`, g is 0 unless (x - mean) * scale + bias is positive, or NaN.
        """
        signature = types.void(g, x, PLACE, mean, scale, bias, shift, slope, dx)

        def emit(context, builder, signature, arguments):
            g, x, mean, scale, bias, shift, slope, dx = (_data(context, builder, signature.args[i], arguments[i])
                                                         for i in (0, 1, 3, 4, 5, 6, 7, 8))
            channels = _Channels(context, builder, signature.args[1], arguments[2])

            def prepare(channel: Any) -> Callable[[Any, Any, int], None]:
                centre, factor, offset, mean_g, steepness = channels.numbers(channel, mean, scale, bias, shift, slope)

                def body(at: Any, mask: Any, number: int) -> None:
                    gradient, distance = channels.load(g, at, mask), builder.fsub(channels.load(x, at, mask), centre)
                    if recomputed:
                        gradient = channels.unless_positive(channels.affine(distance, factor, offset), gradient)
                    result = channels.affine(builder.fneg(distance), steepness, builder.fsub(gradient, mean_g))
                    channels.store(builder.fmul(result, factor), dx, at, mask)

                return body

            channels.each(prepare)
            return context.get_dummy_value()

        return signature, emit

    return grad


grad, recomputed_grad = _make_grad(False), _make_grad(True)
