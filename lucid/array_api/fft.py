"""Discrete Fourier transforms: the standard's extension.

>>> from lucid import array_api as xp
>>> xp.fft.rfft(xp.asarray([1.0, 0.0, -1.0, 0.0]))
Tensor([0.0+0.0j, 2.0+0.0j, 0.0+0.0j], requires_grad=False)
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lucid

from .. import Tensor

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
           "rfftfreq", "rfftn"]


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Transforms along an axis.

    >>> from lucid import array_api as xp
    >>> xp.fft.fft(xp.asarray([1 + 0j, 0, -1, 0]))
    Tensor([0.0+0.0j, 2.0+0.0j, 0.0+0.0j, 2.0+0.0j], requires_grad=False)
    """
    return lucid.fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverses of `fft`.

    >>> from lucid import array_api as xp
    >>> xp.fft.ifft(xp.fft.fft(xp.asarray([1 + 0j, 2, 3, 4])))
    Tensor([1.0+0.0j, 2.0+0.0j, 3.0+0.0j, 4.0+0.0j], requires_grad=False)
    """
    return lucid.fft.ifft(x, n, axis, norm)


def fftn(x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Tensor:
    """Transforms along several axes.

    >>> from lucid import array_api as xp
    >>> xp.fft.fftn(xp.ones((2, 2), dtype=xp.complex64))
    Tensor([[4.0+0.0j, 0.0+0.0j],
            [0.0+0.0j, 0.0+0.0j]], requires_grad=False)
    """
    return lucid.fft.fftn(x, s, axes, norm)


def ifftn(x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Tensor:
    """Inverses of `fftn`.

    >>> from lucid import array_api as xp
    >>> xp.real(xp.fft.ifftn(xp.fft.fftn(xp.asarray([[1 + 0j, 2], [3, 4]]))))
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return lucid.fft.ifftn(x, s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The first half of the transforms of real elements.

    >>> from lucid import array_api as xp
    >>> xp.fft.rfft(xp.asarray([1.0, 0.0, -1.0, 0.0]))
    Tensor([0.0+0.0j, 2.0+0.0j, 0.0+0.0j], requires_grad=False)
    """
    return lucid.fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverses of `rfft`.

    >>> from lucid import array_api as xp
    >>> xp.fft.irfft(xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0, 4.0])))
    Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=False)
    """
    return lucid.fft.irfft(x, n, axis, norm)


def rfftn(x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Tensor:
    """The first half of the transforms of real elements along several axes.

    >>> from lucid import array_api as xp
    >>> xp.fft.rfftn(xp.ones((4, 6))).shape
    lucid.Size([4, 4])
    """
    return lucid.fft.rfftn(x, s, axes, norm)


def irfftn(x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Tensor:
    """Inverses of `rfftn`.

    >>> from lucid import array_api as xp
    >>> xp.fft.irfftn(xp.fft.rfftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]])))
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return lucid.fft.irfftn(x, s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real transforms of elements whose other half is the conjugate of what is given.

    >>> from lucid import array_api as xp
    >>> xp.fft.hfft(xp.asarray([1 + 0j, 0.5, 0]))
    Tensor([2.0, 1.0, 0.0, 1.0], requires_grad=False)
    """
    return lucid.fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverses of `hfft`.

    >>> from lucid import array_api as xp
    >>> xp.fft.ihfft(xp.asarray([2.0, 1.0, 0.0, 1.0])).shape
    lucid.Size([3])
    """
    return lucid.fft.ihfft(x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `fft` for samples at the distance `d`.

    >>> from lucid import array_api as xp
    >>> xp.fft.fftfreq(4)
    Tensor([ 0.00,  0.25, -0.50, -0.25], requires_grad=False)
    """
    return lucid.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `rfft` for samples at the distance `d`.

    >>> from lucid import array_api as xp
    >>> xp.fft.rfftfreq(4)
    Tensor([0.00, 0.25, 0.50], requires_grad=False)
    """
    return lucid.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The frequency 0 moved to the middle.

    >>> from lucid import array_api as xp
    >>> xp.fft.fftshift(xp.fft.fftfreq(4))
    Tensor([-0.50, -0.25,  0.00,  0.25], requires_grad=False)
    """
    return lucid.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> from lucid import array_api as xp
    >>> xp.fft.ifftshift(xp.fft.fftshift(xp.arange(5)))
    Tensor([0, 1, 2, 3, 4], requires_grad=False)
    """
    return lucid.fft.ifftshift(x, axes)
