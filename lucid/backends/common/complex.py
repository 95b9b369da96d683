"""Complex numbers by their parts, for NumPy and CuPy: `table(xp, entries)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy) with its other `entries`, by the time of a call."""

    def join_parts(real: Array, imag: Array) -> Array:
        """The complex numbers with these parts, of one shape and dtype."""
        joined = xp.empty(real.shape, np.result_type(real.dtype, np.complex64))
        joined.real[...] = real
        joined.imag[...] = imag
        return joined

    def polar(size: Array, angle: Array) -> Array:
        """The complex numbers with these absolute values and angles, of one shape and dtype."""
        return join_parts(size * entries["cos"](angle), size * entries["sin"](angle))

    def sgn(x: Array) -> Array:
        """``x / abs(x)``; 0 at 0. Part by part: a quotient of complex numbers takes 5 times as long."""
        size = xp.abs(x)
        size = size + (size == 0)
        return join_parts(x.real / size, x.imag / size)

    def abs_grad(g: Array, x: Array) -> Array:
        """``g * sgn(x)``, for real `g`."""
        grad = sgn(x)
        for part in (grad.real, grad.imag):
            part *= g
        return grad

    def view_as_real(x: Array) -> Array:
        return x[..., None].view(x.real.dtype)

    def view_as_complex(x: Array) -> Array:
        return x.view(np.result_type(x.dtype, np.complex64))[..., 0]

    return {"join_parts": join_parts, "polar": polar, "sgn": sgn, "abs_grad": abs_grad, "view_as_real": view_as_real,
            "view_as_complex": view_as_complex}
