"""Fourier transforms that NumPy and CuPy both have (pocketfft, cuFFT), written once: `table(xp)` binds them to either.

`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    dense = xp.ascontiguousarray  # NumPy's results lie in memory in the order of the transforms

    def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
        """The transform of complex numbers along `axes`, or its inverse."""
        if x.size == 0:
            return x.copy()
        return dense((xp.fft.fftn if forward else xp.fft.ifftn)(x, axes=axes, norm=norm))

    def fft_r2c(x: Array, *, axes: Axes, norm: str) -> Array:
        """The transform of real numbers: the half of it along the last of `axes` that tells the other one."""
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = shape[axes[-1]] // 2 + 1
            return xp.zeros(shape, np.result_type(x.dtype, np.complex64))
        return dense(xp.fft.rfftn(x, axes=axes, norm=norm))

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str) -> Array:
        """The inverse of `fft_r2c`, with `length` elements along the last of `axes`."""
        lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = length
            return xp.zeros(shape, x.real.dtype)
        return dense(xp.fft.irfftn(x, s=lengths, axes=axes, norm=norm))

    return {"fft_c2c": fft_c2c, "fft_r2c": fft_r2c, "fft_c2r": fft_c2r}
