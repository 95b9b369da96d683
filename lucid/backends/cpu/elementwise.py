"""Elementwise operations of CPU arrays: one function for each row of `lucid.backends.elementwise`.

NumPy's functions compute small, strided and mixed arrays. They run on one thread; those that choose between elements are slow in
themselves, and each result of more than 32 MiB is new memory, whose pages the system has to clear: that takes 3 times as long as
the function. So large arrays have kernels of ours, or NumPy's own loops on all threads.
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common import elementwise as common
from ..elementwise import ROWS, Kernel, Row
from ..elementwise.row import ANY, COMPOSED, FORMULA
from ..elementwise.row import ROWS as IN_ROWS
from ..families import first_call
from ..half_precision import HALVES, rounded
from ..memory_format import in_memory_order
from ..sizes import LARGE, MIDDLE
from . import accurate, half_precision, ufunc_loops
from .undispatched import undispatched

Array = Any
Function = Callable[..., Any]
#: What may compute a call of an operation: (operands, out, attributes) -> the result, or None where it does not suit.
Implementation = Callable[[Sequence[Any], Any, dict[str, Any]], Any]
COMPOSITIONS = common.compositions(np, accurate.function)


def table(entries: dict[str, Function]) -> dict[str, Function]:
    """The functions of all rows, by name; `entries` is the table that they will stand in."""
    return {name: _entry(row, entries) for name, row in ROWS.items()}


def _entry(row: Row, entries: dict[str, Function]) -> Function:
    if row.name in common.ARITHMETIC:
        ours = functools.partial(our, f"elementwise.{row.name}")
        return common.arithmetic(np.ndarray, getattr(np, row.source), ours, is_written_by_ours)
    if row.function == FORMULA:
        return common.of_formula(row, entries)
    if row.family:
        wrap = functools.partial(with_half_precision, functools.partial(half_precision.by_formula, row)) if row.half else None
        return first_call("lucid_kernels.cpu", row.family, row.name, entries, wrap)
    return function_of(row, numpy_function(row), implementations(row, entries))


def numpy_function(row: Row) -> Function:
    """NumPy's function, or the one in its place."""
    found: Function = COMPOSITIONS[row.name] if row.function == COMPOSED else undispatched(getattr(np, row.source))
    return found


def function_of(row: Row, function: Function, others: Sequence[Implementation]) -> Function:
    """`function`, which is NumPy's, and from so many elements on the first of the `others` that suits.

    There is a form for each number of operands: passing on any took 1.05 of the time of small arrays.
    """
    few_in_float32, exact, ufunc = row.few_in_float32, accurate.is_inexact(row), row.function != COMPOSED
    in_float32 = accurate.exact(row, function)
    if not others and not few_in_float32 and not exact:
        return function
    least = min([LARGE, *[kernel.least for kernel in row.kernels]])
    few = min(least, MIDDLE)

    of_wide = others[1:] if row.half else others

    def computed_by_others(x: Array, operands: Sequence[Any], out: Array | None, attributes: dict[str, Any]) -> Any:
        for implementation in others if x.itemsize == 2 else of_wide:
            computed = implementation(operands, out, attributes)
            if computed is not None:
                return computed
        return None

    def unary(x: Array, *, out: Array | None = None) -> Any:
        if x.size >= few and (x.size >= least or x.itemsize == 2):
            computed = computed_by_others(x, (x,), out, {})
            if computed is not None:
                return computed
        if exact and x.dtype.char == "f":
            return accurate.unary(function, x, out)
        if few_in_float32 and x.itemsize == 2 and x.dtype in HALVES:
            return rounded(in_float32, (x,), out, {})
        return function(x) if out is None else function(x, out=out)

    def binary(a: Any, b: Any, *, out: Array | None = None) -> Any:
        x = a if a.__class__ is np.ndarray else b
        if x.size >= few and (x.size >= least or x.itemsize == 2):
            computed = computed_by_others(x, (a, b), out, {})
            if computed is not None:
                return computed
        if exact:
            return accurate.binary(function, a, b, out)
        if few_in_float32 and x.itemsize == 2 and x.dtype in HALVES:
            return rounded(in_float32, (a, b), out, {})
        if ufunc and b.__class__ in (float, int) and x.dtype.char in common.NUMBERS:
            b = common.NUMBERS[x.dtype.char][b]
        return function(a, b) if out is None else function(a, b, out=out)

    def ternary(x: Array, a: Any, b: Any, *, out: Array | None = None) -> Any:
        if x.size >= few and (x.size >= least or x.itemsize == 2):
            computed = computed_by_others(x, (x, a, b), out, {})
            if computed is not None:
                return computed
        return function(x, a, b) if out is None else function(x, a, b, out=out)

    def add_scaled(a: Array, b: Array, *, alpha: Any, out: Array | None = None) -> Any:
        if a.size >= few and (a.size >= least or a.itemsize == 2):
            computed = computed_by_others(a, (a, b), out, {"alpha": alpha})
            if computed is not None:
                return computed
        return function(a, b, alpha=alpha, out=out)

    def with_value(x: Array, a: Array, b: Array, *, value: Any, out: Array | None = None) -> Any:
        if x.size >= few and (x.size >= least or x.itemsize == 2):
            computed = computed_by_others(x, (x, a, b), out, {"value": value})
            if computed is not None:
                return computed
        return function(x, a, b, value=value, out=out)

    def general(*operands: Any, out: Array | None = None, **attributes: Any) -> Any:
        x = operands[0]
        if x.size >= few and (x.size >= least or x.itemsize == 2):
            computed = computed_by_others(x, operands, out, attributes)
            if computed is not None:
                return computed
        if few_in_float32 and x.itemsize == 2 and x.dtype in HALVES:
            return rounded(in_float32, operands, out, attributes)
        return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)

    forms: dict[str, Function] = {"alpha": add_scaled, "value": with_value, "": (unary, binary, ternary)[row.arrays - 1]}
    chosen: Any = forms.get(row.attributes, general)
    if not row.attributes and not exact:
        def direct(*operands: Any) -> Function | None:
            """NumPy's function, if that is what computes operands of these layouts."""
            x = next(operand for operand in operands if operand.__class__ is np.ndarray)
            return function if x.size < few and x.itemsize != 2 else None

        chosen.direct = direct
    return chosen


