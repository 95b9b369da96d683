"""Windows for short-time Fourier transforms (Harris, "On the use of windows for harmonic analysis", 1978).

They are computed in float64 and rounded once. A periodic window is the symmetric one that is longer by one, without its end.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import refuse_stored
from ..creation.creation import arange, ones
from ..elementwise.special import i0


def _window(name: str, window_length: int, periodic: bool, dtype: Any, device: Any, requires_grad: bool,
            values: Callable[[Tensor], Tensor]) -> Tensor:
    """``values(position)`` for the positions of the elements, which run from 0 to 1 over the symmetric window."""
    if not isinstance(window_length, int):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(window_length).__name__}")
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    refuse_stored(name, chosen)
    if not _dtypes.is_differentiable(chosen):
        raise RuntimeError(f"{name} expects floating point dtypes, got: {type_name(chosen)}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if window_length < 2:
        return ones(window_length, dtype=chosen, device=device, requires_grad=requires_grad)
    if chosen.kind == "c":
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(chosen)}'")
    last = window_length if periodic else window_length - 1
    position = arange(window_length, dtype=_dtypes.float64, device=device) / last
    return values(position).to(chosen).requires_grad_(requires_grad)


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                requires_grad: bool = False) -> Tensor:
    """The Hann window, ``0.5 - 0.5 cos(2 pi n / N)``: a vector of `window_length` elements.

    N is the length of a periodic window and one less for a symmetric one. Raises RuntimeError for a negative length and for
    integers.

    >>> lucid.hann_window(4)
    Tensor([0.0, 0.5, 1.0, 0.5], requires_grad=False)
    """
    return _window("hann_window", window_length, periodic, dtype, device, requires_grad,
                   lambda position: 0.5 - 0.5 * (2 * math.pi * position).cos())


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
                   device: Any = None, requires_grad: bool = False) -> Tensor:
    """The Hamming window, ``alpha - beta cos(2 pi n / N)``; N and errors as of `hann_window`.

    >>> lucid.hamming_window(5, periodic=False)
    Tensor([0.08, 0.54, 1.00, 0.54, 0.08], requires_grad=False)
    """
    return _window("hamming_window", window_length, periodic, dtype, device, requires_grad,
                   lambda position: alpha - beta * (2 * math.pi * position).cos())


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:
    """The Blackman window, ``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``; N and errors as of `hann_window`.

    >>> lucid.blackman_window(5, periodic=False)[1:4]
    Tensor([0.34, 1.00, 0.34], requires_grad=False)
    """
    return _window("blackman_window", window_length, periodic, dtype, device, requires_grad,
                   lambda position: 0.42 - 0.5 * (2 * math.pi * position).cos() + 0.08 * (4 * math.pi * position).cos())


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:
    """The triangle ``1 - abs(2 n / N - 1)``; N and errors as of `hann_window`.

    >>> lucid.bartlett_window(5, periodic=False)
    Tensor([0.0, 0.5, 1.0, 0.5, 0.0], requires_grad=False)
    """
    return _window("bartlett_window", window_length, periodic, dtype, device, requires_grad,
                   lambda position: 1 - (2 * position - 1).abs())


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:
    """The Kaiser window, ``i0(beta sqrt(1 - (2 n / N - 1)^2)) / i0(beta)``; N and errors as of `hann_window`.

    >>> lucid.kaiser_window(5, periodic=False)
    Tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05], requires_grad=False)
    """
    def values(position: Tensor) -> Tensor:
        arch = (1 - (2 * position - 1).square()).clamp(min=0).sqrt()
        return i0(beta * arch) / i0(position.new_full((), beta))

    return _window("kaiser_window", window_length, periodic, dtype, device, requires_grad, values)
