"""Elementwise kernels: activations and their gradients, and broadcasting arithmetic.

An activation is one short serial loop over flat arrays, which LLVM vectorises; the parallel kernels that hand fixed chunks to
it are `Chunked`'s. Gradients take the upstream gradient `g` first, then what the forward pass saved: `y` where the derivative is
simple in the result, else `x`. All arrays of a call have one shape and one dtype.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from lucid_kernels import formulas
from lucid_kernels.naming import named

from ..arrays.broadcast import of_distinct, repeats
from ..arrays.half_precision import converts, round_to, upcast_half, widened
from ..arrays.layout import HALVES, Array, contiguous, deliver, has_dense_rows, result
from ..arrays.loops import Chunked
from ..math import basic as math_basic
from ..math.vector import AVAILABLE
from ..runtime import tuning
from ..runtime.allocator import SMALLEST, empty
from ..runtime.jit import jit_interleaved
from . import ufunc_loops
from .source import loop


def _in_rows(loop: Chunked, like: Array, *operands: Any) -> Array | None:
    """Apply a loop to arrays as `like`, not all of which are contiguous, and scalars, row by row; None where that takes longer
    than copies of them.
    """
    if like.size < tuning.ELEMENTWISE_PARTS_FROM:
        return None
    y = empty(like.shape, like.dtype)
    return y if loop.run_rows(*operands, y) else None


def unary(loop: Chunked, x: Array, out: Array | None) -> Array:
    """Apply a loop over the flat arrays `(x, y)`; a contiguous copy is read where `x` has no rows."""
    if out is None and 2 * x.nbytes < loop.parallel_from and x.flags.c_contiguous:
        small = np.empty(x.shape, x.dtype)
        loop.serial(x.ravel(), small.ravel())
        return small
    if out is x and x.flags.c_contiguous:
        flat = x.ravel()
        loop.replacing("x")(flat, flat)
        return x
    if out is None and not x.flags.c_contiguous:
        computed = _in_rows(loop, x, x)
        if computed is not None:
            return computed
    y = np.empty(x.shape, x.dtype) if out is None and x.nbytes < SMALLEST else result(out, x.shape, x.dtype)
    if 2 * y.nbytes < loop.parallel_from and y is not out:  # as `run` would, which small arrays need not check
        loop.serial(x.ravel(), y.ravel())
    else:  # NumPy's copy of a transposed array takes 20 times as long
        loop.run(contiguous(x).ravel(), y.ravel(), fresh=y is not out)
    return y if out is None else deliver(out, y)


def _binary(loop: Chunked, a: Array, b: Array, out: Array | None) -> Array:
    """Apply a loop over the flat arrays `(a, b, y)`. An expanded number `a`, as the gradient of a sum is, is not written out."""
    if out is None and 3 * a.nbytes < loop.parallel_from and a.flags.c_contiguous and b.flags.c_contiguous:
        small = np.empty(a.shape, a.dtype)
        loop.serial(a.ravel(), b.ravel(), small.ravel())
        return small
    if out is None and not (a.flags.c_contiguous and b.flags.c_contiguous):
        computed = _in_rows(loop, a, a, b)
        if computed is not None:
            return computed
    y = np.empty(a.shape, a.dtype) if out is None and a.nbytes < SMALLEST else result(out, a.shape, a.dtype)
    if 3 * y.nbytes < loop.parallel_from and y is not out:
        loop.serial(a.ravel(), b.ravel(), y.ravel())
    elif a.flags.c_contiguous:
        loop.run(a.ravel(), contiguous(b).ravel(), y.ravel(), fresh=y is not out)
    else:
        number = out is None and not any(a.strides)
        first = a[(0,) * a.ndim] if number else contiguous(a).ravel()
        loop.run(first, contiguous(b).ravel(), y.ravel(), fresh=y is not out)
    return y if out is None else deliver(out, y)


LOOPS = {formula.__name__: loop(formula, __name__) for formula in (*formulas.ACTIVATIONS, *formulas.ARITHMETIC, formulas.exp)}


def _activation(name: str) -> Callable[..., Array]:
    """The kernel of a formula of one argument."""
    loop = LOOPS[name]

    def kernel(x: Array, *, out: Array | None = None) -> Array:
        return unary(loop, x, out)

    return upcast_half(named(kernel, name, getattr(formulas, name).__doc__))


def _gradient(name: str) -> Callable[..., Array]:
    """The kernel of a formula of two arguments."""
    loop = LOOPS[name]

    def kernel(g: Array, saved: Array, *, out: Array | None = None) -> Array:
        return _binary(loop, g, saved, out)

    return upcast_half(named(kernel, name, getattr(formulas, name).__doc__))


relu, sigmoid, tanh = map(_activation, ("relu", "sigmoid", "tanh"))
relu_grad, sigmoid_grad, tanh_grad, silu_grad = map(_gradient, ("relu_grad", "sigmoid_grad", "tanh_grad", "silu_grad"))


@upcast_half
def gelu(x: Array, *, approximate: str, out: Array | None = None) -> Array:
    """`x` times the normal distribution function of `x`; with `approximate='tanh'` the usual formula for that."""
    return unary(LOOPS["gelu_tanh" if approximate == "tanh" else "gelu"], x, out)


@upcast_half
def gelu_grad(g: Array, x: Array, *, approximate: str, out: Array | None = None) -> Array:
    """`g` times the derivative of `gelu` at `x`."""
    return _binary(LOOPS["gelu_tanh_grad" if approximate == "tanh" else "gelu_grad"], g, x, out)


@Chunked
@jit_interleaved
def _silu_by_table(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = math_basic.silu_by_table(x[i])


# By hand, of float32 with AVX-512, as no formula finds a table in registers: 16 MiB take 0.83 of the time of the formula.
_silu_of_float32 = _silu_by_table if AVAILABLE else LOOPS["silu"]


@upcast_half
def silu(x: Array, *, out: Array | None = None) -> Array:
    """x sigmoid(x)."""
    return unary(_silu_of_float32 if x.itemsize == 4 else LOOPS["silu"], x, out)


def exp(x: Array, *, out: Array | None = None) -> Array:
    """e to the power x. NumPy's is more exact in float64; in float32 it is up to 2.4 ulp off, this one 0.9. CuPy has its own."""
    if x.dtype == np.float32 and (out is None or out.dtype == np.float32):
        return unary(LOOPS["exp"], x, out)
    return np.exp(x) if out is None else np.exp(x, out=out)


