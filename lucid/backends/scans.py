"""Running sums, products and log-sums of CPU arrays, accumulated in twice the precision, as PyTorch does.

NumPy adds float32 to float32: after a thousand numbers the error is ten times PyTorch's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .lazy import LARGE

Array = Any
Kernel = Callable[..., Any]

_WIDER = {np.dtype("f4"): np.dtype("f8"), np.dtype("c8"): np.dtype("c16")}


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`cumsum`, `cumprod` and `logcumsumexp` for NumPy arrays; `plain` has those that accumulate in the dtype of the result."""
    narrow = {name: plain[name] for name in ("cumsum", "cumprod", "logcumsumexp")}

    def wide(name: str, x: Array, axis: int, target: Any, **options: Any) -> Array:
        if target not in _WIDER:
            return narrow[name](x, axis=axis, **options)
        with np.errstate(over="ignore"):
            return narrow[name](x.astype(_WIDER[target]), axis=axis).astype(target)

    def cumsum(x: Array, *, axis: int, dtype: Any = None) -> Array:
        if x.size < LARGE or x.dtype.char not in "fd" or (dtype is not None and dtype != x.dtype):
            return wide("cumsum", x, axis, dtype or x.dtype, dtype=dtype)
        from lucid_kernels.cpu import scan  # compiles with Numba: imported with the first large array

        return scan.cumsum(x, axis=axis)

    def cumprod(x: Array, *, axis: int, dtype: Any = None) -> Array:
        return wide("cumprod", x, axis, dtype or x.dtype, dtype=dtype)

    def logcumsumexp(x: Array, *, axis: int) -> Array:
        return wide("logcumsumexp", x, axis, x.dtype)

    return {"cumsum": cumsum, "cumprod": cumprod, "logcumsumexp": logcumsumexp}
