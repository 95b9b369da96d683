"""Elementwise functions of large CPU arrays: `table` wraps NumPy's, which serve small, strided and mixed ones.

NumPy's run on one thread. Those that choose between numbers are slow in themselves, and each result of more than 32 MiB is new
memory, whose pages the system has to clear: that takes 3 times as long as the function.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.arrays import broadcast
from lucid_kernels.cpu.runtime import allocator

from ..families import LARGE, MANY, MIDDLE, are_few
from ..memory_format import in_memory_order
from .accurate import BY_LIBM, NUMPY_HAS_VECTORS
from .half_precision import are_many, of_halves
from .ufunc_loops import LOOPS_FROM, numpy_loops, ufunc

Array = Any
Kernel = Callable[..., Any]

# Elements from which a kernel is faster: of functions at which NumPy is slow, and of others, as on one thread it gains nothing.
# For `fmod` and `hypot` it takes 4 to 7 ns an element.
_CHOICES = {"maximum": 1 << 17, "minimum": 1 << 17, "sqrt": LARGE, "fmod": 1 << 11, "hypot": 1 << 11, "copysign": LARGE,
            "neg": 1 << 17, "abs": 1 << 17}
# Where NumPy takes libm's a kernel takes 0.07 to 0.5 of the time. With AVX-512 those that are not exact in float32 are computed
# in float64 (`in_float64`), of which a kernel takes 0.2 to 0.6.
_CHOICES |= dict.fromkeys(BY_LIBM, MANY)
if not NUMPY_HAS_VECTORS:
    _CHOICES |= dict.fromkeys(("arctanh", "log", "log10", "sinh"), 1 << 9)  # also computed in float64, by libm
# Those of exp, and of sin and cos, are called in 0.4 and 1 us.
_FROM = {"exp": 1 << 8, "sin": 1 << 6, "cos": 1 << 6}
_POOLED = "cosh exp2 expm1 log log10 log1p log2 sinh square tan arctan arcsin arccos arcsinh arccosh arctanh".split()
# Of float64 those that formulas compute with vectors; NumPy does with AVX-512 only.
_VECTORISED = ("exp", "expm1", "log", "log1p")
_BY_LOOPS = "bitwise_and bitwise_or bitwise_xor bitwise_invert ceil floor floor_divide gcd lcm power remainder trunc".split()
# Elements from which on NumPy divides 1 by floats in half of the time of its `reciprocal`, and compares numbers with 0 in a
# quarter of that of asking whether they are true.
_DIVIDED = _ASKED = 1 << 10
_BOUNDS = {float, int, None.__class__}  # of `clip`, if they are no arrays
_NEW_PAGES = 32 << 20  # bytes; malloc keeps less than that


def _operation(names: tuple[str, ...], *operands: Any, out: Array | None = None) -> Array | None:
    """What a kernel makes of the operands by the operations `names`, in `out`; None where NumPy has to do it."""
    dtype = None
    for x in operands:
        if isinstance(x, np.ndarray):
            if x.dtype is not dtype if dtype is not None else x.dtype.char not in "fd":
                return None
            if not x.flags.c_contiguous and (out is not None or not _lies_in_rows(x)):
                return None
            dtype = x.dtype
    computed: Array | None = _kernels().operation(names, *operands, out=out)
    return computed


@functools.cache
def _kernels() -> Any:
    """What compiles with Numba: imported with the first large array."""
    from lucid_kernels.cpu.elementwise import operation

    return operation


@functools.cache
def _arithmetic() -> Any:
    from lucid_kernels.cpu.elementwise import elementwise

    return elementwise


@functools.cache
def _combination() -> Any:
    from lucid_kernels.cpu.elementwise import ternary

    return ternary


@functools.cache
def _circles() -> Any:
    from lucid_kernels.cpu.elementwise import sincos

    return sincos


def _lies_in_rows(x: Array) -> bool:
    from lucid_kernels.cpu.arrays import layout as arrays_layout  # compiles with Numba

    return arrays_layout.lies_in_rows(x)


def _is_plain(x: Array) -> bool:
    """Whether this is a contiguous floating-point array."""
    return x.dtype.char in "fd" and bool(x.flags.c_contiguous)


def _fits(out: Array, operands: tuple[Any, ...]) -> bool:
    """Whether a kernel can write the result into `out`."""
    alike = all(x.shape == out.shape and x.dtype == out.dtype for x in operands if isinstance(x, np.ndarray))
    return alike and out.flags.c_contiguous and out.flags.writeable


def _by_kernel(name: str, function: Kernel, least: int) -> Kernel:
    ours = name in BY_LIBM
    part_least = min(least, LARGE)  # NumPy takes twice as long for rows with gaps between them
    of_numpy = NUMPY_HAS_VECTORS and ours

    def kernel(*operands: Any, out: Array | None = None) -> Any:
        x = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
        computed = None
        if x.size >= LARGE and out is None and any(map(broadcast.repeats, operands)):
            return broadcast.of_distinct(kernel, *operands)
        if x.itemsize == 2:
            computed = of_halves(name, *operands, out=out) if are_many(name, x) else None
        elif (x.size >= least or (x.size >= part_least and not x.flags.c_contiguous)) and not (
                of_numpy and x.dtype.char == "d") and (out is None or (ours and _fits(out, operands))):
            computed = _operation((name,), *operands, out=out)
        if computed is None and x.nbytes >= LOOPS_FROM and not (ours and x.dtype.char == "f"):
            computed = numpy_loops(name, *operands, out=out)
        return function(*operands, out=out) if computed is None else computed

    return kernel


def _on_threads(name: str, function: Kernel) -> Kernel:
    """`function`, and for large arrays NumPy's loops on all threads."""
    def kernel(*operands: Any, out: Array | None = None) -> Any:
        x: Any = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
        if x.size >= MIDDLE and (x.size >= LARGE or x.itemsize == 2):
            computed = of_halves(name, *operands, out=out) if x.itemsize == 2 else None
            # Of other numbers than integers, powers are not NumPy's.
            if computed is None and x.nbytes >= LOOPS_FROM and (name != "power" or x.dtype.kind in "iu"):
                computed = numpy_loops(name, *operands, out=out)
            if computed is not None:
                return computed
        return function(*operands, out=out)

    return kernel


