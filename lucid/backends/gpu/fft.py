"""Fourier transforms on a GPU, by cuFFT."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ..common.fft import Axes, resized, weigh, windowed

Array = Any
Kernel = Callable[..., Any]


def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
    """The transform of real or complex elements, or its inverse."""
    if x.size == 0:
        return x.astype(np.result_type(x.dtype, np.complex64))
    return cupy.ascontiguousarray((cupy.fft.fftn if forward else cupy.fft.ifftn)(x, axes=axes, norm=norm))


def fft_r2c(x: Array, *, axes: Axes, norm: str, weight: float = 1.0) -> Array:
    """The half of the transform of real numbers that tells the other one."""
    length = x.shape[axes[-1]]
    if x.size == 0:
        return cupy.zeros(resized(x.shape, axes[-1], length // 2 + 1), np.result_type(x.dtype, np.complex64))
    half = cupy.ascontiguousarray(cupy.fft.rfftn(x, axes=axes, norm=norm))
    return half if weight == 1 else weigh(half, axes[-1], length, weight)


def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Array:
    """The inverse of `fft_r2c`."""
    if x.size == 0:
        return cupy.zeros(resized(x.shape, axes[-1], length), x.real.dtype)
    half = x if weight == 1 else weigh(x.copy(), axes[-1], length, weight)
    lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
    return cupy.ascontiguousarray(cupy.fft.irfftn(half, s=lengths, axes=axes, norm=norm))


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    return {"fft_c2c": fft_c2c, "fft_c2r": fft_c2r, "fft_r2c": fft_r2c, "fft_windows": windowed(fft_r2c, entries)}
