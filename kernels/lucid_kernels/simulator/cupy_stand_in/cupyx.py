"""``cupyx``: CuPy's extensions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import lacking
from .array import ndarray, run, scatter
from .memory import empty_pinned
from .streams import DeviceSynchronized, allow_synchronize

__all__ = [
    "DeviceSynchronized",
    "allow_synchronize",
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "rsqrt",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "time_range",
    "zeros_like_pinned",
    "zeros_pinned",
]


__getattr__ = lacking.attributes("cupyx")


@contextlib.contextmanager
def time_range(message: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """``cupyx.profiler.time_range``: a name for what a profiler sees; here nothing."""
    yield


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    """``a[slices] += value``, repeated indices accumulating. Raises TypeError for dtypes without atomics."""
    scatter(np.add, a, slices, value)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    """The maximum of ``a[slices]`` and `value`, in place."""
    scatter(np.maximum, a, slices, value)


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:
    """The minimum of ``a[slices]`` and `value`, in place."""
    scatter(np.minimum, a, slices, value)


@contextlib.contextmanager
def errstate(
    *,
    divide: Any = None,
    over: Any = None,
    under: Any = None,
    invalid: Any = None,
    linalg: str | None = None,
) -> Iterator[None]:
    """The context in which CuPy reports singular matrices (`linalg` 'raise'); here they are always reported, as in NumPy.

    Raises NotImplementedError where CuPy does.
    """
    if any(value is not None for value in (divide, over, under, invalid)) or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError("errstate takes linalg='ignore' and linalg='raise' only")
    yield


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return run(lambda x: 1 / np.sqrt(x), "rsqrt", (x,), {})


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    """Zeros in pinned host memory."""
    result = empty_pinned(shape, dtype, order)
    result[...] = 0
    return result


def empty_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> np.ndarray:
    """An uninitialised array in pinned host memory, as another one."""
    return empty_pinned(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)


def zeros_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> np.ndarray:
    """Zeros in pinned host memory, as another array."""
    return zeros_pinned(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)
