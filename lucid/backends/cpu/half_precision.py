"""Elementwise operations on many half-precision numbers: formulas of one operation, which read and write them as they are.

NumPy computes float16 and bfloat16 number by number, which takes up to 200 times as long. With an array of float32 for each
argument and for the result, an addition takes 3 times as long, as it is all memory.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.expression import Node, Program

from ..families import LARGE, MIDDLE
from ..half_precision import HALVES
from .accurate import NUMPY_HAS_VECTORS
from .ufunc_loops import LOOPS_FROM, numpy_loops

Array = Any
Kernel = Callable[..., Any]

# Those that have no entry of their own for large arrays.
_COMPARISONS, _CLASSES = "eq ne lt le gt ge".split(), "isnan isinf isfinite".split()
_NAMES = """
sign round rsqrt nan_to_num fmax fmin logaddexp logaddexp2 xlogy trunc_divide
arccos arccosh arcsin arcsinh arctanh arctan2
""".split()

# Functions that NumPy has with vectors, on some processors: of float16, for which it takes 0.4 to 0.9 ns each, and of float32.
_IN_VECTORS_OF_FLOAT16 = frozenset("""
exp exp2 expm1 log log10 log1p log2 sin tan sinh cosh arccos arccosh arcsin arcsinh arctan arctanh
""".split())
_IN_VECTORS = frozenset("arccos arccosh arcsin arcsinh arctan arctan2 arctanh cosh sinh".split())
# Those of which a kernel of its own takes, with conversions, 0.55 to 0.9 of the time of a formula.
_CIRCULAR = ("sin", "cos")
# Last arguments that, as numbers, are not rounded to half precision; and squares and roots are not computed as powers.
_NUMBERS = {"lerp": "weight", "power": "b"}
_STEPS = ("copysign", "hypot")  # operations of kernels on a CPU that `lucid.fuse` does not offer
_OF_SIGNS: dict[str, tuple[Kernel, np.uint16]] = {
    "neg": (np.bitwise_xor, np.uint16(0x8000)), "abs": (np.bitwise_and, np.uint16(0x7FFF))}


def are_many(name: str, x: Array) -> bool:
    """Whether the formula of the operation `name` is faster than NumPy's function for the half-precision array `x`."""
    if x.size < MIDDLE:
        return False
    return x.size >= LARGE or not (NUMPY_HAS_VECTORS and x.dtype.char == "e" and name in _IN_VECTORS_OF_FLOAT16)


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones."""
    entries = {name: by_formula(name, plain[name]) for name in _NAMES}
    entries |= {name: _comparison(name, plain[name]) for name in _COMPARISONS}
    return entries | {name: _classification(name, plain[name]) for name in _CLASSES}


def _comparison(name: str, function: Kernel) -> Kernel:
    """`by_formula` for a NumPy function of two arguments, and NumPy's loops for large arrays of other numbers.

    With fewer questions, as this stands before each small comparison.
    """
    def kernel(a: Any, b: Any, *, out: Array | None = None) -> Any:
        if a.__class__ is np.ndarray and a.size >= MIDDLE and (a.itemsize == 2 or a.nbytes >= LOOPS_FROM):
            computed = (of_halves if a.itemsize == 2 else numpy_loops)(name, a, b, out=out)
            if computed is not None:
                return computed
        return function(a, b) if out is None else function(a, b, out=out)

    return kernel


def _classification(name: str, function: Kernel) -> Kernel:
    """The same for one argument."""
    def kernel(x: Array, *, out: Array | None = None) -> Any:
        if x.size >= MIDDLE and (x.itemsize == 2 or (x.nbytes >= LOOPS_FROM and x.__class__ is np.ndarray)):
            computed = (of_halves if x.itemsize == 2 else numpy_loops)(name, x, out=out)
            if computed is not None:
                return computed
        return function(x) if out is None else function(x, out=out)

    return kernel


def by_formula(name: str, function: Kernel, least: int = MIDDLE) -> Kernel:
    """`function`, and for half-precision arrays of at least so many elements the formula of the operation `name`."""
    # A kernel that widens half-precision numbers asks for them as this does: once is enough.
    plain = getattr(function, "__wrapped__", function)

    @functools.wraps(function)
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Any:
        first = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
        if first.itemsize == 2:
            computed = of_halves(name, *operands, out=out, **attributes) if first.size >= least else None
            if computed is not None:
                return computed
            return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)
        return plain(*operands, **attributes) if out is None else plain(*operands, out=out, **attributes)

    return kernel


def of_halves(name: str, *operands: Any, out: Array | None = None, **attributes: Any) -> Array | None:
    """The operation `name` of arrays of one half-precision dtype, broadcast, of numbers, and of None where it may be absent.

    None unless the arrays lie in rows, or are one number for all elements, and the processor converts their numbers.
    """
    like: Any = operands[0] if operands[0].__class__ is np.ndarray else operands[1]
    kernels = _kernels(like.dtype)
    if kernels is None:
        return None
    fused, half_precision, sincos, lies_in_rows = kernels
    if name in _NUMBERS and np.ndim(operands[-1]) == 0:
        number = operands[-1]
        operands, attributes[_NUMBERS[name]] = operands[:-1], number.item() if isinstance(number, np.ndarray) else number
    if name in _CIRCULAR or (NUMPY_HAS_VECTORS and name in _IN_VECTORS):
        wide = [half_precision.widen(x) if isinstance(x, np.ndarray) and x.dtype == like.dtype else x for x in operands]
        with np.errstate(all="ignore"):
            computed = half_precision.narrow(getattr(sincos if name in _CIRCULAR else np, name)(*wide), like.dtype)
        if out is not None:
            out[...] = computed
        return computed if out is None else out
    if name in _OF_SIGNS and operands[0].flags.c_contiguous and (out is None or out.dtype == like.dtype):
        signs, mask = _OF_SIGNS[name]
        bits = signs(like.view(np.uint16), mask, out=None if out is None else out.view(np.uint16))
        return bits.view(like.dtype) if out is None else out
    arrays: list[Array] = []
    for operand in operands:
        if operand.__class__ is np.ndarray:
            if operand.dtype is not like.dtype and operand.dtype != like.dtype:
                return None
            if not operand.flags.c_contiguous and not lies_in_rows(operand):
                if operand is like or any(operand.strides):
                    return None
                operand = operand[(0,) * operand.ndim]
            arrays.append(operand)
        elif operand is None:
            arrays.append(None)
        else:
            with np.errstate(over="ignore"):  # numbers that are too large are infinite
                arrays.append(np.asarray(operand, like.dtype))
    present = tuple([array is not None for array in arrays])
    program = _program(name, like.dtype, present, tuple(attributes.items()) if attributes else ())
    return None if program is None else fused(*arrays, program=program, out=out)


@functools.cache
def _kernels(dtype: Any) -> tuple[Kernel, Any, Any, Kernel] | None:
    """What computes with numbers of `dtype`, if that is a half-precision one; None where no kernel converts them."""
    if dtype not in HALVES:
        return None
    from lucid_kernels.cpu.arrays import half_precision
    from lucid_kernels.cpu.arrays import layout as arrays_layout
    from lucid_kernels.cpu.elementwise import fused, sincos  # compile with Numba

    return (fused.fused, half_precision, sincos, arrays_layout.lies_in_rows) if half_precision.converts(dtype) else None


@functools.lru_cache(maxsize=1024)
def _program(name: str, dtype: Any, present: tuple[bool, ...], attributes: tuple[tuple[str, Any], ...]) -> Program | None:
    """The formula of an operation; None if there is none, as for some attributes."""
    from .. import symbolic

    symbols = [symbolic.argument(number, dtype, True) if given else None for number, given in enumerate(present)]
    if name in _STEPS:
        return Program([Node(name, dtype, tuple([symbol.node for symbol in symbols if symbol is not None]))])
    try:
        return Program([symbolic.TABLE[name](*symbols, **dict(attributes)).node])
    except symbolic.Untraceable:
        return None
