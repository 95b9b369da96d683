"""Steps of a Fourier transform of one row, in LLVM IR: radix 2 to 8 in vector registers, with unchecked pointers.

Between the steps real and imaginary parts lie apart, the latter `size` elements further on. A step of Stockham's algorithm
(Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, section 1.7) goes from x[q + s (p + m j)] to
y[q + s (r p + k)]: y is the sum over j < r of x exp(-2 pi i j k / r), times exp(-2 pi i p k / (r m)). In the first step s is 1,
and the lanes of a vector are neighbours p: it writes them interleaved. In all others they are neighbours q. Where these do not
fill whole vectors, the last one computes some again.
"""
from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, gep, shuffle

Complex = tuple[Any, Any]  # vectors of real and imaginary parts


class _ComplexVectors(Vectors):
    """Emits arithmetic of vectors of complex numbers."""

    def add(self, a: Complex, b: Complex) -> Complex:
        return self.builder.fadd(a[0], b[0]), self.builder.fadd(a[1], b[1])

    def sub(self, a: Complex, b: Complex) -> Complex:
        return self.builder.fsub(a[0], b[0]), self.builder.fsub(a[1], b[1])

    def times(self, a: Complex, b: Complex) -> Complex:
        build, one = self.builder, ("contract",)
        re = build.fsub(build.fmul(a[0], b[0], flags=one), build.fmul(a[1], b[1], flags=one), flags=one)
        im = build.fadd(build.fmul(a[0], b[1], flags=one), build.fmul(a[1], b[0], flags=one), flags=one)
        return re, im

    def load_apart(self, pointer: Any, size: Any) -> Complex:
        return self.load(pointer), self.load(gep(self.builder, pointer, size))

    def store_apart(self, number: Complex, pointer: Any, size: Any) -> None:
        self.store(number[0], pointer)
        self.store(number[1], gep(self.builder, pointer, size))

    def load_pairs(self, pointer: Any) -> Complex:
        """Elements whose real and imaginary parts alternate."""
        halves = self.load(pointer), self.load(gep(self.builder, pointer, self.type.count))
        return self.every_second(*halves), self.every_second(*halves, first=1)

    def store_pairs(self, number: Complex, pointer: Any) -> None:
        for half in range(2):
            self.store(self.interleaved(*number, half), gep(self.builder, pointer, half * self.type.count))

    def splat_pair(self, pointer: Any) -> Complex:
        return self.splat(self.builder.load(pointer)), self.splat(self.builder.load(gep(self.builder, pointer, 1)))

    def backwards(self, number: Complex) -> Complex:
        """The lanes from the last to the first."""
        re, im = (shuffle(self.builder, part, part, range(self.type.count - 1, -1, -1)) for part in number)
        return re, im

    def transform(self, x: list[Complex]) -> list[Complex]:
        """The transform of 2, 3, 4, 5 or 8 elements."""
        if len(x) == 2:
            return [self.add(*x), self.sub(*x)]
        if len(x) % 2:
            return self._odd_transform(x)
        even, odd = self.transform(x[::2]), self.transform(x[1::2])
        turned = [self._turned(number, k, len(x)) for k, number in enumerate(odd)]
        pairs = list(zip(even, turned))
        return [*(self._ahead(a, *b, 1) for a, b in pairs), *(self._ahead(a, *b, -1) for a, b in pairs)]

    def _odd_transform(self, x: list[Complex]) -> list[Complex]:
        """The transform of 3 or 5 elements: the sums and differences of those that are as far from the first one on either side
        times cosines and sines.
        """
        n, half = len(x), range(1, len(x) // 2 + 1)
        sums, differences = ([combine(x[j], x[-j]) for j in half] for combine in (self.add, self.sub))
        y = [self._weighted(x[0], sums, [1.0] * len(sums))] * n
        for k in half:
            angles = [2 * math.pi * (j * k % n) / n for j in half]
            even = self._weighted(x[0], sums, list(map(math.cos, angles)))
            re, im = self._weighted(None, differences, list(map(math.sin, angles)))
            turned = im, self.builder.fneg(re)
            y[k], y[-k] = self.add(even, turned), self.sub(even, turned)
        return y

    def _weighted(self, total: Complex | None, x: list[Complex], weights: list[float]) -> Complex:
        """`total` and the sum of all `x` times `weights`."""
        for number, weight in zip(x, weights):
            parts = number
            if weight != 1:
                factor = ir.Constant(self.type, [weight] * self.type.count)
                parts = tuple([self.builder.fmul(part, factor, flags=("contract",)) for part in number])
            if total is not None:
                parts = tuple([self.builder.fadd(a, b, flags=("contract",)) for a, b in zip(total, parts)])
            total = parts
        assert total is not None
        return total

    def _turned(self, a: Complex, k: int, n: int) -> tuple[Complex, bool]:
        """`a` times exp(-2 pi i k / n), or where the flag is set that times the root of 2: `_ahead` divides by it."""
        re, im = a
        build, eighths = self.builder, 8 * k // n
        if eighths == 0:
            return a, False
        if eighths == 2:
            return (im, build.fneg(re)), False
        both, apart = build.fadd(re, im), build.fsub(im, re)
        return ((both, apart) if eighths == 1 else (apart, build.fneg(both))), True

    def _ahead(self, a: Complex, b: Complex, longer: bool, sign: int) -> Complex:
        """``a + sign * b``, with `b` shortened where it is longer by the root of 2."""
        if not longer:
            return self.add(a, b) if sign > 0 else self.sub(a, b)
        root = ir.Constant(self.type, [math.copysign(math.sqrt(0.5), sign)] * self.type.count)
        one = ("contract",)
        re, im = (self.builder.fadd(x, self.builder.fmul(y, root, flags=one), flags=one) for x, y in zip(a, b))
        return re, im

    def zipped(self, rows: list[Any]) -> list[Any]:
        """The first lanes of all of `rows`, one after the other, then the second ones, and so on."""
        if len(rows) == 1:
            return rows
        even, odd = self.zipped(rows[::2]), self.zipped(rows[1::2])
        return [self.interleaved(a, b, half) for a, b in zip(even, odd) for half in range(2)]


def lanes_of(itemsize: int, most: int) -> int:
    """The lanes of the vectors of a step in which `most` neighbours are computed alike."""
    return min(VECTOR_BYTES // itemsize, most)


def _vectors(builder: ir.IRBuilder, pointer: Any, most: int) -> _ComplexVectors:
    element = pointer.type.pointee
    return _ComplexVectors(builder, element, lanes_of(4 if isinstance(element, ir.FloatType) else 8, most))


def _loop(builder: ir.IRBuilder, count: Any, step: int = 1) -> Any:
    return cgutils.for_range_slice(builder, constant(0), count, constant(step), intp=I64)


@contextlib.contextmanager
def _vectors_of(builder: ir.IRBuilder, count: Any, vectors: _ComplexVectors, whole: bool = False) -> Iterator[Any]:
    """The positions of the vectors that cover `count` neighbours, which fill at least one: the last one ends with them.

    To know that they fill `whole` vectors saves a tenth of the time of 64 elements.
    """
    end = builder.sub(count, constant(vectors.type.count))
    with _loop(builder, count, vectors.type.count) as (position, _):
        yield position if whole else builder.select(builder.icmp_signed("<", position, end), position, end)


def _double(builder: ir.IRBuilder, count: Any) -> Any:
    return builder.shl(count, constant(1))


def make_first(radix: int, most: int, whole: bool) -> Any:
    """The first step, of radix 4 or 8, for m not less than `most` or the lanes of a vector; a multiple of them if `whole`."""
    @intrinsic
    def first(typing, source, target, factors, size, sign):
        """`size` elements, whose parts alternate, to elements with their parts apart; a `sign` of -1 conjugates them before.

        `factors` has the real parts of exp(-2 pi i p k / size) for all p < m, then the imaginary ones; both for each k from 1 on.
        """
        def emit(context, builder, signature, arguments):
            source, target, factors, size, sign = arguments
            vectors = _vectors(builder, source, most)
            m = builder.udiv(size, constant(radix))
            sign = vectors.splat(sign)
            with _vectors_of(builder, m, vectors, whole) as p:
                x = []
                for j in range(radix):
                    position = builder.add(p, builder.mul(m, constant(j)))
                    re, im = vectors.load_pairs(gep(builder, source, _double(builder, position)))
                    x.append((re, builder.fmul(im, sign)))
                y = vectors.transform(x)
                for k in range(1, radix):
                    here = gep(builder, factors, p, builder.mul(m, constant(2 * (k - 1))))
                    y[k] = vectors.times(y[k], vectors.load_apart(here, m))
                position = gep(builder, target, builder.mul(p, constant(radix)))
                for part, start in enumerate((position, gep(builder, position, size))):
                    for v, row in enumerate(vectors.zipped([number[part] for number in y])):
                        vectors.store(row, gep(builder, start, v * vectors.type.count))
            return context.get_dummy_value()

        return types.void(source, target, factors, types.int64, source.dtype), emit

    return first


def make_middle(radix: int, most: int) -> Any:
    """A step between the first and the last, for s not less than `most` or the lanes of a vector; a multiple of them if the radix
    is even, as all steps before are then.
    """
    @intrinsic
    def middle(typing, source, target, factors, size, s, m):
        """`factors` has exp(-2 pi i p k / (radix m)), the parts one after the other, for all k from 1 on of each p."""
        integer = types.int64

        def emit(context, builder, signature, arguments):
            source, target, factors, size, s, m = arguments
            vectors = _vectors(builder, source, most)
            apart = builder.mul(s, m)
            with _loop(builder, m) as (p, _):
                start = builder.mul(p, s)
                turns = gep(builder, factors, builder.mul(p, constant(2 * (radix - 1))))
                turns = [vectors.splat_pair(gep(builder, turns, 2 * k)) for k in range(radix - 1)]
                position = builder.mul(start, constant(radix))
                with _vectors_of(builder, s, vectors, radix % 2 == 0) as q:
                    here = gep(builder, source, start, q)
                    y = vectors.transform([vectors.load_apart(gep(builder, here, builder.mul(apart, constant(j))), size)
                                           for j in range(radix)])
                    y[1:] = [vectors.times(number, turn) for number, turn in zip(y[1:], turns)]
                    there = gep(builder, target, position, q)
                    for k, number in enumerate(y):
                        vectors.store_apart(number, gep(builder, there, builder.mul(s, constant(k))), size)
            return context.get_dummy_value()

        return types.void(source, target, factors, integer, integer, integer), emit

    return middle


def make_last(radix: int, most: int) -> Any:
    """The last step, for s as in those before."""
    @intrinsic
    def last(typing, source, target, size, scale, scale_imag):
        """To elements whose parts alternate, the real parts times `scale`, the imaginary parts times `scale_imag`."""
        def emit(context, builder, signature, arguments):
            source, target, size, *scales = arguments
            vectors = _vectors(builder, source, most)
            s = builder.udiv(size, constant(radix))
            scales = [vectors.splat(scale) for scale in scales]
            with _vectors_of(builder, s, vectors, radix % 2 == 0) as q:
                here, there = gep(builder, source, q), gep(builder, target, _double(builder, q))
                y = vectors.transform([vectors.load_apart(gep(builder, here, builder.mul(s, constant(j))), size)
                                       for j in range(radix)])
                for k, number in enumerate(y):
                    re, im = (builder.fmul(part, scale) for part, scale in zip(number, scales))
                    vectors.store_pairs((re, im), gep(builder, there, builder.mul(s, constant(2 * k))))
            return context.get_dummy_value()

        return types.void(source, target, types.int64, source.dtype, source.dtype), emit

    return last


@intrinsic
def combine_halves(typing, source, target, factors, size, scale, sign):
    """Between the transform of `size` elements and that of twice as many real ones, of which they are the even and the odd ones:

    for A = source[k], B = the conjugate of source[size - k] and f = factors[k], target[k] = (A + B + f (A - B)) * scale, and
    target[size - k] is the conjugate of (A + B - f (A - B)) * scale; for all k < size / 2, which fill a vector. Parts
    alternate; those of the factors lie apart, the imaginary ones times `sign`.
    """
    number = types.int64

    def emit(context, builder, signature, arguments):
        source, target, factors, size, scale, sign = arguments
        vectors = _vectors(builder, source, VECTOR_BYTES)
        half = builder.lshr(size, constant(1))
        scale, sign = vectors.splat(scale), vectors.splat(sign)
        with _vectors_of(builder, half, vectors) as k:
            mirror = _double(builder, builder.sub(builder.sub(size, k), constant(vectors.type.count - 1)))
            a = vectors.load_pairs(gep(builder, source, _double(builder, k)))
            re, im = vectors.backwards(vectors.load_pairs(gep(builder, source, mirror)))
            b = re, builder.fneg(im)
            f = vectors.load_apart(gep(builder, factors, k), half)
            turned = vectors.times(vectors.sub(a, b), (f[0], builder.fmul(f[1], sign)))
            total = vectors.add(a, b)
            for number, position, negated in ((vectors.add(total, turned), _double(builder, k), False),
                                           (vectors.backwards(vectors.sub(total, turned)), mirror, True)):
                re, im = (builder.fmul(part, scale) for part in number)
                vectors.store_pairs((re, builder.fneg(im) if negated else im), gep(builder, target, position))
        return context.get_dummy_value()

    return types.void(source, target, factors, number, source.dtype, source.dtype), emit
