"""Operations that NumPy and CuPy both have, written once: `table(xp)` binds them to either module.

Kernels of our own (Numba, CUDA) are added by `cpu.py` and `gpu.py`. Keyword names are NumPy's (`axis`, `keepdims`): the
functions of `lucid.ops` translate PyTorch's.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cpu import accurate
from ..cpu.ufunc_loops import ufunc
from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]

# Functions of the same name and meaning in both modules, called as they are.
SAME = """
abs add bitwise_and bitwise_invert bitwise_or bitwise_xor ceil
cos cosh exp exp2 expm1 floor fmod floor_divide isfinite isinf isnan
log log10 log1p log2 logical_and logical_not logical_or logical_xor maximum minimum
arctan arctan2 power reciprocal remainder sin sinh sqrt square tan
trunc
""".split()

_NUMBERS = (float, int)


def _representable(number: float, dtype: np.dtype) -> float:
    """`number`, or infinity where a float dtype ends before: NumPy's conversion warns, in the name of a module of its own."""
    if dtype.kind != "f" or number != number or abs(number) <= float(np.finfo(dtype).max):
        return number
    return math.copysign(math.inf, number)


def _is_plain(bound: Any) -> bool:
    """Whether `bound` is None or a number other than NaN."""
    return bound is None or (bound.__class__ in _NUMBERS and bound == bound)


@functools.lru_cache(maxsize=256)
def _bound(number: float, dtype: np.dtype) -> Array:
    """`number` as an array, with which NumPy's functions take half of the time that they take with a number."""
    return np.asarray(_representable(number, dtype), dtype)


def table(xp: Any) -> dict[str, Kernel]:
    """The shared operations on `xp` (numpy or cupy)."""

    entries: dict[str, Kernel] = {name: accurate.function(xp, name) for name in SAME}
    entries |= {"sub": xp.subtract, "mul": xp.multiply, "div": xp.true_divide, "neg": xp.negative, "eq": xp.equal,
                "ne": xp.not_equal, "lt": xp.less, "le": xp.less_equal, "gt": xp.greater, "ge": xp.greater_equal}

    def entry(function: Kernel) -> Kernel:
        entries[function.__name__] = function
        return function

    def write(value: Array, out: Array | None) -> Array:
        if out is None:
            return value
        out[...] = value
        return out

    clip_between: Any = ufunc("clip")

    @entry
    def clip(x: Array, low: Array | None, high: Array | None, *, out: Array | None = None) -> Array:
        if xp is np and x.dtype.kind == "f":  # the function that NumPy's method comes to, after as much time again
            if low is None or low.__class__ in _NUMBERS:
                low = _bound(-math.inf if low is None else low, x.dtype)
            if high is None or high.__class__ in _NUMBERS:
                high = _bound(math.inf if high is None else high, x.dtype)
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
    def conj(x: Array) -> Array:
        return xp.conjugate(x)

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

    return entries
