"""Windows by the names of torch.signal.windows: of `M` elements, symmetric, or with ``sym=False`` periodic, which is the
symmetric one that is longer by one, without its end. They are computed in float64 and rounded once; the dtype may be float32 or
float64.

>>> lucid.signal.windows.hann(4, sym=False)
Tensor([0.0, 0.5, 1.0, 0.5], requires_grad=False)
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ... import _dtypes
from ..._layout import strided
from ...ops.creation.creation import arange, empty
from ...ops.elementwise.special import i0
from ...tensor import Tensor

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _window(name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool, values: Callable[[Tensor], Tensor]
            ) -> Tensor:
    """``values(n)`` of the numbers of the elements."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if chosen not in (_dtypes.float32, _dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {chosen}")
    if M == 0:
        return empty(0, dtype=chosen, device=device, requires_grad=requires_grad)
    numbers = arange(M, dtype=_dtypes.float64, device=device)
    return values(numbers).to(chosen).requires_grad_(requires_grad)


def _steps(M: int, sym: bool) -> int:
    """The distance between the ends of the symmetric window, in elements; 1 for a window of one."""
    return max(M - 1 if sym else M, 1) if M > 1 or not sym else 1


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
                layout: Any = strided, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``exp(-|n - center| / tau)``; the center is the middle, and may be another one in a periodic window.

    >>> lucid.signal.windows.exponential(3)
    Tensor([0.3679, 1.0000, 0.3679], requires_grad=False)
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M if not sym and M > 1 else M - 1) / 2 if center is None else center
    return _window("exponential", M, dtype, layout, device, requires_grad, lambda n: (-(n - middle).abs() / tau).exp())


def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """``sin(pi (n + 1/2) / M)``.

    >>> lucid.signal.windows.cosine(3)
    Tensor([0.5, 1.0, 0.5], requires_grad=False)
    """
    length = M + 1 if not sym and M > 1 else M
    return _window("cosine", M, dtype, layout, device, requires_grad, lambda n: (math.pi * (n + 0.5) / length).sin())


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """``exp(-(n - middle)^2 / (2 std^2))``.

    >>> lucid.signal.windows.gaussian(3)
    Tensor([0.6065, 1.0000, 0.6065], requires_grad=False)
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = (M if not sym and M > 1 else M - 1) / 2
    return _window("gaussian", M, dtype, layout, device, requires_grad, lambda n: (-((n - middle) / std) ** 2 / 2).exp())


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """``i0(beta sqrt(1 - x^2)) / i0(beta)`` for x from -1 to 1.

    >>> lucid.signal.windows.kaiser(3, beta=2.0)
    Tensor([0.4387, 1.0000, 0.4387], requires_grad=False)
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(n: Tensor) -> Tensor:
        if M == 1:
            return n + 1
        x = 2 * n / _steps(M, sym) - 1
        return i0(beta * (1 - x * x).clamp(min=0).sqrt()) / i0(n.new_tensor(float(beta)))

    return _window("kaiser", M, dtype, layout, device, requires_grad, values)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
                   requires_grad: bool = False) -> Tensor:
    """The sum of ``(-1)^i a[i] cos(2 pi i n / N)``.

    >>> lucid.signal.windows.general_cosine(3, a=[0.5, 0.5])
    Tensor([0.0, 1.0, 0.0], requires_grad=False)
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    factors = list(a)
    if not factors:
        raise ValueError("Coefficients cannot be empty")

    def values(n: Tensor) -> Tensor:
        if M == 1:
            return n + 1
        angle = 2 * math.pi * n / _steps(M, sym)
        total = angle * 0
        for number, factor in enumerate(factors):
            total = total + (-1) ** number * factor * (number * angle).cos()
        return total

    return _window("general_cosine", M, dtype, layout, device, requires_grad, values)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = strided,
                    device: Any = None, requires_grad: bool = False) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / N)``.

    >>> lucid.signal.windows.general_hamming(3, alpha=0.6)
    Tensor([0.2, 1.0, 0.2], requires_grad=False)
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """The Hamming window: ``0.54 - 0.46 cos(2 pi n / N)``.

    >>> lucid.signal.windows.hamming(3)
    Tensor([0.08, 1.00, 0.08], requires_grad=False)
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """The Hann window: ``0.5 - 0.5 cos(2 pi n / N)``.

    >>> lucid.signal.windows.hann(3)
    Tensor([0.0, 1.0, 0.0], requires_grad=False)
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The Blackman window, `general_cosine` of 0.42, 0.5 and 0.08.

    >>> lucid.signal.windows.blackman(3)[1]
    Tensor(1.0, requires_grad=False)
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """Nuttall's window, `general_cosine` of four factors, with the least side lobes.

    >>> lucid.signal.windows.nuttall(3)[1]
    Tensor(1.0, requires_grad=False)
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The Bartlett window: ``1 - |2 n / N - 1|``.

    >>> lucid.signal.windows.bartlett(3)
    Tensor([0.0, 1.0, 0.0], requires_grad=False)
    """
    def values(n: Tensor) -> Tensor:
        return n + 1 if M == 1 else 1 - (2 * n / _steps(M, sym) - 1).abs()

    return _window("bartlett", M, dtype, layout, device, requires_grad, values)
