"""Fourier transforms that NumPy and CuPy both have (pocketfft, cuFFT), written once: `table(xp, new)` binds them to either.

On a CPU those along the last dimension whose length is a power of two are our kernels, for all but few numbers.
`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import threads

from .lazy import LARGE
from .threads import share

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]
_FEW = 1 << 8  # elements from which on a kernel, which imports Numba, computes
_COMPLEX_LENGTHS = frozenset(1 << power for power in range(5, 13))  # those of the kernels
_REAL_LENGTHS = frozenset(2 * length for length in _COMPLEX_LENGTHS)
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


def _by_kernel(x: Array, axes: Axes, length: int, lengths: frozenset[int]) -> bool:
    """Whether a kernel transforms `x`, of which `length` numbers along the last of `axes`."""
    return length in lengths and len(axes) == 1 and axes[0] == x.ndim - 1 and x.size >= _FEW and x.__class__ is np.ndarray


def _scale(norm: str, forward: bool, count: int) -> float:
    """What multiplies the sums of the transform of `count` numbers."""
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    return 1.0 / count if (norm == "forward") == forward else 1.0


def _in_steps(x: Array, axes: Axes) -> bool:
    """Whether the transform of all dimensions of a NumPy array is that of the last, then that of the others: parts to share."""
    return len(axes) == x.ndim > 1 and x.size >= _SHARED and isinstance(x, np.ndarray)


def table(xp: Any, entries: dict[str, Kernel], new: Kernel | None = None) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy) with its other `entries`, by the time of a call; `new(shape, dtype)` is memory for
    results of NumPy's, which CuPy's do not take.
    """

    def transform(function: Kernel, x: Array, axes: Axes, lengths: Axes, norm: str, forward: bool, dtype: Any) -> Array:
        """``function(x)``, of NumPy's `fftn` and the like, along `axes`: what is transformed has `lengths`, results have `dtype`.

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
        length = x.shape[axes[-1]]
        if _by_kernel(x, axes, length, _COMPLEX_LENGTHS):
            from lucid_kernels.cpu import fourier as kernels  # compiles with Numba: imported with the first as many

            return kernels.transform(x, forward=forward, scale=_scale(norm, forward, length))
        if x.size == 0:
            return x.copy()
        if _in_steps(x, axes):
            rows = fft_c2c(x, axes=axes[-1:], norm=norm, forward=forward)
            return fft_c2c(rows, axes=axes[:-1], norm=norm, forward=forward)
        lengths = tuple([x.shape[axis] for axis in axes])
        return transform(xp.fft.fftn if forward else xp.fft.ifftn, x, axes, lengths, norm, forward, x.dtype)

    def weigh(half: Array, axis: int, length: int, weight: float) -> Array:
        """Multiply those numbers of a half spectrum that stand for two of the `length` numbers of the whole, in place."""
        half[(*(slice(None),) * axis, slice(1, (length + 1) // 2))] *= half.real.dtype.type(weight)
        return half

    def fft_r2c(x: Array, *, axes: Axes, norm: str, weight: float = 1.0) -> Array:
        """The transform of real numbers: the half of it along the last of `axes` that tells the other one; what stands for two
        numbers times `weight`.
        """
        length = x.shape[axes[-1]]
        if _by_kernel(x, axes, length, _REAL_LENGTHS):
            from lucid_kernels.cpu import fourier as kernels

            return kernels.transform_to_half(x, scale=_scale(norm, True, length), weight=weight)
        dtype = np.result_type(x.dtype, np.complex64)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = length // 2 + 1
            return xp.zeros(shape, dtype)
        if _in_steps(x, axes):
            half = fft_r2c(x, axes=axes[-1:], norm=norm, weight=weight)
            return fft_c2c(half, axes=axes[:-1], norm=norm, forward=True)
        half = transform(xp.fft.rfftn, x, axes, tuple([x.shape[axis] for axis in axes]), norm, True, dtype)
        return half if weight == 1 else weigh(half, axes[-1], length, weight)

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Array:
        """The inverse of `fft_r2c` of the same `weight` 1, with `length` elements along the last of `axes`; what stands for two
        numbers is multiplied by `weight` before.
        """
        if _by_kernel(x, axes, length, _REAL_LENGTHS):
            from lucid_kernels.cpu import fourier as kernels

            return kernels.transform_from_half(x, length=length, scale=_scale(norm, False, length), weight=weight)
        lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
        if x.size == 0:
            shape = list(x.shape)
            shape[axes[-1]] = length
            return xp.zeros(shape, x.real.dtype)
        if _in_steps(x, axes):
            half = fft_c2c(x, axes=axes[:-1], norm=norm, forward=False)
            return fft_c2r(half, axes=axes[-1:], length=length, norm=norm, weight=weight)
        if weight != 1:
            x = weigh(x.copy(), axes[-1], length, weight)
        return transform(xp.fft.irfftn, x, axes, lengths, norm, False, x.real.dtype)

    def fft_windows(x: Array, window: Array, *, step: int, norm: str) -> Array:
        """`fft_r2c` of the windows of the signals (batch, time), `step` apart, times `window`: (batch, windows, frequencies)."""
        size, (batch, length) = window.shape[0], x.shape
        if xp is np and size in _REAL_LENGTHS and batch * ((length - size) // step + 1) * size >= _FEW:
            from lucid_kernels.cpu import fourier as kernels

            return kernels.transform_windows(x, window, step=step, scale=_scale(norm, True, size))
        windows = entries["windows"](x, dim=1, size=size, step=step)
        product = entries["large_mul" if windows.size >= LARGE else "mul"](windows, window)
        return fft_r2c(product, axes=(2,), norm=norm)

    return {"fft_c2c": fft_c2c, "fft_r2c": fft_r2c, "fft_c2r": fft_c2r, "fft_windows": fft_windows}