def compile_streaming(dtype: Any) -> None:
    """Compile what large results of `dtype` take: for a warm-up."""
    loops = LOOPS | {"silu": _silu_of_float32} if dtype == np.float32 else LOOPS
    for each in loops.values():
        each.compile_streaming(dtype)


# --- arithmetic: NumPy's loops, broadcasting and dtypes; all threads for large arrays ---


_NATIVE = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))


@functools.cache
def _formulas() -> Any:
    """With all functions that formulas may have, so not imported with the first array."""
    return importlib.import_module(f"{__package__}.operation")


def _operation(name: str, a: Any, b: Any, out: Array | None = None) -> Array | None:
    computed: Array | None = _formulas().operation((name,), a, b, out=out)
    return computed


def _are_alike(a: Any, b: Any) -> bool:
    """Whether these are floating-point arrays of one shape and dtype, without further checks: 3 us less of 8 to 9 that 65,536
    elements take.
    """
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray or a.dtype is not b.dtype or a.dtype.char not in "fdeE":
        return False
    return bool(a.shape == b.shape)


def _replaces(a: Any, b: Any) -> bool:
    """Whether a loop can write its result into `a`: without further checks 100,000 elements take 7 us instead of 12."""
    if not (_are_alike(a, b) and a.itemsize > 2 and a.flags.c_contiguous and a.flags.writeable and b.flags.c_contiguous):
        return False
    return b is a or not np.may_share_memory(a, b)


def _takes_scalar(array: Any, number: Any) -> bool:
    """Whether these are a large floating-point array and a Python scalar."""
    if array.__class__ is not np.ndarray or number.__class__ not in (float, int):
        return False
    if array.size < tuning.ARITHMETIC_WITH_NUMBER_FROM:
        return False
    return bool(array.dtype.char in "fd" and (array.flags.c_contiguous or 0 not in array.strides))


def _with_scalar(loop: Chunked, x: Array, a: Any, b: Any) -> Array | None:
    """Apply a loop over the flat arrays `(a, b, y)`, one of which is `x`, and the other a number; None if `x` has no rows."""
    first = a is x
    number = x.dtype.type(b if first else a)
    if not x.flags.c_contiguous:
        return _in_rows(loop, x, *((x, number) if first else (number, x)))
    y = np.empty(x.shape, x.dtype) if x.nbytes < SMALLEST else empty(x.shape, x.dtype)
    flat = x.ravel()
    loop.run(*((flat, number) if first else (number, flat)), y.ravel(), fresh=True)
    return y


def _are_parts(a: Array, b: Array) -> bool:
    """Whether not both arrays are contiguous, but their rows are."""
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return False
    return a.shape[-1] >= tuning.ARITHMETIC_LEAST_ROW and all(array.strides[-1] == array.itemsize for array in (a, b))


