"""Elementwise functions of the CPU that take more than one operation of NumPy's: by our kernels for large arrays."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..families import MANY, are_few
from .half_precision import by_formula

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]


def _kernels() -> Any:
    from lucid_kernels.cpu.elementwise import ternary  # compiles with Numba: imported with the first large array

    return ternary


def _alike(x: Array, *operands: Any) -> bool:
    """Whether these are row-major arrays of one native dtype and one shape, and numbers."""
    if x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return False
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    return all(array.dtype == x.dtype and array.shape == x.shape and array.flags.c_contiguous for array in arrays)


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which serve small, strided and mixed arrays. Large halves are formulas."""
    names = ("lerp", "add_scaled", "addcmul", "addcdiv", "leaky_relu", "angle", "nextafter")
    plain_lerp, plain_add_scaled, plain_addcmul, plain_addcdiv, plain_leaky_relu, plain_angle, plain_nextafter = (
        plain[name] for name in names
    )

    half_lerp, half_add_scaled, half_addcmul, half_addcdiv, half_leaky_relu = (
        by_formula(name, plain[name]) for name in names[:5]
    )

    # Their arguments are named: passing on any took 1.05 of the time of small arrays.
    def lerp(x: Array, end: Array, weight: Any, *, out: Array | None = None) -> Any:
        if are_few(x):
            return plain_lerp(x, end, weight, out=out)
        return (_kernels().lerp if _alike(x, end, weight) else half_lerp)(x, end, weight, out=out)

    def add_scaled(a: Array, b: Array, *, alpha: float, out: Array | None = None) -> Any:
        if are_few(a):
            return plain_add_scaled(a, b, alpha=alpha, out=out)
        return (_kernels().add_scaled if _alike(a, b) else half_add_scaled)(a, b, alpha=alpha, out=out)

    def addcmul(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Any:
        if are_few(x):
            return plain_addcmul(x, a, b, value=value, out=out)
        return (_kernels().addcmul if _alike(x, a, b) else half_addcmul)(x, a, b, value=value, out=out)

    def addcdiv(x: Array, a: Array, b: Array, *, value: float, out: Array | None = None) -> Any:
        if are_few(x):
            return plain_addcdiv(x, a, b, value=value, out=out)
        return (_kernels().addcdiv if _alike(x, a, b) else half_addcdiv)(x, a, b, value=value, out=out)

    def leaky_relu(x: Array, *, slope: float, out: Array | None = None) -> Any:
        if x.size < MANY:
            return plain_leaky_relu(x, slope=slope, out=out)
        return (_kernels().leaky_relu if _alike(x) else half_leaky_relu)(x, slope=slope, out=out)

    def angle(x: Array) -> Any:
        return plain_angle(x) if x.size < MANY or not _alike(x) else _kernels().angle(x)

    def nextafter(a: Array, b: Array) -> Any:
        return plain_nextafter(a, b) if a.size < MANY or not _alike(a, b) else _kernels().nextafter(a, b)

    entries: list[Kernel] = [lerp, add_scaled, addcmul, addcdiv, leaky_relu, angle, nextafter]
    return {function.__name__: function for function in entries}
