"""What Fourier transforms on either backend share.

`fft_c2c(x, axes, norm, forward)` is the transform of real or complex elements, or its inverse. `fft_r2c(x, axes, norm, weight)`
is, for real ones, the half along the last of `axes` that tells the other one, where what stands for two elements is multiplied by
`weight`.
`fft_c2r(x, axes, length, norm, weight)` is its inverse, for a weight of 1, with `length` elements along the last of `axes`; what
stands for two elements is multiplied before. `fft_windows` is `fft_r2c` of the windows of signals.

`norm` is NumPy's: the direction that is scaled by 1/n ('forward' or 'backward'), or 'ortho' for both by 1/sqrt(n). float32 and
complex64 stay single precision.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any
Kernel = Callable[..., Any]
Axes = tuple[int, ...]


def weigh(half: Array, axis: int, length: int, weight: float) -> Array:
    """Multiply those elements of half a spectrum that stand for two of the `length` of the whole, in place."""
    half[(*(slice(None),) * axis, slice(1, (length + 1) // 2))] *= half.real.dtype.type(weight)
    return half


def resized(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1:])


def windowed(r2c: Kernel, entries: dict[str, Kernel]) -> Kernel:
    """`fft_windows` by the `fft_r2c` of a backend and its other `entries`, by the time of a call."""
    def fft_windows(x: Array, window: Array, *, step: int, norm: str) -> Array:
        """`fft_r2c` of the windows of the signals (batch, time), `step` apart, times `window`: (batch, windows, frequencies)."""
        windows = entries["windows"](x, dim=1, size=window.shape[0], step=step)
        return r2c(entries["mul"](windows, window), axes=(2,), norm=norm)

    return fft_windows
