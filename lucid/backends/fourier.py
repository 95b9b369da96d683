"""Fourier transforms that NumPy and CuPy both have (pocketfft, cuFFT), written once: `table(xp, new)` binds them to either.

`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]
_LARGE = 1 << 12  # elements from which on NumPy's conversions are avoided


def table(xp: Any, new: Kernel | None = None) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy); `new(shape, dtype)` is memory for results of NumPy's, which CuPy's do not take."""

    def transform(function: Kernel, x: Array, axes: Axes, lengths: Axes, norm: str, forward: bool, dtype: Any) -> Array:
        """``function(x)`` along `axes`, of which what is transformed has `lengths`, with results of `dtype`.

        What it does not scale NumPy computes in double precision, and converts, in 2.5 to 4 times the time. So large arrays of
        single precision are scaled, and scaled back.
        """
        if new is None:
            return xp.ascontiguousarray(function(x, s=lengths, axes=axes, norm=norm))
        shape = list(x.shape)
        shape[axes[-1]] = lengths[-1] // 2 + 1 if function is np.fft.rfftn else lengths[-1]
        y = new(tuple(shape), dtype)
        scaled = "forward" if forward else "backward"
        if norm in ("ortho", scaled) or x.dtype.char not in "fF" or x.size < _LARGE:
            return function(x, s=lengths, axes=axes, norm=norm, out=y)
        function(x, s=lengths, axes=axes, norm=scaled, out=y)
        y *= np.float32(math.prod(lengths))
        return y

    def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
        """The transform of complex numbers along `axes`, or its inverse."""
        if x.size == 0:
            return x.copy()
        lengths = tuple([x.shape[axis] for axis in axes])
        return transform(xp.fft.fftn if forward else xp.fft.ifftn, x, axes, lengths, norm, forward, x.dtype)

    def fft_r2c(x: Array, *, axes: Axes, norm: str) -> Array:
        """The transform of real numbers: the half of it along the last of `axes` that tells the other one."""
        dtype = np.result_type(x.dtype, np.complex64)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = shape[axes[-1]] // 2 + 1
            return xp.zeros(shape, dtype)
        return transform(xp.fft.rfftn, x, axes, tuple([x.shape[axis] for axis in axes]), norm, True, dtype)

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str) -> Array:
        """The inverse of `fft_r2c`, with `length` elements along the last of `axes`."""
        lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = length
            return xp.zeros(shape, x.real.dtype)
        return transform(xp.fft.irfftn, x, axes, lengths, norm, False, x.real.dtype)

    return {"fft_c2c": fft_c2c, "fft_r2c": fft_r2c, "fft_c2r": fft_c2r}
