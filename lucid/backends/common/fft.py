"""Fourier transforms: `table(xp, entries, new)` binds them to NumPy and our kernels, or to CuPy (cuFFT).

`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision. On a CPU one dimension is transformed after the other: by a kernel, where its length is a product
of 4 and powers of 2, 3 and 5 and there are not only few numbers, else by NumPy (pocketfft).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime import threads

from ..families import MANY
from ..threads import share

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]
# Elements from which on a kernel transforms the last dimension, which imports Numba. Others, which are transposed, take MANY.
_FEW = 1 << 8
_COMPLEX_LENGTHS = frozenset(n for twos in range(2, 13) for threes in range(8) for fives in range(6)
                             if 32 <= (n := 2**twos * 3**threes * 5**fives) <= 4096)  # those of the kernels
_REAL_LENGTHS = frozenset(2 * length for length in _COMPLEX_LENGTHS)
_CONVERTED = 1 << 7  # elements from which on NumPy's conversions are avoided
_SHARED = 1 << 17  # elements from which on threads share a transform: starting one takes 80 us, 2^17 elements 250 us


@functools.cache
def _kernels() -> Any:
    """They compile with Numba: imported with the first as many numbers, once, as even the question takes 0.4 us."""
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
    """``function(x)`` of `length` numbers along `axis`, in `y`.

    What it does not scale NumPy computes in double precision, and converts, in 2.5 to 4 times the time. So single precision is
    scaled, and scaled back.
    """
    scaled = "forward" if forward else "backward"
    as_asked = norm in ("ortho", scaled) or x.dtype.char not in "fF" or x.size < _CONVERTED

    def compute(part: tuple[Any, ...]) -> None:
        target = y[part]
        with np.errstate(all="ignore"):  # each thread has its own
            function(x[part], length, axis, norm if as_asked else scaled, target)
            if not as_asked:
                numbers = target.view(np.float32)  # a product with a complex number takes 4 times as long
                numbers *= np.float32(length)

    if x.size >= _SHARED:
        share(compute, _parts(x.shape, axis))
    else:
        compute((...,))
    return y


def _scale(norm: str, forward: bool, count: int) -> float:
    """What multiplies the sums of the transform of `count` numbers."""
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    return 1.0 / count if (norm == "forward") == forward else 1.0


def _weigh(half: Array, axis: int, length: int, weight: float) -> Array:
    """Multiply those numbers of half a spectrum that stand for two of the `length` numbers of the whole, in place."""
    half[(*(slice(None),) * axis, slice(1, (length + 1) // 2))] *= half.real.dtype.type(weight)
    return half


def _resized(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1:])


def table(xp: Any, entries: dict[str, Kernel], new: Kernel | None = None) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy) with its other `entries`, by the time of a call; `new(shape, dtype)` is memory for
    NumPy's results.

    `fft_c2c(x, axes, norm, forward)` is the transform of any numbers, or its inverse. `fft_r2c(x, axes, norm, weight)` is, for
    real ones, the half along the last of `axes` that tells the other one, where what stands for two numbers is
    multiplied by `weight`. `fft_c2r(x, axes, length, norm, weight)` is its inverse, for a weight of 1, with `length` numbers
    along the last of `axes`; what stands for two numbers is multiplied before.
    """
    c2c, r2c, c2r = _on_gpu(xp) if new is None else _on_cpu(entries, new)

    def fft_windows(x: Array, window: Array, *, step: int, norm: str) -> Array:
        """`fft_r2c` of the windows of the signals (batch, time), `step` apart, times `window`: (batch, windows, frequencies)."""
        size, (batch, length) = window.shape[0], x.shape
        if xp is np and size in _REAL_LENGTHS and batch * ((length - size) // step + 1) * size >= _FEW:
            return _kernels().transform_windows(x, window, step=step, scale=_scale(norm, True, size))
        windows = entries["windows"](x, dim=1, size=size, step=step)
        product = entries["mul"](windows, window)
        return r2c(product, axes=(2,), norm=norm)

    return {"fft_c2c": c2c, "fft_r2c": r2c, "fft_c2r": c2r, "fft_windows": fft_windows}


def _on_gpu(cupy: Any) -> tuple[Kernel, Kernel, Kernel]:
    def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
        if x.size == 0:
            return x.astype(np.result_type(x.dtype, np.complex64))
        return cupy.ascontiguousarray((cupy.fft.fftn if forward else cupy.fft.ifftn)(x, axes=axes, norm=norm))

    def fft_r2c(x: Array, *, axes: Axes, norm: str, weight: float = 1.0) -> Array:
        length = x.shape[axes[-1]]
        if x.size == 0:
            return cupy.zeros(_resized(x.shape, axes[-1], length // 2 + 1), np.result_type(x.dtype, np.complex64))
        half = cupy.ascontiguousarray(cupy.fft.rfftn(x, axes=axes, norm=norm))
        return half if weight == 1 else _weigh(half, axes[-1], length, weight)

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Array:
        if x.size == 0:
            return cupy.zeros(_resized(x.shape, axes[-1], length), x.real.dtype)
        half = x if weight == 1 else _weigh(x.copy(), axes[-1], length, weight)
        lengths = (*[x.shape[axis] for axis in axes[:-1]], length)
        return cupy.ascontiguousarray(cupy.fft.irfftn(half, s=lengths, axes=axes, norm=norm))

    return fft_c2c, fft_r2c, fft_c2r


def _on_cpu(entries: dict[str, Kernel], new: Kernel) -> tuple[Kernel, Kernel, Kernel]:
    def line(x: Array, axis: int, norm: str, forward: bool) -> Array:
        """The transform along one dimension."""
        length, last = x.shape[axis], axis == x.ndim - 1
        if x.dtype.kind != "c":
            if forward and last and length in _REAL_LENGTHS and x.size >= _FEW:
                return _kernels().transform_to_whole(x, scale=_scale(norm, True, length))
            x = entries["cast"](x, dtype=np.result_type(x.dtype, np.complex64))
        if length in _COMPLEX_LENGTHS and x.size >= (_FEW if last else MANY):
            if last:
                return _kernels().transform(x, forward=forward, scale=_scale(norm, forward, length))
            turned = _kernels().transform(x.swapaxes(axis, -1), forward=forward, scale=_scale(norm, forward, length))
            return entries["contiguous"](turned.swapaxes(axis, -1))
        return _by_numpy(np.fft.fft if forward else np.fft.ifft, x, axis, length, norm, forward, new(x.shape, x.dtype))

    def fft_c2c(x: Array, *, axes: Axes, norm: str, forward: bool) -> Array:
        if x.size == 0:
            return x.astype(np.result_type(x.dtype, np.complex64))
        for axis in reversed(axes):
            x = line(x, axis, norm, forward)
        return x

    def fft_r2c(x: Array, *, axes: Axes, norm: str, weight: float = 1.0) -> Array:
        axis = axes[-1]
        length = x.shape[axis]
        if length in _REAL_LENGTHS and axis == x.ndim - 1 and x.size >= _FEW:
            half = _kernels().transform_to_half(x, scale=_scale(norm, True, length), weight=weight)
        else:
            half = new(_resized(x.shape, axis, length // 2 + 1), np.result_type(x.dtype, np.complex64))
            if x.size == 0:
                half.fill(0)
                return half
            _by_numpy(np.fft.rfft, x, axis, length, norm, True, half)
            if weight != 1:
                _weigh(half, axis, length, weight)
        return fft_c2c(half, axes=axes[:-1], norm=norm, forward=True) if len(axes) > 1 else half

    def fft_c2r(x: Array, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Array:
        axis = axes[-1]
        if x.size == 0:
            return np.zeros(_resized(x.shape, axis, length), x.real.dtype)
        half = fft_c2c(x, axes=axes[:-1], norm=norm, forward=False) if len(axes) > 1 else x
        if length in _REAL_LENGTHS and axis == x.ndim - 1 and x.size >= _FEW:
            return _kernels().transform_from_half(half, length=length, scale=_scale(norm, False, length), weight=weight)
        if weight != 1:
            half = _weigh(half.copy() if half is x else half, axis, length, weight)
        return _by_numpy(np.fft.irfft, half, axis, length, norm, False, new(_resized(x.shape, axis, length), x.real.dtype))

    return fft_c2c, fft_r2c, fft_c2r
