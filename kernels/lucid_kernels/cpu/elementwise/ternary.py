"""Large arrays combined element by element with scalars, masks and one another: `lerp`, `add_scaled`, `addcmul`, `addcdiv`,
`leaky_relu`, `clip`, `angle`, `nextafter`, and choices by a mask.

NumPy does each in several passes, or branches for each element, which takes ten times as long where a mask has no pattern.
CuPy fuses the first and chooses without branches: its own functions are used there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels import formulas

from ..arrays.layout import Array, deliver, result
from ..arrays.loops import Chunked
from ..math.basic import bits
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact
from .source import loop

_LOOPS = {formula.__name__: loop(formula, __name__) for formula in (
    formulas.add_scaled, formulas.addcmul, formulas.addcdiv, formulas.lerp_near, formulas.lerp_far, formulas.lerp_each,
    formulas.leaky_relu, formulas.clip, formulas.angle, formulas.select, formulas.replace, formulas.keep)}  # fmt: skip


def _apply(name: str, *arguments: Any, out: Array | None = None) -> Array:
    """Apply the loop of a formula to its scalars and arrays of one shape, the last of which has the dtype of the result."""
    like = arguments[-1]
    y = empty(like.shape, like.dtype) if out is None else result(out, like.shape, like.dtype)
    flat = [argument.ravel() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    _LOOPS[name].run(*flat, y.ravel(), fresh=y is not out)
    return y if out is None else deliver(out, y)


def add_scaled(a: Array, b: Array, *, alpha: float, out: Array | None = None) -> Array:
    """``a + alpha * b`` of two arrays of one floating-point dtype and shape; `out` may be either."""
    return _apply("add_scaled", a.dtype.type(alpha), a, b, out=out)


def addcmul(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
    """``x + value * a * b`` of three arrays of one floating-point dtype and shape; `out` may be any of them."""
    return _apply("addcmul", x.dtype.type(value), x, a, b, out=out)


def addcdiv(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
    """``x + value * a / b``, as `addcmul`."""
    return _apply("addcdiv", x.dtype.type(value), x, a, b, out=out)


def lerp(x: Array, end: Array, weight: Any, *, out: Array | None = None) -> Array:
    """Between `x` and `end`, computed from the nearer of them, for arrays of one floating-point dtype and shape; `weight` is a
    number or another such array. `out` may be any of them.
    """
    if isinstance(weight, np.ndarray):
        return _apply("lerp_each", x, end, weight, out=out)
    if abs(weight) < 0.5:
        return _apply("lerp_near", x.dtype.type(weight), x, end, out=out)
    return _apply("lerp_far", x.dtype.type(1 - weight), x, end, out=out)


def leaky_relu(x: Array, *, slope: float, out: Array | None = None) -> Array:
    """`x`, of a floating-point dtype, where it is positive, else ``slope * x``. `out` may be `x`."""
    return _apply("leaky_relu", x.dtype.type(slope), x, out=out)


def clip(x: Array, low: float, high: float, *, out: Array | None = None) -> Array:
    """`x`, of a floating-point dtype, moved into [low, high], neither of which is NaN; NaN stays NaN. `out` may be `x`."""
    real = x.dtype.type
    return _apply("clip", real(low), real(high), x, out=out)


def angle(x: Array) -> Array:
    """Pi where `x`, of a floating-point dtype, is below 0, else 0; NaN of NaN."""
    return _apply("angle", x)


# The bits of a number as an integer grow with its size: the next number is one bit further. The result is such integers.
@Chunked
@jit_exact
def _nextafter(b: Any, a: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        start, end = a[i], b[i]
        pattern = bits(start)
        moved = pattern + 1 if (end > start) == (start > 0) else pattern - 1
        moved = bits(math.copysign(start, end)) + 1 if start == 0 else moved
        moved = bits(end) if start == end else moved
        y[i] = moved if (start == start) & (end == end) else bits(start + end)


def nextafter(a: Array, b: Array) -> Array:
    """The next number after `a` towards `b`, arrays of one dtype, float32 or float64, and one shape."""
    pattern = result(None, a.shape, _BITS[a.itemsize])
    _nextafter.run(b.ravel(), a.ravel(), pattern.ravel(), fresh=True)
    return pattern.view(a.dtype)


# Choices move bits, whatever they mean: one kernel for all dtypes of a size.


_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _bits(array: Array) -> Array:
    return array.view(_BITS[array.itemsize])


def where(condition: Array, a: Array, b: Array) -> Array:
    """`a` where `condition`, else `b`: arrays of one dtype of at most 8 bytes, each of the shape of `condition`, or one 0-d."""
    dtype, truths = a.dtype, _bits(condition)
    a, b = _bits(a), _bits(b)
    if a.ndim < condition.ndim:
        return _apply("replace", a[()], truths, b).view(dtype)
    if b.ndim < condition.ndim:
        return _apply("keep", b[()], truths, a).view(dtype)
    return _apply("select", truths, a, b).view(dtype)


def masked_fill(x: Array, mask: Array, value: Array, *, out: Array | None = None) -> Array:
    """The 0-d `value` where `mask`, else `x`: arrays of one dtype of at most 8 bytes, two of one shape. `out` may be `x`."""
    bits = _bits(x)
    target = bits if out is x else None if out is None else _bits(out)
    filled = _apply("replace", _bits(value)[()], _bits(mask), bits, out=target)
    return filled.view(x.dtype) if out is None else out


def compile_streaming(dtype: Any) -> None:
    """Compile what large results of `dtype` take: for a warm-up."""
    bits, truth = _BITS[np.dtype(dtype).itemsize], _BITS[1]
    choices = {"select": (truth, bits, bits, bits), "replace": (bits, truth, bits, bits), "keep": (bits, truth, bits, bits)}
    for name in ("add_scaled", "lerp_near", "lerp_far", "lerp_each", "leaky_relu", "clip", *choices):
        _LOOPS[name].compile_streaming(*choices.get(name, (dtype,)))
