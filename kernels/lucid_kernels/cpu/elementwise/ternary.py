"""Large arrays combined element by element with numbers, masks and one another: `lerp`, `add_scaled`, `addcmul`, `addcdiv`,
`leaky_relu`, `clip`, `angle`, `nextafter`, and choices by a mask.

NumPy does each in several passes, or asks a branch for each element, which takes ten times as long where a mask has no pattern.
CuPy fuses the first and chooses without branches: its own functions serve there.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..arrays.layout import Array, deliver, result
from ..arrays.loops import Chunked
from ..math.basic import bits
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact

_numbers_first = functools.partial(Chunked, numbers=1)


def _apply(loop: Chunked, *arguments: Any, out: Array | None) -> Array:
    """Apply `loop` to numbers and arrays of one shape, the last of which has the dtype of the result."""
    like = arguments[-1]
    y = empty(like.shape, like.dtype) if out is None else result(out, like.shape, like.dtype)
    flat = [argument.ravel() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    loop.run(*flat, y.ravel(), fresh=y is not out)
    return y if out is None else deliver(out, y)


@_numbers_first
@jit_exact
def _add_scaled(alpha: Any, b: Any, a: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = a[i] + alpha * b[i]


def add_scaled(a: Array, b: Array, *, alpha: float, out: Array | None = None) -> Array:
    """``a + alpha * b`` of two arrays of one floating-point dtype and shape; `out` may be either."""
    return _apply(_add_scaled, a.dtype.type(alpha), b, a, out=out)


@_numbers_first
@jit_exact
def _addcmul(value: Any, b: Any, a: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i] + value * (a[i] * b[i])


@_numbers_first
@jit_exact
def _addcdiv(value: Any, b: Any, a: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i] + value * (a[i] / b[i])


def addcmul(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
    """``x + value * a * b`` of three arrays of one floating-point dtype and shape; `out` may be any of them."""
    return _apply(_addcmul, x.dtype.type(value), b, a, x, out=out)


def addcdiv(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Array:
    """``x + value * a / b``, as `addcmul`."""
    return _apply(_addcdiv, x.dtype.type(value), b, a, x, out=out)


@_numbers_first
@jit_exact
def _lerp_near(weight: Any, end: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i] + weight * (end[i] - x[i])


@_numbers_first
@jit_exact
def _lerp_far(rest: Any, end: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = end[i] - rest * (end[i] - x[i])


@Chunked
@jit_exact
def _lerp_each(weight: Any, end: Any, x: Any, y: Any) -> None:
    one, half = y.dtype.type(1), y.dtype.type(0.5)
    for i in range(y.shape[0]):
        step = end[i] - x[i]
        near, far = x[i] + weight[i] * step, end[i] - (one - weight[i]) * step
        y[i] = near if abs(weight[i]) < half else far


def lerp(x: Array, end: Array, weight: Any, *, out: Array | None = None) -> Array:
    """Between `x` and `end`, computed from the nearer of them, for arrays of one floating-point dtype and shape; `weight` is a
    number or another such array. `out` may be any of them.
    """
    if isinstance(weight, np.ndarray):
        return _apply(_lerp_each, weight, end, x, out=out)
    if abs(weight) < 0.5:
        return _apply(_lerp_near, x.dtype.type(weight), end, x, out=out)
    return _apply(_lerp_far, x.dtype.type(1 - weight), end, x, out=out)


@_numbers_first
@jit_exact
def _leaky_relu(slope: Any, x: Any, y: Any) -> None:
    zero = x.dtype.type(0)
    for i in range(y.shape[0]):
        scaled = slope * x[i]
        y[i] = x[i] if x[i] > zero else scaled


def leaky_relu(x: Array, *, slope: float, out: Array | None = None) -> Array:
    """`x`, of a floating-point dtype, where it is positive, else ``slope * x``. `out` may be `x`."""
    return _apply(_leaky_relu, x.dtype.type(slope), x, out=out)


@functools.partial(Chunked, numbers=2)
@jit_exact
def _clip(low: Any, high: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        raised = low if low > x[i] else x[i]  # this way round NaN stays, and each of these is one instruction
        y[i] = high if high < raised else raised


def clip(x: Array, low: float, high: float, *, out: Array | None = None) -> Array:
    """`x`, of a floating-point dtype, moved into [low, high], neither of which is NaN; NaN stays NaN. `out` may be `x`."""
    real = x.dtype.type
    return _apply(_clip, real(low), real(high), x, out=out)


@Chunked
@jit_exact
def _angle(x: Any, y: Any) -> None:
    zero, half_turn = x.dtype.type(0), x.dtype.type(math.pi)
    for i in range(y.shape[0]):
        nan_or_nothing = zero if x[i] >= zero else x[i]
        y[i] = half_turn if x[i] < zero else nan_or_nothing


def angle(x: Array) -> Array:
    """Pi where `x`, of a floating-point dtype, is below 0, else 0; NaN of NaN."""
    return _apply(_angle, x, out=None)


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


# Choices move bits, whatever they mean: one kernel serves all dtypes of a size.


@Chunked
@jit_exact
def _select(condition: Any, b: Any, a: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        chosen, other = a[i], b[i]  # both read before the question: then there is no branch
        y[i] = chosen if condition[i] else other


@_numbers_first
@jit_exact
def _replace(value: Any, condition: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        kept = x[i]
        y[i] = value if condition[i] else kept


@_numbers_first
@jit_exact
def _keep(value: Any, condition: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        kept = x[i]
        y[i] = kept if condition[i] else value


_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _bits(array: Array) -> Array:
    return array.view(_BITS[array.itemsize])


def where(condition: Array, a: Array, b: Array) -> Array:
    """`a` where `condition`, else `b`: arrays of one dtype of at most 8 bytes, each of the shape of `condition`, or one 0-d."""
    dtype, truths = a.dtype, _bits(condition)
    a, b = _bits(a), _bits(b)
    if a.ndim < condition.ndim:
        return _apply(_replace, a[()], truths, b, out=None).view(dtype)
    if b.ndim < condition.ndim:
        return _apply(_keep, b[()], truths, a, out=None).view(dtype)
    return _apply(_select, truths, b, a, out=None).view(dtype)


def masked_fill(x: Array, mask: Array, value: Array, *, out: Array | None = None) -> Array:
    """The 0-d `value` where `mask`, else `x`: arrays of one dtype of at most 8 bytes, two of one shape. `out` may be `x`."""
    bits = _bits(x)
    target = bits if out is x else None if out is None else _bits(out)
    filled = _apply(_replace, _bits(value)[()], _bits(mask), bits, out=target)
    return filled.view(x.dtype) if out is None else out


def compile_streaming(dtype: Any) -> None:
    """Compile what large results of `dtype` take: for a warm-up."""
    for loop in (_add_scaled, _lerp_near, _lerp_far, _lerp_each, _leaky_relu, _clip):
        loop.compile_streaming(dtype)
    bits, truth = _BITS[np.dtype(dtype).itemsize], _BITS[1]
    _select.compile_streaming(truth, bits, bits, bits)
    for loop in (_replace, _keep):
        loop.compile_streaming(bits, truth, bits, bits)