def _by_loops(name: str, *operands: Any, out: Array | None = None) -> Array:
    """NumPy's function `name`, of large arrays by its loops on all threads."""
    computed = numpy_loops(name, *operands, out=out) if operands[0].nbytes >= LOOPS_FROM else None
    return ufunc(name)(*operands, out=out) if computed is None else computed


def _circular(name: str, function: Kernel) -> Kernel:
    """`function`, but of more than a few elements our kernel: NumPy's takes 17 times as long in float64."""
    least = _FROM[name]

    def kernel(x: Array, *, out: Array | None = None) -> Any:
        if x.size < least:
            return function(x, out=out)
        if x.itemsize == 2:
            computed = of_halves(name, x, out=out) if are_many(name, x) else None
            return function(x, out=out) if computed is None else computed
        if x.dtype.char not in "fd" or not x.flags.c_contiguous:
            return function(x, out=out)
        return getattr(_circles(), name)(x, out=out)

    return kernel


def _vectorised(name: str, function: Kernel) -> Kernel:
    """`function`, but of large float64 arrays without AVX-512 a formula: NumPy's takes 4 to 13 times as long then."""
    def kernel(x: Array, *, out: Array | None = None) -> Any:
        arrays = (x,) if out is None else (x, out)
        if x.size < LARGE or any(a.dtype.char != "d" or not a.flags.c_contiguous or a.shape != x.shape for a in arrays):
            return function(x, out=out)
        from lucid_kernels.cpu.elementwise import operation
        from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

        if VECTOR_BYTES == 64:
            return function(x, out=out)
        return operation.operation((name,), x, out=out)

    return kernel