def _suits(name: str, arrays: list[Array], scalars: list[Any]) -> bool:
    """Whether our loops compute with these operands: of one dtype, floating or, where the result is one, large integers."""
    first = arrays[0]
    if arrays[-1].dtype != first.dtype:
        return False
    if first.dtype in _INTEGERS:
        many = first.size >= tuning.ARITHMETIC_OF_INTEGERS_FROM
        return many and name != "div" and all(isinstance(scalar, int) for scalar in scalars)
    return first.dtype in _NATIVE


def _arithmetic(name: str, loop: Chunked, ufunc: np.ufunc, a: Any, b: Any, out: Array | None) -> Array:
    """Numba's loops for operands of one dtype, and scalars, of integers NumPy's; else NumPy's function, with its warnings off.

    Of large arrays and scalars NumPy's takes twice as long as ours on two threads, and of broadcast arrays on one, of an outer
    product 4 times as long. Differences of few neighbours along rows take 0.4 to 0.9 of the time by NumPy's.
    """
    if out is None and _are_alike(a, b):
        computed, whole = None, a.flags.c_contiguous and b.flags.c_contiguous
        if a.itemsize == 2:
            if whole and a.size >= tuning.ARITHMETIC_HALVES_FROM and converts(a.dtype):
                computed = _operation(name, a, b)
        elif whole:
            return _binary(loop, a, b, None)
        elif 0 not in a.strides and 0 not in b.strides:
            computed = _in_rows(loop, a, a, b)
        if computed is not None:
            return computed
    if out is not None and out is a and _replaces(a, b):
        flat = out.ravel()
        loop.replacing(*(("a", "b") if b is a else ("a",)))(flat, b.ravel(), flat)
        return out
    if out is None and (_takes_scalar(a, b) or _takes_scalar(b, a)):
        computed = _with_scalar(loop, a if isinstance(a, np.ndarray) else b, a, b)
        if computed is not None:
            return computed
    arrays = [operand for operand in (a, b) if isinstance(operand, np.ndarray)]
    if out is None and any(map(repeats, arrays)):
        return of_distinct(lambda x, y: _arithmetic(name, loop, ufunc, x, y, None), a, b)
    if arrays and arrays[0].dtype.kind in "biu" and tuning.PARALLEL_BYTES <= arrays[0].nbytes < tuning.INTEGERS_STREAMED_BYTES:
        computed = ufunc_loops.apply(ufunc, a, b, out=out)
        if computed is not None:
            return computed
    if arrays and _suits(name, arrays, [operand for operand in (a, b) if not isinstance(operand, np.ndarray)]):
        alike = len(arrays) == 2 and a.shape == b.shape
        number = len(arrays) == 1 or 1 in (a.size, b.size)
        if alike:
            if out is not None or not _are_parts(a, b):
                return _binary(loop, a, b, out)
            out = empty(a.shape, a.dtype)
        elif all(array.flags.c_contiguous for array in arrays) and (number or out is None):
            least = tuning.ARITHMETIC_BROADCAST_FROM if out is None else tuning.ARITHMETIC_IN_PLACE_WITH_NUMBER_FROM
            if np.broadcast(a, b).size >= least:
                computed = _operation(name, a, b, out)
                if computed is not None:
                    return computed
    elif arrays and arrays[0].dtype in HALVES and arrays[-1].dtype == arrays[0].dtype:  # NumPy's loops take 20 times as long
        dtype = arrays[0].dtype
        if np.broadcast(a, b).size >= tuning.ARITHMETIC_HALVES_FROM and converts(dtype) and all(map(has_dense_rows, arrays)):
            computed = _operation(name, a, b, out)
            if computed is not None:
                return computed
        with np.errstate(over="ignore"):  # values that are too large are infinite
            a, b = (widened(np.asarray(operand, dtype)) for operand in (a, b))
        return cast(Array, round_to(_arithmetic(name, loop, ufunc, a, b, None), dtype, out))
    with np.errstate(all="ignore"):
        return np.asarray(ufunc(a, b, out=out))


def add(a: Any, b: Any, *, out: Array | None = None) -> Array:
    """a + b, broadcast; one may be a number."""
    return _arithmetic("add", LOOPS["add"], np.add, a, b, out)


def sub(a: Any, b: Any, *, out: Array | None = None) -> Array:
    """a - b, broadcast; one may be a number."""
    return _arithmetic("sub", LOOPS["sub"], np.subtract, a, b, out)


def mul(a: Any, b: Any, *, out: Array | None = None) -> Array:
    """a * b, broadcast; one may be a number."""
    return _arithmetic("mul", LOOPS["mul"], np.multiply, a, b, out)


def div(a: Any, b: Any, *, out: Array | None = None) -> Array:
    """a / b, broadcast; one may be a number."""
    return _arithmetic("div", LOOPS["div"], np.true_divide, a, b, out)
