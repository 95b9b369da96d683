"""Fourier transforms that NumPy and CuPy both have (pocketfft, cuFFT), written once: `table(xp, new)` binds them to either.

`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import threads

from .threads import share

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]
_LARGE = 1 << 12  # elements from which on NumPy's conversions are avoided
_SHARED = 1 << 17  # elements from which on threads share a transform: starting one takes 80 us, 2^17 elements 250 us


def _parts(shape: tuple[int, ...], axes: Axes) -> list[tuple[slice, ...]]:
    """Indices of the parts of an array that threads transform along `axes`: one of its other dimensions is cut."""
    count = threads.get_num_threads() if math.prod(shape) >= _SHARED else 1
    others = [axis for axis in range(len(shape)) if axis not in axes]
    cut = max(others, key=shape.__getitem__, default=0)
    if count == 1 or not others or shape[cut] < count:
        return [(slice(None),)]
    edges = [shape[cut] * number // count for number in range(count + 1)]
    return [(*(slice(None),) * cut, slice(*pair)) for pair in zip(edges[:-1], edges[1:], strict=True)]


def _in_steps(x: Array, axes: Axes) -> bool:
    """Whether the transform of all dimensions of a NumPy array is that of the last, then that of the others: parts to share."""
    return len(axes) == x.ndim > 1 and x.size >= _SHARED and isinstance(x, np.ndarray)


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
        as_asked = norm in ("ortho", scaled) or x.dtype.char not in "fF" or x.size < _LARGE

        def compute(part: tuple[slice, ...]) -> None:
            target = y[part]
            with np.errstate(all="ignore"):  # each thread has its own
                function(x[part], s=lengths, axes=axes, norm=norm if as_asked else scaled, out=target)
                if not as_asked:
                    numbers = target.view(np.float32)  # a product with a complex number takes 4 times as long
                    numbers *= np.float32(math.prod(lengths))

        share(compute, _parts(x.shape, axes))
        return y

    def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
        """The transform of complex numbers along `axes`, or its inverse."""
        if x.size == 0:
            return x.copy()
        if _in_steps(x, axes):
            rows = fft_c2c(x, axes=axes[-1:], norm=norm, forward=forward)
            return fft_c2c(rows, axes=axes[:-1], norm=norm, forward=forward)
        lengths = tuple([x.shape[axis] for axis in axes])
        return transform(xp.fft.fftn if forward else xp.fft.ifftn, x, axes, lengths, norm, forward, x.dtype)

    def fft_r2c(x: Array, *, axes: Axes, norm: str) -> Array:
        """The transform of real numbers: the half of it along the last of `axes` that tells the other one."""
        dtype = np.result_type(x.dtype, np.complex64)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = shape[axes[-1]] // 2 + 1
            return xp.zeros(shape, dtype)
        if _in_steps(x, axes):
            return fft_c2c(fft_r2c(x, axes=axes[-1:], norm=norm), axes=axes[:-1], norm=norm, forward=True)
        return transform(xp.fft.rfftn, x, axes, tuple([x.shape[axis] for axis in axes]), norm, True, dtype)

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str) -> Array:
        """The inverse of `fft_r2c`, with `length` elements along the last of `axes`."""
        lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = length
            return xp.zeros(shape, x.real.dtype)
        if _in_steps(x, axes):
            return fft_c2r(fft_c2c(x, axes=axes[:-1], norm=norm, forward=False), axes=axes[-1:], length=length, norm=norm)
        return transform(xp.fft.irfftn, x, axes, lengths, norm, False, x.real.dtype)

    return {"fft_c2c": fft_c2c, "fft_r2c": fft_r2c, "fft_c2r": fft_c2r}
