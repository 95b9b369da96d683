"""Elementwise functions that NumPy and CuPy lack, bound to either: `compositions` of their functions, and `arithmetic`."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from lucid_kernels.expression import Node, Program

from ..elementwise import Row
from ..elementwise.row import INTERNAL
from ..half_precision import HALVES, wide
from ..sizes import LARGE, MIDDLE

Array = Any
Kernel = Callable[..., Any]

ARITHMETIC = ("add", "sub", "mul", "div")
_NUMBERS = (float, int)
_MOST_NUMBERS = 256  # kept of each dtype


class Numbers(dict[float, Array]):
    """Python numbers as arrays of one dtype, with which NumPy's functions take half of the time that they take with a number."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.zeros = [np.asarray(zero, dtype) for zero in (0.0, -0.0)]

    def __missing__(self, number: float) -> Array:
        if number == 0:  # both are one key
            return self.zeros[math.copysign(1, number) < 0]
        if len(self) >= _MOST_NUMBERS:
            self.clear()
        array = self[number] = np.asarray(_representable(number, self.dtype), self.dtype)
        return array


NUMBERS = {numbers.dtype.char: numbers for numbers in map(Numbers, (np.float16, np.float32, np.float64))}


def arithmetic(array: Any, function: Kernel, ours: Callable[[], Kernel], writes: Callable[..., bool] | None = None
               ) -> Kernel:
    """`function` of NumPy or CuPy, and for many elements the kernel that `ours` imports; of arrays of class `array` and scalars.

    `writes(out, a, b)` says whether the kernel writes into memory of many elements that is there already. The small
    case comes first, in one expression: it stands before each operation of small arrays.
    """
    numbers = NUMBERS if array is np.ndarray else {}

    def kernel(a: Any, b: Any, out: Array | None = None) -> Any:
        if out is None:
            if a.__class__ is array:
                size = a.size
                if size < MIDDLE or (size < LARGE and a.itemsize > 2):
                    if b.__class__ is not array:
                        known = numbers.get(a.dtype.char)
                        return function(a, b if known is None or b.__class__ not in _NUMBERS else known[b])
                    if size * b.size < LARGE or a.shape == b.shape or _size(a.shape, b.shape) < LARGE:
                        return function(a, b)
            elif b.size < MIDDLE or (b.size < LARGE and b.itemsize > 2):
                known = numbers.get(b.dtype.char)
                return function(a if known is None or a.__class__ not in _NUMBERS else known[a], b)
            return ours()(a, b)
        if out.size < LARGE or writes is None or not writes(out, a, b):
            if b.__class__ in _NUMBERS:
                known = numbers.get(a.dtype.char)
                return function(a, b if known is None else known[b], out)
            return function(a, b, out)
        return ours()(a, b, out=out)

    return kernel


def of_formula(row: Row, entries: Mapping[str, Kernel]) -> Kernel:
    """The operation of `row` by its formula, which the entry `fused` compiles."""
    def kernel(*operands: Array, out: Array | None = None, **attributes: Any) -> Array:
        formula = program(row, operands[0].dtype, (True,) * len(operands), tuple(attributes.items()))
        if formula is None:
            raise TypeError(f"op '{row.name}' has no formula of {operands[0].dtype}")
        return entries["fused"](*operands, program=formula, out=out)

    return kernel


@functools.lru_cache(maxsize=1024)
def program(row: Row, dtype: Any, present: tuple[bool, ...], attributes: tuple[tuple[str, Any], ...]) -> Program | None:
    """The formula of an operation for operands of `dtype`, those that are `present`; None if some attributes have none."""
    from .. import symbolic

    symbols = [symbolic.argument(number, dtype, True) if given else None for number, given in enumerate(present)]
    if row.formula == INTERNAL:
        return Program([Node(row.name, dtype, tuple([symbol.node for symbol in symbols if symbol is not None]))])
    try:
        return Program([symbolic.TABLE[row.name](*symbols, **dict(attributes)).node], by_steps=True)
    except symbolic.Untraceable:
        return None


