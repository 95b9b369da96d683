"""Fourier transforms on the CPU, one dimension after the other.

By a kernel, where the length is a product of 4 and powers of 2, 3 and 5 and there are not only few elements, else by NumPy
(pocketfft).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime import threads
from lucid_kernels.cpu.runtime.allocator import empty

from .. import sizes
from ..common.fft import Axes, resized, weigh, windowed
from ..threads import share
from .copies import cast, contiguous

Array = Any
Kernel = Callable[..., Any]

COMPLEX_LENGTHS = frozenset(n for twos in range(2, 13) for threes in range(8) for fives in range(6)
                             if 32 <= (n := 2**twos * 3**threes * 5**fives) <= 4096)  # those of the kernels
_REAL_LENGTHS = frozenset(2 * length for length in COMPLEX_LENGTHS)


@functools.cache
def _kernels() -> Any:
    """They compile with Numba: imported with the first as many elements, once, as even the check takes 0.4 us."""
    from lucid_kernels.cpu.fft import fft

    return fft


def _parts(shape: tuple[int, ...], axis: int) -> list[tuple[slice, ...]]:
    """Indices of the parts of an array that threads transform along `axis`: one of its other dimensions is cut."""
    count = threads.get_num_threads()
    others = [other for other in range(len(shape)) if other != axis]
    cut = max(others, key=shape.__getitem__, default=0)
    if count == 1 or not others or shape[cut] < count:
        return [(slice(None),)]
    edges = [shape[cut] * number // count for number in range(count + 1)]
    return [(*(slice(None),) * cut, slice(*pair)) for pair in zip(edges[:-1], edges[1:], strict=True)]


def _by_numpy(function: Kernel, x: Array, axis: int, length: int, norm: str, forward: bool, y: Array) -> Array:
    """``function(x)`` of `length` elements along `axis`, in `y`.

    What it does not scale NumPy computes in double precision, and converts, in 2.5 to 4 times the time. So single precision is
    scaled, and scaled back.
    """
    scaled = "forward" if forward else "backward"
    as_asked = norm in ("ortho", scaled) or x.dtype.char not in "fF" or x.size < sizes.FFT_CONVERTED_FROM

    def compute(part: tuple[Any, ...]) -> None:
        target = y[part]
        with np.errstate(all="ignore"):  # each thread has its own
            function(x[part], length, axis, norm if as_asked else scaled, target)
            if not as_asked:
                parts = target.view(np.float32)  # a product with a complex number takes 4 times as long
                parts *= np.float32(length)

    if x.size >= sizes.FFT_SHARED_FROM:
        share(compute, _parts(x.shape, axis))
    else:
        compute((...,))
    return y


def _scale(norm: str, forward: bool, count: int) -> float:
    """What multiplies the sums of the transform of `count` elements."""
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    return 1.0 / count if (norm == "forward") == forward else 1.0


def _line(x: Array, axis: int, norm: str, forward: bool) -> Array:
    """The transform along one dimension."""
    length, last = x.shape[axis], axis == x.ndim - 1
    if x.dtype.kind != "c":
        if forward and last and length in _REAL_LENGTHS and x.size >= sizes.FFT_FROM:
            return _kernels().transform_to_whole(x, scale=_scale(norm, True, length))
        x = cast(x, dtype=np.result_type(x.dtype, np.complex64))
    if length in COMPLEX_LENGTHS and x.size >= (sizes.FFT_FROM if last else sizes.MANY):
        if last:
            return _kernels().transform(x, forward=forward, scale=_scale(norm, forward, length))
        turned = _kernels().transform(x.swapaxes(axis, -1), forward=forward, scale=_scale(norm, forward, length))
        return contiguous(turned.swapaxes(axis, -1))
    return _by_numpy(np.fft.fft if forward else np.fft.ifft, x, axis, length, norm, forward, empty(x.shape, x.dtype))


def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
    """The transform of real or complex elements, or its inverse."""
    if x.size == 0:
        return x.astype(np.result_type(x.dtype, np.complex64))
    for axis in reversed(axes):
        x = _line(x, axis, norm, forward)
    return x


def fft_r2c(x: Array, *, axes: Axes, norm: str, weight: float = 1.0) -> Array:
    """The half of the transform of real numbers that tells the other one."""
    axis = axes[-1]
    length = x.shape[axis]
    if length in _REAL_LENGTHS and axis == x.ndim - 1 and x.size >= sizes.FFT_FROM:
        half = _kernels().transform_to_half(x, scale=_scale(norm, True, length), weight=weight)
    else:
        half = empty(resized(x.shape, axis, length // 2 + 1), np.result_type(x.dtype, np.complex64))
        if x.size == 0:
            half.fill(0)
            return half
        _by_numpy(np.fft.rfft, x, axis, length, norm, True, half)
        if weight != 1:
            weigh(half, axis, length, weight)
    return fft_c2c(half, axes=axes[:-1], norm=norm, forward=True) if len(axes) > 1 else half


def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Array:
    """The inverse of `fft_r2c`."""
    axis = axes[-1]
    if x.size == 0:
        return np.zeros(resized(x.shape, axis, length), x.real.dtype)
    half = fft_c2c(x, axes=axes[:-1], norm=norm, forward=False) if len(axes) > 1 else x
    if length in _REAL_LENGTHS and axis == x.ndim - 1 and x.size >= sizes.FFT_FROM:
        return _kernels().transform_from_half(half, length=length, scale=_scale(norm, False, length), weight=weight)
    if weight != 1:
        half = weigh(half.copy() if half is x else half, axis, length, weight)
    return _by_numpy(np.fft.irfft, half, axis, length, norm, False, empty(resized(x.shape, axis, length), x.real.dtype))


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    by_steps = windowed(fft_r2c, entries)

    def fft_windows(x: Array, window: Array, *, step: int, norm: str) -> Array:
        """`fft_r2c` of the windows of the signals (batch, time), `step` apart, times `window`: (batch, windows, frequencies)."""
        size, (batch, length) = window.shape[0], x.shape
        if size in _REAL_LENGTHS and batch * ((length - size) // step + 1) * size >= sizes.FFT_FROM:
            return _kernels().transform_windows(x, window, step=step, scale=_scale(norm, True, size))
        return by_steps(x, window, step=step, norm=norm)

    return {"fft_c2c": fft_c2c, "fft_c2r": fft_c2r, "fft_r2c": fft_r2c, "fft_windows": fft_windows}