def _pooled(name: str, function: Kernel) -> Kernel:
    """`function` of one array, with its large results in the memory of the pool."""
    def kernel(x: Array, *, out: Array | None = None) -> Any:
        if x.itemsize == 2 and are_many(name, x):
            computed = of_halves(name, x, out=out)
            if computed is not None:
                return computed
        if out is None and x.nbytes >= _NEW_PAGES and x.dtype.char in "fd" and x.flags.c_contiguous:
            out = allocator.empty(x.shape, x.dtype)
        return function(x, out=out)

    return kernel


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones."""
    entries = {name: _on_threads(name, plain[name]) for name in _BY_LOOPS}
    plain = plain | entries
    entries |= {name: _circular(name, plain[name]) for name in ("sin", "cos")}
    entries |= {name: _pooled(name, plain[name]) for name in _POOLED}
    entries |= {name: _by_kernel(name, entries.get(name, plain[name]), least) for name, least in _CHOICES.items()}
    plain_clip, plain_exp, plain_reciprocal = plain["clip"], plain["exp"], plain["reciprocal"]
    plain_square, plain_round = entries["square"], plain["round"]

    def clip(x: Array, low: Array | None, high: Array | None, *, out: Array | None = None) -> Array:
        if are_few(x):
            return plain_clip(x, low, high, out=out)
        if x.itemsize == 2:
            computed = of_halves("clip", x, low, high, out=out)
            if computed is not None:
                return computed
        if low.__class__ in _BOUNDS and high.__class__ in _BOUNDS and x.dtype.char in "fd":
            if low == low and high == high and x.flags.c_contiguous:
                return _combination().clip(x, -math.inf if low is None else low, math.inf if high is None else high, out=out)
            return plain_clip(x, low, high, out=out)
        given = [(name, bound) for name, bound in (("maximum", low), ("minimum", high)) if bound is not None]
        names, bounds = tuple(name for name, _ in given), [bound for _, bound in given]
        if out is not None or any(isinstance(bound, np.ndarray) and bound.shape not in ((), x.shape) for bound in bounds):
            return plain_clip(x, low, high, out=out)
        computed = _operation(names, x, *bounds)
        if computed is None and x.nbytes >= LOOPS_FROM and x.dtype.kind in "iu":
            computed = numpy_loops("clip" if len(names) > 1 else names[0], x, *bounds)
        return plain_clip(x, low, high) if computed is None else computed

    def square(x: Array, *, out: Array | None = None) -> Array:
        if x.size >= LARGE and out is None and _is_plain(x):
            return _arithmetic().mul(x, x)
        return plain_square(x, out=out)

    def reciprocal(x: Array, *, out: Array | None = None) -> Array:
        computed = None
        if x.itemsize == 2 and x.size >= MIDDLE:
            computed = of_halves("reciprocal", x, out=out)
        elif x.size >= LARGE and out is None and _is_plain(x):
            computed = _arithmetic().div(1, x)
        if computed is None and x.size >= _DIVIDED and x.dtype.char in "fd":
            return np.divide(1, x, out=out)
        return plain_reciprocal(x, out=out) if computed is None else computed

    def round(x: Array, *, decimals: int = 0, out: Array | None = None) -> Array:
        computed = numpy_loops("rint", x, out=out) if decimals == 0 and x.nbytes >= LOOPS_FROM and x.dtype.kind == "f" else None
        return plain_round(x, decimals=decimals, out=out) if computed is None else computed

    def truth(name: str) -> Kernel:
        """Of numbers, NumPy asks whether they are 0 one at a time."""
        function, of_bools = plain[name], entries[f"bitwise_{name[8:]}"]

        def kernel(a: Any, b: Any, *, out: Array | None = None) -> Array:
            if isinstance(a, np.ndarray) and a.itemsize == 2 and a.size >= MIDDLE:
                computed = of_halves(name, a, b, out=out)
                if computed is not None:
                    return computed
            for x in (a, b):
                if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or x.size < _ASKED:
                    return function(a, b, out=out)
            return of_bools(*[x if x.dtype.kind == "b" else _by_loops("ne", x, 0) for x in (a, b)], out=out)

        return kernel

    def logical_not(x: Array, *, out: Array | None = None) -> Array:
        if x.size < _ASKED:
            return np.logical_not(x, out=out)
        computed = of_halves("logical_not", x, out=out) if x.itemsize == 2 and x.size >= MIDDLE else None
        if computed is not None:
            return computed
        return _by_loops("eq", x, 0, out=out) if x.dtype.kind in "iuf" else _by_loops("logical_not", x, out=out)

    def exp(x: Array, *, out: Array | None = None) -> Array:
        if x.itemsize == 2:
            computed = of_halves("exp", x, out=out) if are_many("exp", x) else None
            return plain_exp(x, out=out) if computed is None else computed
        if x.size < _FROM["exp"] or (x.size < LARGE and x.dtype.char != "f"):
            return plain_exp(x, out=out)
        from lucid_kernels.cpu.elementwise import elementwise as kernels  # NumPy's where that is more exact

        return in_memory_order(x, kernels.exp) if out is None else kernels.exp(x, out=out)

    entries |= {name: truth(name) for name in ("logical_and", "logical_or", "logical_xor")}
    entries["logical_not"] = logical_not
    entries |= {"deg2rad": _scaled(plain["deg2rad"], math.pi / 180), "rad2deg": _scaled(plain["rad2deg"], 180 / math.pi)}
    entries |= {"clip": clip, "exp": exp, "reciprocal": reciprocal, "round": round, "square": square}
    return entries | {name: _vectorised(name, entries[name]) for name in _VECTORISED}


def _scaled(function: Kernel, factor: float) -> Kernel:
    """`function`, which multiplies by `factor`, at which NumPy is slow."""
    def kernel(x: Array, *, out: Array | None = None) -> Any:
        if x.size >= LARGE and out is None and _is_plain(x):
            return _arithmetic().mul(x, factor)
        return function(x, out=out)

    return kernel