def _size(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many elements arrays of these shapes have together, if they can be broadcast."""
    if len(a) < len(b):
        a, b = b, a
    lead = len(a) - len(b)
    return math.prod(a[:lead]) * math.prod(map(max, a[lead:], b))


def _representable(number: float, dtype: np.dtype) -> float:
    """`number`, or infinity where a float dtype ends before: NumPy's conversion warns, in the name of a module of its own."""
    if dtype.kind != "f" or number != number or abs(number) <= float(np.finfo(dtype).max):
        return number
    return math.copysign(math.inf, number)


def _is_plain(bound: Any) -> bool:
    """Whether `bound` is None or a number other than NaN."""
    return bound is None or (bound.__class__ in _NUMBERS and bound == bound)


def compositions(xp: Any, function: Callable[[str], Kernel]) -> dict[str, Kernel]:
    """Those of several functions of `xp` (numpy or cupy), or with cases of their own; `function` gives exact ones of float32."""
    entries: dict[str, Kernel] = {}
    numbers = NUMBERS if xp is np else {}
    where = getattr(xp.where, "_implementation", xp.where)  # without NumPy's protocol for other classes of arrays
    log, log1p, sin = map(function, ("log", "log1p", "sin"))
    clip_between: Any = np._core.umath.clip  # type: ignore[attr-defined]

    def entry(function: Kernel) -> Kernel:
        entries[function.__name__] = function
        return function

    def write(value: Array, out: Array | None) -> Array:
        if out is None:
            return value
        out[...] = value
        return out

    @entry
    def clip(x: Array, low: Array | None, high: Array | None, *, out: Array | None = None) -> Array:
        if xp is np and x.dtype.kind == "f":  # the function that NumPy's method comes to, after as much time again
            known = NUMBERS[x.dtype.char]
            if low is None or low.__class__ in _NUMBERS:
                low = known[-math.inf if low is None else low]
            if high is None or high.__class__ in _NUMBERS:
                high = known[math.inf if high is None else high]
            return clip_between(x, low, high, out=out)  # of one bound in a third of the time of `maximum`
        if low.__class__ is float:
            low = _representable(low, x.dtype)
        if high.__class__ is float:
            high = _representable(high, x.dtype)
        if x.dtype.kind == "V":  # the result for bfloat16 is float32
            return write(clip(wide(x), low, high).astype(x.dtype), out)
        if xp is np or (_is_plain(low) and _is_plain(high)):
            return x.clip(low, high, out=out)
        # CuPy's `clip` passes over bounds that are NaN.
        at_least = x if low is None else xp.maximum(x, low)
        return write((at_least if high is None else xp.minimum(at_least, high)).astype(x.dtype, copy=False), out)

    @entry
    def lerp(x: Array, end: Array, weight: Any, *, out: Array | None = None) -> Array:
        """Between `x` and `end`, computed from the nearer of them. `weight` is a number or an array; `out` may be `x`."""
        if x.dtype in HALVES:
            weight = wide(weight) if hasattr(weight, "dtype") else weight
            return write(lerp(wide(x), wide(end), weight).astype(x.dtype), out)
        step, near = end - x, abs(weight) < 0.5
        if hasattr(weight, "dtype"):
            return write(xp.where(near, x + weight * step, end - (1 - weight) * step), out)
        step *= weight if near else 1 - weight
        return xp.add(x, step, out=out) if near else xp.subtract(end, step, out=out)

    @entry
    def add_scaled(a: Array, b: Array, *, alpha: float, out: Array | None = None) -> Array:
        """``a + alpha * b``; `out` may be either."""
        return xp.add(a, b * alpha, out=out)

    @entry
    def addcmul(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
        """``x + value * a * b``; `out` may be any of them."""
        return xp.add(x, a * b * value, out=out)

    @entry
    def addcdiv(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
        """``x + value * a / b``; `out` may be any of them."""
        return xp.add(x, a / b * value, out=out)

    @entry
    def sign(x: Array, *, out: Array | None = None) -> Array:
        """0 for NaN, as in PyTorch; NumPy's is NaN. `out` may be `x`."""
        if x.dtype.kind == "i":  # a fifth of the time
            return xp.sign(x, out=out)
        if x.dtype.kind == "u":
            return write((x > 0).astype(x.dtype), out)
        if x.dtype.char in "fd" and x.ndim:
            signs = xp.sign(x, out=out)
            xp.copyto(signs, 0, where=signs != signs)  # small arrays take 0.7 of the time of the line below
            return signs
        return write((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype), out)

    @entry
    def rsqrt(x: Array, *, out: Array | None = None) -> Array:
        root = xp.sqrt(x, out=out)
        return xp.reciprocal(root, out=out)

    @entry
    def round(x: Array, *, decimals: int = 0, out: Array | None = None) -> Array:
        return xp.rint(x, out=out) if decimals == 0 else write(xp.round(x, decimals), out)

    if xp is np:
        @entry
        def power(a: Array, b: Any, *, out: Array | None = None) -> Array:
            """NumPy takes 140 ns for each negative base, so integer powers are those of the size, with the sign."""
            if b.__class__ not in (int, float) or a.dtype.char not in "fd":
                return np.power(a, b, out=out)
            if b == 0.5:  # as in PyTorch, NaN of -inf
                return np.sqrt(a, out=out)
            if b == -0.5:
                return np.reciprocal(np.sqrt(a, out=out), out=out)
            if b != b // 1:
                return np.power(a, b, out=out)
            if b == 3:
                square = np.asarray(a * a)
                return np.multiply(square, a, out=square if out is None else out)
            if b == -1:
                return np.reciprocal(a, out=out)
            size = np.power(np.abs(a), b, out=None if b % 2 else out)
            return np.copysign(size, a, out=out) if b % 2 else size

    @entry
    def logaddexp(a: Array, b: Array) -> Array:
        if xp.result_type(a, b).kind != "c":
            return xp.logaddexp(a, b)
        larger = a.real >= b.real
        peak = xp.where(larger, a, b)
        return peak + log1p(xp.exp(xp.where(larger, b, a) - peak))

    @entry
    def binary_cross_entropy(x: Array, target: Array) -> Array:
        """``-(target * log(x) + (1 - target) * log(1 - x))``, with logarithms bounded by -100."""
        return (target - 1) * xp.maximum(log1p(-x), -100) - target * xp.maximum(log(x), -100)

    @entry
    def sinc(x: Array) -> Array:
        """sin(pi x) / (pi x), and 1 at 0."""
        angle = x * math.pi
        return xp.where(x == 0, x + 1, sin(angle) / angle)

    @entry
    def angle(x: Array) -> Array:
        """The argument of complex numbers; of real ones, pi below 0, and NaN of NaN."""
        if x.dtype.kind == "c":
            return xp.arctan2(x.imag, x.real)
        return xp.where(x != x, x, (x < 0).astype(x.dtype) * xp.asarray(math.pi, dtype=x.dtype)).astype(x.dtype, copy=False)

    @entry
    def signbit(x: Array) -> Array:
        if x.dtype.kind == "b":
            return xp.zeros_like(x)
        return x < 0 if x.dtype.kind in "iu" else xp.signbit(wide(x))

    @entry
    def nan_to_num(x: Array, *, nan: float, posinf: float | None, neginf: float | None, out: Array | None = None) -> Array:
        """NaN and infinities replaced; None stands for the largest and the smallest number. `out`, of real ones, may be `x`."""
        if x.dtype.kind == "c":
            return nan_to_num(x.real, nan=nan, posinf=posinf, neginf=neginf) + 1j * nan_to_num(x.imag, nan=nan, posinf=posinf,
                                                                                               neginf=neginf)
        # Their texts: 0.0 and -0.0 are equal, and NaN is unlike itself.
        fill = _replacements(x.dtype, repr(nan), repr(posinf), repr(neginf))
        wider = wide(x)
        masks = wider != wider, wider == math.inf, wider == -math.inf
        if out is None:
            out = xp.array(x)
        elif out is not x:
            xp.copyto(out, x)
        for value, where in zip(fill, masks, strict=True):
            xp.copyto(out, xp.asarray(value), where=where)
        return out

    @entry
    def logit(x: Array, *, eps: float | None) -> Array:
        """log(x / (1 - x)), of `x` moved into [eps, 1 - eps]."""
        z = x if eps is None else xp.clip(x, eps, 1 - eps)
        return log(z / (1 - z))

    @entry
    def leaky_relu(x: Array, *, slope: float, out: Array | None = None) -> Array:
        """`x` where it is positive, else ``slope * x``. `out` may be `x`."""
        zero: Any = 0
        known = numbers.get(x.dtype.char)
        if known is not None and slope.__class__ in _NUMBERS:
            zero, slope = known.zeros[0], known[slope]
        chosen = where(x > zero, x, x * slope)
        if out is None:
            return chosen
        out[...] = chosen
        return out

    @entry
    def trunc_divide(a: Array, b: Array) -> Array:
        if not any(hasattr(x, "dtype") and x.dtype.kind in "iu" for x in (a, b)):
            return xp.trunc(a / b)
        quotient = a // b  # right where a float has too few digits
        return quotient + ((quotient * b != a) & ((a < 0) != (b < 0))).astype(quotient.dtype)

    @entry
    def entr(x: Array) -> Array:
        """-x log(x); 0 at 0 and -inf below."""
        size = xp.abs(x)
        return xp.where(x == 0, size, xp.where(x < 0, xp.asarray(-math.inf, x.dtype), -x * log(size)))

    @entry
    def heaviside(x: Array, values: Array) -> Array:
        """0 below 0 and of NaN, `values` at 0, 1 above."""
        return xp.where(x == 0, values, (x > 0).astype(values.dtype))

    @entry
    def xlogy(x: Array, y: Array) -> Array:
        """x log(y); 0 where x is 0 and y is not NaN."""
        return xp.where((x == 0) & (y == y), xp.abs(x), x * log(y))

    @entry
    def xlog1py(x: Array, y: Array) -> Array:
        """x log(1 + y); 0 where x is 0 and y is not NaN."""
        return xp.where((x == 0) & (y == y), xp.abs(x), x * log1p(y))

    @entry
    def nextafter(a: Array, b: Array) -> Array:
        """The next value after `a` towards `b`; that of half-precision elements is a neighbour in their bits."""
        if a.dtype not in HALVES:
            return xp.nextafter(a, b)
        a, b = (xp.ascontiguousarray(x).reshape(x.shape) for x in xp.broadcast_arrays(a, b))
        start, end = wide(a), wide(b)
        bits = a.view(np.int16)
        step = xp.where((end > start) == (start > 0), 1, -1).astype(np.int16)
        smallest = xp.where(end > 0, 1, -0x7FFF).astype(np.int16)
        moved = xp.where(start == 0, smallest, bits + step)
        nan = np.asarray(math.nan, a.dtype).view(np.int16)[()]
        chosen = xp.where(start == end, b.view(np.int16), moved)
        return xp.where((start != start) | (end != end), nan, chosen).view(a.dtype)

    # Shifts by a negative count or beyond the width: nothing of the number is left but its sign. NumPy defines them so, C not.
    @entry
    def bitwise_left_shift(a: Array, b: Array) -> Array:
        if xp is np:
            return xp.left_shift(a, b)
        inside = (b >= 0) & (b < 8 * a.dtype.itemsize)
        return xp.where(inside, xp.left_shift(a, xp.where(inside, b, xp.zeros_like(b))), xp.zeros_like(a))

    @entry
    def bitwise_right_shift(a: Array, b: Array) -> Array:
        if xp is np:
            return xp.right_shift(a, b)
        most = xp.full_like(b, 8 * a.dtype.itemsize - 1)
        inside = (b >= 0) & (b <= most)
        shifted = xp.right_shift(a, xp.where(inside, b, most))
        return shifted if a.dtype.kind == "i" else xp.where(inside, shifted, xp.zeros_like(a))

    @entry
    def frexp(x: Array) -> tuple[Array, Array]:
        """Mantissas and int32 exponents; the mantissas of half-precision elements have all their digits."""
        mantissa, exponent = xp.frexp(wide(x))
        return xp.asarray(mantissa).astype(x.dtype, copy=False), xp.asarray(exponent)

    return entries


@functools.lru_cache(maxsize=256)
def _replacements(dtype: Any, *values: str) -> tuple[np.ndarray, ...]:
    """What `nan_to_num` replaces NaN, infinity and minus infinity by."""
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    replacements = [float(limit) if value == "None" else float(value)
                    for value, limit in zip(values, (math.nan, limits.max, limits.min), strict=True)]
    return tuple([np.asarray(number, np.float64).astype(dtype) for number in replacements])
