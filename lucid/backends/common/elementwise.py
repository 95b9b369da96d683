"""Elementwise functions that NumPy and CuPy have, or that are short in terms of theirs: `table(xp)` binds them to either module.

Those of `WIDE` compute half-precision numbers in float32 and round once: not every one of them knows bfloat16.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..cpu import accurate
from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]

WIDE = """
arccos arccosh arcsin arcsinh arctanh deg2rad rad2deg copysign fmax fmin hypot logaddexp logaddexp2 sinc logit heaviside xlogy
xlog1py entr trunc_divide leaky_relu binary_cross_entropy
""".split()


def table(xp: Any) -> dict[str, Kernel]:
    """The functions of this module on `xp` (numpy or cupy)."""
    names = "arccos arccosh arcsin arcsinh arctanh deg2rad rad2deg copysign fmax fmin hypot logaddexp2 gcd lcm".split()
    entries: dict[str, Kernel] = {name: accurate.function(xp, name) for name in names}
    log, log1p, sin = (accurate.function(xp, name) for name in ("log", "log1p", "sin"))

    def entry(function: Kernel) -> Kernel:
        entries[function.__name__] = function
        return function

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
        places = wider != wider, wider == math.inf, wider == -math.inf
        if out is None:
            out = xp.array(x)
        elif out is not x:
            xp.copyto(out, x)
        for value, where in zip(fill, places, strict=True):
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
        chosen = xp.where(x > 0, x, x * slope)
        if out is None:
            return chosen
        out[...] = chosen
        return out

    @entry
    def trunc_divide(a: Array, b: Array) -> Array:
        return xp.trunc(a / b)

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
        """The next number after `a` towards `b`; that of half-precision numbers is a neighbour in their bits."""
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
        """Mantissas and int32 exponents; the mantissas of half-precision numbers have all their digits."""
        mantissa, exponent = xp.frexp(wide(x))
        return xp.asarray(mantissa).astype(x.dtype, copy=False), xp.asarray(exponent)

    return entries | {name: _through_float32(entries[name]) for name in WIDE}


@functools.lru_cache(maxsize=256)
def _replacements(dtype: Any, *values: str) -> tuple[np.ndarray, ...]:
    """What `nan_to_num` replaces NaN, infinity and minus infinity by."""
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    replacements = [float(limit) if value == "None" else float(value)
                    for value, limit in zip(values, (math.nan, limits.max, limits.min), strict=True)]
    return tuple([np.asarray(number, np.float64).astype(dtype) for number in replacements])


def _through_float32(function: Kernel) -> Kernel:
    @functools.wraps(function)
    def kernel(*arrays: Array, out: Array | None = None, **attributes: Any) -> Array:
        for array in arrays:
            if getattr(array, "itemsize", 4) == 2 and array.dtype in HALVES:
                result = function(*[wide(a) if hasattr(a, "dtype") else a for a in arrays], **attributes).astype(array.dtype)
                if out is None:
                    return result
                out[...] = result
                return out
        return function(*arrays, **attributes) if out is None else function(*arrays, out=out, **attributes)

    return kernel
