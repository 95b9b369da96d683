"""The order of the elements that Fourier transforms return, and their frequencies."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...tensor import Tensor
from .._operands import canonical_dims, require_tensor
from .._out import accepts_out
from ..creation.creation import arange


def _shift(input: Tensor, dim: Any, half: Any) -> Tensor:
    axes = canonical_dims(dim, require_tensor("fftshift", input).ndim)
    return input.roll(tuple(half(input._array.shape[axis]) for axis in axes), axes) if axes else input.clone()


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """`input` with frequency zero in the middle of the dimensions `dim`, or of all.

    >>> lucid.fft.fftshift(lucid.fft.fftfreq(4))
    Tensor([-0.50, -0.25,  0.00,  0.25], requires_grad=False)
    """
    return _shift(input, dim, lambda n: n // 2)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> x = lucid.arange(5)
    >>> lucid.equal(lucid.fft.ifftshift(lucid.fft.fftshift(x)), x)
    True
    """
    return _shift(input, dim, lambda n: (n + 1) // 2)


def _frequencies(name: str, numbers: Tensor, n: int, d: float, dtype: Any, requires_grad: bool) -> Tensor:
    wanted = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if not _dtypes.is_differentiable(wanted):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    spacing = n * d
    scale = 1.0 / spacing if spacing else float("inf") if n else float("nan")
    return (numbers.to(wanted) * scale).requires_grad_(requires_grad)


@accepts_out
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies of the `n` elements that `fft` returns, for samples `d` apart: 0, 1, ..., then -(n // 2) to -1, by n d.

    >>> lucid.fft.fftfreq(4)
    Tensor([ 0.00,  0.25, -0.50, -0.25], requires_grad=False)
    """
    _require_length(n)
    numbers = arange(n, device=device)
    return _frequencies("fftfreq", numbers - n * (numbers >= (n + 1) // 2).long(), n, d, dtype, requires_grad)


@accepts_out
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies of the n // 2 + 1 elements that `rfft` returns, for samples `d` apart.

    >>> lucid.fft.rfftfreq(4)
    Tensor([0.00, 0.25, 0.50], requires_grad=False)
    """
    _require_length(n)
    return _frequencies("rfftfreq", arange(n // 2 + 1, device=device), n, d, dtype, requires_grad)


def _require_length(n: int) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
