"""Running sums, products, extrema and log-sums of CPU arrays; sums and products are accumulated in twice the precision.

So does PyTorch. NumPy adds float32 to float32: after a thousand numbers the error is ten times PyTorch's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..families import MANY
from ..half_precision import wide as single

Array = Any
Kernel = Callable[..., Any]

# Elements from which sums and products are a kernel's: NumPy's take 1.6 to 7 times as long, and convert the numbers twice.
_LARGE_SUM = 1 << 9
_WIDER = {np.dtype("f4"): np.dtype("f8"), np.dtype("c8"): np.dtype("c16")}


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """The scans of NumPy arrays; `plain` has those that accumulate in the dtype of the result."""
    narrow = {name: plain[name] for name in ("cumsum", "cumprod", "logcumsumexp")}

    def wide(name: str, x: Array, axis: int, target: Any, **options: Any) -> Array:
        if target not in _WIDER:
            return narrow[name](x, axis=axis, **options)
        return narrow[name](x.astype(_WIDER[target]), axis=axis).astype(target)  # too large ones are infinite, without a warning

    def scan(name: str) -> Kernel:
        def entry(x: Array, *, axis: int, dtype: Any = None) -> Array:
            if x.size < _LARGE_SUM or x.dtype.char not in "fd" or (dtype is not None and dtype != x.dtype):
                return wide(name, x, axis, dtype or x.dtype, dtype=dtype)
            from lucid_kernels.cpu.reduction import cumsum as scan

            return getattr(scan, name)(x, axis=axis)

        return entry

    def extremes(name: str) -> Kernel:
        ordinary = plain[name]

        def entry(x: Array, *, axis: int) -> tuple[Array, Array]:
            numbers = single(x) if x.size >= MANY else x
            if x.size < MANY or numbers.dtype.char not in "fdlqi":
                values, places = ordinary(x, axis=axis)
                return values, places
            from lucid_kernels.cpu.reduction import cummax

            values, places = cummax.running_extremes(numbers, axis=axis, smallest=name == "cummin")
            return values.astype(x.dtype, copy=False), places

        return entry

    def logcumsumexp(x: Array, *, axis: int) -> Array:
        return wide("logcumsumexp", x, axis, x.dtype)

    return {"cumsum": scan("cumsum"), "cumprod": scan("cumprod"), "cummax": extremes("cummax"), "cummin": extremes("cummin"),
            "logcumsumexp": logcumsumexp}