def with_half_precision(by_formula: Implementation, kernel: Function) -> Function:
    """A kernel for arrays of any size, and for half precision the formula of the operation."""
    # A kernel that widens half precision checks for it as this does: once is enough.
    plain = getattr(kernel, "__wrapped__", kernel)

    @functools.wraps(kernel)
    def function(*operands: Any, out: Array | None = None, **attributes: Any) -> Any:
        if operands[0].itemsize == 2:
            computed = by_formula(operands, out, attributes)
            return kernel(*operands, out=out, **attributes) if computed is None else computed
        return plain(*operands, **attributes) if out is None else plain(*operands, out=out, **attributes)

    return function


def implementations(row: Row, entries: Mapping[str, Function]) -> list[Implementation]:
    """What computes a row instead of NumPy, in the order in which they are tried; that of half precision, if any, is the
    first."""
    found: list[Implementation] = []
    if row.half:
        found.append(functools.partial(half_precision.by_formula_if_large, row))
    if any(kernel.layout == IN_ROWS for kernel in row.kernels):
        found.append(functools.partial(_of_distinct, row, entries))
    found += [functools.partial(_by_kernel, kernel, row, entries) for kernel in row.kernels]
    if row.loops:
        found.append(functools.partial(ufunc_loops.of_large, row))
    return found


def _of_distinct(row: Row, entries: Mapping[str, Function], operands: Sequence[Any], out: Array | None,
                 attributes: dict[str, Any]) -> Any:
    """Arrays that repeat elements, as the gradient of a sum does: computed once for each."""
    x = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
    if out is not None or x.size < LARGE or (len(operands) == 1 and x.flags.c_contiguous):
        return None
    broadcast = module("lucid_kernels.cpu.arrays.broadcast")
    return broadcast.of_distinct(entries[row.name], *operands) if any(map(broadcast.repeats, operands)) else None


def _by_kernel(kernel: Kernel, row: Row, entries: Mapping[str, Function], operands: Sequence[Any], out: Array | None,
               attributes: dict[str, Any]) -> Any:
    x = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
    if (kernel.dtypes is not None and x.dtype.char not in kernel.dtypes) or (out is not None and not kernel.out):
        return None
    if kernel.layout == IN_ROWS:
        # NumPy takes twice as long for rows with gaps between them.
        many = x.size >= kernel.least or (x.size >= LARGE and not x.flags.c_contiguous)
        return _by_formula(row, operands, out) if many else None
    if x.size < kernel.least or (kernel.layout != ANY and not _are_alike(x, operands)):
        return None
    if kernel.function == FORMULA:
        return _by_formula(row, operands, out)
    if not isinstance(kernel.function, str):
        return kernel.function(entries, *operands, out=out, **attributes)
    function = our(kernel.function)
    if kernel.layout == ANY and out is None and len(operands) == 1:
        return in_memory_order(x, function)
    return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)


def _by_formula(row: Row, operands: Sequence[Any], out: Array | None) -> Any:
    """By the operation of formulas of that name, if all arrays have one dtype and lie in rows."""
    dtype = None
    for x in operands:
        if isinstance(x, np.ndarray):
            if x.dtype is not dtype and dtype is not None:
                return None
            if not x.flags.c_contiguous and (out is not None or not module("lucid_kernels.cpu.arrays.layout").has_dense_rows(x)):
                return None
            if out is not None and (x.shape != out.shape or x.dtype != out.dtype):
                return None
            dtype = x.dtype
    if out is not None and not (out.flags.c_contiguous and out.flags.writeable):
        return None
    return our("operation.operation")((row.name,), *operands, out=out)


def _are_alike(x: Array, operands: Sequence[Any]) -> bool:
    """Whether these are row-major arrays of one dtype and one shape, and scalars."""
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    return all(array.dtype == x.dtype and array.shape == x.shape and array.flags.c_contiguous for array in arrays)


@functools.cache
def module(name: str) -> Any:
    """A module that may compile with Numba: imported with the first large array."""
    return importlib.import_module(name)


@functools.cache
def our(name: str) -> Function:
    """The function ``module.name`` of the elementwise kernels; with a dot in front of this package."""
    where, _, function = name.rpartition(".")
    found: Function = getattr(module(f"{__package__ if name[0] == '.' else 'lucid_kernels.cpu.elementwise.'}{where}"), function)
    return found


def is_written_by_ours(out: Array, a: Any, b: Any) -> bool:
    """Whether our kernels of arithmetic write into `out`, which is there already and has many elements.

    As long as two arrays are in the L2 cache NumPy's loop, which has no new memory to fill, takes 0.6 to 1 of the time of ours;
    from 1 MiB on ours takes 0.6 to 1 of its. NumPy computes half precision one by one.
    """
    if out.nbytes < 1 << 20 and out.itemsize != 2:
        return False
    if not out.flags.c_contiguous or not out.flags.writeable:
        return False
    # Ours make copies of other arrays, NumPy's do not.
    return all(x.__class__ in (float, int) if x.__class__ is not np.ndarray else
               x.dtype == out.dtype and x.shape == out.shape and x.flags.c_contiguous for x in (a, b))
