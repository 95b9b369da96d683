"""Functions of host arrays that give what CuPy's give, where those differ from NumPy's; seen on a GPU with CuPy 14.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def diagonal(a: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    """A view that can be written; NumPy's is read-only."""
    view = np.diagonal(a, *args, **kwargs)
    view.flags.writeable = True
    return view


def broadcast_to(array: np.ndarray, shape: Any) -> np.ndarray:
    """A view that can be written; NumPy's is read-only."""
    view = np.broadcast_to(array, shape)
    view.flags.writeable = True
    return view


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``numpy.where``, of bfloat16 in float32."""
    if x is None and y is None:
        return np.where(condition)
    return _without_bfloat16(np.where(condition, x, y))


def clip(a: np.ndarray, a_min: Any = None, a_max: Any = None, out: Any = None) -> Any:
    """``numpy.clip``, of bfloat16 in float32; bounds that are NaN bound nothing.

    Raises TypeError for bfloat16 without a bound.
    """
    if a.dtype.name == "bfloat16" and (a_min is None or a_max is None):
        raise TypeError("Unsupported type <class 'NoneType'>")
    result = np.clip(a, *(None if bound is None else _or(bound, infinite)
                          for bound, infinite in ((a_min, -np.inf), (a_max, np.inf))))  # fmt: skip
    if out is None:
        return _without_bfloat16(result)
    out[...] = result
    return out


def _or(bound: Any, infinite: float) -> Any:
    """`bound`, and `infinite` where it is NaN."""
    missing = np.asarray(bound != bound)
    return np.where(missing, np.asarray(bound).dtype.type(infinite), bound) if missing.any() else bound


def floor_divide(x: Any, y: Any, **kwargs: Any) -> Any:
    """The quotient rounded down, of floating-point numbers as well, which need not be the largest whole number below."""
    if np.result_type(x, y).kind == "f":
        return np.floor(np.true_divide(x, y), **kwargs)
    return np.floor_divide(x, y, **kwargs)


def remainder(x: Any, y: Any, **kwargs: Any) -> Any:
    """What that quotient leaves: NaN for an infinite divisor."""
    if np.result_type(x, y).kind == "f":
        return np.subtract(x, np.floor(np.true_divide(x, y)) * y, **kwargs)
    return np.remainder(x, y, **kwargs)


def power(x: Any, y: Any, **kwargs: Any) -> Any:
    """``numpy.power``, also of one half by C's `pow`, which is infinite for -inf; NumPy takes the root."""
    result = np.power(x, y, **kwargs)
    if np.result_type(x, y).kind == "f" and np.any(np.equal(y, 0.5)):
        np.copyto(result, np.inf, where=np.equal(y, 0.5) & np.equal(x, -np.inf))
    return result


#: Of NumPy's -> CuPy's.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {np.floor_divide: floor_divide, np.remainder: remainder, np.power: power}


def svd(a: np.ndarray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """``numpy.linalg.svd``, which says nothing of NaN and infinities: what it gives for them means nothing."""
    compute: Callable[..., Any] = np.linalg.svd
    return compute(a if np.isfinite(a).all() else np.zeros_like(a), full_matrices, compute_uv)


def _without_bfloat16(result: np.ndarray) -> np.ndarray:
    return result.astype(np.float32) if result.dtype.name == "bfloat16" else result
